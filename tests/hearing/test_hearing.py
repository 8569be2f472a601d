"""The hearing test: its prior, its choices, its journal, and whether its intervals hold."""

from __future__ import annotations

import json

import matplotlib.pyplot
import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.campaign.lines import Lines, Mark, to_text
from gainful.hearing import (
    FREQUENCIES,
    Heard,
    HearingTest,
    Listener,
    Population,
    Tone,
    believe,
    expected_listeners,
    fit_population,
    hughson_westlake,
    plot_audiogram,
)

EARS = Population.load()
TOLD = {"spread": 4.0, "guess": 0.02, "lapse": 0.02}


def test_curves_at_the_knots_are_those_of_the_population_and_straight_between():
    at = EARS.curves(EARS.frequencies)
    np.testing.assert_allclose(at.mean, EARS.mean[:, :7], atol=1e-9)
    np.testing.assert_allclose(at.cov, EARS.cov[:, :7, :7], atol=1e-9)
    between = EARS.curves([np.sqrt(500.0 * 1000.0), 250.0, 12000.0])
    np.testing.assert_allclose(between.mean[:, 0], 0.5 * (EARS.mean[:, 0] + EARS.mean[:, 1]), atol=1e-9)
    np.testing.assert_allclose(between.mean[:, 1], EARS.mean[:, 0], atol=1e-9)
    walked = np.array([0.25, 1.0, np.log2(1.5)]) * EARS.roughness**2
    lines = np.array([[0.5, 0.5] + [0.0] * 5, [1.0] + [0.0] * 6, [0.0] * 6 + [1.0]])
    known = np.einsum("ji,kil,jl->kj", lines, EARS.cov[:, :7, :7], lines)
    np.testing.assert_allclose(np.diagonal(between.cov, axis1=1, axis2=2), known + walked, rtol=1e-9)


def test_covariances_are_proper_at_any_frequencies_of_both_ears():
    hertz = np.tile(np.geomspace(200.0, 12000.0, 40), 2)
    cov = EARS.curves(hertz, np.repeat([0, 1], 40)).cov
    np.testing.assert_allclose(cov, np.swapaxes(cov, 1, 2), atol=1e-9)
    assert np.linalg.eigvalsh(cov).min() > -1e-8 * cov.max()


def test_the_walk_between_knots_is_a_brownian_bridge():
    """A walk's covariance min(a, b), conditioned on its values at the knots."""
    knots, phi = np.log2([500.0, 1000.0, 2000.0]), np.log2([600.0, 700.0, 900.0, 1500.0, 1800.0])
    one = Population(2.0**knots, np.ones(1), np.zeros((1, 6)), 1e-12 * np.eye(6)[None], 1.0)
    found = one.curves(2.0**phi).cov[0]
    every = np.concatenate([knots, phi]) - knots[0] + 5.0
    K = np.minimum(every[:, None], every)
    wanted = K[3:, 3:] - K[3:, :3] @ np.linalg.solve(K[:3, :3], K[:3, 3:])
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_population_comes_back_from_json_as_it_was():
    again = Population.read(json.loads(json.dumps(EARS.stored())))
    assert again.stored() == EARS.stored()
    np.testing.assert_array_equal(again.cov, np.swapaxes(again.cov, 1, 2))


def test_a_planted_population_is_found_again():
    rng = np.random.default_rng(0)
    means = np.array([[5.0, 5.0, 10.0], [20.0, 40.0, 70.0]])
    kind = rng.random(3000) < 0.3
    people = means[kind.astype(int)][:, None] + rng.normal(0, 6.0, (3000, 1, 3)) + rng.normal(0, 3.0, (3000, 2, 3))
    found = fit_population(people, [500.0, 2000.0, 8000.0], 2, ages=np.where(kind, 70.0, 30.0))
    np.testing.assert_allclose(found.weights, [0.7, 0.3], atol=0.03)
    np.testing.assert_allclose(found.mean, np.tile(means, 2), atol=1.0)
    np.testing.assert_allclose(found.cov[:, 0, 3], 36.0, atol=5.0)  # what ears have in common
    assert found.at_age(70.0)[1] > 0.9 > 0.1 > found.at_age(30.0)[1]


def test_older_ears_are_expected_to_be_worse():
    young, old = (believe(EARS, expected_listeners(**TOLD), [], age).mean(FREQUENCIES) for age in (20, 75))
    assert np.all(old > young)
    assert old[-1] > young[-1] + 20.0


