"""Information against brute-force integration, its bounds, and the closed forms that are published."""

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

import gainful as gf
from gainful.information.entropy import binary_entropy, conditional_entropy, interval_entropy, uniform_plus_normal
from gainful.information.single import expected_set_entropy, information_given

SPREADS = [1e-3, 1e-2, 0.1, 0.6, 0.74, 0.76, 1.0, 3.0, 30.0, 1e3]  # times the noise


def _at(m, v):
    """A posterior whose mean and variance at place 0 are m and v."""
    return gf.GP(gf.SE(1.0, v), gf.ConstantMean(m)).condition(gf.Data())


def _entropy(p):
    p = np.asarray(p)
    return -np.sum(np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0))


def _probabilities(instrument, g):
    """P(answer | g) for every answer, from the definitions."""
    if isinstance(instrument, gf.Ordinal):
        edges = np.concatenate([[-np.inf], instrument.thresholds, [np.inf]])
        upper = ndtr((edges - g) / instrument.noise)
        lower = ndtr((g - edges) / instrument.noise)
        return np.where(upper[1:] < 0.5, np.diff(upper), -np.diff(lower))
    if isinstance(instrument, gf.Preference):
        g = g / (np.sqrt(2) * instrument.noise)
        return np.array([ndtr(-g), ndtr(g)])
    careful = 1 - instrument.guess - instrument.lapse
    return np.array([instrument.lapse + careful * ndtr(-g), instrument.guess + careful * ndtr(g)])


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(
    "instrument",
    [
        gf.Binary(),
        gf.Binary(0.2, 0.05),
        gf.Binary(guess=0.5),
        gf.Ordinal([-0.4, 0.5], 0.1),
        gf.Ordinal([0.0, 0.05, 3.0], 0.1),
    ],
    ids=["probit", "careless", "forced choice", "apart", "close"],
)
def test_information_of_discrete_answers_equals_brute_force(instrument, spread):
    scale = instrument.noise if isinstance(instrument, gf.Ordinal) else 1.0
    thresholds = instrument.thresholds if isinstance(instrument, gf.Ordinal) else [0.0]
    for m in (-2.0 * scale, 0.3 * scale, 0.45, 4.0):
        sd = spread * scale
        cuts = {float(np.clip((t + k * scale - m) / sd, -9, 9)) for t in thresholds for k in (-9, -4, -1, 0, 1, 4, 9)}
        cuts = sorted(cuts | {-9.0, -3.0, 0.0, 3.0, 9.0})

        def average(h, m=m, sd=sd, cuts=cuts):
            x, w = np.polynomial.legendre.leggauss(80)
            total = 0.0
            for a, b in pairwise(cuts):
                z = 0.5 * (a + b) + 0.5 * (b - a) * x
                values = np.array([h(m + sd * t) for t in z])
                total += 0.5 * (b - a) * (w @ (values * np.exp(-0.5 * z**2))) / np.sqrt(2 * np.pi)
            return total

        given = average(lambda g: _entropy(_probabilities(instrument, g)))
        count = len(_probabilities(instrument, 0.0))
        answer = [average(lambda g, i=i: _probabilities(instrument, g)[i]) for i in range(count)]
        got = gf.information(_at(m, sd**2), instrument, [[0.0]])[0]
        assert got == pytest.approx(max(_entropy(answer) - given, 0.0), abs=1e-7)
        assert 0.0 <= got <= np.log2(count)


@pytest.mark.parametrize("r", [1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 30.0, 1e3, 1e5])
def test_the_entropy_of_a_blurred_uniform_is_exact(r):
    with mp.workdps(25):

        def term(x):
            p = mp.ncdf(x / r) - mp.ncdf((x - 1) / r)
            return -p * mp.log(p, 2) if p > 0 else mp.mpf(0)

        points = {mp.mpf(1) / 2, mp.mpf(1), *(mp.mpf(1) + k * r for k in (1, 3, 6, 9, 12))}
        points |= {1 - k * mp.mpf(r) for k in (1, 3, 6, 9) if k * r < 0.5}
        exact = float(2 * mp.quad(term, sorted(points)))
    assert uniform_plus_normal(np.array([r]))[0] == pytest.approx(exact, rel=1e-12)
    assert interval_entropy(np.array([r]))[0] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("width", [1e-2, 0.6, 50.0])
