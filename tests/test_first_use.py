"""What a first-time user tries, and what must not go wrong quietly."""

import numpy as np
import pytest

import gainful as gf


def _line(n=4):
    return gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.1), np.linspace(0, 1, n)[:, None], np.arange(n) / n))


def test_masks_are_not_mistaken_for_numbers_of_observations():
    post = _line()
    for wrong in (np.array([False, False, True, False]), True, [0.0], [7], ["a"]):
        with pytest.raises(gf.InvalidInput, match="whole numbers"):
            post.without(wrong)
    for right in ({1, 2}, (i for i in (1, 2)), np.array([2, 1]), [-3, -2]):
        assert len(post.without(right).data) == 2
    assert post.without([]) is post


def test_noiseless_data_gives_a_fit_at_a_maximum_or_a_warning():
    X = np.linspace(0, 10, 20)[:, None]
    fitted = gf.fit(gf.GP(gf.SE(1.0)), gf.Data().add(gf.Point(), X, np.sin(X[:, 0])))
    assert fitted.converged
    assert np.max(np.abs(fitted.problem.log_density(fitted.theta)[1])) < 0.05


@pytest.mark.parametrize(("kernel", "noise"), [(gf.SE(2.0), 1e-5), (gf.SE(0.3), 0.0)])
def test_precisely_known_functions_can_be_sampled(kernel, noise):
    X = np.linspace(0, 1, 8)[:, None]
    post = gf.GP(kernel).condition(gf.Data().add(gf.Point(noise), X, np.sin(X[:, 0])))
    drawn = post.sample(np.vstack([X, np.linspace(0, 1, 50)[:, None]]), 20, 0)
    np.testing.assert_allclose(drawn[:, :8], np.tile(np.sin(X[:, 0]), (20, 1)), atol=1e-4)
    assert np.all(np.diagonal(post.covariance(X)) >= 0.0)


def test_priors_must_fit_their_parameter():
    X = np.linspace(0, 1, 12)[:, None]
    data = gf.Data().add(gf.Binary(lapse=0.02), X, X[:, 0] > 0.4)
    unused = gf.GP(gf.SE(), priors={"lab.noise": gf.Fixed()})  # for an instrument that has not been used yet
    with pytest.warns(gf.GainfulWarning, match=r"lab\.noise"):
        gf.fit(unused, data, starts=1)
    gp = gf.GP(gf.SE())
    with pytest.raises(gf.InvalidInput, match="positive values"):
        gf.fit(gp, data, priors={"SE.lengthscale": gf.Normal(0.2, 1.0)})
    for prior in (gf.LogNormal(-4.0, 1.0), gf.Uniform(0, 2)):
        with pytest.raises(gf.InvalidInput, match="Beta"):
            gf.fit(gp, data, priors={"Binary.lapse": prior})
    fitted = gf.fit(gp, data, priors={"Binary.lapse": gf.Beta(1.0, 20.0)})
    assert 0.0 < fitted.values["Binary.lapse"] < 0.2
    careless = gf.Data().add(gf.Binary(guess=0.3, lapse=0.3), X, X[:, 0] > 0.4)
    wide = {"Binary.lapse": gf.Uniform(0, 1), "Binary.guess": gf.Uniform(0, 1)}
    found = gf.fit(gp, careless, priors=wide, starts=2).values
    assert found["Binary.guess"] + found["Binary.lapse"] < 1.0


def test_what_is_certain_is_predicted_without_nan():
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.0), [[0.0], [1.0]], [0.0, 1.0]))
    X = np.array([[0.0], [1.0]])
    assert not np.any(np.isnan(post.answers(gf.Point(0.0), X).log_prob([0.0, 0.5])))
    assert not np.any(np.isnan(post.answers(gf.Interval(0.0, width=0.5), X).log_prob([[-0.1, 0.4], [2.0, 2.5]])))
    ranks = post.answers(gf.Ordinal([0.25, 0.5], noise=0.0), X).probabilities
    np.testing.assert_allclose(ranks, [[1, 0, 0], [0, 0, 1]])
    pairs = post.answers(gf.Preference(0.0), [[[1.0], [0.0]], [[0.3], [0.3]]]).probability
    np.testing.assert_allclose(pairs, [1.0, 0.5])


