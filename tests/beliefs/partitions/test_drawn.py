"""Draws of an additive model's parameters: against integration on a grid, and where priors are all that there is."""

from __future__ import annotations

import numpy as np
import pytest

from gainful.beliefs.partitions.drawn import drawn
from gainful.beliefs.partitions.evidence import Additively, Expected, pairwise

ONE = ((0,),)


def answers(n: int, D: int = 1, shared: bool = False) -> Additively:
    rng = np.random.default_rng(3)
    X = rng.random((n, D))
    y = np.sin(6.0 * X[:, 0]) + 0.3 * rng.normal(size=n)
    expected = Expected(np.array([np.log(0.1)]), np.array([1.0]))
    columns = [X[:, [d]] for d in range(D)]
    return Additively(pairwise(columns, [False] * D), y - y.mean(), np.zeros(n), np.zeros(n, dtype=np.intp), expected,
                      shared=shared)  # fmt: skip


@pytest.mark.parametrize("n", [10, 25])
def test_draws_have_the_moments_of_integration_on_a_grid(n):
    """Lengthscale, variance and noise of one term, by 31³ values of the density."""
    given = answers(n)
    fit = given.fit(ONE)
    wide = 7.0 * np.sqrt(np.diagonal(np.linalg.inv(fit.curvature)))
    axes = [np.linspace(middle - reach, middle + reach, 31) for middle, reach in zip(fit.theta, wide, strict=True)]
    grid = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=1)
    logs = np.array([given.log_values(ONE, each)[0] if given.within_reach(ONE, each) else -np.inf for each in grid])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    middle = weights @ grid
    deviation = np.sqrt(weights @ (grid - middle) ** 2)
    found = np.array(drawn(given, ONE, fit, 1500, np.random.default_rng(0)))
    np.testing.assert_array_less(np.abs(found.mean(axis=0) - middle), 0.15 * deviation)
    np.testing.assert_allclose(found.std(axis=0), deviation, rtol=0.15)


def test_lengthscales_that_are_tied_stay_so():
    given = answers(12, 3, shared=True)
    terms = ((0, 1), (2,))
    found = np.array(drawn(given, terms, given.fit(terms), 20, np.random.default_rng(0)))
    offsets = found[:, 0] - found[:, 1]
    np.testing.assert_allclose(offsets, 0.0, atol=1e-12)
    assert np.std(found[:, 0] - found[:, 2]) > 0.1
