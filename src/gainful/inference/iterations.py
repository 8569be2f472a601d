"""What the iterations of EP have in common: init and step, and trying a list of them until one ends at a fixed point.

    state = iteration.init(problem, sites, iterations)      None where the iteration does not apply
    state, info = iteration.step(state)

`state` is what the next step needs, `info` what a person wants to see; `info.result` is None while there is more to do.
A step from a state that is finished leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainful.inference.compressed import Compressed
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Result
from gainful.inference.sites import Sites
from gainful.inference.sweep import Sweep, sweep
from gainful.layout import Layout

Array = NDArray[np.float64]
Form = TypeVar("Form", bound=Conditioned | Compressed)

_ENDS = (Result.CONVERGED, Result.CONVERGED_TO_PRECISION, Result.STOPPED_EARLY)


@dataclass(frozen=True)
class Problem(Generic[Form]):
    """A fixed point to be found: the observations, how to condition on sites (in full, or through a low-rank root), and
    when to stop. `begin` conditions on the sites of a warm start, where that is known to be cheaper."""

    layout: Layout
    condition: Callable[[Sites], Form]
    tolerance: float
    max_iterations: int
    clip_negative: bool = False
    begin: Callable[[Sites], Form] | None = None

    def sweep(self, belief: Form, iterations: int) -> Point[Form]:
        """The point at this belief, whose sweep is one iteration more."""
        return Point(belief, sweep(self.layout, belief, self.clip_negative), iterations + 1)

    def is_proper(self, belief: Form) -> bool:
        """Whether the cavity of every uncoupled observation has a positive variance."""
        return bool(np.all(belief.cavity_ratio[self.layout.scalar_rows] > 0.0))


@dataclass(frozen=True)
class Point(Generic[Form]):
    """A belief, the sweep made there, and how many sweeps led to it, this one included."""

    belief: Form
    swept: Sweep
    iterations: int

    @property
    def residual(self) -> float:
        return self.swept.residual


class Info(NamedTuple):
    """Sweeps so far, the mismatch of moments in standard deviations, sweeps since it last halved, the damping factor,
    and how the iteration ended (None: it has not)."""

    iterations: int
    residual: float
    since_halved: int = 0
    damping: float = 1.0
    result: Result | None = None


class State(Protocol[Form]):
    """What every state has."""

    @property
    def point(self) -> Point[Form]: ...


class Iteration(Protocol):
    """One way towards a fixed point; see the module."""

    def init(self, problem: Problem[Form], sites: Sites, iterations: int = 0) -> Any: ...

    def step(self, state: Any) -> tuple[Any, Info]: ...


def attainable(belief: Conditioned | Compressed) -> float:
    """How far double precision lets the residual fall, where that is far enough."""
    return min(belief.resolution, 1e-4)


def run(iteration: Iteration, state: State[Form]) -> tuple[State[Form], Info]:
    """Step until there is a result."""
    while True:
        state, info = iteration.step(state)
        if info.result is not None:
            return state, info


def first_to_end(
    iterations: Sequence[Iteration], problem: Problem[Form], sites: Sites, spent: int
) -> Point[Form] | None:
    """The end of the first iteration that converges, or spends what is left of max_iterations; None where none does.

    `spent` sweeps were made before. Sweeps that went in circles count, those of a Newton attempt given up do not.
    """
    for iteration in iterations:
        start = iteration.init(problem, sites, spent)
        if start is None:
            continue
        state, info = run(iteration, start)
        if info.result in _ENDS:
            return state.point
        if info.result is Result.IMPROPER:
            return None
        if info.result is Result.CIRCLING:
            spent = info.iterations
    return None
