"""How an inference ended: an enumeration whose values are sentences, with the number of iterations and the residual."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Convergence", "Result"]


class Result(Enum):
    """An outcome; its value is the sentence about it, with {iterations} and {residual} to be filled in."""

    EXACT = "exact: every answer is Gaussian"
    CONVERGED = "converged in {iterations} iterations"
    CONVERGED_TO_PRECISION = (
        "converged in {iterations} iterations to {residual:.1e} of a standard deviation, as far as double precision "
        "resolves answers this precise"
    )
    STOPPED_EARLY = (
        "stopped after {iterations} iterations with moments matched to {residual:.1e} standard deviations; raise "
        "max_iterations, or choose milder hyperparameters"
    )
    CLIPPED = (
        "some answers contradict others so strongly that their sites would widen the belief without bound; these sites "
        "were held at zero precision and match the mean alone: ended after {iterations} iterations with the other "
        "moments matched to {residual:.1e} standard deviations"
    )
    UNSETTLED = (
        "expectation propagation does not settle: after {iterations} iterations its moments are still {residual:.1e} "
        "standard deviations off; answers without noise may contradict each other, or the hyperparameters be out of "
        "all proportion; give the instruments noise, or use Laplace"
    )
    IMPROPER = (
        "expectation propagation found no step that leaves a proper belief; the likelihoods are not log-concave and "
        "the prior is too wide: reduce the kernel's variance or use Laplace"
    )
    NOT_CONTRACTING = "Newton's steps do not shrink the mismatch of moments here"
    CIRCLING = "accelerated steps go round in circles"
    MODE_FOUND = "converged in {iterations} Newton steps"
    MODE_NOT_FOUND = (
        "stopped after {iterations} Newton steps with forces balanced to {residual:.1e}; use EP, or choose milder "
        "hyperparameters"
    )
    SAMPLED = "sampled in {iterations} steps"
    NOT_MIXED = (
        "after {iterations} steps the draws still remember where they began (correlation {residual:.2f}); give the "
        "instruments noise, or take more draws and compare"
    )
    ASSUMED = "sites assumed for pending queries"
    SOLVED = "solved in {iterations} products to a relative residual of {residual:.1e}"
    NOT_SOLVED = (
        "stopped after {iterations} products with a relative residual of {residual:.1e}; give the solver more of them, "
        "a preconditioner of higher rank, or the readings more noise"
    )
    APPROXIMATED = "approximated"

    @property
    def converged(self) -> bool:
        """Whether inference reached its fixed point."""
        return self in _CONVERGED


_CONVERGED = frozenset(Result) - {
    Result.STOPPED_EARLY, Result.CLIPPED, Result.UNSETTLED, Result.IMPROPER, Result.NOT_CONTRACTING, Result.CIRCLING,
    Result.MODE_NOT_FOUND, Result.NOT_MIXED, Result.NOT_SOLVED,
}  # fmt: skip


@dataclass(frozen=True)
class Convergence:
    """The result of an inference, after how many iterations, and how far from its fixed point it still was.

    >>> done = Convergence(Result.CONVERGED, iterations=12, residual=3e-11)
    >>> bool(done), done.message
    (True, 'converged in 12 iterations')
    """

    result: Result
    iterations: int = 0
    residual: float = 0.0
    note: str = ""  # what more there is to say, as the sentence goes on

    @property
    def converged(self) -> bool:
        return self.result.converged

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        return self.result.value.format(iterations=self.iterations, residual=self.residual) + self.note

    def __bool__(self) -> bool:
        return self.converged
