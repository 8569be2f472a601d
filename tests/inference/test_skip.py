"""SKIP against whole matrices: products, slopes, evidence and predictions, to the error that its rank leaves."""

import warnings

import numpy as np
import pytest

import gainful as gf
from gainful.inference.engines.iterative import Iterative
from gainful.inference.engines.krylov import KrylovBelief, Solver
from gainful.inference.engines.skip import SKIP, ProductOperator, SumOperator, factors, summands
from gainful.inference.evidence import evidence_and_gradient
from gainful.kernels.warped import warped
from gainful.numerics.interpolation import Grid

LAB = gf.Point(0.1, name="lab")
PRECISE = Solver(tolerance=1e-9, probes=300)


def operator(X, kernel, rank=30, grid=100):
    return ProductOperator(kernel, X, Grid.covering(X, grid), rank)


def error(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


def readings(kernel, N, D, noise=0.1, seed=0):
    """Of a function of the kernel's own, with places elsewhere and what the function is there."""
    rng = np.random.default_rng(seed)
    X, Z = rng.random((N, D)), rng.uniform(0.05, 0.95, size=(60, D))
    both = np.concatenate([X, Z])
    f = np.linalg.cholesky(kernel(both) + 1e-9 * np.eye(len(both))) @ rng.normal(size=len(both))
    return gf.Data().add(gf.Point(noise, name="lab"), X, f[:N] + noise * rng.normal(size=N)), Z, f[N:]


def corners(D):
    return [[0.0] * D, [1.0] * D]


@pytest.mark.parametrize(("D", "most"), [(1, 1e-6), (2, 1e-6), (3, 1e-6), (4, 1e-6), (5, 1e-5), (8, 1e-3), (12, 1e-2)])
def test_in_the_unit_cube_rank_30_is_within_its_error_and_says_it(D, most):
    rng = np.random.default_rng(D)
    X = rng.random((300, D))
    kernel = gf.SE((1.0,) * D, 1.7)
    op, K = operator(X, kernel), kernel(X)
    found = op.times(np.eye(300))
    assert error(found, K) < most
    assert SumOperator((op,)).product_error == pytest.approx(error(found, K), rel=0.5)
    assert op.diagonal() == pytest.approx(np.diagonal(found), rel=1e-12)
    assert op.column(7) == pytest.approx(found[:, 7], abs=1e-12)
    assert found == pytest.approx(found.T, abs=1e-12)
    assert np.linalg.eigvalsh(found)[0] > -1e-10
    Z, V = rng.uniform(0.05, 0.95, size=(20, D)), rng.normal(size=(300, 3))
    assert error(op.project(Z, op.weigh(V)), kernel(Z, X) @ V) < most


@pytest.mark.parametrize(
    "kernel",
    [
        gf.SE(0.5, 1.3),
        gf.SE(0.4).on(1),
        gf.Matern(0.7, 2.0, nu=2.5).on(1) * gf.SE(0.4).on(0),
        2.0 * gf.SE(0.6).on(0) * (gf.SE(0.5) + gf.Periodic(1.0, 0.8)).on(1),
        gf.Periodic((1.0, 1.5), (0.9, 1.4), 0.7),
        gf.SE((0.4, 0.6)) * gf.Constant(3.0) * gf.SE(1.2).on(1),
        gf.Constant(2.5),
    ],
)
def test_with_rank_enough_a_product_is_that_of_its_interpolated_factors_and_so_are_its_slopes(kernel):
    """Two dimensions, and as much rank as there are places: what is left is the grid's error and rounding."""
    rng = np.random.default_rng(0)
    X, (U, V) = rng.random((60, 2)), rng.normal(size=(2, 60, 3))
    op = operator(X, kernel, rank=60, grid=200)
    assert op.times(V) == pytest.approx(kernel(X) @ V, abs=1e-4)
    interpolated = np.ones((60, 60))
    for factor in factors(kernel, op.grid):
        W = factor.weights(X).toarray()
        interpolated *= W @ factor.among.dense() @ W.T
    assert op.times(V) - op.missed[:, None] * V == pytest.approx(interpolated @ V, abs=1e-9)
    exact = kernel.pullback(X, X, U @ V.T)
    assert op.pulled(U, V) == pytest.approx(exact, abs=1e-4 * np.abs(exact).max())
    assert op.project(X, op.weigh(V)) == pytest.approx(interpolated @ V, abs=1e-9)


@pytest.mark.parametrize(("D", "rank", "near"), [(1, 5, 1e-5), (3, 30, 1e-5), (4, 10, 0.005), (8, 30, 0.2)])
def test_slopes_are_those_of_its_own_dense_evidence(D, rank, near):
    """By differences of a dense log evidence with the approximated matrix in place of the kernel's."""
    rng = np.random.default_rng(1)
    X = rng.random((150, D))
    kernel, grid = gf.SE((1.0,) * D), Grid.covering(X, 60)
    y = np.linalg.cholesky(kernel(X) + 0.01 * np.eye(150)) @ rng.normal(size=150)

    def made(theta):
        op = ProductOperator(kernel.with_theta(theta), X, grid, rank)
        return op, op.times(np.eye(150)) + 0.01 * np.eye(150)

    def evidence(theta):
        B = made(theta)[1]
        return -0.5 * (y @ np.linalg.solve(B, y) + np.linalg.slogdet(B)[1])

    op, B = made(kernel.theta)
    alpha = np.linalg.solve(B, y)
    found = op.pulled(0.5 * (np.outer(alpha, alpha) - np.linalg.inv(B)), np.eye(150))
    steps = 1e-4 * np.eye(D + 1)
    own = np.array([(evidence(kernel.theta + h) - evidence(kernel.theta - h)) / 2e-4 for h in steps])
    assert found == pytest.approx(own, abs=near * np.abs(own).max())
    assert found[-1] == pytest.approx(own[-1], rel=1e-5, abs=1e-4)  # whatever they err, they scale with it


def test_a_smooth_problem_in_four_dimensions_is_that_of_exact_inference():
    gp = gf.GP(gf.SE((0.8, 0.9, 1.0, 1.1), 1.2), gf.ConstantMean(0.3))
    data, Z, _ = readings(gp.kernel, 400, 4)
    exact, ours = gp.condition(data), gp.condition(data, SKIP(over=corners(4), solver=PRECISE))
    assert isinstance(ours.behind, KrylovBelief)
    error = 0.5 * ours.behind.log_det.standard_error
    assert abs(ours.log_evidence - exact.log_evidence) < 4.0 * error + 1e-3
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=1e-4)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), rel=1e-2)
    assert ours.covariance(Z) == pytest.approx(exact.covariance(Z), abs=1e-5)
    assert "products are off by" in ours.behind.convergence.message
    assert "products" not in gp.condition(data, Iterative()).behind.convergence.message.split(";")[-1]


