"""EP's strategies: each is needed by some problem, ends where the others do, and the outcome says what happened."""

import itertools
import warnings

import numpy as np
import pytest

import gainful as gf
from gainful.inference import ep, newton
from gainful.inference.conditioned import condition_on
from gainful.inference.convergence import Convergence, Result
from gainful.inference.damped import Damped
from gainful.inference.ep import Strategy
from gainful.inference.iterations import Info, Problem, run
from gainful.inference.newton import Newton
from gainful.inference.solution import gaussian_sites
from gainful.inference.sweep import sweep


def _yes_no(n, dimensions=1, seed=0, lengthscale=0.3, variance=4.0):
    rng = np.random.default_rng(seed)
    gp, X = gf.GP(gf.SE(lengthscale, variance)), rng.random((n, dimensions))
    f = gp.condition(gf.Data()).sample(X, 1, rng)[0]
    return gp, gf.Data().add(gf.Binary(), X, gf.Binary().simulate(f, rng)), rng


def _problem(gp, data, **options):
    layout = data.layout
    mean, cov = layout.pick(gp.mean(layout.places)), layout.covariance(gp.kernel(layout.places))
    settings = {"tolerance": 1e-10, "max_iterations": 300, **options}
    return Problem(layout, lambda sites: condition_on(sites, mean, cov), **settings), gaussian_sites(layout)


def _counting(monkeypatch, module, name):
    """How often a function is called by the module, as a list that grows."""
    calls, original = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(name) or original(*given))
    return calls


def _quietly(act):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.GainfulWarning)
        return act()


# ---------------------------------------------------------------------------------------------------- init and step


@pytest.mark.parametrize("iteration", [Damped(0), Damped(6), Damped(6, rescue=Newton()), Newton()], ids=repr)
def test_an_iteration_is_init_and_step_until_info_has_a_result_and_then_stays_where_it_is(iteration):
    gp, data, _ = _yes_no(20)
    problem, sites = _problem(gp, data)
    begun = gp.condition(data, gf.EP(tolerance=1e-2)).sites if iteration == Newton() else sites
    state = iteration.init(problem, begun)
    assert state.point.iterations == 1
    infos = []
    while not infos or infos[-1].result is None:
        state, info = iteration.step(state)
        infos.append(info)
    assert infos[-1].result is Result.CONVERGED
    assert infos[-1].residual <= 1e-10
    assert [info.iterations for info in infos] == list(range(2, len(infos) + 2))
    again, info = iteration.step(state)
    assert again is state
    assert info == infos[-1]
    converged = gp.condition(data).sites
    np.testing.assert_allclose(state.point.belief.sites.precision, converged.precision, rtol=1e-7)


def test_newtons_iteration_does_not_begin_with_coupled_sites_and_gives_up_far_from_the_fixed_point():
    gp, data, _ = _yes_no(20, variance=50.0)
    problem, sites = _problem(gp, data)
    _, info = run(Newton(), Newton().init(problem, sites))
    assert info.result is Result.NOT_CONTRACTING
    problem, sites = _problem(gp, data.add(gf.Detection(), [[[0.1], [0.2]]], [True]))
    assert Newton().init(problem, sites) is None


def test_a_damped_iteration_halves_its_steps_when_the_mismatch_grows_and_lengthens_them_again():
    """Plain sweeps on many answers that are all alike oscillate: undamped, they would never end."""
    X = np.random.default_rng(0).random((40, 1))
    problem, sites = _problem(gf.GP(gf.SE(2.0, 100.0)), gf.Data().add(gf.Binary(), X, np.ones(40)))
    iteration, factors = Damped(0), []
    state, info = iteration.step(iteration.init(problem, sites))
    while info.result is None:
        factors.append(info.damping)
        state, info = iteration.step(state)
    assert info.result is Result.CONVERGED
    assert min(factors) < 0.6
    assert any(b > a for a, b in itertools.pairwise(factors))


# ------------------------------------------------------------------------------------------- each strategy is needed


def test_acceleration_saves_sweeps():
    plain = fast = 0
    for seed in range(3):
        gp, data, _ = _yes_no(40, dimensions=2, seed=seed)
        plain += gp.condition(data, gf.EP(memory=0)).convergence.iterations
        fast += gp.condition(data).convergence.iterations
    assert fast < 0.7 * plain


