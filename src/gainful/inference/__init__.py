"""Inference: mean × kernel × data → posterior."""

from gainful.inference.belief import Belief, MixtureAnswers
from gainful.inference.convergence import Convergence, Result
from gainful.inference.ep import EP
from gainful.inference.exact import Exact
from gainful.inference.laplace import Laplace
from gainful.inference.posterior import Posterior, Predictive
from gainful.inference.ranking import Ranking, rank

__all__ = [
    "EP",
    "Belief",
    "Convergence",
    "Exact",
    "Laplace",
    "MixtureAnswers",
    "Posterior",
    "Predictive",
    "Ranking",
    "Result",
    "rank",
]
