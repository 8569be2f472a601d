"""Posteriors asked as one answer as each of them alone does."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference.stacked import stack
from gainful.kernels.batch import as_batch

SPACE = gf.Space(
    gf.Real("x", 0, 2),
    gf.Categorical("kind", ["a", "b", "c"]),
    gf.Real("rate", 0.1, 10.0, log=True, when={"kind": ["a", "b"]}),
)
BATCHED = [gf.SE(0.7, 2.0), gf.Matern((0.8, 1.3), 1.5, nu=0.5), gf.Matern(0.8, nu=1.5), gf.Matern((1.0, 2.0), 1.5)]
BATCHED += [gf.RationalQuadratic((0.9, 0.5), 1.1, 0.7), gf.SE(0.5).on(1) * gf.Matern(0.7).on(0) + 2.0]


def beliefs():
    rng = np.random.default_rng(0)
    X = SPACE.candidates(9, rng)
    data = gf.Data().add(gf.Point(name="lab"), X, np.sin(3 * X[:, 0]) + X[:, 1])
    return gf.GP(space=SPACE).condition(data)


@pytest.mark.parametrize("kernel", BATCHED, ids=str)
def test_slopes_of_a_batch_are_the_sum_of_the_slopes_of_each(kernel):
    rng = np.random.default_rng(1)
    X, Z = rng.uniform(0, 2, (4, 2)), rng.uniform(0, 2, (7, 2))
    several = [kernel.with_theta(kernel.theta + 0.3 * rng.normal(size=kernel.size)) for _ in range(3)]
    together = as_batch(several)
    assert together is not None
    assert together.slopes_together
    K, back = together.vjp_inputs(X, Z)
    G = rng.normal(size=K.shape)
    alone = [each.vjp_inputs(X, Z) for each in several]
    np.testing.assert_allclose(K, [k for k, _ in alone], rtol=1e-12)
    np.testing.assert_allclose(back(G), sum(b(g) for (_, b), g in zip(alone, G, strict=True)), rtol=1e-9, atol=1e-11)


def test_posteriors_together_see_what_each_sees():
    belief = beliefs()
    stacked = stack(belief.posteriors)
    assert stacked is not None
    rng = np.random.default_rng(2)
    places, others = SPACE.candidates(5, rng), SPACE.candidates(6, rng)
    watched = stacked.watch(others)
    views = stacked.climb(places, watched)
    by_mean, by_variance = rng.normal(size=(2, *views.mean.shape))
    by_cross = rng.normal(size=views.cross.shape)
    slope = np.zeros_like(places)
    for s, each in enumerate(belief.posteriors):
        look = each.vjp(gf.Point(), places, each.beside(others))
        np.testing.assert_allclose(views.mean[s], look.mean, rtol=1e-9)
        np.testing.assert_allclose(views.variance[s], look.variance, rtol=1e-7)
        np.testing.assert_allclose(views.cross[s], look.cross, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(watched.mean[s], each.mean(others), rtol=1e-9)
        slope += look.back(by_mean[s], by_variance[s], by_cross[s])
    np.testing.assert_allclose(views.back(by_mean, by_variance, by_cross), slope, rtol=1e-7, atol=1e-9)


def test_what_differs_in_form_is_not_stacked():
    data = gf.Data().add(gf.Point(0.1), [[0.0], [1.0]], [0.0, 1.0])
    one, other = (gf.GP(kernel).condition(data) for kernel in (gf.SE(), gf.Matern()))
    assert stack([one, other]) is None
    assert stack([one, gf.GP(gf.SE()).condition(gf.Data())]) is None
    assert stack([gf.GP(gf.Linear()).condition(data)]) is None
    assert as_batch([gf.SE(1.0), gf.SE((1.0, 2.0))]) is None
