"""Repeated places, extreme scales, no noise, contradictions: the right answer or a GainfulError, never a silent NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import oracles
import pytest
from oracles import Seen

import gainful as gf

# Some answers here contradict the model on purpose, which is said in a warning.
pytestmark = pytest.mark.filterwarnings("ignore:the readings contradict the model")

INF = np.inf


def assert_regression(
    post: gf.Posterior, truth: tuple[Any, list[Any], list[Any]], X_new: np.ndarray, in_mean: float = 1e-6
) -> None:
    """Evidence and variances to 1e-8 relative; means to `in_mean` posterior standard deviations and to rounding."""
    log_z, means, variances = truth
    assert abs(post.log_evidence - log_z) <= 1e-8 * max(1.0, abs(log_z))
    for mean, variance, m, v in zip(post.mean(X_new), post.variance(X_new), means, variances, strict=True):
        assert abs(variance - v) <= 1e-8 * v
        assert abs(mean - m) <= in_mean * np.sqrt(float(v)) + 1e-13


# ----------------------------------------------------------------------------------------------- repeated places


@pytest.mark.parametrize(
    ("noise", "y"),
    [
        ((0.1, 0.1, 0.1), (0.7, 0.9, -0.2)),
        ((0.1, 1e-8, 0.1), (0.7, 0.9, -0.2)),
        ((1e-8, 0.1, 0.1), (0.7, 0.9, -0.2)),
        ((1e-6, 1e-6, 0.1), (0.7, 0.7 + 1e-6, -0.2)),
        ((1e-6, 1e-6, 1e-6), (0.7, 0.7 + 2e-6, -0.2)),
        ((1e-4, 0.1, 0.0), (0.7, 0.9, -0.2)),
    ],
    ids=str,
)
def test_answers_at_the_same_place_are_averaged_by_their_precision(noise: tuple, y: tuple) -> None:
    X, X_new = np.array([[0.0], [0.0], [1.0]]), np.array([[0.0], [0.5], [3.0]])
    data = gf.Data()
    for place, answer, sd in zip(X, y, noise, strict=True):
        data = data.add(gf.Point(noise=sd), place[None], [answer])
    truth = oracles.exact_regression(oracles.mp_se(0.8), X, y, noise, X_new)
    post = gf.GP(gf.SE(0.8)).condition(data)
    assert post.jitter == 0.0
    # Two precise answers that differ pull with forces of 1/noise that all but cancel, so their sum is rounded.
    assert_regression(post, truth, X_new, in_mean=1e-3 if noise[0] == noise[1] == 1e-6 else 1e-6)


def test_two_answers_at_one_place_as_precise_as_double_precision_allows_are_both_respected() -> None:
    """noise² is eps of the prior variance: evidence and variance keep digits, the mean stays between the answers."""
    X, y, noise = np.array([[0.0], [0.0]]), np.array([0.7, 0.7 + 2e-8]), np.full(2, 1e-8)
    log_z, _, variance = oracles.exact_regression(oracles.mp_se(0.8), X, y, noise, X[:1])
    post = gf.GP(gf.SE(0.8)).condition(gf.Data().add(gf.Point(noise=1e-8), X, y))
    assert post.log_evidence == pytest.approx(float(log_z), rel=1e-6)
    assert post.variance(X[:1])[0] == pytest.approx(float(variance[0]), rel=1e-6)
    assert 0.7 - 1e-8 <= post.mean(X[:1])[0] <= 0.7 + 3e-8


def test_a_hundred_answers_at_one_place_are_one_answer_of_a_tenth_of_the_noise() -> None:
    rng = np.random.default_rng(0)
    y = 0.4 + 0.1 * rng.normal(size=100)
    gp, X_new = gf.GP(gf.SE(0.8)), np.array([[0.3], [0.9]])
    many = gp.condition(gf.Data().add(gf.Point(noise=0.1), np.full((100, 1), 0.3), y))
    one = gp.condition(gf.Data().add(gf.Point(noise=0.01), [[0.3]], [y.mean()]))
    np.testing.assert_allclose(many.mean(X_new), one.mean(X_new), rtol=1e-10)
    np.testing.assert_allclose(many.variance(X_new), one.variance(X_new), rtol=1e-9)


SIX = [
    Seen(gf.Binary(), True, (0,)),
    Seen(gf.Binary(), False, (0,)),
    Seen(gf.Interval(noise=0.2), (-0.3, 0.4), (0,)),
    Seen(gf.Interval(noise=0.2), (0.0, INF), (0,)),
    Seen(gf.Ordinal(thresholds=[0.0, 1.0], noise=0.3), 2, (0,)),
    Seen(gf.Point(noise=0.5), 0.6, (0,)),
]


def six_answers(X: np.ndarray) -> gf.Data:
    """The six answers, each at its row of X (6, 1)."""
    data = gf.Data()
    for place, one in zip(X, SIX, strict=True):
        data = data.add(one.instrument, place[None], [one.answer])
    return data


def mode_of_six(v: float) -> tuple[float, float, float]:
    """Laplace's evidence, mean and variance for one number f ~ N(0, v) that all six saw: a parabola at the mode."""

    def objective(f: np.ndarray) -> np.ndarray:
        likelihood = sum(oracles.log_likelihood(one.instrument, one.answer, f[:, None]) for one in SIX)
        return likelihood - 0.5 * f**2 / v

    low, high = -3.0, 3.0
    while high - low > 1e-6:
        grid = np.linspace(low, high, 101)
        top, step = grid[np.argmax(objective(grid))], grid[1] - grid[0]
        low, high = top - step, top + step
    h = 1e-3
    before, at, after = objective(np.array([top - h, top, top + h]))
    curvature = (2.0 * at - before - after) / h**2
    mode = top + 0.5 * h * (after - before) / (2.0 * at - before - after)
    return float(at - 0.5 * np.log(v * curvature)), float(mode), float(1.0 / curvature)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_answers_of_every_kind_at_one_place_are_answers_about_one_number(inference: object) -> None:
    """f(0) ~ N(0, 2) was seen by all six, and f(0.7) hears of them through f(0) alone."""
    post = gf.GP(gf.SE(1.0, 2.0)).condition(six_answers(np.zeros((6, 1))), inference)
    if isinstance(inference, gf.EP):
        textbook = oracles.textbook_ep(SIX, np.zeros(1), np.array([[2.0]]))
        log_z, mean, variance = textbook.log_z, textbook.mean[0], textbook.variance[0, 0]
    else:
        log_z, mean, variance = mode_of_six(2.0)
    assert post.converged
    share = np.exp(-0.5 * 0.7**2)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-6)
    np.testing.assert_allclose(post.mean([[0.0], [0.7]]), [mean, share * mean], rtol=1e-5)
    beyond = 2.0 * (1.0 - share**2)
    np.testing.assert_allclose(post.variance([[0.0], [0.7]]), [variance, beyond + share**2 * variance], rtol=1e-5)


