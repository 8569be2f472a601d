"""Moves of particles: each leaves its target as it is, and the test of that can fail.

Starts are exact draws of the target, so that ends are too, however many moves there are and however well they mix.
Without answers the target is the prior, which has closed forms. With answers it is drawn by rejection: readings whose
noise has a known part v have densities below (2πv)^(−n/2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2_contingency, chisquare

import gainful as gf
from gainful.beliefs.programs import moves as moving
from gainful.beliefs.programs import smc
from gainful.beliefs.programs.compiled import grow_rows, prune_rows
from gainful.beliefs.programs.evidence import Numbers
from gainful.beliefs.programs.grammar import SEES
from gainful.beliefs.programs.language import FORMS
from gainful.beliefs.programs.moves import Moved, Target
from gainful.beliefs.programs.population import CODES, Population
from gainful.beliefs.programs.steps import Seen, Steps

PUBLISHED = gf.Grammar()
LINES = gf.Grammar({"SE": 0.35, "LIN": 0.35, "+": 0.3}, noise=gf.Gamma(1.0, 2.0))
WIDE = gf.Grammar(
    {"C": 0.2, "MAT": 0.2, "RQ": 0.3, "CP": 0.15, "×": 0.15},
    {"RQ.shape": gf.LogNormal(0.0, 1.0), "MAT.lengthscale": gf.Gamma(2.0, 3.0), "CP.place": gf.Uniform(-1.0, 1.0)},
    noise=gf.LogNormal(-1.0, 1.0),
    inputs=2,
)
NOTHING = Numbers(np.zeros((0, 1)), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
SURE = 1e-3
MOVES = 5

Move = Callable[[Population, np.ndarray, Target, np.random.Generator], Moved]


def drifted(population: Population, value: np.ndarray, target: Target, rng: np.random.Generator) -> Moved:
    steps = Steps().of(population, float(np.dot(target.ends, target.shares)))
    return moving.drifted(population, value, target, rng, steps, 3).moved


def swept(population: Population, value: np.ndarray, target: Target, rng: np.random.Generator) -> Moved:
    part = {"done": target.ends[0], "share": target.shares[-1]} if len(target.ends) > 1 else {}
    state = smc.State(target.grammar, population, np.zeros(len(value)), value, towards=target.ends[-1], **part)
    new, _, _ = smc._moved(state, target.answers, rng, smc.Moves(sweeps=1, repeats=2, leaps=2))
    return Moved(new.population, new.value, np.ones(len(value), dtype=bool))


ALL: dict[str, Move] = {
    "replaced": moving.replaced,
    "grown": moving.grown,
    "walked": lambda p, v, t, rng: moving.walked(p, v, t, rng, 0.3),
    "redrawn": moving.redrawn,
    "drifted": drifted,
    "swept": swept,
}


def moved(
    move: Move, population: Population, target: Target, rng: np.random.Generator, times: int = MOVES
) -> Population:
    """Where the particles are after some moves, in which values stay what they should be."""
    value = target.log(population)
    for _ in range(times):
        population, value, _ = move(population, value, target, rng)
    np.testing.assert_allclose(value, target.log(population), rtol=1e-7, atol=1e-7)
    return population


# Without answers: the prior


def sizes_of(population: Population) -> np.ndarray:
    return np.minimum(population.sizes, 9)


def prior_sizes(grammar: gf.Grammar) -> np.ndarray:
    """P(1, 3, 5, 7, more nodes) of a branching process: Catalan(j) q^j (1 − q)^(j + 1)."""
    q = float(grammar.joins[-1])
    first = np.array([c * q**j * (1.0 - q) ** (j + 1) for j, c in enumerate((1, 1, 2, 5))])
    return np.append(first, 1.0 - first.sum())


def p_values_of_the_prior(grammar: gf.Grammar, population: Population) -> dict[str, float]:
    """Of the sizes, the roots, what joins two leaves, the columns that are looked at, all shares, the noise."""
    odds = {CODES[symbol]: p for symbol, p in grammar.productions.items()}
    joining = {CODES[symbol]: p for symbol, p in grammar.productions.items() if FORMS[symbol].joins}
    roots = population.symbols[:, 0]
    found = {
        "sizes": p_of(sizes_of(population), (1, 3, 5, 7, 9), prior_sizes(grammar)),
        "roots": p_of(roots, tuple(odds), np.array(list(odds.values()))),
        "joined": p_of(roots[population.sizes == 3], tuple(joining), np.array(list(joining.values()))),
        "shares": p_of((20.0 * population.shares[population.has]).astype(int), range(20), np.ones(20)),
        "noise": p_of((20.0 * population.noise).astype(int), range(20), np.ones(20)),
    }
    if grammar.inputs > 1:
        seen = population.columns[SEES[population.symbols]]
        found["columns"] = p_of(seen, range(grammar.inputs), np.ones(grammar.inputs))
    return found


def p_of(values: np.ndarray, kinds: Sequence[int], odds: np.ndarray) -> float:
    """p of so many values of each kind."""
    if len(kinds) == 1:
        return 1.0
    counts = np.array([np.sum(values == kind) for kind in kinds])
    assert counts.sum() == values.size
    return float(chisquare(counts, counts.sum() * odds / odds.sum()).pvalue)


def ends_without_answers(move: Move, grammar: gf.Grammar, count: int, seed: int = 11) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    target = Target(grammar, NOTHING, (0,), (1.0,))
    return p_values_of_the_prior(grammar, moved(move, grammar.population(count, 1, rng), target, rng))


@pytest.mark.parametrize("name", ["replaced", "grown", "walked", "redrawn"])
def test_without_answers_every_move_leaves_the_prior_as_it_is(name: str) -> None:
    found = ends_without_answers(ALL[name], PUBLISHED, 20_000)
    assert min(found.values()) > SURE, found


@pytest.mark.parametrize("name", ALL)
def test_every_move_leaves_a_prior_with_other_symbols_columns_and_densities_as_it_is(name: str) -> None:
    found = ends_without_answers(ALL[name], WIDE, 4_000)
    assert min(found.values()) > SURE, found


# With answers: draws of the target by rejection

KNOWN = 0.25  # of the noise's variance
X = np.array([[-0.8, 0.1], [-0.1, 0.9], [0.0, -0.4], [0.9, 0.3]])
Y = np.array([0.7, -0.3, -0.5, 0.8])


def answers(count: int, own: int) -> Numbers:
    """The first readings, of which the program's own noise is in the first `own`."""
    noises = np.where(np.arange(count) < own, 0, -1)
    return Numbers(X[:count], Y[:count], np.full(count, KNOWN), noises.astype(np.int64))


