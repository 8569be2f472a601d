"""Solves against dense formulas: how far means are off, how much too large variances are, and the slopes."""

import warnings

import numpy as np
import pytest

import gainful as gf
from gainful.inference.engines.iterative import Iterative
from gainful.inference.engines.krylov import Solver
from gainful.inference.engines.skip import SKIP
from gainful.inference.evidence import evidence_and_gradient


def readings(N, D, noise, seed=0, f=lambda X: np.sin(6.0 * X[:, 0])):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N, D))
    return gf.Data().add(gf.Point(noise=noise, name="lab"), X, f(X) + noise * rng.normal(size=N))


def off(ours, exact, Z):
    return np.abs((ours.mean(Z) - exact.mean(Z)) / np.sqrt(exact.variance(Z))).max()


@pytest.mark.parametrize(
    ("kernel", "D", "noise"),
    [
        (gf.Matern(0.4), 1, 1e-5),
        (gf.Matern(0.4), 1, 1e-4),
        (gf.SE((0.3, 0.5)), 2, 1e-3),
        (gf.Matern(0.2, nu=1.5), 2, 1e-2),
        (gf.SE(0.3, 1e12), 1, 1e4),
    ],
)
def test_means_are_within_the_stated_part_of_a_standard_deviation_or_it_is_said(kernel, D, noise):
    data, Z = readings(300, D, noise), np.random.default_rng(1).uniform(0.0, 1.0, size=(100, D))
    gp = gf.GP(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, exact = gp.condition(data, inference=Iterative()), gp.condition(data)
    assert ours.behind.mean_error <= 0.01
    assert ours.converged
    assert off(ours, exact, Z) <= 1.01 * ours.behind.mean_error + 1e-5
    assert "of their standard deviations" in ours.convergence.message
    values = 2.0 * np.ravel(data.batches[0].answers) + noise * np.cos(np.arange(300.0))
    other = ours.behind.from_residual(values)(Z)
    K, cross = kernel(data.layout.places) + noise**2 * np.eye(300), kernel(Z, data.layout.places)
    wanted = cross @ np.linalg.solve(K, values)
    assert np.abs((other - wanted) / np.sqrt(exact.variance(Z))).max() <= 0.0101 + 1e-5


def test_a_mean_that_is_not_near_enough_is_no_convergence():
    data = readings(300, 1, 1e-4)
    with pytest.warns(gf.ConvergenceWarning, match=r"means are off by at most [\de+.]+ of their standard deviations"):
        ours = gf.GP(gf.Matern(0.4)).condition(data, inference=Iterative(solver=Solver(preconditioner=20, most=20)))
    assert not ours.converged


def test_readings_of_different_noise_are_solved_to_the_same_part_of_a_standard_deviation():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    y = np.sin(6.0 * X[:, 0])
    data = (
        gf.Data()
        .add(gf.Point(1e-4, name="good"), X[:50], y[:50])
        .join(gf.Data().add(gf.Point(1.0, name="bad"), X[50:], y[50:] + rng.normal(size=150)))
    )
    gp, Z = gf.GP(gf.Matern(0.4)), np.linspace(0.0, 1.0, 60)[:, None]
    ours, exact = gp.condition(data, inference=Iterative()), gp.condition(data)
    assert ours.converged
    assert off(ours, exact, Z) <= 0.011


def true_excess(ours, exact, data):
    """As `excess` states it, with the exact variances in place of solves."""
    X = data.layout.places
    some = X[np.unique(np.linspace(0, len(X) - 1, 16).astype(int))]
    return np.median(ours.behind._variance(some, ours.behind._root) / exact.variance(some)) - 1.0


@pytest.mark.parametrize(
    ("kernel", "N", "noise", "root"),
    [
        (gf.Matern(0.4, nu=2.5), 300, 0.01, 1000),
        (gf.Matern((0.4, 0.4), nu=2.5), 600, 0.01, 100),
        (gf.Matern((0.3, 0.3), nu=1.5), 600, 0.003, 150),
        (gf.SE((0.3, 0.3)), 400, 0.1, 15),
    ],
)
def test_the_excess_of_variances_is_the_true_one(kernel, N, noise, root):
    data = readings(N, 1 if kernel.size == 2 else 2, noise)
    ours, exact = (gf.GP(kernel).condition(data, inference=e) for e in (Iterative(solver=Solver(root=root)), None))
    true = true_excess(ours, exact, data)
    assert true > -1e-6
    assert ours.behind.excess == pytest.approx(true, rel=0.1, abs=1e-3)


def test_an_excess_that_solves_do_not_reach_is_unknown():
    data = readings(300, 2, 1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = Solver(root=40, most=3, preconditioner=2)
        ours = gf.GP(gf.Matern((0.3, 0.3), nu=1.5)).condition(data, inference=Iterative(solver=solver))
        assert ours.behind.excess is None
    assert "by how much is not known" in ours.convergence.message


def test_a_root_that_is_cut_short_is_said_and_warned_of_where_variances_are_first_asked_for():
    data = readings(400, 2, 0.03)
    gp = gf.GP(gf.Matern((0.2, 0.2), nu=0.5))
    ours = gp.condition(data, inference=Iterative(solver=Solver(root=200)))
    assert "from a root of 200 vectors for 39" in ours.convergence.message
    with pytest.warns(gf.ConvergenceWarning, match=r"too large, [\d.]+ times what.*Solver.root"):
        ours.variance(data.layout.places[:3])
    assert f"too large, {1.0 + ours.behind.excess:.3g} times" in ours.convergence.message
    whole = gp.condition(data, inference=Iterative())
    assert "root" not in whole.convergence.message
    assert abs(whole.behind.excess) < 1e-3


KERNELS = [gf.SE((0.3, 0.6)), gf.Matern((0.4, 0.5), 1.7, nu=1.5), gf.Periodic(1.0, 0.8).on(0) * gf.SE(0.5).on(1)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.1, 1e-3])
def test_with_a_complete_preconditioner_the_gradient_is_exact(kernel, noise):
    data, gp = readings(150, 2, noise), gf.GP(kernel)
    solver = Solver(preconditioner=150, tolerance=1e-10, probes=4)
    ours, exact = (evidence_and_gradient(gp.mean, gp.kernel, data, e) for e in (Iterative(solver=solver), gf.Exact()))
    size = np.abs(exact.kernel).max() * (1.0 if noise == 0.1 else 100.0)  # the factor ends at rounding of the trace
    assert ours.value == pytest.approx(exact.value, rel=1e-5)
    assert ours.kernel == pytest.approx(exact.kernel, abs=1e-5 * size)
    assert ours.instruments[0] == pytest.approx(exact.instruments[0], rel=1e-5, abs=1e-5 * size)


def test_so_it_is_of_an_interpolated_product():
    data, gp = readings(150, 2, 0.1), gf.GP(gf.SE((0.6, 0.9)))
    solver = Solver(preconditioner=150, tolerance=1e-10, probes=4)
    engine = SKIP(rank=60, grid=150, solver=solver)
    ours, exact = (evidence_and_gradient(gp.mean, gp.kernel, data, e) for e in (engine, gf.Exact()))
    size = np.abs(exact.kernel).max()
    assert ours.kernel == pytest.approx(exact.kernel, abs=1e-3 * size)
    assert ours.instruments[0] == pytest.approx(exact.instruments[0], abs=1e-3 * size)


@pytest.mark.parametrize("rank", [0, 10, 40, 120])
@pytest.mark.parametrize("kernel", [gf.Matern((0.4, 0.5), nu=1.5), gf.Matern((0.1, 0.1), nu=0.5)])
def test_the_gradient_by_probes_has_no_bias_and_errs_less_than_probes_alone(kernel, rank):
    noise, N = 0.1, 200
    data, gp = readings(N, 2, noise), gf.GP(kernel)
    X = data.layout.places
    B = kernel(X) + noise**2 * np.eye(N)
    ours, alone, own = [], [], []
    for seed in range(60):
        belief = Iterative(solver=Solver(preconditioner=rank, tolerance=1e-8, probes=8, seed=seed)).believe(
            gp.mean, kernel, data.layout
        )
        found = belief.gradient()
        exact = 0.5 * kernel.pullback(X, X, np.outer(belief.alpha, belief.alpha) - np.linalg.inv(B))
        right = belief.system.preconditioner.solve(belief.probes)
        by_probes = matrix_slope(kernel, X, belief.alpha, belief.solved.x[:, 1:], right)
        ours.append(found.kernel - exact)
        alone.append(by_probes - exact)
        own.append(found.noise.sum() - noise**2 * (belief.alpha @ belief.alpha - np.trace(np.linalg.inv(B))))
    ours, alone = np.array(ours), np.array(alone)
    assert np.all(np.abs(ours.mean(axis=0)) < 4.0 * ours.std(axis=0) / np.sqrt(60) + 1e-3)
    assert abs(np.mean(own)) < 4.0 * np.std(own) / np.sqrt(60) + 1e-3
    assert np.all(ours.std(axis=0) < 1.25 * alone.std(axis=0))
    if rank == 120 and kernel.nu == 1.5:
        assert np.all(ours.std(axis=0) < 0.5 * alone.std(axis=0))


def matrix_slope(kernel, X, alpha, left, right):
    G = np.outer(alpha, alpha) - left @ right.T / left.shape[1]
    return 0.5 * kernel.pullback(X, X, G)
