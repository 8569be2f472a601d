"""What may be told: answers that the instrument gives, at places of the space; and what is learned from them."""

import datetime

import numpy as np
import pytest

import gainful as gf
from gainful.campaign.journal import read_events
from gainful.campaign.learning import rounded

LAB = gf.Point(noise=0.1, name="lab")
LOOK = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, name="look")
STRIP = gf.Interval(noise=0.1, name="strip")
SPACE = gf.Space(gf.Real("x", 0, 1))
GP = gf.GP(gf.SE(0.3))


def log_prob(answers, g):
    return np.where(answers > 0, -np.log1p(np.exp(-g)), -np.log1p(np.exp(g)))


def simulate(g, rng):
    return (rng.random(len(g)) < 0.5).astype(float)


SAY = gf.Likelihood(log_prob, simulate, answers=["bad", "good"], name="say")


def told(instrument, answer, **more):
    campaign = gf.Campaign(SPACE, instrument, GP, gf.Random())
    campaign.tell(gf.Query(instrument, [0.5]), answer, **more)
    assert gf.Campaign.resume(campaign.journal, known=[log_prob, simulate]).history == campaign.history
    return campaign.history[0].answer


@pytest.mark.parametrize(
    "answer", [np.array([0.3]), np.array([[0.3]]), [0.3], (0.3,), np.float32(0.3), np.ma.array(0.3)], ids=repr
)
def test_an_array_of_one_number_is_that_number(answer):
    assert told(LAB, answer) == pytest.approx(0.3, abs=1e-7)
    assert type(told(LAB, answer)) is float


def test_arrays_of_one_answer_of_other_kinds_are_that_answer_too():
    assert told(LOOK, np.array([2])) == 2
    assert told(STRIP, [[0.1, 0.4]]) == (0.1, 0.4)
    assert told(SAY, ["good"]) == "good"


@pytest.mark.parametrize(
    "answer",
    [
        np.ma.masked,
        np.ma.array(0.3, mask=True),
        np.ma.array([0.3], mask=[True]),
        1 + 2j,
        np.complex128(0.3),
        np.datetime64("2026-01-01"),
        np.timedelta64(3, "s"),
        datetime.date(2026, 1, 1),
        "0.3",
        b"0.3",
        np.array("0.3"),
        [0.3, 0.4],
        [],
        10**400,
        np.zeros((2, 1)),
        None,
    ],
    ids=repr,
)
@pytest.mark.parametrize("instrument", [LAB, LOOK], ids=str)
def test_what_is_no_number_or_several_is_refused_as_an_answer(instrument, answer):
    with pytest.raises(gf.InvalidInput, match=r"^answer: expected"):
        told(instrument, answer)


def test_several_answers_are_refused_in_words_that_do_not_contradict_themselves():
    with pytest.raises(gf.InvalidInput, match=r"expected one answer: a number, .* got array"):
        told(LAB, np.array([0.3, 0.4]))
    with pytest.raises(gf.InvalidInput, match=r"expected two ends \(a, b\)"):
        told(STRIP, 0.3)


def test_a_note_without_end_is_refused_as_a_note():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(gf.InvalidInput, match="note"):
        told(LAB, 0.3, note=deep)


def test_a_cost_that_no_double_holds_is_refused_as_a_cost():
    with pytest.raises(gf.InvalidInput, match="cost"):
        told(LAB, 0.3, cost=10**400)


# Where


def test_ones_own_query_outside_the_box_is_refused_with_its_ends():
    campaign = gf.Campaign(SPACE.where(gf.Within(x=(0.2, 0.4))), LAB, GP)
    with pytest.raises(gf.InvalidInput, match=r"within the space, x from 0 to 1, got \[1.5\]; .*widen the space"):
        campaign.tell(gf.Query(LAB, [1.5]), 0.1)
    campaign.tell(gf.Query(LAB, [1.0]), 0.1)  # the box has its faces; a constraint binds what is asked
    assert len(gf.Campaign.resume(campaign.journal).history) == 1


def test_ones_own_query_beside_the_pool_is_refused_with_the_nearest_place():
    pool = gf.Pool([[0.0, 0.0], [0.1 + 0.2, 1.0]])
    campaign = gf.Campaign(pool, LAB, gf.GP(gf.SE(0.3)))
    with pytest.raises(
        gf.InvalidInput, match=r"a place of the pool, got \[0.3, 1.0\]; the nearest is \[0.300000000000"
    ):
        campaign.tell(gf.Query(LAB, [0.3, 1.0]), 0.1)
    campaign.tell(gf.Query(LAB, [0.1 + 0.2, 1.0]), 0.1)
    campaign.tell(gf.Query(LAB, [-0.0, 0.0]), 0.1)


def test_each_place_of_a_pair_is_in_the_space():
    pair = gf.Preference(name="pair")
    campaign = gf.Campaign(SPACE, pair, GP)
    with pytest.raises(gf.InvalidInput, match=r"got \[1.5\]"):
        campaign.tell(gf.Query(pair, [[0.5], [1.5]]), True)


