"""Vecchia's approximation against dense matrices: the product of its conditionals, and with all neighbours the GP."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference.engines.dense import Dense
from gainful.inference.engines.metric import column_scales, metric_of
from gainful.inference.engines.vecchia import Vecchia
from gainful.testing.differences import gradient

KERNELS = {
    "SE": gf.SE(0.3, 1.5),
    "ARD": gf.Matern((0.3, 1.2, 0.6), 0.8, nu=2.5),
    "rough": gf.Matern(0.4, 1.5, nu=0.5),
    "sum": gf.Matern(0.5, 1.0, nu=1.5).on(0, 2) + gf.Linear(0.3) + 2.0,
    "product": gf.RationalQuadratic(0.5, 1.2, 0.8).on(0) * gf.Periodic(1.1, 0.7).on(1) + gf.SE(0.4).on(2),
    "additive": gf.Additive([(0, 1), (2,)], (0.4, 0.5, 0.8), (1.0, 0.6), "Matern52"),
}
MEAN = gf.LinearMean((0.5, -1.0, 0.2), 0.3)


def two_labs(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    y = MEAN(X) + np.sin(4.0 * X[:, 0]) + X[:, 2] + 0.1 * rng.normal(size=n)
    data = gf.Data().add(gf.Point(0.1), X[: n // 3], y[: n // 3]).add(gf.Point(0.4), X[n // 3 :], y[n // 3 :])
    return X, y, np.where(np.arange(n) < n // 3, 0.1, 0.4), data


def by_conditionals(belief, kernel, X, y, noise):
    """Σ_i log N(y_i | y_N(i)), from the matrix of all readings."""
    order, neighbours, *_ = belief.sets
    S = (kernel(X) + np.diag(noise**2))[np.ix_(order, order)]
    e, total = (y - MEAN(X))[order], 0.0
    for i, row in enumerate(neighbours):
        near = row[row >= 0]
        w = np.linalg.solve(S[np.ix_(near, near)], S[near, i])
        v = S[i, i] - w @ S[near, i]
        total -= 0.5 * (np.log(2.0 * np.pi * v) + (e[i] - w @ e[near]) ** 2 / v)
    return total


@pytest.mark.parametrize("name", KERNELS)
def test_the_evidence_is_the_product_of_conditionals(name):
    X, y, noise, data = two_labs()
    belief = Vecchia(7).believe(MEAN, KERNELS[name], data.layout)
    assert belief.log_evidence == pytest.approx(by_conditionals(belief, KERNELS[name], X, y, noise), abs=1e-8)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("engine", "most"), [(Vecchia(7, nearest=7), 7), (Vecchia(5), 20), (Vecchia(7, nearest=50), 50)]
)
def test_predictions_are_those_of_the_nearest_readings(name, engine, most):
    """By elimination in compiled code, and beyond 40 of them by LAPACK."""
    X, y, noise, data = two_labs()
    kernel = KERNELS[name]
    belief = engine.believe(MEAN, kernel, data.layout)
    scales = column_scales(kernel, X)
    for x in np.random.default_rng(1).uniform(size=(5, 1, 3)):
        near = np.argsort(np.sum(((X - x) * scales) ** 2, axis=1))[:most]
        S, k = kernel(X[near]) + np.diag(noise[near] ** 2), kernel(X[near], x)[:, 0]
        w = np.linalg.solve(S, k)
        np.testing.assert_allclose(belief.mean(x), MEAN(x) + w @ (y - MEAN(X))[near], rtol=1e-8)
        np.testing.assert_allclose(belief.variance(x), kernel(x)[0] - w @ k, rtol=1e-8)


@pytest.mark.parametrize("order", ["random", "maxmin"])
@pytest.mark.parametrize("name", KERNELS)
def test_with_all_neighbours_it_is_the_exact_gp(name, order):
    _, _, _, data = two_labs()
    kernel, engine = KERNELS[name], Vecchia(len(data) - 1, order)  # all that a reading has beside itself
    belief, gp = engine.believe(MEAN, kernel, data.layout), gf.GP(kernel, mean=MEAN)
    value, slopes = gp.log_evidence_and_gradient(data, gf.Exact())
    exact = gp.condition(data, gf.Exact())
    places, others = np.random.default_rng(1).uniform(-0.2, 1.2, size=(2, 9, 3))
    found = belief.gradient()
    assert belief.log_evidence == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(np.concatenate([found.kernel, found.mean]), slopes, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.mean(places), exact.mean(places), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(belief.variance(places), exact.variance(places), rtol=1e-8, atol=1e-10)
    cross = exact.covariance(np.concatenate([places, others]))[:9, 9:]
    np.testing.assert_allclose(belief.covariance(places, others), cross, rtol=1e-8, atol=1e-10)


def moved(kernel, mean, noise, X, y, sets_of):
    """The log evidence at other parameters with the same neighbours; `noise` is that of each reading."""
    data = gf.Data()
    for x, reading, each in zip(X, y, noise, strict=True):
        data = data.add(gf.Point(each), [x], [reading])
    return sets_of.engine.believe(mean, kernel, data.layout, start=sets_of).log_evidence


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_are_those_of_differences_with_the_same_neighbours(name):
    X, y, noise, data = two_labs(30)
    kernel = KERNELS[name]
    belief = Vecchia(6).believe(MEAN, kernel, data.layout)
    found = belief.gradient()
    by_kernel = gradient(lambda t: moved(kernel.with_theta(t), MEAN, noise, X, y, belief), kernel.theta)
    by_mean = gradient(lambda t: moved(kernel, MEAN.with_theta(t), noise, X, y, belief), MEAN.theta)
    some = np.array([0, 7, 29])

    def with_noise(t):
        changed = np.log(noise)
        changed[some] = t
        return moved(kernel, MEAN, np.exp(changed), X, y, belief)

    np.testing.assert_allclose(found.kernel, by_kernel, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.mean, by_mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.noise[some], gradient(with_noise, np.log(noise[some])), rtol=1e-7, atol=1e-7)


def test_the_gradient_leaves_the_evidence_it_had_on_the_way():
    _, _, _, data = two_labs()
    first, second = (Vecchia(7).believe(MEAN, KERNELS["ARD"], data.layout) for _ in range(2))
    first.gradient()
    assert first.log_evidence == pytest.approx(second.log_evidence, rel=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_covariances_are_positive_semidefinite_with_the_variances_on_the_diagonal(name):
    X, _, _, data = two_labs()
    belief = Vecchia(5).believe(MEAN, KERNELS[name], data.layout)
    places = np.concatenate([np.random.default_rng(1).uniform(-0.5, 1.5, size=(40, 3)), X[:10], X[:10] + 1e-6])
    cov = belief.covariance(places, places)
    prior = KERNELS[name].diag(places)
    np.testing.assert_allclose(np.diagonal(cov), belief.variance(places), atol=1e-12 * prior.max())
    np.testing.assert_allclose(cov, cov.T, atol=1e-12 * prior.max())
    assert np.linalg.eigvalsh(0.5 * (cov + cov.T))[0] > -1e-12 * prior.sum()
    np.testing.assert_allclose(belief.covariance(places[:4], places[3:]), cov[:4, 3:], atol=1e-12 * prior.max())


def test_covariances_are_those_of_the_errors_of_prediction_under_the_prior():
    """By matrices over all readings: e = f(x) − W y, with Cov[f, y] = k and Cov[y] = K + noise²."""
    X, _, noise, data = two_labs()
    kernel = KERNELS["ARD"]
    engine = Vecchia(5, nearest=5)
    belief = engine.believe(MEAN, kernel, data.layout)
    places, others = np.random.default_rng(1).uniform(size=(2, 3, 3))

    def weights(Z):
        """W (M, N), from predictions: each reading in its turn, with the others at the prior mean."""
        out = np.zeros((len(Z), len(X)))
        for i in range(len(X)):
            y = MEAN(X) + np.eye(len(X))[i]
            each = gf.Data().add(gf.Point(0.1), X[:20], y[:20]).add(gf.Point(0.4), X[20:], y[20:])
            out[:, i] = engine.believe(MEAN, kernel, each.layout, start=belief).mean(Z) - MEAN(Z)
        return out

    W, V = weights(places), weights(others)
    assert np.all(np.count_nonzero(np.abs(W) > 1e-14, axis=1) <= 5)
    S = kernel(X) + np.diag(noise**2)
    expected = kernel(places, others) - W @ kernel(X, others) - kernel(places, X) @ V.T + W @ S @ V.T
    np.testing.assert_allclose(belief.covariance(places, others), expected, atol=1e-10)


def test_repeated_places_are_told_apart_by_a_noise_of_1e_4():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(size=(20, 2)), 4, axis=0)
    y = np.sin(5.0 * X[:, 0]) + 1e-4 * rng.normal(size=80)
    data = gf.Data().add(gf.Point(1e-4), X, y)
    kernel = gf.Matern(0.5, 1.0, nu=1.5)
    belief = Vecchia(80).believe(gf.Zero(), kernel, data.layout)
    value, slopes = gf.GP(kernel, mean=gf.Zero()).log_evidence_and_gradient(data, gf.Exact())
    assert belief.log_evidence == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(belief.gradient().kernel, slopes, rtol=1e-6)
    few = Vecchia(8).believe(gf.Zero(), kernel, data.layout)
    assert np.isfinite(few.log_evidence)
    np.testing.assert_allclose(few.variance(X[::4]), 0.25e-8, rtol=1e-3)


def test_readings_that_cannot_be_told_apart_are_refused_in_words():
    X = 1e-12 * np.arange(5.0)[:, None]
    data = gf.Data().add(gf.Point(1e-12), X, np.zeros(5))
    belief = Vecchia(4).believe(gf.Zero(), gf.SE(), data.layout)
    for attempt in (lambda: belief.log_evidence, belief.gradient, lambda: belief.mean(X)):
        with pytest.raises(gf.NumericalError, match="increase the noise"):
            attempt()


def test_columns_of_one_value_change_nothing():
    rng = np.random.default_rng(0)
    X, y, places = rng.uniform(size=(50, 2)), rng.normal(size=50), rng.uniform(size=(6, 2))
    wide = [np.column_stack([each[:, 0], np.full(len(each), 3.0), each[:, 1]]) for each in (X, places)]
    plain = Vecchia(6).believe(gf.Zero(), gf.SE((0.3, 0.5)), gf.Data().add(gf.Point(0.1), X, y).layout)
    wider = Vecchia(6).believe(gf.Zero(), gf.SE((0.3, 1.0, 0.5)), gf.Data().add(gf.Point(0.1), wide[0], y).layout)
    assert wider.log_evidence == pytest.approx(plain.log_evidence, rel=1e-12)
    np.testing.assert_allclose(wider.mean(wide[1]), plain.mean(places), rtol=1e-10)
    np.testing.assert_allclose(wider.gradient().kernel[[0, 2, 3]], plain.gradient().kernel, rtol=1e-9)
    assert wider.gradient().kernel[1] == 0.0


def test_one_answer_and_none():
    one = gf.Data().add(gf.Point(0.5), [[0.2]], [1.0])
    belief = Vecchia().believe(gf.Zero(), gf.SE(1.0, 2.0), one.layout)
    assert belief.log_evidence == pytest.approx(-0.5 * (np.log(2.0 * np.pi * 2.25) + 1.0 / 2.25))
    assert belief.mean(np.array([[0.2]])) == pytest.approx([2.0 / 2.25])
    np.testing.assert_allclose(belief.gradient().noise, [0.25 * (1.0 / 2.25**2 - 1.0 / 2.25)])
    assert belief.covariance(np.zeros((0, 1)), np.zeros((2, 1))).shape == (0, 2)
    nothing = Vecchia().believe(gf.Zero(), gf.SE(1.0, 2.0), gf.Data().layout)
    assert nothing.log_evidence == 0.0
    assert nothing.variance(np.zeros((2, 1))).tolist() == [2.0, 2.0]
    assert nothing.covariance(np.zeros((2, 1)), np.zeros((1, 1))).tolist() == [[2.0], [2.0]]
    assert nothing.gradient().kernel.tolist() == [0.0, 0.0]


def test_what_a_space_makes_of_places_is_seen_by_the_metric_and_the_kernel():
    """Over a logarithmic dose, as if the logarithm had been measured at."""
    space = gf.Space(gf.Real("dose", 1.0, 1000.0, log=True), gf.Categorical("kind", ["a", "b"]))
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.uniform(0.0, np.log(1000.0), size=80)), rng.integers(0, 2, 80)])
    y, seen = rng.normal(size=80), np.column_stack([np.log(X[:, 0]), X[:, 1]])
    inside = gf.Matern(0.4, nu=1.5).on(0) * gf.Exchangeable(2, 0.3).on(1)
    kernel = gf.Warped(inside, space.coordinates)
    found = Vecchia(6).believe(gf.Zero(), kernel, gf.Data().add(gf.Point(0.1), X, y).layout)
    plain = Vecchia(6).believe(gf.Zero(), inside, gf.Data().add(gf.Point(0.1), seen, y).layout)
    np.testing.assert_allclose(found.log_evidence, plain.log_evidence, rtol=1e-10)
    np.testing.assert_allclose(found.gradient().kernel, plain.gradient().kernel, rtol=1e-8)
    np.testing.assert_allclose(found.mean(X[:5] * [1.1, 1.0]), plain.mean(seen[:5] + np.log([1.1, 1.0])), rtol=1e-8)
    np.testing.assert_allclose(found.covariance(X[:3], X[2:5]), plain.covariance(seen[:3], seen[2:5]), atol=1e-10)


@pytest.mark.parametrize(
    "make", [gf.SE, lambda ls: gf.Matern(ls, nu=0.5), lambda ls: gf.RationalQuadratic(ls, 1.0, 0.5)]
)
def test_scales_are_in_the_proportion_of_lengthscales_whatever_the_profile(make):
    lengths = np.array([0.05, 0.2, 1.0])
    X = np.random.default_rng(0).uniform(size=(300, 3)) * [1.0, 1.0, 10.0]
    for kernel in (make(tuple(lengths)), 3.0 * make(tuple(lengths)) + 100.0):
        scales = column_scales(kernel, X)
        np.testing.assert_allclose(scales * lengths / (scales[0] * lengths[0]), 1.0, rtol=1e-8)


def test_a_column_longer_than_the_data_is_scaled_by_how_little_it_changes():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    scales = column_scales(gf.SE((0.1, 20.0)), X)
    assert scales[0] / scales[1] == pytest.approx(200.0, rel=0.05)


def test_columns_that_the_kernel_does_not_see_are_not_seen():
    X = np.random.default_rng(0).uniform(size=(100, 3))
    kernel = gf.SE(0.3).on(0) * gf.Matern(0.2).on(2) + 1e3
    assert (column_scales(kernel, X) > 0.0).tolist() == [True, False, True]
    assert column_scales(gf.Constant(), X).tolist() == [0.0, 0.0, 0.0]


def test_neighbours_are_of_the_same_category_where_categories_differ():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=400), rng.integers(0, 3, 400)])
    data = gf.Data().add(gf.Point(0.1), X, rng.normal(size=400))
    belief = Vecchia(5).believe(gf.Zero(), gf.SE(0.3).on(0) * gf.Exchangeable(3, 0.1).on(1), data.layout)
    kinds = X[belief.sets.order, 1]
    assert np.mean(kinds[belief.sets.neighbours[100:]] == kinds[100:, None]) > 0.99


def test_outputs_called_by_name_are_read_as_those_called_by_number():
    """A name is a number of its own as a coordinate, and there is no output between two of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 9.0, (150, 1))
    found = []
    for outputs in (("purity", "heat", "yield"), (0, 1, 2), (2, 0, 1)):
        told = gf.Coregionalised(outputs, variance=(4.0, 1.0, 0.5), correlation=(-0.8, 0.0, 0.3))
        gp = gf.GP(gf.Matern(1.5).on("t") * told.on("output"), gf.Zero(), space=gf.Space(gf.Real("t", 0.0, 9.0)))
        data = gf.Data()
        for i, output in enumerate(outputs):
            data = data.add(gf.Point(0.2, output=output), X[i::3], np.sin(X[i::3, 0] + i))
        belief = gp.condition(data, inference=gf.Vecchia(6))
        found.append([belief.log_evidence, *belief.of(outputs[1]).mean([[2.0], [7.0]])])
        assert gp.condition(data, inference=gf.Vecchia(200)).log_evidence == pytest.approx(
            gp.condition(data, inference=gf.Exact()).log_evidence, abs=1e-8
        )
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=1e-8)