@pytest.mark.parametrize("apart", [1e-12, 1e-9])
@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_answers_of_every_kind_at_all_but_one_place_are_answers_at_one_place(apart: float, inference: object) -> None:
    """All see one number f(x): the truth is one-dimensional, and repeated places must not be told from near ones."""
    gp = gf.GP(gf.SE(1.0, 2.0))
    post = gp.condition(six_answers(apart * np.arange(6)[:, None]), inference)
    assert post.converged
    same = gp.condition(six_answers(np.zeros((6, 1))), inference)
    x = [[0.0], [0.7]]
    assert post.log_evidence == pytest.approx(same.log_evidence, rel=1e-8)
    np.testing.assert_allclose(post.mean(x), same.mean(x), rtol=1e-7)
    np.testing.assert_allclose(post.variance(x), same.variance(x), rtol=1e-7)


def test_ep_at_one_repeated_place_is_close_to_integration() -> None:
    seen = [
        Seen(gf.Binary(), True, (0,)),
        Seen(gf.Interval(noise=0.2), (-0.3, 0.4), (0,)),
        Seen(gf.Ordinal(thresholds=[0.0, 1.0], noise=0.3), 2, (0,)),
    ]
    truth = oracles.grid_moments(seen, np.zeros(1), np.array([[2.0]]), spacing=0.02)
    data = gf.Data()
    for one in seen:
        data = data.add(one.instrument, [[0.0]], [one.answer])
    post = gf.GP(gf.SE(1.0, 2.0)).condition(data)
    textbook = oracles.textbook_ep(seen, np.zeros(1), np.array([[2.0]]))
    assert post.log_evidence == pytest.approx(textbook.log_z, rel=1e-9)
    np.testing.assert_allclose(post.mean([[0.0]]), textbook.mean, rtol=1e-9)
    np.testing.assert_allclose(post.variance([[0.0]]), textbook.variance[0], rtol=1e-9)
    assert post.log_evidence == pytest.approx(truth.log_z, abs=5e-3)
    assert post.mean([[0.0]])[0] == pytest.approx(truth.mean[0], abs=0.02 * np.sqrt(truth.variance[0, 0]))


