"""EP through inducing points against dense EP, brute-force conditioning, and differences."""

import numpy as np
import pytest

import gainful as gf
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.conditioned import condition_on
from gainful.inference.convergence import Result
from gainful.inference.engines import low_rank_ep
from gainful.inference.engines.inducing import Inducing, greedy_places
from gainful.inference.engines.low_rank_ep import condition_low_rank
from gainful.inference.sites import Sites

KERNEL = gf.Matern((0.8, 1.5), 2.0, nu=1.5)
MEAN = gf.ConstantMean(0.3)
PLACES = np.random.default_rng(3).uniform(0.0, 3.0, size=(7, 2))


def answers(kind, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, size=(n, 2))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] - 1.5
    says = f + rng.normal(size=n) > 0.0
    half = n // 2
    window = np.stack([f - 0.2, f + 0.3], axis=1)
    return {
        "binary": lambda: gf.Data().add(gf.Binary(), X, says),
        "ordinal": lambda: gf.Data().add(gf.Ordinal((-1.0, 0.0, 1.0), noise=0.3), X, 1 + np.digitize(f, [-1, 0, 1])),
        "interval": lambda: gf.Data().add(gf.Interval(noise=0.1), X, window),
        "window": lambda: gf.Data().add(gf.Interval(noise=0.0), X, window),
        "count": lambda: gf.Data().add(gf.Count(), X, rng.poisson(np.exp(f))),
        "mixed": lambda: gf.Data().add(gf.Binary(), X[:half], says[:half]).add(gf.Point(0.2), X[half:], f[half:]),
        "preference": lambda: (
            gf.Data()
            .add(gf.Preference(), X.reshape(half, 2, 2), f[::2] > f[1::2])
            .add(gf.Point(0.2), X[half:], f[half:])
        ),
    }[kind]()


KINDS = ("binary", "ordinal", "interval", "window", "count", "mixed", "preference")


