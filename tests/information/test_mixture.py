"""Information when posteriors are weighed: against dense integration, and the laws that tie its kinds together."""

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.information.mixture import disagreement
from gainful.testing import check_acquisition

X = np.array([[0.1], [0.45], [0.9]])
INSTRUMENTS = [
    gf.Point(0.3),
    gf.Interval(0.2, width=0.6),
    gf.Ordinal([-0.4, 0.5], 0.1),
    gf.Binary(),
    gf.Binary(0.1, 0.05),
]
IDS = ["number", "interval", "rank", "yes or no", "careless"]


@pytest.fixture(scope="module")
def belief():
    data = gf.Data().add(gf.Point(0.2), [[0.0], [0.5]], [1.0, -0.5]).add(gf.Binary(), [[0.8]], [True])
    gps = [gf.GP(gf.SE(0.1, 1.0)), gf.GP(gf.SE(0.6, 2.0)), gf.GP(gf.Matern(0.3, 0.5, nu=1.5), gf.ConstantMean(1.0))]
    return gf.Belief([gp.condition(data) for gp in gps], [0.2, 0.5, 0.3])


def _density(y, m, spread, width):
    """p(y) of a number, or of the middle of an interval, from the sentence that defines it."""
    if width == 0.0:
        return np.exp(-0.5 * ((y - m) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    t = np.abs(y - m)
    return (ndtr((0.5 * width - t) / spread) - ndtr((-0.5 * width - t) / spread)) / width


def _cuts(m, spread, width):
    steps = [0.0, *(s * 10.0 ** (k / 4) for k in range(-8, 5) for s in (-1, 1))]
    edges = [c + e for c in m for e in ((-0.5 * width, 0.5 * width) if width else (0.0,))]
    sds = np.repeat(spread, 2) if width else spread
    return np.unique([c + 1.4 * k * sd for c, sd in zip(edges, sds, strict=True) for k in steps])


def _integral(h, cuts):
    x, w = np.polynomial.legendre.leggauss(60)
    half, middle = np.diff(cuts) / 2, (cuts[1:] + cuts[:-1]) / 2
    return float(np.sum(half[:, None] * w * h(middle[:, None] + half[:, None] * x)))


def _entropy(p):
    return -np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0)


CASES = [
    ([0.5, 0.5], [0.0, 0.5], [1.0, 1.0]),
    ([0.5, 0.5], [0.0, 6.0], [1.0, 1.0]),
    ([0.5, 0.5], [0.0, 12.0], [1.0, 1.0]),
    ([0.5, 0.5], [0.0, 1e6], [1.0, 1.0]),
    ([1e-9, 1.0 - 1e-9], [0.0, 4.0], [1.0, 1.0]),
    ([0.3, 0.7], [0.0, 0.2], [1.0, 1e-4]),  # a narrow part inside a wide one
    ([0.2, 0.3, 0.5], [0.0, 2.0, -3.0], [0.1, 1.0, 5.0]),
    ([0.5, 0.5], [0.0, 0.0], [1.0, 1e4]),
]


@pytest.mark.parametrize(("weights", "m", "spread"), CASES)
@pytest.mark.parametrize("width", [0.0, 1e-3, 0.6, 40.0])
def test_disagreement_about_a_number_equals_dense_integration(weights, m, spread, width):
    w, m, spread = (np.array(each, dtype=float) for each in (weights, m, spread))
    cuts = _cuts(m, spread, width)

    def mixed(y):
        return sum(a * _density(y, b, c, width) for a, b, c in zip(w, m, spread, strict=True))

    whole = _integral(lambda y: _entropy(mixed(y)), cuts)
    each = [
        _integral(lambda y, b=b, c=c: _entropy(_density(y, b, c, width)), cuts) for b, c in zip(m, spread, strict=True)
    ]
    instrument = gf.Interval(0.0, width=width) if width else gf.Point(0.0)
    got = disagreement(instrument, w, m[:, None], spread[:, None] ** 2)[0]
    assert got == pytest.approx(whole - w @ each, abs=1e-7)
    assert 0.0 <= got <= _entropy(w).sum() + 1e-12


def test_a_part_too_narrow_for_any_grid_is_not_overlooked():
    """As a part shrinks to a spike of weight w, y tells all but certainly whether it is the spike: h(w) bits."""
    w, m = np.array([0.3, 0.7]), np.array([[0.0], [0.2]])
    bits = [disagreement(gf.Point(0.0), w, m, np.array([[1.0], [s**2]]))[0] for s in (1e-3, 1e-6, 1e-9)]
    assert bits == sorted(bits)
    assert bits[-1] == pytest.approx(_entropy(w).sum(), abs=1e-7)


def test_parts_that_are_far_apart_are_told_apart_completely():
    w = np.array([0.1, 0.2, 0.7])
    m, v = np.array([[-1e3], [0.0], [1e3]]), np.ones((3, 1))
    for instrument in (gf.Point(0.1), gf.Interval(0.1, width=2.0), gf.Ordinal([-500.0, 500.0], 1.0)):
        assert disagreement(instrument, w, m, v)[0] == pytest.approx(_entropy(w).sum(), abs=1e-9)


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=IDS)
def test_disagreement_does_not_change_when_everything_is_shifted_or_parts_are_split(instrument):
    w, m, v = np.array([0.4, 0.6]), np.array([[0.2], [0.9]]), np.array([[0.5], [1.5]])
    plain = disagreement(instrument, w, m, v)
    split = disagreement(instrument, np.array([0.4, 0.1, 0.5]), m[[0, 1, 1]], v[[0, 1, 1]])
    np.testing.assert_allclose(split, plain, atol=1e-9)
    np.testing.assert_allclose(disagreement(instrument, w[::-1], m[::-1], v[::-1]), plain, atol=1e-9)
    if isinstance(instrument, gf.Point | gf.Interval):
        np.testing.assert_allclose(disagreement(instrument, w, m + 1e3, v), plain, atol=1e-9)


