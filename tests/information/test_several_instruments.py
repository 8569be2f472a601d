"""Information when each posterior has its own instruments, about regions too: against enumeration and integration."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

import gainful as gf
from gainful.information import joint_estimate
from gainful.information.mixture import Several, disagreement, mixture_information, of_each_part, ranked_information
from gainful.information.mixture_gradient import disagreement_slopes
from gainful.selection import Option, choose

X = np.array([[0.1], [0.45], [0.9]])
Z = np.array([[0.3]])
WEIGHTS = np.array([0.2, 0.5, 0.3])
NOISE = (0.05, 0.3, 0.8)
LAB, LOOK = gf.Point(0.3, name="lab"), gf.Ordinal([-0.4, 0.5], 0.3, name="look")
ASK = gf.Binary(0.1, 0.05, name="ask")
OWN = [
    {
        "lab": gf.Point(noise, name="lab"),
        "look": gf.Ordinal([-0.4, 0.5 + noise], noise, name="look"),
        "ask": gf.Binary(0.1 * noise, 0.05, name="ask"),
        "count": gf.Binomial(3, name="count"),
        "strip": gf.Interval(noise, width=0.6, name="strip"),
    }
    for noise in NOISE
]


@pytest.fixture(scope="module")
def belief():
    gps = [gf.GP(gf.SE(0.1, 1.0)), gf.GP(gf.SE(0.6, 2.0)), gf.GP(gf.Matern(0.3, 0.5, nu=1.5), gf.ConstantMean(1.0))]
    parts = []
    for gp, own in zip(gps, OWN, strict=True):
        data = gf.Data().add(own["lab"], [[0.0], [0.5]], [1.0, -0.5]).add(own["ask"], [[0.8]], [True])
        parts.append(gp.condition(data))
    return gf.Belief(parts, WEIGHTS, OWN)


def _bits(p):
    p = np.asarray(p)
    return -np.sum(np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0), axis=-1)


def _marginals(belief, place):
    return [(p.mean(place[None])[0], p.variance(place[None])[0]) for p in belief.posteriors]


def _probabilities(instrument, m, v):
    """From the definition of each kind of answer, on an axis of g's."""
    if isinstance(instrument, gf.Ordinal):
        edges = np.array([-np.inf, *instrument.thresholds, np.inf])
        return np.diff(ndtr((edges - np.asarray(m)[..., None]) / np.sqrt(v + instrument.noise**2)), axis=-1)
    yes = instrument.guess + (1 - instrument.guess - instrument.lapse) * ndtr(m / np.sqrt(v + 1.0))
    return np.stack([1 - yes, yes], axis=-1)


@pytest.mark.parametrize("instrument", [LOOK, ASK], ids=["rank", "yes or no"])
def test_each_posterior_answers_through_its_own_instrument(belief, instrument):
    """H[Σ w_s p_s] − Σ w_s E H[y | f, s], every probability by its part's thresholds, noise and rates."""
    for place in X:
        each, given = [], []
        for (m, v), own in zip(_marginals(belief, place), OWN, strict=True):
            mine = own[instrument.label]
            each.append(_probabilities(mine, m, v))
            grid = m + np.sqrt(v) * np.linspace(-9, 9, 20001)
            density = norm.pdf(np.linspace(-9, 9, 20001)) * 18 / 20000
            given.append(density @ _bits(_probabilities(mine, grid, 0.0)))
        mixed = WEIGHTS @ np.array(each)
        about = {"function": _bits(mixed) - WEIGHTS @ given, "model": _bits(mixed) - WEIGHTS @ _bits(each)}
        for what, wanted in about.items():
            assert gf.information(belief, instrument, place[None], about=what)[0] == pytest.approx(wanted, abs=1e-7)
        np.testing.assert_allclose(belief.answers(instrument, place[None]).probabilities[0], mixed, atol=1e-12)


