"""`Sampled`: draws of the latent values against brute force, and bands that hold where EP's do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

import gainful as gf
from gainful.numerics.elliptical import Target, climb
from tests import oracles

KERNEL = gf.SE(0.5, 1.4)
GP = gf.GP(KERNEL, gf.ConstantMean(0.3))
X = np.array([[0.0], [0.4], [0.9], [1.3]])
DRAWS = 8000
SIGN = gf.Ordinal([0.0], noise=0.0)

Answer = tuple[gf.Instrument, object, tuple[int, ...]]


def data_of(answers: Sequence[Answer]) -> gf.Data:
    data = gf.Data()
    for instrument, answer, at in answers:
        places = X[list(at)]
        data = data.add(instrument, places if instrument.query == "place" else places[None], [answer])
    return data


def likelihood(instrument: gf.Instrument, answer: object, f: np.ndarray) -> np.ndarray:
    """log p(answer | f), from the sentences that define the instruments."""
    kind, y = type(instrument).__name__, answer
    if kind == "Count":
        return stats.poisson.logpmf(y, np.exp(f[..., 0]))
    if kind == "Binomial":
        return stats.binom.logpmf(y, instrument.trials, stats.norm.cdf(f[..., 0]))
    if kind == "StudentT":
        return stats.t.logpdf(y, instrument.df, f[..., 0], instrument.noise)
    if kind == "Likelihood":
        return np.where(np.abs(y - f[..., 0]) < 0.7, 0.0, -np.inf)
    return oracles.log_likelihood(instrument, answer, f)


def grid(answers: Sequence[Answer], steps: int | None = None, reach: float = 6.0) -> oracles.Moments:
    """Evidence, mean and covariance of f at the places that were seen, on a grid in whitened coordinates."""
    used = sorted({i for _, _, at in answers for i in at})
    m, cov = GP.mean(X[used]), KERNEL(X[used], X[used])
    line = np.linspace(-reach, reach, steps or {1: 4001, 2: 601, 3: 121}[len(used)])
    z = np.stack(np.meshgrid(*[line] * len(used), indexing="ij"), axis=-1).reshape(-1, len(used))
    f = m + z @ np.linalg.cholesky(cov).T
    logs = -0.5 * np.sum(z**2, axis=1) + len(used) * np.log((line[1] - line[0]) / np.sqrt(2.0 * np.pi))
    for instrument, answer, at in answers:
        logs = logs + likelihood(instrument, answer, f[:, [used.index(i) for i in at]])
    weight = np.exp(logs)
    mean = weight @ f / weight.sum()
    return oracles.Moments(float(np.log(weight.sum())), mean, (f - mean).T * weight @ (f - mean) / weight.sum())


def within(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda g: (g > low) & (g < high)


BINARY, LAPSING = gf.Binary(), gf.Binary(guess=0.1, lapse=0.05)
UNIFORM = gf.Likelihood(
    lambda y, g: np.where(np.abs(y - g) < 0.7, 0.0, -np.inf), lambda g, rng: g + rng.uniform(-0.7, 0.7, np.shape(g)),
    answers="real",
)  # fmt: skip

KINDS: dict[str, list[Answer]] = {
    "point": [(gf.Point(0.3), 0.5, (0,)), (BINARY, True, (1,))],
    "interval": [(gf.Interval(noise=0.2), (0.4, 1.0), (0,)), (gf.Interval(noise=0.2), (-1.0, 0.2), (2,))],
    "ordinal": [(gf.Ordinal([-0.5, 0.5], noise=0.1), 1, (0,)), (gf.Ordinal([-0.5, 0.5], noise=0.3), 3, (1,))],
    "binary": [(BINARY, True, (0,)), (BINARY, False, (1,)), (BINARY, True, (2,))],
    "lapsing": [(LAPSING, True, (0,)), (LAPSING, False, (1,)), (LAPSING, False, (2,))],
    "preference": [(gf.Preference(), True, (0, 1)), (gf.Preference(noise=0.2), False, (0, 2))],
    "detection": [(gf.Detection(), True, (0, 1)), (gf.Detection(), False, (0, 2))],
    "count": [(gf.Count(), 4, (0,)), (gf.Count(), 0, (1,)), (gf.Count(), 1, (2,))],
    "binomial": [(gf.Binomial(trials=5), 4, (0,)), (gf.Binomial(trials=3), 0, (1,))],
    "student": [(gf.StudentT(noise=0.2, df=3.0), 2.5, (0,)), (gf.StudentT(noise=0.2, df=3.0), -0.5, (0,))],
    "uniform": [(UNIFORM, 1.0, (0,)), (UNIFORM, 0.1, (1,))],
    "mixed": [(gf.Point(0.3), 0.5, (0,)), (gf.Interval(noise=0.2), (0.4, 1.0), (1,)), (gf.Preference(), True, (2, 0))],
}  # fmt: skip


def require_close(post: gf.Posterior, places: np.ndarray, right: oracles.Moments, rough: float = 0.0) -> None:
    """Within five standard errors of the draws (and `rough`, the grid's own error in standard deviations)."""
    assert post.converged
    assert post.draws is not None
    variance = np.diagonal(right.variance)
    unit = 5.0 / np.sqrt(len(post.draws)) + rough
    assert np.all(np.abs(post.mean(places) - right.mean) < unit * np.sqrt(variance))
    spread = np.sqrt(np.outer(variance, variance))
    assert np.all(np.abs(post.covariance(places) - right.variance) < 1.5 * unit * spread)
    assert np.all(np.abs(post.variance(places) - variance) < 2.0 * unit * variance)
    assert abs(post.log_evidence - right.log_z) < 5.0 * post.draws.log_evidence_error + rough


CASES = [
    (kind, count)
    for kind, answers in KINDS.items()
    for count in range(1, len(answers) + 1)
    if not all(instrument.gaussian for instrument, *_ in answers[:count])
]


@pytest.mark.parametrize(("kind", "count"), CASES)
def test_sampled_moments_and_evidence_are_those_of_brute_force(kind: str, count: int) -> None:
    answers = KINDS[kind][:count]
    used = sorted({i for _, _, at in answers for i in at})
    post = GP.condition(data_of(answers), inference=gf.Sampled(DRAWS, seed=1))
    require_close(post, X[used], grid(answers), rough=0.02 if kind == "uniform" else 0.001)


def test_sampled_is_exact_for_four_answers_and_at_places_not_measured() -> None:
    answers: list[Answer] = [(BINARY, True, (0,)), (LAPSING, False, (1,)), (gf.Count(), 2, (2,)), (BINARY, False, (3,))]
    post = GP.condition(data_of(answers), inference=gf.Sampled(DRAWS, seed=2))
    right = grid(answers, steps=37)
    require_close(post, X, right, rough=0.002)
    elsewhere = np.array([[0.2], [2.0]])
    gain = np.linalg.solve(KERNEL(X, X), KERNEL(X, elsewhere)).T
    mean = GP.mean(elsewhere) + gain @ (right.mean - GP.mean(X))
    cov = KERNEL(elsewhere, elsewhere) - gain @ (KERNEL(X, X) - right.variance) @ gain.T
    require_close(post, elsewhere, oracles.Moments(right.log_z, mean, cov), rough=0.002)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_sampled_keeps_answers_without_noise_as_bounds(count: int) -> None:
    """Against rejection: draws of the prior that keep to the windows."""
    windows = [(0.0, np.inf), (-0.3, 0.4), (-np.inf, 0.9), (0.1, 1.1)][:count]
    data = gf.Data().add(gf.Interval(noise=0.0), X[:count], np.array(windows))
    post = GP.condition(data, inference=gf.Sampled(DRAWS, seed=3))
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(KERNEL(X[:count], X[:count]))
    f = 0.3 + rng.standard_normal((1_000_000, count)) @ root.T
    kept = f[np.all([within(*w)(f[:, i]) for i, w in enumerate(windows)], axis=0)]
    right = oracles.Moments(float(np.log(len(kept) / len(f))), kept.mean(axis=0), np.atleast_2d(np.cov(kept.T)))
    require_close(post, X[:count], right, rough=0.01)
    drawn = post.sample(X[:count], 500, 0)
    assert all(within(low - 1e-9, high + 1e-9)(drawn[:, i]).all() for i, (low, high) in enumerate(windows))


def test_three_hard_signs_have_the_evidence_of_an_orthant() -> None:
    gp = gf.GP(gf.SE(0.4))
    post = gp.condition(gf.Data().add(SIGN, X[:3], [2, 2, 2]), inference=gf.Sampled(DRAWS))
    r = gf.SE(0.4)(X[:3], X[:3])
    orthant = 0.125 + (np.arcsin(r[0, 1]) + np.arcsin(r[0, 2]) + np.arcsin(r[1, 2])) / (4.0 * np.pi)
    assert post.draws is not None
    assert post.log_evidence == pytest.approx(np.log(orthant), abs=4.0 * post.draws.log_evidence_error)


def test_samples_and_answers_of_a_sampled_posterior_are_those_of_its_draws() -> None:
    data = gf.Data().add(SIGN, X[:2], [2, 1]).add(gf.Point(0.2), X[2:3], [0.4])
    post = GP.condition(data, inference=gf.Sampled(1000))
    f = post.sample(X, 20_000, 1)
    assert np.allclose(f.mean(axis=0), post.mean(X), atol=0.03)
    assert np.allclose(np.cov(f.T), post.covariance(X), atol=0.05)
    assert post.answers(SIGN, X[:2]).probabilities.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    yes = post.answers(BINARY, X).probability
    assert np.allclose(yes, np.exp(log_ndtr(f)).mean(axis=0), atol=0.01)
    pair = np.stack([X[:2], X[2:4]])
    preferred = post.answers(gf.Preference(), pair).probability
    assert np.allclose(preferred, np.exp(log_ndtr(f[:, [0, 2]] - f[:, [1, 3]])).mean(axis=0), atol=0.01)
    heard = post.answers(gf.Detection(), pair).probability
    missed = np.exp(log_ndtr(-f[:, [0, 2]]) + log_ndtr(-f[:, [1, 3]]))
    assert np.allclose(heard, 1.0 - missed.mean(axis=0), atol=0.01)
    assert np.allclose(post.answers(gf.Point(0.1), X).mean, post.mean(X))


def test_adding_and_removing_answers_is_conditioning_at_once() -> None:
    first, more = gf.Data().add(BINARY, X[:2], [1, 0]), gf.Data().add(SIGN, X[2:3], [2])
    step = GP.condition(first, inference=gf.Sampled(500)).condition(more)
    at_once = GP.condition(first.join(more), inference=gf.Sampled(500))
    assert np.allclose(step.mean(X), at_once.mean(X), atol=1e-6)
    assert np.allclose(step.without([2]).mean(X), GP.condition(first, inference=gf.Sampled(500)).mean(X), atol=1e-6)


def test_gradient_of_information_under_draws_is_that_of_differences() -> None:
    post = GP.condition(gf.Data().add(BINARY, X[:3], [1, 0, 1]), inference=gf.Sampled(500))
    goal, at = gf.Learn(), np.array([[0.6]])
    found = goal.score_and_gradient(post, BINARY, at)
    assert found is not None
    up, down = (goal.score(post, BINARY, at + step)[0] for step in (1e-5, -1e-5))
    assert found[1][0, 0] == pytest.approx((up - down) / 2e-5, rel=1e-5)


def test_hyperparameters_are_learned_with_the_approximation_around_which_draws_are_taken() -> None:
    rng = np.random.default_rng(0)
    data = gf.Data().add(BINARY, rng.random((12, 1)), rng.random(12) > 0.5)
    by_ep, by_draws = gf.fit(gf.GP(gf.SE(0.3)), data), gf.fit(gf.GP(gf.SE(0.3)), data, inference=gf.Sampled(200))
    assert np.allclose(by_ep.gp.theta, by_draws.gp.theta, atol=1e-4)
    assert by_draws.posterior.draws is not None


def test_a_campaign_by_sampling_resumes_to_the_same_belief() -> None:
    space = gf.Space(gf.Real("x", 0, 1))
    campaign = gf.Campaign(space, [BINARY], gf.GP(gf.SE(0.3)), inference=gf.Sampled(100), budget=4)
    while query := campaign.ask():
        campaign.tell(query, bool(query.place[0] > 0.4))
    resumed = gf.Campaign.resume(campaign.journal)
    assert np.array_equal(resumed.posterior.mean(X), campaign.posterior.mean(X))


def chi_square(ranks: Sequence[int], most: int, bins: int = 8) -> float:
    """p of a chi-square test that ranks among `most` draws are uniform."""
    counts = np.histogram(ranks, bins, (-0.5, most + 0.5))[0]
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("spread", [0.003, 1.0])
def test_ranks_of_the_truth_are_uniform_where_those_of_ep_are_not(spread: float) -> None:
    """Simulation-based calibration: the truth's rank among draws is uniform if and only if the posterior is right.

    Fifteen hard signs close together are all but one answer, and EP counts them fifteen times; a few far apart it gets
    right.
    """
    exact, approximate = [], []
    for i in range(80):
        rng = np.random.default_rng(i)
        places = spread * rng.random((15 if spread < 0.1 else 6, 1))
        f = gf.GP(gf.SE(0.3)).condition(gf.Data()).sample(places, 1, rng)[0]
        data = gf.Data().add(SIGN, places, 1 + (f > 0.0))
        for kind, ranks in ((gf.Sampled(127, seed=i), exact), (gf.EP(response=False), approximate)):
            drawn = gf.GP(gf.SE(0.3)).condition(data, inference=kind).sample(places[:1], 127, rng)
            ranks.append(int(np.sum(np.abs(drawn) < np.abs(f[0]))))  # the sign is known: how large it is is not
    assert chi_square(exact, 127) > 1e-3
    if spread < 0.1:
        assert chi_square(approximate, 127) < 1e-6


def test_check_says_by_how_much_bands_are_off() -> None:
    near = 0.3 + 0.001 * np.random.default_rng(0).random((30, 1))
    gp, data = gf.GP(gf.SE(0.3)), gf.Data().add(SIGN, near, [2] * 30)
    found = gp.condition(data, inference=gf.EP(response=False)).check()
    half = stats.halfnorm()
    assert not found
    assert np.all(np.abs(found.coverage - 0.68) < 0.03)
    assert np.all(found.sd_ratio < 0.65)
    assert found.log_evidence_off < -0.3
    assert "Sampled" in str(found)
    assert gp.condition(data).check()  # by linear response
    exact = gp.condition(data, inference=gf.Sampled(4000))
    assert exact.check()
    assert exact.mean(near[:1])[0] == pytest.approx(half.mean(), abs=0.05)
    assert exact.variance(near[:1])[0] == pytest.approx(half.var(), rel=0.1)


def test_check_of_what_is_exact_finds_nothing() -> None:
    assert gf.GP(gf.SE()).condition(gf.Data()).check()
    assert gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.0), [[0.1]], [0.3])).check()
    found = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.1], [0.4]], [0.3, 0.1])).check([[0.2]])
    assert np.allclose([found.mean_off[0], found.sd_ratio[0], found.coverage[0]], [0.0, 1.0, 0.95])
    with pytest.raises(gf.InvalidInput, match="level"):
        gf.GP(gf.SE()).condition(gf.Data()).check(level=95)


