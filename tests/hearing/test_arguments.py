"""What a hearing test, its journal and its simulated listeners refuse, and in whose name."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import gainful as gf
from gainful.campaign.lines import Lines, Mark, to_text
from gainful.hearing import (
    FREQUENCIES,
    LEVELS,
    EarLibrary,
    Heard,
    HearingTest,
    Listener,
    Population,
    Tone,
    believe,
    expected_listeners,
    fit_population,
    hughson_westlake,
)

EARS = Population.load()
TOLD = {"spread": 4.0, "guess": 0.02, "lapse": 0.02}
PEOPLE = np.random.default_rng(0).normal(20.0, 10.0, (60, 2, 7))


@pytest.mark.parametrize("together", [1, 2])
def test_a_yes_to_silence_is_refused_where_nobody_guesses_and_is_not_written(tmp_path, together):
    path = tmp_path / "test.jsonl"
    test = HearingTest(guess=0.0, together=together, journal=path)
    before = path.read_bytes()
    with pytest.raises(gf.InvalidInput, match="heard: expected no yes to silence"):
        test.tell(Tone(1000.0, None), heard=True)
    assert path.read_bytes() == before
    assert test.answers == ()
    test.tell(Tone(1000.0, None), heard=False)
    assert np.all(np.isfinite(test.belief.mean(FREQUENCIES)))
    with pytest.raises(gf.InvalidInput, match="heard: expected answers"):
        believe(EARS, expected_listeners(guess=0.0), [Heard((Tone(1000.0, None),), yes=True)])


def test_answers_that_are_hardly_possible_leave_numbers():
    """Nobody guesses or lapses, and the answers are against all that was stated: improbable, and not impossible."""
    test = HearingTest(spread=0.5, guess=0.0, lapse=0.0)
    for level, heard in ((-10.0, True), (110.0, False), (-10.0, True), (110.0, False)):
        test.tell(Tone(1000.0, level), heard=heard)
    assert np.all(np.isfinite(test.belief.mean(FREQUENCIES)))
    assert np.isfinite(test.belief.log_evidence)


@pytest.mark.parametrize("content", ["patient notes", '{"hearing test": 99', "\x00", "{"], ids=repr)
def test_a_file_that_is_no_journal_of_this_test_is_left_as_it_was(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    if content == "{":  # what a journal begins with: no more was written of it when power was lost
        HearingTest(journal=path)
        assert path.read_text().startswith('{"hearing test"')
        return
    with pytest.raises(gf.JournalError, match="left alone"):
        HearingTest(journal=path)
    assert path.read_text() == content


def test_a_journal_whose_first_line_was_cut_short_is_begun_again(tmp_path):
    path = tmp_path / "test.jsonl"
    HearingTest(journal=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    HearingTest(journal=path)
    assert path.read_bytes() == whole
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(gf.JournalError, match="left alone"):
        HearingTest(journal=path, age=50)


def test_a_journal_is_not_gone_on_with_by_another_population(tmp_path):
    path = tmp_path / "test.jsonl"
    one, other = (replace(EARS, mean=EARS.mean + shift, provenance="ours") for shift in (0.0, 10.0))
    HearingTest(journal=path, population=one, **TOLD).tell(Tone(1000.0, 30.0), heard=True)
    with pytest.raises(gf.JournalError, match="another test"):
        HearingTest(journal=path, population=other, **TOLD)
    renamed = replace(one, names=tuple(f"kind {k}" for k in range(one.classes)))
    assert len(HearingTest(journal=path, population=renamed, **TOLD).answers) == 1


def old_journal(path, population=None):
    """As they were written without a digest of the population."""
    settings = HearingTest(population=population, **TOLD)._settings()
    del settings["population's digest"]
    with Lines(path, create=True) as lines:
        lines.write([to_text(settings), to_text({"tones": [[1000.0, 30.0, 0]], "heard": True})], Mark())


def test_journals_from_before_populations_had_digests_open(tmp_path):
    old_journal(tmp_path / "test.jsonl")
    assert len(HearingTest(journal=tmp_path / "test.jsonl", **TOLD).answers) == 1
    other = replace(EARS, mean=EARS.mean + 1.0)
    old_journal(tmp_path / "other.jsonl", other)
    with pytest.warns(gf.errors.JournalWarning, match="which population"):
        assert len(HearingTest(journal=tmp_path / "other.jsonl", population=other, **TOLD).answers) == 1


def test_a_population_without_ages_comes_back_from_json():
    found = fit_population(PEOPLE, FREQUENCIES, 2)
    again = Population.read(json.loads(json.dumps(found.stored())))
    assert again.stored() == found.stored()
    assert again.digest() == found.digest() != EARS.digest()
    np.testing.assert_allclose(again.at_age(50.0), again.weights)


GAPS = np.where(np.arange(60)[:, None, None] == 3, np.nan, PEOPLE)
BELIEF = believe(EARS, expected_listeners(**TOLD), [])
LIBRARY = EarLibrary(PEOPLE[:, 0], FREQUENCIES, LEVELS, expected_listeners(**TOLD))
NO_AGES = replace(EARS, ages=np.zeros(0), by_age=np.zeros((0, EARS.classes)))
REFUSED = {
    "listener: spread below zero": ("spread", lambda: Listener([[10.0]], [1000.0], spread=-4)),
    "listener: spread of zero": ("spread", lambda: Listener([[10.0]], [1000.0], spread=0.0)),
    "listener: guess": ("guess", lambda: Listener([[10.0]], [1000.0], guess=-0.1)),
    "listener: both rates": ("lapse", lambda: Listener([[10.0]], [1000.0], guess=0.9, lapse=0.9)),
    "listener: gaps": ("thresholds", lambda: Listener([[np.nan, 10.0]], [1000.0, 2000.0])),
    "listener: shape": ("thresholds", lambda: Listener([[10.0]], [1000.0, 2000.0])),
    "listener: text": ("thresholds", lambda: Listener(["ten"], [1000.0])),
    "listener: twice": ("frequencies", lambda: Listener([[10.0, 20.0]], [1000.0, 1000.0])),
    "listener: ear": ("ear", lambda: Listener([[10.0]], [1000.0]).threshold(1000.0, -1)),
    "belief: ear below zero": ("ears", lambda: BELIEF.thresholds([750], -1)),
    "belief: third ear": ("ears", lambda: BELIEF.thresholds([750], 2)),
    "belief: ears for other places": ("ears", lambda: BELIEF.thresholds([750, 1000, 2000], [0, 1])),
    "belief: no frequency": ("frequencies", lambda: BELIEF.thresholds([0])),
    "belief: text": ("frequencies", lambda: BELIEF.thresholds("x")),
    "belief: table": ("frequencies", lambda: BELIEF.thresholds([[1, 2]])),
    "belief: precision": ("precision", lambda: BELIEF.within([750], precision=-1.0)),
    "fit: gaps": ("both", lambda: fit_population(GAPS, FREQUENCIES, 2)),
    "fit: one ear": ("both", lambda: fit_population(PEOPLE[:, :1], FREQUENCIES, 2)),
    "fit: no classes": ("classes", lambda: fit_population(PEOPLE, FREQUENCIES, 0)),
    "fit: one frequency": ("frequencies", lambda: fit_population(PEOPLE[..., :1], [1000.0], 2)),
    "fit: falling": ("frequencies", lambda: fit_population(PEOPLE, FREQUENCIES[::-1], 2)),
    "fit: ages of others": ("ages", lambda: fit_population(PEOPLE, FREQUENCIES, 2, ages=[30.0])),
    "fit: ages below zero": ("ages", lambda: fit_population(PEOPLE, FREQUENCIES, 2, ages=[-30.0] * 60)),
    "fit: few": ("both", lambda: fit_population(PEOPLE[:3], FREQUENCIES, 2)),
    "age below zero": ("age", lambda: HearingTest(age=-5, population=NO_AGES)),
    "age of nobody": ("age", lambda: HearingTest(age=float("nan"), population=NO_AGES)),
    "library: silence": ("tone", lambda: LIBRARY.tell(Tone(1000.0, None), heard=True)),
    "library: frequency": ("tone", lambda: LIBRARY.tell(Tone(1234.0, 20.0), heard=True)),
    "library: shape": ("thresholds", lambda: EarLibrary([[1.0]], FREQUENCIES, LEVELS, expected_listeners(**TOLD))),
    "journal": ("journal", lambda: HearingTest(journal=5)),
    "staircase: first": ("first", lambda: hughson_westlake(lambda tone: True, 1000.0, first=float("nan"))),
    "staircase: first too loud": ("first", lambda: hughson_westlake(lambda tone: True, 1000.0, first=120.0)),
    "staircase: lowest": ("lowest", lambda: hughson_westlake(lambda tone: True, 1000.0, lowest=120.0)),
    "staircase: highest": ("highest", lambda: hughson_westlake(lambda tone: True, 1000.0, highest=float("inf"))),
}


@pytest.mark.parametrize(("argument", "attempt"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_by_name(argument, attempt):
    with pytest.raises(gf.InvalidInput) as refusal:
        attempt()
    assert refusal.value.argument == argument
    assert refusal.value.remedy


def test_a_listener_s_frequencies_may_come_in_any_order():
    somebody = Listener([[60.0, 10.0, 20.0]], [8000, 500, 1000])
    assert [somebody.threshold(f) for f in (500.0, 1000.0, 8000.0)] == [10.0, 20.0, 60.0]
    assert Listener([10.0, 20.0], [500, 1000]).with_notch(10.0, 1000.0, 0.3).threshold(1000.0) == 30.0