def test_nearly_collinear_places_are_no_harder_than_collinear_ones() -> None:
    """Ten places on a line through three dimensions, then moved by 1e-9, under a kernel of rank three plus noise."""
    rng = np.random.default_rng(1)
    along = rng.normal(size=(6, 1)) * np.array([[1.0, -2.0, 0.5]])
    X = along + 1e-9 * rng.normal(size=(6, 3))
    y, X_new = rng.normal(size=6), rng.normal(size=(3, 3))

    def linear(x: Any, z: Any) -> Any:
        return sum(a * b for a, b in zip(x, z, strict=True))

    truth = oracles.exact_regression(linear, X, y, np.full(6, 0.1), X_new)
    assert_regression(gf.GP(gf.Linear()).condition(gf.Data().add(gf.Point(noise=0.1), X, y)), truth, X_new)
    smooth = oracles.exact_regression(oracles.mp_se(3.0), X, y, np.full(6, 1e-3), X_new)
    assert_regression(gf.GP(gf.SE(3.0)).condition(gf.Data().add(gf.Point(noise=1e-3), X, y)), smooth, X_new)


@pytest.mark.parametrize("noise", [1e-8, 1e-4, 0.1])
def test_the_variance_at_a_precisely_measured_place_is_right_relative_to_itself_whatever_else_was_asked(
    noise: float,
) -> None:
    """Var = v noise²/(v + noise²): the other answers are too far away to matter (k < 1e-30)."""
    wanted = 2.0 * noise**2 / (2.0 + noise**2)
    lab = gf.Data().add(gf.Point(noise=noise), [[0.0]], [0.3])
    far = np.array([[50.0], [60.0]])
    others = {
        "nothing": lab,
        "yes": lab.add(gf.Binary(), far[:1], [True]),
        "set": lab.add(gf.Detection(), far[None], [True]),
        "pair": lab.add(gf.Preference(), far[None], [True]),
    }
    found = {name: gf.GP(gf.SE(1.0, 2.0)).condition(data).variance([[0.0]])[0] for name, data in others.items()}
    assert found == {name: pytest.approx(wanted, rel=1e-8) for name in others}


@pytest.mark.parametrize("noise", [1e-8, 1e-4, 0.1])
def test_the_diagonal_of_the_covariance_is_the_variance(noise: float) -> None:
    post = gf.GP(gf.SE(1.0, 2.0)).condition(gf.Data().add(gf.Point(noise=noise), [[0.0], [1.0]], [0.3, 0.5]))
    x = [[0.0], [0.5], [1.0]]
    np.testing.assert_allclose(
        np.diagonal(post.covariance(x)), post.variance(x), rtol=1e-8, atol=1e-14
    )  # of the prior's 2


# ------------------------------------------------------------------------------------------------------ no noise


def test_answers_without_noise_are_interpolated() -> None:
    X, y, X_new = np.array([[0.0], [0.8], [2.0]]), np.array([0.3, -0.5, 0.9]), np.array([[0.4], [1.5], [9.0]])
    post = gf.GP(gf.SE(0.7)).condition(gf.Data().add(gf.Point(noise=0.0), X, y))
    assert post.jitter == 0.0
    np.testing.assert_allclose(post.mean(X), y, rtol=1e-13)
    np.testing.assert_array_equal(post.variance(X), 0.0)
    assert_regression(post, oracles.exact_regression(oracles.mp_se(0.7), X, y, np.zeros(3), X_new), X_new)


def test_no_noise_is_the_limit_of_little_noise() -> None:
    X, X_new = np.array([[0.0], [0.8], [2.0]]), np.array([[0.4], [1.5]])
    mixed = gf.Data().add(gf.Interval(noise=0.2), [[3.0], [4.0]], [(0.0, 1.0), (-INF, 0.0)])
    none = gf.GP(gf.SE(0.7)).condition(mixed.add(gf.Point(noise=0.0), X, [0.3, -0.5, 0.9]))
    little = gf.GP(gf.SE(0.7)).condition(mixed.add(gf.Point(noise=1e-9), X, [0.3, -0.5, 0.9]))
    assert none.log_evidence == pytest.approx(little.log_evidence, rel=1e-9)
    np.testing.assert_allclose(none.mean(X_new), little.mean(X_new), rtol=1e-9)
    np.testing.assert_allclose(none.variance(X_new), little.variance(X_new), rtol=1e-9)


