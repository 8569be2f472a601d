"""Every kernel and mean obeys its laws: symmetry, positivity, exact pullbacks, a batch axis."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gainful as gf
from gainful.kernels import Kernel
from gainful.parameters import positive
from gainful.testing import check_kernel, check_mean

KERNELS = [
    gf.SE(0.7, 2.0),
    gf.SE((0.7, 1.3, 0.4), 2.0),
    gf.Matern(0.8, 1.5, nu=0.5),
    gf.Matern((1.0, 0.8, 2.0), 1.5, nu=1.5),
    gf.Matern(0.8, 1.5, nu=2.5),
    gf.RationalQuadratic((0.9, 0.5, 1.2), 1.1, 0.7),
    gf.Constant(2.0),
    gf.Linear(0.3),
    gf.Periodic(1.2, 0.8, 1.4),
    gf.Periodic((1.2, 0.9, 1.0), (0.8, 0.5, 2.0), 1.4),
    gf.SE(0.7) + gf.Linear() * gf.Periodic(1.0, 0.5),
    gf.CentredLinear(0.3, 2.0),
    gf.CentredLinear((0.3, -1.0, 2.0), 2.0),
    gf.CentredLinear((0.3,), 2.0),  # one for all dimensions, however it is written
    gf.ChangePoint(gf.SE(0.7), gf.Linear(0.5), place=0.4, width=0.3, column=1),
    (2.0 * gf.SE(0.5)).on([0, 2]) + gf.SE((0.3, 0.4)).on([1, 2]) + 1.0,
    gf.Additive([(0, 2), (1,)], (0.5, 1.0, 2.0), (1.0, 3.0)),
    gf.Additive([(0,), (1,), (2,), (0, 1)], 0.7, (1.0, 2.0, 0.5, 0.3), "Matern52"),
    gf.Additive([(0, 1)], 0.7, 2.0, "Matern32", columns=((0, 1), (2,))) + 1.0,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_obey_their_laws(kernel):
    check_kernel(kernel, dimensions=3)


@dataclass(frozen=True)
class Cauchy(Kernel):
    """A kernel as a user writes a first one: the matrix and its diagonal, nothing about derivatives."""

    lengthscale: Any = positive(1.0, "length")
    variance: Any = positive(1.0, "variance")

    def matrix(self, X, Z):
        length, variance = (np.asarray(p, dtype=float)[..., None, None] for p in (self.lengthscale, self.variance))
        return variance / (1.0 + ((X[:, None] - Z) ** 2).sum(axis=-1) / length**2)

    def diag(self, X):
        return np.asarray(self.variance, dtype=float)[..., None] * np.ones(len(X))


def test_a_kernel_needs_no_more_than_its_matrix_and_diagonal():
    check_kernel(Cauchy(0.7, 2.0), dimensions=3)
    check_kernel(Cauchy(0.7) * gf.SE(2.0) + 1.0, dimensions=2)


def test_a_kernel_without_pullbacks_has_the_gradients_of_its_twin_with_them():
    """(1 + s/(2 alpha))^−alpha with alpha = 1 is the same function of a lengthscale √2 times as long."""
    X = np.linspace(0, 1, 9)[:, None]
    data = gf.Data().add(gf.Point(0.1), X, np.sin(5 * X[:, 0]))
    space = gf.Space(gf.Real("x", 0, 1))
    own, twin = (
        gf.GP(kernel, space=space) for kernel in (Cauchy(0.4, 2.0), gf.RationalQuadratic(0.4 / np.sqrt(2), 2.0))
    )
    (value, by_theta), (expected, by_twin) = (gp.log_evidence_and_gradient(data) for gp in (own, twin))
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(by_theta[:2], by_twin[:2], rtol=1e-8)
    asked = [gf.Campaign(space, gf.Point(0.1), gp).ask().place for gp in (own, twin)]
    np.testing.assert_allclose(asked[0], asked[1], atol=1e-6)


MEANS = [
    gf.Zero(),
    gf.ConstantMean(0.3),
    gf.LinearMean((1.0, 2.0, 3.0), 0.2),
    gf.LinearMean(0.4),
    gf.NotchMean(0.1, 2.0, 0.2, 0.7, dim=1),
]


@pytest.mark.parametrize("mean", MEANS, ids=str)
def test_means_obey_their_laws(mean):
    check_mean(mean, dimensions=3)


def test_a_broken_pullback_is_caught():
    class Broken(gf.SE):
        def vjp_inputs(self, X, Z):
            K, back = super().vjp_inputs(X, Z)
            return K, lambda G: 1.01 * back(G)

    with pytest.raises(AssertionError, match="derivative in the inputs"):
        check_kernel(Broken(0.5), dimensions=2)


def test_broken_rows_are_caught():
    class Shifted(gf.SE):
        def rowwise(self, X, Z):
            return super().rowwise(X, Z[::-1])

    class Broken(gf.SE):
        def rowwise_vjp(self, X, Z):
            values, back = super().rowwise_vjp(X, Z)
            return values, lambda g: 1.01 * back(g)

    with pytest.raises(AssertionError, match="rowwise is the diagonal"):
        check_kernel(Shifted(0.5), dimensions=2)
    with pytest.raises(AssertionError, match="vjp of a diagonal"):
        check_kernel(Broken(0.5), dimensions=2)


@pytest.mark.parametrize("kernel", [*KERNELS, Cauchy(0.7, 2.0)], ids=str)
def test_rows_are_those_of_matrices_however_many_and_in_whichever_order_of_memory(kernel):
    X, Z = np.random.default_rng(0).normal(size=(2, 70, 3))
    g = np.random.default_rng(1).normal(size=70)
    for x, z in ((X, Z), (np.asfortranarray(X), np.asfortranarray(Z)), (X[:0], Z[:0])):
        values, back = kernel.rowwise_vjp(x, z)
        np.testing.assert_allclose(values, np.diagonal(kernel.matrix(X[: len(x)], Z[: len(x)])), rtol=1e-10, atol=1e-12)
        expected = kernel.pullback(X, Z, np.diag(g)) if len(x) else np.zeros(kernel.size)
        np.testing.assert_allclose(back(g[: len(x)]), expected, rtol=1e-8, atol=1e-9)


def test_closed_forms():
    x, z = np.array([[0.3]]), np.array([[1.0]])
    d = 0.7
    assert gf.SE(0.5, 2.0)(x, z)[0, 0] == pytest.approx(2.0 * np.exp(-0.5 * (d / 0.5) ** 2))
    assert gf.Linear(0.4)(x, z)[0, 0] == pytest.approx(0.4 * 0.3)
    assert gf.Periodic(1.3, 0.9)(x, z)[0, 0] == pytest.approx(np.exp(-2 * np.sin(np.pi * d / 0.9) ** 2 / 1.3**2))
    r = np.sqrt(3) * d / 0.5
    assert gf.Matern(0.5, nu=1.5)(x, z)[0, 0] == pytest.approx((1 + r) * np.exp(-r))


def test_far_inputs_lose_no_digits():
    """Distances come from differences, so an offset of 1e6 and a range of 1e6 lengthscales change nothing nearby."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (8, 2)).round(6)
    shifted = gf.SE(1.0)(X + 2.0**20)
    np.testing.assert_allclose(shifted, gf.SE(1.0)(X), rtol=1e-8)
    wide = np.vstack([X, X + 2.0**20])
    G = rng.normal(size=(16, 16))
    near = gf.SE(1.0).pullback(X, X, G[:8, :8]) + gf.SE(1.0).pullback(X, X, G[8:, 8:])
    np.testing.assert_allclose(gf.SE(1.0).pullback(wide, wide, G), near, rtol=1e-7)


