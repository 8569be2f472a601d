"""Kernels of categories, and kernels of what a space lets them see."""

import numpy as np
import pytest

import gainful as gf
from gainful.testing import check_kernel

SPACE = gf.Space(
    gf.Real("x", -1, 3),
    gf.Real("dose", 1.0, 64.0, log=True),
    gf.Categorical("metal", ["Pd", "Ni", "Cu"]),
    gf.At("p", 2.0),
    gf.Real("rate", 1.0, 5.0, when={"metal": ["Pd", "Cu"]}),
    gf.Categorical("kind", ["a", "b"], when={"metal": "Ni"}),
)
KERNEL = (
    gf.SE((1.0, 2.0)).on("x", "dose") * gf.Exchangeable(3, 0.3).on("metal")
    + gf.Matern(2.0, 0.5).on("rate") * gf.Exchangeable(3, 0.6).on("kind")
    + gf.SE(1.5).on("dose") * gf.Similarity(3, rank=2).on("metal")
)


def _levels(n, rng):
    return rng.integers(0, 4, size=(n, 1)).astype(float)


@pytest.mark.parametrize(
    "kernel",
    [gf.Exchangeable(4), gf.Exchangeable(4, 0.9), gf.Similarity(4), gf.Similarity(4, 2),
     gf.Similarity(4, 3, tuple(np.random.default_rng(0).normal(size=12))), 2.0 * gf.Exchangeable(4, 0.2),
     gf.Leaning(4), gf.Leaning(4, 0.3, (1.0, -0.5, 2.0, 0.0)), gf.Leaning(4, 0.0, (1.0, -0.5, 2.0, 0.0))],
    ids=str,
)  # fmt: skip
def test_kernels_of_categories_obey_their_laws(kernel):
    check_kernel(kernel, dimensions=1, places=_levels)


def test_a_kernel_on_coordinates_obeys_its_laws():
    # Away from the ends: the derivatives are by differences.
    middle = SPACE.where(gf.Within(dose=(2, 60)))
    check_kernel(gf.GP(KERNEL, space=SPACE).kernel, dimensions=6, places=lambda n, rng: middle.candidates(n, rng))


def test_exchangeable_is_positive_definite_for_any_correlation_and_similarity_for_any_loadings():
    rng = np.random.default_rng(1)
    X = np.arange(5.0)[:, None]
    for r in (0.0, 0.01, 0.5, 0.999):
        np.testing.assert_allclose(gf.Exchangeable(5, r)(X), (1 - r) * np.eye(5) + r, rtol=1e-15)
        assert np.linalg.eigvalsh(gf.Exchangeable(5, r)(X)).min() > 0.0
    for _ in range(20):
        K = gf.Similarity(5, 2, tuple(rng.normal(scale=5.0, size=10)))(X)
        np.testing.assert_allclose(np.diagonal(K), 1.0, rtol=1e-14)
        assert np.linalg.eigvalsh(K).min() > 0.0


def test_levels_that_lean_nowhere_are_exchangeable_and_others_are_a_similarity_of_two_loadings():
    rng, X = np.random.default_rng(2), np.arange(5.0)[:, None]
    for r in (0.0, 0.3, 0.99):
        np.testing.assert_allclose(gf.Leaning(5, r)(X), gf.Exchangeable(5, r)(X), rtol=1e-15)
        lean, c = rng.normal(scale=2.0, size=5), np.sqrt(r / (1 - r))
        loadings = np.column_stack([np.full(5, c), lean]).ravel()
        np.testing.assert_allclose(
            gf.Leaning(5, r, tuple(lean))(X), gf.Similarity(5, 2, tuple(loadings))(X), rtol=1e-12
        )


def test_a_similarity_of_equal_loadings_is_exchangeable():
    X = np.arange(4.0)[:, None]
    for w in (0.5, 1.0, 3.0):
        equal = gf.Similarity(4, 1, (w,) * 4)
        np.testing.assert_allclose(equal(X), gf.Exchangeable(4, w**2 / (1 + w**2))(X), rtol=1e-14)
    np.testing.assert_allclose(gf.Similarity(4)(X), gf.Exchangeable(4, 0.5)(X), atol=0.06)


def test_the_wrapped_kernel_is_the_product_of_its_parts_on_hand_made_columns():
    X = SPACE.candidates(40, 0)
    K = gf.GP(KERNEL, space=SPACE).kernel(X)
    x, dose, metal, _, rate, kind = X.T
    there = metal != 1
    arc = np.where(there[:, None], 4.0 * np.stack([np.cos((rate - 1) / 4), np.sin((rate - 1) / 4)], axis=1), 0.0)
    level = np.where(metal == 1, kind, 2.0)[:, None]
    wanted = gf.SE((1.0, 2.0))(np.stack([x, np.log(dose)], axis=1)) * gf.Exchangeable(3, 0.3)(metal[:, None])
    wanted += gf.Matern(2.0, 0.5)(arc) * gf.Exchangeable(3, 0.6)(level)
    wanted += gf.SE(1.5)(np.log(dose)[:, None]) * gf.Similarity(3, rank=2)(metal[:, None])
    np.testing.assert_allclose(K, wanted, rtol=1e-12)


def test_a_gp_wraps_its_kernel_once_and_only_where_coordinates_are_not_the_codes():
    gp = gf.GP(KERNEL, space=SPACE)
    assert isinstance(gp.kernel, gf.Warped)
    again = gf.GP(gp.kernel, space=SPACE)
    assert again.kernel == gp.kernel
    assert gp.with_theta(gp.theta).kernel == gp.kernel
    plain = gf.Space(gf.Real("x", 0, 1), gf.Integer("n", 1, 4))
    assert gf.GP(gf.SE().on("n"), space=plain).kernel == gf.SE().on(1)


def test_a_logarithmic_dimension_is_a_dimension_of_logarithms():
    rng = np.random.default_rng(0)
    c = np.exp(rng.uniform(np.log(1e-6), np.log(1e-2), size=(30, 1)))
    y = np.sin(np.log(c[:, 0]))
    lab = gf.Point(noise=0.1)
    logs = gf.GP(gf.SE(1.5), space=gf.Space(gf.Real("c", np.log(1e-6), np.log(1e-2))))
    wide = gf.GP(gf.SE(1.5), space=gf.Space(gf.Real("c", 1e-6, 1e-2, log=True)))
    a, b = logs.condition(gf.Data().add(lab, np.log(c), y)), wide.condition(gf.Data().add(lab, c, y))
    new = np.geomspace(1e-6, 1e-2, 50)[:, None]
    np.testing.assert_allclose(b.mean(new), a.mean(np.log(new)), rtol=1e-9)
    np.testing.assert_allclose(b.variance(new), a.variance(np.log(new)), rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.Exchangeable(1),
        lambda: gf.Leaning(3, 0.5, (1.0, 2.0)),
        lambda: gf.Exchangeable(3, 1.0),
        lambda: gf.Exchangeable(3, -0.1),
        lambda: gf.Exchangeable(3)([[0.0], [3.0]]),
        lambda: gf.Exchangeable(3)([[0.0, 1.0]]),
        lambda: gf.Similarity(3, 4),
        lambda: gf.Similarity(3, 1, (1.0, 2.0)),
        lambda: gf.Warped(gf.SE, SPACE.coordinates),
        lambda: gf.Warped(gf.SE(), SPACE),
        lambda: gf.GP(gf.SE().on("p"), space=SPACE),
    ],
)
def test_what_cannot_be_meant_is_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()
