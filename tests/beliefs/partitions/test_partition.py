"""Partitions and the chain over them: against enumeration, and against a law that is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from gainful.beliefs.partitions.partition import (
    all_partitions,
    alone,
    at_random,
    log_proposal,
    moved_one,
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


def ways_of_one(here):
    """Where one dimension may go, with the probability of each: by the words, not by the code."""
    found = {}
    D = sum(map(len, here))
    for i in range(D):
        own = next(block for block in here if i in block)
        rest = [b for b in here if b != own]
        left = [tuple(d for d in own if d != i)] if len(own) > 1 else []
        goals = [tidy([*(b for b in rest if b != t), *left, (*t, i)]) for t in rest]
        goals += [tidy([*rest, *left, (i,)])] if len(own) > 1 else []
        for goal in goals:
            found[goal] = found.get(goal, 0.0) + 1.0 / (D * len(goals))
    return found


@pytest.mark.parametrize("here", [together(4), alone(4), tidy([[0, 1], [2], [3]]), tidy([[0, 1], [2, 3]])])
def test_one_dimension_goes_everywhere_as_often_as_said(here):
    rng, counts = np.random.default_rng(3), {}
    for _ in range(6000):
        there, _ = moved_one(here, rng)
        counts[there] = counts.get(there, 0) + 1
    expected = {there: 6000 * p for there, p in ways_of_one(here).items()}
    assert set(counts) == set(expected)
    assert chisquare([counts[t] for t in expected], list(expected.values())).pvalue > 0.001


def test_partitions_at_random_are_all_as_probable():
    rng, states = np.random.default_rng(4), list(all_partitions(4))
    counts = np.bincount([states.index(at_random(4, rng)) for _ in range(6_000)], minlength=15)
    assert chisquare(counts).pvalue > 0.001


def test_one_dimension_stays():
    assert proposed(((0,),), np.random.default_rng(0)) == (((0,),), 0.0)
    assert moved_one(((0,),), np.random.default_rng(0)) == (((0,),), 0.0)
