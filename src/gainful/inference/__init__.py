"""Inference: mean × kernel × data → posterior."""

from gainful.inference.belief import Belief
from gainful.inference.checking import Check
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.distributed import Distributed
from gainful.inference.engines.inducing import Inducing
from gainful.inference.engines.iterative import Iterative
from gainful.inference.engines.krylov import Solver
from gainful.inference.engines.single import Single
from gainful.inference.engines.ski import SKI
from gainful.inference.engines.skip import SKIP
from gainful.inference.engines.vecchia import Vecchia
from gainful.inference.ep import EP
from gainful.inference.exact import Exact
from gainful.inference.laplace import Laplace
from gainful.inference.posterior import Posterior
from gainful.inference.predictive import Predictive
from gainful.inference.ranking import Ranking, rank
from gainful.inference.sampled import Sampled
from gainful.instruments.answers import MixtureAnswers

__all__ = [
    "EP",
    "SKI",
    "SKIP",
    "Belief",
    "Check",
    "Convergence",
    "Distributed",
    "Exact",
    "Inducing",
    "Iterative",
    "Laplace",
    "MixtureAnswers",
    "Posterior",
    "Predictive",
    "Ranking",
    "Result",
    "Sampled",
    "Single",
    "Solver",
    "Vecchia",
    "rank",
]
