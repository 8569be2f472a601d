"""The registry: every name, what it makes, and that its scores are those of its goal."""

import ahead
import numpy as np
import pytest

import gainful as gf
from gainful.acquisition.decision import ExpectedError, Zhu
from gainful.acquisition.design import DOptimal
from gainful.acquisition.optimum import UpperConfidenceBound
from gainful.acquisition.strategies import Strategies, score, strategies, strategy

ASK, LAB = gf.Binary(), gf.Point(0.2)
CHANCE = {"random", "random-type"}
OF_BELIEFS = {"bald-hyperparameters"}
NAMES = [s.name for s in strategies()]


def test_names_are_the_published_ones_and_distinct():
    assert len(set(NAMES)) == len(NAMES)
    published = """bald bald-per-cost bald-normalised bald-closed-form bald-nuisance bald-hyperparameters
        bald-region predictions epig least-confidence margin entropy qbc-vote-2 qbc-vote-100 qbc-kl-100
        ivm active-svm kapoor zhu empirical-error expected-error expected-error-reduction
        expected-model-change alm alc a-optimal d-optimal e-optimal conformal
        probability-of-improvement expected-improvement log-expected-improvement
        upper-confidence-bound max-value-entropy best-place random random-type"""
    assert set(NAMES) == set(published.split())
    assert all(s.source and s.about and s.when and s.instruments for s in strategies())


def test_strategies_print_as_an_aligned_table():
    found = strategies()
    lines = str(found).splitlines()
    assert lines == repr(found).splitlines()
    assert len(lines) == len(found) + 2
    columns = [lines[0].index(title) for title in ("name", "asks with", "source", "score")]
    for line, each in zip(lines[2:], found, strict=True):
        cells = (each.name, each.instruments, each.source, each.about)
        assert all(line[at : at + len(cell)] == cell for at, cell in zip(columns, cells, strict=True))
    assert isinstance(found, Strategies)
    assert max(map(len, lines)) <= 160


@pytest.mark.parametrize("name", [n for n in NAMES if n not in CHANCE | OF_BELIEFS])
def test_every_strategy_scores_yes_and_no(name):
    post, candidates, _ = ahead.problem()
    got = score(name, post, ASK, candidates)
    assert got.shape == (len(candidates),)
    if name == "log-expected-improvement":  # where neither answer would beat the incumbent, log 0
        got = np.exp(got)
    assert np.isfinite(got).all()
    assert np.ptp(got) > 0


@pytest.mark.parametrize("name", [s.name for s in strategies() if s.instruments == "any" and s.name not in CHANCE])
def test_strategies_for_any_instrument_score_any(name):
    post, candidates, _ = ahead.problem(candidates=6)
    sets = candidates.reshape(3, 2, 2)
    belief = gf.Belief([post, gf.GP(gf.SE(0.3)).condition(post.data)]) if name in OF_BELIEFS else post
    strip = gf.Interval(0.1, 0.5)
    for instrument, queries in [
        (LAB, candidates),
        (strip, candidates),
        (gf.Preference(), sets),
        (gf.Detection(), sets),
    ]:
        assert np.isfinite(score(name, belief, instrument, queries)).all()


def test_hyperparameters_are_asked_of_a_belief():
    post, candidates, _ = ahead.problem()
    other = gf.GP(gf.SE(0.2, 4.0)).condition(post.data)
    belief = gf.Belief([post, other])
    about, nuisance = (score(n, belief, ASK, candidates) for n in ("bald-hyperparameters", "bald-nuisance"))
    assert np.all(about >= 0)
    assert np.all(about <= nuisance + 1e-9)


def test_scores_are_those_of_the_goal():
    post, candidates, reference = ahead.problem()
    assert score("bald", post, ASK, candidates) == pytest.approx(gf.information(post, ASK, candidates))
    half = score("bald-per-cost", post, gf.Binary(cost=2.0), candidates)
    assert 2.0 * half == pytest.approx(gf.information(post, ASK, candidates))
    got = score("zhu", post, ASK, candidates, reference=reference)
    assert got == pytest.approx(Zhu(reference).score(post, ASK, candidates))
    assert score("zhu", post, ASK, candidates) == pytest.approx(Zhu(candidates).score(post, ASK, candidates))
    got = score("upper-confidence-bound", post, ASK, candidates, beta=1.0, sign=-1)
    assert got == pytest.approx(UpperConfidenceBound(1.0, -1).score(post, ASK, candidates))
    got = score("expected-error", post, LAB, candidates, predict=ASK)
    assert got == pytest.approx(ExpectedError(candidates, ASK).score(post, LAB, candidates))
    pairs = candidates.reshape(-1, 2, 2)
    got = score("d-optimal", post, gf.Preference(), pairs)
    assert got == pytest.approx(DOptimal(candidates).score(post, gf.Preference(), pairs), abs=1e-8)
    got = score("expected-error", post, gf.Preference(), pairs, predict=ASK)
    assert got == pytest.approx(ExpectedError(candidates, ASK).score(post, gf.Preference(), pairs))


def test_pending_queries_reach_the_goal():
    post, candidates, _ = ahead.problem(candidates=3)
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(LAB, post.data.batches[0].X, np.arange(len(post.data)) / 9.0))
    pending = [gf.Query(LAB, candidates[0])]
    got = score("bald", post, LAB, candidates, pending=pending)
    assert got == pytest.approx(gf.information(post, LAB, candidates, pending=pending))
    later = post.condition(gf.Data().add(LAB, candidates[:1], post.mean(candidates[:1])))
    got = score("alc", post, LAB, candidates, pending=pending)
    assert got == pytest.approx(score("alc", later, LAB, candidates))  # a number's variance is the same whatever it is


def test_what_is_wrong_is_said():
    post, candidates, _ = ahead.problem()
    with pytest.raises(gf.InvalidInput, match=r"one of bald, .*random-type.*got bold"):
        score("bold", post, ASK, candidates)
    for name in CHANCE:
        with pytest.raises(gf.InvalidInput, match=r"chooses by chance; give a campaign .* Random"):
            score(name, post, ASK, candidates)
        assert strategy(name).make() is not None
    with pytest.raises(gf.InvalidInput, match=r"options: expected those of UpperConfidenceBound \(beta, sign\)"):
        score("upper-confidence-bound", post, ASK, candidates, kappa=2.0)