def test_information_of_intervals_equals_brute_force(spread, width):
    """H[a] − H[a | f] by integrating the density of the lower end, which the instrument's own answers give."""
    noise, v = 0.1, (0.1 * spread) ** 2
    instrument = gf.Interval(noise, width=width)

    def entropy(variance):
        answers = instrument.predict(np.zeros(1), np.array([variance - noise**2]))
        sd = np.sqrt(variance)

        def term(a):
            log_p = answers.log_prob(np.array([a]))[0]
            return -np.exp(log_p) * log_p / np.log(2)

        cuts = sorted({c + k * sd for c in (-width, 0.0) for k in (-10, -5, -2, 0, 2, 5, 10)})
        return sum(quad(term, a, b, epsabs=1e-11, epsrel=1e-11, limit=200)[0] for a, b in pairwise(cuts))

    got = gf.information(_at(0.0, v), instrument, [[0.0]])[0]
    assert got == pytest.approx(entropy(v + noise**2) - entropy(noise**2), abs=1e-7)
    assert got >= 0.0


@pytest.mark.parametrize("spread", [1e-3, 0.1, 1.0, 5.0, 1e3])
@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.9, 1.0])
def test_conditional_entropy_of_a_pair_equals_brute_force(spread, rho):
    m = np.array([0.3, -0.6])
    v = spread**2 * np.array([[1.0, rho * 0.8], [rho * 0.8, 0.64]])
    got = expected_set_entropy(gf.Detection().channel(), m[None], v[None])[0]
    a, b = spread, 0.8 * spread
    cut = lambda centre, sd: np.unique(np.clip((np.array([-9.0, -4.0, 0.0, 4.0, 9.0]) - centre) / sd, -9, 9))  # noqa: E731
    x, w = np.polynomial.legendre.leggauss(60)

    def nodes(centre, sd):
        edges = np.unique(np.concatenate([[-9.0, -3.0, 0.0, 3.0, 9.0], cut(centre, max(sd, 1e-12))]))
        half, mid = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        z = (mid[:, None] + half[:, None] * x).ravel()
        return z, (half[:, None] * w).ravel() * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)

    total = 0.0
    for z, weight in zip(*nodes(m[0], a), strict=True):
        centre, sd = m[1] + b * rho * z, b * np.sqrt(max(1 - rho**2, 0.0))
        inner, share = nodes(centre, sd)
        missed = ndtr(-(m[0] + a * z)) * ndtr(-(centre + sd * inner))
        total += weight * (share @ binary_entropy(missed))
    assert got == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
@pytest.mark.parametrize("rates", [(0.02, 0.02), (0.2, 0.0), (0.0, 0.1)])
def test_information_of_a_careless_pair_in_decibels_equals_two_dimensional_integration(rho, rates):
    guess, lapse = rates
    tones = gf.Detection(guess, lapse, threshold=5.0, noise=4.0)
    m, sd = np.array([3.0, 7.0]), np.array([6.0, 9.0])
    cov = np.array([[1.0, rho], [rho, 1.0]]) * np.outer(sd, sd)
    z, w = np.polynomial.hermite_e.hermegauss(180)
    w = w / w.sum()
    g = m + np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1) @ np.linalg.cholesky(cov).T
    no = lapse + (1 - guess - lapse) * np.prod(ndtr((5.0 - g) / 4.0), axis=-1)
    total = w @ no @ w
    wanted = binary_entropy(total) - w @ binary_entropy(no) @ w
    got = information_given(tones, m[None], cov[None])
    assert got[0] == pytest.approx(wanted, abs=1e-6)


def test_a_set_of_one_place_is_a_yes_or_no_and_three_agree_with_sampling():
    post = gf.GP(gf.SE(0.5, 2.0)).condition(gf.Data().add(gf.Binary(), [[0.0]], [True]))
    X = np.array([[0.1], [0.7]])
    np.testing.assert_allclose(
        gf.information(post, gf.Detection(), X[:, None]), gf.information(post, gf.Binary(), X), atol=1e-9
    )
    sets = np.array([[[0.1], [0.5], [0.9]]])
    g = post.sample(sets[0], 400000, np.random.default_rng(0))
    missed = np.prod(ndtr(-g), axis=1)
    sampled = binary_entropy(missed.mean()) - binary_entropy(missed).mean()
    assert gf.information(post, gf.Detection(), sets)[0] == pytest.approx(sampled, abs=2e-3)


