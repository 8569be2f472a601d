"""Choices do not depend on units: with all defaults, in inputs and in answers; rival models too.

Powers of two change no bit. Shifts and other factors round differently, and move a choice by at most 1e-6 of the range.
"""

import functools

import numpy as np
import pytest

import gainful as gf

PLACES = np.array([[0.0625, 0.5], [0.3125, 0.125], [0.5, 0.875], [0.6875, 0.25], [0.9375, 0.75]])
F = np.sin(6.0 * PLACES[:, 0]) + 0.5 * PLACES[:, 1]
PAIRS = [(0, 1), (2, 3), (4, 0), (1, 2)]
SCALED = {
    "Point": gf.Point(name="Point"),
    "Point of known noise": gf.Point(0.125, name="Point of known noise"),
    "PointWithError": gf.PointWithError(0.25, name="PointWithError"),
    "Interval": gf.Interval(0.25, width=0.5, name="Interval"),
    "Ordinal": gf.Ordinal([-0.25, 0.5], 0.125, name="Ordinal"),
    "Binary at a threshold": gf.Binary(threshold=0.25, noise=0.25, name="Binary at a threshold"),
    "Preference": gf.Preference(0.25, name="Preference"),
}


def alarm(answer, f):
    """Complementary log-log: yes with probability 1 − exp(−exp(f))."""
    return np.log(-np.expm1(-np.exp(f))) if answer else -np.exp(f)


def alarms(f, rng):
    return rng.random(np.shape(f)) < -np.expm1(-np.exp(f))


UNSCALED = {
    "Binary": gf.Binary(name="Binary"),
}
DEAR = {
    "StudentT": gf.StudentT(name="StudentT"),
    "Count": gf.Count(name="Count"),
    "Binomial": gf.Binomial(5, name="Binomial"),
    "Detection": gf.Detection(name="Detection"),
    "Classes": gf.Classes(["a", "b", "c"], name="Classes"),
    "Likelihood": gf.Likelihood(alarm, alarms, answers=[False, True], name="Likelihood"),
}
ALL = SCALED | UNSCALED
SETS = {name: (name,) for name in ALL} | {"mixture": ("Point", "Binary at a threshold")}


def answered(instrument):
    """What was asked, as numbers of places, and the answers in canonical form."""
    rng = np.random.default_rng(2)
    if instrument.query == "pair":
        return PAIRS, np.array([float(F[u] > F[v]) for u, v in PAIRS])
    if isinstance(instrument, gf.Interval):
        return list(range(5)), np.column_stack([F - 0.25, F + 0.25])
    if isinstance(instrument, gf.PointWithError):
        return list(range(5)), np.column_stack([F, np.full(5, 0.25)])
    if isinstance(instrument, gf.Detection):
        return PAIRS, instrument.simulate(np.array([[F[u], F[v]] for u, v in PAIRS]), rng)
    if isinstance(instrument, gf.Classes):
        return list(range(5)), np.array([0.0, 1.0, 2.0, 0.0, 1.0])
    return list(range(5)), instrument.simulate(F, rng)


def as_told(instrument, answer):
    plain = instrument.encode(answer)
    return tuple(plain) if isinstance(plain, list) else plain


def space_of(low, factor):
    return gf.Space(gf.Real("x", low, low + factor), gf.Real("y", 0.0, 1.0))


def rivals(space):
    return gf.Models([gf.GP(gf.SE(), space=space), gf.GP(gf.Matern(nu=1.5), space=space)])


@functools.cache
def chosen(names, model=None, shift=0.0, factor=1.0, low=0.0, width=1.0):
    """The next query of a campaign where f' = (f − shift)/factor is measured at x' = low + width x: labels, and x."""
    space = space_of(low, width)
    base = [ALL[name] for name in names]
    moved = {i.label: i.rescaled(shift, factor) if i.is_scaled else i for i in base}
    campaign = gf.Campaign(
        space, list(moved.values()), rivals(space) if model else None, seed=3, search=gf.Search(16, 1), initial=0
    )
    for instrument in base:
        which, answers = answered(instrument)
        if instrument.is_scaled:
            answers = instrument.rescale_answers(answers, shift, factor)
        for index, answer in list(zip(which, answers, strict=True))[:: len(base)]:
            there = PLACES[list(index) if isinstance(index, tuple) else index] * [width, 1.0] + [low, 0.0]
            mine = moved[instrument.label]
            campaign.tell(gf.Query(mine, there), as_told(mine, answer))
    return [(q.instrument.label, (q.place - [low, 0.0]) / [width, 1.0]) for q in campaign.ask(1)]


