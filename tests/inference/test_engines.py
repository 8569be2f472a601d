"""Engines against whole matrices: whatever an engine stands behind, a posterior can do the same things with it."""

import pickle
from importlib import import_module

import numpy as np
import pytest

import gainful as gf
from gainful.inference.engines.dense import Dense, DenseBelief
from gainful.inference.engines.gridded import GridBelief
from gainful.inference.engines.interpolated import Interpolated
from gainful.inference.engines.iterative import Iterative, Tiles
from gainful.inference.engines.krylov import KrylovBelief, Solver
from gainful.inference.engines.ski import SKI
from gainful.inference.engines.vecchia import VecchiaBelief
from gainful.inference.evidence import evidence_and_gradient
from gainful.inference.fantasy import fantasize
from gainful.numerics.interpolation import Grid
from gainful.testing import check_engine

LAB, YES = gf.Point(0.1, name="lab"), gf.Binary(name="yes")
PRECISE = Solver(tolerance=1e-10, probes=64, root=1000)


def problem(N=200, D=2, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N, D))
    y = np.sin(5.0 * X[:, 0]) + noise * rng.normal(size=N)
    return gf.Data().add(LAB, X, y), rng.uniform(0.05, 0.95, size=(12, D))


def model(D=2, kernel=None):
    lengths = tuple(np.linspace(0.4, 0.8, D))
    return gf.GP(gf.Matern(lengths, 1.3, nu=2.5) if kernel is None else kernel, gf.ConstantMean(0.2))


@pytest.mark.parametrize(
    ("engine", "tolerance", "slopes"),
    [
        (Dense(), 1e-7, 1e-6),
        (gf.Single(tolerance=1e-12), 1e-5, 1e-4),
        (gf.Vecchia(60), 1e-7, 1e-6),
        (gf.Vecchia(8), None, 1e-6),
        (gf.Inducing(60), 1e-4, 1e-5),
        (gf.Inducing(15), None, 1e-5),
        (SKI(over=[[0.0, 0.0], [1.0, 1.0]], grid=Grid.covering([[0.0, 0.0], [1.0, 1.0]], 20)), 1e-3, 1e-5),
        (Iterative(solver=Solver(tolerance=1e-10, probes=300)), 0.02, 0.1),
    ],
)
def test_every_engine_keeps_the_laws_of_engines(engine, tolerance, slopes):
    check_engine(engine, tolerance=tolerance, slopes=slopes)
    check_engine(engine, gf.Matern((0.7, 0.9), nu=2.5), slopes=slopes, seed=1)


def same(a, b, Z, rel):
    assert a.log_evidence == pytest.approx(b.log_evidence, rel=rel, abs=1e-9)
    assert a.mean(Z) == pytest.approx(b.mean(Z), rel=rel, abs=rel)
    assert a.variance(Z) == pytest.approx(b.variance(Z), rel=rel, abs=1e-12)
    assert a.covariance(Z) == pytest.approx(b.covariance(Z), rel=rel, abs=1e-9)


def test_a_factor_in_place_is_exact_inference():
    data, Z = problem()
    gp = model()
    same(gp.condition(data, Dense()), gp.condition(data), Z, 1e-9)


@pytest.mark.parametrize("kernel", [gf.SE((0.3, 0.6)) + gf.Linear(0.2), gf.Matern(0.5, nu=1.5) * gf.SE(0.7).on(1)])
def test_its_gradient_is_that_of_exact_inference(kernel):
    data, _ = problem(150)
    gp = model(kernel=kernel)
    ours = evidence_and_gradient(gp.mean, gp.kernel, data, Dense())
    exact = evidence_and_gradient(gp.mean, gp.kernel, data, gf.Exact())
    assert ours.value == pytest.approx(exact.value, rel=1e-10)
    for a, b in ((ours.kernel, exact.kernel), (ours.mean, exact.mean), (ours.instruments[0], exact.instruments[0])):
        assert a == pytest.approx(b, rel=1e-7, abs=1e-8)


def test_tiles_of_the_kernel_meet_at_their_edges(monkeypatch):
    from gainful.inference.engines import dense

    monkeypatch.setattr(dense, "_TILE", 17)
    data, Z = problem(100)
    gp = model()
    same(gp.condition(data, Dense()), gp.condition(data), Z, 1e-9)
    ours = evidence_and_gradient(gp.mean, gp.kernel, data, Dense())
    exact = evidence_and_gradient(gp.mean, gp.kernel, data, gf.Exact())
    assert ours.kernel == pytest.approx(exact.kernel, rel=1e-7)


@pytest.fixture(scope="module")
def behind_and_whole():
    """The same answers behind an engine and in whole matrices, with later answers of several kinds after them."""
    data, Z = problem()
    gp = model()
    more = gf.Data().add(LAB, Z[:3], [0.0, 1.0, 0.2]).join(gf.Data().add(YES, Z[3:6], [1, 0, 1]))
    return gp.condition(data, Dense()).condition(more), gp.condition(data).condition(more), Z


def test_later_answers_of_any_kind_are_taken_as_by_whole_matrices(behind_and_whole):
    same(*behind_and_whole, 1e-7)


