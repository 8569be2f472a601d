"""Beliefs over who acts together: planted structures are found, and everything that a belief has is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs.partitions.belief import PartitionBelief, described
from gainful.beliefs.partitions.evidence import Additively
from gainful.beliefs.partitions.partition import all_partitions

SPACE = gf.Space(*(gf.Real(name, 0, 10) for name in "abcd"))
LAB = gf.Point(name="lab")


def planted(n: int = 50, seed: int = 0, noise: float = 0.05):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)) * 10
    y = np.sin(0.09 * X[:, 0] * X[:, 1]) + 0.01 * X[:, 2] ** 2 + np.cos(0.5 * X[:, 3])
    return X, 100 + 20 * (y + noise * rng.normal(size=n))


def data_of(X, y, lab=LAB):
    return gf.Data().add(lab, X, y)


def shares(belief) -> dict:
    """The weight of each model: the sum of those of its parameters."""
    found = Counter()
    for terms, weight in zip(belief.terms, belief.weights.tolist(), strict=True):
        found[terms] += weight
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_what_was_planted_is_found(seed):
    belief = gf.Partitions(SPACE, chain=40).condition(data_of(*planted(seed=seed)), rng=seed)
    assert belief.together[0, 1] > 0.9
    others = [belief.together[i, j] for i in range(4) for j in range(i) if (i, j) != (1, 0)]
    assert max(others) < 0.5
    X, y = planted(200, 9, 0.0)
    one = gf.Partitions(SPACE, given="full").condition(data_of(*planted(seed=seed)))
    errors = [np.sqrt(np.mean((each.mean(X) - y) ** 2)) for each in (belief, one)]
    assert errors[0] < errors[1]


def test_the_profile_is_the_one_that_explains_the_answers():
    X = np.random.default_rng(2).random((80, 4)) * 10
    smooth, kinked = np.sum(np.sin(0.4 * X + np.arange(4)), axis=1), np.sum(np.abs(X - [3, 6, 4, 7]), axis=1)
    for y, profile in ((smooth, "SE"), (kinked, "Matern52")):
        belief = gf.Partitions(SPACE, chain=5, burn=0).condition(data_of(X, y), rng=0)
        assert {posterior.kernel.left.profile for posterior in belief.posteriors} == {profile}


def test_overlapping_groups_are_found_as_a_graph():
    rng = np.random.default_rng(3)
    X = rng.random((80, 4)) * 10
    y = np.sin(0.08 * X[:, 0] * X[:, 1]) + np.cos(0.08 * X[:, 1] * X[:, 2]) + 0.1 * X[:, 3]
    for form in ("graphs", "both"):
        belief = gf.Partitions(SPACE, chain=60, form=form).condition(data_of(X, y), rng=1)
        assert min(belief.together[0, 1], belief.together[1, 2]) > 0.9
        assert belief.together[0, 3] < 0.5
    assert belief.together[0, 2] < 0.5  # of both forms, the graph


def test_the_chain_visits_partitions_by_their_evidence():
    """Of four dimensions: shares of a long chain against all fifteen evidences."""
    data = data_of(*planted(14, 4, 0.5))
    model = gf.Partitions(SPACE, chain=1500, burn=0)
    reading, seen = model._reading(data, ())
    target = model._target(reading, seen, None)
    logs = np.array([target.log_density(each) for each in all_partitions(4)])
    law = dict(zip(all_partitions(4), np.exp(logs - np.logaddexp.reduce(logs)), strict=True))
    belief = model.condition(data, rng=5)
    found = shares(belief)
    for terms, share in law.items():  # fits that begin elsewhere end a little elsewhere
        assert found.get(terms, 0.0) == pytest.approx(share, abs=0.08)


def test_units_change_nothing_but_units():
    X, y = planted(30)
    belief = gf.Partitions(SPACE, chain=20).condition(data_of(X, y), rng=0)
    other = gf.Space(*(gf.Real(name, 0, 10_000, unit="m") for name in "abcd"))
    scaled = gf.Partitions(other, chain=20).condition(data_of(1000 * X, 5 - 0.001 * y), rng=0)
    assert belief.terms == scaled.terms
    np.testing.assert_allclose(belief.weights, scaled.weights, atol=1e-3)
    np.testing.assert_allclose(5 - 0.001 * belief.mean(X), scaled.mean(1000 * X), rtol=1e-4)


def test_the_weights_are_how_often_each_was_visited_and_move_with_new_answers():
    X, y = planted(30, noise=0.5)
    model = gf.Partitions(SPACE, chain=25)
    parts = model.learn(data_of(X[:15], y[:15]), (), None, 0)
    before = model.believe(parts, data_of(X[:15], y[:15]), ())
    visits = 25 * np.array(list(shares(before).values()))
    assert len(visits) > 1
    np.testing.assert_allclose(visits, np.round(visits), atol=0.01)
    after = model.believe(parts, data_of(X, y), ())
    assert after.terms == before.terms
    assert not np.allclose(after.weights, before.weights)


def test_a_belief_goes_on_where_the_last_one_ended():
    X, y = planted(40)
    model = gf.Partitions(SPACE, chain=5)
    first = model.condition(data_of(X[:39], y[:39]), rng=0)
    target = model._target(*model._reading(data_of(X, y), ()), first)
    assert first.last in target.known
    steps = list(model.follow(data_of(X, y), start=first, rng=1))
    assert [each.done for each in steps] == [1, 2, 3, 4, 5]  # and nothing is burned


def test_the_same_seed_gives_the_same_belief():
    data = data_of(*planted(30))
    one, same = (gf.Partitions(SPACE, chain=20).condition(data, rng=3) for _ in range(2))
    assert one.terms == same.terms
    np.testing.assert_array_equal(one.weights, same.weights)


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ({"given": "additive"}, ((0,), (1,), (2,), (3,))),
        ({"given": "full"}, ((0, 1, 2, 3),)),
        ({"given": [("b", "a"), ("d",)]}, ((0, 1), (2,), (3,))),
        ({"given": [(0, 1), (1, 2)]}, ((0, 1), (1, 2), (3,))),
    ],
)
def test_given_terms_need_no_chain(options, terms):
    belief = gf.Partitions(SPACE, **options).condition(data_of(*planted(20)))
    assert set(belief.terms) == {terms}


def test_a_bag_is_its_best_model():
    data = data_of(*planted(40))
    belief = gf.Partitions(SPACE, chain=30, by="bag").condition(data, rng=0)
    assert len(set(belief.terms)) == 1
    assert belief.together[0, 1] == pytest.approx(1.0)


def test_parameters_are_drawn_unless_the_best_are_asked_for():
    data = data_of(*planted(15, noise=0.3))
    given = gf.Partitions(SPACE, given="additive")
    drawn = given.condition(data)
    best = replace(given, parameters="best").condition(data)
    assert len(best.terms) == 1
    assert len({tuple(posterior.kernel.parameters) for posterior in drawn.posteriors}) == 24
    np.testing.assert_allclose(drawn.weights, 1 / 24, rtol=1e-3)
    assert drawn.variance(SPACE.candidates(50, 0)).mean() > best.variance(SPACE.candidates(50, 0)).mean()


def test_bands_of_few_answers_in_ten_dimensions_hold_what_they_promise():
    """Sums of one wave for each dimension, thirty exact answers each; with the best parameters alone, fewer."""
    space = gf.Space(*(gf.Real(f"x{d}", 0, 1) for d in range(10)))
    held = {"drawn": [], "best": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        frequency, phase = rng.uniform(2, 8, 10), rng.uniform(0, 6, 10)
        X, Z = space.candidates(30, seed), rng.random((200, 10))
        y, truth = (np.sin(frequency * places + phase).sum(axis=1) for places in (X, Z))
        for parameters, found in held.items():
            model = gf.Partitions(space, chain=20, parameters=parameters)
            low, high = model.condition(gf.Data().add(LAB, X, y), rng=0).band(Z)
            found.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(held["drawn"]) > 0.9
    assert np.mean(held["drawn"]) > np.mean(held["best"]) + 0.05


def test_as_published_blocks_share_a_lengthscale():
    belief = gf.Partitions.as_published(SPACE, chain=40).condition(data_of(*planted(40)), rng=0)
    for terms, posterior in zip(belief.terms, belief.posteriors, strict=True):
        lengths = posterior.kernel.left.lengthscale
        assert all(len({lengths[d] for d in term}) == 1 for term in terms)


def test_any_kind_of_answer():
    X, y = planted(60)
    grades = gf.Ordinal(thresholds=[100.0, 115.0, 130.0], noise=3.0, name="grade")
    ranks = 1 + np.searchsorted([100.0, 115.0, 130.0], y[30:])
    data = data_of(X[:30], y[:30]).add(grades, X[30:], ranks)
    belief = gf.Partitions(SPACE, chain=6, burn=4).condition(data, rng=0)
    assert isinstance(belief, PartitionBelief)
    assert belief.together.shape == (4, 4)
    assert np.sqrt(np.mean((belief.mean(X) - y) ** 2)) < 8.0


def test_before_the_first_answers_there_is_a_belief():
    for n in (0, 1, 2, 3):
        X, y = planted(4)
        belief = gf.Partitions(SPACE, chain=3, burn=2).condition(data_of(X[:n], y[:n]) if n else gf.Data(), rng=0)
        assert np.all(np.isfinite(belief.variance(X)))


def test_constant_answers_are_believed():
    X, _ = planted(12)
    belief = gf.Partitions(SPACE, chain=5, burn=5).condition(data_of(X, np.full(12, 3.0)), rng=0)
    np.testing.assert_allclose(belief.mean(X), 3.0, atol=0.5)


def test_a_campaign_goes_on_to_the_byte(tmp_path):
    path, copy = tmp_path / "campaign.jsonl", tmp_path / "copy.jsonl"
    model = gf.Partitions(chain=4, burn=2)
    campaign = gf.Campaign(SPACE, [LAB], model, goal="minimise", initial=4, seed=1, journal=path)
    for value in planted(6)[1]:
        campaign.tell(campaign.ask(), float(value))
    copy.write_bytes(path.read_bytes())
    again = gf.Campaign.resume(copy)
    assert again.belief.terms == campaign.belief.terms
    np.testing.assert_array_equal(again.belief.weights, campaign.belief.weights)
    assert again.ask() == campaign.ask()
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"chain": 0}, "chain"), ({"form": "trees"}, "form"), ({"profile": "cubic"}, "profile"), ({"by": "luck"}, "by"),
        ({"evidence": "none"}, "evidence"), ({"prior": "flat"}, "prior"), ({"given": [("a", "z")]}, "given"),
        ({"given": "some"}, "given"), ({"lengthscales": "term", "form": "graphs"}, "lengthscales"),
        ({"burn": -1}, "burn"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(options, word):
    with pytest.raises(gf.InvalidInput, match=word):
        gf.Partitions(SPACE, **options)


def test_without_a_space_there_are_no_dimensions():
    with pytest.raises(gf.InvalidInput, match="space"):
        gf.Partitions().condition(data_of(*planted(10)))
    with pytest.raises(gf.InvalidInput, match="4 coordinates"):
        gf.Partitions(SPACE).condition(gf.Data().add(LAB, [[1.0]], [2.0]))


def test_what_is_no_data_and_groups_that_are_none_are_refused():
    with pytest.raises(gf.InvalidInput, match="data"):
        gf.Partitions(SPACE).condition({"a": [1.0]})
    with pytest.raises(gf.InvalidInput, match="given"):
        gf.Partitions(given=3)
    with pytest.raises(gf.InvalidInput, match="form: expected 'partitions', where terms are given, got graphs"):
        gf.Partitions(SPACE, form="graphs", given="full")


def test_dimensions_that_no_given_term_names_are_alone():
    space = gf.Space(*(gf.Real(name, 0, 1) for name in "abcd"))
    given = gf.Partitions(space, given=[("a", "b")]).given
    assert sorted(given) == [(0, 1), (2,), (3,)]


def test_of_who_certainly_acts_alone_the_picture_says_nothing():
    pytest.importorskip("matplotlib").use("Agg")
    from gainful.plots import plot_interactions

    space = gf.Space(*(gf.Real(name, 0, 1) for name in "abcd"))
    belief = gf.Partitions(space, given=[("a", "b")]).condition(gf.Data())
    assert [text.get_text() for text in plot_interactions(belief).texts] == ["100"]


def test_words():
    names = ["a", "b", "c"]
    assert described(np.eye(3), names) == "No two dimensions act together."
    unsure = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert described(unsure, names) == "c acts alone.\nOf 1 other pair it is not known yet."


def test_numbers_are_scaled_by_the_range_of_the_space():
    reading, data = gf.Partitions(SPACE)._reading(data_of(*planted(12)), ())
    given = reading.explained(data)
    assert isinstance(given, Additively)
    assert given.squares.max() <= 1.0
    assert given.y.std() == pytest.approx(1.0, abs=0.3)
