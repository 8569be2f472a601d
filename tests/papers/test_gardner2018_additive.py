"""Sums of functions of some dimensions, small: the functions and solvers that are used, and what is claimed."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from gainful.papers.gardner2018 import additive_completion, additive_none, additive_optimise, additive_recovery
from gainful.papers.gardner2018.additive_worlds import (
    attainable,
    michalewicz,
    michalewicz_minimum,
    rand_agreement,
    random_partition,
    rotated_over,
    rotation,
    styblinski_tang,
)


def _ran(experiment, settings):
    rows = [{**setting, **row} for i, setting in enumerate(settings) for row in experiment.run(setting, i)]
    return [row for row in rows if "seconds" not in row]


def test_all_partitions_are_as_probable():
    rng = np.random.default_rng(0)
    counts = Counter(random_partition(4, rng) for _ in range(3000))
    assert len(counts) == 15  # Bell's number
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 36.1  # χ² with 14 degrees, 99.9 %


def test_partitions_agree_on_pairs_as_counted_by_hand():
    one, apart, whole = ((0, 1), (2, 3)), ((0,), (1,), (2,), (3,)), ((0, 1, 2, 3),)
    assert rand_agreement(one, one) == 1.0
    assert rand_agreement(one, apart) == pytest.approx(4 / 6)
    assert rand_agreement(one, whole) == pytest.approx(2 / 6)
    assert rand_agreement(apart, whole) == 0.0
    assert rand_agreement(one, ((0, 2), (1, 3))) == pytest.approx(2 / 6)


def test_minima_are_the_published_ones():
    assert styblinski_tang(np.full(10, -2.903534)) == pytest.approx(-391.66166, abs=1e-4)
    alone = tuple((d,) for d in range(10))
    assert attainable(alone, np.eye(10), 4.0) == pytest.approx(-391.66166, abs=1e-4)
    assert michalewicz_minimum(10) == pytest.approx(-9.66015, abs=1e-5)
    assert michalewicz_minimum(2) == pytest.approx(-1.8013034, abs=1e-6)
    assert michalewicz(np.array([2.20290552, 1.57079633])) == pytest.approx(michalewicz_minimum(2), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_attainable_minimum_is_that_of_a_fine_grid(seed):
    partition = ((0, 2), (1,))
    Q = rotation(partition, np.random.default_rng(seed))
    np.testing.assert_allclose(Q @ Q.T, np.eye(3), atol=1e-12)
    assert np.all(Q[[0, 2, 1, 1], [1, 1, 0, 2]] == 0.0)
    f, line = rotated_over(Q), np.linspace(-4.0, 4.0, 101)
    grid = min(f(np.array([a, 0.0, b])) for a, b in product(line, line)) + min(f(np.array([0.0, c, 0.0])) for c in line)
    found = attainable(partition, Q, 4.0)
    assert grid - 2.0 < found <= grid + 1e-9


def test_a_rotated_minimum_may_be_out_of_reach():
    turned = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2.0)  # takes (−2.9, −2.9) to a place on an axis, at 4.1
    assert attainable(((0, 1),), turned, 4.0) > 2 * -39.16617 + 0.1
    assert attainable(((0, 1),), turned, 5.0) == pytest.approx(2 * -39.16617, abs=1e-4)


def test_thresholding_recovers_a_matrix_of_low_rank():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 60))
    seen = rng.random(M.shape) < 0.6
    X = additive_completion.completed(M, seen, 5.0 * 60.0, 1.2 / 0.6, 1e-4, iterations=500)
    assert np.linalg.norm((X - M)[~seen]) < 1e-2 * np.linalg.norm(M[~seen])
    assert not additive_completion.completed(M, seen, 5.0, 50.0, 1e-4).any()  # runs away


def test_pixels_are_seen_or_held_back_or_destroyed(data_folder):
    here = additive_completion.holes("coins", 96, 0)
    assert np.all(here.seen.astype(int) + here.held + here.destroyed == 1)
    assert here.destroyed.mean() == pytest.approx(0.5, abs=0.02)
    assert here.held.mean() == pytest.approx(0.1, abs=0.02)
    assert here.M.shape == (96, 96)
    assert here.error(np.zeros_like(here.M), here.held) == 1.0
    assert here.error(here.M, here.held) == 0.0


def test_a_draw_has_a_variance_of_one_for_each_block():
    rng = np.random.default_rng(0)
    several = [additive_recovery.draw(6, 40, rng) for _ in range(150)]
    assert np.mean([np.mean(y**2) / len(partition) for partition, _, y in several]) == pytest.approx(1, abs=0.2)
    assert all(X.shape == (40, 6) and X.min() >= 0.0 and X.max() <= 1.0 for _, X, _ in several)


def test_recovery_is_measured_against_the_true_model(tmp_path):
    experiment = additive_recovery.EXPERIMENT
    rows = _ran(experiment, experiment.settings(True))
    assert {row["strategy"] for row in rows} == {"full", "published", "own", "bag"}
    for row in rows:
        assert 0.0 <= row["agreement"] <= 1.0
        assert np.sign(row["relative"]) == np.sign(row["behind"])
        if row["strategy"] != "bag" and row["agreement"] == 1.0:
            assert row["found"] or row["strategy"] == "full"
    here = [row for row in rows if row["noise"] == 0.001]
    for name in ("published", "own", "bag"):  # once found, always found; and what is found explains as well as itself
        for measure in ("found", "preferred"):
            seen = [row[measure] for row in here if row["strategy"] == name]
            assert seen == sorted(seen)
    assert all(row["preferred"] for row in rows if row.get("found") and row["strategy"] != "full")
    claims = experiment.claims(rows)
    assert [claim.published for claim in claims[:3]] == [0.8, None, None]
    assert [claim.verdict for claim in claims][-1] == "measured"  # elsewhere, of the published chain alone
    assert {row["strategy"] for row in rows if row["noise"] != 0.001} == {"full", "published"}
    assert any("bag is behind" in claim.statement for claim in claims)
    (figure,) = experiment.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def test_campaigns_of_all_models_begin_alike_and_are_compared(tmp_path):
    experiment = additive_optimise.EXPERIMENT
    rows = _ran(experiment, experiment.settings(True))
    assert len(rows) == 3 * 5 * 2  # after the first ten, and at the end
    for problem in ("styblinski-tang", "michalewicz", "transformed"):
        here = [row for row in rows if row["problem"] == problem]
        assert len({row["best"] for row in here if row["answers"] == 10}) == 1
        assert all(row["above"] >= 0.0 for row in here)
    claims = experiment.claims(rows)
    assert [claim.published for claim in claims if isinstance(claim.published, float)] == [1.58, 1.36, 1.82]
    (figure,) = experiment.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def _synthetic(strategy, reaches, runs):
    """A run that comes down in a straight line to 0 after so many evaluations, and stays there."""
    return [
        {"strategy": strategy, "repetition": r, "answers": n, "best": -391.6 + above, "above": above}
        for r in range(runs)
        for n in range(10, 201, 5)
        for above in [max(0.0, 100.0 * (1.0 - n / reaches)) + 0.01 * r]
    ]


def test_the_speed_up_is_the_ratio_of_evaluations_to_the_same_value():
    rows = []
    for problem in ("styblinski-tang", "michalewicz", "transformed"):
        for name, reaches, runs in (
            ("own", 50, 5),
            ("chain", 100, 5),
            ("bag", 150, 3),
            ("full", 400, 5),
            ("oracle", 100, 5),
        ):
            rows += [{"problem": problem, **row} for row in _synthetic(name, reaches, runs)]
    claims = {claim.statement: claim for claim in additive_optimise.EXPERIMENT.claims(rows)}
    speed = claims["Styblinski-Tang: the published chain comes to the bag's final value so many times as fast"]
    assert (speed.measured, speed.low, speed.high) == pytest.approx((1.5, 1.5, 1.5))
    full = claims["Michalewicz: the published chain is lower than all together after 200 by"]
    assert full.measured == pytest.approx(50.0)
    assert full.holds
    assert claims["Styblinski-Tang: gainful's chain, the median after 80"].measured == pytest.approx(-391.58)
    assert "rotated within blocks: the published chain is lower than the true partition after 50 by" in claims


def test_completion_is_tuned_and_drawn(data_folder, tmp_path):
    experiment = additive_completion.EXPERIMENT
    rows = _ran(experiment, experiment.settings(True))
    assert {row["strategy"] for row in rows} == {"own", "chain", "bag", "full"}
    assert all(0.0 <= row["best"] <= 1.0 for row in rows)
    assert len(experiment.claims(rows)) == 8
    (figure,) = experiment.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["Ackley", "Levy", "Rosenbrock", "draw"])
def test_functions_without_structure_have_their_minimum_at_zero(name):
    f = additive_none.function_of(name, 4, 0)
    rng = np.random.default_rng(0)
    values = [f(x) for x in rng.uniform(-1.0, 1.0, (2000, 4))]
    assert min(values) >= 0.0
    assert np.std(values) == pytest.approx(1.0, rel=0.15)
    shape = additive_none._SHAPES.get(name)
    if shape is not None:
        assert shape[0](np.zeros(4)) == pytest.approx(0.0, abs=1e-12)


def test_looking_for_structure_is_compared_where_there_is_none(tmp_path):
    experiment = additive_none.EXPERIMENT
    rows = _ran(experiment, experiment.settings(True))
    assert {row["strategy"] for row in rows} == {"own", "full", "plain"}
    claims = experiment.claims(rows)
    assert [claim.published for claim in claims] == ["never hurt"] * 2 + [None] * 2
    (figure,) = experiment.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000