CASES = [(names, None) for names in SETS.values()] + [(("Point", "Binary at a threshold"), "rivals")]
IDS = [*SETS, "rival models"]
ANSWERS = [case for case in zip(IDS, CASES, strict=True) if all(name in SCALED for name in case[1][0])]


def assert_same(found, expected, exactly):
    assert [label for label, _ in found] == [label for label, _ in expected]
    for (_, a), (_, b) in zip(found, expected, strict=True):
        if exactly:
            assert a.tobytes() == b.tobytes()
        else:
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("names", "model"), CASES, ids=IDS)
def test_powers_of_two_of_inputs_and_answers_change_no_bit_of_a_choice(names, model):
    assert_same(chosen(names, model, factor=2.0**-10, width=0.25), chosen(names, model), exactly=True)


@pytest.mark.parametrize(("names", "model"), CASES, ids=IDS)
def test_other_units_of_inputs_move_a_choice_by_less_than_a_millionth(names, model):
    assert_same(chosen(names, model, low=273.15, width=70.0), chosen(names, model), exactly=False)


@pytest.mark.parametrize(("names", "model"), [case for _, case in ANSWERS], ids=[name for name, _ in ANSWERS])
def test_other_units_of_answers_move_a_choice_by_less_than_a_millionth(names, model):
    assert_same(chosen(names, model, shift=-273.15, factor=1e-3), chosen(names, model), exactly=False)


@functools.cache
def at_once(name, shift=0.0, factor=1.0, low=0.0, width=1.0):
    """The same for instruments that take seconds to learn from: one belief, and the best of a few candidates."""
    instrument, space = DEAR[name], space_of(low, width)
    which, answers = answered(instrument)
    moved = instrument
    if instrument.is_scaled:
        moved, answers = instrument.rescaled(shift, factor), instrument.rescale_answers(answers, shift, factor)
    there = PLACES[np.array(which)] * [width, 1.0] + [low, 0.0]
    told = [moved.encode(answer) for answer in answers]
    belief = gf.GP(space=space).condition(gf.Data().add(moved, there, told))
    option = [gf.selection.Option(moved, space)]
    found = gf.selection.choose(gf.Learn(), belief, option, np.random.default_rng(0), search=gf.Search(6, 0))
    return [(name, (found.query.place - [low, 0.0]) / [width, 1.0])], found.score


@pytest.mark.parametrize("name", DEAR)
def test_units_leave_no_trace_in_choices_of_dear_instruments(name):
    plain, bits = at_once(name)
    doubled, same = at_once(name, factor=2.0**-10, width=0.25)
    assert_same(doubled, plain, exactly=True)
    assert same == pytest.approx(bits, rel=1e-12)  # its last digit is that of a logarithm
    shifted, near = at_once(name, shift=-273.15, factor=1e-3, low=273.15, width=70.0)
    assert_same(shifted, plain, exactly=False)
    assert near == pytest.approx(bits, rel=1e-5)


def test_a_logarithmic_dimension_is_chosen_from_as_its_logarithm_is():
    low, high = 1e-6, 1e-2
    asked = []
    for space, there, back in (
        (gf.Space(gf.Real("c", low, high, log=True)), np.exp, np.log),
        (gf.Space(gf.Real("c", np.log(low), np.log(high))), lambda c: c, lambda c: c),
    ):
        campaign = gf.Campaign(space, ALL["Point"], seed=3, search=gf.Search(16, 1), initial=0)
        for u in (0.1, 0.35, 0.6, 0.9):
            log_c = np.log(low) + u * np.log(high / low)
            campaign.tell(gf.Query(ALL["Point"], [there(log_c)]), float(np.sin(5 * u)))
        asked.append([float(back(query.place[0])) for query in campaign.ask(2)])
    np.testing.assert_allclose(asked[0], asked[1], rtol=0, atol=1e-6 * np.log(high / low))
