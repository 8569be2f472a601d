"""Newton's steps of EP: the Jacobian against differences of whole looks, and what a step gains."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference.compressed import compress
from gainful.inference.conditioned import condition_on, grow
from gainful.inference.jacobian import jacobian
from gainful.inference.sites import Sites
from gainful.inference.sweep import sweep
from gainful.instruments.base import Partition
from gainful.numerics.lowrank import low_rank

INSTRUMENTS = {
    "yes/no": [gf.Binary()],
    "careless yes/no": [gf.Binary(guess=0.05, lapse=0.02)],
    "in turn": [gf.Binary(), gf.Binary(guess=0.05), gf.Interval(0.1, width=0.6), gf.Binary(guess=0.05)],
    "mixed": [gf.Point(0.3), gf.Interval(0.1, width=0.6), gf.Ordinal([-0.5, 0.5], 0.2), gf.Binary()],
}


def _posterior(kinds, n, dimensions, seed=0, **kernel):
    rng = np.random.default_rng(seed)
    gp = gf.GP(gf.SE(**{"lengthscale": 0.4, "variance": 3.0, **kernel}))
    data = gf.Data()
    for instrument in kinds:
        X = rng.random((n // len(kinds), dimensions))
        f = gp.condition(data).sample(X, 1, rng)[0]
        data = data.add(instrument, X, instrument.simulate(f, rng))
    return gp.condition(data), rng


def _asked(layout, state):
    sites = sweep(layout, state).sites
    return np.concatenate([sites.precision[layout.scalar_rows], sites.shift[layout.scalar_rows]])


def _moved(sites, rows, tau, nu):
    precision, shift = sites.precision.copy(), sites.shift.copy()
    precision[rows] += tau
    shift[rows] += nu
    return Sites(precision, shift)


@pytest.mark.parametrize("form", ["full", "low rank"])
@pytest.mark.parametrize("name", INSTRUMENTS)
def test_the_jacobian_is_that_of_a_look(name, form):
    post, rng = _posterior(INSTRUMENTS[name], 60, 1)
    layout, state = post.data.layout, post.solution.state
    mean, cov, rows = state.prior_mean, state.prior_cov, post.data.layout.scalar_rows
    root = low_rank(cov).root
    assert root is not None

    def condition(sites):
        return condition_on(sites, mean, cov) if form == "full" else compress(sites, mean, root)

    here = condition(state.sites)
    found = jacobian(layout, here, sweep(layout, here))
    for _ in range(3):
        tau = rng.normal(size=len(rows)) * 0.1 * state.sites.precision[rows]
        nu = rng.normal(size=len(rows)) * 0.1 * np.abs(state.sites.shift[rows])
        step = 1e-4
        up, down = (condition(_moved(state.sites, rows, s * tau, s * nu)) for s in (step, -step))
        wanted = (_asked(layout, up) - _asked(layout, down)) / (2.0 * step)
        got = np.concatenate(found.times(tau, nu))
        assert got == pytest.approx(wanted, abs=2e-4 * np.max(np.abs(wanted)))


def test_a_step_solves_the_equation_that_the_jacobian_makes():
    post, rng = _posterior(INSTRUMENTS["mixed"], 60, 2)
    layout, state = post.data.layout, post.solution.state
    found = jacobian(layout, state, sweep(layout, state))
    wanted = rng.normal(size=(2, len(layout.scalar_rows)))
    got = np.array(found.newton_step(*wanted, 1e-12))
    assert got - np.array(found.times(*got)) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("instrument", [gf.Binary(), gf.Binary(guess=0.1, lapse=0.05), gf.Interval(0.1, width=0.6)])
def test_derivatives_that_an_instrument_leaves_out_are_found_by_differences(instrument):
    post, _ = _posterior([instrument], 40, 1)
    layout, state = post.data.layout, post.solution.state
    swept = sweep(layout, state)
    left_out = swept._replace(tilted=tuple(t._replace(partition=Partition(*t.partition[:4])) for t in swept.tilted))
    exact, found = jacobian(layout, state, swept), jacobian(layout, state, left_out)
    for name in ("t_from_mean", "t_from_variance", "s_from_variance"):
        wanted = getattr(exact, name)
        assert getattr(found, name) == pytest.approx(wanted, abs=1e-4 * np.max(np.abs(wanted)))


def test_a_step_is_quadratic_where_a_look_is_linear():
    post, rng = _posterior(INSTRUMENTS["mixed"], 80, 2)
    layout, state, rows = post.data.layout, post.solution.state, post.data.layout.scalar_rows
    sites, push = state.sites, rng.normal(size=len(post.data.layout.scalar_rows))

    def left(size):
        """The mismatch after a step, and after moving to what a look asks for, from sites that are off by `size`."""
        off = _moved(sites, rows, size * push * sites.precision[rows], 0.0)
        begun = condition_on(off, state.prior_mean, state.prior_cov)
        swept = sweep(layout, begun)
        asked = swept.sites
        plain = asked.precision[rows] - off.precision[rows], asked.shift[rows] - off.shift[rows]
        newton = jacobian(layout, begun, swept).newton_step(*plain, 1e-8)
        ends = [condition_on(_moved(off, rows, *way), state.prior_mean, state.prior_cov) for way in (newton, plain)]
        return [sweep(layout, end).residual for end in ends]

    (far, far_look), (near, near_look) = left(1e-3), left(1e-4)
    assert far < 0.1 * far_look
    assert far_look / near_look == pytest.approx(10.0, rel=0.2)
    assert far / near > 50.0


@pytest.mark.parametrize("name", INSTRUMENTS)
@pytest.mark.parametrize(("dimensions", "n"), [(1, 120), (3, 120)])
def test_one_answer_more_or_fewer_takes_few_looks_and_ends_where_a_cold_start_does(name, dimensions, n):
    post, rng = _posterior(INSTRUMENTS[name], n, dimensions, seed=3)
    more = gf.Data().add(gf.Binary(), rng.random((1, dimensions)), [True])
    grown, cold = post.condition(more), gf.GP(post.kernel).condition(post.data.join(more))
    places = rng.random((50, dimensions))
    assert grown.log_evidence == pytest.approx(cold.log_evidence, abs=1e-8)
    assert grown.mean(places) == pytest.approx(cold.mean(places), abs=1e-8)
    assert grown.variance(places) == pytest.approx(cold.variance(places), abs=1e-8)
    back = grown.without(len(post.data))
    assert back.mean(places) == pytest.approx(post.mean(places), abs=1e-8)
    assert max(grown.convergence.iterations, back.convergence.iterations) <= 4


def test_rows_are_appended_to_a_belief_as_conditioning_has_them():
    post, rng = _posterior(INSTRUMENTS["mixed"], 40, 2)
    more = gf.Data().add(gf.Binary(), rng.random((3, 2)), [True, False, True])
    both = gf.GP(post.kernel).condition(post.data.join(more))
    state, size = both.solution.state, post.data.layout.size
    before = condition_on(
        Sites(state.sites.precision[:size], state.sites.shift[:size]),
        state.prior_mean[:size],
        state.prior_cov[:size, :size],
    )
    grown = grow(state.sites, before, state.prior_mean, state.prior_cov)
    assert grown.cavity_ratio == pytest.approx(state.cavity_ratio, rel=1e-10)
    assert grown.variance == pytest.approx(state.variance, rel=1e-10)
    assert grown.mean == pytest.approx(state.mean, abs=1e-10)
    assert grown.log_det == pytest.approx(state.log_det, abs=1e-10)


@pytest.mark.parametrize("seed", [2, 18, 42, 79])
def test_where_accelerated_steps_are_stuck_newtons_go_on(seed):
    """A nearly constant function within many hard intervals: accelerated steps alone took 170 to 260 looks."""
    rng = np.random.default_rng(seed)
    gp, X = gf.GP(gf.SE(7.0, 4.0)), rng.random((50, 1))
    f = gp.condition(gf.Data()).sample(X, 1, rng)[0]
    hard, lab = gf.Interval(0.0, width=0.5), gf.Point(0.25)
    data = gf.Data().add(hard, X[:25], hard.simulate(f[:25], rng)).add(lab, X[25:], lab.simulate(f[25:], rng))
    found = gp.condition(data).convergence
    assert found.converged
    assert found.iterations < 60
