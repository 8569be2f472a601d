"""What is said of a belief: phrases, ranges, shares, and the whole description."""

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs.programs.words import percent, quantiles, span

T = np.arange(40.0)[:, None]
Y = 3.0 + 0.2 * T[:, 0] + np.sin(2.0 * np.pi * T[:, 0] / 8.0)
SPACE = gf.Space(gf.Real("time", 0.0, 40.0, unit="months"))
LAB = gf.Point(0.3, name="lab", unit="kg")


def said(*programs, space=SPACE, data=None):
    """The phrases of a belief of these programs, by kind."""
    told = gf.Data().add(LAB, T, Y) if data is None else data
    belief = gf.ProgramGrid(list(programs), space=space).condition(told)
    return {part.name: part.phrase for part in belief.parts(told.layout.places[:2])}


def test_phrases_have_the_numbers_in_the_unit_of_the_space():
    assert said("(+ (LIN 0.3) (PER 0.5 8.0))")["PER"] == "a cycle that repeats every 8 months"
    assert said("(+ (LIN 0.3) (PER 0.5 8.0))")["LIN"] == "a straight trend"
    assert said("(SE 5.0)")["SE"] == "a smooth variation over about 5 months"
    assert said("(MAT 5.0)")["MAT"] == "a rough variation over about 5 months"
    assert said("(× (SE 30.0) (PER 0.5 8.0))")["PER × SE"] == (
        "a cycle that repeats every 8 months and changes its shape over about 30 months"
    )
    assert said("(× (LIN 0.0) (LIN 2.0))")["LIN × LIN"] == "a curve of degree 2"


@pytest.mark.parametrize(
    ("zero", "words"),
    [
        (-5.0, "grows with time"),
        (38.0, "shrinks with time"),
        (20.0, "is smallest near time 20 months and grows away from it"),
    ],
)
def test_a_line_as_a_factor_says_where_the_size_grows(zero, words):
    found = said(f"(× (LIN {zero}) (PER 0.5 8.0))")["LIN × PER"]
    assert found == f"a cycle that repeats every 8 months, whose size {words}"


def test_sides_of_a_change_say_where_it_is():
    found = said("(CP 20.0 1.0 (SE 5.0) (LIN 3.0))")
    assert found["SE before CP"] == "a smooth variation over about 5 months, before a change at time 20 months"
    assert found["LIN after CP"] == "a straight trend, after a change at time 20 months"


def test_several_inputs_are_named():
    space = gf.Space(gf.Real("heat", 0.0, 1.0), gf.Real("salt", 0.0, 1.0, unit="g"))
    data = gf.Data().add(LAB, np.random.default_rng(0).random((8, 2)), np.arange(8.0))
    found = said("(+ (LIN@1 0.0) (× (SE 0.3) (SE@1 0.4)))", space=space, data=data)
    assert found["LIN@1"] == "a straight trend in salt"
    assert found["SE × SE@1"] == "a smooth variation over about 0.3 in heat and 0.4 g in salt"


def test_periods_that_are_far_apart_are_told_one_by_one():
    rough = gf.Data().add(gf.Point(5.0), T, Y)
    found = said("(PER 0.5 7.0)", "(PER 0.5 7.1)", "(PER 0.5 11.0)", data=rough)["PER"]
    assert " or 11 months [" in found
    assert found.startswith("a cycle that repeats every 7")


def test_an_input_over_orders_of_magnitude_is_told_in_factors():
    space = gf.Space(gf.Real("dose", 1.0, 100.0, log=True, unit="mg"))
    data = gf.Data().add(LAB, np.geomspace(1.0, 100.0, 9)[:, None], np.arange(9.0))
    found = said(f"(SE {np.log(2.0)})", space=space, data=data)["SE"]
    assert found == "a smooth variation over about a factor of 2"


def test_a_range_is_told_to_the_digits_that_it_leaves():
    assert span([11.9, 12.0, 12.1], "months") == "12.0 (11.9 to 12.1) months"
    assert span([0.0004, 0.0005, 0.0007]) == "0.0005 (0.0004 to 0.0007)"
    assert span([1.2e9, 1.3e9, 1.5e9]) == "1.3e+09 (1.2e+09 to 1.5e+09)"
    assert span([-2.0, 0.0, 1.0]) == "0 (−2 to 1)"
    assert span([5.0, 5.0, 9.0]) == "5 (5 to 9)"


def test_quantiles_hold_the_shares_that_they_say():
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=500), rng.random(500)
    for q, found in zip((0.05, 0.5, 0.95), quantiles(values, weights), strict=True):
        below = weights[values <= found].sum() / weights.sum()
        assert q <= below < q + 0.02


def test_a_probability_is_not_said_to_be_sure_where_it_is_not():
    assert [percent(p) for p in (0.0, 0.004, 0.5, 0.996, 1.0)] == ["0 %", "under 1 %", "50 %", "over 99 %", "100 %"]


def test_a_description_has_features_parts_noise_structures_and_how_sure_it_is():
    data = gf.Data().add(gf.Point(name="lab", unit="kg"), T, Y)
    grid = gf.ProgramGrid(["(+ (LIN 0.3) (PER 0.5 8.0))", "(SE 3.0)", "(C 1.0)"], noise=0.01, space=SPACE)
    belief = grid.condition(data)
    assert belief.features == {"a cycle": pytest.approx(1.0), "a trend": pytest.approx(1.0),
                               "smooth variation": pytest.approx(0.0, abs=1e-6)}  # fmt: skip
    text = str(belief.describe())
    assert "What 40 answers show: a cycle: 100 %, a trend: 100 %, smooth variation: 0 %." in text
    assert "a cycle that repeats every 8 months, 2 kg between its lowest and its highest" in text
    assert "a straight trend, which rises by 7.82 (7.73 to 7.91) kg" in text
    assert f"Noise of lab: a standard deviation of 0.1 kg, beside {np.std(Y):.2g} of the answers themselves." in text
    assert "100 %  LIN + PER" in text
    assert "One sum explains the answers" in text


def test_a_description_of_nothing_is_honest():
    data = gf.Data().add(gf.Point(name="lab"), [[0.0], [1.0]], [1.0, 2.0])
    text = str(gf.KernelPrograms(particles=60).condition(data).describe())
    assert "What 2 answers show" in text
    assert "Many sums explain the answers about as well" in text


def test_what_varies_faster_than_it_was_measured_is_said_to_look_like_noise():
    assert said("(SE 0.3)")["SE"] == "a variation from one answer to the next, which looks like noise"
    assert said("(SE 0.5)")["SE"] == "a smooth variation over about 0.5 months"


def test_two_cycles_of_one_program_are_both_told_and_the_stronger_is_the_period():
    t = np.arange(60.0)
    y = 2.0 * np.sin(2.0 * np.pi * t / 5.0) + 0.5 * np.sin(2.0 * np.pi * t / 23.0)
    data = gf.Data().add(gf.Point(0.1), t[:, None], y)
    belief = gf.ProgramGrid(["(+ (PER 1.0 23.0) (PER 1.0 5.0))"]).condition(data)
    found = belief.parts(t[:2, None])[1].phrase
    assert found == "a cycle that repeats every 5 [100 %] and every 23 [100 %]"
    assert belief.periods()[0].tolist() == [5.0]