def test_a_sum_of_products_is_the_sum_of_their_matrices():
    rng = np.random.default_rng(0)
    X, Z, (U, V) = rng.random((80, 3)), rng.uniform(0.1, 0.9, size=(9, 3)), rng.normal(size=(2, 80, 2))
    kernel = gf.SE((0.8, 1.0, 1.2), 1.3) + (gf.SE(0.6).on(0) * gf.SE(0.9).on(2) + gf.Constant(0.7)) + gf.SE(0.7).on(1)
    op = SumOperator(tuple(operator(X, term, rank=60) for term in summands(kernel)))
    assert op.times(V) == pytest.approx(kernel(X) @ V, abs=1e-5)
    assert op.product_error < 1e-6
    assert op.diagonal() == pytest.approx(kernel.diag(X), rel=1e-6)
    assert op.column(3) == pytest.approx(kernel(X)[:, 3], rel=1e-6)
    assert op.project(Z, op.weigh(V)) == pytest.approx(kernel(Z, X) @ V, abs=1e-5)
    assert op.variance(Z) == pytest.approx(kernel.diag(Z), rel=1e-5)
    assert op.between(Z, X) == pytest.approx(kernel(Z, X), abs=1e-5)
    exact = kernel.pullback(X, X, U @ V.T)
    assert op.pulled(U, V) == pytest.approx(exact, abs=1e-5 * np.abs(exact).max())