def test_a_repeated_answer_without_noise_reports_its_jitter() -> None:
    data = gf.Data().add(gf.Point(noise=0.0), [[0.0], [0.0], [1.0]], [0.7, 0.7, 0.2])
    with pytest.warns(gf.JitterWarning, match="diagonal"):
        post = gf.GP(gf.SE()).condition(data)
    assert 0.0 < post.jitter <= 1e-8
    np.testing.assert_allclose(post.mean([[0.0], [1.0]]), [0.7, 0.2], rtol=1e-6)


def test_jitter_is_reported_when_places_are_too_close_for_double_precision() -> None:
    X = np.linspace(0.0, 1.0, 40)[:, None]
    data = gf.Data().add(gf.Point(noise=0.0), X, np.sin(X[:, 0]))
    with pytest.warns(gf.JitterWarning):
        post = gf.GP(gf.SE(1.0)).condition(data)
    assert post.jitter > 0.0
    assert np.all(np.isfinite(post.mean(X)))
    assert np.all(post.variance(np.vstack([X, X + 0.01])) >= 0.0)


def test_the_evidence_and_its_gradient_report_jitter_as_conditioning_does() -> None:
    X = np.linspace(0.0, 1.0, 40)[:, None]
    data = gf.Data().add(gf.Point(noise=0.0), X, np.sin(X[:, 0]))
    with pytest.warns(gf.JitterWarning):
        gf.GP(gf.SE(1.0)).log_evidence_and_gradient(data)


def test_the_evidence_and_its_gradient_report_an_iteration_that_fell_short_as_conditioning_does() -> None:
    X = np.linspace(0.0, 1.0, 20)[:, None]
    data = gf.Data().add(gf.Binary(), X, np.sin(9.0 * X[:, 0]) > 0.0)
    short = gf.EP(max_iterations=2)
    with pytest.warns(gf.ConvergenceWarning):
        post = gf.GP(gf.SE(0.3, 10.0)).condition(data, short)
    assert not post.converged
    with pytest.warns(gf.ConvergenceWarning):
        gf.GP(gf.SE(0.3, 10.0)).log_evidence_and_gradient(data, short)


# -------------------------------------------------------------------------------- values that are known for sure


def test_a_question_about_a_value_that_is_already_certain_only_multiplies_the_evidence() -> None:
    """f(0) = 0.7 was measured without noise; P(yes | f) = Φ(0.7)."""
    known = gf.Data().add(gf.Point(noise=0.0), [[0.0]], [0.7])
    gp = gf.GP(gf.SE())
    before = gp.condition(known)
    asked = {
        "yes": (gf.Binary(), [[0.0]], [True]),
        "interval": (gf.Interval(noise=0.3), [[0.0]], [(0.0, 1.0)]),
        "set": (gf.Detection(), [[[0.0], [0.0]]], [True]),
    }
    for instrument, X, answer in asked.values():
        after = gp.condition(known.add(instrument, X, answer))
        values = np.full((1, 2 if instrument.query == "set" else 1), 0.7)
        log_p = oracles.log_likelihood(instrument, answer[0], values)[0]
        assert after.converged
        assert after.log_evidence == pytest.approx(before.log_evidence + log_p, rel=1e-9)
        np.testing.assert_allclose(after.mean([[0.0], [0.5]]), before.mean([[0.0], [0.5]]), rtol=1e-9)
        np.testing.assert_allclose(after.variance([[0.5]]), before.variance([[0.5]]), rtol=1e-9)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_a_linear_function_through_the_origin_is_certain_there(inference: object) -> None:
    """f(0) is the prior mean: asking there changes the evidence by log Φ(mean), and nothing else."""
    gp = gf.GP(gf.Linear(2.0), mean=gf.ConstantMean(0.4))
    elsewhere = gf.Data().add(gf.Binary(), [[1.0], [-0.5]], [True, False])
    before = gp.condition(elsewhere, inference)
    after = gp.condition(elsewhere.add(gf.Binary(), [[0.0]], [True]), inference)
    log_p = float(oracles.line_moments(gf.Binary(), True, 0.4, 1e-20).log_z)
    assert after.converged
    assert after.log_evidence == pytest.approx(before.log_evidence + log_p, rel=1e-9)
    np.testing.assert_allclose(after.mean([[1.0]]), before.mean([[1.0]]), rtol=1e-8)


