"""Which tasks are alike is found out, said in words, and used to predict tasks with few readings."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs.partitions.partition import all_partitions, tidy
from gainful.beliefs.tasks import TaskBelief
from gainful.beliefs.tasks.belief import as_clusters, as_text, from_text

LAB = gf.Point(name="lab")
SPACE = gf.Space(gf.Real("x", 0, 1), gf.Categorical("task", list("abcd")))
STATED = {"shared": gf.SE(0.3, 1.0), "own": gf.SE(0.3, 0.05)}
NOISY = gf.Point(0.3, name="lab")


def kinds(x, task):
    """Even tasks follow one function, odd tasks another."""
    return np.where(task % 2 == 0, np.sin(7 * x), np.cos(9 * x) + 0.5 * x)


def planted(counts, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(counts)), counts)
    x = rng.random(len(task))
    return np.column_stack([x, task]), kinds(x, task) + noise * rng.normal(size=len(task))


def vague(order=(0, 1, 2, 3)):
    """Few noisy readings of four tasks, whose levels are in this order."""
    X, y = planted([3, 3, 3, 3], 5, 0.4)
    X[:, 1] = np.argsort(order)[X[:, 1].astype(int)]
    return gf.Data().add(NOISY, X, y)


def test_planted_clusters_are_recovered_and_help_a_task_with_three_readings():
    """With six tasks, ten readings each and three of the last, its RMSE on 50 places was 0.07 to 0.13 over six seeds,
    0.48 to 0.99 from its own readings alone, and 0.38 to 0.79 by a GP over the space, which lets levels lean."""
    X, y = planted([8, 8, 8, 8, 3], 0)
    space = gf.Space(gf.Real("x", 0, 1), gf.Categorical("task", list("abcde")))
    belief = gf.TaskClusters(space, sweeps=30, burn=5).condition(gf.Data().add(LAB, X, y))
    assert next(iter(belief.structures)) == "a·c·e | b·d"
    truth = np.equal.outer(np.arange(5) % 2, np.arange(5) % 2)
    assert np.all((belief.together > 0.9) == truth)
    assert belief.describe().startswith("a, c and e are alike (")
    new = np.column_stack([np.linspace(0, 1, 50), np.full(50, 4.0)])
    few = X[:, 1] == 4
    alone = gf.GP(space=gf.Space(gf.Real("x", 0, 1))).condition(gf.Data().add(LAB, X[few, :1], y[few]))
    ours, theirs = (np.sqrt(np.mean((m - kinds(*new.T)) ** 2)) for m in (belief.mean(new), alone.mean(new[:, :1])))
    assert ours < 0.35 * theirs


def test_weights_are_how_often_the_chain_was_there_and_near_the_exact_posterior():
    model = gf.TaskClusters(SPACE, **STATED, sweeps=400)
    belief = model.condition(vague())
    target = model.target(vague())
    states = list(all_partitions(4))
    logs = np.array([target.log_density(each) for each in states])
    law = np.exp(logs - np.logaddexp.reduce(logs))
    exact = np.zeros((4, 4))
    for p, each in zip(law, states, strict=True):
        exact += p * np.equal.outer(as_clusters(each), as_clusters(each))
    assert np.ptp(exact[~np.eye(4, dtype=bool)]) > 0.2
    np.testing.assert_allclose(belief.together, exact, atol=0.1)
    visits = [state.clustering for state, _ in model.follow(vague())][-400:]
    for each, weight in zip(belief.clusterings, belief.weights, strict=True):
        assert weight == pytest.approx(visits.count(each) / 400, abs=1e-3)
    assert belief.last == visits[-1]


@pytest.mark.parametrize("kernels", [STATED, {}], ids=["stated", "learned"])
def test_tasks_are_exchangeable(kernels):
    """To permute the levels permutes what is believed of them."""
    order = (2, 0, 3, 1)
    moved = gf.Space(gf.Real("x", 0, 1), gf.Categorical("task", [list("abcd")[i] for i in order]))
    one, other = (gf.TaskClusters(space, **kernels, sweeps=600) for space in (SPACE, moved))
    here, there = one.target(vague()), other.target(vague(order))
    position = np.argsort(order)
    for clustering in list(all_partitions(4))[:: 1 if kernels else 4]:
        same = tidy([[int(position[i]) for i in block] for block in clustering])
        assert there.log_density(same) == pytest.approx(here.log_density(clustering), abs=1e-8 if kernels else 0.02)
    if kernels:
        a, b = one.condition(vague()), other.condition(vague(order), rng=1)
        np.testing.assert_allclose(b.together, a.together[np.ix_(order, order)], atol=0.12)


def test_the_evidence_is_that_of_rival_models_and_does_not_depend_on_the_way_there():
    space = gf.Space(gf.Real("x", 0, 1), gf.Categorical("task", list("abc")))
    X, y = planted([4, 4, 4], 1)
    data, model = gf.Data().add(LAB, X, y), gf.TaskClusters(space, prior="uniform")
    states = list(all_partitions(3))
    target, reverse = model.target(data), model.target(data)
    logs = np.array([target.log_density(each) for each in states])
    np.testing.assert_array_equal([reverse.log_density(each) for each in states[::-1]][::-1], logs)
    rivals = gf.Models([model.process(each) for each in states]).condition(data)
    np.testing.assert_allclose(np.exp(logs - np.logaddexp.reduce(logs)), rivals.model_weights, atol=0.03)


def test_answers_of_other_kinds_are_taken_by_the_evidence_that_they_have():
    X, y = planted([4, 4, 4, 4], 2)
    check = gf.Binary(threshold=0.0, noise=0.3, name="check")
    data = gf.Data().add(check, X, (y > 0.0).astype(int))
    model = gf.TaskClusters(SPACE, **STATED, sweeps=5, burn=0)
    clustering = ((0, 2), (1, 3))
    own = model.process(clustering).posterior(data).log_evidence
    assert model.target(data).answers.log_evidence(clustering) == pytest.approx(own, abs=1e-6)
    assert model.condition(data).answers(check, X).probability.shape == (16,)


def test_categories_and_conditional_numbers_may_be_among_the_inputs():
    space = gf.Space(
        gf.Real("dose", 1, 100, log=True), gf.Categorical("kind", ["p", "q", "r"]),
        gf.Real("rate", 0, 1, when={"kind": ["p", "q"]}), gf.At("fixed", 3.0), gf.Categorical("task", [10, 20]),
    )  # fmt: skip
    with pytest.raises(gf.InvalidInput, match="space"):
        gf.TaskClusters(space)
    model = gf.TaskClusters(space, "task", sweeps=3, burn=0)
    assert model.tasks == ("10", "20")
    X = space.candidates(14, 0)
    belief = model.condition(gf.Data().add(gf.Point(0.1), X, np.log(X[:, 0]) + X[:, 1]))
    assert np.isfinite(belief.mean(space.candidates(5, 1))).all()
    by_name = gf.TaskClusters(space, "task", shared=gf.SE(1.0, 1.0).on("dose"), own=gf.SE(1.0, 0.1).on("dose"))
    K = by_name.process(((0, 1),)).kernel(X)
    near, same = gf.SE(1.0)(np.log(X[:, :1])), np.equal.outer(X[:, -1], X[:, -1])
    np.testing.assert_allclose(K, near + 0.1 * near * same, rtol=1e-12)


def test_an_earlier_belief_is_gone_on_from_and_the_same_seed_gives_the_same():
    model = gf.TaskClusters(SPACE, **STATED, sweeps=20)
    first = model.condition(vague(), rng=3)
    assert model.condition(vague(), rng=3).structures == first.structures
    assert len(list(model.follow(vague(), start=first))) == 20  # nothing is burnt
    assert len(list(model.follow(vague()))) == 40
    assert isinstance(model.condition(vague(), start=first), TaskBelief)
    none = model.condition(gf.Data())
    assert none.describe().count("like no other") == 4


def test_a_resumed_campaign_believes_and_asks_the_same(tmp_path):
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    model = gf.TaskClusters(**STATED, sweeps=10, burn=5)
    campaign = gf.Campaign(SPACE, [NOISY], model, initial=4, seed=1, journal=path)
    for _ in range(6):
        query = campaign.ask()
        campaign.tell(query, float(kinds(*np.asarray(query.place))))
    copy.write_bytes(path.read_bytes())
    again = gf.Campaign.resume(copy)
    assert again.belief.clusterings == campaign.belief.clusterings
    np.testing.assert_array_equal(again.belief.weights, campaign.belief.weights)
    assert again.ask() == campaign.ask()
    assert copy.read_bytes() == path.read_bytes()
    bits = gf.information(campaign.belief, NOISY, SPACE.candidates(5, 0), about="model")  # which clustering it is
    assert np.all((bits >= 0.0) & (bits < np.log2(15)))


def test_clusterings_are_read_as_they_are_written():
    for clustering in all_partitions(5):
        assert from_text(as_text(clustering)) == clustering


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"space": gf.Space(gf.Real("x", 0, 1))}, "space"),
        ({"space": gf.Space(gf.Categorical("task", ["a", "b"]))}, "space"),
        ({"task": "x"}, "task"), ({"task": "patient"}, "task"), ({"task": 1}, "task"), ({"shared": gf.SE}, "shared"),
        ({"own": 1.0}, "own"), ({"own": gf.SE((1.0, 2.0))}, "lengthscale"), ({"mean": 1.0}, "mean"),
        ({"priors": {"SE.rank": gf.Fixed()}}, "priors"), ({"prior": "flat"}, "prior"),
        ({"concentration": 0.0}, "concentration"), ({"sweeps": 0}, "sweeps"), ({"burn": -1}, "burn"),
        ({"inference": "fast"}, "inference"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_by_its_name(options, word):
    with pytest.raises(gf.InvalidInput, match=word):
        gf.TaskClusters(**({"space": SPACE, "shared": gf.SE()} | options))


def test_data_that_do_not_fit_are_refused():
    with pytest.raises(gf.InvalidInput, match="space"):
        gf.TaskClusters().condition(vague())
    with pytest.raises(gf.InvalidInput, match="data"):
        gf.TaskClusters(SPACE).condition([[0.0, 1.0]])
    with pytest.raises(gf.InvalidInput, match="X"):
        gf.TaskClusters(SPACE).condition(gf.Data().add(LAB, [[0.1, 4.0], [0.2, 0.0], [0.3, 1.0]], [0.0, 1.0, 0.5]))
    with pytest.raises(gf.InvalidInput, match="instruments"):
        gf.TaskClusters(SPACE).condition(gf.Data().add(gf.Point(0.1, output=1), [[0.1, 1.0]], [0.0]))
