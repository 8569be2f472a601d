"""Spreads by linear response through inducing points: those of dense EP at all points, and the derivative of the means
at few."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import gainful as gf
from gainful.inference.jacobian import Factored, Full
from tests.inference.test_response import Z, signs, wide_yes_no

FORMS = {"as they are": 10**6, "by pairs of directions": 0}


def ranked(noise=0.01, count=120):
    """Ranks and pass/fail together, with numbers among them."""
    rng = np.random.default_rng(4)
    X = rng.random((count, 1))
    f = np.sin(7.0 * X[:, 0])
    ranks = gf.Ordinal([-0.5, 0.5], noise=noise)
    data = gf.Data().add(ranks, X, 1 + np.searchsorted([-0.5, 0.5], f)).add(gf.Point(0.2), X[:5], f[:5] + 0.1)
    return gf.GP(gf.SE(0.2), gf.ConstantMean(0.1)), data


@pytest.fixture(params=FORMS)
def form(request, monkeypatch):
    module = import_module("gainful.inference.engines.low_rank_response")
    monkeypatch.setattr(module, "_FEW", FORMS[request.param])
    monkeypatch.setattr(module, "_LEFT_OUT", 1e-12)


@pytest.mark.parametrize("problem", [signs, wide_yes_no, ranked])
def test_through_all_points_spreads_are_those_of_dense_ep(form, problem):
    gp, data = problem()
    dense, ours = gp.condition(data), gp.condition(data, inference=gf.Inducing(200))
    assert dense.response is not None
    assert ours.behind.response is not None
    size = np.sqrt(np.outer(dense.variance(Z), dense.variance(Z)))
    assert np.max(np.abs(ours.covariance(Z) - dense.covariance(Z)) / size) < 1e-5
    assert ours.variance(Z) == pytest.approx(np.diagonal(ours.covariance(Z)), rel=1e-9)
    plain = gp.condition(data, inference=gf.EP(response=False))
    assert np.max(np.abs(ours.mean(Z) - plain.mean(Z)) / np.sqrt(dense.variance(Z))) < 1e-5
    assert np.max(np.abs(plain.variance(Z) / dense.variance(Z) - 1.0)) > 0.02


class Tilted(gf.Mean):
    """The mean of a gp, shifted by h times what some points see of a place."""

    def __init__(self, base, belief, x, h):
        self.base, self.belief, self.x, self.h = base, belief, x, h

    def __call__(self, X):
        half = self.belief._half(X).T @ self.belief._half(self.x)
        return self.base(X) + self.h * half[:, 0]

    def vjp(self, X):
        return self(X), lambda g: np.zeros(0)

    def pullback_inputs(self, X, g):
        raise NotImplementedError


def test_through_few_points_it_is_the_derivative_of_the_means(form):
    """A field that the points see moves the means by their covariance, which is no larger than what they explain."""
    gp, data = signs(60)
    engine = gf.Inducing([[x] for x in np.linspace(0.0, 1.0, 7)], tolerance=1e-10)
    belief = engine.believe(gp.mean, gp.kernel, data.layout)
    assert belief.response is not None
    x, h = np.array([[0.4]]), 1e-4
    up, down = (engine.believe(Tilted(gp.mean, belief, x, step), gp.kernel, data.layout).mean(Z) for step in (h, -h))
    explained = belief._half(Z).T @ belief._half(x)
    found = belief.covariance(Z, x) - (gp.kernel.matrix(Z, x) - explained)
    assert found[:, 0] == pytest.approx((up - down) / (2.0 * h), abs=2e-5)


def test_draws_have_the_spreads_that_are_said(form):
    gp, data = ranked()
    belief = gp.condition(data, inference=gf.Inducing(12))
    assert belief.behind.response is not None
    drawn = np.stack([belief.function(seed)(Z[:3]) for seed in range(2000)])
    assert drawn.var(axis=0) == pytest.approx(belief.variance(Z[:3]), rel=0.15)


def test_bands_of_thousands_of_hard_answers_hold_the_truth():
    """Ranks read without noise on a line, nothing asked for: EP's own bands held two thirds of it."""
    held, kinds = [], gf.Ordinal([0.0], noise=0.0)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        places = np.concatenate([rng.uniform(0.0, 1.0, (4200, 1)), np.linspace(0.0, 1.0, 25)[:, None]])
        waves, phases = rng.normal(size=(1, 2000)) / 0.3, rng.uniform(0.0, 2.0 * np.pi, 2000)
        f = np.sqrt(1e-3) * np.cos(places @ waves + phases) @ rng.normal(size=2000)
        data = gf.Data().add(kinds, places[:4200], 1 + (f[:4200] > 0.0))
        belief = gf.GP(gf.SE(0.3)).condition(data)
        assert belief.behind.response is not None
        low, high = belief.band(places[4200:])
        held.append(np.mean((low < f[4200:]) & (f[4200:] < high)))
    assert np.mean(held) >= 0.92


def test_where_answers_say_little_or_differ_too_much_spreads_stay_and_that_is_said(monkeypatch):
    gp, data = ranked(noise=2.0)
    few = gp.condition(data, inference=gf.Inducing(30))
    assert few.behind.response is None
    assert "bands" not in few.convergence.message
    module = import_module("gainful.inference.engines.low_rank_response")
    monkeypatch.setattr(module, "_FEW", 0)
    monkeypatch.setattr(module, "_PAIRS", 3)
    gp, data = signs(60)
    many = gp.condition(data, inference=gf.Inducing(30))
    assert many.behind.response is None
    assert "bands may be too narrow, as EP's evidence lacks about" in many.convergence.message


def test_products_with_correlations_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    U, v = rng.normal(size=(20, 4)) / 3.0, rng.normal(size=20)
    C = U @ U.T
    np.fill_diagonal(C, 0.0)
    ours, full = Factored(U), Full(C, C**2)
    np.testing.assert_allclose(ours.times(v), full.times(v), atol=1e-12)
    np.testing.assert_allclose(ours.squares_times(v), full.squares_times(v), atol=1e-12)
