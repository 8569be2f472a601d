"""gainful decides what to measure next: where, with which instrument, and when to stop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gainful.data import Data, Query
from gainful.errors import (
    ConvergenceWarning,
    GainfulError,
    GainfulWarning,
    InvalidInput,
    JitterWarning,
    JournalError,
    JournalWarning,
    MissingExtra,
    NumericalError,
)
from gainful.goals import Learn, Normalised, PerCost, Region, information, joint_information, score, strategies
from gainful.gp import GP
from gainful.hyper import Fitted, HyperPosterior, fit, hyperposterior, nuts
from gainful.inference import EP, Belief, Exact, Laplace, Posterior, Ranking, rank
from gainful.instruments import Binary, Detection, Instrument, Interval, Ordinal, Point, Preference
from gainful.kernels import SE, Constant, Kernel, Linear, Matern, Periodic, RationalQuadratic
from gainful.means import ConstantMean, LinearMean, Mean, NotchMean, Zero
from gainful.priors import Beta, Fixed, Flat, Gamma, LogNormal, Normal, Prior, Uniform
from gainful.space import Pool, Real, Space, Within

if TYPE_CHECKING:
    from gainful.campaign import Campaign, GoodEnough, TooLittleToLearn
    from gainful.selection import Random, RandomType, Search, Stream

__version__ = "0.1.0"

__all__ = [
    "EP",
    "GP",
    "SE",
    "Belief",
    "Beta",
    "Binary",
    "Campaign",
    "Constant",
    "ConstantMean",
    "ConvergenceWarning",
    "Data",
    "Detection",
    "Exact",
    "Fitted",
    "Fixed",
    "Flat",
    "GainfulError",
    "GainfulWarning",
    "Gamma",
    "GoodEnough",
    "HyperPosterior",
    "Instrument",
    "Interval",
    "InvalidInput",
    "JitterWarning",
    "JournalError",
    "JournalWarning",
    "Kernel",
    "Laplace",
    "Learn",
    "Linear",
    "LinearMean",
    "LogNormal",
    "Matern",
    "Mean",
    "MissingExtra",
    "Normal",
    "Normalised",
    "NotchMean",
    "NumericalError",
    "Ordinal",
    "PerCost",
    "Periodic",
    "Point",
    "Pool",
    "Posterior",
    "Preference",
    "Prior",
    "Query",
    "Random",
    "RandomType",
    "Ranking",
    "RationalQuadratic",
    "Real",
    "Region",
    "Search",
    "Space",
    "Stream",
    "TooLittleToLearn",
    "Uniform",
    "Within",
    "Zero",
    "fit",
    "hyperposterior",
    "information",
    "joint_information",
    "nuts",
    "rank",
    "score",
    "strategies",
]

# What a posterior alone does not need is loaded when it is first asked for.
_LATER = {
    "Campaign": "campaign",
    "GoodEnough": "campaign",
    "Random": "selection",
    "RandomType": "selection",
    "Search": "selection",
    "Stream": "selection",
    "TooLittleToLearn": "campaign",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"gainful.{_LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