def test_an_unknown_offset_is_taken_and_a_logarithm_refused_without_other_warnings():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(20.0, 90.0, 100), rng.uniform(1e-3, 1.0, 100)])
    y = 3.0 + np.sin(X[:, 0] / 20.0) + X[:, 1] + 0.1 * rng.normal(size=100)
    kernel = gf.SE((30.0, 0.8), 1.5) + gf.Constant(9.0)  # as a GP of a space has it
    gp, data = gf.GP(kernel), gf.Data().add(LAB, X, y)
    ours, exact = gp.condition(data, SKIP(solver=PRECISE)), gp.condition(data)
    assert ours.mean(X[:9]) == pytest.approx(exact.mean(X[:9]), abs=1e-3)
    assert ours.variance(X[:9]) == pytest.approx(exact.variance(X[:9]), rel=0.01)
    space = gf.Space(gf.Real("a", 20.0, 90.0), gf.Real("b", 1e-3, 1.0, log=True))
    with pytest.raises(gf.InvalidInput, match="products of kernels of distances"):
        gf.GP(warped(kernel, space.coordinates)).condition(data, SKIP())


def test_its_gradient_is_near_the_exact_one():
    gp = gf.GP(gf.SE((0.8, 0.9, 1.0, 1.1), 1.2), gf.ConstantMean(0.3))
    data, _, _ = readings(gf.SE((0.5, 0.9, 2.0, 1.1), 2.0), 400, 4)
    ours = evidence_and_gradient(gp.mean, gp.kernel, data, SKIP(rank=40, solver=PRECISE))
    exact = evidence_and_gradient(gp.mean, gp.kernel, data, gf.Exact())
    size = np.abs(exact.kernel).max()
    assert ours.kernel == pytest.approx(exact.kernel, abs=0.05 * size)
    assert ours.mean == pytest.approx(exact.mean, rel=1e-3)
    assert ours.instruments[0] == pytest.approx(exact.instruments[0], abs=0.05 * size)


def test_what_the_rank_leaves_out_widens_the_belief_and_throws_no_prediction_off():
    """Products err by 0.2 %, far more than the noise. The kernel's own covariances with other places, which hold what
    products lack, would take α there for what it is not: predictions are thrown off, and variances fall below zero."""
    gp = gf.GP(gf.SE((1.0,) * 8))
    data, Z, f = readings(gp.kernel, 300, 8, noise=0.02)
    exact, ours = gp.condition(data), gp.condition(data, SKIP(rank=15, over=corners(8)))
    (op,) = ours.behind.operator.terms
    B = op.times(np.eye(300)) + 0.02**2 * np.eye(300)
    assert np.linalg.norm(B - gp.kernel(op.X), 2) > 100.0 * 0.02**2

    def off(mean):
        return np.sqrt(np.mean((mean - f) ** 2))

    assert off(ours.mean(Z)) < 2.5 * off(exact.mean(Z))
    assert np.all(ours.variance(Z) > exact.variance(Z))
    assert 0.4 < np.mean(((ours.mean(Z) - f) ** 2) / ours.variance(Z)) < 1.5
    assert np.linalg.eigvalsh(ours.covariance(Z))[0] > 0.0
    cross = gp.kernel(Z, op.X)
    assert off(cross @ ours.behind.alpha) > 1.5 * off(ours.mean(Z))
    assert np.min(1.0 - np.einsum("mn,nm->m", cross, np.linalg.solve(B, cross.T))) < 0.0