def test_levels_are_as_far_apart_as_their_correlations_say_whatever_they_are_called():
    X = np.column_stack([np.linspace(0.0, 9.0, 90), np.arange(90) % 3])
    opposite, strangers = np.array([[3.0, 0.0], [3.0, 1.0]]), np.array([[3.0, 0.0], [3.0, 2.0]])
    told = gf.Coregionalised(3, variance=(4.0, 1.0, 1.0), correlation=(-0.9, 0.1, 0.0))
    metric = metric_of(gf.SE(0.5).on(0) * told.on(1), X)
    near, far = (float(np.linalg.norm(np.subtract(*metric(pair)))) for pair in (opposite, strangers))
    step = np.linalg.norm(np.subtract(*metric(np.array([[3.0, 0.0], [3.0 + 0.5 * np.sqrt(-2.0 * np.log(0.9)), 0.0]]))))
    assert near == pytest.approx(step, rel=0.05)
    assert far > 4.0 * near
    new = metric(np.array([[3.0, 7.0]]))  # a level that nothing was read at is no nearer to one than to another
    assert np.isfinite(new).all()
    equal = metric_of(gf.SE(0.5).on(0) * gf.Exchangeable(3, 0.4).on(1), X)
    sides = [np.linalg.norm(np.subtract(*equal(np.array([[3.0, a], [3.0, b]])))) for a, b in ((0, 1), (1, 2), (0, 2))]
    assert sides == pytest.approx([sides[0]] * 3, rel=1e-6)