def test_an_unknown_noise_is_learned_from_a_number(belief):
    """Dense integration of H[y] − Σ w_s log2(noise_s √(2πe)), and of H[y] − Σ w_s H[y | s]."""
    y = np.linspace(-25.0, 25.0, 2_000_001)
    for place in X[:2]:
        each = [norm.pdf(y, m, np.sqrt(v + n**2)) for (m, v), n in zip(_marginals(belief, place), NOISE, strict=True)]
        mixed = WEIGHTS @ np.array(each)
        whole = -np.sum(mixed * np.log2(np.maximum(mixed, 1e-300))) * (y[1] - y[0])
        spread = np.array([np.sqrt(v + n**2) for (_, v), n in zip(_marginals(belief, place), NOISE, strict=True)])
        unit = 0.5 * np.log2(2 * np.pi * np.e)
        for what, given in (("function", np.log2(NOISE)), ("hyperparameters", np.log2(spread))):
            wanted = whole - unit - WEIGHTS @ given
            assert gf.information(belief, LAB, place[None], about=what)[0] == pytest.approx(wanted, abs=1e-7)


def test_parts_that_differ_in_their_noise_alone_are_told_apart_where_f_is_known():
    data = gf.Data().add(gf.Point(0.0), [[0.0]], [1.0])
    post = gf.GP(gf.SE()).condition(data)
    own = [{"lab": gf.Point(n, name="lab")} for n in (0.1, 10.0)]
    belief = gf.Belief([post, post], instruments=own)
    assert gf.information(belief, gf.Point(1.0, name="lab"), [[0.0]], about="model")[0] > 0.8
    assert gf.information(belief, gf.Point(1.0, name="other"), [[0.0]], about="model")[0] < 1e-9


@pytest.mark.parametrize("name", ["count", "strip"])
def test_answers_of_every_kind_may_have_an_instrument_for_each_posterior(belief, name):
    """Alike in all parts, an instrument of one's own for each is the one given; unlike, I(y; f, s) ≥ I(y; s) ≥ 0."""
    stated = OWN[1][name]
    alike = gf.Belief(belief.posteriors, WEIGHTS, [{name: stated}] * 3)
    plain = gf.Belief(belief.posteriors, WEIGHTS)
    for about in ("function", "model"):
        np.testing.assert_allclose(
            gf.information(alike, stated, X, about), gf.information(plain, stated, X, about), atol=1e-9
        )
    function, model = (gf.information(belief, stated, X, about) for about in ("function", "model"))
    assert np.all(model >= 0.0)
    assert np.all(function >= model - 1e-9)


@pytest.mark.parametrize(
    ("m", "v"), [((0.3, 0.0), (0.5, 0.1)), ((300.0, 0.0), (0.5, 0.1))], ids=["near each other", "far apart"]
)
def test_nodes_that_parts_share_and_nodes_of_their_own_agree_with_dense_integration(m, v):
    """Student-t answers whose spread is what the parts differ in. Far apart, no shared node lies within either."""
    own = [gf.StudentT(0.2, name="t"), gf.StudentT(1.0, name="t")]
    m, v = np.array(m)[:, None], np.array(v)[:, None]
    got = disagreement(own, np.array([0.4, 0.6]), m, v)[0]
    u = np.linspace(-12.0, 12.0, 40001)
    y, step = np.sinh(u), (u[1] - u[0]) * np.cosh(u)
    each = np.exp(
        [
            i.log_partition(y, np.full_like(y, a[0]), np.full_like(y, b[0])).log_z
            for i, a, b in zip(own, m, v, strict=True)
        ]
    )
    mixed = np.array([0.4, 0.6]) @ each
    wanted = sum(w * np.sum(step * p * np.log2(p / mixed)) for w, p in zip((0.4, 0.6), each, strict=True))
    assert got == pytest.approx(wanted, abs=2e-4)


def test_information_about_a_region_counts_the_parts_and_what_each_says_of_it(belief):
    """I(y; f_z, s) = H[y] − Σ w_s E H[y | f_z, s], by a fine grid over f_z."""
    z = np.linspace(-9, 9, 4001)
    density = norm.pdf(z) * 18 / 4000
    for place in X:
        both = np.concatenate([place[None], Z])
        each, given = [], []
        for post, own in zip(belief.posteriors, OWN, strict=True):
            mine, cov, mean = own["look"], post.covariance(both), post.mean(both)
            slope = cov[0, 1] / np.sqrt(cov[1, 1])
            each.append(_probabilities(mine, mean[0], cov[0, 0]))
            given.append(density @ _bits(_probabilities(mine, mean[0] + slope * z, cov[0, 0] - slope**2)))
        wanted = _bits(WEIGHTS @ np.array(each)) - WEIGHTS @ given
        got = gf.information(belief, LOOK, place[None], about=gf.Region(Z))[0]
        assert got == pytest.approx(wanted, abs=1e-6)