def test_what_is_pending_is_counted_on_alike(behind_and_whole):
    ours, exact, Z = behind_and_whole
    pending = [gf.Query(LAB, [0.1, 0.2]), gf.Query(YES, [0.3, 0.9])]
    assert fantasize(ours, pending).variance(Z) == pytest.approx(fantasize(exact, pending).variance(Z), rel=1e-7)


def test_information_and_its_slopes_are_alike(behind_and_whole):
    ours, exact, Z = behind_and_whole
    for look in (LAB, YES):
        assert gf.information(ours, look, Z) == pytest.approx(gf.information(exact, look, Z), rel=1e-6)
        a, b = ours.vjp(look, Z), exact.vjp(look, Z)
        ones = np.ones(len(Z))
        assert a.back(ones, ones) == pytest.approx(b.back(ones, ones), rel=1e-5, abs=1e-6)


def test_draws_and_quantiles_are_alike(behind_and_whole):
    ours, exact, Z = behind_and_whole
    assert ours.sample(Z, 3, 0) == pytest.approx(exact.sample(Z, 3, 0), abs=1e-5)
    assert ours.quantile(Z, [0.1, 0.9]) == pytest.approx(exact.quantile(Z, [0.1, 0.9]), abs=1e-7)
    assert ours.answers(YES, Z).log_probabilities == pytest.approx(exact.answers(YES, Z).log_probabilities, abs=1e-7)


@pytest.mark.parametrize("gone", [[201], [4], [4, 203], [205]])
def test_answers_are_taken_out_whether_the_engine_has_seen_them_or_not(behind_and_whole, gone):
    ours, exact, Z = behind_and_whole
    assert ours.without(gone).mean(Z) == pytest.approx(exact.without(gone).mean(Z), abs=1e-7)
    assert ours.without(gone).log_evidence == pytest.approx(exact.without(gone).log_evidence, rel=1e-7)


def test_many_readings_are_taken_by_an_engine_without_being_told(monkeypatch):
    from gainful.inference.engines import choosing

    data, Z = problem()
    wide, places = problem(D=5)
    precise = gf.Data().add(gf.Point(0.002), wide.layout.places, np.sin(5.0 * wide.layout.places[:, 0]))
    exact, exact_of_precise = model().condition(data), model(5).condition(precise)
    monkeypatch.setattr(choosing, "FEW", 100)
    near, ours = model().condition(data), model(5).condition(precise)
    assert exact.behind is None
    assert isinstance(ours.behind, DenseBelief)  # of precise readings of a smooth function, all count
    same(ours, exact_of_precise, places, 1e-6)
    assert isinstance(near.behind, VecchiaBelief)  # of noisy ones thirty will do, and it says so
    assert near.behind.missing < 0.01 * len(data)
    assert near.log_evidence == pytest.approx(exact.log_evidence, abs=0.01 * len(data))
    assert near.mean(Z) == pytest.approx(exact.mean(Z), abs=0.005)


def test_several_models_are_weighed_by_evidences_of_one_engine(monkeypatch):
    from gainful.inference.engines import choosing

    data, _ = problem()
    rough = gf.GP(gf.Matern((0.2, 0.3), nu=0.5))
    exact = gf.Models([model(), rough]).condition(data)
    monkeypatch.setattr(choosing, "FEW", 100)
    ours = gf.Models([model(), rough]).condition(data)
    assert all(isinstance(each.behind, DenseBelief) for each in ours.posteriors)
    assert ours.weights == pytest.approx(exact.weights, abs=1e-9)
    monkeypatch.setattr(choosing, "available", lambda: 0)
    ours = gf.Models([model(), rough]).condition(data)
    assert all(isinstance(each.behind, VecchiaBelief) for each in ours.posteriors)


def test_who_asks_for_exact_inference_gets_it_or_a_refusal_and_no_approximation(monkeypatch):
    from gainful.inference.engines import choosing, dense

    data, _ = problem(150)
    monkeypatch.setattr(choosing, "FEW", 100)
    monkeypatch.setattr(choosing, "available", lambda: 0)  # no memory: left to itself it would approximate
    assert isinstance(model().condition(data, gf.Exact()).behind, DenseBelief)
    assert not isinstance(model().condition(data).behind, DenseBelief)
    monkeypatch.setattr(dense, "require_room", lambda *given: (_ for _ in ()).throw(gf.InvalidInput(*map(str, given))))
    with pytest.raises(gf.InvalidInput, match="data"):
        model().condition(data, gf.Exact())
    yes = gf.Data().add(YES, data.layout.places, (data.batches[0].answers > 0).astype(int))
    with pytest.raises(gf.InvalidInput, match="use EP"):
        model().condition(yes, gf.Exact())