def test_impossible_answers_have_no_probability():
    answers = _line().answers(gf.Ordinal([0.2, 0.5], 0.1), [[0.3], [0.6]])
    assert answers.log_prob([1, 3]).shape == (2,)
    for wrong in ([2.5, 1], [0, 1], [7, 1], 1, [1]):
        with pytest.raises(gf.InvalidInput, match="one of"):
            answers.log_prob(wrong)


def test_hard_intervals_that_exclude_each_other_are_an_error():
    data = gf.Data().add(gf.Interval(0.0), [[0.0], [0.0]], [(0, 1), (2, 3)])
    with pytest.raises(gf.NumericalError, match="contradict"):
        gf.GP(gf.SE()).condition(data)


def test_an_unrelated_preference_leaves_a_precise_place_precise():
    data = gf.Data().add(gf.Point(1e-9), [[0.0]], [0.3])
    more = data.add(gf.Preference(), [[[1.0], [2.0]]], [True])
    gp = gf.GP(gf.SE(0.2))
    assert gp.condition(more).variance([[0.0]])[0] == pytest.approx(gp.condition(data).variance([[0.0]])[0], rel=1e-6)


def test_the_space_is_checked_wherever_data_meets_it():
    space = gf.Space(gf.Real("x", 0, 1), gf.Real("y", 0, 1))
    data = gf.Data().add(gf.Point(0.1), [[0.1], [0.5]], [0.0, 1.0])
    for use in (gf.GP(gf.SE(), space=space).condition, lambda d: gf.fit(gf.GP(gf.SE(), space=space), d)):
        with pytest.raises(gf.InvalidInput, match="coordinates"):
            use(data)
    with pytest.raises(gf.InvalidInput, match="lengthscale"):
        gf.fit(gf.GP(gf.SE((1.0, 2.0))), data)
    with pytest.raises(gf.InvalidInput, match="slope"):
        gf.fit(gf.GP(gf.SE(), gf.LinearMean((1.0, 2.0))), data)
    with pytest.raises(gf.InvalidInput, match="GP"):
        gf.fit(gf.SE(), data)
    with pytest.raises(gf.InvalidInput, match="Data"):
        gf.fit(gf.GP(gf.SE()), "abc")


def test_names_never_collide_and_counts_are_right():
    a, b, c = gf.Point(0.1, name="a"), gf.Point(0.2, name="a"), gf.Point(0.3, name="a2")
    data = gf.Data().add(a, [[0.0]], [0.0]).add(b, [[0.5]], [0.1]).add(c, [[1.0]], [0.2]).add(a, [[0.7]], [0.3])
    names = gf.fit(gf.GP(gf.SE()), data, starts=1).names
    assert len(set(names)) == len(names) == 5
    assert repr(data) == "Data(3 from a, 1 from a2)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.GP(gf.SE()).condition(gf.Data(), gf.EP),
        lambda: gf.GP(gf.SE().with_theta(np.zeros((3, 2)))).condition(gf.Data().add(gf.Point(), [[0.0]], [1.0])),
        lambda: gf.Real("x", "0", 1),
        lambda: gf.SE().on(1.5),
        lambda: gf.GP(gf.SE(), priors=[gf.Fixed()]),
        lambda: gf.Laplace(tolerance=-1),
        lambda: gf.EP(max_iterations=2.5),
        lambda: gf.Point(cost=True),
        lambda: gf.NotchMean(dim=-1),
        lambda: gf.Beta(0.0, 1.0),
    ],
)
def test_wrong_kinds_of_arguments_are_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()


def test_exact_inference_names_the_instruments_that_it_cannot_read():
    with pytest.raises(gf.InvalidInput, match="Binary"):
        gf.GP(gf.SE()).condition(gf.Data().add(gf.Binary(), [[0.0]], [True]), gf.Exact())


def test_an_interval_that_says_nothing_is_no_trouble():
    data = gf.Data().add(gf.Interval(0.1), [[0.0], [0.5]], [(-np.inf, np.inf), (0.2, 0.4)])
    assert gf.fit(gf.GP(gf.SE()), data, starts=1).converged