@pytest.mark.parametrize("seed", [1, 2, 12, 20, 29, 36])
def test_where_plain_sweeps_converge_accelerated_ones_that_find_no_proper_belief_do_not_have_the_last_word(seed):
    """A narrow interval among sets and careless answers: accelerated steps alone end at an improper belief in most."""
    rng = np.random.default_rng(seed)

    def near(places):
        return np.round(np.array(places), 3) + 3e-3 * rng.normal(size=np.shape(places))

    sets = [[0.5578, 0.0308], [0.5223, 0.6894], [0.882, 0.916], [0.2622, 0.6949], [0.3823, 0.8261], [0.8752, 0.0046]]
    data = (
        gf.Data()
        .add(gf.Interval(0.05), [[0.8]], [(1.137, 1.138)])
        .add(gf.Binary(guess=0.3), near([[0.6], [0.0]]), [False, False])
        .add(gf.Detection(), near([[[a], [b]] for a, b in sets]), [True, False, True, False, True, False])
    )
    gp = gf.GP(gf.SE(0.265, 61.2), mean=gf.ConstantMean(-0.58))
    plain, found = gp.condition(data, gf.EP(memory=0)), gp.condition(data)
    assert plain.converged
    assert found.converged
    assert found.log_evidence == pytest.approx(plain.log_evidence, abs=1e-6)


def test_through_a_low_rank_root_the_full_covariance_is_factored_once(monkeypatch):
    gp, data, rng = _yes_no(100)
    factored = _counting(monkeypatch, ep, "condition_on")
    post = gp.condition(data)
    assert post.converged
    assert post.convergence.iterations > 3
    assert len(factored) == 1
    factored.clear()
    grown = post.condition(gf.Data().add(gf.Binary(), rng.random((1, 1)), [True]))
    assert grown.convergence.iterations > 1
    assert len(factored) == 1


def test_a_low_rank_root_that_cannot_resolve_the_sites_leaves_the_rest_to_the_full_covariance():
    """Narrow intervals have sites so precise that what the root leaves out is no longer negligible."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 1))
    lower = 2.0 * np.sin(6.0 * X[:, 0]) - 5e-5
    data = gf.Data().add(gf.Interval(1e-4), X, np.column_stack([lower, lower + 1e-4]))
    post = gf.GP(gf.SE(0.3, 4.0)).condition(data)
    assert post.solution.low.root is not None
    assert post.converged
    assert post.convergence.residual == pytest.approx(sweep(data.layout, post.solution.state).residual, rel=1e-3)


def test_what_the_low_rank_form_cannot_compute_the_full_one_decides(monkeypatch):
    gp, data, _ = _yes_no(100)
    usual = gp.condition(data)

    def refuse(*given):
        raise gf.NumericalError("not in this form")

    monkeypatch.setattr(ep, "compress", refuse)
    assert gp.condition(data).log_evidence == pytest.approx(usual.log_evidence, abs=1e-9)


def test_one_answer_more_extends_the_factor_instead_of_beginning_with_a_new_one(monkeypatch):
    gp, data, rng = _yes_no(60, dimensions=4, lengthscale=1.0)
    post = gp.condition(data)
    assert post.solution.low.root is None
    factored = _counting(monkeypatch, ep, "condition_on")
    grown = post.condition(gf.Data().add(gf.Binary(), rng.random((1, 4)), [True]))
    assert grown.converged
    assert len(factored) == grown.convergence.iterations - 1


def test_newtons_steps_share_a_jacobian_where_that_will_do(monkeypatch):
    gp, data, rng = _yes_no(60, dimensions=4, lengthscale=1.0)
    post, more = gp.condition(data), gf.Data().add(gf.Binary(), rng.random((1, 4)), [True])
    made = _counting(monkeypatch, newton, "jacobian")
    grown = post.condition(more)
    assert grown.converged
    assert len(made) < grown.convergence.iterations - 1


@pytest.mark.parametrize(
    ("kernel", "mean", "interval", "noise", "careless", "answers"),
    [
        (gf.SE(1.393, 287.4), -1.4365, ([[0.9]], [(1.238, 2.238)]), 0.5, [[0.0], [0.4], [0.6], [0.7]], [1, 0, 0, 0]),
        (gf.SE(1.899, 3.302), 1.6807, ([[0.3]], [(-1.19, -1.09)]), 0.2, [[0.6], [0.4], [0], [0], [0]], [1, 1, 0, 1, 1]),
    ],
)
def test_a_step_to_an_improper_belief_is_halved_until_it_is_proper(kernel, mean, interval, noise, careless, answers):
    data = gf.Data().add(gf.Interval(noise), *interval).add(gf.Binary(guess=0.1, lapse=0.2), careless, answers)
    assert gf.GP(kernel, mean=gf.ConstantMean(mean)).condition(data).converged


def test_where_newtons_step_leaves_no_proper_belief_sweeps_go_on():
    """Two intervals that hardly overlap among careless answers: sweeps are stuck, and Newton's step goes too far."""
    X = np.array([[5, 3, 2, 6, 4, 5, 1, 1]]).T / 10
    data = (
        gf.Data()
        .add(gf.Interval(0.2), [[0.6], [0.6]], [(-0.419, 0.581), (1.446, 2.446)])
        .add(gf.Binary(guess=0.1, lapse=0.05), X, [0, 1, 1, 1, 1, 0, 0, 0])
    )
    post = _quietly(lambda: gf.GP(gf.SE(0.2725, 168.0), mean=gf.ConstantMean(0.034)).condition(data))
    assert post.convergence.residual < 1e-3