@pytest.mark.parametrize("level", [0.0, 10.0, 40.0])
@pytest.mark.parametrize(("guess", "lapse"), [(0.0, 0.0), (0.02, 0.05)])
def test_information_is_that_of_a_yes_or_no_about_a_normal_threshold(level, guess, lapse):
    """One class and one listener: what the library says of a Binary in dB."""
    one = Population(np.array([1000.0, 2000.0]), np.ones(1), np.full((1, 4), 14.0), 81.0 * np.eye(4)[None], 1.0)
    found = believe(one, expected_listeners(4.0, guess, lapse), []).information([1000.0], [level])[0, 0]
    gp = gf.GP(gf.Constant(81.0), mean=gf.ConstantMean(-14.0))
    look = gf.Binary(guess, lapse, threshold=-level, noise=4.0)
    assert found == pytest.approx(gf.information(gp.condition(gf.Data()), look, [[0.0]])[0], abs=1e-6)


def test_what_a_tone_narrows_equals_integration_over_both_thresholds():
    """Two classes of two correlated thresholds, without answers: every expectation is a sum over a plane of levels."""
    weights, mean = np.array([0.6, 0.4]), np.array([[10.0, 20.0, 0.0, 0.0], [35.0, 60.0, 0.0, 0.0]])
    cov = np.stack([np.eye(4) * 64.0, np.eye(4) * 150.0])
    cov[0, 0, 1] = cov[0, 1, 0] = 30.0
    cov[1, 0, 1] = cov[1, 1, 0] = 120.0
    pair = Population(np.array([1000.0, 4000.0]), weights, mean, cov, 1.0, names=("good", "bad"))
    found = believe(pair, expected_listeners(4.0, 0.03, 0.05), []).gain([1000.0, 4000.0], [30.0])
    t = np.arange(-60.0, 161.0)
    plane = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1)
    off = plane[None] - mean[:, None, None, :2]
    inner = np.linalg.inv(cov[:, :2, :2])
    p = np.exp(-0.5 * np.einsum("kabi,kij,kabj->kab", off, inner, off)) * np.sqrt(np.linalg.det(inner))[:, None, None]
    p = np.einsum("k,kab->ab", weights, p) / (2.0 * np.pi)

    def spread(mass: np.ndarray) -> float:
        axes = [mass.sum(axis=1 - i) / mass.sum() for i in range(2)]
        return float(np.mean([np.sqrt(a @ t**2 - (a @ t) ** 2) for a in axes]))

    for j in range(2):
        yes = 0.03 + 0.92 * ndtr((30.0 - plane[..., j]) / 4.0)
        left = sum((p * q).sum() * spread(p * q) for q in (yes, 1.0 - yes))
        assert found[j, 0] == pytest.approx(spread(p) - left, abs=2e-3)


def test_information_about_the_class_is_never_more_than_its_entropy_and_nothing_when_it_is_known():
    belief = believe(EARS, expected_listeners(**TOLD), [])
    bits = belief.about_class(FREQUENCIES, [0.0, 30.0, 60.0])
    chances = np.array(list(belief.diagnosis.values()))
    assert np.all(bits >= 0.0)
    assert bits.max() <= -np.sum(chances * np.log2(chances))
    one = Population(EARS.frequencies, np.ones(1), EARS.mean[:1], EARS.cov[:1], 1.0, names=("any",))
    assert np.all(believe(one, expected_listeners(**TOLD), []).about_class(FREQUENCIES, [0.0, 30.0]) < 1e-12)


def played(listener: Listener, seed: int = 0, tones: int = 25, **stated: object) -> HearingTest:
    rng, test = np.random.default_rng(seed), HearingTest(most=tones, sure=0.9999, **stated)  # type: ignore[arg-type]
    while tone := test.ask():
        test.tell(tone, listener.answer(tone, rng))
    return test


@pytest.mark.parametrize(
    "curve", [[5, 5, 5, 5, 10, 10, 10], [10, 10, 20, 40, 55, 60, 65], [45, 45, 50, 50, 50, 55, 60]]
)
def test_a_quiet_listener_is_measured_to_a_few_decibels(curve):
    test = played(Listener([curve], FREQUENCIES, 4.0, 0.0, 0.0), **TOLD)
    off = [abs(t.median - c) for t, c in zip(test.audiogram(), curve, strict=True)]
    assert np.mean(off) < 4.0
    assert "25 tones were played" in test.describe()


