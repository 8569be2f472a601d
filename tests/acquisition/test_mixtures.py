"""Every strategy under several posteriors: it runs, beyond what is pending too, and of equal ones it is that of one."""

import numpy as np
import pytest
from scipy.special import logsumexp, ndtr
from scipy.stats import norm

import gainful as gf
from gainful.acquisition import (
    ALM,
    BALDClosedForm,
    Conformal,
    ExpectedImprovement,
    IntegratedVariance,
    LogExpectedImprovement,
    ProbabilityOfImprovement,
    Refitted,
    UpperConfidenceBound,
    Zhu,
    score_and_gradient,
)
from gainful.acquisition.base import rank
from gainful.acquisition.published.conformal import conformal_p_values
from gainful.acquisition.strategies import strategy
from gainful.selection import Option, choose

POOL = np.linspace(0.0, 1.0, 9)[:, None]
PAIRS = np.stack([POOL[:6], POOL[3:]], axis=1)
ALL = {
    "number": gf.Point(0.2, name="number"),
    "interval": gf.Interval(0.1, width=0.5, name="interval"),
    "rank": gf.Ordinal([-0.4, 0.5], 0.2, name="rank"),
    "yes or no": gf.Binary(0.05, 0.02, name="yes or no"),
    "plain yes or no": gf.Binary(name="plain yes or no"),
    "preference": gf.Preference(0.3, name="preference"),
    "set": gf.Detection(name="set"),
    "count": gf.Count(name="count"),
}
SERVED = {  # every kind that matters once: each takes a second or so together with what is pending
    "any": ["number", "rank"],
    "yes/no": ["plain yes or no"],
    "any but numbers and intervals": ["rank", "preference"],
    "yes/no, ranks, preferences": ["rank", "preference"],
    "yes/no, preferences": ["yes or no", "preference"],
    "any that sees a place": ["number", "yes or no"],
    "numbers, yes/no, ranks": ["number", "yes or no"],
    "any that sees a place or a pair": ["rank", "preference"],
    "numbers, yes/no, ranks, preferences": ["number", "yes or no"],
    "any but intervals": ["number", "rank"],
}
SCORING = [s for s in gf.strategies() if s.scores]
MORE = [*(("bald", kind) for kind in ("interval", "set", "count")), ("expected-improvement", "interval")]
CASES = [(s.name, kind) for s in SCORING for kind in SERVED[s.instruments]] + MORE
IDS = [f"{name}, {kind}" for name, kind in CASES]


def _queries(instrument):
    return {"place": POOL, "pair": PAIRS, "set": PAIRS}[instrument.query]


def _own(factor):
    """The instruments of one part: what may be unknown of each is `factor` times what is stated."""
    made = [
        gf.Point(0.2 * factor, name="number"),
        gf.Interval(0.1 * factor, width=0.5, name="interval"),
        gf.Ordinal([-0.4 * factor, 0.5], 0.2 * factor, name="rank"),
        gf.Binary(0.05 * factor, 0.02 * factor, name="yes or no"),
        gf.Preference(0.3 * factor, name="preference"),
    ]
    return {each.label: each for each in made}


def _posterior(kind, lengthscale, own, shift=0.0):
    instrument, rng = own.get(kind, ALL[kind]), np.random.default_rng(3)
    X = POOL[[0, 3, 5, 8]]
    f = np.sin(6.0 * X[:, 0])
    seen = {"place": X, "pair": X.reshape(2, 2, 1), "set": X.reshape(2, 2, 1)}[instrument.query]
    g = {"place": f, "pair": f[0::2] - f[1::2], "set": f.reshape(2, 2)}[instrument.query]
    answers = ALL[kind].simulate(g, rng)
    return gf.GP(gf.SE(lengthscale), gf.ConstantMean(shift)).condition(gf.Data().add(instrument, seen, answers))


def _belief(kind):
    own = [_own(factor) for factor in (0.5, 1.0, 2.0)]
    scales = ((0.1, 0.0), (0.25, 0.1), (0.5, -0.2))
    return gf.Belief(
        [_posterior(kind, length, mine, shift) for (length, shift), mine in zip(scales, own, strict=True)],
        [0.2, 0.5, 0.3],
        own,
    )


def _pending(kind):
    instrument = ALL[kind]
    return [gf.Query(instrument, _queries(instrument)[i]) for i in (1, 4)]


@pytest.mark.parametrize(("name", "kind"), CASES, ids=IDS)
def test_every_strategy_scores_under_three_posteriors_alone_and_beyond_what_is_pending(name, kind):
    belief, instrument = _belief(kind), ALL[kind]
    queries = _queries(instrument)
    for pending in ([], _pending(kind)):
        scores = gf.score(name, belief, instrument, queries, pending=pending)
        assert scores.shape == (len(queries),)
        assert not np.isnan(scores).any()
        assert np.isfinite(scores).any()  # of a log improvement, where no answer brings any, there is none
        assert np.any(scores != scores[0]) or name in ("qbc-vote-2", "conformal")
    assert gf.score(name, belief, instrument, queries[:0]).shape == (0,)