def test_impossible_answers_are_refused() -> None:
    with pytest.raises(gf.NumericalError):
        GP.condition(gf.Data().add(SIGN, [[0.1], [0.1]], [1, 2]), inference=gf.Sampled(100))
    for wrong in ({"draws": 0}, {"seed": -1}, {"draws": "many"}, {"around": gf.Sampled()}, {"around": gf.EP}):
        with pytest.raises(gf.InvalidInput):
            gf.Sampled(**wrong)


def test_draws_within_bounds_are_those_of_rejection() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 3))
    low, high = np.array([-0.5, -np.inf, -1, -2, -0.3]), np.array([np.inf, 0.4, 1, 0.1, 2])
    z = rng.standard_normal((1_000_000, 3))
    z = z[np.all((z @ A.T >= low) & (z @ A.T <= high), axis=1)]

    def density(x: np.ndarray) -> np.ndarray:
        return -(np.abs(x[:, 0] - 1.0) ** 1.5) - np.cos(3.0 * x[:, 1])

    found = climb(Target(density, A, low, high), 3, 8000, rng)
    weight = np.exp(density(z))
    mean = weight @ z / weight.sum()
    cov = (z - mean).T * weight @ (z - mean) / weight.sum()
    assert np.allclose(found.draws.mean(axis=0), mean, atol=5.0 * np.sqrt(np.diagonal(cov) / 8000))
    assert np.allclose(np.cov(found.draws.T), cov, atol=0.05)
    assert abs(found.log_normaliser - np.log(weight.sum() / 1_000_000)) < 5.0 * found.error
    assert np.all((found.draws @ A.T >= low - 1e-9) & (found.draws @ A.T <= high + 1e-9))