@pytest.mark.parametrize(("levels", "lost"), [(20, 10.0), (60, 60.0), (300, 160.0)])
def test_many_levels_of_which_none_is_nearer_to_another_are_told_apart(levels, lost):
    """Neighbours of the same level first, however many levels there are: nats that are lost to exact inference, of
    readings drawn from the model. Points in ten dimensions for all of them lost 48, 235 and 1253."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 10.0, 1500), rng.integers(0, levels, 1500)])
    kernel = gf.SE(1.5).on(0) * gf.Exchangeable(levels, 0.2).on(1)
    y = np.linalg.cholesky(kernel(X) + 0.01 * np.eye(1500)) @ rng.normal(size=1500)
    data = gf.Data().add(gf.Point(0.1), X, y)
    near, exact = (gf.GP(kernel).condition(data, inference=each) for each in (gf.Vecchia(20), gf.Exact()))
    assert near.log_evidence > exact.log_evidence - lost


def test_categories_of_a_sum_over_groups_are_levels_too():
    X = np.column_stack([np.linspace(0.0, 1.0, 60), np.arange(60) % 3])
    kernel = gf.Additive(((0, 1),), lengthscale=(0.3, 0.3), categories=(1,))
    assert kernel.between((0, 1)) == {0}
    metric = metric_of(kernel, X)
    assert metric.scales[1] == 0.0
    assert len(metric.levels[1][0]) == 3


def test_more_neighbours_come_nearer_to_the_evidence():
    rng = np.random.default_rng(0)
    X, kernel = rng.uniform(size=(300, 2)), gf.Matern((0.2, 0.5), nu=1.5)
    y = np.linalg.cholesky(kernel(X) + 0.01 * np.eye(300)) @ rng.normal(size=300)
    data = gf.Data().add(gf.Point(0.1), X, y)
    exact = gf.GP(kernel, mean=gf.Zero()).log_evidence_and_gradient(data, gf.Exact())[0]
    off = [abs(Vecchia(m).believe(gf.Zero(), kernel, data.layout).log_evidence - exact) for m in (2, 10, 50)]
    assert off[0] > 5.0 * off[1] > 10.0 * off[2]
    assert off[2] < 0.5


def test_a_belief_that_goes_on_from_another_keeps_its_neighbours():
    _, _, _, data = two_labs()
    engine = Vecchia(5)
    first = engine.believe(MEAN, gf.SE((0.1, 1.0, 1.0)), data.layout)
    other = gf.SE((1.0, 0.1, 1.0))
    assert engine.believe(MEAN, other, data.layout, start=first).sets is first.sets
    anew = engine.believe(MEAN, other, data.layout)
    assert not np.array_equal(anew.sets.neighbours, first.sets.neighbours)
    more = data.add(gf.Point(0.1), [[0.5, 0.5, 0.5]], [0.0])
    assert len(engine.believe(MEAN, other, more.layout, start=first).sets.order) == 61


def test_other_answers_and_impossible_settings_are_refused():
    yes = gf.Data().add(gf.Binary(), [[0.0]], [1])
    with pytest.raises(gf.InvalidInput, match="Inducing"):
        Vecchia().believe(gf.Zero(), gf.SE(), yes.layout)
    with pytest.raises(gf.InvalidInput, match="noise"):
        Vecchia().believe(gf.Zero(), gf.SE(), gf.Data().add(gf.Point(0.0), [[0.0]], [1.0]).layout)
    for make in (lambda: Vecchia(0), lambda: Vecchia(2.5), lambda: Vecchia(5, "sorted"), lambda: Vecchia(5, nearest=0)):
        with pytest.raises(gf.InvalidInput):
            make()


def replicated(seed=3):
    """Two labs read each of eighteen places several times."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(18, 3))
    X = places[rng.integers(0, 18, 150)]
    y = MEAN(X) + np.sin(4.0 * X[:, 0]) + 0.2 * rng.normal(size=150)
    return gf.Data().add(gf.Point(0.1, name="a"), X[:50], y[:50]).add(gf.Point(0.4, name="b"), X[50:], y[50:])