@pytest.mark.parametrize(("name", "kind"), CASES, ids=IDS)
def test_three_equal_posteriors_score_as_the_one_that_they_are(name, kind):
    one, instrument = _posterior(kind, 0.25, {}), ALL[kind]
    equal, queries = gf.Belief([one, one, one], [0.2, 0.5, 0.3]), _queries(instrument)
    if name == "bald-hyperparameters":
        np.testing.assert_allclose(gf.score(name, equal, instrument, queries), 0.0, atol=1e-12)
        return
    alone = gf.score(name, one, instrument, queries)
    np.testing.assert_allclose(gf.score(name, equal, instrument, queries), alone, rtol=1e-9, atol=1e-10)
    maker = strategy(name).make
    reference = {} if maker.reference is None else {"reference": queries if maker.reference == "queries" else POOL}
    goal = maker(**reference)
    np.testing.assert_allclose(rank(goal, equal, instrument, queries), alone, rtol=1e-9, atol=1e-6)
    if hasattr(goal, "score_beyond"):  # which has an exact form; others look at answers drawn, of one at their mean
        pending = _pending(kind)
        alone = goal.score_beyond(one, instrument, queries, pending)
        np.testing.assert_allclose(goal.score_beyond(equal, instrument, queries, pending), alone, rtol=1e-9, atol=1e-10)


def _parts(belief, kind):
    instrument = ALL[kind]
    return [
        (w, p, own.get(instrument.label, instrument))
        for w, p, own in zip(belief.weights, belief.posteriors, belief.instruments, strict=True)
    ]


@pytest.mark.parametrize("kind", ["number", "interval", "rank", "yes or no"])
def test_improvement_is_averaged_over_posteriors_that_share_one_incumbent(kind):
    belief = _belief(kind)
    best = float(np.max(belief.mean(belief.data.layout.places)))
    each = [(w, p, i, ExpectedImprovement(best).score(p, i, POOL)) for w, p, i in _parts(belief, kind)]
    wanted = sum(w * amount for w, _, _, amount in each)
    np.testing.assert_allclose(ExpectedImprovement().score(belief, ALL[kind], POOL), wanted, rtol=1e-12)
    logs = [np.log(w) + LogExpectedImprovement(best).score(p, i, POOL) for w, p, i, _ in each]
    np.testing.assert_allclose(
        LogExpectedImprovement().score(belief, ALL[kind], POOL), logsumexp(logs, axis=0), rtol=1e-12
    )
    likely = sum(w * norm.sf(best + 0.1, p.mean(POOL), np.sqrt(p.variance(POOL))) for w, p, _ in _parts(belief, kind))
    np.testing.assert_allclose(ProbabilityOfImprovement(margin=0.1).score(belief, ALL[kind], POOL), likely)
    bound = -belief.mean(POOL) + 2.0 * np.sqrt(belief.variance(POOL))
    np.testing.assert_allclose(UpperConfidenceBound(sign=-1).score(belief, ALL[kind], POOL), bound)
    np.testing.assert_allclose(ALM().score(belief, ALL[kind], POOL), belief.variance(POOL))


def test_the_improvement_of_a_mixture_is_what_one_who_learns_the_part_expects():
    """E[(f − f⁺)⁺] over draws of the mixture, for numbers without noise."""
    belief = gf.Belief([_posterior("number", s, {}) for s in (0.1, 0.4)], [0.3, 0.7])
    place, rng = np.array([[0.7]]), np.random.default_rng(0)
    drawn = belief.sample(place, 400_000, rng)[:, 0]
    wanted = np.maximum(drawn - 0.4, 0.0)
    got = ExpectedImprovement(0.4).score(belief, gf.Point(0.0), place)[0]
    assert got == pytest.approx(wanted.mean(), abs=4.0 * wanted.std() / np.sqrt(len(wanted)))


def test_far_below_the_incumbent_the_logarithm_keeps_its_digits():
    belief = gf.Belief([_posterior("number", s, {}) for s in (0.1, 0.4)])
    assert (ExpectedImprovement(200.0).score(belief, ALL["number"], POOL) == 0.0).all()
    logs, slopes = LogExpectedImprovement(200.0).score_and_gradient(belief, ALL["number"], POOL)
    assert np.isfinite(logs).all()
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("kind", ["number", "rank", "yes or no"])
def test_lookahead_is_averaged_over_the_posteriors_each_with_its_own_instrument(kind):
    belief = _belief(kind)
    goals = [IntegratedVariance(POOL)] if kind == "number" else [IntegratedVariance(POOL), Zhu(POOL)]
    for goal in goals:
        wanted = sum(w * goal.score(p, i, POOL) for w, p, i in _parts(belief, kind))
        np.testing.assert_allclose(goal.score(belief, ALL[kind], POOL), wanted, rtol=1e-12)


def test_what_is_predicted_is_answered_by_each_posteriors_own_instrument_too():
    belief, number = _belief("number"), ALL["number"]
    goal = Zhu(POOL, predict=ALL["rank"])
    wanted = sum(
        w * Zhu(POOL, predict=own["rank"]).score(p, own["number"], POOL)
        for w, p, own in zip(belief.weights, belief.posteriors, belief.instruments, strict=True)
    )
    np.testing.assert_allclose(goal.score(belief, number, POOL), wanted, rtol=1e-12)