def continued(step, joint, N):
    """Dense, among readings and places: Q T Qᵀ of what was decomposed, and C T⁺ Cᵀ with C its columns times Q."""
    whole = joint[step.factors[0]]
    if step.parts is not None:
        whole = np.prod([continued(part, joint, N) for part in step.parts], axis=0)
    Q, T = step.form.Q, step.form.T.matrix
    C = np.concatenate([Q @ T, whole[N:, :N] @ Q])
    return C @ np.linalg.pinv(T, rcond=1e-13, hermitian=True) @ C.T


@pytest.mark.parametrize("noise", [1.0, 0.1, 0.01, 1e-3, 1e-5])
@pytest.mark.parametrize(("D", "rank"), [(1, 10), (2, 20), (3, 20), (5, 10)])
def test_readings_and_places_have_one_positive_prior_and_the_belief_is_that_of_its_dense_matrices(D, rank, noise):
    """Some places are readings' places, and some are equal: they share what K̂ lacks of their variance."""
    kernel = gf.SE(tuple(np.linspace(0.4, 0.9, D)), 1.3)
    data, Z, _ = readings(kernel, 90, D, noise)
    X, y = data.layout.places, np.ravel(data.batches[0].answers)
    Z = np.concatenate([Z[:12], X[:3], Z[:2]])
    solver = Solver(tolerance=1e-12, probes=16, root=90)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.ConvergenceWarning)  # more is asked of solves than rounding may allow
        post = gf.GP(kernel).condition(data, SKIP(rank=rank, over=corners(D), solver=solver))
    (op,) = post.behind.operator.terms
    both, joint = np.concatenate([X, Z]), []
    for factor in factors(kernel, op.grid):
        W = factor.weights(both).toarray()
        joint.append(W @ factor.among.dense() @ W.T)
    joint.append(np.ones((len(both), len(both))))  # of a single factor the other
    K = np.prod([continued(end, joint, 90) for end in op.merged.ends], axis=0)
    assert K[:90, :90] == pytest.approx(op.times(np.eye(90)) - np.diag(op.missed), abs=1e-10)
    missed = np.maximum(1.3 - np.diagonal(K), 0.0)
    among = K[90:, 90:] + np.all(Z[:, None] == Z, axis=2) * missed[90:, None]
    B = K[:90, :90] + np.diag(missed[:90] + noise**2)
    off = 4.0 * post.behind.log_det.standard_error + 1e-5
    assert post.behind.log_det.value == pytest.approx(np.linalg.slogdet(B)[1], abs=off)
    assert post.behind.misfit == pytest.approx(y @ np.linalg.solve(B, y), rel=1e-6)
    assert post.mean(Z) == pytest.approx(K[90:, :90] @ np.linalg.solve(B, y), abs=1e-6)
    exact = among - K[90:, :90] @ np.linalg.solve(B, K[:90, 90:])
    assert post.covariance(Z) == pytest.approx(exact, abs=1e-8)
    assert post.variance(Z) == pytest.approx(np.diagonal(exact), abs=1e-8)
    assert post.covariance(Z)[12, 13] == pytest.approx(post.covariance(Z[12:13], Z[13:14])[0, 0], abs=1e-12)


