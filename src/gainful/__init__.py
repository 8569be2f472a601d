"""gainful decides what to measure next: where, with which instrument, and when to stop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gainful.beliefs import Integrated, Models
from gainful.data import Data, Query
from gainful.errors import (
    ConvergenceWarning,
    GainfulError,
    GainfulWarning,
    InvalidInput,
    JitterWarning,
    JournalChanged,
    JournalError,
    JournalWarning,
    MissingExtra,
    NumericalError,
)
from gainful.gp import GP
from gainful.hyper import Fitted, HyperPosterior, fit, hyperposterior, nuts
from gainful.inference import (
    EP,
    SKI,
    SKIP,
    Belief,
    Distributed,
    Exact,
    Inducing,
    Iterative,
    Laplace,
    Posterior,
    Ranking,
    Sampled,
    Single,
    Solver,
    Vecchia,
    rank,
)
from gainful.information import Region, information, joint_information
from gainful.instruments import (
    Binary,
    Binomial,
    Classes,
    Count,
    Detection,
    Instrument,
    Interval,
    Likelihood,
    Ordinal,
    Point,
    PointWithError,
    Preference,
    StudentT,
)
from gainful.kernels import (
    SE,
    Additive,
    CentredLinear,
    ChangePoint,
    Constant,
    Coregionalised,
    Exchangeable,
    Kernel,
    Leaning,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    SameCluster,
    Similarity,
    Tasks,
    Warped,
)
from gainful.means import ConstantMean, LinearMean, Mean, NotchMean, OutputMeans, UnknownMean, Zero
from gainful.priors import Beta, Fixed, Flat, Gamma, LogNormal, Normal, Prior, Uniform
from gainful.space import At, Categorical, Integer, LinearLimit, Pool, Proportions, Real, Space, Within
from gainful.tables import Table, read_table

if TYPE_CHECKING:
    from gainful.acquisition import Learn, Level, Normalised, PerCost, Predictions, Random, RandomType, Switch, score
    from gainful.acquisition.strategies import strategies
    from gainful.beliefs.partitions import Partitions
    from gainful.beliefs.programs import Grammar, KernelPrograms, Moves, Program, ProgramGrid
    from gainful.beliefs.tasks import TaskClusters
    from gainful.campaign import Campaign, GoodEnough, TooLittleToLearn, TrustRegion
    from gainful.selection import Search, Stream
    from gainful.studies import Minimum, minimise

__version__ = "0.1.0"

__all__ = [
    "EP",
    "GP",
    "SE",
    "SKI",
    "SKIP",
    "Additive",
    "At",
    "Belief",
    "Beta",
    "Binary",
    "Binomial",
    "Campaign",
    "Categorical",
    "CentredLinear",
    "ChangePoint",
    "Classes",
    "Constant",
    "ConstantMean",
    "ConvergenceWarning",
    "Coregionalised",
    "Count",
    "Data",
    "Detection",
    "Distributed",
    "Exact",
    "Exchangeable",
    "Fitted",
    "Fixed",
    "Flat",
    "GainfulError",
    "GainfulWarning",
    "Gamma",
    "GoodEnough",
    "Grammar",
    "HyperPosterior",
    "Inducing",
    "Instrument",
    "Integer",
    "Integrated",
    "Interval",
    "InvalidInput",
    "Iterative",
    "JitterWarning",
    "JournalChanged",
    "JournalError",
    "JournalWarning",
    "Kernel",
    "KernelPrograms",
    "Laplace",
    "Leaning",
    "Learn",
    "Level",
    "Likelihood",
    "Linear",
    "LinearLimit",
    "LinearMean",
    "LogNormal",
    "Matern",
    "Mean",
    "Minimum",
    "MissingExtra",
    "Models",
    "Moves",
    "Normal",
    "Normalised",
    "NotchMean",
    "NumericalError",
    "Ordinal",
    "OutputMeans",
    "Partitions",
    "PerCost",
    "Periodic",
    "Point",
    "PointWithError",
    "Pool",
    "Posterior",
    "Predictions",
    "Preference",
    "Prior",
    "Program",
    "ProgramGrid",
    "Proportions",
    "Query",
    "Random",
    "RandomType",
    "Ranking",
    "RationalQuadratic",
    "Real",
    "Region",
    "SameCluster",
    "Sampled",
    "Search",
    "Similarity",
    "Single",
    "Solver",
    "Space",
    "Stream",
    "StudentT",
    "Switch",
    "Table",
    "TaskClusters",
    "Tasks",
    "TooLittleToLearn",
    "TrustRegion",
    "Uniform",
    "UnknownMean",
    "Vecchia",
    "Warped",
    "Within",
    "Zero",
    "fit",
    "hyperposterior",
    "information",
    "joint_information",
    "minimise",
    "nuts",
    "rank",
    "read_table",
    "score",
    "strategies",
]

# What a posterior alone does not need is loaded when it is first asked for.
_LATER = {
    "acquisition": (
        "Learn",
        "Level",
        "Normalised",
        "PerCost",
        "Predictions",
        "Random",
        "RandomType",
        "Switch",
        "score",
        "strategies",
    ),
    "campaign": ("Campaign", "GoodEnough", "TooLittleToLearn", "TrustRegion"),
    "selection": ("Search", "Stream"),
    "beliefs.partitions": ("Partitions",),
    "beliefs.tasks": ("TaskClusters",),
    "studies": ("Minimum", "minimise"),
    "beliefs.programs": ("Grammar", "KernelPrograms", "Moves", "Program", "ProgramGrid"),
}


def __getattr__(name: str) -> Any:
    for room, names in _LATER.items():
        if name in names:
            globals()[name] = found = getattr(import_module(f"gainful.{room}"), name)
            return found
        if name == room:
            return import_module(f"gainful.{room}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
