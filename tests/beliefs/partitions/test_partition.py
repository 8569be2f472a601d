"""Partitions and the chain over them: against enumeration, and against a law that is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from gainful.beliefs.partitions.partition import (
    all_partitions,
    alone,
    followed,
    log_proposal,
    proposed,
    tidy,
    together,
)


@pytest.mark.parametrize(("dimensions", "count"), [(1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (6, 203), (7, 877)])
def test_there_are_as_many_partitions_as_bell_numbers(dimensions, count):
    found = list(all_partitions(dimensions))
    assert len(found) == len(set(found)) == count
    assert all(sorted(i for block in each for i in block) == list(range(dimensions)) for each in found)
    assert together(dimensions) in found
    assert alone(dimensions) in found


def transitions(dimensions: int, log_density: np.ndarray, hastings: bool = True) -> np.ndarray:
    """The matrix of a chain by enumeration."""
    states = list(all_partitions(dimensions))
    g = np.exp([[log_proposal(there, here) for there in states] for here in states])
    np.testing.assert_allclose(g.sum(axis=1), 1.0, atol=1e-12)  # one step leads somewhere
    density = np.exp(log_density)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = density[None, :] / density[:, None] * (g.T / g if hastings else 1.0)
    matrix = np.where(g > 0.0, g * np.minimum(1.0, np.where(g > 0.0, ratio, 0.0)), 0.0)
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


@pytest.mark.parametrize("dimensions", [3, 4, 5])
def test_the_ratio_leaves_any_law_over_partitions_as_it_is(dimensions):
    rng = np.random.default_rng(dimensions)
    logs = rng.normal(0.0, 0.7, len(list(all_partitions(dimensions))))
    law = np.exp(logs) / np.exp(logs).sum()
    assert np.abs(law @ transitions(dimensions, logs) - law).max() < 1e-14
    without = np.linalg.matrix_power(transitions(dimensions, logs, hastings=False), 4096)[0]
    assert 0.5 * np.abs(without - law).sum() > 0.03  # left out, as printed, the chain goes elsewhere


@pytest.mark.parametrize("here", [together(4), alone(4), tidy([[0, 1], [2], [3]]), tidy([[0, 1], [2, 3]])])
def test_proposals_are_made_as_often_as_said_and_know_their_ratio(here):
    rng, counts = np.random.default_rng(1), {}
    for _ in range(6000):
        there, ratio = proposed(here, rng)
        assert ratio == pytest.approx(log_proposal(here, there) - log_proposal(there, here))
        counts[there] = counts.get(there, 0) + 1
    expected = {there: np.exp(log_proposal(there, here)) for there in all_partitions(4)}
    expected = {there: 6000 * p for there, p in expected.items() if p > 0.0}
    assert set(counts) == set(expected)
    assert chisquare([counts[t] for t in expected], list(expected.values())).pvalue > 0.001


def test_chains_that_begin_at_the_law_end_at_it():
    """Twenty thousand independent starts from a law over the 15 partitions of four dimensions, five steps each."""
    rng, states = np.random.default_rng(2), list(all_partitions(4))
    logs = dict(zip(states, rng.normal(0.0, 1.2, 15), strict=True))
    law = np.exp(list(logs.values()))
    law /= law.sum()
    starts = rng.choice(15, size=20_000, p=law)
    ends = [followed(states[i], logs.__getitem__, 5, rng)[-1] for i in starts]
    counts = np.bincount([states.index(each) for each in ends], minlength=15)
    assert chisquare(counts, 20_000 * law).pvalue > 0.001
    assert np.mean([states[i] != end for i, end in zip(starts, ends, strict=True)]) > 0.5  # and they do move


def test_one_dimension_stays():
    assert proposed(((0,),), np.random.default_rng(0)) == (((0,),), 0.0)
    assert followed(((0,),), lambda partition: 0.0, 3, np.random.default_rng(0)) == [((0,),)] * 3
