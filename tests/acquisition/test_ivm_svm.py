"""The informative vector machine against ADF by hand, and the SVM against geometry that can be worked out."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition.published.ivm import IVM, entropy_decrease
from gainful.acquisition.published.svm import ActiveSVM
from gainful.testing import check_acquisition

X = np.array([[0.0], [0.15], [0.4], [0.85], [1.6]])
PAIRS = np.stack([X[:-1], X[1:]], axis=1)


@pytest.fixture(scope="module")
def post():
    data = gf.Data().add(gf.Binary(), [[0.1], [0.5], [0.8], [0.85]], [False, False, True, True])
    return gf.GP(gf.SE(0.3, 2.0)).condition(data)


def _tilted(post, places, likelihood, nodes=401):
    """Covariance of f(places) after one more answer, by integration; and the answer's probability."""
    z = np.linspace(-9, 9, nodes)
    root = np.linalg.cholesky(post.covariance(places))
    grid = np.stack(np.meshgrid(*[z] * len(places), indexing="ij"), axis=-1).reshape(-1, len(places))
    f = post.mean(places) + grid @ root.T
    prior = np.exp(-0.5 * np.sum(grid**2, axis=1))
    weight = prior * likelihood(f)
    p = weight.sum() / prior.sum()
    weight = weight / weight.sum()
    mean = weight @ f
    return (f - mean).T @ (weight[:, None] * (f - mean)), p


def _bits(before, after):
    return 0.5 * (np.linalg.slogdet(np.atleast_2d(before))[1] - np.linalg.slogdet(np.atleast_2d(after))[1]) / np.log(2)


def _likelihoods(instrument):
    if isinstance(instrument, gf.Ordinal):
        edges = [-np.inf, *instrument.thresholds, np.inf]
        return [
            lambda f, a=a, b=b: ndtr((b - f[:, 0]) / instrument.noise) - ndtr((a - f[:, 0]) / instrument.noise)
            for a, b in pairwise(edges)
        ]
    if isinstance(instrument, gf.Detection):
        return [lambda f: np.prod(ndtr(-f), axis=1), lambda f: 1 - np.prod(ndtr(-f), axis=1)]
    careful = 1 - instrument.guess - instrument.lapse
    return [
        lambda f: instrument.lapse + careful * ndtr(-f[:, 0]),
        lambda f: instrument.guess + careful * ndtr(f[:, 0]),
    ]


@pytest.mark.parametrize(
    ("instrument", "queries"),
    [(gf.Binary(), X), (gf.Binary(0.1, 0.05), X), (gf.Ordinal([-0.4, 0.5], 0.3), X), (gf.Detection(), PAIRS)],
    ids=["yes or no", "careless", "rank", "set"],
)
def test_the_entropy_falls_as_moment_matching_by_hand_says(post, instrument, queries):
    got = IVM().score(post, instrument, queries)
    first = 1.0 if isinstance(instrument, gf.Ordinal) else 0.0
    for i, query in enumerate(queries):
        places, total = np.atleast_2d(query), 0.0
        m, v = post.marginals(instrument, query[None])
        for k, likelihood in enumerate(_likelihoods(instrument)):
            after, p = _tilted(post, places, likelihood)
            bits = _bits(post.covariance(places), after)
            total += p * bits
            assert entropy_decrease(instrument, np.array([first + k]), m, v)[0] == pytest.approx(bits, abs=1e-6)
            known = IVM(queries, np.full(len(queries), first + k)).score(post, instrument, query[None])[0]
            assert known == pytest.approx(bits, abs=1e-6)
        assert got[i] == pytest.approx(total, abs=1e-6)


def test_a_preference_sharpens_the_belief_about_both_its_places(post):
    """The fall is the same in f(u) − f(v) alone, in both values, and with another place beside them."""
    noise = 0.3
    pair = np.array([[0.2], [1.1]])
    both, p = _tilted(post, pair, lambda f: ndtr((f[:, 0] - f[:, 1]) / (np.sqrt(2) * noise)), 601)
    other, q = _tilted(post, pair, lambda f: ndtr((f[:, 1] - f[:, 0]) / (np.sqrt(2) * noise)), 601)
    wanted = p * _bits(post.covariance(pair), both) + q * _bits(post.covariance(pair), other)
    assert IVM().score(post, gf.Preference(noise), pair[None])[0] == pytest.approx(wanted, abs=1e-6)


