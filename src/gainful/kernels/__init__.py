"""Covariances as composable values, each with its pullback."""

from gainful.kernels.additive import Additive
from gainful.kernels.base import Constant, Kernel, On, Product, Sum
from gainful.kernels.categories import Exchangeable, Leaning, Similarity
from gainful.kernels.changepoint import ChangePoint
from gainful.kernels.outputs import Coregionalised
from gainful.kernels.simple import CentredLinear, Linear, Periodic
from gainful.kernels.stationary import SE, Matern, RationalQuadratic, Stationary
from gainful.kernels.tasks import SameCluster, Tasks
from gainful.kernels.warped import Warped, warped

__all__ = [
    "SE",
    "Additive",
    "CentredLinear",
    "ChangePoint",
    "Constant",
    "Coregionalised",
    "Exchangeable",
    "Kernel",
    "Leaning",
    "Linear",
    "Matern",
    "On",
    "Periodic",
    "Product",
    "RationalQuadratic",
    "SameCluster",
    "Similarity",
    "Stationary",
    "Sum",
    "Tasks",
    "Warped",
    "warped",
]
