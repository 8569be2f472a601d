"""mean × kernel × data → posterior."""

from gainful.inference.belief import Belief, MixtureAnswers
from gainful.inference.ep import EP
from gainful.inference.exact import Exact
from gainful.inference.laplace import Laplace
from gainful.inference.posterior import Posterior
from gainful.inference.ranking import Ranking, rank
from gainful.inference.solution import Convergence

__all__ = ["EP", "Belief", "Convergence", "Exact", "Laplace", "MixtureAnswers", "Posterior", "Ranking", "rank"]
