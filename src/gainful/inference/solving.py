"""From a prior and data to a solution: which inference to use, that answers do not contradict, what to warn of."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from gainful.errors import ConvergenceWarning, InvalidInput, JitterWarning, NumericalError
from gainful.inference.convergence import Convergence
from gainful.inference.engines.base import Engine
from gainful.inference.engines.choosing import engine_for
from gainful.inference.engines.dense import Dense
from gainful.inference.ep import EP
from gainful.inference.exact import Exact
from gainful.inference.solution import Inference, Solution, WarmStart
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.rows import find_rows

Array = NDArray[np.float64]


def method_for(layout: Layout, inference: Inference | Engine | None) -> Inference | Engine:
    """The given way of inference; or exact if it can be, by an engine where answers are many, and EP otherwise."""
    usable = not isinstance(inference, type) and (hasattr(inference, "solve") or isinstance(inference, Engine))
    if inference is not None and not usable:
        raise InvalidInput(
            "inference", "EP(), Laplace(), Exact(), Sampled(), an engine or None", inference, "None chooses for you"
        )
    if isinstance(inference, Exact) and layout.gaussian and layout.direct:
        engine = engine_for(layout)
        return inference if engine is None else Dense()  # who asks for exact inference gets that, or a refusal
    return inference or engine_for(layout) or (Exact() if layout.gaussian else EP())


def find_sites(
    mean: Mean,
    kernel: Kernel,
    layout: Layout,
    inference: Inference | None = None,
    start: WarmStart | None = None,
    cov: Array | None = None,
) -> Solution:
    """Condition a GP on laid-out data, from a warm start and with g's covariance `cov` (F, F) where they are known."""
    if kernel.is_batch or mean.is_batch:
        raise InvalidInput("kernel, mean", "one setting of the parameters", "a batch", "condition them one at a time")
    method = inference or (Exact() if layout.gaussian else EP())
    if not layout.size:  # the prior: a kernel or a mean may know its dimensions, no data does not
        prior_mean, cov = np.zeros(0), np.zeros((0, 0))
    else:
        prior_mean = layout.pick(mean(layout.places))
        cov = layout.covariance(kernel.matrix(layout.places, layout.places)) if cov is None else cov
    layout.require_possible()
    solution = method.solve(layout, prior_mean, cov, start)
    try:
        _require_consistent(solution)
    except NumericalError:
        if start is None:
            raise
        solution = method.solve(layout, prior_mean, cov)  # the start may be what is wrong
        _require_consistent(solution)
    return solution


def says_again(before: Layout, more: Layout) -> bool:
    """Whether an answer without noise is about a value that another one bounds already: both are one answer then."""
    for paired in (False, True):
        places = more.hard_windows(paired)[1]
        if not len(places):
            continue
        known = before.hard_windows(paired)[1]
        turned = known[:, ::-1] if paired else known[:0]
        if np.any(find_rows(places, np.concatenate([known, turned])) >= 0):
            return True
    return False


def _require_consistent(solution: Solution) -> None:
    """Answers without noise must be met by the belief; two different ones at one place cannot be."""
    exact = np.flatnonzero(np.isinf(solution.sites.precision))
    if not exact.size:
        return
    state = solution.state
    off = np.abs(state.mean[exact] - solution.sites.shift[exact])
    spread = np.sqrt(state.prior_cov[exact, exact])
    worst = int(np.argmax(off / spread))
    if off[worst] > 1e-4 * spread[worst]:
        raise NumericalError(
            f"answers without noise contradict each other: one is {solution.sites.shift[exact[worst]]:.6g} where the "
            f"others imply {state.mean[exact[worst]]:.6g}; give the instrument some noise, or remove the contradiction"
        )


def warn_if_jittered(jitter: float, stacklevel: int = 4) -> None:
    """Warn of a diagonal that had to be enlarged."""
    if jitter > 0.0:
        message = (
            f"the covariance of the data needed its diagonal enlarged by {jitter:.0e} of itself; places may repeat"
        )
        warnings.warn(message, JitterWarning, stacklevel=stacklevel)


def warn_if_unconverged(convergence: Convergence, stacklevel: int = 4) -> None:
    """Warn of an iteration that fell short."""
    if not convergence:
        warnings.warn(convergence.message, ConvergenceWarning, stacklevel=stacklevel)
