"""Sequential Monte Carlo over kernel programs: particles that follow the posterior from answer to answer.

    init(...)                      particles from the prior, all of weight one
    step(state, answers, upto)     weigh by the next answers; resample where few particles carry the weight; move them

(Lin 2022, Algorithms 1 and 2, with moves after the last answer too.) Where the next answers would leave less than half
of the particles with any weight, they count step by step, with a growing exponent, and particles move in between; so
several hundred answers can be counted on in growing portions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.moves import Answered, Target, drifted, grown, redrawn, replaced, walked
from gainful.beliefs.programs.population import Population
from gainful.beliefs.programs.steps import Seen, Steps
from gainful.beliefs.programs.units import Units
from gainful.checks import require_count, require_kind, require_positive
from gainful.errors import NumericalError

__all__ = ["Info", "Moves", "State", "effective", "init", "portions", "residual_counts", "step"]

Array = NDArray[np.float64]

_FIRST_PORTION = 4
_GROWTH = 1.4  # from portion to portion
_CLOSE = 1.2  # a last portion that would be less than this times the one before is joined with it


@dataclass(frozen=True)
class Moves:
    """What a particle does between two answers: `sweeps` times a structure, `repeats` numbers, a noise, a drift.

    step    of a number's share, the standard deviation
    leaps   of a drift along the gradient; 0 for none (as published)
    growing whether nodes are also joined and taken off (not in what was published)
    """

    sweeps: int = 10
    repeats: int = 3
    step: float = 0.1
    leaps: int = 4
    growing: bool = True

    def __post_init__(self) -> None:
        for name in ("sweeps", "repeats", "leaps"):
            object.__setattr__(self, name, require_count(name, getattr(self, name), 0, "0 leaves it out"))
        require_positive("step", self.step, "of a number's share, such as 0.1")
        require_kind("growing", self.growing, bool, "True or False", "True joins nodes and takes them off")


@dataclass(frozen=True, eq=False)
class State:
    """Weighted particles given the first `done` answers, and those up to `towards` with an exponent `share`.

    `value` is log p(answers so counted on | program), `log_evidence` the estimate of that of all programs.
    """

    grammar: Grammar
    population: Population
    log_weights: Array
    value: Array
    log_evidence: float = 0.0
    done: int = 0
    towards: int = 0
    share: float = 1.0
    steps: Steps = field(default_factory=Steps)
    units: Units | None = None

    @property
    def weights(self) -> Array:
        """Adding up to one."""
        return np.asarray(np.exp(self.log_weights - logsumexp(self.log_weights)))

    @property
    def target(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """How many answers count, and with what exponent."""
        if self.share == 1.0:
            return (self.towards,), (1.0,)
        return (self.done, self.towards), (1.0 - self.share, self.share)


@dataclass(frozen=True)
class Info:
    """What a person wants to know of a step.

    effective   1/Σ w² after weighing, before resampling
    distinct    how many different programs there are at its end
    accepted    the share of accepted moves of each kind
    jump        of a drift, the mean squared distance in units of its steps
    """

    answers: int
    share: float
    effective: float
    resampled: bool
    distinct: int
    accepted: dict[str, float]
    jump: float


def init(grammar: Grammar, noises: int, particles: int, rng: np.random.Generator) -> State:
    """Particles from the prior."""
    population = grammar.population(particles, noises, rng)
    return State(grammar, population, np.zeros(particles), np.zeros(particles))


def effective(log_weights: Array) -> float:
    """1/Σ w²: how many particles of equal weight they are worth."""
    return float(np.exp(2.0 * logsumexp(log_weights) - logsumexp(2.0 * log_weights)))


def residual_counts(weights: Array, rng: np.random.Generator, total: int | None = None) -> NDArray[np.int64]:
    """How many copies of each particle, of `total` (as many as there are): ⌊k w⌋, and the rest by the residuals, so
    that E[copies] = k w (Liu & Chen 1998).

    By the weights, as printed in Lin 2022, the rest would be biased: of k = 2 particles with weights 0.6 and 0.4 the
    first would have 1.6 copies on average instead of 1.2.
    """
    size = len(weights) if total is None else total
    expected = size * weights / weights.sum()
    counts = np.floor(expected + 1e-12).astype(np.int64)
    left = size - int(counts.sum())
    if left > 0:
        residual = np.maximum(expected - counts, 0.0)
        counts += rng.multinomial(left, residual / residual.sum())
    return counts


def portions(done: int, total: int) -> list[int]:
    """How many answers to count on, one portion after the other, each two fifths larger than the one before.

    Particles share what one of them has found when they are weighed by the next portion: portions that double leave
    fewer occasions for that. Of forty readings of a trend and a cycle without noise, 40 particles found the cycle with
    5 seeds of 10 by doubling and with 6 of 10 like this; with twice the sweeps with 8 and 9.

    >>> portions(0, 40), portions(20, 21)
    ([4, 6, 9, 13, 19, 27, 40], [21])
    """
    out, at = [], done
    while at < total:
        at = min(max(ceil(_GROWTH * at), _FIRST_PORTION), total)
        if total < _CLOSE * at:
            at = total
        out.append(at)
    return out


def step(
    state: State, answers: Answered, upto: int, rng: np.random.Generator, moves: Moves, threshold: float
) -> tuple[State, Info]:
    """Count on the answers up to `upto`, or on as much of them as leaves `threshold` of the particles effective."""
    if state.share == 1.0:
        state = replace(state, done=state.towards, towards=upto, share=0.0)
    weighed, ess = _weighed(state, answers, threshold)
    resampled = weighed.share < 1.0 or ess < threshold * len(state.value)
    chosen = _resampled(weighed, rng) if resampled else weighed
    whole = chosen.share == 1.0
    sweeps = moves.sweeps if whole else max(1, moves.sweeps // 3)
    moved, accepted, jump = _moved(chosen, answers, rng, replace(moves, sweeps=sweeps))
    info = Info(upto, moved.share, ess, resampled, _distinct(moved.population), accepted, jump)
    return moved, info


def _weighed(state: State, answers: Answered, threshold: float) -> tuple[State, float]:
    """The weights when more of the next answers count, and how many particles are effective then."""
    grammar, population = state.grammar, state.population
    before = answers.log_evidence(grammar, population, (state.done,), (1.0,))
    after = answers.log_evidence(grammar, population, (state.towards,), (1.0,))
    with np.errstate(invalid="ignore"):
        ahead = np.where(np.isneginf(after), -np.inf, after - before)
    least = threshold * len(ahead)

    def weighed(share: float) -> Array:
        return state.log_weights + (share - state.share) * ahead

    share = 1.0
    # A little less than wanted is no reason for one more stage.
    if effective(weighed(1.0)) < 0.9 * least and effective(weighed(state.share + 1e-9)) > least:
        share = float(brentq(lambda s: effective(weighed(s)) - least, state.share + 1e-9, 1.0, xtol=1e-6))
    log_weights = weighed(share)
    if not np.isfinite(log_weights).any():
        raise NumericalError(
            f"no program among {len(log_weights)} has answers 1 to {state.towards} with a density in double precision: "
            "they contradict each other, or are nearer than their noise allows; state a larger noise"
        )
    gain = float(logsumexp(log_weights) - logsumexp(state.log_weights))
    value = after if share == 1.0 else (1.0 - share) * before + share * after
    new = replace(state, log_weights=log_weights, value=value, share=share, log_evidence=state.log_evidence + gain)
    return new, effective(log_weights)


def _resampled(state: State, rng: np.random.Generator) -> State:
    """Copies by weight, all of weight one."""
    rows = np.repeat(np.arange(len(state.value)), residual_counts(state.weights, rng))
    population = state.population.take(rows)
    return replace(state, population=population, value=state.value[rows], log_weights=np.zeros(len(rows)))


def _moved(
    state: State, answers: Answered, rng: np.random.Generator, moves: Moves
) -> tuple[State, dict[str, float], float]:
    """Every particle moved by so many sweeps, under the same target."""
    target = Target(state.grammar, answers, *state.target)
    counted = float(np.dot(*state.target))
    population, value, seen = state.population, state.value, Seen()
    tally: dict[str, list[float]] = {}
    jumps: list[float] = []

    def note(name: str, rate: Array | NDArray[np.bool_]) -> None:
        both = tally.setdefault(name, [0.0, 0.0])
        both[0] += float(np.sum(rate))
        both[1] += len(rate)

    drifting = moves.leaps > 0 and answers.has_slopes
    for _ in range(moves.sweeps):
        population, value, accepted = replaced(population, value, target, rng)
        note("structure", accepted)
        if moves.growing:
            population, value, accepted = grown(population, value, target, rng)
            note("growth", accepted)
        for _ in range(moves.repeats):
            population, value, accepted = walked(population, value, target, rng, moves.step)
            note("number", accepted)
        if population.noise.shape[1]:
            population, value, accepted = redrawn(population, value, target, rng)
            note("noise", accepted)
        if drifting:
            steps = state.steps.of(population, counted)
            found = drifted(population, value, target, rng, steps, moves.leaps)
            seen.note(population, found.squares, found.chance)
            population, value, _ = found.moved
            note("drift", found.chance)
            jumps.append(float(np.mean(found.jump)))
    after = state.steps.after(seen, counted) if drifting else state.steps
    rates = {name: total / count for name, (total, count) in tally.items()}
    new = replace(state, population=population, value=value, steps=after)
    return new, rates, float(np.mean(jumps)) if jumps else 0.0


def _distinct(population: Population) -> int:
    """How many different programs there are."""
    has = population.has
    rows = np.concatenate(
        [
            population.symbols.astype(float),
            population.columns.astype(float),
            np.where(has, population.shares, 0.0).reshape(len(population), -1),
        ],
        axis=1,
    )
    return len(np.unique(rows, axis=0))
