"""Functions drawn by pathwise conditioning: random waves against kernels, draws against the belief's own moments."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference.engines.dense import Dense

LAB, YES = gf.Point(0.2, name="lab"), gf.Binary(name="yes")
SPACE = gf.Space(gf.Real("a", 0.1, 10.0, log=True), gf.Real("b", 0.0, 1.0))
KERNELS = [
    gf.SE((0.5, 0.8), 2.0),
    gf.Matern(0.6, 1.3, nu=0.5),
    gf.Matern((0.6, 0.4), nu=1.5),
    gf.Matern(0.6, nu=2.5),
    gf.RationalQuadratic(0.7, 1.2, 0.8),
    gf.Periodic((0.8, 0.3), (1.1, 0.7), 1.5),
    gf.Constant(0.7),
    gf.Linear(1.5),
    gf.CentredLinear((0.3, -0.2), 1.2),
    gf.SE(0.4).on(1) * gf.Matern(0.9).on(0) + 0.5 * gf.Linear().on(1),
    (gf.SE(0.4) + gf.Constant(0.3)) * (gf.Periodic().on(0) + gf.Linear()),
    gf.Additive([(0,), (0, 1)], lengthscale=(0.4, 0.7), variance=(1.0, 0.5), profile="Matern32"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_random_features_have_the_kernel_as_their_mean(kernel):
    """To four standard errors of a mean over 40,000 features, at pairs near and far."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(6, 2))
    phi = kernel.features(2, 40_000, rng)(X)
    each = np.real(phi[:, None, :] * phi.conj()[None, :, :])
    error = each.std(axis=2) / np.sqrt(each.shape[2])
    assert np.all(np.abs(each.mean(axis=2) - kernel(X)) < 4.0 * error + 1e-12)


def test_kernels_without_random_features_are_refused_in_words():
    data = gf.Data().add(LAB, [[0.0]], [1.0])

    class Own(gf.Kernel):
        def matrix(self, X, Z):
            return np.ones((len(X), len(Z)))

        def diag(self, X):
            return np.ones(len(X))

    with pytest.raises(gf.InvalidInput, match="kernel: expected one that has random features"):
        gf.GP(gf.SE() + Own()).condition(data).function(0)
    with pytest.raises(gf.InvalidInput, match="data: expected data that say how many coordinates"):
        gf.GP(gf.SE()).condition(gf.Data()).function(0)


def moments(posterior, Z, draws):
    values = np.array([posterior.function(seed, waves=1500)(Z) for seed in range(draws)])
    return values.mean(axis=0), np.cov(values.T)


def near(found, mean, cov, draws):
    """Means to four standard errors; covariances, which 1500 waves have to a few hundredths, to a tenth."""
    assert np.all(np.abs(found[0] - mean) < 4.0 * np.sqrt(np.diag(cov) / draws) + 0.01)
    assert np.abs(found[1] - cov).max() < 4.0 * np.diag(cov).max() * np.sqrt(2.0 / draws)


def problem(count=25, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(count, 2))
    return X, np.sin(5.0 * X[:, 0]) + 0.2 * rng.normal(size=count), rng.uniform(-0.2, 1.2, size=(5, 2))


def test_draws_have_the_moments_of_the_belief_whatever_the_answers():
    X, y, Z = problem()
    data = gf.Data().add(LAB, X, y).add(YES, X[:6] + 0.05, [1, 0, 1, 1, 0, 1])
    posterior = gf.GP(gf.SE((0.4, 0.7)), gf.ConstantMean(0.4)).condition(data)
    near(moments(posterior, Z, 200), posterior.mean(Z), posterior.covariance(Z), 200)


@pytest.mark.parametrize(
    "engine",
    [
        Dense(),
        gf.Single(),
        gf.Vecchia(25),
        gf.Inducing(12),
        gf.Iterative(),
        gf.SKIP(rank=40, over=[[-0.3, -0.3], [1.3, 1.3]]),
    ],
    ids=str,
)
def test_draws_behind_an_engine_have_the_moments_of_its_belief_and_of_later_answers(engine):
    X, y, Z = problem()
    gp = gf.GP(gf.SE((0.4, 0.7)), gf.ConstantMean(0.4))
    first = gp.condition(gf.Data().add(LAB, X, y), inference=engine)
    later = first.condition(gf.Data().add(gf.Point(0.05, name="later"), Z[:2], [1.0, -1.0]))
    for posterior in (first, later):
        near(moments(posterior, Z, 200), posterior.mean(Z), posterior.covariance(Z), 200)


def test_a_function_is_the_same_at_every_call_and_for_the_same_seed():
    X, y, Z = problem()
    posterior = gf.GP(gf.Matern(0.5), space=SPACE).posterior(gf.Data().add(LAB, np.abs(X) + 0.1, y))
    f, again = posterior.function(3), posterior.function(3)
    places = np.abs(Z) + 0.1
    assert f(places).tolist() == again(places).tolist()
    assert f(places[2:3])[0] == pytest.approx(f(places)[2], abs=1e-12)
    assert posterior.function(4)(places).tolist() != f(places).tolist()
    assert np.abs(f(np.abs(X) + 0.1) - y).max() < 1.0  # near the readings


def test_answers_without_noise_are_kept_by_every_draw():
    posterior = gf.GP(gf.SE(0.5)).condition(gf.Data().add(gf.Point(0.0), [[0.0], [0.7]], [1.0, -1.0]))
    for seed in range(5):
        assert posterior.function(seed)([[0.0], [0.7]]) == pytest.approx([1.0, -1.0], abs=1e-6)


def test_functions_are_drawn_through_inducing_points_of_any_answers():
    X, y, Z = problem(40)
    data = gf.Data().add(YES, X, y > 0.0)
    posterior = gf.GP(gf.SE((0.4, 0.7)), gf.ConstantMean(0.4)).condition(data, inference=gf.Inducing(10))
    near(moments(posterior, Z, 200), posterior.mean(Z), posterior.covariance(Z), 200)


def test_grids_and_no_waves_are_refused():
    X, y, _ = problem()
    posterior = gf.GP(gf.SE(0.5)).condition(gf.Data().add(LAB, X, y), inference=gf.SKI(over=[[0, 0], [1, 1]]))
    with pytest.raises(gf.InvalidInput, match="inference: expected Exact"):
        posterior.function(0)
    with pytest.raises(gf.InvalidInput, match="waves: expected"):
        posterior.function(0, waves=0)