@pytest.mark.parametrize("noise", [1.0, 0.1, 0.01, 1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("D", [1, 2, 3, 5])
def test_covariances_are_positive_and_draws_are_made_whatever_the_noise(D, noise):
    gp = gf.GP(gf.SE((0.3, 0.5, 0.9, 1.2, 2.0)[:D]) + gf.Constant(0.5))
    rng = np.random.default_rng(2)
    X, Z = rng.uniform(size=(150, D)), rng.uniform(0.1, 0.9, size=(20, D))
    Z[18:] = X[:2]
    data = gf.Data().add(gf.Point(noise), X, np.sin(6.0 * X[:, 0]) + noise * rng.normal(size=150))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.ConvergenceWarning)  # at the smallest noise solves may fall short
        post = gp.condition(data, SKIP(rank=25, over=corners(D)))
    cov = post.covariance(Z)
    assert np.linalg.eigvalsh(cov)[0] > -1e-9 * np.diagonal(cov).max()
    assert np.diagonal(cov) == pytest.approx(post.variance(Z), rel=1e-6, abs=1e-12)
    assert np.all(np.isfinite(post.sample(Z, 2, 0)))


@pytest.mark.parametrize(("noise", "most"), [(0.1, 0.1), (0.01, 10.0), (1e-3, 1e3)])
def test_how_far_products_are_off_is_said_beside_the_noise(noise, most):
    """The largest eigenvalue of K̂ − K is below what is said, and the belief is the exact one where that is small."""
    gp = gf.GP(gf.SE((0.3, 0.5)))
    data, Z, _ = readings(gp.kernel, 200, 2, noise)
    exact, ours = gp.condition(data), gp.condition(data, SKIP(over=corners(2)))
    operator = ours.behind.operator
    said = operator.off(np.full(200, noise**2))
    beside = float(said.split("at most ")[1].split(" times the noise")[0])
    apart = np.linalg.norm(operator.times(np.eye(200)) - gp.kernel(data.layout.places), 2)
    assert 0.9 * apart / noise**2 < beside < most
    assert np.abs(ours.variance(Z) / exact.variance(Z) - 1.0).max() < max(0.1 * beside, 0.01)


def test_at_no_places_there_is_nothing():
    data, _, _ = readings(gf.SE((0.5, 0.5)), 30, 2)
    post, none = gf.GP(gf.SE((0.5, 0.5))).condition(data, SKIP()), np.zeros((0, 2))
    assert post.mean(none).shape == post.variance(none).shape == (0,)
    assert post.covariance(none).shape == (0, 0)
    assert post.covariance(none, data.layout.places).shape == (0, 30)


def test_variances_missing_from_products_are_added_to_them():
    X = np.random.default_rng(3).normal(size=(300, 12))
    kernel = gf.SE((1.0,) * 12, 2.0)
    op = operator(X, kernel)
    low_rank = op.times(np.eye(300)) - np.diag(op.missed)
    assert error(low_rank, kernel(X)) > 0.5
    assert error(op.times(np.eye(300)), kernel(X)) < 0.3
    assert op.diagonal() == pytest.approx(np.full(300, 2.0), abs=0.1)


def test_a_fit_through_it_reaches_the_evidence_of_an_exact_fit():
    """Slopes are by probes and values are not, so that a search ends in the noise of the slopes, sometimes with a
    warning: as with exact products. What is claimed is the exact evidence at its end."""
    gp = gf.GP(gf.SE((0.8, 0.8, 0.4)))
    data, _, _ = readings(gf.SE((0.4, 0.6, 1.5), 1.5), 80, 3)
    exact = gf.fit(gp, data, starts=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.ConvergenceWarning)
        ours = gf.fit(gp, data, starts=1, inference=SKIP(rank=25, grid=40, solver=Solver(probes=30)))
    assert gp.condition(data).log_evidence < exact.log_evidence - 10.0
    assert ours.gp.condition(ours.data).log_evidence == pytest.approx(exact.log_evidence, abs=0.5)


@pytest.mark.parametrize("columns", [1, 2])
def test_duplicates_and_columns_without_change_are_no_trouble(columns):
    rng = np.random.default_rng(0)
    x = np.repeat(rng.random(30), 3)
    X = np.column_stack([x, np.full((90, columns), 2.0), np.tile(rng.random(30), 3)])
    data = gf.Data().add(LAB, X, np.sin(6.0 * x) + 0.1 * rng.normal(size=90))
    gp = gf.GP(gf.SE((0.3, *(1.0,) * columns, 0.7)))
    Z = np.column_stack([rng.uniform(0.1, 0.9, 10), np.full((10, columns), 2.3), rng.uniform(0.1, 0.9, 10)])
    ours, exact = gp.condition(data, SKIP(over=[[0.0] * (columns + 2), [3.0] * (columns + 2)])), gp.condition(data)
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=1e-3)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), rel=0.01)


