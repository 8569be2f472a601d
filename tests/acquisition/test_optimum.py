"""Improvement goals against mpmath, sampling-free integrals and laws."""

import mpmath as mp
import numpy as np
import pytest

import gainful as gf
from gainful.acquisition.optimum import (
    MAXIMISE,
    MINIMISE,
    ExpectedImprovement,
    LogExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    best_mean,
    log_expected_improvement,
)
from gainful.testing import check_acquisition

LAB = gf.Point(0.1)
PLACES = np.linspace(-1, 3, 9)[:, None]
EVERY = [ProbabilityOfImprovement(), ExpectedImprovement(), LogExpectedImprovement(), UpperConfidenceBound()]


def _post(sign=1):
    return gf.GP(gf.SE(0.6, 2.0)).condition(
        gf.Data().add(LAB, [[0.0], [0.7], [2.0]], sign * np.array([0.4, 1.3, -0.6]))
    )


def _log_ei(z, sd=1.0):
    with mp.workdps(60):
        z = mp.mpf(z)
        phi = mp.exp(-(z**2) / 2) / mp.sqrt(2 * mp.pi)
        return float(mp.log(mp.mpf(sd) * (phi + z * mp.erfc(-z / mp.sqrt(2)) / 2)))


@pytest.mark.parametrize(
    "z", [8.0, 2.0, 0.3, 0.0, -0.5, -1.0, -2.9, -3.0, -3.1, -7.0, -20.0, -37.0, -40.0, -60.0, -300.0]
)
def test_log_expected_improvement_equals_mpmath(z):
    got = log_expected_improvement(np.array([z * 0.3]), np.array([0.3]))[0]
    assert got == pytest.approx(_log_ei(z, 0.3), rel=1e-13, abs=1e-13)


def test_log_expected_improvement_keeps_its_digits_for_as_far_as_doubles_go():
    # −z²/2 − log √(2π) − 2 log |z| − 3/z² …: at 1e8 standard deviations the first two terms are all that doubles hold.
    for z in (1e4, 1e8):
        wanted = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(z)
        assert log_expected_improvement(np.array([-z]), np.ones(1))[0] == pytest.approx(wanted, rel=1e-14)
    z = -np.linspace(2.0, 60.0, 4000)
    assert np.all(np.diff(log_expected_improvement(z, np.ones(len(z)))) < 0)


def test_a_certain_place_improves_by_what_it_is_better():
    got = log_expected_improvement(np.array([0.5, 0.0, -0.5]), np.zeros(3))
    assert got[0] == pytest.approx(np.log(0.5))
    assert np.isneginf(got[1:]).all()


def test_improvements_are_integrals_over_the_posterior():
    """Of an instrument without noise, whose answer is f itself."""
    post, LAB = _post(), gf.Point(0.0)
    best = post.mean([[0.7]])[0]
    assert best_mean(post) == pytest.approx(best)
    x, w = np.polynomial.legendre.leggauss(200)
    for i, place in enumerate(PLACES):
        m, sd = post.mean([place])[0], np.sqrt(post.variance([place])[0])
        f = best + 6.0 * sd * (1 + x) + max(0.0, m - best) * (1 + x)
        width = 6.0 * sd + max(0.0, m - best)
        density = np.exp(-0.5 * ((f - m) / sd) ** 2) / np.sqrt(2 * np.pi) / sd
        above, better = width * np.sum(w * density), width * np.sum(w * density * (f - best))
        assert ProbabilityOfImprovement().score(post, LAB, PLACES)[i] == pytest.approx(above, rel=1e-6, abs=1e-12)
        assert ExpectedImprovement().score(post, LAB, PLACES)[i] == pytest.approx(better, rel=1e-6, abs=1e-12)
        assert LogExpectedImprovement().score(post, LAB, PLACES)[i] == pytest.approx(np.log(better), abs=1e-6)
        assert UpperConfidenceBound(9.0).score(post, LAB, PLACES)[i] == pytest.approx(m + 3 * sd)


