"""Inducing points for numbers, against dense matrices, high precision and exact inference."""

import mpmath as mp
import numpy as np
import pytest

import gainful as gf
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.convergence import Result
from gainful.inference.engines import low_rank_ep
from gainful.inference.engines.inducing import Inducing, greedy_places

KERNELS = {
    "SE": gf.SE((0.8, 1.5), 2.0),
    "Matern": gf.Matern(0.9, 0.5, nu=1.5),
    "sum": gf.SE(0.7) * gf.Linear(0.3) + gf.Matern((0.6, 1.0), 0.8),
}
MEAN = gf.LinearMean((0.5, -1.0), 0.3)
PLACES = np.random.default_rng(3).uniform(0.0, 3.0, size=(7, 2))


def two_labs(n=60, seed=0, noises=(0.1, 0.3)):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, size=(n, 2))
    noise = np.where(np.arange(n) < n // 2, *noises)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)
    half = n // 2
    data = gf.Data().add(gf.Point(noises[0]), X[:half], y[:half]).add(gf.Point(noises[1]), X[half:], y[half:])
    return X, y, noise, data


def log_normal(e, S):
    return -0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(2.0 * np.pi * S)[1])


@pytest.mark.parametrize("name", KERNELS)
def test_evidence_and_moments_are_those_of_the_dense_formulas(name):
    X, y, noise, data = two_labs()
    kernel = KERNELS[name]
    belief = Inducing(12).believe(MEAN, kernel, data.layout)
    U, D = belief.points, np.diag(noise**2)
    K, C, Kuu = kernel(X), kernel(X, U), kernel(U)
    Q, e = C @ np.linalg.solve(Kuu, C.T), y - MEAN(X)
    loose = np.sum(np.diagonal(K - Q) / noise**2)
    assert len(U) == 12
    assert belief.log_evidence == pytest.approx(log_normal(e, Q + D) - 0.5 * loose, rel=1e-9)
    wide = Q + (1.0 + loose) * D
    upper = -0.5 * (np.linalg.slogdet(2.0 * np.pi * (Q + D))[1] + e @ np.linalg.solve(wide, e))
    assert belief.upper == pytest.approx(upper, rel=1e-8)
    # q(f(U)) of Titsias 2009, eq. 10, and from it f elsewhere.
    sigma = np.linalg.inv(Kuu + C.T @ np.linalg.solve(D, C))
    gain = kernel(PLACES, U) @ np.linalg.inv(Kuu)
    mean = MEAN(PLACES) + kernel(PLACES, U) @ sigma @ C.T @ np.linalg.solve(D, e)
    cov = kernel(PLACES) + gain @ (Kuu @ sigma @ Kuu - Kuu) @ gain.T
    np.testing.assert_allclose(belief.mean(PLACES), mean, rtol=1e-8)
    np.testing.assert_allclose(belief.variance(PLACES), np.diagonal(cov), rtol=1e-8)
    np.testing.assert_allclose(belief.covariance(PLACES, PLACES[:3]), cov[:, :3], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_with_every_place_a_point_it_is_exact_inference(name):
    *_, data = two_labs(n=30)
    gp = gf.GP(KERNELS[name], mean=MEAN)
    value, slopes = gp.log_evidence_and_gradient(data)
    belief = Inducing(1000).believe(MEAN, gp.kernel, data.layout)
    found = belief.gradient()
    assert belief.log_evidence == pytest.approx(value, rel=1e-9)
    assert belief.upper == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(np.concatenate([found.kernel, found.mean]), slopes, rtol=1e-6, atol=1e-6)
    post = gp.condition(data)
    np.testing.assert_allclose(belief.mean(PLACES), post.mean(PLACES), rtol=1e-8)
    np.testing.assert_allclose(belief.variance(PLACES), post.variance(PLACES), rtol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_the_gradient_is_that_of_the_bound_with_the_points_held(name):
    X, y, noise, data = two_labs()
    kernel = KERNELS[name]
    engine = Inducing(greedy_places(kernel, X, 15))
    theta, n = np.concatenate([kernel.theta, MEAN.theta]), kernel.size

    def bound(at):
        return engine.believe(MEAN.with_theta(at[n:]), kernel.with_theta(at[:n]), data.layout).log_evidence

    found = engine.believe(MEAN, kernel, data.layout).gradient()
    differences = [(bound(theta + h) - bound(theta - h)) / 2e-5 for h in 1e-5 * np.eye(len(theta))]
    np.testing.assert_allclose(np.concatenate([found.kernel, found.mean]), differences, rtol=1e-6, atol=1e-5)

    def noisier(i, h):
        errors = noise * np.exp(h * (np.arange(len(X)) == i))
        readings = gf.Data().add(gf.PointWithError(), X, np.stack([y, errors], axis=1))
        return engine.believe(MEAN, kernel, readings.layout).log_evidence

    for i in (0, 31, 59):
        assert found.noise[i] == pytest.approx((noisier(i, 1e-5) - noisier(i, -1e-5)) / 2e-5, rel=1e-5, abs=1e-5)


def test_an_instrument_s_slope_is_the_sum_over_its_answers():
    *_, data = two_labs()
    belief = Inducing(10).believe(MEAN, KERNELS["SE"], data.layout)
    noise = belief.gradient().noise
    one, other = belief.instrument_gradient()
    assert one == pytest.approx([noise[:30].sum()])
    assert other == pytest.approx([noise[30:].sum()])


@pytest.mark.parametrize("noises", [(0.1, 0.1), (0.02, 1.0)], ids=["one noise", "two noises"])
def test_the_two_bounds_hold_the_evidence_between_them_and_close_in_on_it(noises):
    *_, data = two_labs(noises=noises)
    exact = gf.GP(KERNELS["SE"], mean=MEAN).log_evidence_and_gradient(data)[0]
    lower, upper = [], []
    for points in (1, 5, 10, 20, 30, 40):
        belief = Inducing(points).believe(MEAN, KERNELS["SE"], data.layout)
        lower.append(belief.log_evidence)
        upper.append(belief.upper)
    assert np.all(np.diff(lower) > 0.0)
    assert np.all(np.array(lower) < exact)
    assert np.all(np.array(upper) > exact)
    assert upper[-1] - lower[-1] < 1e-2 * (upper[1] - lower[1])


def test_points_are_the_pivots_of_the_prior_covariance():
    """One at a time: where the conditional variance given those before is largest."""
    X, kernel = np.random.default_rng(5).uniform(size=(40, 2)), gf.Matern(0.4, nu=1.5) + gf.Linear(0.5)
    chosen = greedy_places(kernel, X, 8)
    for j, place in enumerate(chosen):
        before = chosen[:j]
        left = kernel.diag(X)
        if j:
            left = left - np.sum(kernel(X, before) * np.linalg.solve(kernel(before), kernel(before, X)).T, axis=1)
        assert np.array_equal(X[np.argmax(left)], place)
    assert np.array_equal(greedy_places(kernel, X, 8), chosen)


def test_places_that_come_twice_are_points_once():
    X, y, _, _ = two_labs(n=20)
    twice = gf.Data().add(gf.Point(0.1), np.concatenate([X, X]), np.concatenate([y, y + 0.05]))
    belief = Inducing(40).believe(MEAN, KERNELS["Matern"], twice.layout)
    assert len(belief.points) == 20
    exact = gf.GP(KERNELS["Matern"], mean=MEAN).log_evidence_and_gradient(twice)[0]
    assert belief.log_evidence == pytest.approx(exact, rel=1e-10)
    assert belief.upper == pytest.approx(exact, rel=1e-10)


def test_given_points_that_depend_on_others_are_left_out_and_reported():
    X, _, _, data = two_labs(n=30)
    given = np.concatenate([X[:10], X[:4], X[:2] + 1e-9])
    belief = Inducing(given).believe(MEAN, KERNELS["Matern"], data.layout)
    alone = Inducing(X[:10]).believe(MEAN, KERNELS["Matern"], data.layout)
    assert len(belief.points) == 10
    assert "6 more were left out" in belief.report()
    assert "left out" not in alone.report()
    assert belief.log_evidence == pytest.approx(alone.log_evidence, rel=1e-7)


def test_a_constant_column_changes_nothing():
    X, y, _, _ = two_labs(n=30)
    flat = np.column_stack([X, np.full(30, 7.0)])
    with_flat = Inducing(8).believe(gf.Zero(), gf.SE((0.8, 1.5, 1.0)), gf.Data().add(gf.Point(0.1), flat, y).layout)
    without = Inducing(8).believe(gf.Zero(), gf.SE((0.8, 1.5)), gf.Data().add(gf.Point(0.1), X, y).layout)
    assert with_flat.log_evidence == pytest.approx(without.log_evidence, rel=1e-12)
    np.testing.assert_allclose(with_flat.gradient().kernel[[0, 1, 3]], without.gradient().kernel, rtol=1e-8)
    assert with_flat.gradient().kernel[2] == 0.0


def test_a_prior_without_variance_leaves_no_points_and_the_answers_to_the_noise():
    data = gf.Data().add(gf.Point(0.1), np.zeros((3, 1)), np.ones(3))
    belief = Inducing().believe(gf.Zero(), gf.Linear(1.0), data.layout)
    assert belief.points.shape == (0, 1)
    assert belief.log_evidence == pytest.approx(log_normal(np.ones(3), 0.01 * np.eye(3)))
    assert belief.variance(np.array([[2.0]])) == pytest.approx(gf.Linear(1.0).diag(np.array([[2.0]])))
    assert belief.gradient().kernel.tolist() == [0.0]


def bound_in_high_precision(kernel, X, U, noise, e):
    with mp.workdps(60):
        K, C, Kuu = (mp.matrix(each.tolist()) for each in (kernel(X), kernel(X, U), kernel(U)))
        n, D, e = len(X), mp.diag([mp.mpf(float(s)) ** 2 for s in noise]), mp.matrix(e[:, None].tolist())
        Q = C * mp.inverse(Kuu) * C.T
        L = mp.cholesky(Q + D)
        misfit = (e.T * mp.lu_solve(Q + D, e))[0]
        log_det = 2 * sum(mp.log(L[i, i]) for i in range(n))
        loose = sum((K[i, i] - Q[i, i]) / D[i, i] for i in range(n))
        return float(-(n * mp.log(2 * mp.pi) + log_det + misfit + loose) / 2)


@pytest.mark.parametrize("noise", [1e-4, 1e-8])
def test_a_noise_of_1e_8_of_the_signal_costs_no_digits_where_every_place_is_a_point(noise):
    rng = np.random.default_rng(1)
    X, kernel = rng.uniform(0.0, 3.0, size=(20, 1)), gf.Matern(0.5, nu=1.5)
    y, noises = np.sin(3.0 * X[:, 0]), np.full(20, noise)
    belief = Inducing(20).believe(gf.Zero(), kernel, gf.Data().add(gf.Point(noise), X, y).layout)
    truth = bound_in_high_precision(kernel, X, belief.points, noises, y)
    assert belief.log_evidence == pytest.approx(truth, abs=1e-8)
    assert belief.rounding == 0.0


def test_one_precise_reading_among_rough_ones_costs_no_digits(monkeypatch):
    """Where B is formed, the precise readings drown the others; where it is not, they do not."""
    rng = np.random.default_rng(1)
    X, kernel = rng.uniform(0.0, 3.0, size=(20, 1)), gf.Matern(0.5, nu=1.5)
    noises = np.where(np.arange(20) % 4 == 0, 1e-7, 1.0)
    y = np.sin(3.0 * X[:, 0]) + noises * rng.normal(size=20)
    layout = gf.Data().add(gf.PointWithError(), X, np.stack([y, noises], axis=1)).layout
    belief = Inducing(20).believe(gf.Zero(), kernel, layout)
    truth = bound_in_high_precision(kernel, X, belief.points, noises, y)
    assert belief.log_evidence == pytest.approx(truth, abs=1e-8)
    monkeypatch.setattr(low_rank_ep, "_SQUARES_LOSE", np.inf)
    formed = Inducing(20).believe(gf.Zero(), kernel, layout)
    assert abs(formed.log_evidence - truth) > 1e-6


def test_rounding_says_how_well_the_bound_is_known_where_noise_is_small():
    rng = np.random.default_rng(1)
    X, kernel = rng.uniform(0.0, 3.0, size=(20, 1)), gf.SE(0.3)
    y = np.sin(3.0 * X[:, 0])
    belief = Inducing(20).believe(gf.Zero(), kernel, gf.Data().add(gf.Point(1e-8), X, y).layout)
    truth = bound_in_high_precision(kernel, X, belief.points, np.full(20, 1e-8), y)
    assert len(belief.points) < 20
    assert 1e-3 < abs(belief.log_evidence - truth) < belief.rounding
    assert "in double precision" in belief.report()


def test_a_start_holds_its_points_while_the_places_are_the_same():
    *_, data = two_labs()
    first = Inducing(10).believe(MEAN, KERNELS["SE"], data.layout)
    moved = gf.SE((2.4, 0.5), 2.0)
    held = Inducing(10).believe(MEAN, moved, data.layout, first)
    anew = Inducing(10).believe(MEAN, moved, data.layout)
    assert sorted(map(tuple, held.points)) == sorted(map(tuple, first.points))
    assert sorted(map(tuple, anew.points)) != sorted(map(tuple, first.points))
    more = data.add(gf.Point(0.1), [[9.0, 9.0]], [1.0])
    assert [9.0, 9.0] in Inducing(10).believe(MEAN, moved, more.layout, first).points.tolist()


def test_blocks_of_rows_change_nothing(monkeypatch):
    *_, data = two_labs()
    kernel = KERNELS["sum"]
    whole = Inducing(9).believe(MEAN, kernel, data.layout)
    expected = whole.log_evidence, whole.gradient(), whole.variance(PLACES), whole.covariance(PLACES, PLACES)
    monkeypatch.setattr("gainful.numerics.memory.WORKING", 8 * 9 * 12)
    parts = Inducing(9).believe(MEAN, kernel, data.layout)
    assert parts.log_evidence == pytest.approx(expected[0], rel=1e-12)
    for one, other in zip(parts.gradient(), expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(parts.variance(PLACES), expected[2], rtol=1e-10)
    np.testing.assert_allclose(parts.covariance(PLACES, PLACES), expected[3], rtol=1e-9, atol=1e-12)


def test_the_outcome_and_the_report_say_what_was_done():
    *_, data = two_labs()
    belief = Inducing(20).believe(MEAN, KERNELS["SE"], data.layout)
    assert belief.convergence.result is Result.APPROXIMATED
    assert belief.convergence.message == "approximated by 20 inducing points"
    yes = gf.Data().add(gf.Binary(name="yes"), [[0.1], [0.5], [0.9]], [1, 0, 1])
    posterior = gf.GP(gf.SE(0.3)).condition(yes, inference=Inducing(2))
    assert posterior.convergence.message.startswith("converged in ")
    assert posterior.convergence.message.endswith("; by 2 inducing points")
    gap = f"{belief.upper - belief.log_evidence:.2g} apart"
    assert gap in belief.report()
    assert belief.report().endswith("by 20 inducing points for 60 answers")


@pytest.mark.parametrize("points", [0, 2.5, "many", [[np.nan]], [1.0, 2.0], np.zeros((0, 2))], ids=repr)
def test_points_are_a_number_or_places(points):
    with pytest.raises(InvalidInput, match="points"):
        Inducing(points)


def test_engines_are_values():
    assert Inducing([[1.0, 2.0]]) == Inducing(np.array([[1.0, 2.0]]))
    assert hash(Inducing(7)) == hash(Inducing(7))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gf.Data(), "one answer at least"),
        (gf.Data().add(gf.Point(0.0), [[0.0]], [1.0]), "some noise"),
        (gf.Data().add(gf.Point(0.1), [[0.0, 1.0]], [1.0]), "places with 2 coordinates"),
    ],
    ids=["no answers", "no noise", "other columns"],
)
def test_what_it_cannot_take_is_refused_in_words(data, words):
    with pytest.raises(InvalidInput, match=words):
        Inducing([[0.5]]).believe(gf.Zero(), gf.SE(), data.layout)


def test_a_covariance_that_is_none_is_refused_in_words():
    class Wrong(type(gf.SE())):
        def matrix(self, X, Z):
            return 3.0 * super().matrix(X, Z)

    data = gf.Data().add(gf.Point(0.1), np.arange(5.0)[:, None], np.ones(5))
    with pytest.raises(NumericalError, match="not the diagonal and the columns"):
        Inducing(3).believe(gf.Zero(), Wrong(2.0), data.layout)
