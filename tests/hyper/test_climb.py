"""The search on from one theta: it ends where L-BFGS does, in units that prior and evidence share."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import gainful as gf
from gainful.hyper.climb import bounds_of, climb, descend, units_of
from gainful.hyper.problem import Problem
from gainful.hyper.staged import FIRST, _counts, climb_in_stages


def problem(count=80):
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(count, 2))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=count)
    data = gf.Data().add(gf.Point(0.1, name="lab"), X, y)
    return Problem.of(gf.GP(gf.Matern((0.3, 0.5), nu=1.5)), data, None, None)


def test_it_ends_where_other_searches_do_however_little_it_was_told_of_the_curvature():
    given = problem()
    best = climb(given, [given.theta[given.free]], 1e-12)[0]
    (value, theta, settled, words), inverse = descend(given, given.theta, np.eye(len(given.free)), 1e-6, 100)
    assert settled
    assert value == pytest.approx(best[0], abs=1e-4)
    assert theta == pytest.approx(best[1], abs=0.02)
    assert "to be gained" in words
    again, _ = descend(given, theta, inverse, 1e-3, 100)
    assert again[0] >= value - 1e-9


def test_what_is_left_is_about_as_much_as_it_says():
    given = problem()
    best = climb(given, [given.theta[given.free]], 1e-12)[0][0]
    (value, _, settled, _), _ = descend(given, given.theta, np.eye(len(given.free)), 0.1, 100)
    assert settled
    assert best - value < 0.3
    (_, _, settled, words), _ = descend(given, given.theta, np.eye(len(given.free)), 1e-9, 2)
    assert not settled
    assert words.startswith("2 steps of BFGS on 80 answers")


def test_it_refuses_to_begin_where_there_is_no_evidence():
    given = problem()
    broken = given.theta.copy()
    broken[given.free] = np.nan
    with pytest.raises(gf.NumericalError, match="no start gave a finite evidence"):
        descend(given, broken, np.eye(len(given.free)), 0.1, 5)


@pytest.mark.parametrize("many", [4097, 6100, 14_940, 41_157, 1_000_000])
def test_stages_grow_in_equal_proportions_up_to_all(many):
    counts = _counts(many)
    growth = np.divide(counts[1:], counts[:-1])
    assert counts[0] == FIRST
    assert counts[-1] == many
    assert growth.max() <= 4.01
    assert growth.min() == pytest.approx(growth.max(), rel=0.01)
    assert growth.min() > 1.9


def test_one_stage_is_the_search_itself():
    given = problem()
    begins = [given.theta[given.free]]
    same, (staged,) = climb_in_stages(given, begins, np.random.default_rng(0))
    assert same is given
    assert staged[0] == pytest.approx(climb(given, begins, 1e-6)[0][0], abs=1e-9)


@pytest.mark.parametrize(
    ("noise", "engine", "neighbours"),
    [(0.003, gf.Vecchia(), 60), (0.3, gf.Vecchia(), None), (0.003, gf.Vecchia(5), 5)],
)
def test_a_search_ends_with_more_neighbours_where_worth_it_and_none_are_stated(monkeypatch, noise, engine, neighbours):
    """Precise readings of a smooth function tell of it from far away, noisy ones do not."""
    for room, name in (("fit", "MANY"), ("staged", "FIRST")):
        monkeypatch.setattr(import_module(f"gainful.hyper.{room}"), name, 400)
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(1000, 3))
    y = np.sin(6.0 * X[:, 0]) * np.cos(3.0 * X[:, 1]) + X[:, 2] + noise * rng.normal(size=len(X))
    data = gf.Data().add(gf.Point(0.1, name="lab"), X, y)
    fitted = gf.fit(gf.GP(gf.Matern((0.5, 0.5, 0.5), nu=2.5)), data, starts=1, inference=engine)
    assert fitted.converged
    assert fitted.posterior.behind.engine.neighbours == neighbours
    assert fitted.values["lab.noise"] == pytest.approx(noise, rel=0.1 if neighbours != 5 else 1.0)


def test_units_are_within_the_box():
    given = problem()
    widths = np.array([high - low for low, high in bounds_of(given)])
    assert np.all(units_of(given) > 0.0)
    assert np.all(units_of(given) <= widths / 20.0 + 1e-12)


@pytest.mark.parametrize("engine", [None, gf.Vecchia()])
def test_many_readings_without_noise_are_taken(monkeypatch, engine):
    """What neighbours take in their stride, a whole matrix in double precision may not."""
    for room, name in (("fit", "MANY"), ("staged", "FIRST")):
        monkeypatch.setattr(import_module(f"gainful.hyper.{room}"), name, 300)
    monkeypatch.setattr(import_module("gainful.inference.engines.choosing"), "FEW", 300)
    X = np.random.default_rng(3).uniform(size=(900, 2))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] ** 2
    data = gf.Data().add(gf.Point(0.1, name="lab"), X, y)
    with pytest.warns(gf.ConvergenceWarning, match="the data is noiseless"):
        fitted = gf.fit(gf.GP(gf.Matern((0.5, 0.5), nu=2.5)), data, starts=1, inference=engine)
    Z = np.random.default_rng(4).uniform(0.1, 0.9, size=(100, 2))
    assert fitted.posterior.mean(Z) == pytest.approx(np.sin(6.0 * Z[:, 0]) + Z[:, 1] ** 2, abs=1e-3)


def test_a_search_begins_with_more_noise_where_it_cannot_begin():
    given = problem()
    low = given.theta.copy()
    low[list(given.learned_noises)] = -40.0
    (value, _, settled, _), _ = descend(given, low, np.eye(len(given.free)), 1e-3, 100)
    assert settled
    assert np.isfinite(value)


def uneven(count):
    """Forty waves along the first column, next to nothing along the second."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(count, 3))
    y = np.sin(40.0 * X[:, 0]) + 0.7 * np.sin(2.0 * X[:, 1]) * np.cos(3.0 * X[:, 2]) + 0.05 * rng.normal(size=count)
    data = gf.Data().add(gf.Point(noise=0.3, name="r"), X, y)
    return gf.GP(gf.Matern((1.0, 1.0, 1.0), nu=1.5)), data