@pytest.mark.parametrize(("noise", "belief"), [(0.003, DenseBelief), (0.3, VecchiaBelief)])
def test_a_fit_that_is_told_nothing_is_exact_where_neighbours_fall_short(monkeypatch, noise, belief):
    for room, name in (("inference.engines.choosing", "FEW"), ("hyper.fit", "MANY"), ("hyper.staged", "FIRST")):
        monkeypatch.setattr(import_module(f"gainful.{room}"), name, 400)
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(1000, 3))
    data = gf.Data().add(
        gf.Point(0.1), X, np.sin(6.0 * X[:, 0]) * np.cos(3.0 * X[:, 1] + 1.0 * X[:, 2]) + noise * rng.normal(size=1000)
    )
    fitted = gf.fit(gf.GP(gf.Matern((0.5, 0.5, 0.5), nu=2.5)), data, starts=1)
    assert fitted.converged
    assert isinstance(fitted.posterior.behind, belief)
    assert fitted.values["Point.noise"] == pytest.approx(noise, rel=0.1)


@pytest.mark.parametrize("engine", [gf.Exact(), gf.Single()])
def test_a_fit_of_more_readings_than_there_is_room_for_is_refused_before_it_begins(monkeypatch, engine):
    from gainful.numerics import memory

    data, _ = problem(4200)
    monkeypatch.setattr(memory, "MOST", 5_000_000)  # room for the 1500 that a search begins with
    for kind in (Dense, gf.Single):
        monkeypatch.setattr(kind, "believe", lambda *_: pytest.fail("it began"))
    with pytest.raises(gf.InvalidInput, match="Vecchia"):
        gf.fit(model(), data, starts=1, inference=engine)


def test_a_fit_through_an_engine_ends_where_the_other_does():
    data, _ = problem(80)
    a, b = (gf.fit(model(), data, starts=1, inference=each) for each in (None, Dense()))
    assert a.theta == pytest.approx(b.theta, abs=1e-3)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-6)


def test_a_check_by_draws_is_refused_behind_an_engine():
    data, _ = problem(20)
    with pytest.raises(gf.InvalidInput, match="without an engine"):
        model().condition(data, Dense()).check()


@pytest.mark.parametrize("engine", [Dense(), gf.Single(), Iterative(), SKI()])
def test_other_answers_and_readings_without_noise_are_refused_with_a_way_out(engine):
    yes = gf.Data().add(YES, [[0.1, 0.2], [0.3, 0.4]], [1, 0])
    with pytest.raises(gf.InvalidInput, match="Inducing"):
        model().condition(yes, engine)
    exact = gf.Data().add(gf.Point(0.0), [[0.1, 0.2], [0.3, 0.4]], [1.0, 0.5])
    with pytest.raises(gf.InvalidInput, match="state a noise"):
        model().condition(exact, engine)


def test_products_of_tiles_are_those_of_the_matrix_kept_or_not(monkeypatch):
    from gainful.inference.engines import dense

    monkeypatch.setattr(dense, "_TILE", 16)
    rng = np.random.default_rng(0)
    X, (U, V), kernel = rng.normal(size=(50, 2)), rng.normal(size=(2, 50, 3)), gf.SE((0.5, 0.8)) + gf.Linear(0.3)
    for room in (0, 700, 10**6):
        tiles = Tiles(kernel, X, room)
        assert tiles.times(V) == pytest.approx(kernel(X) @ V, rel=1e-12)
        assert tiles.pulled(U, V) == pytest.approx(kernel.pullback(X, X, U @ V.T), rel=1e-10)


def test_solves_give_the_exact_belief_and_its_evidence_within_its_standard_error():
    data, Z = problem()
    exact, ours = model().condition(data), model().condition(data, Iterative(solver=PRECISE))
    assert isinstance(ours.behind, KrylovBelief)
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=1e-6)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), rel=1e-3)  # a root of some 2 × the degrees of freedom
    error = 0.5 * ours.behind.log_det.standard_error
    assert abs(ours.log_evidence - exact.log_evidence) < 4.0 * error + 1e-6


def test_the_gradient_by_probes_is_near_the_exact_one():
    data, _ = problem()
    gp = model()
    ours = evidence_and_gradient(gp.mean, gp.kernel, data, Iterative(solver=Solver(tolerance=1e-8, probes=500)))
    exact = evidence_and_gradient(gp.mean, gp.kernel, data, gf.Exact())
    size = np.abs(exact.kernel).max()
    assert ours.kernel == pytest.approx(exact.kernel, abs=0.1 * size)
    assert ours.mean == pytest.approx(exact.mean, rel=1e-5)
    assert ours.instruments[0] == pytest.approx(exact.instruments[0], abs=0.1 * size)


def test_a_root_of_few_vectors_makes_variances_too_large_and_says_so():
    data, Z = problem(300, noise=0.05)
    gp = model(kernel=gf.Matern((0.1, 0.1), 1.0, nu=1.5))
    few = gp.condition(data, Iterative(solver=Solver(root=20)))
    with pytest.warns(gf.ConvergenceWarning, match="a root of 20 vectors"):
        found = few.variance(Z)
    assert np.all(found >= gp.condition(data).variance(Z) * (1.0 - 1e-6))
    assert few.behind.excess > 0.2


