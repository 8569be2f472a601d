"""Interactions that the answers ask for: against differences of the evidence, and structures that are found by them."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs.partitions.ascent import ascended
from gainful.kernels.additive import PROFILES, Terms
from gainful.papers.gardner2018.additive_recovery import draw
from gainful.papers.gardner2018.additive_worlds import box


def target_of(X, y, **settings):
    D = X.shape[1]
    model = gf.Partitions(box(D, 0.0, 1.0), **settings)
    reading, data = model._reading(gf.Data().add(gf.Point(name="y"), X, y), ())
    return model._target(reading, data, None)


@pytest.mark.parametrize("profile", ["SE", "Matern52"])
def test_what_is_asked_for_most_raises_the_evidence_most(profile):
    """The score of each pair by differences of log p(y) in the variance of a product term, over its deviation under the
    model, by ten thousand draws from it."""
    rng = np.random.default_rng(3)
    X = rng.random((25, 4))
    y = np.sin(7 * X[:, 0] * X[:, 2]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=25)
    answers = target_of(X, y, profile=profile).answers
    terms: Terms = ((0,), (1,), (2,), (3,))
    theta = answers.fit(terms).theta
    lengths, variances, noise = np.exp(theta[:4]), np.exp(theta[4:8]), np.exp(2 * theta[8]) + 1e-8
    S = (X[:, None] - X[None]) ** 2 / lengths**2
    k = np.stack([PROFILES[profile].profile(S[:, :, d]) for d in range(4)])
    K = np.tensordot(variances, k, axes=1) + 16.0 + (noise + 1e-10) * np.eye(25)
    z = np.concatenate([answers.y[:, None], np.linalg.cholesky(K) @ rng.normal(size=(25, 10_000))], axis=1)

    def log_likelihoods(C):
        L = np.linalg.cholesky(C)
        return -0.5 * np.sum(np.linalg.solve(L, z) ** 2, axis=0) - np.log(np.diag(L)).sum()

    scores = {}
    for a in range(4):
        for b in range(a + 1, 4):
            h = 1e-5 * noise * k[a] * k[b]
            slopes = log_likelihoods(K + h) - log_likelihoods(K - h)
            scores[a, b] = slopes[0] / slopes[1:].std()
    by_hand = sorted((pair for pair in scores if scores[pair] > 0.0), key=lambda pair: -scores[pair])
    assert answers.asked_for(terms, theta) == by_hand
    assert by_hand[0] == (0, 2)


def test_the_partition_of_a_draw_is_found_by_few_models():
    """Fifty values in ten dimensions: of 115,975 partitions the one they were drawn from, or one as probable, within
    thirty fits. A chain of two hundred steps came to the true one in half of the draws."""
    for seed in range(4):
        truth, X, y = draw(10, 50, np.random.default_rng([seed, 77]))
        target = target_of(X, y, profile="SE")
        found, fitted = ascended(target), len(target.found)
        assert fitted <= 30
        assert found.terms == truth or found.log_density > target.log_density(truth) - 5.0


def test_a_graph_is_found():
    rng = np.random.default_rng(5)
    X = rng.random((80, 5))
    y = np.sin(6 * X[:, 0] * X[:, 1]) + np.cos(7 * X[:, 1] * X[:, 2]) + X[:, 3] + X[:, 4] ** 2
    found = ascended(target_of(X, y, form="graphs"))
    assert {term for term in found.terms if len(term) == 2} == {(0, 1), (1, 2)}


def test_answers_without_scores_begin_alone():
    space = box(2, 0.0, 1.0)
    X = np.random.default_rng(0).random((12, 2))
    data = gf.Data().add(gf.Binary(name="ok"), X, (X[:, 0] > 0.5).astype(float))
    model = gf.Partitions(space, form="graphs")
    reading, data = model._reading(data, ())
    assert ascended(model._target(reading, data, None)).terms == ((0,), (1,))
