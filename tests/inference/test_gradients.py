"""Every gradient against extrapolated central differences, for every kernel, mean, instrument and way of inference."""

from __future__ import annotations

import numpy as np
import oracles
import pytest

import gainful as gf
from gainful.hyper.problem import Problem
from gainful.inference.evidence import log_evidence

INF = np.inf
RNG = np.random.default_rng(11)
X = RNG.uniform(-1.5, 1.5, size=(9, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * RNG.normal(size=9)

KERNELS = {
    "SE": gf.SE(0.8, 1.7),
    "ARD SE": gf.SE((0.8, 1.3), 1.7),
    "Matern 1/2": gf.Matern(0.8, 1.7, nu=0.5),
    "Matern 3/2": gf.Matern(0.8, 1.7, nu=1.5),
    "Matern 5/2": gf.Matern(0.8, 1.7, nu=2.5),
    "ARD Matern 1/2": gf.Matern((0.8, 1.3), 1.7, nu=0.5),
    "ARD Matern 5/2": gf.Matern((0.8, 1.3), 1.7, nu=2.5),
    "RationalQuadratic": gf.RationalQuadratic(0.8, 1.7, 0.6),
    "ARD RationalQuadratic": gf.RationalQuadratic((0.8, 1.3), 1.7, 0.6),
    "Constant": gf.Constant(1.7),
    "Linear": gf.Linear(1.7),
    "Periodic": gf.Periodic(0.8, 2.3, 1.7),
    "ARD Periodic": gf.Periodic((0.8, 1.3), (2.3, 1.9), 1.7),
    "sum": gf.SE(0.8, 1.7) + gf.Linear(0.4) + gf.Constant(2.0),
    "product": gf.SE(0.8, 1.7) * gf.Periodic(0.9, 2.3) * gf.Linear(0.4),
    "sum of products": 0.5 * gf.Matern(0.8, nu=1.5) * gf.Linear() + gf.Constant(0.3) * gf.SE((0.9, 0.4)),
    "on one dimension": gf.SE(0.8, 1.7).on(1),
    "on several": gf.Periodic(0.8, 2.3).on(0) * gf.SE(0.6).on(1) + gf.Matern((0.9, 1.4), nu=2.5).on([1, 0]),
}
MEANS = {
    "ConstantMean": gf.ConstantMean(0.4),
    "LinearMean": gf.LinearMean(0.6, -0.2),
    "LinearMean, one slope each": gf.LinearMean((0.6, -0.9), -0.2),
    "NotchMean": gf.NotchMean(offset=0.3, depth=0.8, centre=-0.2, width=0.5, dim=1),
}
PAIRS = np.stack([X[:4], X[[4, 5, 6, 8]]], axis=1)
SETS = np.stack([X[:3], X[3:6], X[6:9]], axis=1)
HALF = [(0.1, 0.9), (-INF, 0.2), (0.3, INF), (-1.0, -0.4), (0.5, 0.8)]

DATA = {
    "Point": gf.Data().add(gf.Point(noise=0.3), X, Y),
    "two Points": gf.Data().add(gf.Point(noise=0.3), X[:5], Y[:5]).add(gf.Point(noise=0.6), X[5:], Y[5:]),
    "Interval": gf.Data().add(gf.Interval(noise=0.2), X[:5], HALF),
    "narrow Interval": gf.Data().add(gf.Interval(noise=0.2, width=1e-3), X, np.column_stack([Y, Y + 1e-3])),
    "Ordinal": gf.Data().add(gf.Ordinal(thresholds=[-0.6, 0.1, 0.7], noise=0.3), X, [1, 2, 3, 4, 3, 2, 1, 2, 4]),
    "Binary": gf.Data().add(gf.Binary(), X, Y > 0.0),
    "Binary, guess": gf.Data().add(gf.Binary(guess=0.2), X, Y > 0.1),
    "Binary, lapse": gf.Data().add(gf.Binary(lapse=0.03), X, Y > -0.1),
    "Binary, careless": gf.Data().add(gf.Binary(guess=0.2, lapse=0.03), X, [1, 0, 0, 1, 0, 1, 1, 0, 1]),
    "Preference": gf.Data().add(gf.Preference(noise=0.4), PAIRS, [True, False, False, True]),
    "Detection of 2": gf.Data().add(gf.Detection(), SETS[:, :2], [True, False, True]),
    "Detection in a unit": gf.Data().add(gf.Detection(threshold=0.2, noise=0.7), SETS[:, :2], [True, False, True]),
    "Detection, careless": gf.Data().add(
        gf.Detection(0.1, 0.05, threshold=0.2, noise=0.7), SETS[:, :2], [True, False, True]
    ),
    "Detection of 3": gf.Data().add(gf.Detection(), SETS[1:], [True, False]),
}
DATA["mixture"] = (
    gf.Data()
    .add(gf.Point(noise=0.3), X[:2], Y[:2])
    .add(gf.Interval(noise=0.2), X[2:4], [(0.1, 0.9), (-INF, 0.2)])
    .add(gf.Ordinal(thresholds=[-0.6, 0.7], noise=0.25), X[4:6], [1, 2])
    .add(gf.Binary(guess=0.1, lapse=0.05), X[6:8], [True, False])
    .add(gf.Preference(noise=0.4), PAIRS[:2], [True, False])
    .add(gf.Detection(), SETS[:1, :2], [True])
)
DATA["mixture with hard answers"] = (
    gf.Data()
    .add(gf.Point(noise=0.0), X[:2], Y[:2])
    .add(gf.Interval(noise=0.0), X[2:4], [(0.1, 0.9), (-INF, 0.2)])
    .add(gf.Ordinal(thresholds=[-0.6, 0.7], noise=0.0), X[4:6], [1, 2])
    .add(gf.Preference(noise=0.0), PAIRS[2:], [True, False])
)
TIGHT = gf.EP(tolerance=1e-12, max_iterations=2000)


def assert_gradient(found: np.ndarray, wanted: np.ndarray) -> None:
    """1e-6 of each entry, or of a thousandth of the largest where an entry all but vanishes."""
    scale = np.maximum(np.abs(wanted), 1e-3 * np.max(np.abs(wanted), initial=1e-3))
    np.testing.assert_array_less(np.abs(found - wanted), 1e-6 * scale)


def assert_evidence_gradient(gp: gf.GP, data: gf.Data, inference: object) -> None:
    problem = Problem.of(gp, data, gf.Flat(), inference)
    evidence, found = problem.evidence(problem.theta)
    assert evidence.convergence

    def value(theta: np.ndarray) -> float:
        there, seen = problem.at(theta)
        return log_evidence(there.mean, there.kernel, seen, problem.inference, evidence.sites)

    assert_gradient(found, oracles.gradient(value, problem.theta))
    again, of_gp = gp.log_evidence_and_gradient(data, inference)
    assert again == pytest.approx(evidence.value, rel=1e-12)
    np.testing.assert_allclose(of_gp, found[: gp.size], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("data", ["two Points", "Binary"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_evidence_gradient_is_right_for_every_kernel(name: str, data: str) -> None:
    assert_evidence_gradient(gf.GP(KERNELS[name], mean=gf.ConstantMean(0.2)), DATA[data], None)


@pytest.mark.parametrize("inference", [None, gf.Laplace()], ids=repr)
@pytest.mark.parametrize("data", ["two Points", "Binary", "Preference"])
@pytest.mark.parametrize("name", MEANS)
def test_the_evidence_gradient_is_right_for_every_mean(name: str, data: str, inference: object) -> None:
    assert_evidence_gradient(gf.GP(gf.SE(0.8, 1.7), mean=MEANS[name]), DATA[data], inference)


@pytest.mark.parametrize("name", DATA)
def test_the_evidence_gradient_of_ep_is_right_for_every_instrument(name: str) -> None:
    assert_evidence_gradient(gf.GP(gf.SE((0.8, 1.3), 1.7), mean=gf.ConstantMean(0.2)), DATA[name], TIGHT)


@pytest.mark.parametrize("name", [name for name in DATA if "hard" not in name])
def test_the_evidence_gradient_of_laplace_is_right_for_every_instrument(name: str) -> None:
    assert_evidence_gradient(gf.GP(gf.SE((0.8, 1.3), 1.7), mean=gf.ConstantMean(0.2)), DATA[name], gf.Laplace())


def test_the_evidence_gradient_survives_a_prior_of_large_variance() -> None:
    assert_evidence_gradient(gf.GP(gf.SE(0.5, 1e4)), DATA["Binary"], TIGHT)


@pytest.mark.parametrize("name", KERNELS)
def test_the_parameter_pullback_of_a_kernel_is_its_gradient(name: str) -> None:
    """G is not symmetric and X is not Z: a pullback that only works for covariances of data would be found out."""
    kernel, Z = KERNELS[name], X[:4] + 0.3
    G = np.random.default_rng(1).normal(size=(len(X), len(Z)))
    K, back = kernel.vjp(X, Z)
    np.testing.assert_allclose(K, kernel(X, Z), rtol=1e-14)
    wanted = oracles.gradient(lambda theta: float(np.sum(G * kernel.with_theta(theta)(X, Z))), kernel.theta)
    assert_gradient(back(G), wanted)
    np.testing.assert_allclose(kernel.pullback(X, Z, G), back(G), rtol=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_the_input_pullback_of_a_kernel_is_its_gradient(name: str) -> None:
    kernel, Z = KERNELS[name], X[:4] + 0.3
    G = np.random.default_rng(2).normal(size=(len(X), len(Z)))
    step = 1e-3 if "1/2" in name else 0.02  # exp(−r) has a kink at r = 0, so the differences stay close
    wanted = oracles.gradient(lambda places: float(np.sum(G * kernel(places, Z))), X, step)
    assert_gradient(kernel.pullback_inputs(X, Z, G), wanted)


@pytest.mark.parametrize("name", KERNELS)
def test_the_diagonal_of_a_kernel_and_its_input_pullback_agree_with_the_matrix(name: str) -> None:
    kernel = KERNELS[name]
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-14)
    g = np.random.default_rng(3).normal(size=len(X))
    wanted = oracles.gradient(lambda places: float(g @ kernel.diag(places)), X)
    found = kernel.pullback_diag_inputs(X, g)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MEANS)
def test_the_pullbacks_of_a_mean_are_its_gradients(name: str) -> None:
    mean, g = MEANS[name], np.random.default_rng(4).normal(size=len(X))
    values, back = mean.vjp(X)
    np.testing.assert_allclose(values, mean(X), rtol=1e-14)
    assert_gradient(back(g), oracles.gradient(lambda theta: float(g @ mean.with_theta(theta)(X)), mean.theta))
    wanted = oracles.gradient(lambda places: float(g @ mean(places)), X)
    np.testing.assert_allclose(mean.pullback_inputs(X, g), wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("name", ["SE", "ARD SE", "Matern 5/2", "RationalQuadratic"])
def test_pullbacks_of_stationary_kernels_do_not_lose_digits_far_from_the_origin(name: str, shift: float) -> None:
    """Places are exact multiples of 1/64, so that shifting them changes no difference between them."""
    kernel = KERNELS[name]
    places = np.round(64.0 * X) / 64.0
    Z = places[:4] + 0.25
    G = np.random.default_rng(5).normal(size=(len(X), len(Z)))
    np.testing.assert_allclose(
        kernel.pullback(places + shift, Z + shift, G), kernel.pullback(places, Z, G), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        kernel.pullback_inputs(places + shift, Z + shift, G), kernel.pullback_inputs(places, Z, G), rtol=1e-7, atol=1e-9
    )