@pytest.mark.parametrize("name", ["ARD", "sum"])
def test_readings_at_one_place_are_taken_as_one_exactly(name):
    data, Z = replicated(), np.random.default_rng(0).uniform(size=(9, 3))
    ours, exact = (each.believe(MEAN, KERNELS[name], data.layout) for each in (Vecchia(17), Dense()))
    assert len(ours.sets.order) == 18
    assert ours.log_evidence == pytest.approx(exact.log_evidence, rel=1e-9)
    assert ours.mean(Z) == pytest.approx(exact.mean(Z), abs=1e-8)
    assert ours.covariance(Z, Z) == pytest.approx(exact.covariance(Z, Z), abs=1e-8)
    other = np.random.default_rng(1).normal(size=150)
    assert ours.from_residual(other)(Z) == pytest.approx(exact.from_residual(other)(Z), abs=1e-7)
    for mine, theirs in zip(ours.gradient(), exact.gradient(), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-7, abs=1e-7)


def test_a_design_with_many_replicates_loses_nothing():
    P = np.linspace(0, 1, 40)[:, None]
    X = np.repeat(P, 50, axis=0)
    y = np.sin(6 * X[:, 0]) + 0.3 * np.random.default_rng(2).normal(size=2000)
    data, gp = gf.Data().add(gf.Point(0.3), X, y), gf.GP(gf.Matern(0.3, nu=1.5))
    near, exact = (gp.condition(data, inference=each) for each in (gf.Vecchia(15), None))
    Z = (P[1:] + P[:-1]) / 2
    assert near.mean(Z) == pytest.approx(exact.mean(Z), abs=0.02)
    assert np.sqrt(near.variance(Z)) == pytest.approx(np.sqrt(exact.variance(Z)), rel=0.02)
    assert "40 places, read 2000 times" in near.convergence.message