def test_a_factor_in_single_precision_gives_the_exact_belief():
    data, Z = problem(400)
    gp = model()
    exact, ours = gp.condition(data), gp.condition(data, gf.Single())
    error = 0.5 * ours.behind.refined.log_det.standard_error
    assert error < 2e-3
    assert abs(ours.log_evidence - exact.log_evidence) < 5.0 * error + 1e-6
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=1e-8)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), rel=1e-3)
    assert ours.behind.refined.error < 1e-3
    assert "single precision: variances are right to" in ours.convergence.message
    a, b = (evidence_and_gradient(gp.mean, gp.kernel, data, each) for each in (gf.Single(), gf.Exact()))
    assert a.kernel == pytest.approx(b.kernel, abs=1e-4 * np.abs(b.kernel).max())
    assert a.mean == pytest.approx(b.mean, rel=1e-7)
    assert a.instruments[0] == pytest.approx(b.instruments[0], rel=1e-4)
    one, other = (gf.fit(gp, data, starts=1, inference=each) for each in (gf.Single(), None))
    # Both searches end where next to nothing is left to be gained, which is not the same place.
    assert other.problem.log_density(one.theta)[0] == pytest.approx(other.log_density, abs=1e-3)


def test_single_precision_is_refused_where_it_is_not_enough():
    data, _ = problem(400)
    precise = gf.Data().add(gf.Point(1e-4), data.layout.places, data.batches[0].answers)
    with pytest.raises(gf.NumericalError, match=r"single precision is not enough.*variances are off by .*Exact\(\)"):
        model().condition(precise, gf.Single())


def test_a_refinement_that_falls_short_is_no_convergence():
    data, _ = problem()
    with pytest.warns(gf.ConvergenceWarning, match="relative residual"):
        post = model().condition(data, gf.Single(most=1, tolerance=1e-14))
    assert not post.converged


def test_a_solve_that_falls_short_is_no_convergence():
    data, _ = problem()
    with pytest.warns(gf.ConvergenceWarning, match="relative residual"):
        post = model().condition(data, Iterative(solver=Solver(most=2, preconditioner=1, tolerance=1e-8)))
    assert not post.converged


@pytest.mark.parametrize("D", [1, 2, 3])
@pytest.mark.parametrize("few", [True, False])
def test_interpolation_from_a_grid_is_the_gp_of_its_own_kernel(D, few, monkeypatch):
    """Dense formulas with W K_UU Wᵀ in place of the kernel: on the grid exactly, by solves to their tolerance."""
    from gainful.inference.engines import ski

    monkeypatch.setattr(ski, "_on_the_grid", lambda points, readings: few)
    data, Z = problem(120, D)
    gp = model(D)
    behind = gp.condition(data, SKI(grid=9, over=[[0.0] * D, [1.0] * D], solver=PRECISE)).behind
    assert isinstance(behind, GridBelief if few else KrylovBelief)
    X, y = data.layout.places, data.batches[0].answers
    op = behind.operator
    K = op.W.toarray() @ op.among.dense() @ op.W.toarray().T
    B = K + 0.01 * np.eye(len(X))
    e = np.ravel(y) - 0.2
    exact = -0.5 * (e @ np.linalg.solve(B, e) + np.linalg.slogdet(B)[1] + len(e) * np.log(2.0 * np.pi))
    error = 0.0 if few else 0.5 * behind.log_det.standard_error  # of the probes
    assert behind.log_evidence == pytest.approx(exact, abs=1e-7 + 4.0 * error)
    cross = op.between(Z, X)
    assert behind.mean(Z) == pytest.approx(0.2 + cross @ np.linalg.solve(B, e), abs=1e-6)
    cov = op.between(Z, Z) - cross @ np.linalg.solve(B, cross.T)
    assert behind.covariance(Z, Z) == pytest.approx(cov, abs=1e-7)
    assert behind.variance(Z) == pytest.approx(np.diagonal(cov), abs=1e-7)


def test_the_interpolated_kernel_is_its_dense_matrix():
    rng = np.random.default_rng(0)
    for D in (1, 2, 3, 4):
        X, (U, V) = rng.uniform(size=(30, D)), rng.normal(size=(2, 30, 2))
        op = Interpolated(gf.SE(tuple(np.linspace(0.4, 0.9, D)), 1.7), X, Grid.covering(X, 7))
        W = op.W.toarray()
        K = W @ op.among.dense() @ W.T
        assert op.times(V) == pytest.approx(K @ V, rel=1e-10)
        assert op.diagonal() == pytest.approx(np.diagonal(K), rel=1e-10)
        assert op.column(3) == pytest.approx(K[:, 3], rel=1e-10)
        assert op.project(X, op.weigh(V)) == pytest.approx(K @ V, rel=1e-10)
        lags = np.array(np.meshgrid(*[op.grid.axis(d) for d in range(D)], indexing="ij")).reshape(D, -1).T
        G = W.T @ U @ (W.T @ V).T
        assert op.pulled(U, V) == pytest.approx(op.kernel.pullback(lags, lags, G), rel=1e-9)
        assert op.pulled_dense(G) == pytest.approx(op.kernel.pullback(lags, lags, G), rel=1e-9)


