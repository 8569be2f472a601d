"""Laws that hold for any mixture of instruments, answers and places that Hypothesis can think of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import gainful as gf

# Some answers here contradict the model on purpose, which is said in a warning.
pytestmark = pytest.mark.filterwarnings("ignore:the readings contradict the model")

INF = np.inf
LAWS = settings(deadline=None, max_examples=40, derandomize=True)
X_NEW = np.array([[0.0, 0.0], [1.0, -2.0], [2.5, 0.5], [9.0, 9.0]])
PAIRS_NEW = np.array([[[0.0, 0.0], [1.0, -2.0]], [[2.5, 0.5], [0.25, 0.5]]])

# Sixteenths: adding or subtracting a power of two changes no digit of their differences.
sixteenths = st.integers(-48, 48).map(lambda i: i / 16.0)
place = st.tuples(sixteenths, sixteenths)
two_places = st.lists(place, min_size=2, max_size=2, unique=True).map(tuple)
noise = st.sampled_from([0.05, 0.3, 1.0])
careful, rates = st.just((0.0, 0.0)), st.sampled_from([(0.1, 0.0), (0.0, 0.05), (0.2, 0.1)])


class Asked(NamedTuple):
    """One observation in words that can be rescaled, mirrored and shifted."""

    kind: str
    places: tuple[tuple[float, float], ...]
    answer: Any
    noise: float
    rates: tuple[float, float]


interval = st.tuples(sixteenths, st.sampled_from([1e-3, 0.1, 1.0, INF]), st.booleans()).map(
    lambda t: (t[0], t[0] + t[1]) if t[2] else (t[0] - t[1], t[0])
)
number = st.builds(Asked, st.just("Point"), st.tuples(place), sixteenths, noise, careful)
between = st.builds(Asked, st.just("Interval"), st.tuples(place), interval, noise, careful)
rank = st.builds(Asked, st.just("Ordinal"), st.tuples(place), st.integers(1, 3), noise, careful)
yes = st.builds(Asked, st.just("Binary"), st.tuples(place), st.booleans(), noise, careful)
preferred = st.builds(Asked, st.just("Preference"), two_places, st.booleans(), noise, careful)
careless = st.builds(Asked, st.just("Binary"), st.tuples(place), st.booleans(), noise, rates)
heard = st.builds(Asked, st.just("Detection"), two_places, st.booleans(), noise, careful)

concave = st.lists(st.one_of(number, between, rank, yes, preferred), min_size=1, max_size=7)
anything = st.lists(st.one_of(number, between, rank, yes, preferred, careless, heard), min_size=1, max_size=7)
with_units = st.lists(st.one_of(number, between, rank, preferred), min_size=1, max_size=7)
one_place = st.lists(st.one_of(number, between, rank, yes, preferred, careless), min_size=1, max_size=7)
kernels = st.sampled_from(
    [
        gf.SE(1.0, 1.0),
        gf.SE((0.5, 2.0), 4.0),
        gf.Matern(0.7, 0.3, nu=0.5),
        gf.Matern(1.5, 9.0, nu=2.5),
        gf.RationalQuadratic(1.0, 1.0, 0.5),
        gf.SE(0.3, 1.0) + gf.Matern(3.0, 2.0, nu=1.5),
    ]
)


def instrument_of(one: Asked, c: float = 1.0) -> gf.Instrument:
    match one.kind:
        case "Point":
            return gf.Point(noise=one.noise * c)
        case "Interval":
            return gf.Interval(noise=one.noise * c)
        case "Ordinal":
            return gf.Ordinal(thresholds=[-0.5 * c, 0.5 * c], noise=one.noise * c)
        case "Preference":
            return gf.Preference(noise=one.noise * c)
        case "Binary":
            return gf.Binary(guess=one.rates[0], lapse=one.rates[1])
        case _:
            return gf.Detection()


def data_of(asked: list[Asked], c: float = 1.0, shift: float = 0.0) -> gf.Data:
    data = gf.Data()
    for one in asked:
        X = np.array(one.places) + shift
        answer = np.asarray(one.answer) * c if one.kind in ("Point", "Interval") else one.answer
        data = data.add(instrument_of(one, c), X if len(X) == 1 else X[None], [answer])
    return data


def believe(gp: gf.GP, asked: list[Asked], inference: Any = None, shift: float = 0.0) -> gf.Posterior:
    """The posterior, or no example.

    A careless or a joint yes is not log-concave, and EP may then have no fixed point with proper cavities: it says so.
    Nothing excuses the others.
    """
    try:
        return gp.condition(data_of(asked, shift=shift), inference)
    except gf.NumericalError:
        if any(one.kind == "Detection" or any(one.rates) for one in asked):
            reject()
        raise


def mirrored(one: Asked) -> Asked:
    """What would have been said of −f."""
    match one.kind:
        case "Point":
            return one._replace(answer=-one.answer)
        case "Interval":
            return one._replace(answer=(-one.answer[1], -one.answer[0]))
        case "Ordinal":
            return one._replace(answer=4 - one.answer)
        case _:
            return one._replace(answer=not one.answer, rates=one.rates[::-1])


def assert_finite(post: gf.Posterior) -> None:
    assert post.converged
    assert post.jitter == 0.0
    assert np.isfinite(post.log_evidence)
    assert np.all(np.isfinite(post.mean(X_NEW)))
    variance = post.variance(X_NEW)
    assert np.all(variance > 0.0)
    assert np.all(np.isfinite(variance))
    np.testing.assert_allclose(np.diagonal(post.covariance(X_NEW)), variance, rtol=1e-9)


@LAWS
@given(kernels, anything)
def test_any_mixture_of_answers_gives_a_finite_belief_and_predictions_that_sum_to_one(
    kernel: gf.Kernel, asked: list[Asked]
) -> None:
    post = believe(gf.GP(kernel, mean=gf.ConstantMean(0.3)), asked)
    assert_finite(post)
    look, ask = gf.Ordinal(thresholds=[-1.0, 0.0, 0.2], noise=0.1), gf.Binary(guess=0.1, lapse=0.02)
    for instrument, X in ((look, X_NEW), (ask, X_NEW), (gf.Preference(), PAIRS_NEW), (gf.Detection(), PAIRS_NEW)):
        p = post.answers(instrument, X).probabilities
        assert np.all((p >= 0.0) & (p <= 1.0))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-10)
    assert np.all(post.answers(ask, X_NEW).probability >= 0.1)


@LAWS
@given(kernels, concave)
def test_answers_with_log_concave_likelihoods_never_widen_a_belief(kernel: gf.Kernel, asked: list[Asked]) -> None:
    """Numbers, intervals, ranks, yes/no without guessing, preferences; a careless or a joint yes may widen it."""
    post = believe(gf.GP(kernel), asked)
    assert_finite(post)
    assert np.all(post.variance(X_NEW) <= kernel.diag(X_NEW) * (1.0 + 1e-12))
    less = post.without(0)
    assert np.all(post.sites.precision >= 0.0)
    assert np.all(less.variance(X_NEW) <= kernel.diag(X_NEW) * (1.0 + 1e-12))


def test_a_careless_answer_against_a_confident_belief_widens_it() -> None:
    """The exception that the law above leaves room for: P(yes | f) = 0.1 + 0.9 Φ(f), believed f ≈ −3 ± 1."""
    gp = gf.GP(gf.SE(), mean=gf.ConstantMean(-3.0))
    post = gp.condition(gf.Data().add(gf.Binary(guess=0.1), [[0.0]], [True]))
    assert post.variance([[0.0]])[0] > 1.0


@LAWS
@given(st.sampled_from([gf.EP(), gf.Laplace()]), kernels, anything, st.sampled_from([1.0, -4.0, 1024.0]))
def test_shifting_the_inputs_of_a_stationary_kernel_changes_nothing(
    inference: Any, kernel: gf.Kernel, asked: list[Asked], shift: float
) -> None:
    gp = gf.GP(kernel, mean=gf.ConstantMean(0.3))
    here, there = believe(gp, asked, inference), believe(gp, asked, inference, shift)
    assert there.log_evidence == pytest.approx(here.log_evidence, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(there.mean(X_NEW + shift), here.mean(X_NEW), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(there.variance(X_NEW + shift), here.variance(X_NEW), rtol=1e-8)


@LAWS
@given(
    st.sampled_from([gf.EP(), gf.Laplace()]),
    st.sampled_from([(gf.SE, 1.0), (gf.SE, 0.4), (gf.Matern, 1.0), (gf.RationalQuadratic, 2.0)]),
    with_units,
    st.sampled_from([1e-3, 0.5, 7.0, 1e3]),
)
def test_measuring_the_function_in_other_units_scales_the_belief(
    inference: Any, family: tuple[Any, float], asked: list[Asked], c: float
) -> None:
    make, lengthscale = family
    one = gf.GP(make(lengthscale, 2.0), mean=gf.ConstantMean(0.3)).condition(data_of(asked), inference)
    other = gf.GP(make(lengthscale, 2.0 * c**2), mean=gf.ConstantMean(0.3 * c)).condition(data_of(asked, c), inference)
    densities = sum(a.kind == "Point" for a in asked)
    assert other.log_evidence == pytest.approx(one.log_evidence - densities * np.log(c), rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(other.mean(X_NEW), c * one.mean(X_NEW), rtol=1e-7, atol=1e-8 * c)
    np.testing.assert_allclose(other.variance(X_NEW), c**2 * one.variance(X_NEW), rtol=1e-7)


@LAWS
@given(st.sampled_from([gf.EP(), gf.Laplace()]), kernels, one_place)
def test_what_is_said_of_the_mirrored_function_mirrors_the_belief(
    inference: Any, kernel: gf.Kernel, asked: list[Asked]
) -> None:
    here = believe(gf.GP(kernel, mean=gf.ConstantMean(0.3)), asked, inference)
    there = believe(gf.GP(kernel, mean=gf.ConstantMean(-0.3)), [mirrored(a) for a in asked], inference)
    assert there.log_evidence == pytest.approx(here.log_evidence, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(there.mean(X_NEW), -here.mean(X_NEW), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(there.variance(X_NEW), here.variance(X_NEW), rtol=1e-8)


@LAWS
@given(
    kernels, st.lists(number, min_size=0, max_size=6), st.one_of(number, between, rank, yes, preferred, careless, heard)
)
def test_after_numbers_the_evidence_of_one_more_answer_is_its_predicted_probability(
    kernel: gf.Kernel, numbers: list[Asked], one: Asked
) -> None:
    """p(answer | data) = p(data, answer)/p(data); a set's no is several answers and only then approximate."""
    if one.kind == "Detection":
        one = one._replace(answer=True)
    gp = gf.GP(kernel, mean=gf.ConstantMean(0.3))
    # A far and all but useless answer first: then predictions are made from data even when there are no numbers.
    data = gf.Data().add(gf.Point(noise=1.0), [[500.0, 500.0]], [0.3]).join(data_of(numbers))
    before, after = gp.condition(data), gp.condition(data.join(data_of([one])))
    X = np.array(one.places) if len(one.places) == 1 else np.array(one.places)[None]
    if one.kind == "Interval" and np.isinf(one.answer).any():
        finite = [e for e in one.answer if np.isfinite(e)]
        # Above or below a threshold: one of two ranks.
        step = gf.Ordinal(thresholds=finite, noise=one.noise)
        log_p = before.answers(step, X).log_prob([1 if np.isneginf(one.answer[0]) else 2])[0]
    elif one.kind == "Interval":
        width = one.answer[1] - one.answer[0]
        log_p = before.answers(gf.Interval(noise=one.noise, width=width), X).log_prob([one.answer])[0] + np.log(width)
    else:
        log_p = before.answers(instrument_of(one), X).log_prob([one.answer])[0]
    assert after.log_evidence - before.log_evidence == pytest.approx(log_p, rel=1e-8, abs=1e-8)


@LAWS
@given(kernels, anything, st.randoms(use_true_random=False))
def test_the_order_of_any_mixture_does_not_matter(kernel: gf.Kernel, asked: list[Asked], random: Any) -> None:
    turned = list(asked)
    random.shuffle(turned)
    gp = gf.GP(kernel)
    one, other = believe(gp, asked), believe(gp, turned)
    assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(other.mean(X_NEW), one.mean(X_NEW), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(other.variance(X_NEW), one.variance(X_NEW), rtol=1e-6)
