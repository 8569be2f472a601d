"""The chain over clusterings of tasks: its law is the posterior, and the priors are what they are called."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import gainful as gf
from gainful.beliefs.partitions.partition import all_partitions, alone, together
from gainful.beliefs.tasks import chain
from gainful.beliefs.tasks.chain import Target, log_prior

STATES = list(all_partitions(4))
PLACES = {each: i for i, each in enumerate(STATES)}


class Law:
    """Answers whose evidence is a table."""

    tasks = 4

    def __init__(self, spread):
        self.logs = dict(zip(STATES, np.random.default_rng(7).normal(0.0, spread, len(STATES)), strict=True))

    def log_evidence(self, clustering):
        return self.logs[clustering]


def law_of(target):
    logs = np.array([target.log_density(each) for each in STATES])
    return np.exp(logs - np.logaddexp.reduce(logs))


def ends(target, begin, sweeps, chains, rng):
    """How often chains from `begin` (or from draws of a law) end in each of the 15 clusterings."""
    counts = np.zeros(len(STATES))
    for _ in range(chains):
        first = begin if isinstance(begin, tuple) else STATES[rng.choice(len(STATES), p=begin)]
        state = chain.init(target, first)
        for _ in range(sweeps):
            state, _ = chain.step(state, target, rng)
        counts[PLACES[state.clustering]] += 1
    return counts


@pytest.mark.parametrize("prior", ["restaurant", "uniform"])
@pytest.mark.parametrize("concentration", [0.3, 1.0, 4.0])
def test_priors_sum_to_one_and_two_tasks_are_together_as_often_as_is_said(prior, concentration):
    shares = np.exp([log_prior(each, prior, concentration) for each in STATES])
    pair = sum(p for p, each in zip(shares, STATES, strict=True) if any({0, 3} <= set(block) for block in each))
    assert shares.sum() == pytest.approx(1.0)
    assert pair == pytest.approx(1.0 / (1.0 + concentration) if prior == "restaurant" else 5.0 / 15.0)


def test_the_restaurant_seats_one_task_after_the_other():
    for tasks in (2, 3, 5):
        for clustering in all_partitions(tasks):
            expected = 0.0
            for task in range(tasks):
                before = next(sum(i < task for i in block) for block in clustering if task in block)
                expected += np.log((before or 0.7) / (task + 0.7))
            assert log_prior(clustering, "restaurant", 0.7) == pytest.approx(expected)


@pytest.mark.parametrize("prior", ["restaurant", "uniform"])
def test_the_law_of_many_ends_is_the_exact_posterior_over_all_15_clusterings(prior):
    target = Target(Law(1.0), prior, 0.8)
    law, rng = law_of(target), np.random.default_rng(8)
    counts = ends(target, together(4), 8, 2000, rng)  # from a corner
    assert chisquare(counts, 2000 * law).pvalue > 0.001
    counts = ends(target, law, 1, 4000, rng)  # from the law, which one sweep keeps
    assert chisquare(counts, 4000 * law).pvalue > 0.001


def test_the_law_of_many_ends_is_the_exact_posterior_of_readings_with_stated_hyperparameters():
    """Few noisy readings, so that many clusterings stay possible; the evidence of each is a normal density."""
    rng = np.random.default_rng(1)
    space = gf.Space(gf.Real("x", 0, 1), gf.Categorical("task", list("abcd")))
    x, task = rng.random(12), np.repeat(np.arange(4), 3)
    y = np.where(task < 2, np.sin(6 * x), 0.5) + 0.4 * rng.normal(size=12)
    X = np.column_stack([x, task])
    model = gf.TaskClusters(space, shared=gf.SE(0.3, 1.0), own=gf.SE(0.3, 0.1), prior="uniform")
    target = model.target(gf.Data().add(gf.Point(0.4), X, y))
    logs = []
    for clustering in STATES:
        number = np.zeros(4)
        for n, block in enumerate(clustering):
            number[list(block)] = n
        near = np.exp(-0.5 * ((x[:, None] - x) / 0.3) ** 2)
        K = near * (number[task][:, None] == number[task]) + 0.1 * near * (task[:, None] == task) + 0.16 * np.eye(12)
        logs.append(-0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(2.0 * np.pi * K)[1]))
    law = np.exp(logs - np.logaddexp.reduce(logs))
    np.testing.assert_allclose(law_of(target), law, rtol=1e-8)
    assert 0.05 < law.max() < 0.6
    assert chisquare(ends(target, alone(4), 8, 2000, rng), 2000 * law).pvalue > 0.001


def test_without_the_number_of_those_at_a_table_the_wrong_law_would_be_found_out():
    given, other = Target(Law(1.0), "restaurant", 0.8), Target(Law(1.0), "uniform")
    counts = ends(other, together(4), 8, 1000, np.random.default_rng(9))
    assert chisquare(counts, 1000 * law_of(given)).pvalue < 0.001


def test_every_clustering_is_worked_out_once_and_the_sweep_says_what_it_did():
    asked = []

    class Watched(Law):
        def log_evidence(self, clustering):
            asked.append(clustering)
            return super().log_evidence(clustering)

    target, rng = Target(Watched(1.0)), np.random.default_rng(0)
    state = chain.init(target, alone(4))
    infos = []
    for _ in range(50):
        state, info = chain.step(state, target, rng)
        infos.append(info)
    assert len(asked) == len(set(asked)) == infos[-1].known == 15
    assert 0 < sum(info.moved for info in infos) < 200
    assert any(info.accepted for info in infos)