def test_discrete_answers_follow_the_definition(belief):
    """H[mixture] − Σ w_s H[y | s], and minus Σ w_s E[H[y | f]] by Gauss–Legendre on each part."""
    x, weight = np.polynomial.legendre.leggauss(400)
    z, weight = 9 * x, 9 * weight * np.exp(-40.5 * x**2) / np.sqrt(2 * np.pi)
    w = belief.weights
    for place in X:
        m = np.array([p.mean(place[None])[0] for p in belief.posteriors])
        sd = np.sqrt([p.variance(place[None])[0] for p in belief.posteriors])
        each = ndtr(m / np.sqrt(1 + sd**2))
        both = lambda p: _entropy(p) + _entropy(1 - p)  # noqa: E731
        given = [weight @ both(ndtr(a + b * z)) for a, b in zip(m, sd, strict=True)]
        about = {"function": both(w @ each) - w @ given, "model": both(w @ each) - w @ both(each)}
        for what, wanted in about.items():
            got = gf.information(belief, gf.Binary(), place[None], about=what)[0]
            assert got == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=IDS)
def test_function_and_hyperparameters_together_tell_what_each_tells_and_the_rest(belief, instrument):
    """I(y; f, θ) = I(y; θ) + I(y; f | θ), and y depends on θ through f alone, so I(y; f, θ) = I(y; f)."""
    function = gf.information(belief, instrument, X)
    hyper = gf.information(belief, instrument, X, about="hyperparameters")
    within = sum(w * gf.information(p, instrument, X) for w, p in zip(belief.weights, belief.posteriors, strict=True))
    np.testing.assert_allclose(function, hyper + within, atol=1e-12)
    np.testing.assert_array_equal(gf.information(belief, instrument, X, about="model"), hyper)
    assert np.all(hyper >= 0)
    assert np.all(hyper <= _entropy(belief.weights).sum())


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=IDS)
def test_a_belief_of_one_posterior_is_that_posterior(belief, instrument):
    one = belief.posteriors[1]
    for alone in (gf.Belief([one]), gf.Belief([belief.posteriors[0], one], [0.0, 1.0]), gf.Belief([one, one])):
        np.testing.assert_allclose(
            gf.information(alone, instrument, X), gf.information(one, instrument, X), rtol=1e-13, atol=1e-12
        )
        np.testing.assert_allclose(gf.information(alone, instrument, X, about="model"), 0.0, atol=1e-13)