@pytest.mark.parametrize("few", [True, False])
def test_its_gradient_is_that_of_its_evidence(few, monkeypatch):
    from gainful.inference.engines import ski

    monkeypatch.setattr(ski, "_on_the_grid", lambda points, readings: few)
    data, _ = problem(120)
    gp = model()
    engine = SKI(grid=Grid.covering([[0.0, 0.0], [1.0, 1.0]], 12), solver=PRECISE)
    found = evidence_and_gradient(gp.mean, gp.kernel, data, engine)
    theta = gp.theta
    for i in range(len(theta)):
        step = 1e-4 * (np.arange(len(theta)) == i)
        moved = [gp.with_theta(theta + s) for s in (step, -step)]
        up, down = (evidence_and_gradient(m.mean, m.kernel, data, engine).value for m in moved)
        whole = np.concatenate([found.kernel, found.mean])
        # The same probes either way: their own slope is the estimate's, but for what the preconditioner draws.
        assert whole[i] == pytest.approx((up - down) / 2e-4, rel=1e-5 if few else 0.2, abs=1e-5 if few else 2.0)


def test_a_grid_is_refined_until_it_errs_by_less_than_the_noise():
    data, Z = problem(400, 1)
    rough = gf.GP(gf.Matern(0.3, 1.3, nu=1.5), gf.ConstantMean(0.2))
    exact, ours = rough.condition(data), rough.condition(data, SKI())
    assert ours.behind.operator.error < 1e-3
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=0.02)
    assert ours.variance(Z) == pytest.approx(exact.variance(Z), abs=0.05 * 0.1**2)  # as it is refined to
    assert abs(ours.log_evidence - exact.log_evidence) < 3.0


KERNELS = [
    gf.SE(0.3),
    gf.SE((0.2, 0.7, 0.3, 0.4)),
    gf.Matern(0.3, 1.7, nu=0.5),
    gf.Matern(0.1, nu=2.5),
    gf.Periodic(0.4, 0.6),
    gf.RationalQuadratic(0.2) + gf.SE(0.4).on(0),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("D", [1, 2, 3])
def test_the_error_that_is_stated_is_the_largest_between_places_anywhere_on_the_grid(kernel, D):
    """Against dense matrices at places that are spread over the grid, some of them close together."""
    if kernel == KERNELS[1]:
        kernel = gf.SE((0.2, 0.7, 0.3)[:D])
    rng = np.random.default_rng(D)
    grid = Grid.covering([[-0.3] * D, [0.9] * D], (40, 20, 12)[D - 1])
    Z = rng.uniform(-0.3, 0.9, size=(300, D))
    Z[1::2] = np.clip(Z[::2] + 0.01 * rng.normal(size=(150, D)), -0.3, 0.9)
    op = Interpolated(kernel, Z, grid)
    largest = np.abs(op.between(Z, Z) - kernel(Z)).max() / kernel.diag(Z[:1])[0]
    assert 0.7 * largest < op.error < 2.0 * largest
    assert Interpolated(kernel, Z[:1], grid).error == op.error  # wherever the readings are


@pytest.mark.parametrize(
    ("kernel", "X", "over"),
    [
        (gf.Matern(0.05), np.full((20, 1), 0.3), [[-0.1], [0.7]]),
        (gf.SE(0.3), np.full((1, 1), 0.3), None),
        (gf.Matern(0.3, nu=0.5), np.repeat([0.0, 0.25, 0.5, 1.0], 5)[:, None], None),
        (gf.SE((0.3, 0.02)), np.column_stack([np.linspace(0.0, 1.0, 60), np.full(60, 0.5)]), None),
        (gf.SE((0.3, 0.02)), np.column_stack([np.linspace(0.0, 1.0, 60), np.full(60, 0.5)]), [[0.0, 0.4], [1.0, 0.7]]),
    ],
)
def test_a_grid_is_fine_enough_between_readings_that_lie_on_few_levels(kernel, X, over):
    """Readings that are on points of the grid see no error there, and tell of no scale along a column of one value."""
    rng = np.random.default_rng(0)
    data = gf.Data().add(LAB, X, np.sin(6.0 * X[:, 0]) + 0.1 * rng.normal(size=len(X)))
    exact, ours = (gf.GP(kernel).condition(data, inference=each) for each in (None, SKI(over=over)))
    grid = ours.behind.operator.grid
    low, high = (np.array(ends) for ends in zip(*map(grid.interior, range(X.shape[1])), strict=True))
    Z = np.clip(rng.uniform(low, high, size=(200, X.shape[1])), X.min(axis=0) - 0.2, X.max(axis=0) + 0.2)
    Z = np.clip(Z, low, high)
    assert ours.behind.operator.error <= 0.05 * 0.1**2
    assert np.abs(ours.variance(Z) - exact.variance(Z)).max() < 2.0 * 0.05 * 0.1**2
    assert np.abs(ours.mean(Z) - exact.mean(Z)).max() < 0.02
    assert np.all(low < X.min(axis=0))
    assert np.all(high > X.max(axis=0))


@pytest.mark.parametrize("noise", [3e-4, 1e-8])
def test_a_grid_out_of_proportion_to_the_readings_is_refused_with_a_way_out(noise):
    """300 readings would be taken exactly in the time that the transforms of one such grid take."""
    data, _ = problem(300, 2, noise=noise)
    precise = gf.Data().add(gf.Point(noise), data.layout.places, data.batches[0].answers)
    gp = gf.GP(gf.SE((0.3, 0.5)))
    with pytest.raises(gf.NumericalError, match=r"[\d.e+]+ times the noise; Exact\(\) or Iterative\(\)"):
        gp.condition(precise, SKI())
    stated = gp.condition(precise, SKI(grid=40, over=[[0.0, 0.0], [1.0, 1.0]])) if noise > 1e-8 else None
    assert stated is None or "times the noise" in stated.convergence.message


def test_the_points_of_a_grid_are_in_proportion_to_the_readings(monkeypatch):
    from gainful.inference.engines import ski

    monkeypatch.setattr(ski, "_FREE", 1000)
    monkeypatch.setattr(ski, "_KEPT", 100)
    rough = gf.GP(gf.Matern((0.3, 0.3), nu=0.5))
    for N in (50, 100):
        data, _ = problem(N, 2)
        noisy = gf.Data().add(gf.Point(0.5), data.layout.places, data.batches[0].answers)
        operator = rough.condition(noisy, SKI()).behind.operator
        assert operator.grid.size <= max(1000, 16 * N)
        assert 0.05 < operator.error / 0.5**2 < 1.0  # more than was wanted, and less than would be refused
        assert f"{operator.error / 0.5**2:.2g} times the noise" in operator.off(np.full(N, 0.5**2))


def test_a_grid_is_kept_whole_where_that_is_less_work_than_solves():
    """Of 3600 points it is from twenty-odd thousand readings on, of 1444 always, of more than 8192 never."""
    gp = gf.GP(gf.SE(0.2))
    rng = np.random.default_rng(0)
    for N, side, kept in ((500, 38, True), (500, 60, False), (24_000, 60, True), (24_000, 95, False)):
        X = rng.uniform(size=(N, 2))
        behind = gp.condition(gf.Data().add(gf.Point(0.3), X, X[:, 0]), SKI(grid=side)).behind
        assert isinstance(behind, GridBelief) is kept


@pytest.mark.parametrize("kernel", [gf.SameCluster((0, 0, 1)).on(1), gf.Exchangeable(3).on(1)])
def test_a_kernel_of_levels_is_refused_in_words(kernel):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=40), rng.integers(0, 3, 40)])
    data = gf.Data().add(LAB, X, X[:, 0])
    with pytest.raises(gf.InvalidInput, match=r"inference: expected a kernel of distances for SKI\(\)"):
        gf.GP(gf.SE(0.3).on(0) * kernel).condition(data, SKI())