def test_intervals_hold_thresholds_of_people_from_the_population():
    rng, held = np.random.default_rng(1), []
    for seed in range(25):
        kind = rng.choice(EARS.classes, p=EARS.weights)
        curve = rng.multivariate_normal(EARS.mean[kind], EARS.cov[kind])[:7]
        test = played(Listener([curve], FREQUENCIES, **TOLD), seed, 12, **TOLD)
        held += [t.low <= c <= t.high for t, c in zip(test.audiogram(), curve, strict=True)]
    assert 0.82 < np.mean(held) < 0.97  # 175 of them, of 90 %


def test_one_ear_tells_about_the_other_and_both_are_asked():
    belief = believe(EARS, expected_listeners(**TOLD), [Heard((Tone(4000.0, 50.0, 0),), yes=False)] * 3)
    none = believe(EARS, expected_listeners(**TOLD), [])
    assert belief.mean([4000.0], [1])[0] > none.mean([4000.0], [1])[0] + 10.0
    curve = [10, 10, 15, 20, 30, 35, 40]
    rng, test = np.random.default_rng(0), HearingTest(("right", "left"), most=12, **TOLD)
    person = Listener([curve, curve], FREQUENCIES, **TOLD)
    while tone := test.ask():
        test.tell(tone, person.answer(tone, rng))
    assert {heard.tones[0].ear for heard in test.answers} == {0, 1}
    assert len(test.audiogram()) == 14


def test_the_test_ends_when_every_threshold_is_known():
    rng, test = np.random.default_rng(2), HearingTest(precision=10.0, sure=0.9, **TOLD)
    person = Listener([[10, 10, 10, 15, 20, 20, 20]], FREQUENCIES, **TOLD)
    while tone := test.ask():
        test.tell(tone, person.answer(tone, rng))
    assert len(test.answers) < 40
    assert test.done == "every threshold is known to ±10 dB with 90%"
    assert np.all(test.belief.within(FREQUENCIES, precision=10.0) >= 0.9)


def test_a_test_that_cannot_play_loud_enough_ends_and_says_so():
    rng, test = np.random.default_rng(0), HearingTest(levels=range(-10, 45, 5), **TOLD)
    deaf = Listener([[90] * 7], FREQUENCIES, **TOLD)
    while tone := test.ask():
        test.tell(tone, deaf.answer(tone, rng))
    assert test.done == "no tone of -10 to 40 dB would tell any more"
    assert len(test.answers) < 60
    assert all(t.low > 40.0 for t in test.audiogram())


def test_a_diagnosis_is_reached_and_said():
    rng, test = np.random.default_rng(2), HearingTest(goal="diagnosis", sure=0.8, most=60, **TOLD)
    person = Listener([[30, 35, 50, 60, 65, 70, 75]], FREQUENCIES, **TOLD)
    while tone := test.ask():
        test.tell(tone, person.answer(tone, rng))
    assert next(iter(test.belief.diagnosis)) == "moderate, steeply sloping"
    assert "moderate, steeply sloping" in test.done


def test_silence_shows_who_guesses():
    heard = [Heard((Tone(1000.0, None),), yes=True)] * 4 + [Heard((Tone(1000.0, None),), yes=False)] * 4
    guessing = believe(EARS, expected_listeners(), heard)
    quiet = believe(EARS, expected_listeners(), [Heard((Tone(1000.0, None),), yes=False)] * 8)
    assert guessing.guessing > 0.2 > 0.05 > quiet.guessing
    test = HearingTest(catch=0.5, seed=3)
    silent = 0
    for _ in range(10):
        tone = test.ask()
        silent += tone.level is None
        test.tell(tone, tone.level is None or tone.level > 20.0)
    assert silent > 0
    assert "seems to guess" in test.describe()


def test_somebody_who_says_yes_to_everything_is_not_believed_to_hear_everything():
    test = HearingTest(most=25, **TOLD)
    while tone := test.ask():
        test.tell(tone, heard=True)
    assert "play silent trials" in test.describe()
    silent = HearingTest(most=25, catch=0.3)
    while tone := silent.ask():
        silent.tell(tone, heard=True)
    assert "seems to guess" in silent.describe()


def test_a_test_goes_on_from_its_journal_and_nothing_else_may_write_to_it(tmp_path):
    path, rng = tmp_path / "test.jsonl", np.random.default_rng(0)
    person = Listener([[10, 10, 15, 20, 30, 35, 40]], FREQUENCIES, **TOLD)
    test = HearingTest(journal=path, **TOLD)
    for _ in range(4):
        tone = test.ask()
        test.tell(tone, person.answer(tone, rng))
    test.undo()
    again = HearingTest(journal=path, **TOLD)
    assert again.answers == test.answers
    assert len(again.answers) == 3
    assert again.ask() == test.ask()
    np.testing.assert_array_equal(again.belief.mean(FREQUENCIES), test.belief.mean(FREQUENCIES))
    again.tell(again.ask(), heard=True)
    with pytest.raises(gf.JournalError, match="somebody else"):
        test.tell(test.ask(), heard=True)
    with pytest.raises(gf.JournalError, match="another test"):
        HearingTest(journal=path)
    with path.open("a") as file:
        file.write('{"frequency": 10')  # power was lost in the midst of a line
    assert len(HearingTest(journal=path, **TOLD).answers) == 4


