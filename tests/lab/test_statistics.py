"""Intervals against SciPy's own, against closed forms, and against how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import gainful as gf
from gainful.lab.statistics import bootstrap, mean, paired_difference, paired_ratio, share

rng = np.random.default_rng(0)
A, B = rng.lognormal(1.0, 0.5, 40), rng.lognormal(0.5, 0.5, 40)


def test_the_mean_has_scipys_t_interval() -> None:
    found, theirs = mean(A), stats.ttest_1samp(A, 0.0).confidence_interval(0.95)
    assert (found.value, found.low, found.high) == pytest.approx((A.mean(), theirs.low, theirs.high))


def test_the_paired_difference_is_scipys_paired_t_test() -> None:
    found, theirs = paired_difference(A, B), stats.ttest_rel(A, B).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    turned = paired_difference(B, A)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_the_share_has_scipys_wilson_interval() -> None:
    for yes, n in [(0, 5), (3, 10), (57, 57), (500, 1000)]:
        found = share([True] * yes + [False] * (n - yes))
        theirs = stats.binomtest(yes, n).proportion_ci(0.95, method="wilson")
        assert (found.value, found.low, found.high) == pytest.approx((yes / n, theirs.low, theirs.high), abs=1e-12)


def test_the_ratio_is_scipys_percentile_bootstrap_up_to_its_random_numbers() -> None:
    found = paired_ratio(A, B)
    theirs = stats.bootstrap(
        (A, B),
        lambda x, y, axis: x.mean(axis) / y.mean(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert found.value == pytest.approx(A.mean() / B.mean())
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


def test_the_bootstrap_is_a_function_of_its_arguments_and_scales_with_them() -> None:
    assert paired_ratio(A, B) == paired_ratio(A, B)
    assert paired_ratio(10 * A, B).high == pytest.approx(10 * paired_ratio(A, B).high)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draws = np.random.default_rng(2).normal(3.0, 1.0, (2000, 12))
    held = np.mean([3.0 in mean(row) for row in draws])
    assert held == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 2000))


def test_one_repetition_has_a_value_and_no_interval() -> None:
    for found in (mean([2.0]), paired_ratio([4.0], [2.0]), bootstrap(lambda x: x.max(axis=-1), [2.0])):
        assert (found.value, found.low, found.high) == (2.0, -np.inf, np.inf)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mean([]),
        lambda: mean([1.0, np.nan]),
        lambda: paired_difference([1.0, 2.0], [1.0]),
        lambda: paired_ratio([1.0, 2.0], [1.0, 0.0]),
        lambda: share([0.5]),
    ],
)
def test_bad_columns_are_refused(call: object) -> None:
    with pytest.raises(gf.InvalidInput):
        call()  # type: ignore[operator]