def exact_draws(target: Target, count: int, rng: np.random.Generator) -> Population:
    """By rejection: no density is above that of readings at the mean with the known noise alone."""
    highest = -0.5 * np.log(2.0 * np.pi * KNOWN) * np.dot(target.ends, target.shares)
    kept: list[Population] = []
    while sum(map(len, kept)) < count:
        drawn = target.grammar.population(20_000, 1, rng)
        log = target.log(drawn)
        assert log.max() <= highest
        kept.append(drawn.take(np.log(rng.random(len(log))) < log - highest))
    return Population(*(np.concatenate([getattr(each, f) for each in kept])[:count] for f in FIELDS))


FIELDS = ("symbols", "shares", "columns", "noise")


def described(population: Population, cuts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Kinds: the symbols of small programs and the sizes of the others; numbers and noise by quantiles."""
    symbols = population.symbols
    names = np.where(population.sizes <= 3, symbols[:, 0] * 100 + symbols[:, 1] * 10 + symbols[:, 2], 10_000)
    leaf, three = population.sizes == 1, population.sizes == 3
    out = {"structure": names + np.where(population.sizes > 3, population.sizes, 0)}
    out["joined"] = population.shares[three, 1, 0]
    for code in np.unique(symbols[leaf, 0]):
        for position in range(int(population.has[symbols == code][0].sum())):
            out[f"{code}.{position}"] = population.shares[leaf & (symbols[:, 0] == code), 0, position]
    out["noise"] = population.noise[:, 0]
    return {k: v if k == "structure" else np.searchsorted(cuts.setdefault(k, np.quantile(v, DECILES)), v)
            for k, v in out.items()}  # fmt: skip


DECILES = np.linspace(0.1, 0.9, 9)


def same(first: Population, second: Population) -> dict[str, float]:
    """p that two samples are of one distribution, by what is looked at; kinds that are rare are put together."""
    cuts: dict[str, np.ndarray] = {}
    a, b = described(first, cuts), described(second, cuts)
    found = {}
    for name in a:
        kinds, at = np.unique(np.concatenate([a[name], b[name]]), return_inverse=True)
        table = np.array([np.bincount(at[: len(a[name])], minlength=len(kinds)),
                          np.bincount(at[len(a[name]) :], minlength=len(kinds))])  # fmt: skip
        rare = table.sum(axis=0) < 20
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)]) if rare.any() else table
        table = table[:, table.sum(axis=0) > 0]
        found[name] = float(chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0
    return found


TARGETS = {
    "published": Target(PUBLISHED, answers(3, 3), (3,), (1.0,)),
    "lines": Target(LINES, answers(4, 2), (2, 4), (0.4, 0.6)),  # two of four answers with an exponent
    "wide": Target(WIDE, answers(2, 2), (2,), (1.0,)),
}
EXACT = 4_000


@cache
def reference(name: str) -> tuple[Population, Population]:
    """Starts, and a second sample to hold the ends against."""
    both = exact_draws(TARGETS[name], 2 * EXACT, np.random.default_rng(3))
    return both.take(np.arange(EXACT)), both.take(np.arange(EXACT, 2 * EXACT))


def ends_with_answers(move: Move, name: str, seed: int = 5) -> dict[str, float]:
    starts, others = reference(name)
    return same(others, moved(move, starts, TARGETS[name], np.random.default_rng(seed)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ALL)
def test_with_answers_every_move_leaves_the_posterior_as_it_is(name: str, target: str) -> None:
    found = ends_with_answers(ALL[name], target)
    assert min(found.values()) > SURE, found


def test_prior_and_posterior_are_told_apart() -> None:
    """As the test above could not fail otherwise."""
    prior = PUBLISHED.population(EXACT, 1, np.random.default_rng(0))
    found = same(reference("published")[1], prior)
    assert found["structure"] < 1e-6
    assert found["noise"] < 1e-6


# Periods by a guide


@cache
def waves() -> Numbers:
    """Readings of a cycle, whose periodogram has a peak."""
    x = np.random.default_rng(7).uniform(-1.0, 1.0, (24, 1))
    return Numbers(x, np.sin(2 * np.pi * x[:, 0] / 0.3), np.full(24, 0.01), np.zeros(24, dtype=np.int64))


def test_a_guide_knows_where_the_period_is() -> None:
    guide = Target(PUBLISHED, waves(), (24,), (1.0,)).guide
    mass = np.interp([0.29, 0.31], guide.edges[0], np.concatenate([[0.0], guide.upto[0]]))
    assert mass[1] - mass[0] > 0.3


@pytest.mark.parametrize("name", ["replaced", "grown"])
@pytest.mark.parametrize("guided", [True, False], ids=["with its density", "without"])
def test_periods_by_a_guide_leave_the_prior_as_it_is_if_its_density_counts(
    name: str, guided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an exponent of zero the answers say nothing, and guide all the same."""
    target = Target(PUBLISHED, waves(), (24,), (0.0,))
    if not guided:  # the guide's density left out of the ratio
        real = moving._accept

        def accept(population, value, proposed, target, log_ratio, rng):  # type: ignore[no-untyped-def]
            sizes, new = population.sizes, proposed.sizes
            chance = np.log(sizes / new) if name == "replaced" else np.where(
                new > sizes, np.log(0.4 * sizes / np.maximum(new - 1, 1)), -np.log(0.4 * new / np.maximum(sizes - 1, 1))
            )  # fmt: skip
            plain = np.where(np.isfinite(log_ratio), chance, log_ratio)
            return real(population, value, proposed, target, plain, rng)

        monkeypatch.setattr(moving, "_accept", accept)
    rng = np.random.default_rng(3)
    ends = moved(ALL[name], PUBLISHED.population(20_000, 1, rng), target, rng)
    periods = ends.shares[..., 1][ends.symbols == CODES["PER"]]
    p = chisquare(np.histogram(periods, 40, (0.0, 1.0))[0]).pvalue
    assert p > SURE if guided else p < 1e-9


@pytest.mark.parametrize("name", ["replaced", "grown"])
def test_periods_by_a_guide_leave_the_posterior_as_it_is(name: str) -> None:
    """Under a few answers, with the guide of others that is far too sure of a period."""
    starts, others = reference("published")
    target = Target(PUBLISHED, answers(3, 3), (3,), (1.0,))
    target.__dict__["guide"] = Target(PUBLISHED, waves(), (24,), (1.0,)).guide
    found = same(others, moved(ALL[name], starts, target, np.random.default_rng(8)))
    assert min(found.values()) > SURE, found


# What would be wrong is found


def without_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Acceptance by the evidences alone, as if proposals were symmetric."""
    real = moving._accept

    def accept(population, value, proposed, target, log_ratio, rng):  # type: ignore[no-untyped-def]
        return real(population, value, proposed, target, np.where(np.isfinite(log_ratio), 0.0, log_ratio), rng)

    monkeypatch.setattr(moving, "_accept", accept)


@pytest.mark.parametrize(("name", "wrong"), [("replaced", "sizes"), ("grown", "sizes"), ("walked", "shares")])
def test_a_move_without_its_ratio_is_found_out(name: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ratio(monkeypatch)
    assert ends_without_answers(ALL[name], PUBLISHED, 20_000)[wrong] < 1e-6


@pytest.mark.parametrize(("name", "wrong"), [("replaced", "structure"), ("grown", "structure")])
def test_a_move_without_its_ratio_is_found_out_with_answers_too(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ratio(monkeypatch)
    assert ends_with_answers(ALL[name], "published")[wrong] < 1e-6


def test_programs_that_grow_and_shrink_together_are_found_out() -> None:
    """With one coin for all, every program alone has the right distribution; all of them together have not."""

    def together(population, value, target, rng):  # type: ignore[no-untyped-def]
        rows = np.zeros_like(population.symbols), np.zeros_like(population.shares), np.zeros_like(population.columns)
        ratio, grammar, own = np.zeros(len(value)), target.grammar, [getattr(population, f) for f in FIELDS[:3]]
        if rng.random() < 0.5:
            grow_rows(rng, grammar.chances, grammar.joins, grammar.inputs, SEES, *target.guide, *own, *rows, ratio)
        else:
            prune_rows(rng, grammar.joins, *target.guide, *own, *rows, ratio)
        return moving._accept(population, value, Population(*rows, population.noise), target, ratio, rng)

    assert ends_without_answers(together, PUBLISHED, 20_000)["sizes"] < 1e-6


def test_a_drift_without_the_jacobian_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = moving._energy

    def energy(population, target, x, width):  # type: ignore[no-untyped-def]
        found = real(population, target, x, width)
        return found._replace(log=found.value)

    monkeypatch.setattr(moving, "_energy", energy)
    assert ends_without_answers(drifted, PUBLISHED, 4_000)["noise"] < 1e-6


# Drifts


def leapt(population: Population, target: Target, x: np.ndarray, p: np.ndarray, step: np.ndarray, leaps: int):  # type: ignore[no-untyped-def]
    """Leapfrog as in the books (Neal 2011, fig. 2), with slopes by differences of the evidence."""
    width = int(population.sizes.max())
    numbers = np.concatenate([population.has[:, :width].reshape(len(x), -1), np.ones((len(x), 1), dtype=bool)], axis=1)

    def log(x: np.ndarray) -> np.ndarray:
        u = expit(x)
        shares = population.shares.copy()
        shares[:, :width] = np.where(population.has[:, :width], u[:, :-1].reshape(len(x), width, 2), 0.5)
        inside = np.where(numbers, np.log(u * (1.0 - u)), 0.0).sum(axis=1)
        return inside + target.log(population.at(shares, u[:, -1:]))

    def slope(x: np.ndarray) -> np.ndarray:
        h, out = 1e-5, np.zeros_like(x)
        for j in np.flatnonzero(numbers.any(axis=0)):
            ahead = np.zeros(x.shape[1])
            ahead[j] = h
            out[:, j] = (log(x + ahead) - log(x - ahead)) / (2.0 * h)
        return np.where(numbers, out, 0.0)

    start = log(x) - 0.5 * np.sum(p**2, axis=1)
    for _ in range(leaps):
        p = p + 0.5 * step * slope(x)
        x = x + step * p
        p = p + 0.5 * step * slope(x)
    return x, p, log(x) - 0.5 * np.sum(p**2, axis=1) - start


class Scripted:
    """A generator that hands out a given momentum and accepts what can be."""

    def __init__(self, momentum: np.ndarray) -> None:
        self.momentum = momentum

    def standard_normal(self, shape: tuple[int, ...]) -> np.ndarray:
        assert shape == self.momentum.shape
        return self.momentum

    def random(self, count: int) -> np.ndarray:
        return np.zeros(count)


def test_a_drift_is_a_leapfrog_that_goes_back_the_way_it_came() -> None:
    rng = np.random.default_rng(4)
    some, target = reference("lines")[0], TARGETS["lines"]
    population = some.take(np.flatnonzero(some.sizes <= 5)[:40])
    width, value = int(population.sizes.max()), target.log(population)
    steps = np.full(population.shares.shape, 0.3), np.full(population.noise.shape, 0.2)
    moving_ = np.concatenate([population.has[:, :width].reshape(40, -1), np.ones((40, 1), dtype=bool)], axis=1)
    step = np.where(moving_, np.append(np.full(2 * width, 0.3), 0.2), 0.0)
    momentum = np.where(moving_, rng.standard_normal(step.shape), 0.0)

    def at(some: Population) -> np.ndarray:
        numbers = np.where(some.has[:, :width], some.shares[:, :width], 0.5).reshape(40, -1)
        return logit(np.concatenate([numbers, some.noise], axis=1))

    x, p, change = leapt(population, target, at(population), momentum, step, 5)
    found = moving.drifted(population, value, target, Scripted(momentum), steps, 5)
    np.testing.assert_allclose(at(found.moved.population), x, atol=1e-6)
    np.testing.assert_allclose(found.chance, np.exp(np.minimum(change, 0.0)), atol=1e-6)
    np.testing.assert_array_equal(found.moved.population.symbols, population.symbols)
    back = moving.drifted(*found.moved[:2], target, Scripted(-p), steps, 5)
    np.testing.assert_allclose(at(back.moved.population), at(population), atol=1e-6)
    np.testing.assert_allclose(np.exp(change) * back.chance, found.chance, atol=1e-5)  # detailed balance


def test_half_the_step_is_refused_less_than_a_third_as_often() -> None:
    """Energies are off by the square of the step, or its cube where leaps are few."""
    population, target = reference("lines")[0].take(np.arange(1000)), TARGETS["lines"]
    value, refused = target.log(population), []
    for size in (0.4, 0.2, 0.1):
        steps = np.full(population.shares.shape, size), np.full(population.noise.shape, size)
        found = moving.drifted(population, value, target, np.random.default_rng(1), steps, 4)
        refused.append(1.0 - float(found.chance.mean()))
    assert refused[0] < 0.1
    assert refused[0] > 3.0 * refused[1] > 9.0 * refused[2]


def test_steps_depend_on_symbols_and_earlier_stages_and_not_on_where_a_particle_is() -> None:
    rng = np.random.default_rng(6)
    population, target = reference("published")[0].take(np.arange(400)), TARGETS["published"]
    seen, before = Seen(), Steps()
    found = moving.drifted(population, target.log(population), target, rng, before.of(population, 3.0), 3)
    seen.note(population, found.squares, found.chance)
    after = before.after(seen, 3.0)
    elsewhere = population.at(rng.random(population.shares.shape), rng.random(population.noise.shape))
    for steps in (before, after):
        for mine, others in zip(steps.of(population, 3.0), steps.of(elsewhere, 3.0), strict=True):
            np.testing.assert_array_equal(mine, others)
    assert not np.array_equal(before.of(population, 3.0)[0], after.of(population, 3.0)[0])
    alone = after.of(population.take([7]), 3.0)  # nor on who else is there
    np.testing.assert_array_equal(alone[0][0], after.of(population, 3.0)[0][7])