def test_a_grid_that_is_fine_enough_is_kept_from_one_setting_to_the_next():
    data, _ = problem(100)
    gp = model()
    first = SKI().believe(gp.mean, gp.kernel, data.layout)
    near, rough = (gf.Matern(tuple(s * np.array([0.4, 0.8])), 1.3, nu=2.5) for s in (1.2, 0.25))
    grids = [SKI().believe(gp.mean, kernel, data.layout, first).operator.grid for kernel in (near, rough)]
    assert grids[0] == first.operator.grid
    assert grids[1].size > first.operator.grid.size
    assert SKI().believe(gp.mean, near, data.layout).operator.grid != first.operator.grid


@pytest.mark.parametrize("kernel", [gf.Linear(), gf.SE() + gf.Linear(), gf.SE().on(0) * gf.CentredLinear().on(1)])
def test_a_kernel_that_is_not_one_of_distances_is_refused(kernel):
    data, _ = problem(30)
    with pytest.raises(gf.InvalidInput, match="kernel of distances"):
        model(kernel=kernel).condition(data, SKI())


def test_more_than_four_dimensions_and_places_beyond_the_grid_are_refused():
    data, _ = problem(30, 5)
    with pytest.raises(gf.InvalidInput, match="at most 4 dimensions"):
        model(5).condition(data, SKI())
    data, _ = problem(30)
    post = model().condition(data, SKI())
    with pytest.raises(gf.InvalidInput, match="dimension 0"):
        post.mean([[9.0, 0.5]])
    assert np.all(np.isfinite(model().condition(data, SKI(over=[[-1.0, -1.0], [10.0, 2.0]])).mean([[9.0, 0.5]])))


def test_a_stated_grid_without_room_is_refused_before_anything_is_made():
    data = problem(50, 4)[0]
    with pytest.raises(gf.InvalidInput, match=r"grid: expected .* 8 GB .* 100 × 100 × 100 × 100 .*SKIP\(\)"):
        model(4).condition(data, SKI(grid=100))


@pytest.mark.parametrize("engine", [Dense(), Iterative(), SKI()])
def test_duplicates_and_a_column_without_change_are_no_trouble(engine):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat(rng.uniform(size=30), 3), np.full(90, 2.0)])
    data = gf.Data().add(gf.Point(0.01), X, np.sin(6.0 * X[:, 0]) + 0.01 * rng.normal(size=90))
    gp = gf.GP(gf.SE((0.3, 1.0)))
    Z = np.column_stack([rng.uniform(0.1, 0.9, 10), np.full(10, 2.0)])
    assert gp.condition(data, engine).mean(Z) == pytest.approx(gp.condition(data).mean(Z), abs=5e-3)