def test_a_preference_is_informed_through_the_difference():
    post = gf.GP(gf.SE(0.5, 2.0)).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    pair = np.array([[[0.1], [0.8]]])
    m, v = post.marginals(gf.Preference(0.5), pair)
    same = gf.information(_at(m[0] / np.sqrt(0.5), v[0] / 0.5), gf.Binary(), [[0.0]])
    np.testing.assert_allclose(gf.information(post, gf.Preference(0.5), pair), same, atol=1e-10)
    np.testing.assert_allclose(
        gf.information(post, gf.Preference(0.5), pair),
        gf.information(post, gf.Preference(0.5), pair[:, ::-1]),
        rtol=1e-14,
    )
    assert gf.information(post, gf.Preference(0.5), [[[0.3], [0.3]]])[0] == pytest.approx(0.0, abs=1e-12)


def test_a_number_tells_most_where_the_variance_is_largest():
    post = gf.GP(gf.SE(0.2)).condition(gf.Data().add(gf.Point(0.1), [[0.2], [0.9]], [0.0, 1.0]))
    X = np.linspace(0, 1, 101)[:, None]
    bits = gf.information(post, gf.Point(0.3), X)
    np.testing.assert_allclose(bits, 0.5 * np.log2(1 + post.variance(X) / 0.09), rtol=1e-12)
    assert np.argmax(bits) == np.argmax(post.variance(X))
    assert gf.information(post, gf.Point(0.0), [[0.5]])[0] == np.inf


def test_yes_or_no_is_within_the_published_error_of_the_published_closed_form():
    """Houlsby et al. 2011, sec. 3: h(Φ(μ/√(v + 1))) − C exp(−μ²/(2(v + C²)))/√(v + C²), C = √(π ln 2/2); off by at most
    0.0027 bits."""
    C2 = np.pi * np.log(2) / 2
    for m in (-3.0, -0.5, 0.0, 1.0):
        for v in (0.01, 1.0, 25.0):
            closed = binary_entropy(ndtr(m / np.sqrt(v + 1))) - np.sqrt(C2 / (v + C2)) * np.exp(
                -(m**2) / (2 * (v + C2))
            )
            assert gf.information(_at(m, v), gf.Binary(), [[0.0]])[0] == pytest.approx(closed, abs=0.0027)


def test_without_noise_the_information_is_the_entropy_of_the_answer():
    post = _at(0.2, 1.0)
    p = ndtr(0.2 - np.array([-0.4]))
    assert gf.information(post, gf.Ordinal([-0.4], 0.0), [[0.0]])[0] == pytest.approx(binary_entropy(p)[0])
    assert conditional_entropy(gf.Ordinal([-0.4], 0.0).channel()) is None


def test_cost_and_normalisation_divide():
    post = _at(0.2, 1.0)
    X = [[0.0]]
    look = gf.Ordinal([-0.4, 0.5], 0.1, cost=3)
    bits = gf.Learn("function").score(post, look, X)
    np.testing.assert_array_equal(bits, gf.information(post, look, X))
    np.testing.assert_allclose(gf.PerCost(gf.Learn()).score(post, look, X), bits / 3)
    np.testing.assert_allclose(gf.Normalised(gf.Learn()).score(post, look, X), bits / np.log2(3))
    np.testing.assert_allclose(gf.PerCost(gf.Normalised(gf.Learn())).score(post, look, X), bits / 3 / np.log2(3))
    assert gf.Point(0.1).levels == gf.Interval(0.1, width=1.0).levels == 100
    assert gf.Point(0.1, buckets=8).levels == 8
    assert gf.Binary().levels == gf.Preference().levels == gf.Detection().levels == 2
    with pytest.raises(gf.InvalidInput, match="buckets"):
        gf.Point(0.1, buckets=1)
    with pytest.raises(gf.InvalidInput, match="about"):
        gf.Learn("everything")


def test_questions_that_cannot_be_answered_are_refused():
    post = _at(0.0, 1.0)
    for ask in (
        lambda: gf.information(post, gf.Interval(0.1), [[0.0]]),
        lambda: gf.information(post, gf.Binary(), [[0.0]], about="everything"),
        lambda: gf.information("post", gf.Binary(), [[0.0]]),
    ):
        with pytest.raises(gf.InvalidInput):
            ask()