def test_of_a_number_the_entropy_falls_by_the_information(post):
    np.testing.assert_allclose(IVM().score(post, gf.Point(0.2), X), gf.information(post, gf.Point(0.2), X))


def test_the_original_sees_the_answers_and_prefers_surprises(post):
    """What makes it no active learning: of two places believed alike, it takes the one whose answer surprises."""
    pool = np.array([[0.82], [0.83], [0.83]])
    scores = IVM(pool, [True, False, False]).score(post, gf.Binary(), pool)
    assert scores[1] > 1.8 * scores[0]
    mixed = IVM(pool, [True, True, False])
    each = [IVM(pool[1:2], [answer]).score(post, gf.Binary(), pool[1:2])[0] for answer in (True, False)]
    assert mixed.score(post, gf.Binary(), pool[1:2])[0] == pytest.approx(np.mean(each))
    widths = IVM(X, np.stack([X[:, 0] - 0.1, X[:, 0] + 0.1], axis=1)).score(post, gf.Interval(0.1), X)
    assert np.all(widths > 0)


def test_certainty_cannot_be_sharpened():
    sure = gf.GP(gf.SE(1.0, 1e-12), gf.ConstantMean(60.0)).condition(gf.Data())
    np.testing.assert_allclose(IVM().score(sure, gf.Binary(), X), 0.0, atol=1e-9)
    known = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.0), [[0.0]], [0.3]))
    assert IVM().score(known, gf.Binary(), [[0.0]])[0] == pytest.approx(0.0, abs=1e-12)


def test_the_ivm_satisfies_what_every_goal_must(post):
    for instrument, queries in (
        (gf.Binary(), X),
        (gf.Ordinal([0.0, 1.0], 0.2), X),
        (gf.Point(0.1), X),
        (gf.Preference(), PAIRS),
        (gf.Detection(), PAIRS),
    ):
        check_acquisition(IVM(), post, instrument, queries)
    check_acquisition(IVM(X, [True, False, True, False, True]), post, gf.Binary(), X)


def test_what_the_ivm_cannot_do_is_refused(post):
    for ask, argument in (
        (lambda: IVM(pool=X), "pool, answers"),
        (lambda: IVM().score(post, gf.Interval(0.1, width=1.0), X), "instrument"),
        (lambda: IVM(X, [True] * 5).score(post, gf.Binary(), X + 0.01), "places"),
        (lambda: IVM(X, [True] * 4).score(post, gf.Binary(), X), "answers"),
        (lambda: IVM().score("belief", gf.Binary(), X), "belief"),
    ):
        with pytest.raises(gf.InvalidInput) as refused:
            ask()
        assert refused.value.argument == argument


def _plane(K, y, C):
    """The soft-margin SVM by its dual, solved by a general optimiser: (w·φ as weights α, b)."""
    signs = np.where(y == 1.0, 1.0, -1.0)
    Q = K * np.outer(signs, signs)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(), np.full(len(y), 0.5), jac=lambda a: Q @ a - 1.0, method="SLSQP",
        bounds=[(0.0, C)] * len(y), constraints={"type": "eq", "fun": lambda a: a @ signs, "jac": lambda a: signs},
        options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    alpha = found.x * signs
    free = (found.x > 1e-5) & (found.x < C - 1e-5)
    return alpha, float(np.mean(signs[free] - K[free] @ alpha))


def test_the_simple_margin_is_the_distance_to_the_hyperplane(post):
    at, y, C = post.data.batches[0].X, post.data.batches[0].answers, 100.0
    K = post.kernel(at)
    alpha, b = _plane(K, y, C)
    distance = np.abs(post.kernel(X, at) @ alpha + b) / np.sqrt(alpha @ K @ alpha)
    got = ActiveSVM(C=C).score(post, gf.Binary(), X)
    np.testing.assert_allclose(got, 1 / (1 + distance), atol=1e-4)