def test_numbers_of_numpy_s_own_are_numbers_and_strange_lines_are_named(tmp_path):
    path = tmp_path / "test.jsonl"
    test = HearingTest(age=np.int64(50), spread=np.float32(4.0), guess=0.02, lapse=0.02, journal=path)
    test.tell(Tone(np.float64(1000.0), np.int64(20), np.int64(0)), np.bool_(True))
    assert HearingTest(age=50, **TOLD, journal=path).answers == test.answers
    with Lines(path) as lines:
        mark = lines.read(Mark()).mark
        lines.write([to_text({"frequency": 1000.0, "level": 900.0, "ear": 0, "heard": True})], mark)
    with pytest.raises(gf.JournalError, match="line 3 is no answer"):
        HearingTest(age=50, **TOLD, journal=path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ears": ()}, {"ears": ("a", "b", "c")}, {"ears": ("a", "a")}, {"frequencies": []}, {"frequencies": [1e6]},
        {"levels": [500]}, {"age": -3}, {"age": "old"}, {"spread": 0}, {"guess": 0.7}, {"lapse": -0.1},
        {"goal": "all"}, {"precision": 0}, {"sure": 1.0}, {"most": 0}, {"catch": 0.9}, {"population": "ears"},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_refused_by_the_name_of_its_argument(wrong):
    with pytest.raises(gf.InvalidInput, match=next(iter(wrong))):
        HearingTest(**wrong)


@pytest.mark.parametrize("tone", [Tone(1000.0, 500.0), Tone(np.nan, 20.0), Tone(1000.0, 20.0, 1), (1000.0, 20.0, 0)])
def test_tones_that_cannot_be_played_are_refused_and_nothing_is_lost(tone):
    test = HearingTest(**TOLD)
    with pytest.raises(gf.InvalidInput, match="tone"):
        test.tell(tone, heard=True)
    with pytest.raises(gf.InvalidInput, match="heard"):
        test.tell(test.ask(), heard="yes")
    assert test.answers == ()


@pytest.mark.parametrize("threshold", [-10.0, 7.0, 33.0, 80.0])
def test_the_staircase_ends_just_above_the_threshold_of_somebody_who_never_errs(threshold):
    found = hughson_westlake(lambda tone: tone.level >= threshold, 1000.0)
    assert threshold <= found.threshold < threshold + 5.0
    assert 3 <= found.tones <= 20


def test_the_staircase_ends_with_anybody():
    rng = np.random.default_rng(0)
    assert hughson_westlake(lambda tone: False, 1000.0).threshold == 110.0
    assert hughson_westlake(lambda tone: True, 1000.0).threshold == -10.0
    for _ in range(50):
        assert hughson_westlake(lambda tone: bool(rng.random() < 0.5), 1000.0).tones <= 60


def test_the_audiogram_is_drawn_as_audiologists_do():
    test = played(Listener([[10, 10, 20, 40, 55, 60, 65]], FREQUENCIES, 4.0, 0.0, 0.0), tones=6, **TOLD)
    axes = plot_audiogram(test)
    low, high = axes.get_ylim()
    assert low > high  # decibels downwards
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["500", "1k", "2k"]
    assert axes.get_legend_handles_labels()[1][0] == "ear, 90% band"
    matplotlib.pyplot.close(axes.figure)


def test_listeners_answer_as_often_as_their_psychometric_function_says():
    person = Listener([[10.0, 40.0]], [1000.0, 4000.0], 5.0, 0.1, 0.05)
    tone, rng = Tone(2000.0, 30.0), np.random.default_rng(0)
    assert person.chance(tone) == pytest.approx(0.1 + 0.85 * ndtr(1.0))
    share = np.mean([person.answer(tone, rng) for _ in range(4000)])
    assert share == pytest.approx(person.chance(tone), abs=0.03)
    deeper = person.with_notch(20.0, 4000.0, 0.3)
    assert deeper.threshold(4000.0) == pytest.approx(60.0)
    assert deeper.threshold(1000.0) == pytest.approx(10.0, abs=0.1)
