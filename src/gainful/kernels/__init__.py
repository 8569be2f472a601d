"""Covariances as composable values, each with its pullback."""

from gainful.kernels.base import Constant, Kernel, On, Product, Sum
from gainful.kernels.simple import Linear, Periodic
from gainful.kernels.stationary import SE, Matern, RationalQuadratic

__all__ = ["SE", "Constant", "Kernel", "Linear", "Matern", "On", "Periodic", "Product", "RationalQuadratic", "Sum"]