@pytest.mark.parametrize(
    ("engine", "stages"), [(gf.Vecchia(8), False), (gf.Vecchia(8), True), (gf.Inducing(100), False)]
)
def test_neighbours_and_points_are_chosen_by_what_was_found_not_by_where_a_search_began(monkeypatch, engine, stages):
    """As many nats as where exact inference ends, had the engine begun there; those that were nearest to a model that
    is as long along each column leave hundreds."""
    if stages:
        for room, name in (("fit", "MANY"), ("staged", "FIRST")):
            monkeypatch.setattr(import_module(f"gainful.hyper.{room}"), name, 300)
    gp, data = uneven(900)
    exact = gf.fit(gp, data, starts=1, inference=gf.Exact())
    assert exact.log_density > 100.0
    given = Problem.of(gp, data, None, engine)
    there = descend(given, exact.theta, np.eye(len(given.free)), 0.03, 40)[0][0]
    found = gf.fit(gp, data, starts=1, inference=engine)
    assert found.converged
    assert found.log_density > there - (3.0 if isinstance(engine, gf.Vecchia) else 30.0)
    anew = given.log_density(found.theta)[0]  # of what would be chosen there, a nat or two from what was kept
    assert found.log_density == pytest.approx(anew, abs=3.0)


class Keeping:
    """A density about an optimum that lies elsewhere for each choice: `optimum` says where, by where it is made."""

    def __init__(self, optimum, height):
        self.optimum, self.height, self.keeps, self.error, self.asked = optimum, height, True, 0.0, 0

    def __call__(self, part):
        self.asked += 1
        self.at = self.optimum(part) if self.asked == 1 else self.at
        return float((part - self.at) @ (part - self.at)) - self.height(self.at), part - self.at


