"""The restricted normal against mpmath, where cancellation costs nothing because digits are plentiful."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import mpmath as mp
import numpy as np
import pytest

from gainful.errors import InvalidInput
from gainful.numerics.normal import hazard, log_ndtr_between, log_pdf, truncated_normal

INF = np.inf
Cumulants = tuple[mp.mpf, mp.mpf, mp.mpf, mp.mpf, mp.mpf]

ONE_SIDED = [(z, INF) for z in (-37.0, -20.0, -8.5, -3.0, -1.0, -0.1, 0.0, 0.3, 1.5, 2.2, 2.99, 3.0, 3.01, 5.0, 12.0)]
FAR = [(40.0, INF), (1e4, INF), (1e8, INF), (40.0, 40.5), (40.0, 60.0), (1e4, 1e4 + 1e-3), (1e4, 1e4 + 1e-5)]
WIDE = [(-x, y) for x in (0.01, 0.5, 1.0, 3.0, 8.0, 30.0) for y in (1.0, 2.0, 5.0, 12.0, 36.0)]
MIDDLE = [(a, a + w) for a in (0.0, 0.2, 0.9, 2.2, 2.9, 3.1, 7.0) for w in (0.25, 1.0, 2.5, 4.0, 7.0, 9.4, 9.6, 15.0)]
NARROW = [(a, a + w, w) for a in (-40.0, -5.0, -0.3, 0.0, 0.1, 3.0, 1e4, 1e8) for w in (1e-12, 1e-9, 1e-4, 0.03)]
ACROSS = [(-f * w, w - f * w, w) for f in (0.1, 0.5, 0.51, 0.9) for w in (1e-12, 1e-6, 0.01, 0.5, 0.99, 1.0, 1.01)]
REGIMES = {"one-sided": ONE_SIDED, "far": FAR, "wide": WIDE, "middle": MIDDLE, "narrow": NARROW, "across 0": ACROSS}


@pytest.fixture(autouse=True)
def _digits_and_no_warnings() -> Iterator[None]:
    with mp.workdps(160), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def oracle(a: float, b: float, width: float | None = None, shift: float | mp.mpf = 0.0) -> Cumulants:
    """Textbook formulas for [a − shift, b − shift]; the end nearest to 0 and the width define the interval."""
    low, high = mp.mpf(float(a)) - shift, mp.mpf(float(b)) - shift
    if width is not None:
        low, high = (high - mp.mpf(width), high) if low + high < 0 else (low, low + mp.mpf(width))
    sign = 1
    if low + high < 0:
        sign, low, high = -1, -high, -low

    def upper(x: mp.mpf) -> mp.mpf:
        return mp.erfc(x / mp.sqrt(2)) / 2

    def pdf(x: mp.mpf, power: int) -> mp.mpf:
        return mp.mpf(0) if mp.isinf(x) else x**power * mp.npdf(x)

    z = upper(low) - upper(high)
    log_z = mp.log1p(-upper(-low) - upper(high)) if low < 0 else mp.log(z)
    first, second, third, fourth = ((pdf(low, n) - pdf(high, n)) / z for n in range(4))
    second, third = second + 1, third + 2 * first
    fourth += 3 * second
    skew = third - 3 * first * second + 2 * first**3
    excess = fourth - 4 * first * third - 3 * second**2 + 12 * first**2 * second - 6 * first**4
    return log_z, sign * first, second - first**2, sign * skew, excess


def far(got: object, want: mp.mpf, scale: mp.mpf) -> float:
    return float(abs(mp.mpf(float(got)) - want) / scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("regime", REGIMES)
def test_cumulants_match_textbook_formulas_at_a_hundred_digits(regime: str) -> None:
    for case in REGIMES[regime]:
        log_z, mean, variance, third, fourth = oracle(*case)
        got = truncated_normal(*case)
        deviation = mp.sqrt(variance)
        assert far(got.log_z, log_z, abs(log_z)) < 1e-14, case
        assert far(got.mean, mean, deviation + abs(mean) / 100) < 1e-13, case
        assert far(got.variance, variance, variance) < 1e-13, case
        assert far(got.third, third, deviation**3) < 1e-12, case
        assert far(got.fourth, fourth, deviation**4) < 1e-11, case
        assert far(log_ndtr_between(*case), log_z, abs(log_z)) < 1e-14, case


def test_log_z_is_exact_in_relative_terms_in_far_tails() -> None:
    for a in (1e3, 1e4, 1.4e5, 1e8):
        z = mp.mpf(a)
        asymptotic = -z * z / 2 - mp.log(z * mp.sqrt(2 * mp.pi)) + mp.log(1 - 1 / z**2 + 3 / z**4 - 15 / z**6)
        assert far(truncated_normal(a, INF).log_z, asymptotic, abs(asymptotic)) < 1e-15
        assert far(log_ndtr_between(-INF, -a), asymptotic, abs(asymptotic)) < 1e-15


def test_log_z_is_minus_the_tails_when_almost_everything_is_inside() -> None:
    for z in (9.0, 20.0, 37.0):
        tail = mp.erfc(mp.mpf(z) / mp.sqrt(2)) / 2
        assert far(log_ndtr_between(-z, INF), -tail, tail) < 1e-15
        assert far(log_ndtr_between(-z, z), -2 * tail, tail) < 1e-15


def test_the_whole_line_is_the_standard_normal() -> None:
    assert tuple(truncated_normal(-INF, INF)) == (0.0, 0.0, 1.0, 0.0, 0.0)
    assert log_ndtr_between(-INF, INF) == 0.0


def test_a_narrow_interval_is_uniform() -> None:
    width = np.array([1e-12, 1e-10, 1e-9])
    got = truncated_normal(0.7, 0.7 + width, width)
    np.testing.assert_allclose(got.variance, width**2 / 12.0, rtol=1e-14)
    np.testing.assert_allclose(got.log_z, log_pdf(0.7) + np.log(width), rtol=1e-10)


@pytest.mark.parametrize("regime", REGIMES)
def test_mirroring_the_interval_mirrors_the_odd_cumulants(regime: str) -> None:
    for a, b, *width in REGIMES[regime]:
        here, there = truncated_normal(a, b, *width), truncated_normal(-b, -a, *width)
        deviation = np.sqrt(here.variance)
        assert (there.log_z, there.variance, there.fourth) == (here.log_z, here.variance, here.fourth)
        assert there.mean == pytest.approx(-here.mean, rel=1e-15, abs=1e-14 * deviation)
        assert there.third == pytest.approx(-here.third, rel=1e-15, abs=1e-14 * deviation**3)


def test_adjacent_intervals_add_up() -> None:
    cuts = np.array([-INF, -40.0, -8.0, -2.0, -1.9, 0.0, 1e-6, 0.5, 3.0, 3.1, 9.0, 45.0, INF])
    for low, middle, high in itertools.combinations(cuts, 3):
        parts = np.logaddexp(log_ndtr_between(low, middle), log_ndtr_between(middle, high))
        np.testing.assert_allclose(parts, log_ndtr_between(low, high), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "case", [(-0.7, 1.9), (2.0, 2.5), (5.0, INF), (-INF, 3.0), (-4.0, -1.0), (30.0, 30.2), (-6.0, 9.0)]
)
def test_derivatives_of_log_z_in_a_shift_are_the_cumulants(case: tuple[float, float]) -> None:
    got = truncated_normal(*case)
    slope, curvature, third, fourth = (mp.diff(lambda m: oracle(*case, shift=m)[0], 0, n) for n in (1, 2, 3, 4))
    assert far(got.mean, slope, 1 + abs(slope)) < 1e-13
    assert far(got.variance, 1 + curvature, 1 + curvature) < 1e-12
    assert far(got.third, third, mp.sqrt(1 + curvature) ** 3) < 1e-12
    assert far(got.fourth, fourth, (1 + curvature) ** 2) < 1e-11


def test_hazard_is_exact_in_relative_terms_everywhere() -> None:
    for z in (-1e8, -1e4, -300.0, -38.0, -5.0, -1.0, 0.0, 0.5, 5.0, 20.0, 37.0):
        exact = mp.npdf(z) / (mp.erfc(-mp.mpf(z) / mp.sqrt(2)) / 2)
        assert far(hazard(z), exact, exact) < 2e-15, z
    np.testing.assert_array_equal(hazard([-INF, INF]), [INF, 0.0])


def test_arguments_broadcast_and_every_entry_equals_its_scalar_call() -> None:
    a, b = np.array([[-3.0], [0.5], [4.0]]), np.array([4.5, 6.0, INF])
    got = truncated_normal(a, b)
    for i, j in np.ndindex(3, 3):
        assert tuple(x[i, j] for x in got) == pytest.approx(tuple(truncated_normal(a[i, 0], b[j])), rel=1e-15)
    assert truncated_normal(np.empty(0), np.empty(0)).mean.shape == (0,)


def test_extreme_arguments_never_give_nan_or_a_warning() -> None:
    ends = np.array([-INF, -1e300, -1e160, -1e20, -50.0, -1e-300, 0.0, 1e-300, 2.0, 50.0, 1e20, 1e160, 1e300, INF])
    for low, high in itertools.combinations(ends, 2):
        got = truncated_normal(low, high)
        assert not np.isnan(got).any()
        assert got.variance >= 0.0
        assert low <= got.mean <= high
        assert not np.isnan(log_ndtr_between(low, high))


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (INF, INF), (np.nan, 1.0)])
def test_an_empty_interval_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="positive width"):
        truncated_normal(*ends)
