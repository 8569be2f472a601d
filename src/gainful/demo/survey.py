"""The demonstration itself, without its display: surveys of soil pH on a 2 km square, with a budget of 60.

    field = Field.draw(seed=0)
    for moment in survey(field, GOALS["gainful"]):
        ...

Each field is a draw from the prior that the surveyor believes in, so nothing but the choice of queries differs between
strategies. Everything that leaves here is plain values, which other processes can send and figures can draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import World
from gainful.lab.statistics import Estimate, mean, paired_ratio

__all__ = [
    "BUDGET",
    "GOALS",
    "INSTRUMENTS",
    "Comparison",
    "Field",
    "Moment",
    "Plan",
    "Result",
    "Step",
    "compare",
    "survey",
]

Array = NDArray[np.float64]

SIDE = 2.0
SPACE = gf.Space(gf.Real("east", 0, SIDE, unit="km"), gf.Real("north", 0, SIDE, unit="km"))
NEUTRAL, SPREAD, LENGTHSCALE = 6.5, 1.0, 0.6  # pH, pH, km
PRIOR = gf.GP(gf.SE(LENGTHSCALE, SPREAD**2), gf.ConstantMean(NEUTRAL), space=SPACE)

LAB = gf.Point(noise=0.1, cost=10, name="lab")
STRIP = gf.Interval(noise=0.1, width=0.6, cost=7, name="strip")
LOOK = gf.Ordinal(thresholds=[6.1, 6.9], noise=0.2, cost=3, name="look")
INSTRUMENTS: tuple[gf.Instrument, ...] = (LAB, STRIP, LOOK)
GRADES = ("acid", "between", "alkaline")
BUDGET = 60.0

# What is compared, the one to be shown off first.
GOALS: Mapping[str, Any] = {"gainful": gf.PerCost(gf.Learn("function")), "random": gf.Random()}

PER_SIDE = 41  # the error is measured on a grid of 50 m
GRID = SPACE.grid(PER_SIDE)


@dataclass(frozen=True, eq=False)
class Field:
    """A soil that nobody has measured yet."""

    seed: int
    world: World

    @classmethod
    def draw(cls, seed: int) -> Field:
        return cls(seed, World.draw(dimensions=2, rng=seed, high=SIDE, lengthscale=LENGTHSCALE))

    def truth(self, places: Array) -> Array:
        """pH at each place, (M,)."""
        return NEUTRAL + SPREAD * self.world.truth(places)

    @cached_property
    def picture(self) -> Array:
        """pH on the grid; rows go north, columns east."""
        return as_picture(self.truth(GRID))

    def answer(self, query: gf.Query, rng: np.random.Generator) -> Any:
        return query.instrument.simulate(self.truth(query.place[None]), rng)[0]


@dataclass(frozen=True)
class Plan:
    """A query, the bits it should tell, what was believed there (mean, standard deviation), and why it was chosen.

    Working out what the other instruments offered costs as much as choosing, so the reason is empty unless asked for.
    """

    instrument: str
    place: tuple[float, float]
    cost: float
    bits: float
    believed: tuple[float, float]
    reason: str

    @property
    def where(self) -> str:
        return f"{self.place[0]:.2f} km east, {self.place[1]:.2f} km north"


@dataclass(frozen=True)
class Step:
    """A plan carried out: the answer in words, and what had been spent and what the error was after it."""

    plan: Plan
    answer: str
    spent: float
    error: float


@dataclass(frozen=True, eq=False)
class Moment:
    """A survey after some steps: the belief on the grid, its error (RMSE), and the next plan, None at the end."""

    seed: int
    strategy: str
    steps: tuple[Step, ...]
    mean: Array
    sd: Array
    error: float
    covered: float  # the share of the grid where the truth is within mean ± 1.96 standard deviations
    plan: Plan | None

    @property
    def spent(self) -> float:
        return self.steps[-1].spent if self.steps else 0.0

    @property
    def bits(self) -> float:
        """The sum of what each answer was expected to tell before it came."""
        return sum(step.plan.bits for step in self.steps)

    def places(self, instrument: str) -> Array:
        """Where an instrument was used, (K, 2)."""
        used = [step.plan.place for step in self.steps if step.plan.instrument == instrument]
        return np.array(used, dtype=float).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The same field surveyed by every strategy: the truth, and the last moment of each survey."""

    seed: int
    truth: Array
    last: Mapping[str, Moment]

    def error(self, strategy: str, costs: Array) -> Array:
        """The error when so much had been spent, and before the next answer came."""
        steps = self.last[strategy].steps
        errors = np.array([float(np.sqrt(np.mean((self.truth - NEUTRAL) ** 2))), *(step.error for step in steps)])
        return errors[np.searchsorted([step.spent for step in steps], costs, side="right")]


