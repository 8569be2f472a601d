"""What a hearing test says in words, and how it draws what it could not measure."""

from __future__ import annotations

import matplotlib.pyplot
import numpy as np
import pytest

from gainful.hearing import FREQUENCIES, HearingTest, Listener, Population, Tone, plot_audiogram
from gainful.hearing.kinds import degree, pure_tone_average, shape
from gainful.hearing.picture import _LEFT, _RIGHT, _looks

TOLD = {"spread": 4.0, "guess": 0.02, "lapse": 0.02}


def played(curves, tones=30, ears="ear", **stated) -> HearingTest:
    listener, rng = Listener(curves, FREQUENCIES, **TOLD), np.random.default_rng(0)
    test = HearingTest(ears, most=tones, sure=0.9999, **(stated or TOLD))
    while tone := test.ask():
        test.tell(tone, listener.answer(tone, rng))
    return test


@pytest.mark.parametrize(
    ("curve", "called"),
    [
        ([5, 5, 5, 5, 5, 10, 10], "normal, flat"), ([10, 15, 20, 30, 45, 50, 50], "mild, sloping"),
        ([10, 10, 35, 55, 60, 70, 75], "mild, steeply sloping"), ([50, 50, 45, 40, 35, 30, 30], "moderate, rising"),
        ([10, 10, 10, 40, 55, 40, 20], "mild, notched"), ([60] * 7, "moderately severe, flat"),
        ([70] * 7, "severe, flat"), ([130] * 7, "profound, flat"),
        ([40, 40, 40, 45, 50, 45, 45], "moderate, flat"),  # comes back by less than it is known to
    ],
)  # fmt: skip
def test_a_curve_is_called_as_audiologists_call_it(curve, called):
    assert f"{degree(pure_tone_average(curve, FREQUENCIES))}, {shape(curve, FREQUENCIES)}" == called


def test_each_ear_is_called_by_its_own_curve():
    test = played([[5] * 7, [125] * 7], tones=40, ears=("right", "left"))
    assert test.kinds() == {"right": "normal, flat", "left": "profound, flat"}
    said = test.describe()
    assert "normal, flat" in said
    assert "profound, flat" in said
    assert "moderate, sloping" not in said


def test_a_class_that_takes_in_ears_of_every_degree_is_called_mixed():
    ears = Population.load()
    share = np.array([0.25, 0.25, 0.25, 0.0, 0.25, 0.0, 0.0])
    spread = np.sqrt([share @ cov[:7, :7] @ share for cov in ears.cov])
    assert [name == "mixed" for name in ears.names] == list(spread > 16.0)
    assert ears.names.count("mixed") == 1


def test_a_diagnosis_of_somebody_who_hears_nothing_claims_no_degree():
    test = HearingTest(goal="diagnosis", most=60, **TOLD)
    while tone := test.ask():
        test.tell(tone, heard=False)
    assert test.done.startswith("the kind of ear is known: mixed")


def test_what_is_beyond_the_loudest_tone_is_said_to_have_no_response():
    test = played([[125] * 7], tones=40)
    heard_at = {tone.frequency for each in test.answers for tone in each.tones if tone.level == 110.0}
    for line, t in zip(test.describe().splitlines()[3:], test.audiogram(), strict=False):
        assert line.endswith("no response at 110" if t.frequency in heard_at else "above 110")
    assert heard_at


def test_what_is_below_the_quietest_tone_is_said_to_be():
    test = HearingTest(levels=range(30, 81, 5), frequencies=[1000.0], **TOLD)
    for _ in range(6):
        test.tell(Tone(1000.0, 30.0), heard=True)
    assert "below 30" in test.describe()


def test_more_guesses_than_are_reckoned_with_are_said_to_be_more():
    test = HearingTest(most=40, catch=0.3)
    while tone := test.ask():
        test.tell(tone, heard=True)
    assert "yes to 30% or more of what cannot be heard" in test.describe()
    assert "with catch" not in test.describe()


def test_names_say_which_ear_is_red_and_round():
    assert _looks(("left", "right")) == [_LEFT, _RIGHT] == _looks(("L", "R")) == _looks(("Left", "good"))
    assert _looks(("right", "left")) == [_RIGHT, _LEFT] == _looks(("one", "other"))
    assert _looks(("left",)) == [_LEFT]
    assert _looks(("ear",)) == [_RIGHT]


def test_a_picture_has_room_for_what_was_not_heard_and_marks_it():
    test = played([[20, 30, 70, 130, 130, 130, 130]], tones=40, ears="left")
    axes = plot_audiogram(test)
    beyond = [f for f in FREQUENCIES if test.beyond(f)]
    assert beyond[-1] == 8000.0
    arrows = [each for each in axes.texts if getattr(each, "arrow_patch", None) is not None]
    assert [each.xyann[0] for each in arrows] == beyond
    symbols = next(line for line in axes.lines if line.get_marker() == "x")
    assert all(y == 110.0 for x, y in symbols.get_xydata() if x in beyond)
    assert axes.get_ylim()[0] >= max(t.high for t in test.audiogram())
    assert "beyond 110 dB HL" in axes.get_legend_handles_labels()[1]
    matplotlib.pyplot.close(axes.figure)


def test_one_frequency_is_drawn_and_so_are_frequencies_in_any_order():
    for frequencies in ([1000.0], [8000.0, 500.0, 2000.0]):
        axes = plot_audiogram(HearingTest(frequencies=frequencies, **TOLD))
        low, high = axes.get_xlim()
        assert low < min(frequencies)
        assert max(frequencies) < high
        assert axes.texts[0].get_position()[0] > max(frequencies)
        matplotlib.pyplot.close(axes.figure)
