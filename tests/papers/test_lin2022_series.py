"""The airline's passengers and the thirteen series, small: what they measure, and what is claimed from it."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.papers.lin2022 import airline, series


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(airline, "_PARTICLES", 12)
    monkeypatch.setattr(airline, "_PUBLISHED", gf.Moves(sweeps=1, leaps=0, growing=False))


@pytest.mark.parametrize("strategy", ["IG-K", "IG-P", "hybrid", "random"])
@pytest.mark.parametrize("noise", ["published", "fixed"])
def test_readings_are_asked_one_by_one_and_never_twice(small, strategy, noise):
    X = np.arange(24.0)[:, None]
    y = 100.0 + X[:, 0] + 20.0 * np.sin(2 * np.pi * X[:, 0] / 12.0)
    rows = airline.follow(X, y, strategy, noise, 4, np.random.default_rng(0))
    assert [row["answers"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert sum(row[name] for name in ("C", "LIN", "SE", "PER", "plus", "times")) == pytest.approx(1.0)
        assert 0.0 <= row["year"] <= row["periodic"] <= 1.0 + 1e-12


def test_months_are_those_of_the_file(data_folder):
    X, y = airline.months()
    assert X.shape == (144, 1)
    assert (y[0], y[-1]) == (112.0, 432.0)
    assert len(airline.months(100)[1]) == 100


def rows_of(error: float) -> list[dict]:
    """What a run would give, made up: all strategies alike, but for the hybrid's error."""
    out = []
    for months, noises, budget in ((100, ("published", "fixed", "own"), 15), (144, ("own",), 30)):
        for noise in noises:
            for repetition in range(3):
                for strategy in ("IG-K", "IG-P", "hybrid", "random"):
                    for answers in (5, budget):
                        own = {"error": error if strategy == "hybrid" else 0.2 + 0.01 * repetition}
                        rest = dict.fromkeys(("year", "trend", "periodic", "SE"), 0.9)
                        out.append({"months": months, "noise": noise, "repetition": repetition, "strategy": strategy,
                                    "answers": answers, **rest, **own})  # fmt: skip
    return out


@pytest.mark.parametrize(("error", "holds"), [(0.1, True), (0.5, False)])
def test_the_hybrid_is_held_to_predicting_as_well(error, holds):
    claims = airline.EXPERIMENT.claims(rows_of(error))
    assert [each.holds for each in claims if "predicts at least as well" in each.statement] == [holds] * 3
    assert claims[0].holds  # year and trend


def test_the_thirteen_series_have_their_published_parts(data_folder):
    sizes = {name: (len(series.series(name).y), len(series.series(name).held)) for name in series.NAMES}
    assert sizes["airline"] == (129, 15)
    assert sizes["wages"] == (661, 74)
    assert sum(a + b for a, b in sizes.values()) == 6962
    assert all(series.series(name).ahead.min() >= series.series(name).x.max() for name in series.NAMES)


def test_the_unit_by_linear_regression_puts_the_other_printed_methods_where_they_can_be(data_folder):
    # A squared exponential returns to the mean ahead of the data: where that is all it does, it errs as a constant.
    for name in ("calls", "births"):
        given = series.series(name)
        unit = series._line(given) / series._LINE[series.NAMES.index(name)]
        constant = np.sqrt(np.mean((given.y.mean() - given.held) ** 2))
        assert series._SMOOTH[series.NAMES.index(name)] * unit == pytest.approx(constant, rel=0.02)


def test_errors_are_told_in_units_of_the_best_of_nine():
    rows = [
        {"series": "airline", "method": "programs", "error": 10.0},
        {"series": "airline", "method": "line", "error": 49.4},
    ]
    assert series.standardised(rows) == {"airline": pytest.approx(1.0)}
    (claim,) = series.EXPERIMENT.claims(rows)
    assert claim.holds
    assert claim.published == 1.14
