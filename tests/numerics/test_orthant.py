"""Orthant probabilities against mpmath (the conditional form, not the one the code integrates) and against laws."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from gainful.errors import InvalidInput
from gainful.numerics import orthant
from gainful.numerics.orthant import bvn_cdf, log_any_above, log_bvn_cdf, log_mvn_cdf

INF = np.inf
LEVELS = (-40.0, -11.0, -2.9, 0.0, 3.1)
CORRELATIONS = (-0.999, -0.7, 0.0, 0.3, 0.95, 0.999)


@pytest.fixture(autouse=True)
def _digits_and_no_warnings() -> Iterator[None]:
    with mp.workdps(60), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def cdf(z: mp.mpf) -> mp.mpf:
    return mp.erfc(-z / mp.sqrt(2)) / 2


def one_factor(b: Sequence[float], loading: Sequence[float], top: float = INF) -> mp.mpf:
    """log ∫_{−∞}^{top} φ(t) Π_j Φ((b_j − l_j t) / √(1 − l_j²)) dt: levels b, correlations l_i l_j (60 digits)."""
    levels, loads = [mp.mpf(float(x)) for x in b], [mp.mpf(float(x)) for x in loading]
    roots = [mp.sqrt(1 - x * x) for x in loads]
    level, load, root = np.array(b), np.array(loading), np.array([float(x) for x in roots])

    def rough(t: NDArray[np.float64]) -> NDArray[np.float64]:
        value: NDArray[np.float64] = -t * t / 2 + np.sum(log_ndtr((level - load * t[:, None]) / root), axis=1)
        return value

    low, high = -1500.0, min(top, 1500.0)
    for _ in range(8):  # doubles only say where to look
        t = np.linspace(low, high, 2001)
        inside = np.flatnonzero(rough(t) >= rough(t).max() - 80.0)
        low, high = t[max(inside[0] - 1, 0)], t[min(inside[-1] + 1, 2000)]
    peak = mp.mpf(float(t[np.argmax(rough(t))]))
    turns = [
        x / y + width * r / abs(y)
        for x, y, r in zip(levels, loads, roots, strict=True)
        if y != 0
        for width in (-9, -3, 0, 3, 9)
    ]
    cuts = sorted({mp.mpf(low), *(x for x in turns if low < x < high), *(mp.mpf(x) for x in np.linspace(low, high, 9))})

    def integrand(t: mp.mpf) -> mp.mpf:
        return mp.npdf(t) * mp.fprod(cdf((x - y * t) / r) for x, y, r in zip(levels, loads, roots, strict=True))

    scale = integrand(peak)
    nodes = gauss_legendre()
    total = mp.mpf(0)
    for left, right in itertools.pairwise(cuts):
        half, middle = (right - left) / 2, (right + left) / 2
        total += half * mp.fsum(w * integrand(middle + half * x) / scale for x, w in nodes)
    return mp.log(scale) + mp.log(total)


def gauss_legendre(cache: list[tuple[mp.mpf, mp.mpf]] = []) -> list[tuple[mp.mpf, mp.mpf]]:  # noqa: B006
    if not cache:
        cache.extend(mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(4, 220))
    return cache


def error(got: object, want: mp.mpf) -> float:
    """The relative error of the probability, beyond what rounding its log to a double must cost."""
    return max(0.0, float(abs(mp.mpf(float(got)) - want)) - 8e-16 * float(abs(want)))  # type: ignore[arg-type]


def factor_covariance(loading: Sequence[float]) -> NDArray[np.float64]:
    cov = np.outer(loading, loading)
    np.fill_diagonal(cov, 1.0)
    return cov


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_bivariate_log_probability_is_exact_deep_in_the_tail(rho: float) -> None:
    for h, k in itertools.combinations_with_replacement(LEVELS, 2):
        exact = one_factor([k], [rho], top=h)
        assert error(log_bvn_cdf(h, k, rho), exact) < 1e-12, (h, k)
        assert abs(float(mp.mpf(float(bvn_cdf(h, k, rho))) - mp.exp(exact))) < 1e-15, (h, k)


@pytest.mark.parametrize("case", [(-3.0, -3.0 + 1e-5, 1 - 1e-9), (-2.0, 2.0 + 1e-6, -1 + 1e-10), (-26.0, -26.0, -0.1)])
def test_bivariate_log_probability_survives_correlations_next_to_one(case: tuple[float, float, float]) -> None:
    h, k, rho = case
    assert error(log_bvn_cdf(h, k, rho), one_factor([k], [rho], top=h)) < 1e-10


def test_bivariate_absolute_and_log_forms_agree_everywhere() -> None:
    rng = np.random.default_rng(0)
    h, k = 3.0 * rng.normal(size=(2, 4000))
    rho = np.tanh(2.0 * rng.normal(size=4000))
    quadrature = np.logaddexp(orthant._log_plackett(h, k, rho), orthant._log_overlap(h, k))
    np.testing.assert_allclose(np.exp(quadrature), bvn_cdf(h, k, rho), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(log_bvn_cdf(h, k, rho), quadrature, rtol=0.0, atol=1e-11)


def test_independent_levels_multiply() -> None:
    h, k = np.meshgrid([-40.0, -20.0, -3.0, -0.0, 2.0, INF], [-38.0, -1.0, 0.0, 5.0, INF, -INF])
    np.testing.assert_allclose(bvn_cdf(h, k, 0.0), ndtr(h) * ndtr(k), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(log_bvn_cdf(h, k, 0.0), log_ndtr(h) + log_ndtr(k), rtol=1e-14)


def test_perfect_correlation_is_the_lower_level_and_its_opposite_the_overlap() -> None:
    h, k = np.meshgrid([-30.0, -2.0, 0.0, 1.5, INF], [-30.0, -1.0, 0.0, 3.0, -INF])
    np.testing.assert_allclose(log_bvn_cdf(h, k, 1.0), log_ndtr(np.minimum(h, k)), rtol=1e-14)
    np.testing.assert_allclose(bvn_cdf(h, k, 1.0), ndtr(np.minimum(h, k)), atol=1e-15)
    np.testing.assert_allclose(bvn_cdf(h, k, -1.0), np.maximum(ndtr(h) - ndtr(-k), 0.0), atol=1e-15)
    assert log_bvn_cdf(-1.0, 1.0, -1.0) == -INF
    assert error(log_bvn_cdf(9.0, -8.0, -1.0), mp.log(cdf(mp.mpf(-8)) - cdf(mp.mpf(-9)))) < 1e-13


def test_centred_orthants_follow_sheppard() -> None:
    for a, b, c in ((0.3, -0.2, 0.5), (0.9, 0.8, 0.85), (-0.4, -0.3, -0.2), (0.99, 0.5, 0.48)):
        cov = np.array([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]])
        assert log_bvn_cdf(0.0, 0.0, a) == pytest.approx(np.log(0.25 + np.arcsin(a) / (2.0 * np.pi)), abs=1e-14)
        exact = np.log(0.125 + np.arcsin([a, b, c]).sum() / (4.0 * np.pi))
        assert log_mvn_cdf(np.zeros(3), cov) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(
    ("b", "loading"),
    [
        ([0.3, -0.5, 1.0], [0.7, 0.5, -0.6]),
        ([-1.0, -8.0, 2.0], [0.9, -0.9, 0.8]),
        ([1.2, 3.5, 3.9], [0.995, -0.995, -0.995]),
        ([-20.0, -21.0, -19.0], [0.9, 0.8, 0.7]),
        ([0.3, -0.5, 1.0, 2.0], [0.7, 0.5, -0.6, 0.9]),
        ([2.7, 2.8, 2.6, 2.5], [-0.995, 0.995, -0.995, 0.995]),
        ([-9.0, -12.0, -3.0, 5.0], [0.6, -0.4, 0.9, -0.9]),
        ([-30.0, -30.0, -30.0, -30.0], [0.8, 0.8, 0.8, 0.8]),
    ],
)
def test_three_and_four_levels_match_the_one_factor_integral(b: list[float], loading: list[float]) -> None:
    assert error(log_mvn_cdf(b, factor_covariance(loading)), one_factor(b, loading)) < 1e-10


def random_case(k: int, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(size, k, k + 2))
    return 2.0 * rng.normal(size=(size, k)), root @ root.swapaxes(1, 2)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_order_and_units_do_not_matter(k: int) -> None:
    b, cov = random_case(k, 4)
    order, units = np.random.default_rng(0).permutation(k), 10.0 ** np.arange(-2.0, k - 2.0)
    value = log_mvn_cdf(b, cov)
    np.testing.assert_allclose(log_mvn_cdf(b[:, order], cov[:, order][:, :, order]), value, rtol=1e-10)
    np.testing.assert_allclose(log_mvn_cdf(units * b, units[:, None] * cov * units), value, rtol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_an_infinite_level_drops_out_or_makes_it_impossible(k: int) -> None:
    b, cov = random_case(k, 3)
    b[:, 0] = INF
    np.testing.assert_allclose(log_mvn_cdf(b, cov), log_mvn_cdf(b[:, 1:], cov[:, 1:, 1:]), rtol=1e-10, atol=1e-14)
    b[:, 0] = -INF
    assert np.all(log_mvn_cdf(b, cov) == -INF)
    np.testing.assert_allclose(log_mvn_cdf(np.full(k, INF), cov), 0.0, atol=1e-13)


def test_unrelated_groups_multiply() -> None:
    b, cov = np.array([-7.0, 1.0, -2.0, 0.4]), np.zeros((4, 4))
    cov[:2, :2], cov[2:, 2:] = [[2.0, -0.9], [-0.9, 1.0]], [[1.0, 0.7], [0.7, 3.0]]
    product = log_mvn_cdf(b[:2], cov[:2, :2]) + log_mvn_cdf(b[2:], cov[2:, 2:])
    assert log_mvn_cdf(b, cov) == pytest.approx(product, abs=1e-11)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_all_below_and_any_above_are_complements(k: int) -> None:
    b, cov = random_case(k, 4)
    total = np.exp(log_mvn_cdf(b, cov)) + np.exp(log_any_above(b, cov))
    np.testing.assert_allclose(total, 1.0, rtol=1e-11)


def test_any_above_is_exact_when_it_is_rare() -> None:
    for h, k, rho in ((9.0, 10.0, 0.8), (30.0, 30.0, -0.5), (25.0, 26.0, 0.99)):
        both = mp.exp(one_factor([-k], [rho], top=-h))
        exact = mp.log(cdf(mp.mpf(-h)) + cdf(mp.mpf(-k)) - both)
        assert error(log_any_above([h, k], [[1.0, rho], [rho, 1.0]]), exact) < 1e-12
    rare = log_any_above(np.full(4, 20.0), factor_covariance([0.1] * 4))
    assert rare == pytest.approx(np.log(4.0) + log_ndtr(-20.0), abs=1e-12)


def test_shapes_broadcast_and_nothing_is_certain() -> None:
    b, cov = random_case(3, 5)
    assert log_mvn_cdf(b[:, None], cov).shape == (5, 5)
    np.testing.assert_allclose(log_mvn_cdf(b[:, None], cov)[2, 3], log_mvn_cdf(b[2], cov[3]), rtol=1e-12)
    np.testing.assert_array_equal(log_mvn_cdf(np.empty((5, 0)), np.empty((5, 0, 0))), np.zeros(5))
    np.testing.assert_array_equal(log_any_above(np.empty((5, 0)), np.empty((5, 0, 0))), np.full(5, -INF))
    assert log_mvn_cdf(np.empty((0, 3)), np.eye(3)).shape == (0,)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: log_mvn_cdf(np.zeros(5), np.eye(5)), "up to 4"),
    (lambda: log_any_above(np.zeros(5), np.eye(5)), "up to 4"),
    (lambda: log_mvn_cdf(np.zeros(2), np.eye(3)), "shape"),
    (lambda: log_mvn_cdf(np.zeros(3), np.ones((3, 3))), "positive definite"),
    (lambda: log_mvn_cdf(np.zeros(1), np.zeros((1, 1))), "positive definite"),
    (lambda: bvn_cdf(0.0, 0.0, 1.5), "from -1 to 1"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_cannot_be_computed_is_refused_in_words(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call()