def test_constraints_limits_time_and_repeats_bind_the_campaign_and_not_the_user():
    space = gf.Space(gf.Real("time", 0, 1))
    campaign = gf.Campaign(
        space, LAB, GP, forward="time", repeat=False, limits={LAB: gf.Within(time=(0.5, None))}, budget=2
    )
    for place in (0.9, 0.1, 0.1, 0.2):
        campaign.tell(gf.Query(LAB, [place]), 0.1)
    assert len(gf.Campaign.resume(campaign.journal).history) == 4


def test_a_pool_that_is_known_without_noise_says_so():
    campaign = gf.Campaign(gf.Pool([[0.0], [1.0]]), gf.Point(noise=0.0, name="exact"), GP)
    while query := campaign.ask():
        campaign.tell(query, 0.1)
    assert len(campaign.history) == 2
    assert "each is known already, or the constraints do not allow it" in campaign.stopped


# Journals of anybody's


@pytest.mark.parametrize("events", [3, "abc", None, [3], [None], ["created"], [{}], [{1: 2}], [[]]], ids=repr)
def test_events_that_are_none_are_refused(events):
    class Own:
        def events(self):
            return events

        def append(self, *events, after=None):
            raise AssertionError

    if events:
        with pytest.raises(gf.JournalError):
            gf.Campaign.resume(Own())
    else:
        with pytest.raises(gf.JournalError):
            read_events(Own())


def test_a_search_that_no_memory_holds_is_refused():
    with pytest.raises(gf.InvalidInput, match=r"candidates: expected at most 10000000"):
        gf.Campaign(SPACE, LAB, GP, search=gf.Search(candidates=10**13))


# What is learned


def test_what_is_learned_is_written_to_the_digits_that_a_fit_promises():
    rng, scale = np.random.default_rng(0), 1e-5  # of the function, and so of its mean
    places = np.linspace(0, 1, 30)[:, None]
    lab = gf.Point(noise=0.1 * scale, name="lab")
    priors = {
        "SE.variance": gf.Fixed(),
        "SE.lengthscale": gf.Uniform(0.01, 0.2),  # longer would be better
        "ConstantMean.value": gf.Normal(0, scale),
    }
    gp = gf.GP(gf.SE(0.3, scale**2 / 3), gf.ConstantMean(0.0), priors)
    campaign = gf.Campaign(gf.Pool(places), lab, gp, refit=30)
    values = scale * (3 + np.sin(2 * places[:, 0]) + 0.1 * rng.normal(size=30))
    for place, value in zip(places, values, strict=True):
        campaign.tell(gf.Query(lab, place), value)
    exact = gf.fit(gp, gf.Data().add(lab, places, values), rng=np.random.default_rng([0, 30]))
    fitted = campaign.journal.events()[-1]
    variance, lengthscale, mean, noise = (
        dict(zip(exact.names, [*fitted["gp"], *fitted["instruments"]["lab"]], strict=True))[name]
        for name in ("SE.variance", "SE.lengthscale", "ConstantMean.value", "lab.noise")
    )
    assert variance == gp.theta[gp.names.index("SE.variance")]  # in every bit
    assert lengthscale == pytest.approx(np.log(0.2), abs=1e-9)  # as far as it may go, which rounding would pass
    assert np.exp(lengthscale) <= 0.2
    assert (mean, noise) == (round(mean, 9), round(noise, 4))
    assert mean == pytest.approx(exact.values["ConstantMean.value"], abs=1e-9)
    assert np.exp(noise) == pytest.approx(exact.values["lab.noise"], rel=1e-4)
    density = exact.problem.log_density(rounded(exact.problem, exact.theta))[0]
    assert density == pytest.approx(exact.log_density, abs=1e-6)


def test_priors_for_nobody_are_refused_and_those_of_an_instrument_not_used_yet_wait_for_it():
    with pytest.raises(gf.InvalidInput, match=r"lba\.noise"):
        gf.Campaign(SPACE, LAB, gf.GP(gf.SE(0.3), priors={"lba.noise": gf.Fixed()}))
    other = gf.Point(noise=0.2, name="field")
    gp = gf.GP(gf.SE(0.3), priors={"field.noise": gf.Fixed()})
    campaign = gf.Campaign(SPACE, [LAB, other], gp, refit=2)
    for x in (0.1, 0.4, 0.8):
        campaign.tell(gf.Query(LAB, [x] * len(SPACE.names)), float(np.sin(5.0 * x)))
    assert campaign.gp != gp


def test_a_row_whose_columns_stand_in_another_order_is_not_taken_for_a_place():
    pd = pytest.importorskip("pandas")
    space = gf.Space(gf.Real("T", 0, 1), gf.Real("pH", 0, 1))
    campaign = gf.Campaign(space, LAB, gf.GP(gf.SE(0.3)))
    rows = pd.DataFrame({"T": [0.1], "pH": [0.9]})
    campaign.tell(gf.Query(LAB, rows.iloc[0]), 0.3)
    turned = rows[["pH", "T"]]
    with pytest.raises(gf.InvalidInput, match="columns"):
        campaign.tell(gf.Query(LAB, turned.iloc[0]), 0.3)
    with pytest.raises(gf.InvalidInput, match="columns"):
        campaign.posterior.mean(turned)
    assert campaign.posterior.mean(rows).shape == (1,)