ALL = [Dense(), gf.Single(), gf.Vecchia(8), gf.Inducing(10), gf.Iterative(), gf.SKI(), gf.SKIP()]


@pytest.mark.parametrize("engine", ALL, ids=lambda each: type(each).__name__)
def test_the_only_answer_that_came_after_an_engine_is_taken_out_again(engine):
    rng = np.random.default_rng(2)
    X, lab = rng.uniform(size=(50, 2)), gf.Point(0.1, name="lab")
    first = gf.GP(gf.SE((0.4, 0.6))).condition(gf.Data().add(lab, X, X[:, 0]), inference=engine)
    later = first.condition(gf.Data().add(lab, [[0.5, 0.5], [0.4, 0.6]], [0.0, 0.3]))
    for back in (later.without([50, 51]), later.without(51).without(50), later.without(50).without(50)):
        assert back.mean(X[:5]) == pytest.approx(first.mean(X[:5]), abs=1e-9)
        assert back.log_evidence == pytest.approx(first.log_evidence, abs=1e-9)
        assert len(back.data) == 50


@pytest.mark.parametrize("engine", ALL, ids=lambda each: type(each).__name__)
def test_what_an_engine_believes_is_pickled(engine):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(50, 2))
    belief = gf.GP(gf.SE((0.4, 0.6))).condition(gf.Data().add(gf.Point(0.1), X, X[:, 0]), inference=engine)
    again = pickle.loads(pickle.dumps(belief))
    assert again.mean(X[:5]).tolist() == belief.mean(X[:5]).tolist()
    assert again.log_evidence == belief.log_evidence


@pytest.mark.parametrize("inference", [None, gf.Inducing(60)])
def test_answers_without_noise_count_once_and_may_not_contradict_each_other_also_behind_an_engine(inference):
    rng, interval, gp = np.random.default_rng(0), gf.Interval(noise=0.0), gf.GP(gf.SE(0.25))
    X = rng.uniform(0.0, 5.0, (60, 1))
    f = np.sin(6.0 * X[:, 0])
    data = gf.Data().add(interval, X, [(v - 0.4, v + 0.4) for v in f])
    belief = gp.condition(data, inference=inference)
    again = gf.Data().add(interval, np.repeat(X[:1], 9, axis=0), [(f[0] - 0.4, f[0] + 0.4)] * 9)
    assert belief.condition(again).variance(X[:1]) == pytest.approx(belief.variance(X[:1]), rel=1e-6)
    narrower = gf.Data().add(interval, X[:1], [(f[0], f[0] + 0.2)])
    together = gp.condition(data.join(narrower), inference=inference)
    later = belief.condition(narrower)
    assert later.mean(X[:9]) == pytest.approx(together.mean(X[:9]), abs=1e-6)
    assert later.log_evidence == pytest.approx(together.log_evidence, abs=1e-6)
    opposite = gf.Data().add(interval, X[:1], [(f[0] + 1.0, f[0] + 2.0)])
    for refused in (
        lambda: belief.condition(opposite),
        lambda: gp.condition(data.join(opposite), inference=inference),
        lambda: gf.fit(gp, data.join(opposite), inference=inference),
    ):
        with pytest.raises(gf.NumericalError, match="contradict each other"):
            refused()


def test_pairs_that_were_compared_without_noise_are_one_answer_whichever_comes_first():
    prefers, gp = gf.Preference(noise=0.0), gf.GP(gf.SE(0.3))
    pairs = np.random.default_rng(0).uniform(size=(30, 2, 1))
    belief = gp.condition(gf.Data().add(prefers, pairs, (pairs[:, 0, 0] > pairs[:, 1, 0]).astype(int)), gf.Inducing(40))
    turned = gf.Data().add(prefers, pairs[:1, ::-1], (pairs[:1, 1, 0] > pairs[:1, 0, 0]).astype(int))
    assert belief.condition(turned).mean([[0.5]]) == pytest.approx(belief.mean([[0.5]]), abs=1e-6)
    other = gf.Data().add(prefers, pairs[:1, ::-1], (pairs[:1, 1, 0] < pairs[:1, 0, 0]).astype(int))
    with pytest.raises(gf.NumericalError, match="contradict each other"):
        belief.condition(other)


def test_an_approximation_does_not_call_itself_exact_when_an_answer_comes_after_it():
    rng = np.random.default_rng(0)
    X, lab = rng.uniform(size=(120, 2)), gf.Point(0.1)
    gp, one = gf.GP(gf.SE(0.3)), gf.Data().add(lab, [[0.5, 0.5]], [0.0])
    data = gf.Data().add(lab, X, np.sin(9.0 * X[:, 0]))
    near = gp.condition(data, inference=gf.Vecchia(3))
    later = near.condition(one)
    assert later.convergence.result is near.convergence.result
    assert later.convergence.message.startswith(near.convergence.message)
    assert later.convergence.message.endswith("; then one more answer, exact: every answer is Gaussian")
    assert "then 2 more answers" in later.condition(one).convergence.message
    assert gp.condition(data, inference=gf.Exact()).condition(one).convergence.message.startswith("exact")


