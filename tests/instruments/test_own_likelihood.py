"""A likelihood of one's own, with nothing but log_prob, simulate and its answers, works everywhere.

The oracle is brute force: sums over dense grids of f and of the answers, written here and nowhere else.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, ndtr

import gainful as gf
from gainful.acquisition import EPIG, ExpectedError
from gainful.parameters import positive
from gainful.testing import check_instrument

# Some answers here contradict the model on purpose, which is said in a warning.
pytestmark = pytest.mark.filterwarnings("ignore:the readings contradict the model")


def log_prob(answer, f):
    """Complementary log-log: yes with probability 1 − exp(−exp(f))."""
    return np.log(-np.expm1(-np.exp(f))) if answer else -np.exp(f)


def simulate(f, rng):
    return rng.random(np.shape(f)) < -np.expm1(-np.exp(f))


ALARM = gf.Likelihood(log_prob, simulate, answers=[False, True], name="alarm")


@dataclass(frozen=True)
class Laplacian(gf.Instrument):
    """A subclass with the three members, and a parameter to learn."""

    width: float = positive(0.5, "noise")

    @property
    def answers(self):
        return "real"

    def log_prob(self, answers, g):
        return -np.sqrt(1e-4 + ((answers - g) / self.width) ** 2) - np.log(2.0 * self.width)

    def simulate(self, g, rng):
        return g + self.width * rng.laplace(size=np.shape(g))


KINDS = {
    "alarm": (ALARM, np.array([0.0, 1.0])),
    "count": (gf.Count(), np.arange(400.0)),
    "of ten": (gf.Binomial(trials=10), np.arange(11.0)),
    "heavy": (gf.StudentT(0.4, df=3.0), np.sinh(np.linspace(-9, 9, 3001))),
    "heavier": (gf.StudentT(1.5, df=5.0), np.sinh(np.linspace(-9, 9, 3001))),
}


def _grid(m, v, n=1601, reach=9.0):
    f = m + np.sqrt(v) * np.linspace(-reach, reach, n)
    w = np.exp(-0.5 * ((f - m) ** 2) / v)
    return f, w / w.sum()


def _measure(instrument, y):
    return np.gradient(y) if instrument.answers == "real" else np.ones(len(y))


def _by_brute_force(instrument, y, m, v):
    f, w = _grid(m, v)
    p = np.exp(instrument.log_prob(y[:, None], f))
    joint, measure = p @ w, _measure(instrument, y)
    plogp = np.where(p > 0, p * np.log2(np.maximum(p, 1e-300)), 0.0)
    before = -np.sum(measure * np.where(joint > 0, joint * np.log2(np.maximum(joint, 1e-300)), 0.0))
    return before + np.sum(measure[:, None] * plogp * w)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("m", "v"), [(0.3, 1.0), (-1.0, 0.04), (0.5, 4.0)])
def test_information_is_that_of_brute_force(name, m, v):
    instrument, y = KINDS[name]
    if name == "count" and v > 2:
        pytest.skip("brute force would need counts up to the billions")
    wanted = _by_brute_force(instrument, y, m, v)
    prior = gf.GP(gf.SE(variance=v), gf.ConstantMean(m)).condition(gf.Data())
    tolerance = 1e-6 if instrument.values is not None else 2e-5
    assert gf.information(prior, instrument, [[0.0]])[0] == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize("name", KINDS)
def test_moments_are_those_of_brute_force(name):
    instrument, y = KINDS[name]
    rng = np.random.default_rng(0)
    for m, v in ((0.2, 1.0), (-2.0, 0.01), (1.0, 9.0)):
        f, w = _grid(m, v)
        answers = rng.choice(y[(y >= 0) & (y < 12)], 3)
        p = instrument.log_partition(answers, np.full(3, m), np.full(3, v))
        for i, answer in enumerate(answers):
            like = np.exp(instrument.log_prob(np.full(len(f), answer), f)) * w
            mean = like @ f / like.sum()
            assert p.log_z[i] == pytest.approx(np.log(like.sum()), abs=1e-7)
            assert m + v * p.d1[i] == pytest.approx(mean, abs=1e-7 * (1 + np.sqrt(v)))
            assert v * p.shrink[i] == pytest.approx(like @ (f - mean) ** 2 / like.sum(), rel=1e-6)


@pytest.mark.parametrize(
    ("instrument", "answers"),
    [
        (ALARM, [False, True]),
        (gf.Count(), [0, 3, 7]),
        (gf.Binomial(trials=5), [0, 2, 5]),
        (gf.StudentT(1.5, df=5.0), [0.1, -1.0]),
    ],
    ids=lambda x: getattr(x, "label", ""),
)
def test_the_laws_of_instruments_hold(instrument, answers):
    check_instrument(instrument, answers)


def test_probabilities_are_those_of_the_textbook():
    g = np.linspace(-2, 2, 5)
    assert gf.Count().log_prob(3.0, g) == pytest.approx(stats.poisson.logpmf(3, np.exp(g)))
    assert gf.Binomial(trials=10).log_prob(7.0, g) == pytest.approx(stats.binom.logpmf(7, 10, ndtr(g)))
    assert gf.StudentT(0.3, df=4.0).log_prob(0.5, g) == pytest.approx(stats.t.logpdf((0.5 - g) / 0.3, 4) - np.log(0.3))


def test_one_answer_of_any_kind_is_exact_by_ep():
    for instrument, answer in ((ALARM, True), (gf.Count(), 4), (gf.Binomial(trials=10), 7), (gf.StudentT(0.3), 1.2)):
        post = gf.GP(gf.SE(variance=2.0)).condition(gf.Data().add(instrument, [[0.0]], [answer]))
        f, w = _grid(0.0, 2.0)
        like = np.exp(instrument.log_prob(np.full(len(f), float(answer)), f)) * w
        mean = like @ f / like.sum()
        assert post.mean([[0.0]])[0] == pytest.approx(mean, abs=1e-7)
        assert post.variance([[0.0]])[0] == pytest.approx(like @ (f - mean) ** 2 / like.sum(), rel=1e-6)
        assert post.log_evidence == pytest.approx(np.log(like.sum()), abs=1e-7)


@pytest.mark.parametrize("name", KINDS)
def test_two_answers_by_ep_and_laplace_are_near_brute_force(name):
    instrument, _ = KINDS[name]
    answers = np.array([1.0, 0.0])
    gp, X = gf.GP(gf.SE(0.5)), np.array([[0.0], [0.3]])
    data = gf.Data().add(instrument, X, answers)
    C = gp.kernel(X)
    grid = np.linspace(-6, 6, 401)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    inverse = np.linalg.inv(C)
    quadratic = inverse[0, 0] * a**2 + 2 * inverse[0, 1] * a * b + inverse[1, 1] * b**2
    p = np.exp(-0.5 * quadratic + instrument.log_prob(1.0 + 0 * a, a) + instrument.log_prob(0 * b, b))
    total = p.sum()
    mean = (p * a).sum() / total
    sd = np.sqrt((p * (a - mean) ** 2).sum() / total)
    evidence = np.log(total * (grid[1] - grid[0]) ** 2) - 0.5 * np.linalg.slogdet(2 * np.pi * C)[1]
    ep, laplace = gp.condition(data), gp.condition(data, inference=gf.Laplace())
    assert ep.converged
    assert ep.mean(X[:1])[0] == pytest.approx(mean, abs=0.02 * sd)
    assert ep.log_evidence == pytest.approx(evidence, abs=0.02)
    assert laplace.mean(X[:1])[0] == pytest.approx(mean, abs=0.5 * sd)
    assert laplace.log_evidence == pytest.approx(evidence, abs=0.3)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_the_gradient_of_the_evidence_is_its_derivative(name, inference):
    instrument, _ = KINDS[name]
    X = np.array([[0.0], [0.3], [0.8]])
    data, gp = gf.Data().add(instrument, X, [1.0, 0.0, 1.0]), gf.GP(gf.SE(0.5, 1.5))
    _, slope = gp.log_evidence_and_gradient(data, inference)
    for i, step in enumerate(np.eye(2) * 1e-3):
        up, down = (
            gp.with_theta(gp.theta + s).condition(data, inference=inference).log_evidence for s in (step, -step)
        )
        assert slope[i] == pytest.approx((up - down) / 2e-3, abs=2e-5)


def test_parameters_of_an_own_instrument_are_learned():
    rng = np.random.default_rng(1)
    X = np.linspace(0, 1, 30)[:, None]
    y = np.sin(6 * X[:, 0]) + 0.2 * rng.laplace(size=30)
    fitted = gf.fit(gf.GP(gf.SE(0.3)), gf.Data().add(Laplacian(), X, y), starts=1)
    assert 0.1 < fitted.values["Laplacian.width"] < 0.4


def test_a_robust_reading_discounts_an_outlier():
    X = np.linspace(0, 1, 11)[:, None]
    y = np.sin(3 * X[:, 0])
    y[5] += 8.0
    gp = gf.GP(gf.SE(0.4))
    robust, plain = (gp.condition(gf.Data().add(i, X, y)) for i in (gf.StudentT(0.1, df=4.0), gf.Point(0.1)))
    truth = np.sin(3 * X[5, 0])
    assert abs(robust.mean(X[5:6])[0] - truth) < 0.1 < 0.5 < abs(plain.mean(X[5:6])[0] - truth)


def test_where_ep_does_not_converge_it_says_so():
    """Precise heavy-tailed readings that all contradict each other: many modes, and no Gaussian fits them."""
    rng = np.random.default_rng(0)
    X, y = rng.random((7, 1)), rng.normal(size=7)
    with pytest.warns(gf.ConvergenceWarning) as caught:
        post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.StudentT(0.006, df=4.0), X, y))
    assert not post.converged
    assert caught[0].message.args[0] == post.convergence.message


def test_information_about_a_region_is_that_of_brute_force():
    """I(answer at x; f(z)) on a grid of both values."""
    post = gf.GP(gf.SE(0.5)).condition(gf.Data().add(gf.Point(0.3), [[0.9]], [0.5]))
    x, z = np.array([[0.0]]), np.array([[0.3]])
    both = np.vstack([x, z])
    m, C = post.mean(both), post.covariance(both)
    fx, fz = (m[i] + np.sqrt(C[i, i]) * np.linspace(-8, 8, 801) for i in range(2))
    inverse = np.linalg.inv(C)
    a, b = np.meshgrid(fx - m[0], fz - m[1], indexing="ij")
    w = np.exp(-0.5 * (inverse[0, 0] * a**2 + 2 * inverse[0, 1] * a * b + inverse[1, 1] * b**2))
    w /= w.sum()
    yes = -np.expm1(-np.exp(fx))

    def h(p):
        p = np.clip(p, 1e-300, 1.0)
        q = np.clip(1 - p, 1e-300, 1.0)
        return -p * np.log2(p) - q * np.log2(q)

    given = (yes[:, None] * w).sum(axis=0) / w.sum(axis=0)
    wanted = h((yes[:, None] * w).sum()) - w.sum(axis=0) @ h(given)
    assert gf.information(post, ALARM, x, about=gf.Region(z))[0] == pytest.approx(wanted, abs=1e-6)
    there = -np.expm1(-np.exp(fz))
    table = np.array([[(p * w * q).sum() for q in (1 - there, there)] for p in (1 - yes[:, None], yes[:, None])])
    one, two = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    epig = (table * np.log2(table / (one * two))).sum()
    assert EPIG(z).score(post, ALARM, x)[0] == pytest.approx(epig, abs=1e-6)


def test_several_posteriors_are_told_apart():
    parts = [gf.GP(gf.SE(), gf.ConstantMean(c)).condition(gf.Data()) for c in (-1.0, 1.0)]
    belief = gf.Belief(parts, [0.4, 0.6])
    for name, (instrument, y) in KINDS.items():
        p = []
        for c in (-1.0, 1.0):
            f, w = _grid(c, 1.0)
            p.append(np.exp(instrument.log_prob(y[:, None], f)) @ w)
        p, weights = np.array(p), np.array([0.4, 0.6])
        mixed = weights @ p
        terms = np.where(p > 0, p * np.log2(np.maximum(p, 1e-300) / np.maximum(mixed, 1e-300)), 0.0)
        wanted = np.sum(_measure(instrument, y) * (weights @ terms))
        got = gf.information(belief, instrument, [[0.0]], about="model")[0]
        assert got == pytest.approx(wanted, abs=1e-6 if instrument.values else 1e-4), name


def test_campaigns_ask_with_it():
    space = gf.Space(gf.Real("x", 0, 1))
    for instrument in (ALARM, gf.Count(), gf.Binomial(trials=10), gf.StudentT(0.3)):
        campaign = gf.Campaign(space, [instrument], gf.GP(gf.SE(0.2)), search=gf.Search(50, 2))
        asked = campaign.ask(3)
        places = np.array([q.place[0] for q in asked])
        assert len(asked) == 3
        assert np.min(np.abs(np.subtract.outer(places, places)) + np.eye(3)) > 0.05
        rng = np.random.default_rng(0)
        for query in asked:
            campaign.tell(query, instrument.encode(instrument.simulate(np.zeros(1), rng)[0]))
        assert campaign.ask() is not None


def test_expected_error_counts_its_answers():
    post = gf.GP(gf.SE(0.5)).condition(gf.Data().add(ALARM, [[0.0], [1.0]], [True, False]))
    X = np.linspace(0, 1, 5)[:, None]
    scores = ExpectedError(X).score(post, ALARM, X)
    now = 1.0 - np.max(post.answers(ALARM, X).probabilities, axis=1).mean()
    assert np.all(scores >= -now - 1e-9)
    assert np.ptp(scores) > 1e-3


def test_words_are_answers_too():
    def three(answer, f):
        logits = {"low": -f, "middle": 0.0 * f, "high": f}
        return logits[answer] - np.logaddexp(np.logaddexp(-f, 0.0 * f), f)

    def draw(f, rng):
        p = np.exp([three(a, f) for a in ("low", "middle", "high")])
        which = (rng.random(np.shape(f)) > np.cumsum(p, axis=0)[:2]).sum(axis=0)
        return np.array(["low", "middle", "high"], dtype=object)[which]

    grade = gf.Likelihood(three, draw, answers=["low", "middle", "high"])
    data = gf.Data().add(grade, [[0.0], [1.0]], ["high", "low"])
    post = gf.GP(gf.SE(0.3)).condition(data)
    assert post.mean([[0.0]])[0] > 0.2 > -0.2 > post.mean([[1.0]])[0]
    assert [grade.encode(code) for code in data.batches[0].answers] == ["high", "low"]
    with pytest.raises(gf.InvalidInput, match="low"):
        gf.Data().add(grade, [[0.0]], ["highest"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gf.Likelihood(3, simulate, answers=[False, True]), "log_prob: expected a named function"),
        (lambda: gf.Likelihood(log_prob, None, answers=[False, True]), "simulate: expected a named function"),
        (lambda: gf.Likelihood(log_prob, simulate, answers="anything"), "answers: expected a list"),
        (lambda: gf.Likelihood(log_prob, simulate, answers=[True]), "two or more"),
        (lambda: gf.Likelihood(log_prob, simulate, answers=[2, 1]), "increasing"),
        (lambda: gf.Likelihood(log_prob, simulate, answers=[1, 1]), "different"),
        (lambda: gf.Binomial(trials=0), "trials"),
        (lambda: gf.StudentT(0.1, df=-1), "df"),
        (lambda: gf.Data().add(gf.Count(), [[0.0]], [-1]), "not negative"),
        (lambda: gf.Data().add(gf.Count(), [[0.0]], [1.5]), "whole"),
        (lambda: gf.Data().add(gf.Binomial(trials=3), [[0.0]], [4]), "0 to 3"),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(gf.InvalidInput, match=message):
        make()


def test_a_probability_in_place_of_its_logarithm_is_noticed():
    def wrong(answer, f):
        return 0.5 + 0.0 * f

    with pytest.raises(gf.InvalidInput, match="return log p"):
        gf.GP(gf.SE()).condition(gf.Data().add(gf.Likelihood(wrong, simulate, answers=[False, True]), [[0.0]], [True]))


def test_counts_of_any_size_have_finite_moments():
    m, v = np.array([-10.0, 13.0, 5.0]), np.array([1.0, 1e-4, 9.0])
    y = np.array([1000.0, 1e6, 0.0])
    p = gf.Count().log_partition(y, m, v)
    assert np.all(np.isfinite(p.log_z))
    for i in range(3):
        g = m[i] + v[i] * p.d1[i] + np.sqrt(v[i] * p.shrink[i]) * np.linspace(-15, 15, 20001)
        logs = y[i] * g - np.exp(g) - gammaln(y[i] + 1.0) - 0.5 * (g - m[i]) ** 2 / v[i]
        w = np.exp(logs - logs.max())
        mean = w @ g / w.sum()
        assert m[i] + v[i] * p.d1[i] == pytest.approx(mean, abs=1e-6)
        assert v[i] * p.shrink[i] == pytest.approx(w @ (g - mean) ** 2 / w.sum(), rel=1e-5)


@pytest.mark.parametrize("name", [s.name for s in gf.strategies() if s.scores and s.name != "bald-closed-form"])
def test_every_strategy_scores_its_answers_alone_and_while_one_is_pending(name):
    """All but the closed form, which is that of another likelihood."""
    X = np.linspace(0, 1, 8)[:, None]
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(ALARM, X[[1, 4, 6]], [True, False, True]))
    other = gf.GP(gf.SE(0.1)).condition(post.data)
    belief = gf.Belief([post, other]) if name == "bald-hyperparameters" else post
    for pending in ([], [gf.Query(ALARM, [0.5])]):
        scores = gf.score(name, belief, ALARM, X, pending=pending)
        assert scores.shape == (8,)
        assert np.all(scores < np.inf)
        assert np.ptp(np.exp(scores)) > 0.0