def test_refits_and_p_values_are_averaged():
    belief, ask = _belief("yes or no"), ALL["yes or no"]
    p = sum(w * conformal_p_values(part, i, POOL) for w, part, i in _parts(belief, "yes or no"))
    np.testing.assert_allclose(Conformal().score(belief, ask, POOL), -np.abs(p[:, 1] - p[:, 0]), atol=1e-12)
    goal = Refitted(Zhu(POOL), first=9)
    wanted = sum(w * goal.score(part, i, POOL) for w, part, i in _parts(belief, "yes or no"))
    np.testing.assert_allclose(goal.score(belief, ask, POOL), wanted, rtol=1e-9)


def test_the_closed_form_averages_the_probabilities_before_their_entropy():
    belief, ask = _belief("plain yes or no"), ALL["plain yes or no"]
    exact = gf.information(belief, ask, POOL)
    np.testing.assert_allclose(BALDClosedForm().score(belief, ask, POOL), exact, atol=0.0028)
    yes = sum(w * ndtr(p.mean(POOL) / np.sqrt(1.0 + p.variance(POOL))) for w, p, _ in _parts(belief, "plain yes or no"))
    np.testing.assert_allclose(belief.answers(ask, POOL).probability, yes)


GRADIENTS = [
    *[(about, kind) for about in ("function", "hyperparameters") for kind in ("number", "rank", "yes or no")],
    *[(about, "preference") for about in ("function", "model")],
    *[("region", kind) for kind in ("number", "rank", "preference")],
    ("together", "number"),
    ("improvement", "number"),
    ("log improvement", "number"),
]


@pytest.mark.parametrize(("about", "kind"), GRADIENTS)
def test_gradients_under_several_posteriors_equal_differences(about, kind):
    belief, instrument = _belief(kind), ALL[kind]
    region = gf.Region([[0.2], [0.77]], together=about == "together")
    known = {
        "region": gf.Learn(region),
        "together": gf.Learn(region),
        "improvement": ExpectedImprovement(),
        "log improvement": LogExpectedImprovement(),
    }
    goal = known.get(about) or gf.Learn(about)
    at = np.array([[0.13], [0.42], [0.91]])
    at = np.stack([at, at[::-1] + 0.05], axis=1) if instrument.query == "pair" else at
    per_cost = gf.PerCost(goal)
    scores, slopes = score_and_gradient(per_cost, belief, instrument, at)
    np.testing.assert_allclose(scores, per_cost.score(belief, instrument, at), atol=1e-9)
    prepared = score_and_gradient(per_cost.prepare(belief), belief, instrument, at)
    np.testing.assert_allclose(prepared[1], slopes, atol=1e-12)
    h, flat = 1e-4, at.reshape(len(at), -1)
    for j in range(flat.shape[1]):
        move = np.zeros_like(flat)
        move[:, j] = h
        up, down = (per_cost.score(belief, instrument, (flat + s * move).reshape(at.shape)) for s in (1, -1))
        np.testing.assert_allclose(slopes.reshape(flat.shape)[:, j], (up - down) / (2 * h), rtol=2e-4, atol=2e-5)


def test_a_choice_under_equal_posteriors_is_that_of_one():
    space, lab = gf.Space(gf.Real("x", 0, 1)), ALL["number"]
    one = _posterior("number", 0.25, {})
    equal = gf.Belief([one, one, one])
    for goal in (gf.Learn(), gf.PerCost(ExpectedImprovement()), IntegratedVariance(POOL)):
        options = [Option(lab, space), Option(ALL["rank"], space)]
        first, second = (choose(goal, b, options, np.random.default_rng(0)) for b in (one, equal))
        assert first.query.instrument == second.query.instrument
        np.testing.assert_allclose(first.query.place, second.query.place, atol=1e-3)
        assert first.score == pytest.approx(second.score, rel=1e-6)


def test_what_is_chosen_is_as_good_as_the_best_of_all_scores():
    """Ranked by one normal, climbed under the heaviest, judged by the mixture: no candidate is better."""
    space = gf.Space(gf.Real("x", 0, 1))
    belief = _belief("rank")
    options = [Option(ALL[kind], space) for kind in ("number", "rank", "yes or no")]
    grid = space.grid(401)
    for goal in (gf.Learn(), gf.Learn("hyperparameters"), ExpectedImprovement()):
        found = choose(goal, belief, options, np.random.default_rng(0))
        best = max(goal.score(belief, option.instrument, grid).max() for option in options)
        assert found.score >= best - 1e-4 * abs(best)


def test_a_place_that_pending_answers_will_settle_is_not_asked_again():
    belief, lab = _belief("number"), ALL["number"]
    pool = gf.Pool(POOL)
    first = choose(gf.Learn(), belief, [Option(lab, pool)], np.random.default_rng(0))
    second = choose(gf.Learn(), belief, [Option(lab, pool)], np.random.default_rng(0), pending=[first.query])
    assert not np.array_equal(first.query.place, second.query.place)
    assert second.score < first.score