def test_a_column_that_the_kernel_does_not_see_is_left_out():
    grid = Grid.covering(corners(3), 20)
    assert [factor.dimension for factor in factors(gf.SE(1.0).on(1), grid)] == [1]
    assert [factor.dimension for factor in factors(gf.SE((1.0, 0.3)).on(2, 0), grid)] == [0, 2]
    assert len(factors(gf.Constant(2.0), grid)) == 1


@pytest.mark.parametrize(
    "kernel",
    [
        gf.Matern((0.4, 0.8), nu=2.5),
        gf.RationalQuadratic(0.5),
        gf.Matern((1e-3, 1.0), nu=1.5),
        gf.Matern(0.02, nu=2.5),
        gf.SE(0.5) + gf.Linear(),
        gf.SE(0.5) + gf.Matern(0.5),
        gf.SE(0.5) * (gf.SE(0.5).on(0) + gf.SE(0.5).on(1)),
        gf.SE(0.5).on(0) * gf.Linear().on(1),
        gf.SE(0.5) * gf.CentredLinear(0.5),
        gf.Additive([(0,), (1,)]),
    ],
)
def test_a_kernel_that_is_no_product_along_dimensions_is_refused_with_a_way_out(kernel):
    data, _, _ = readings(gf.SE(0.5), 30, 2)
    with pytest.raises(
        gf.InvalidInput, match=r"products of kernels of distances.*Vecchia\(\), Inducing\(\) or Iterative"
    ):
        gf.GP(kernel).condition(data, SKIP())


def test_other_answers_no_noise_places_beyond_the_grids_and_bad_settings_are_refused():
    gp = gf.GP(gf.SE((0.5, 0.5)))
    with pytest.raises(gf.InvalidInput, match="Inducing"):
        gp.condition(gf.Data().add(gf.Binary(), [[0.1, 0.2], [0.3, 0.4]], [1, 0]), SKIP())
    with pytest.raises(gf.InvalidInput, match="state a noise"):
        gp.condition(gf.Data().add(gf.Point(0.0), [[0.1, 0.2], [0.3, 0.4]], [1.0, 0.5]), SKIP())
    data, _, _ = readings(gp.kernel, 30, 2)
    with pytest.raises(gf.InvalidInput, match="dimension 1"):
        gp.condition(data, SKIP()).mean([[0.5, 9.0]])
    assert np.isfinite(gp.condition(data, SKIP(over=[[0.0, 10.0]])).mean([[0.5, 9.0]])[0])
    for wrong in ({"rank": 0}, {"rank": 2.5}, {"grid": 3}, {"grid": (100, "many")}, {"solver": 1e-4}):
        with pytest.raises(gf.InvalidInput, match=next(iter(wrong))):
            SKIP(**wrong)
    with pytest.raises(gf.InvalidInput, match="over"):
        gp.condition(data, SKIP(over=[[0.0, 1.0, 2.0]]))


def test_outputs_are_refused_by_what_they_are_and_not_by_the_corners_of_the_space():
    space = gf.Space(gf.Real("x", 0.0, 1.0))
    X = np.linspace(0.0, 1.0, 20)[:, None]
    data = gf.Data().add(gf.Point(0.1, output="u"), X, X[:, 0]).add(gf.Point(0.1, output="v"), X, -X[:, 0])
    with pytest.raises(gf.InvalidInput, match="one function of the space"):
        gf.GP(space=space).condition(data, inference=gf.SKIP())
