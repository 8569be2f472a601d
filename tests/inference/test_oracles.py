"""The oracles of these tests are themselves integrals: they must have converged, and agree with each other."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import oracles
import pytest
from oracles import Seen

import gainful as gf

PLACES = np.array([[0.0], [0.6], [1.5]])
COVARIANCE = 2.0 * np.exp(-0.5 * (PLACES - PLACES.T) ** 2)


@pytest.mark.parametrize(
    ("instrument", "answer", "m", "v"),
    [
        (gf.Interval(noise=0.1), (-1.0, 2.0), -3.0, 1e4),
        (gf.Interval(noise=1e-3), (40.0, 40.0 + 1e-6), 0.0, 1.0),
        (gf.Interval(noise=0.0), (-np.inf, -40.0), 0.0, 1.0),
        (gf.Ordinal(thresholds=[-1.0, -0.4], noise=0.3), 2, 3.0, 1.0),
        (gf.Binary(guess=0.1, lapse=0.05), True, -3.0, 1e-2),
        (gf.Point(noise=0.1), 2.0, -3.0, 1e4),
    ],
    ids=str,
)
def test_line_moments_do_not_change_with_more_nodes(
    instrument: gf.Instrument, answer: object, m: float, v: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = oracles.line_moments(instrument, answer, m, v)
    monkeypatch.setattr(oracles, "_NODES", 30)
    many = oracles.line_moments(instrument, answer, m, v)
    assert abs(few.log_z - many.log_z) < 1e-11
    assert abs(few.mean - many.mean) < 1e-11 * mp.sqrt(many.variance)
    assert abs(few.variance - many.variance) < 1e-11 * many.variance


def test_line_moments_are_those_of_the_half_normal() -> None:
    half = oracles.line_moments(gf.Interval(noise=0.0), (0.0, np.inf), 0.0, 1.0)
    assert abs(half.log_z + mp.log(2)) < 1e-14
    assert abs(half.mean - mp.sqrt(2 / mp.pi)) < 1e-14
    assert abs(half.variance - (1 - 2 / mp.pi)) < 1e-14


def test_grid_moments_do_not_change_with_a_finer_grid() -> None:
    seen = [
        Seen(gf.Detection(), True, (0, 1)),
        Seen(gf.Interval(noise=0.1), (-1.0, -0.5), (2,)),
        Seen(gf.Preference(), True, (0, 2)),
    ]
    coarse = oracles.grid_moments(seen, np.zeros(3), COVARIANCE)
    fine = oracles.grid_moments(seen, np.zeros(3), COVARIANCE, spacing=0.18)
    np.testing.assert_allclose(coarse.log_z, fine.log_z, rtol=1e-12)
    np.testing.assert_allclose(coarse.mean, fine.mean, atol=1e-11)
    np.testing.assert_allclose(coarse.variance, fine.variance, atol=1e-11)


def test_the_grid_agrees_with_the_line_when_one_value_is_seen() -> None:
    instrument, answer = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.3), 2
    line = oracles.line_moments(instrument, answer, 0.5, 2.0)
    grid = oracles.grid_moments([Seen(instrument, answer, (1,))], np.full(3, 0.5), COVARIANCE)
    assert grid.log_z == pytest.approx(float(line.log_z), rel=1e-12)
    assert grid.mean[1] == pytest.approx(float(line.mean), rel=1e-12)
    assert grid.variance[1, 1] == pytest.approx(float(line.variance), rel=1e-12)


def test_the_grid_reproduces_gaussian_regression() -> None:
    seen = [Seen(gf.Point(noise=0.2), 0.7, (0,)), Seen(gf.Point(noise=0.5), -0.3, (2,))]
    found = oracles.grid_moments(seen, np.zeros(3), COVARIANCE)
    A, noise, y = np.eye(3)[[0, 2]], np.diag([0.04, 0.25]), np.array([0.7, -0.3])
    S = A @ COVARIANCE @ A.T + noise
    gain = COVARIANCE @ A.T @ np.linalg.inv(S)
    np.testing.assert_allclose(found.mean, gain @ y, rtol=1e-11)
    np.testing.assert_allclose(found.variance, COVARIANCE - gain @ A @ COVARIANCE, atol=1e-12)
    log_z = -0.5 * y @ np.linalg.solve(S, y) - 0.5 * np.linalg.slogdet(2.0 * np.pi * S)[1]
    assert found.log_z == pytest.approx(log_z, rel=1e-12)