def test_what_more_neighbours_would_add_is_said():
    """The expected gain of each reading, from dense matrices; and about what the evidence does gain."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(600, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=600)
    data, kernel = gf.Data().add(gf.Point(0.3), X, y), gf.SE(0.3)
    few, more = (Vecchia(m).believe(gf.Zero(), kernel, data.layout) for m in (5, 20))
    K = kernel(X) + 0.09 * np.eye(600)

    def left(i, near):
        i, near = few.sets.order[i], few.sets.order[near]
        return K[i, i] - K[i, near] @ np.linalg.solve(K[np.ix_(near, near)], K[near, i])

    gains = [0.5 * np.log(left(i, more.sets.neighbours[i][:5]) / left(i, more.sets.neighbours[i]))
             for i in few.sets.checked if i >= 20]  # fmt: skip
    assert len(gains) > 25
    assert few.missing / 594 == pytest.approx(np.mean(gains), rel=0.1)
    assert 0.5 < few.missing / (more.log_evidence - few.log_evidence) < 2.0
    assert f"20 would raise the log evidence by about {few.missing:.2g}" in few.convergence.message


def test_a_message_never_fails_where_the_evidence_does_not():
    """Neighbours of a smooth function read with next to no noise: four are told apart, sixteen are not."""
    X = np.linspace(0.0, 1.0, 200)[:, None]
    data = gf.Data().add(gf.Point(1e-8), X, np.sin(6.0 * X[:, 0]))
    belief = Vecchia(4).believe(gf.Zero(), gf.SE(0.2), data.layout)
    assert np.isfinite(belief.log_evidence)
    assert np.isnan(belief.missing)
    assert belief.convergence.message.endswith("16 would have variances that double precision cannot tell from 0")
