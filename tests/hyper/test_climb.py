"""The search on from one theta: it ends where L-BFGS does, in units that prior and evidence share."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.hyper.climb import bounds_of, climb, descend, units_of
from gainful.hyper.problem import Problem
from gainful.hyper.staged import climb_in_stages


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


def test_one_stage_is_the_search_itself():
    given = problem()
    begins = [given.theta[given.free]]
    staged = climb_in_stages(given, begins, np.random.default_rng(0))[0]
    assert staged[0] == pytest.approx(climb(given, begins, 1e-6)[0][0], abs=1e-9)


def test_units_are_within_the_box():
    given = problem()
    widths = np.array([high - low for low, high in bounds_of(given)])
    assert np.all(units_of(given) > 0.0)
    assert np.all(units_of(given) <= widths / 20.0 + 1e-12)