@dataclass(frozen=True)
class Result:
    """What came of all fields. The interval of the ratio is paired: a field that is hard is hard for both."""

    errors: Mapping[str, Estimate]
    ratio: Estimate
    better: int
    fields: int

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> Result:
        """The first strategy against the second, from two fields up."""
        ours, theirs = ([each.last[strategy].error for each in comparisons] for strategy in GOALS)
        better = sum(a < b for a, b in zip(ours, theirs, strict=True))
        errors = dict(zip(GOALS, (mean(ours), mean(theirs)), strict=True))
        return cls(errors, paired_ratio(ours, theirs), better, len(comparisons))

    def __str__(self) -> str:
        ours, theirs = (f"{e.value:.2f} ± {e.high - e.value:.2f}" for e in self.errors.values())
        return (
            f"gainful: error {ours} pH against {theirs} for random after spending {BUDGET:g} "
            f"(better on {self.better} of {self.fields} fields; ratio {self.ratio.value:.2f}, "
            f"95 % interval {self.ratio.low:.2f} to {self.ratio.high:.2f})"
        )


def compare(seed: int, explain: bool = False) -> Iterator[Moment | Comparison]:
    """Every moment of every strategy's survey of one field, and then the comparison."""
    field = Field.draw(seed)
    last = {}
    for strategy in GOALS:
        for moment in survey(field, strategy, explain):
            yield moment
        last[strategy] = moment
    yield Comparison(seed, field.picture, last)


def survey(field: Field, strategy: str, explain: bool = False) -> Iterator[Moment]:
    """Ask, measure, tell: one moment before each query, and one after the last."""
    campaign = gf.Campaign(SPACE, INSTRUMENTS, PRIOR, goal=GOALS[strategy], budget=BUDGET, seed=field.seed)
    rng = np.random.default_rng([field.seed, 1])
    steps: tuple[Step, ...] = ()

    def moment() -> Moment:
        posterior = campaign.posterior
        believed, sd = as_picture(posterior.mean(GRID)), np.sqrt(as_picture(posterior.variance(GRID)))
        off = np.abs(field.picture - believed)
        error, covered = float(np.sqrt(np.mean(off**2))), float(np.mean(off <= 1.96 * sd))
        return Moment(field.seed, strategy, steps, believed, sd, error, covered, None)

    now = moment()
    while (query := campaign.ask()) is not None:
        plan = _plan(campaign.posterior, query, _reason(campaign, query) if explain else "")
        yield replace(now, plan=plan)
        answer = field.answer(query, rng)
        campaign.tell(query, answer)
        now = moment()
        steps = (*steps, Step(plan, _words(query.instrument, answer), campaign.spent, now.error))
        now = replace(now, steps=steps)
    yield now


def as_picture(values: Array) -> Array:
    """Values on the grid with rows that go north and columns that go east, as pictures are laid out."""
    return np.ascontiguousarray(values.reshape(PER_SIDE, PER_SIDE).T)


def _plan(posterior: gf.Posterior, query: gf.Query, reason: str) -> Plan:
    here = query.place[None]
    bits = float(gf.information(posterior, query.instrument, here)[0])
    believed = float(posterior.mean(here)[0]), float(np.sqrt(posterior.variance(here)[0]))
    east, north = (float(x) for x in query.place)
    return Plan(query.instrument.label, (east, north), query.cost, bits, believed, reason)


def _reason(campaign: gf.Campaign, query: gf.Query) -> str:
    why = campaign.why(query)
    if not why.elsewhere:
        return "drawn by chance"
    rivals = [f"{o.instrument} {o.per_cost:.2f}" for o in why.elsewhere if o.instrument != why.chosen.instrument]
    others = f"at best {', '.join(rivals)}" if rivals else "and nothing else can be paid for"
    return f"{why.chosen.per_cost:.2f} bits per unit of cost, {others}"


def _words(instrument: gf.Instrument, answer: Any) -> str:
    if instrument is LOOK:
        return GRADES[int(answer) - 1]
    return f"{answer[0]:.2f} to {answer[1]:.2f}" if instrument is STRIP else f"{float(answer):.2f}"
