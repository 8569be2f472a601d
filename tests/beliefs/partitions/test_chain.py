"""The chain over additive models: laws over partitions, graphs and both stay as they are."""

from __future__ import annotations

from itertools import chain as joined
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from gainful.beliefs.partitions import chain
from gainful.beliefs.partitions.chain import Target, log_prior
from gainful.beliefs.partitions.evidence import Begin, Fit
from gainful.beliefs.partitions.graph import graph_of, is_graph, is_partition, other_form
from gainful.beliefs.partitions.partition import all_partitions, alone, together


def all_graphs(dimensions):
    pairs = list(combinations(range(dimensions), 2))
    for k in range(len(pairs) + 1):
        for edges in combinations(pairs, k):
            yield graph_of(set(edges), dimensions)


def all_states(form, dimensions):
    graphs = () if form == "partitions" else all_graphs(dimensions)
    partitions = () if form == "graphs" else all_partitions(dimensions)
    return list(dict.fromkeys(joined(partitions, graphs)))


class Law:
    """Answers whose evidence is a table."""

    def __init__(self, logs, dimensions):
        self.logs, self.dimensions = logs, dimensions

    def fit(self, terms, starts=(), wide=True):
        return Fit(np.zeros(0), 0.0, self.logs[terms])

    def begin(self, terms, near, fit):
        return Begin(fit.theta)

    def log_likelihood(self, terms, theta):
        return 0.0

    def asked_for(self, terms, theta):
        return []


def target(form, dimensions, spread, published=False, prior="blocks"):
    states = all_states(form, dimensions)
    logs = dict(zip(states, np.random.default_rng(7).normal(0.0, spread, len(states)), strict=True))
    found = Target(Law(logs, dimensions), form, prior, published)
    law = np.exp([found.log_density(each) for each in states])
    return found, states, law / law.sum()


@pytest.mark.parametrize("form", ["partitions", "graphs", "both"])
@pytest.mark.parametrize("prior", ["blocks", "partitions"])
def test_priors_sum_to_one(form, prior):
    for dimensions in (1, 2, 4):
        logs = [log_prior(each, dimensions, form, prior) for each in all_states(form, dimensions)]
        assert np.exp(logs).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("form", "dimensions", "published"),
    [("partitions", 4, False), ("partitions", 4, True), ("graphs", 3, False), ("both", 3, False), ("both", 4, False)],
)
def test_chains_that_begin_at_the_law_end_at_it(form, dimensions, published):
    """Many independent starts from a law that is known exactly, five steps each."""
    given, states, law = target(form, dimensions, 1.0, published)
    rng, size = np.random.default_rng(8), 20_000 if form == "partitions" and not published else 6_000
    starts, places = rng.choice(len(states), size=size, p=law), {each: i for i, each in enumerate(states)}
    counts, moved = np.zeros(len(states)), 0
    for i in starts:
        state = chain.init(given, states[i])
        for _ in range(5):
            state, _ = chain.step(state, given, rng)
        counts[places[state.terms]] += 1
        moved += state.terms != states[i]
    often = size * law >= 5.0
    seen = np.append(counts[often], counts[~often].sum())
    expected = np.append(size * law[often], size * law[~often].sum())
    kept = expected > 0.0
    assert chisquare(seen[kept], expected[kept]).pvalue > 0.001
    assert moved > 0.4 * size


def test_without_its_ratio_a_step_between_the_forms_would_be_found_out():
    """What a state between both forms does with half of its steps is in the ratio; left out, the law moves."""
    given, states, law = target("both", 3, 1.0)
    given._log_share = lambda terms: 0.0
    rng, places = np.random.default_rng(9), {each: i for i, each in enumerate(states)}
    counts = np.zeros(len(states))
    for i in rng.choice(len(states), size=8_000, p=law):
        state = chain.init(given, states[i])
        for _ in range(5):
            state, _ = chain.step(state, given, rng)
        counts[places[state.terms]] += 1
    assert chisquare(counts, 8_000 * law).pvalue < 0.001


def test_a_block_and_its_clique_are_two_forms_of_each_other():
    assert other_form(((0, 1, 2), (3,)), 4) == graph_of({(0, 1), (0, 2), (1, 2)}, 4)
    for terms in all_states("both", 4):
        there = other_form(terms, 4)
        assert other_form(there, 4) == terms or there == terms
    assert other_form(alone(4), 4) == alone(4)
    assert other_form(graph_of({(0, 1), (1, 2)}, 3), 3) == graph_of({(0, 1), (1, 2)}, 3)  # no block has this form


def test_forms_are_told_apart():
    assert is_partition(together(3))
    assert not is_graph(together(3))
    assert is_graph(alone(3))
    assert is_partition(alone(3))
    assert is_graph(graph_of({(0, 2)}, 3))
    assert not is_partition(graph_of({(0, 2)}, 3))