def test_values_that_numbers_have_told_leave_nothing_to_draw() -> None:
    exact, gp = gf.Point(noise=0.0), gf.GP(gf.SE(0.5))
    for more in (
        gf.Data().add(BINARY, [[0.0]], [True]),
        gf.Data().add(SIGN, [[0.0]], [2]),
        gf.Data().add(gf.Preference(), [[[0.0], [0.0]]], [True]),
    ):
        data = gf.Data().add(exact, [[0.0]], [0.5]).join(more)
        found = gp.condition(data, inference=gf.Sampled(100))
        assert found.log_evidence == pytest.approx(gp.condition(data).log_evidence, abs=1e-9)
        assert np.allclose(found.mean(X), gp.condition(data).mean(X))
        assert gp.condition(data).check()


def test_a_window_without_ends_says_nothing() -> None:
    data = gf.Data().add(gf.Interval(noise=0.0), [[0.0]], [(-np.inf, np.inf)])
    found = GP.condition(data, inference=gf.Sampled(4000))
    assert found.log_evidence == pytest.approx(0.0, abs=0.1)
    assert found.variance([[0.0]])[0] == pytest.approx(1.4, rel=0.1)


def test_bounds_that_leave_no_room_are_refused_at_once() -> None:
    circle = [[[0.0], [1.0]], [[1.0], [2.0]], [[2.0], [0.0]]]
    data = gf.Data().add(gf.Preference(noise=0.0), circle, [True] * 3)
    with pytest.raises(gf.NumericalError, match="contradict"):
        GP.condition(data, inference=gf.Sampled(300))