def kept(monkeypatch, optimum, height):
    """What `_afresh` ends with, and where each search began."""
    module, given, begun = import_module("gainful.hyper.climb"), problem(), []
    monkeypatch.setattr(module, "Density", lambda _: Keeping(optimum, height))

    def search(density, begin, _):
        begun.append(float(begin[0]))
        density(begin)
        theta = given.theta.copy()
        theta[given.free] = density.at
        return density.height(density.at), theta, True, ""

    found = module._afresh(given, search, np.full(len(given.free), 8.0), lambda _: 0.03, None)
    return found, begun


def test_what_an_engine_keeps_is_chosen_again_until_there_is_no_more_to_be_gained(monkeypatch):
    found, begun = kept(monkeypatch, lambda part: 0.25 * part, lambda at: -float(at[0]))
    assert begun[:3] == [8.0, 2.0, 0.5]
    assert found[0] == pytest.approx(0.0, abs=0.1)


def test_a_search_that_goes_round_in_circles_ends_where_the_answers_are_explained_best(monkeypatch):
    found, begun = kept(monkeypatch, lambda part: np.where(part > 2.0, 1.0, 3.0), lambda at: 0.0)
    assert begun == [8.0, 1.0]
    assert found[0] == pytest.approx(-4.0 * len(problem().free))


def test_what_is_chosen_in_the_same_way_again_is_not_searched_again(monkeypatch):
    _, begun = kept(monkeypatch, lambda part: np.zeros_like(part), lambda at: 0.0)
    assert begun == [8.0]


@pytest.mark.parametrize("engine", [gf.SKI(over=[[0.0], [110.0]]), gf.Vecchia()])
def test_what_is_small_among_all_answers_and_noise_among_few_of_them_is_found(monkeypatch, engine):
    """Forty waves, a quarter of the variance, that a hundred readings do not show and 3200 do."""
    for room, name in (("fit", "MANY"), ("fit", "FIRST"), ("staged", "FIRST")):
        monkeypatch.setattr(import_module(f"gainful.hyper.{room}"), name, 100)
    monkeypatch.setattr(import_module("gainful.hyper.staged"), "_PART", 300)
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 110.0, (3200, 1))
    f = np.sin(X[:, 0] / 7.0) + 0.4 * np.sin(2.3 * X[:, 0])
    data = gf.Data().add(gf.Point(noise=0.3, name="lab"), X, f + 0.3 * rng.normal(size=3200))
    found = gf.fit(gf.GP(gf.SE(5.0)), data, inference=engine)
    assert found.values["lab.noise"] == pytest.approx(0.3, rel=0.05)
    assert np.sqrt(np.mean((found.posterior.mean(X) - f) ** 2)) < 0.1


def test_where_an_engine_can_choose_nothing_at_an_end_the_search_keeps_what_it_has(monkeypatch):
    found, begun = kept(monkeypatch, lambda part: 0.25 * part, lambda at: -np.inf if at[0] < 1.0 else 0.0)
    assert begun == [8.0]
    assert np.isfinite(found[0])


def test_what_an_engine_refuses_to_begin_with_does_not_end_a_fit(monkeypatch):
    for room, name in (("fit", "MANY"), ("fit", "FIRST"), ("staged", "FIRST")):
        monkeypatch.setattr(import_module(f"gainful.hyper.{room}"), name, 100)
    staged = import_module("gainful.hyper.staged")
    gp, data = uneven(300)
    plain = gf.fit(gp, data, starts=1, inference=gf.Inducing(30))
    monkeypatch.setattr(staged, "_closer", lambda problem, theta, rng: np.full_like(theta, np.nan))
    assert gf.fit(gp, data, starts=1, inference=gf.Inducing(30)).log_density > plain.log_density - 50.0