@pytest.mark.parametrize("kind", KINDS)
def test_with_every_place_a_point_it_is_dense_ep(kind):
    data = answers(kind)
    gp = gf.GP(KERNEL, mean=MEAN)
    post = gp.condition(data, gf.EP(response=False))
    value, slopes = gp.log_evidence_and_gradient(data, gf.EP())
    belief = Inducing(1000).believe(MEAN, KERNEL, data.layout)
    assert belief.convergence.result is Result.CONVERGED
    assert belief.log_evidence == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(belief.mean(PLACES), post.mean(PLACES), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(belief.variance(PLACES), post.variance(PLACES), rtol=1e-6)
    np.testing.assert_allclose(
        belief.covariance(PLACES, PLACES[:2]), post.covariance(PLACES)[:, :2], rtol=1e-6, atol=1e-7
    )
    found = belief.gradient()
    np.testing.assert_allclose(np.concatenate([found.kernel, found.mean]), slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_with_few_points_it_is_dense_ep_under_the_fitc_prior(kind):
    """The same sites' fixed point, with Q + diag(K − Q) written out for the covariance of g."""
    data = answers(kind)
    layout = data.layout
    belief = Inducing(10).believe(MEAN, KERNEL, layout)
    U = belief.points
    C = layout.pick(KERNEL(layout.places, U))
    Q = C @ np.linalg.solve(KERNEL(U), C.T)
    cov = Q + np.diag(np.diagonal(layout.covariance(KERNEL(layout.places))) - np.diagonal(Q))
    dense = gf.EP(tolerance=1e-9).solve(layout, layout.pick(MEAN(layout.places)), cov)
    assert belief.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)
    np.testing.assert_allclose(belief.state.mean, dense.state.mean, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(belief.state.variance, dense.state.variance, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_the_evidence_with_the_points_held(kind):
    data = answers(kind)
    engine = Inducing(greedy_places(KERNEL, data.layout.places, 12), tolerance=1e-10)
    theta = np.concatenate([KERNEL.theta, MEAN.theta])

    def value(at):
        return engine.believe(MEAN.with_theta(at[3:]), KERNEL.with_theta(at[:3]), data.layout).log_evidence

    belief = engine.believe(MEAN, KERNEL, data.layout)
    found = belief.gradient()
    differences = [(value(theta + h) - value(theta - h)) / 2e-4 for h in 1e-4 * np.eye(4)]
    np.testing.assert_allclose(np.concatenate([found.kernel, found.mean]), differences, rtol=1e-6, atol=1e-6)
    for instrument, slopes in zip(data.instruments, belief.instrument_gradient(), strict=True):

        def moved(h, instrument=instrument):
            changed = data.with_instruments({instrument: instrument.with_theta(instrument.theta + h)})
            return engine.believe(MEAN, KERNEL, changed.layout).log_evidence

        each = [(moved(h) - moved(-h)) / 2e-4 for h in 1e-4 * np.eye(instrument.size)]
        np.testing.assert_allclose(slopes, each, rtol=1e-6, atol=1e-6)


def test_conditioning_is_that_on_the_covariance_written_out():
    rng = np.random.default_rng(0)
    features, left, mean = rng.normal(size=(30, 4)), rng.uniform(0.0, 0.5, size=30), rng.normal(size=30)
    left[:3] = 0.0
    precision = rng.uniform(-0.3, 4.0, size=30)
    precision[5] = 0.0
    sites = Sites(precision, rng.normal(size=30))
    low = condition_low_rank(sites, mean, features, left)
    full = condition_on(sites, mean, features @ features.T + np.diag(left))
    assert low.log_det == pytest.approx(full.log_det, rel=1e-10)
    for name in ("mean", "variance", "alpha", "cavity_ratio"):
        np.testing.assert_allclose(getattr(low, name), getattr(full, name), rtol=1e-8, atol=1e-10)
    m, v = low.cavity(np.array([4, 7]))
    precision[4] = 0.0
    without = condition_on(Sites(precision, np.where(np.arange(30) == 4, 0.0, sites.shift)), mean, full.prior_cov)
    assert (m[0], v[0]) == (pytest.approx(without.mean[4]), pytest.approx(without.variance[4]))


@pytest.mark.parametrize("precision", [(-3.0, 0.0), (-0.9, -0.9)], ids=["of one row", "of both"])
def test_sites_that_leave_no_proper_belief_are_an_error(precision):
    sites = Sites(np.array(precision), np.zeros(2))
    with pytest.raises(NumericalError, match="no proper belief"):
        condition_low_rank(sites, np.zeros(2), np.ones((2, 1)), np.full(2, 0.5))


def test_both_ways_to_the_factor_give_the_same_belief(monkeypatch):
    rng = np.random.default_rng(2)
    features = rng.normal(size=(50, 6))
    sites = Sites(rng.uniform(0.0, 3.0, size=50), rng.normal(size=50))
    formed = condition_low_rank(sites, np.zeros(50), features, np.zeros(50))
    monkeypatch.setattr("gainful.inference.engines.low_rank_ep._SQUARES_LOSE", 0.0)
    rotated = condition_low_rank(sites, np.zeros(50), features, np.zeros(50))
    assert not np.array_equal(formed.lower, rotated.lower)
    np.testing.assert_allclose(rotated.lower, formed.lower, rtol=1e-10, atol=1e-12)


def test_a_start_saves_sweeps_and_changes_nothing():
    data = answers("binary", n=200)
    first = Inducing(30).believe(MEAN, KERNEL, data.layout)
    moved = KERNEL.with_theta(KERNEL.theta + 0.02)
    cold = Inducing(first.points).believe(MEAN, moved, data.layout)
    warm = Inducing(30).believe(MEAN, moved, data.layout, first)
    assert warm.convergence.iterations < cold.convergence.iterations
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)
    more = data.add(gf.Binary(), PLACES, np.ones(7))
    grown = Inducing(30).believe(MEAN, KERNEL, more.layout, first)
    assert grown.log_evidence == pytest.approx(Inducing(30).believe(MEAN, KERNEL, more.layout).log_evidence, abs=1e-9)
    fewer = data.without(range(5))
    shrunk = Inducing(30).believe(MEAN, KERNEL, fewer.layout, first)
    assert shrunk.log_evidence == pytest.approx(Inducing(30).believe(MEAN, KERNEL, fewer.layout).log_evidence, abs=1e-9)


def test_too_few_iterations_are_reported():
    belief = Inducing(20, max_iterations=2).believe(MEAN, KERNEL, answers("binary", n=100).layout)
    assert belief.convergence.result is Result.STOPPED_EARLY
    assert belief.report().startswith("stopped after 2 iterations")


def test_answers_that_are_not_log_concave_settle_too():
    """A guess rate: sites may have negative precisions."""
    X = np.linspace(-3.0, 3.0, 120)[:, None]
    says = (X[:, 0] > 0.0) ^ (np.arange(120) % 9 == 0)
    data = gf.Data().add(gf.Binary(guess=0.1, lapse=0.1), X, says)
    belief = Inducing(60).believe(gf.Zero(), gf.SE(1.0, 9.0), data.layout)
    assert belief.convergence
    assert np.any(belief.state.sites.precision < 0.0)
    exact = gf.GP(gf.SE(1.0, 9.0)).condition(data, gf.EP())
    assert belief.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)


def test_where_no_step_is_proper_negative_precisions_are_given_up_and_then_the_attempt(monkeypatch):
    layout = answers("binary").layout
    settled = Inducing(20).believe(MEAN, KERNEL, layout)
    ends = low_rank_ep.first_to_end
    monkeypatch.setattr(low_rank_ep, "first_to_end", lambda *a: ends(*a) if a[1].clip_negative else None)
    clipped = Inducing(20).believe(MEAN, KERNEL, layout)
    assert clipped.convergence.result is Result.CLIPPED
    assert clipped.log_evidence == pytest.approx(settled.log_evidence, abs=1e-9)  # these sites have none to give up
    monkeypatch.setattr(low_rank_ep, "first_to_end", lambda *a: None)
    with pytest.raises(NumericalError, match="give their instrument some noise"):
        Inducing(20).believe(MEAN, KERNEL, layout)


def test_there_is_no_upper_bound_where_an_answer_is_no_number():
    belief = Inducing(10).believe(MEAN, KERNEL, answers("mixed").layout)
    assert belief.upper == np.inf
    assert "of the prior's variance unexplained" in belief.report()


def test_answers_about_several_values_at_once_are_refused_in_words():
    data = gf.Data().add(gf.Detection(), np.zeros((1, 2, 2)), [True])
    with pytest.raises(InvalidInput, match="see one value each"):
        Inducing(10).believe(MEAN, KERNEL, data.layout)


def test_five_thousand_answers_predict_better_than_a_thousand_do_exactly():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(7000, 2))
    f = 3.0 * np.sin(5.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])
    says = f + rng.normal(size=7000) > 0.0
    kernel, held_out = gf.SE(0.3, 4.0), slice(5000, None)

    def log_loss(mean, variance):
        p = gf.Binary().log_partition(says[held_out].astype(float), mean, variance)
        return -float(np.mean(p.log_z))

    few = gf.Data().add(gf.Binary(), X[:1000], says[:1000])
    dense = gf.GP(kernel).condition(few)
    belief = Inducing(200).believe(gf.Zero(), kernel, gf.Data().add(gf.Binary(), X[:5000], says[:5000]).layout)
    assert belief.convergence
    by_all = log_loss(belief.mean(X[held_out]), belief.variance(X[held_out]))
    by_few = log_loss(dense.mean(X[held_out]), dense.variance(X[held_out]))
    knowing = log_loss(f[held_out], np.zeros(2000))
    assert knowing < by_all < by_few < knowing + 0.03