def test_predictive_information_of_a_mixture_is_that_about_the_answer_and_the_part(belief):
    """I(y; y_z, s) from bivariate normal probabilities of yes and yes, part by part."""
    ask, place = gf.Binary(name="plain"), X[1]
    both = np.concatenate([place[None], Z])
    apart, within = [], 0.0
    for w, post in zip(WEIGHTS, belief.posteriors, strict=True):
        mean, cov = post.mean(both), post.covariance(both) + np.eye(2)
        yes = ndtr(mean / np.sqrt(np.diag(cov)))
        joint = multivariate_normal(-mean, cov).cdf([0.0, 0.0])
        table = np.array([[1 - yes[0] - yes[1] + joint, yes[1] - joint], [yes[0] - joint, joint]])
        within += w * (_bits(table.sum(0)) + _bits(table.sum(1)) - _bits(table.ravel()))
        apart.append([1 - yes[0], yes[0]])
    wanted = within + _bits(WEIGHTS @ np.array(apart)) - WEIGHTS @ _bits(apart)
    got = gf.acquisition.EPIG(Z).score(belief, ask, place[None])[0]
    assert got == pytest.approx(wanted, abs=1e-5)
    about = gf.Region(Z, answers=ask)
    assert gf.information(belief, ask, place[None], about)[0] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("together", [False, True])
def test_a_prepared_region_is_the_region(belief, together):
    region = gf.Region([[0.3], [0.7]], together=together)
    prepared = mixture_information(belief, LOOK, X, of_each_part(belief, region))
    np.testing.assert_allclose(prepared, gf.information(belief, LOOK, X, region), atol=1e-12)


def test_beyond_pending_numbers_each_posterior_tells_exactly_what_is_left(belief):
    """With weights that nothing moves, parts alike but for the noise of another instrument: Σ w_s I(y; f | s, Y)."""
    post = belief.posteriors[1]
    alike = gf.Belief([post, post], [0.3, 0.7])
    pending = [gf.Query(LAB, [0.4]), gf.Query(LOOK, [0.6])]
    for about in ("function", gf.Region(Z)):
        np.testing.assert_allclose(
            gf.information(alike, LOOK, X, about, pending), gf.information(post, LOOK, X, about, pending), atol=1e-9
        )
    left = gf.information(belief, LAB, X, pending=pending)
    assert np.all(left <= gf.information(belief, LAB, X) + 1e-9)
    about_parts = gf.information(belief, LAB, X, "model", pending)
    within = sum(
        w * gf.information(p, own["lab"], X, pending=[gf.Query(own["lab"], [0.4]), gf.Query(own["look"], [0.6])])
        for w, p, own in zip(WEIGHTS, belief.posteriors, OWN, strict=True)
    )
    np.testing.assert_allclose(left, about_parts + within, atol=1e-9)


@pytest.mark.parametrize("instrument", [LAB, OWN[0]["strip"], LOOK, ASK], ids=lambda i: i.label)
def test_the_rank_of_a_mixture_bounds_or_approaches_its_information(belief, instrument):
    """One normal has the largest entropy that a variance allows; the best by rank is nearly the best."""
    places = np.linspace(0.0, 1.0, 60)[:, None]
    for about in ("function", "hyperparameters"):
        exact = gf.information(belief, instrument, places, about)
        ranked = ranked_information(belief, instrument, belief.predict(places), about)
        if instrument is LAB:
            assert np.all(ranked >= exact - 1e-9)
        assert np.corrcoef(ranked, exact)[0, 1] > 0.9
        assert np.argmax(exact) in np.argsort(-ranked)[:8]


@pytest.mark.parametrize("kind", ["lab", "look", "ask"])
def test_slopes_of_disagreement_equal_differences(kind):
    rng = np.random.default_rng(0)
    m, v = rng.standard_normal((3, 4)), np.exp(rng.standard_normal((3, 4)))
    own = tuple(each[kind] for each in OWN)
    slopes = disagreement_slopes(Several(WEIGHTS, own, m, v))
    np.testing.assert_allclose(slopes.bits, disagreement(own, WEIGHTS, m, v), atol=1e-9)
    for s in range(3):
        step = np.zeros_like(m)
        step[s] = 1e-5
        in_mean = (disagreement(own, WEIGHTS, m + step, v) - disagreement(own, WEIGHTS, m - step, v)) / 2e-5
        in_variance = (disagreement(own, WEIGHTS, m, v + step) - disagreement(own, WEIGHTS, m, v - step)) / 2e-5
        np.testing.assert_allclose(slopes.mean[s], in_mean, atol=2e-6)
        np.testing.assert_allclose(slopes.variance[s], in_variance, atol=2e-6)