ANSWERS = {
    "number": (gf.Point(0.5), np.linspace(-9, 9, 1801)),
    "heavy tails": (gf.StudentT(0.3, df=4.0), np.sinh(np.linspace(-6, 6, 1201))),
    "yes/no": (gf.Binary(guess=0.1), np.array([0.0, 1.0])),
    "ranks": (gf.Ordinal([-0.5, 0.8, 1.4], 0.2), np.array([1.0, 2.0, 3.0, 4.0])),
    "count": (gf.Count(), np.arange(4000.0)),
    "so many of ten": (gf.Binomial(trials=10), np.arange(11.0)),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("sign", [MAXIMISE, MINIMISE])
def test_improvement_is_what_the_answer_is_expected_to_bring(name, sign):
    """E_y[(E[f | y] − f⁺)⁺] on a grid of f and y."""
    post, (instrument, y) = _post(), ANSWERS[name]
    best = best_mean(post, sign)
    got = ExpectedImprovement(sign=sign).score(post, instrument, PLACES)
    logs = LogExpectedImprovement(sign=sign).score(post, instrument, PLACES)
    for i, place in enumerate(PLACES):
        m, sd = post.mean([place])[0], np.sqrt(post.variance([place])[0])
        f = m + sd * np.linspace(-8, 8, 801)
        prior = np.exp(-0.5 * ((f - m) / sd) ** 2)
        joint = np.exp(instrument.log_prob(y[:, None], f)) * prior / prior.sum()
        measure = np.gradient(y) if instrument.values is None and name != "count" else np.ones(len(y))
        p = joint.sum(axis=1)
        after = (joint @ f) / np.maximum(p, 1e-300)
        wanted = np.sum(measure * p * np.maximum(sign * (after - best), 0.0))
        rough = name == "heavy tails"  # its nodes do not know where the improvement begins
        assert got[i] == pytest.approx(wanted, rel=2e-2 if rough else 2e-4, abs=1e-7)
        assert np.exp(logs[i]) == pytest.approx(got[i])


def test_a_coarse_instrument_brings_less_than_a_precise_one():
    post = _post()
    precise, coarse, yes_no = (ExpectedImprovement().score(post, i, PLACES) for i in (LAB, gf.Point(2.0), gf.Binary()))
    assert np.all(coarse < precise)
    assert np.all(yes_no < precise)


def test_improvement_per_cost_prefers_the_cheaper_of_two_equals_in_logarithms_too():
    post, cheap, dear = _post(), gf.Point(0.1, cost=2.0), gf.Point(0.1, cost=10.0)
    plain, logs = gf.PerCost(ExpectedImprovement()), gf.PerCost(LogExpectedImprovement())
    for instrument in (cheap, dear):
        assert np.exp(logs.score(post, instrument, PLACES)) == pytest.approx(plain.score(post, instrument, PLACES))
        assert logs.score_and_gradient(post, instrument, PLACES)[0] == pytest.approx(
            logs.score(post, instrument, PLACES)
        )
    assert np.all(logs.score(post, cheap, PLACES) > logs.score(post, dear, PLACES))


def test_a_score_of_either_sign_has_no_price():
    class Own:
        def score(self, belief, instrument, places):
            return belief.mean(places)

    for signed in (UpperConfidenceBound(), gf.acquisition.ExpectedError(PLACES), gf.acquisition.Kapoor(PLACES)):
        with pytest.raises(gf.InvalidInput, match=r"never negative.*without PerCost"):
            gf.PerCost(signed)
    with pytest.raises(gf.InvalidInput, match="never negative"):
        gf.PerCost(Own()).score(_post(), LAB, PLACES)


@pytest.mark.parametrize("kind", [type(goal) for goal in EVERY])
def test_minimising_f_is_maximising_its_opposite(kind):
    up = kind(sign=MAXIMISE).score(_post(), LAB, PLACES)
    down = kind(sign=MINIMISE).score(_post(-1), LAB, PLACES)
    assert down == pytest.approx(up, abs=1e-12)


def test_the_incumbent_can_be_given_and_a_margin_demanded():
    post = _post()
    best = best_mean(post)
    assert ExpectedImprovement(best).score(post, LAB, PLACES) == pytest.approx(
        ExpectedImprovement().score(post, LAB, PLACES)
    )
    assert ProbabilityOfImprovement(best + 0.2).score(post, LAB, PLACES) == pytest.approx(
        ProbabilityOfImprovement(margin=0.2).score(post, LAB, PLACES)
    )
    assert np.all(np.isfinite(LogExpectedImprovement(1e3).score(post, LAB, PLACES)))


def test_before_the_first_answer_the_least_certain_place_is_best():
    prior = gf.GP(gf.Linear(), mean=gf.ConstantMean(5.0)).condition(gf.Data())
    places = [[0.0], [1.0], [2.0]]
    assert best_mean(prior) is None
    spread = prior.variance(places) / np.sqrt(prior.variance(places) + LAB.noise**2)
    assert ExpectedImprovement().score(prior, LAB, places) == pytest.approx(spread / np.sqrt(2 * np.pi))
    assert np.argmax(LogExpectedImprovement().score(prior, LAB, places)) == 2


@pytest.mark.parametrize("goal", EVERY, ids=lambda g: type(g).__name__)
def test_improvement_goals_conform(goal):
    for instrument in (LAB, gf.Binary(), gf.Interval(0.1, 0.5)):
        check_acquisition(goal, _post(), instrument, PLACES)
    with pytest.raises(gf.InvalidInput, match="sees a place"):
        goal.score(_post(), gf.Preference(), [[[0.0], [1.0]]])
    with pytest.raises(gf.InvalidInput, match="belief"):
        goal.score("belief", LAB, PLACES)


def test_arguments_are_checked():
    for make in (
        lambda: ExpectedImprovement(np.nan),
        lambda: ExpectedImprovement(sign=0),
        lambda: ExpectedImprovement(sign=True),
        lambda: ProbabilityOfImprovement(margin=-1.0),
        lambda: ProbabilityOfImprovement("best"),
        lambda: UpperConfidenceBound(-1.0),
        lambda: UpperConfidenceBound(np.inf),
    ):
        with pytest.raises(gf.InvalidInput):
            make()


@pytest.mark.parametrize("wrong", ["4", None, True, -1.0, np.nan, np.inf])
def test_boldness_and_margins_are_numbers(wrong):
    with pytest.raises(gf.InvalidInput, match="not negative"):
        gf.acquisition.UpperConfidenceBound(beta=wrong)
    with pytest.raises(gf.InvalidInput, match="not negative"):
        gf.acquisition.ProbabilityOfImprovement(margin=wrong)
    with pytest.raises(gf.InvalidInput, match="not negative"):
        gf.acquisition.Kapoor([[0.0]], price=wrong)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("goal", [ExpectedImprovement, LogExpectedImprovement])
def test_where_nothing_can_be_gained_there_is_no_slope_and_no_warning(goal):
    known, values = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 1e3, 0.0])
    belief = gf.GP(gf.SE(0.2, 1e6)).condition(gf.Data().add(gf.Point(0.0), known, values))
    scores, slopes = goal().score_and_gradient(belief, gf.Point(0.0), np.concatenate([known, [[0.25]]]))
    assert np.all(np.isneginf(scores[:3]) if goal is LogExpectedImprovement else scores[:3] == 0.0)
    assert np.all(slopes[:3] == 0.0)
    assert np.all(np.isfinite(slopes))