@pytest.mark.parametrize("engine", [gf.SKI(), gf.SKI(grid=400)])
@pytest.mark.parametrize("ends", [(1.0, 10.0), (1e-6, 1e-2), (10.0, 20.0)])
def test_a_grid_is_refused_over_a_logarithm_wherever_it_begins(engine, ends):
    rng, space = np.random.default_rng(0), gf.Space(gf.Real("dose", *ends, log=True))
    X = np.exp(rng.uniform(*np.log(ends), (80, 1)))
    data = gf.Data().add(gf.Point(noise=0.1), X, np.sin(3.0 * np.log(X[:, 0])))
    with pytest.raises(gf.InvalidInput, match="a kernel of distances"):
        gf.GP(gf.SE(0.5), gf.Zero(), space=space).condition(data, inference=engine)


@pytest.mark.parametrize(
    "engine", [gf.Exact(), gf.Single(), gf.Iterative(), gf.SKI(), gf.SKIP(), gf.Inducing(), gf.Vecchia()]
)
def test_no_places_have_no_predictions(engine):
    X = np.random.default_rng(0).uniform(size=(50, 2))
    belief = gf.GP(gf.SE(0.4)).condition(gf.Data().add(gf.Point(noise=0.1), X, X[:, 0]), inference=engine)
    none = np.empty((0, 2))
    assert belief.mean(none).shape == belief.variance(none).shape == (0,)
    assert belief.covariance(none, none).shape == (0, 0)


def test_what_is_smooth_under_noise_is_believed_exactly_after_a_search_by_neighbours(monkeypatch):
    """Neighbours tell nearly all of a reading, and half of what there is to know of a place."""
    for room, name in (("inference.engines.choosing", "FEW"), ("hyper.fit", "MANY"), ("hyper.staged", "FIRST")):
        monkeypatch.setattr(import_module(f"gainful.{room}"), name, 300)
    rng, gp = np.random.default_rng(0), gf.GP(gf.SE((0.4, 0.6)))
    X, Z = rng.uniform(size=(1200, 2)), rng.uniform(size=(200, 2))
    smooth, rough = (np.sin(a * X[:, 0]) * np.cos(0.7 * a * X[:, 1]) for a in (6.0, 60.0))
    data = gf.Data().add(gf.Point(noise=0.3, name="lab"), X, smooth + 0.3 * rng.normal(size=1200))
    fitted, near = gf.fit(gp, data, starts=1), gf.fit(gp, data, starts=1, inference=gf.Vecchia())
    assert near.posterior.behind.widened > 0.1
    assert isinstance(fitted.posterior.behind, DenseBelief)
    assert fitted.theta == pytest.approx(near.theta, abs=1e-9)
    exact = near.gp.condition(near.data, inference=gf.Exact())
    assert fitted.posterior.variance(Z) == pytest.approx(exact.variance(Z), rel=1e-8)
    assert isinstance(near.gp.condition(near.data).behind, DenseBelief)
    monkeypatch.setattr(import_module("gainful.inference.engines.choosing"), "_MODEST", 1000)
    assert isinstance(near.gp.condition(near.data).behind, VecchiaBelief)
    monkeypatch.undo()
    rougher = gf.Data().add(gf.Point(noise=0.01, name="lab"), X, rough + 0.01 * rng.normal(size=1200))
    belief = gf.GP(gf.Matern((0.1, 0.1), nu=0.5)).condition(rougher, inference=gf.Vecchia())
    assert belief.behind.widened < 0.02


def test_by_how_much_more_readings_would_narrow_predictions_is_what_they_do():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(700, 2))
    data = gf.Data().add(gf.Point(0.3), X, np.sin(6.0 * X[:, 0]) + 0.3 * rng.normal(size=700))
    kernel = gf.Matern((0.3, 0.5), nu=2.5)
    few, many = (gf.GP(kernel).condition(data, inference=gf.Vecchia(10, nearest=each)) for each in (30, 120))
    inside = X[np.all(np.abs(X - 0.5) < 0.4, axis=1)][:150] + 0.003
    assert few.behind.widened == pytest.approx(np.mean(few.variance(inside) / many.variance(inside)) - 1.0, rel=0.25)
    assert gf.GP(kernel).condition(data, inference=gf.Vecchia(10, nearest=700)).behind.widened == 0.0


def test_a_pending_answer_without_noise_where_one_is_known_forgets_nothing_behind_an_engine():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3.0, (60, 1))
    sign = gf.Ordinal([0.0], noise=0.0)
    gp, data = gf.GP(gf.SE(0.3)), gf.Data().add(sign, X, 1 + (np.sin(4.0 * X[:, 0]) > 0.0))
    through, dense = gp.condition(data, inference=gf.Inducing(60)), gp.condition(data)
    ours, theirs = (fantasize(each, [gf.Query(sign, X[0])]) for each in (through, dense))
    assert ours.mean(X[:9]) == pytest.approx(theirs.mean(X[:9]), abs=1e-3)
    assert np.all(ours.variance(X[:9]) <= through.variance(X[:9]) * (1.0 + 1e-9))