@pytest.mark.parametrize("rule", ["maxmin", "ratio"])
def test_margins_after_either_answer_are_those_of_machines_trained_on_them(post, rule):
    at, y, C = post.data.batches[0].X, post.data.batches[0].answers, 100.0
    for place, got in zip(X[2:4], ActiveSVM(rule, C).score(post, gf.Binary(), X[2:4]), strict=True):
        K = post.kernel(np.vstack([at, place]))
        margins = []
        for answer in (0.0, 1.0):
            alpha, b = _plane(K, np.append(y, answer), C)
            slack = np.maximum(1 - np.where(np.append(y, answer) == 1.0, 1, -1) * (K @ alpha + b), 0.0)
            margins.append(1 / np.sqrt(alpha @ K @ alpha + 2 * C * slack.sum()))
        wanted = min(margins) if rule == "maxmin" else min(margins) / max(margins)
        assert got == pytest.approx(wanted, abs=1e-4)


def test_between_two_answers_the_middle_halves_the_version_space():
    data = gf.Data().add(gf.Binary(), [[0.0], [1.0]], [False, True])
    post = gf.GP(gf.SE(0.4)).condition(data)
    places = np.linspace(0, 1, 21)[:, None]
    for rule in ("simple", "maxmin", "ratio"):
        scores = ActiveSVM(rule).score(post, gf.Binary(), places)
        assert np.argmax(scores) == 10
        np.testing.assert_allclose(scores, scores[::-1], atol=1e-4)


def test_answers_that_contradict_each_other_leave_no_version_space():
    gp = gf.GP(gf.SE(0.4))
    torn = gp.condition(gf.Data().add(gf.Binary(), [[0.0], [0.0]], [False, True]))
    far = ActiveSVM().score(torn, gf.Binary(), X)
    np.testing.assert_allclose(far, np.sqrt(2 * (1 - np.exp(-0.5 * (X[:, 0] / 0.4) ** 2))), atol=1e-7)
    post = gp.condition(gf.Data().add(gf.Binary(), [[0.0], [1.0]], [False, True]))
    at, between = ActiveSVM("maxmin").score(post, gf.Binary(), [[0.0], [0.5]])
    assert at < 0.1 < between


def test_before_both_answers_are_known_the_farthest_place_is_asked():
    prior = gf.GP(gf.SE(0.4, 2.0)).condition(gf.Data())
    np.testing.assert_allclose(ActiveSVM().score(prior, gf.Binary(), X), np.sqrt(2.0))
    one = prior.condition(gf.Data().add(gf.Binary(), [[0.0], [0.2]], [True, True]))
    scores = ActiveSVM().score(one, gf.Binary(), X)
    near = np.min(np.abs(X - np.array([0.0, 0.2])), axis=1)
    np.testing.assert_allclose(scores, np.sqrt(2 * 2.0 * (1 - np.exp(-0.5 * (near / 0.4) ** 2))), atol=1e-7)
    assert np.argmax(scores) == 4


@pytest.mark.parametrize("rule", ["simple", "maxmin", "ratio"])
def test_the_svm_satisfies_what_every_goal_must(post, rule):
    check_acquisition(ActiveSVM(rule), post, gf.Binary(), X)
    check_acquisition(ActiveSVM(rule), gf.GP(gf.SE()).condition(gf.Data()), gf.Binary(), X)


def test_what_the_svm_cannot_do_is_refused(post):
    mixed = post.condition(gf.Data().add(gf.Point(0.1), [[0.3]], [0.2]))
    for ask, argument in (
        (lambda: ActiveSVM("guess"), "rule"),
        (lambda: ActiveSVM(C=0.0), "C"),
        (lambda: ActiveSVM().score(post, gf.Point(0.1), X), "instrument"),
        (lambda: ActiveSVM().score(post, gf.Preference(), PAIRS), "instrument"),
        (lambda: ActiveSVM().score(mixed, gf.Binary(), X), "instrument"),
        (lambda: ActiveSVM().score("belief", gf.Binary(), X), "belief"),
    ):
        with pytest.raises(gf.InvalidInput) as refused:
            ask()
        assert refused.value.argument == argument


def test_without_scikit_learn_the_extra_is_named(post, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(gf.MissingExtra, match=r"gainful\[sklearn\]"):
        ActiveSVM().score(post, gf.Binary(), X)