def test_a_hard_interval_around_a_certain_value_changes_nothing() -> None:
    gp = gf.GP(gf.Linear())
    data = gf.Data().add(gf.Interval(noise=0.0), [[1.0]], [(0.0, 1.0)])
    before, after = gp.condition(data), gp.condition(data.add(gf.Interval(noise=0.0), [[0.0]], [(-1.0, 1.0)]))
    assert after.log_evidence == pytest.approx(before.log_evidence, rel=1e-9)
    np.testing.assert_allclose(after.mean([[1.0]]), before.mean([[1.0]]), rtol=1e-9)


# ------------------------------------------------------------------------------------------------ contradictions


CONTRADICTIONS = {
    "two values at one place": gf.Data().add(gf.Point(noise=0.0), [[0.0], [0.0]], [0.7, 0.8]),
    "disjoint hard intervals": gf.Data().add(gf.Interval(noise=0.0), [[0.0], [0.0]], [(0.0, 1.0), (2.0, 3.0)]),
    "a value outside a hard interval": gf.Data()
    .add(gf.Point(noise=0.0), [[0.0]], [0.7])
    .add(gf.Interval(noise=0.0), [[0.0]], [(1.0, 2.0)]),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_answers_that_cannot_all_be_true_are_never_accepted_in_silence(name: str) -> None:
    with pytest.raises((gf.GainfulError, gf.GainfulWarning)):
        gf.GP(gf.SE()).condition(CONTRADICTIONS[name])


ABSURD = [
    (1e8, "number", None),
    (1e8, "interval", None),
    (1e8, "open end", gf.NumericalError),  # a hard edge 1e8 prior standard deviations away
    (1e100, "number", None),
    (1e100, "interval", gf.InvalidInput),  # its upper end is beyond 1e100
    (1e100, "open end", None),
    *((1e200, kind, gf.InvalidInput) for kind in ("number", "interval", "open end")),
]


@pytest.mark.parametrize(("size", "kind", "refusal"), ABSURD)
def test_answers_of_absurd_size_give_an_error_or_a_number_but_never_nan(
    size: float, kind: str, refusal: type[Exception] | None
) -> None:
    """log p(size) is about −size²/2, which is −inf in double precision from 1e154 on."""
    instrument, answer = {
        "number": (gf.Point(noise=0.1), size),
        "interval": (gf.Interval(noise=0.1), (size, 2.0 * size)),
        "open end": (gf.Interval(noise=0.0), (-INF, -size)),
    }[kind]
    if refusal is not None:
        with pytest.raises(refusal):
            gf.GP(gf.SE()).condition(gf.Data().add(instrument, [[0.0]], [answer]))
        return
    post = gf.GP(gf.SE()).condition(gf.Data().add(instrument, [[0.0]], [answer]))
    assert post.log_evidence < -0.4 * size**1.9
    assert np.all(np.isfinite(post.mean([[0.0], [1.0]])))
    assert np.all(post.variance([[0.0], [1.0]]) >= 0.0)


# ------------------------------------------------------------------------------------------------ extreme scales


def mixture(X: np.ndarray, c: float = 1.0) -> gf.Data:
    """Every kind of answer that has a unit, in units where f is c times as large."""
    return (
        gf.Data()
        .add(gf.Point(noise=0.2 * c), X[:2], np.array([0.4, -0.3]) * c)
        .add(gf.Interval(noise=0.1 * c), X[2:5], np.array([(0.0, 0.5), (-INF, 0.2), (-0.6, -0.5)]) * c)
        .add(gf.Ordinal(thresholds=np.array([-0.5, 0.5]) * c, noise=0.2 * c), X[5:7], [2, 3])
        .add(gf.Preference(noise=0.3 * c), X[:4].reshape(2, 2, -1), [True, False])
    )


def unitless(X: np.ndarray) -> gf.Data:
    """Yes/no answers, for which f has no unit."""
    return (
        gf.Data().add(gf.Binary(guess=0.05, lapse=0.02), X[:2], [True, False]).add(gf.Detection(), X[None, 2:4], [True])
    )


PLACES = np.round(64.0 * np.random.default_rng(3).uniform(-1.5, 1.5, size=(9, 2))) / 64.0
KERNELS = {
    "SE": lambda s: gf.SE(0.75 * s),
    "Matern": lambda s: gf.Matern((0.75 * s, 1.5 * s), nu=1.5),
    "RationalQuadratic": lambda s: gf.RationalQuadratic(0.75 * s),
    "Periodic": lambda s: gf.Periodic(0.75, 2.0 * s),
}


@pytest.mark.parametrize("scale", [1e6, 1e-6])
@pytest.mark.parametrize("name", KERNELS)
def test_the_unit_of_the_inputs_does_not_matter(name: str, scale: float) -> None:
    data = mixture(PLACES).join(unitless(PLACES[5:]))
    scaled = mixture(PLACES * scale).join(unitless(PLACES[5:] * scale))
    one, other = gf.GP(KERNELS[name](1.0)).condition(data), gf.GP(KERNELS[name](scale)).condition(scaled)
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-9)
    np.testing.assert_allclose(other.mean(PLACES * scale), one.mean(PLACES), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(other.variance(PLACES * scale), one.variance(PLACES), rtol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_an_offset_of_a_million_does_not_matter_to_stationary_kernels(name: str) -> None:
    """Places are multiples of 1/64, so shifting by 2²⁰ changes no difference between them."""
    shift = 2.0**20
    data = mixture(PLACES).join(unitless(PLACES[5:]))
    shifted = mixture(PLACES + shift).join(unitless(PLACES[5:] + shift))
    gp = gf.GP(KERNELS[name](1.0))
    one, other = gp.condition(data), gp.condition(shifted)
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-9)
    np.testing.assert_allclose(other.mean(PLACES + shift), one.mean(PLACES), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(other.variance(PLACES + shift), one.variance(PLACES), rtol=1e-8)
    gradients = [gp.log_evidence_and_gradient(d)[1] for d in (data, shifted)]
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("c", [1e3, 1e-3, 1e6])
def test_the_unit_of_the_function_does_not_matter(c: float) -> None:
    """Only the density of the two numbers has a unit: log evidence falls by 2 log c."""
    one = gf.GP(gf.SE(0.75, 1.0), mean=gf.ConstantMean(0.2)).condition(mixture(PLACES))
    other = gf.GP(gf.SE(0.75, c**2), mean=gf.ConstantMean(0.2 * c)).condition(mixture(PLACES, c))
    assert other.log_evidence == pytest.approx(one.log_evidence - 2.0 * np.log(c), rel=1e-9)
    np.testing.assert_allclose(other.mean(PLACES), c * one.mean(PLACES), rtol=1e-8)
    np.testing.assert_allclose(other.variance(PLACES), c**2 * one.variance(PLACES), rtol=1e-8)


@pytest.mark.parametrize("variance", [1e6, 1e-6])
def test_ep_reaches_its_fixed_point_at_extreme_signal_variances(variance: float) -> None:
    places = np.array([[0.0], [0.6], [1.5]])
    seen = [
        Seen(gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.3), 3, (0,)),
        Seen(gf.Binary(), False, (1,)),
        Seen(gf.Interval(noise=0.1), (-INF, 1.0), (2,)),
    ]
    kernel = gf.SE(1.0, variance)
    data = gf.Data()
    for one in seen:
        data = data.add(one.instrument, places[list(one.values)], [one.answer])
    post = gf.GP(kernel).condition(data)
    truth = oracles.textbook_ep(seen, np.zeros(3), kernel(places))
    assert post.converged
    sd = np.sqrt(np.diagonal(truth.variance))
    assert post.log_evidence == pytest.approx(truth.log_z, rel=1e-6)
    assert np.max(np.abs(post.mean(places) - truth.mean) / sd) < 1e-5
    np.testing.assert_allclose(post.variance(places), sd**2, rtol=1e-5)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
@pytest.mark.parametrize("variance", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["Binary", "careless", "Ordinal", "Interval", "Preference", "Detection"])
def test_many_answers_at_any_signal_variance_give_a_finite_belief(
    kind: str, variance: float, inference: object
) -> None:
    X = np.linspace(0.0, 1.0, 24)[:, None]
    f = np.sin(5.0 * X[:, 0])
    answered = {
        "Binary": (gf.Binary(), X, f > 0.0),
        "careless": (gf.Binary(guess=0.2, lapse=0.1), X, np.arange(24) % 3 == 0),
        "Ordinal": (gf.Ordinal(thresholds=[-0.5, 0.5], noise=0.1), X, 1 + (f > -0.5) + (f > 0.5)),
        "Interval": (gf.Interval(noise=0.05), X, np.column_stack([f - 0.1, f + 0.2])),
        "Preference": (gf.Preference(), X.reshape(12, 2, 1), f[::2] > f[1::2]),
        "Detection": (gf.Detection(), X.reshape(12, 2, 1), f[::2] > 0.0),
    }[kind]
    post = gf.GP(gf.SE(0.2, variance)).condition(gf.Data().add(*answered), inference)
    assert post.converged
    X_new = np.vstack([X, [[0.512], [3.0]]])
    assert post.log_evidence < (40.0 if kind == "Interval" else 0.0)
    assert np.all(np.isfinite(post.mean(X_new)))
    assert np.all(post.variance(X_new) > 0.0)
    C = post.covariance(X_new)
    assert np.linalg.eigvalsh(C)[0] > -1e-9 * variance


def test_nothing_but_gainful_speaks_up_when_the_scales_are_extreme() -> None:
    """NumPy's own warnings (overflow, division by zero) never reach the user."""
    X = np.linspace(0.0, 1.0, 20)[:, None]
    f = np.sin(5.0 * X[:, 0])
    data = gf.Data().add(gf.Detection(), X.reshape(10, 2, 1), f[::2] > 0.0).add(gf.Binary(), X, f > 0.0)
    for variance in (1e-12, 1e12):
        for inference in (gf.EP(), gf.Laplace()):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                post = gf.GP(gf.SE(0.2, variance)).condition(data, inference)
            assert np.isfinite(post.log_evidence)
            assert [w for w in heard if not issubclass(w.category, gf.GainfulWarning)] == []


@pytest.mark.parametrize(("n", "lengthscale", "seed"), [(150, 1.5, 0), (80, 5.0, 2), (100, 2.0, 2), (80, 2.5, 1)])
def test_answers_that_are_all_alike_do_not_send_accelerated_steps_in_circles(
    n: int, lengthscale: float, seed: int
) -> None:
    X = np.random.default_rng(seed).uniform(0, 1, (n, 1))
    data, gp = gf.Data().add(gf.Binary(), X, np.ones(n)), gf.GP(gf.SE(lengthscale, 100.0))
    found, plain = gp.condition(data), gp.condition(data, inference=gf.EP(memory=0))
    assert found.converged
    assert found.log_evidence == pytest.approx(plain.log_evidence, abs=1e-8)


@pytest.mark.parametrize("more", [[[0.9], [1.5]], [[0.9], [1.5], [2.2]]], ids=["two places", "three places"])
def test_a_set_may_hold_a_place_that_is_known_exactly(more: list[list[float]]) -> None:
    """The covariance of a known place is zero up to rounding, which may be negative."""
    gp = gf.GP(gf.SE(0.7, 5.0))
    data = gf.Data().add(gf.Point(0.0), [[0.1]], [1.0]).add(gf.Detection(), [[[0.1], [0.4]]], [True])
    post = gp.condition(data.add(gf.Detection(), [more], [True]))
    assert post.converged
    assert post.mean([[0.1]])[0] == pytest.approx(1.0)


def test_a_place_repeated_without_noise_is_always_reported() -> None:
    """A pivot that is rounding and positive by chance is no pivot, whether answers come at once or in turn."""
    gp, lab = gf.GP(gf.Matern(0.5, nu=1.5)), gf.Point(0.0)
    for seed in range(40):
        X = np.random.default_rng(seed).uniform(0, 1, (8, 1))
        X[7] = X[2]
        y = np.sin(2 * X[:, 0])
        with pytest.warns(gf.JitterWarning):
            assert gp.condition(gf.Data().add(lab, X, y)).jitter > 0.0
        first = gp.condition(gf.Data().add(lab, X[:7], y[:7]))
        with pytest.warns(gf.JitterWarning):
            assert first.condition(gf.Data().add(lab, X[7:], y[7:])).jitter > 0.0