def test_intervals_of_different_widths_are_no_one_answer():
    parts = [gf.GP(gf.SE()).condition(gf.Data())] * 2
    own = [{"strip": gf.Interval(0.1, width=w, name="strip")} for w in (0.5, 1.0)]
    with pytest.raises(gf.InvalidInput, match="one width"):
        gf.information(gf.Belief(parts, instruments=own), gf.Interval(0.1, width=0.5, name="strip"), X)


def test_what_is_corrected_by_the_heaviest_parts_is_nearly_exact():
    """Of five parts and yes/no answers pending, Σ w_s I(y; f | s, Y) is within a hundredth of a bit."""
    data = gf.Data().add(gf.Point(0.2), [[0.0], [0.5]], [1.0, -0.5])
    belief = gf.Belief([gf.GP(gf.SE(s)).condition(data) for s in (0.15, 0.2, 0.3, 0.4, 0.6)], [1, 2, 3, 2, 1])
    pending = [gf.Query(gf.Binary(), [0.3]), gf.Query(gf.Binary(), [0.7])]
    got = gf.information(belief, LOOK, X, pending=pending) - gf.information(belief, LOOK, X, "model", pending)
    exact = sum(
        w * gf.information(p, LOOK, X, pending=pending) for w, p in zip(belief.weights, belief.posteriors, strict=True)
    )
    np.testing.assert_allclose(got, exact, atol=0.01)


def test_one_answer_tells_together_what_it_tells_alone_and_two_what_enumeration_says(belief):
    query = gf.Query(LOOK, [0.3])
    one = gf.information(belief, LOOK, [[0.3]])[0]
    assert gf.joint_information(belief, [query]) == pytest.approx(one, abs=1e-9)
    post = belief.posteriors[1]
    pair = [query, gf.Query(LAB, [0.9])]
    equal = gf.Belief([post, post])
    assert gf.joint_information(equal, pair) == pytest.approx(gf.joint_information(post, pair), abs=1e-9)
    two = [gf.Query(gf.Binary(), [0.3]), gf.Query(gf.Binary(), [0.9])]
    places, tables, within = np.array([[0.3], [0.9]]), [], 0.0
    for w, p in zip(WEIGHTS, belief.posteriors, strict=True):
        mean, cov = p.mean(places), p.covariance(places) + np.eye(2)
        yes, both = ndtr(mean / np.sqrt(np.diag(cov))), multivariate_normal(-mean, cov).cdf([0.0, 0.0])
        tables.append([1 - yes[0] - yes[1] + both, yes[1] - both, yes[0] - both, both])
        within += w * gf.joint_information(p, two)
    wanted = within + _bits(WEIGHTS @ np.array(tables)) - WEIGHTS @ _bits(tables)
    found = joint_estimate(belief, two)
    assert 0.0 < found.error < 0.05
    assert abs(found.bits - wanted) < 4.0 * found.error + 1e-3


def test_numbers_without_noise_are_worth_asking_for_in_a_region_until_it_is_known():
    exact, region = gf.Point(0.0, name="exact"), gf.Region([[0.2], [0.7]])
    data = gf.Data().add(exact, [[0.1], [0.5]], [1.0, 2.0])
    parts = [gf.GP(gf.SE(s)).condition(data) for s in (0.1, 0.2, 0.4)]
    pending, near = [gf.Query(exact, [0.2])], [[0.2], [0.21692], [0.7]]
    for believed in (*parts, gf.Belief(parts)):
        again, beside, other = gf.information(believed, exact, near, region, pending)
        assert again < 1e-9
        assert np.isfinite(beside)
        assert other == np.inf
        found = choose(gf.Learn(region), believed, [Option(exact, gf.Space(gf.Real("x", 0, 1)))],
                       np.random.default_rng(0), pending=pending)  # fmt: skip
        assert abs(found.query.place[0] - 0.7) < 0.01
    ranked = ranked_information(gf.Belief(parts), gf.Point(1e-6), np.linspace(0, 1, 50)[:, None], "model")
    assert np.all(ranked <= np.log2(3.0) + 1e-12)  # one normal knows no more about the parts than there is to know