def test_dimensions_can_be_called_by_name():
    space = gf.Space(gf.Real("east", 0, 2, unit="km"), gf.Real("north", 0, 2, unit="km"))
    gp = gf.GP(gf.SE(0.5).on(["north"]) * gf.SE(0.3).on("east"), gf.NotchMean(dim="north"), space=space)
    X = np.array([[0.1, 0.9], [0.4, 0.3]])
    np.testing.assert_allclose(gp.kernel(X), gf.SE(0.5)(X[:, 1:]) * gf.SE(0.3)(X[:, :1]))
    assert gp.mean.dim == 1
    with pytest.raises(gf.InvalidInput, match="names among"):
        gf.GP(gf.SE().on(["up"]), space=space)
    with pytest.raises(gf.InvalidInput, match="space"):
        gf.SE().on(["east"])(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.SE(0.0),
        lambda: gf.SE(-1.0),
        lambda: gf.SE(np.nan),
        lambda: gf.SE("long"),
        lambda: gf.SE(1.0, np.inf),
        lambda: gf.Matern(nu=2.0),
        lambda: gf.SE().on([0, 0]),
        lambda: gf.SE().on([-1]),
        lambda: gf.SE((1.0, 2.0))([[0.0, 0.0, 0.0]]),
        lambda: gf.SE()([0.0, 1.0]),
        lambda: gf.SE()([[np.nan]]),
        lambda: gf.SE()([[0.0]], [[0.0, 1.0]]),
        lambda: gf.SE().on([3])([[0.0]]),
        lambda: gf.SE().with_theta([1.0]),
    ],
)
def test_impossible_kernels_and_places_are_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()


def test_names_number_repeated_parts():
    kernel = gf.SE() + gf.SE((1.0, 2.0)) * gf.Linear()
    assert kernel.names == (
        "SE.lengthscale",
        "SE.variance",
        "SE2.lengthscale[0]",
        "SE2.lengthscale[1]",
        "SE2.variance",
        "Linear.variance",
    )
