"""Campaigns with likelihoods of the user's own, and with counts and robust readings: asked, journalled, resumed."""

import numpy as np
import pytest

import gainful as gf

SPACE = gf.Space(gf.Real("x", 0, 1))
GP = gf.GP(gf.SE(0.3))
FAST = gf.Search(candidates=10, climbers=1)


def log_prob(answer, f):
    """Complementary log-log: yes with probability 1 − exp(−exp(f))."""
    return np.log(-np.expm1(-np.exp(f))) if answer else -np.exp(f)


def simulate(f, rng):
    return rng.random(np.shape(f)) < -np.expm1(-np.exp(f))


def grade_log_prob(answer, f):
    """A word out of three, by logits −f, 0 and f."""
    logits = {"poor": -f, "fair": 0.0 * f, "good": f}
    return logits[answer] - np.logaddexp.reduce(list(logits.values()))


def grade_simulate(f, rng):
    logs = np.stack([grade_log_prob(word, f) for word in ("poor", "fair", "good")], axis=-1)
    drawn = np.argmax(logs + rng.gumbel(size=logs.shape), axis=-1)
    return np.array(["poor", "fair", "good"], dtype=object)[drawn]


ALARM = gf.Likelihood(log_prob, simulate, answers=[False, True], cost=2, name="alarm")
GRADE = gf.Likelihood(grade_log_prob, grade_simulate, answers=["poor", "fair", "good"], name="grade")
ALL = [ALARM, GRADE, gf.Count(name="count"), gf.Binomial(trials=10, name="of ten"), gf.StudentT(0.2, name="robust")]
KNOWN = [log_prob, simulate, grade_log_prob, grade_simulate]
KINDS = {"alarm": bool, "grade": str, "count": int, "of ten": int, "robust": float}


def measure(query):
    """An answer that depends on the query alone, as a user would give it."""
    rng = np.random.default_rng(np.frombuffer(query.place.tobytes(), dtype=np.uint32))
    value = query.instrument.simulate(np.sin(6 * query.place[:1]), rng)[0]
    return query.instrument.encode(value)


def known(campaign_instrument):
    return KNOWN if isinstance(campaign_instrument, gf.Likelihood) else ()


def finish(campaign):
    for query in campaign.pending:
        campaign.tell(query, measure(query))
    while query := campaign.ask():
        campaign.tell(query, measure(query))
    return campaign


@pytest.mark.parametrize("instrument", ALL, ids=lambda i: i.label)
def test_three_queries_at_once_by_the_default_goal_and_their_answers(instrument):
    campaign = gf.Campaign(SPACE, instrument, GP, search=FAST)
    asked = campaign.ask(3)
    assert len(asked) == 3
    assert len({q.place.tobytes() for q in asked}) == 3  # each tells beyond the others
    for query in asked:
        campaign.tell(query, measure(query))
    assert {type(e.answer) for e in campaign.history} == {KINDS[instrument.label]}
    assert np.all(campaign.posterior.variance(SPACE.grid(9)) < 1.0)
    assert "bits" in str(campaign.why(2))


@pytest.mark.parametrize("instrument", ALL, ids=lambda i: i.label)
def test_a_campaign_resumed_after_any_event_ends_in_the_same_bytes(instrument, tmp_path):
    whole = tmp_path / "whole"
    budget = 3 * instrument.cost
    done = finish(gf.Campaign(SPACE, instrument, GP, budget=budget, seed=3, search=FAST, journal=whole))
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 2 * 3
    for n in range(1, len(lines)):
        part = tmp_path / f"{n}"
        part.write_bytes(b"".join(lines[:n]))
        again = finish(gf.Campaign.resume(part, known=known(instrument)))
        assert part.read_bytes() == whole.read_bytes()
        assert [(e.query, e.answer) for e in again.history] == [(e.query, e.answer) for e in done.history]


def test_all_of_them_see_one_function_and_share_one_campaign(tmp_path):
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, ALL, GP, budget=9, seed=1, search=FAST, refit=6, journal=path)
    for instrument, x in zip(ALL, np.linspace(0, 1, len(ALL)), strict=True):
        query = gf.Query(instrument, [x])
        campaign.tell(query, measure(query))
    finish(campaign)
    assert "fitted" in [event["event"] for event in campaign.journal.events()]
    again = gf.Campaign.resume(path, known=KNOWN)
    X = SPACE.grid(7)
    np.testing.assert_array_equal(again.posterior.mean(X), campaign.posterior.mean(X))
    assert again.instruments == campaign.instruments


def test_the_functions_of_a_likelihood_have_to_be_supplied_again(tmp_path):
    path = tmp_path / "j"
    first = gf.Campaign(SPACE, ALARM, GP, search=FAST, journal=path).ask()
    with pytest.raises(gf.JournalError, match=r"'log_prob'.*known=\[log_prob\]"):
        gf.Campaign.resume(path)
    with pytest.raises(gf.JournalError, match="'simulate'"):
        gf.Campaign.resume(path, known=[log_prob])
    again = gf.Campaign.resume(path, known=[log_prob, simulate])
    assert again.pending == (first,)
    assert again.instruments == (ALARM,)


def test_two_likelihoods_whose_functions_are_called_alike_are_refused():
    def other():
        def log_prob(answer, f):
            return np.log(0.5) + 0.0 * f

        return log_prob

    twin = gf.Likelihood(other(), simulate, answers=[False, True], name="twin")
    with pytest.raises(gf.InvalidInput, match="log_prob twice"):
        gf.Campaign(SPACE, [ALARM, twin], GP)


@pytest.mark.parametrize(
    ("instrument", "bad"),
    [(ALARM, 2), (ALARM, "yes"), (GRADE, "excellent"), (GRADE, 1), (ALL[2], 1.5), (ALL[2], -1), (ALL[3], 11)],
    ids=lambda value: getattr(value, "label", repr(value)),
)
def test_an_answer_that_cannot_be_given_is_refused(instrument, bad):
    campaign = gf.Campaign(SPACE, instrument, GP)
    with pytest.raises(gf.InvalidInput, match="answer"):
        campaign.tell(gf.Query(instrument, [0.5]), bad)
    assert not campaign.history