def test_a_start_that_is_improper_without_an_answer_now_removed_is_followed_by_a_cold_one():
    """The careless answer's site has a negative precision, larger than the prior's: only the number kept it proper."""
    gp, careless = gf.GP(gf.SE(1.0, 8.0)), gf.Binary(lapse=0.01)
    both = gp.condition(gf.Data().add(gf.Point(0.05), [[0.0]], [2.5]).add(careless, [[0.0]], [False]))
    assert -8.0 * both.sites.precision[1] > 1.0
    alone = gp.condition(gf.Data().add(careless, [[0.0]], [False]))
    assert both.without(0).log_evidence == pytest.approx(alone.log_evidence, abs=1e-9)


class Ends:
    """An iteration that ends at once, in this way."""

    def __init__(self, how):
        self.how = how

    def init(self, problem, sites, iterations=0):
        if isinstance(self.how, Exception):
            raise self.how
        return Damped(0).init(problem, sites, iterations)

    def step(self, state):
        return state, Info(1, state.point.residual, result=self.how)


@pytest.mark.parametrize("how", [Result.STOPPED_EARLY, Result.IMPROPER, gf.NumericalError("no")], ids=str)
def test_the_first_strategy_that_converges_wins_and_one_that_is_not_tentative_is_taken_at_its_word(how, monkeypatch):
    gp, data, _ = _yes_no(10)
    usual = gp.condition(data)
    ends, sweeps = (Ends(how),), (Damped(6),)

    def found(*strategies):
        monkeypatch.setattr(gf.EP, "strategies", lambda self, start=None: strategies)
        return _quietly(lambda: gp.condition(data))

    assert found(Strategy(ends, tentative=True), Strategy(sweeps)).log_evidence == usual.log_evidence
    assert found(Strategy(sweeps), Strategy(ends)).log_evidence == usual.log_evidence
    if how is Result.STOPPED_EARLY:
        assert found(Strategy(ends), Strategy(sweeps)).convergence.result is Result.STOPPED_EARLY
    elif how is Result.IMPROPER:
        assert found(Strategy(ends), Strategy(sweeps)).log_evidence == usual.log_evidence
        with pytest.raises(gf.NumericalError, match="proper belief"):
            found(Strategy(ends))
    else:
        with pytest.raises(gf.NumericalError, match="no"):
            found(Strategy(ends), Strategy(sweeps))


# -------------------------------------------------------------------------------------------------------- outcomes


def test_every_result_has_a_sentence_of_its_own_that_takes_its_numbers():
    messages = [Convergence(result, 12, 3e-5).message for result in Result]
    assert len(set(messages)) == len(Result) == len(Result.__members__)
    assert not any("{" in message for message in messages)
    assert {r for r in Result if r.converged} == {
        Result.EXACT,
        Result.CONVERGED,
        Result.CONVERGED_TO_PRECISION,
        Result.MODE_FOUND,
        Result.SAMPLED,
        Result.ASSUMED,
        Result.SOLVED,
        Result.APPROXIMATED,
    }


def test_the_outcome_says_how_inference_ended():
    gp, data, _ = _yes_no(30, variance=10.0)
    lab = gf.Data().add(gf.Point(0.1), [[0.0]], [1.0])

    def ended(*given):
        return _quietly(lambda: gp.condition(*given)).convergence

    assert ended(lab).result is Result.EXACT
    assert ended(lab, gf.EP()).result is Result.EXACT
    assert gp.condition(lab).condition(lab).convergence.result is Result.EXACT
    assert ended(data).result is Result.CONVERGED
    short = ended(data, gf.EP(max_iterations=2))
    assert (short.result, short.iterations) == (Result.STOPPED_EARLY, 2)
    assert ended(data, gf.Laplace()).result is Result.MODE_FOUND
    assert ended(data, gf.Laplace(max_iterations=1)).result is Result.MODE_NOT_FOUND


def test_answers_too_precise_for_the_tolerance_are_matched_as_far_as_double_precision_goes():
    X = np.array([[0.0], [0.0], [0.5]])
    data = gf.Data().add(gf.Interval(noise=1e-6), X, [(0.3, 0.3 + 1e-7), (0.3, 0.3 + 2e-7), (0.4, 0.4 + 1e-7)])
    post = gf.GP(gf.SE(1.0, 4.0)).condition(data, gf.EP(tolerance=1e-15))
    assert post.convergence.result is Result.CONVERGED_TO_PRECISION
    assert 1e-15 < post.convergence.residual < 1e-4
    assert post.convergence.iterations < 50
    assert post.mean([[0.0]])[0] == pytest.approx(0.3 + 0.5e-7, abs=1e-6)