def test_pairs_and_sets_are_weighed_too(belief):
    pairs, sets = np.stack([X, X[::-1] + 0.05], axis=1), np.stack([X, X[::-1] + 0.05], axis=1)
    rng = np.random.default_rng(0)
    for instrument, queries in ((gf.Preference(0.3), pairs), (gf.Detection(), sets)):
        hyper = gf.information(belief, instrument, queries, about="hyperparameters")
        p = np.stack([post.answers(instrument, queries).probabilities for post in belief.posteriors])
        mixed = np.einsum("s,smk->mk", belief.weights, p)
        wanted = _entropy(mixed).sum(1) - belief.weights @ _entropy(p).sum(2)
        np.testing.assert_allclose(hyper, wanted, atol=1e-12)
        f = belief.sample(queries.reshape(-1, 1), 100_000, rng).reshape(-1, *queries.shape[:2])
        if isinstance(instrument, gf.Detection):
            yes = 1 - np.prod(ndtr(-f), axis=2)
        else:
            yes = ndtr((f[..., 0] - f[..., 1]) / (np.sqrt(2) * 0.3))
        both = np.stack([yes, 1 - yes])
        sampled = _entropy(both.mean(1)).sum(0) - _entropy(both).sum(0).mean(0)
        np.testing.assert_allclose(gf.information(belief, instrument, queries), sampled, atol=5e-3)


def test_without_noise_what_all_parts_know_exactly_is_agreed_upon():
    exact = gf.Data().add(gf.Point(0.0), [[0.0], [0.4]], [0.3, -1.0])
    belief = gf.Belief([gf.GP(gf.SE(s, v)).condition(exact) for s, v in ((0.2, 1.0), (0.3, 1.0), (0.5, 4.0))])
    at, away = gf.information(belief, gf.Point(0.0), [[0.4], [0.9]], about="model")
    assert at < 1e-4 < 0.05 < away
    bits = gf.information(belief, gf.Point(0.0), [[0.9]])
    assert np.isposinf(bits).all()
    vague = gf.information(belief, gf.Interval(0.0, width=0.1), [[0.4], [0.9]], about="model")
    assert vague[0] < 1e-4 < 0.05 < vague[1]


class _Scores:
    """A goal's scores alone."""

    def __init__(self, goal):
        self.score = goal.score


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=IDS)
@pytest.mark.parametrize("about", ["function", "hyperparameters", "model"])
def test_learning_from_a_belief_is_a_goal(belief, instrument, about):
    check_acquisition(_Scores(gf.Learn(about)), belief, instrument, X)
    np.testing.assert_allclose(
        gf.PerCost(gf.Learn(about)).score(belief, gf.Binary(cost=4.0), X),
        gf.Learn(about).score(belief, gf.Binary(), X) / 4.0,
    )


def test_pending_answers_move_the_weights_too():
    """Two parts that a pending number will tell apart: nothing is left to learn about which is right."""
    parts = [gf.GP(gf.SE(0.2), gf.ConstantMean(c)).condition(gf.Data()) for c in (-20.0, 20.0)]
    belief, lab = gf.Belief(parts), gf.Point(0.5)
    assert gf.information(belief, lab, [[9.0]], about="model")[0] == pytest.approx(1.0, abs=1e-6)
    soon = [gf.Query(lab, [0.0])]
    assert gf.information(belief, lab, [[9.0]], about="model", pending=soon)[0] == pytest.approx(0.0, abs=1e-9)
    left = gf.information(belief, lab, [[9.0]], pending=soon)[0]
    assert left == pytest.approx(gf.information(parts[0], lab, [[9.0]])[0], abs=1e-9)


def test_what_cannot_be_asked_of_a_belief_is_refused(belief):
    for ask, argument in (
        (lambda: gf.information(belief, gf.Binary(), X, about="everything"), "about"),
        (lambda: gf.information(belief.posteriors[0], gf.Binary(), X, about="hyperparameters"), "belief"),
        (lambda: gf.information(belief, gf.Interval(0.1), X), "width"),
    ):
        with pytest.raises(gf.InvalidInput) as refused:
            ask()
        assert refused.value.argument == argument
