"""Several tones in one trial: beliefs against integration by brute force, and sets against all there are."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.hearing import FREQUENCIES, Heard, HearingTest, Listener, Population, Tone, believe, expected_listeners
from gainful.hearing.among import Among
from gainful.hearing.belief import _believe
from gainful.hearing.scenarios import scenarios
from gainful.hearing.settling import GRID, settle

TOLD = {"spread": 4.0, "guess": 0.05, "lapse": 0.03}
CENTRE, SD = np.array([22.0, 30.0]), np.array([11.0, 14.0])


def entropy(p):
    p = np.clip(p, 1e-300, 1 - 1e-16)
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


def chance(thresholds, which, levels, spread=4.0, guess=0.05, lapse=0.03):
    missed = np.prod([ndtr((thresholds[w] - a) / spread) for w, a in zip(which, levels, strict=True)], axis=0)
    return guess + (1 - guess - lapse) * (1 - missed)


def answer(which, levels, yes):
    rate = np.array([TOLD["guess"] if yes else TOLD["lapse"]])
    return Among(np.array([[0, 1]]), which, np.array([levels]), yes, np.array([4.0]), rate, np.array([0.92]))


def covariance(rho):
    return np.array([[1.0, rho], [rho, 1.0]]) * np.outer(SD, SD)


def two_ears(rho):
    """One class with two frequencies of one ear, the others apart."""
    cov = np.diag([SD[0] ** 2, SD[1] ** 2] * 2)
    cov[:2, :2] = cov[2:, 2:] = covariance(rho)
    return Population(np.array([1000.0, 2000.0]), np.ones(1), np.tile(CENTRE, 2)[None], cov[None], 1.0, names=("one",))


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize(("which", "levels"), [((0, 1), (20.0, 25.0)), ((1, 0, 1), (30.0, 15.0, 35.0))])
def test_one_answer_among_two_places_is_exact(rho, yes, which, levels):
    cov = covariance(rho)
    found = settle(CENTRE[None], cov[None], np.zeros((1, 2, len(GRID))), None, [answer(which, levels, yes)])
    a, b = np.meshgrid(GRID, GRID, indexing="ij")
    off = np.stack([a - CENTRE[0], b - CENTRE[1]], axis=-1)
    p = np.exp(-0.5 * np.einsum("abi,ij,abj->ab", off, np.linalg.inv(cov), off)) / np.sqrt(
        np.linalg.det(2 * np.pi * cov)
    )
    heard = chance([a, b], which, levels)
    p = p * (heard if yes else 1 - heard)
    mean = np.array([(p * a).sum(), (p * b).sum()]) / p.sum()
    away = np.stack([a - mean[0], b - mean[1]])
    assert found.log_evidence[0] == pytest.approx(np.log(p.sum()), abs=2e-5)
    assert CENTRE + found.mean[0] == pytest.approx(mean, abs=2e-3)
    assert found.cov[0] == pytest.approx(np.einsum("iab,jab,ab->ij", away, away, p) / p.sum(), rel=1e-3, abs=1e-2)


def test_answers_among_places_and_at_one_of_them_agree_with_integration():
    """As a test has them: two among places and two at one, no contradictions."""
    cov, rho_answers = covariance(0.6), [answer((0, 1), (25.0, 25.0), True), answer((0, 1), (15.0, 20.0), False)]
    one = expected_listeners(**TOLD)
    logs = np.zeros((1, 2, len(GRID)))
    logs[0, 0] = one.log_answer(30.0 - GRID[None], True)[0]
    logs[0, 1] = one.log_answer(np.array([[25.0], [25.0]]) - GRID, False)[0]  # two tones at one place, both missed
    found = settle(CENTRE[None], cov[None], logs, None, rho_answers)
    a, b = np.meshgrid(GRID, GRID, indexing="ij")
    off = np.stack([a - CENTRE[0], b - CENTRE[1]], axis=-1)
    p = np.exp(-0.5 * np.einsum("abi,ij,abj->ab", off, np.linalg.inv(cov), off)) / np.sqrt(
        np.linalg.det(2 * np.pi * cov)
    )
    p = p * chance([a, b], (0, 1), (25.0, 25.0)) * (1 - chance([a, b], (0, 1), (15.0, 20.0)))
    p = p * chance([a], (0,), (30.0,)) * (1 - chance([b], (0, 0), (25.0, 25.0)))
    mean = np.array([(p * a).sum(), (p * b).sum()]) / p.sum()
    spread = np.sqrt([(p * (a - mean[0]) ** 2).sum() / p.sum(), (p * (b - mean[1]) ** 2).sum() / p.sum()])
    assert found.residual[0] < 1e-4
    assert found.log_evidence[0] == pytest.approx(np.log(p.sum()), abs=0.02)
    assert np.all(np.abs(CENTRE + found.mean[0] - mean) < 0.05 * spread)
    assert np.sqrt(np.diagonal(found.cov[0])) == pytest.approx(spread, rel=0.06)


@pytest.mark.parametrize("yes", [True, False])
def test_two_tones_at_one_frequency_are_two_chances_to_hear(yes):
    """The same evidence whether they are counted on the grid or as an answer among places that are one."""
    belief = believe(two_ears(0.5), expected_listeners(**TOLD), [Heard((Tone(1000.0, 20.0), Tone(1000.0, 25.0)), yes)])
    p = np.exp(-0.5 * ((GRID - 22.0) / 11.0) ** 2) / 11.0 / np.sqrt(2 * np.pi)
    heard = chance([GRID], (0, 0), (20.0, 25.0))
    p = p * (heard if yes else 1 - heard)
    assert belief.log_evidence == pytest.approx(np.log(p.sum()), abs=1e-6)
    assert belief.mean([1000.0])[0] == pytest.approx(p @ GRID / p.sum(), abs=1e-3)


def test_the_chance_of_a_yes_is_that_of_a_normal_threshold():
    belief = believe(two_ears(0.6), expected_listeners(**TOLD), [])
    levels = np.array([-5.0, 15.0, 40.0])
    wanted = 0.05 + 0.92 * ndtr((levels - CENTRE[:, None]) / np.sqrt(SD[:, None] ** 2 + 16.0))
    np.testing.assert_allclose(belief.chance([1000.0, 2000.0], levels), wanted, atol=1e-6)
    assert belief.grid[[0, -1]].tolist() == [-40.0, 140.0]


@pytest.mark.parametrize("rho", [0.2, 0.8])
def test_bits_of_a_set_are_those_of_integration(rho):
    """To a thousandth of a bit, for 200 sets of two tones."""
    belief = believe(two_ears(rho), expected_listeners(**TOLD), [])
    levels = np.arange(-5.0, 60.0, 6.5)
    people = scenarios(belief, [1000.0, 2000.0], levels)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    z, w = np.stack(np.meshgrid(nodes, nodes, indexing="ij")), np.outer(weights, weights)
    t = CENTRE[:, None, None] + np.einsum("ij,jab->iab", np.linalg.cholesky(covariance(rho)), z)
    found, exact = [], []
    for i, j in combinations_with_replacement(range(2 * len(levels)), 2):
        missed = people.missed.reshape(len(people.thresholds), -1)
        yes = people.guess + people.careful * (1.0 - missed[:, i] * missed[:, j])
        found.append(people.bits(yes[:, None])[0])
        p = chance(t, (i // len(levels), j // len(levels)), (levels[i % len(levels)], levels[j % len(levels)]))
        exact.append(entropy((w * p).sum()) - (w * entropy(p)).sum())
    assert len(found) >= 200
    assert found == pytest.approx(exact, abs=1e-3)


def test_bits_of_a_set_agree_with_detection():
    """The library's own information of a set of two places, under the same normal belief and in the same units."""
    belief = believe(two_ears(0.6), expected_listeners(**TOLD), [])
    levels = (15.0, 25.0)
    people = scenarios(belief, [1000.0, 2000.0], levels)
    yes = people.guess + people.careful * (1.0 - people.missed[:, 0, 0] * people.missed[:, 1, 1])
    scaled = gf.Detection(guess=0.05, lapse=0.03)
    mean, cov = (np.array(levels) - CENTRE) / 4.0, covariance(0.6) / 16.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    z, w = (
        np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2),
        np.outer(weights, weights).ravel(),
    )
    f = mean + z @ np.linalg.cholesky(cov).T
    p = np.exp(scaled.log_prob(np.ones(len(f)), f))
    assert people.bits(yes[:, None])[0] == pytest.approx(entropy(w @ p) - w @ entropy(p), abs=1e-3)


@pytest.mark.parametrize("told", [0, 6])
@pytest.mark.parametrize("by", ["bits", "gain"])
def test_the_pair_is_nearly_the_best_of_all_pairs(told, by):
    """On a grid of 200 tones, from the first trial and some trials later."""
    person, rng = Listener([[10, 15, 20, 35, 50, 55, 60]], FREQUENCIES, **TOLD), np.random.default_rng(0)
    test = HearingTest(together=2, **TOLD)
    for _ in range(told):
        tones = test.ask()
        test.tell(tones, person.answer(tones, rng))
    places = np.geomspace(500.0, 8000.0, 8)
    people = scenarios(test.belief, places, np.arange(-10.0, 111.0, 5.0))
    score = getattr(people, by)
    each = people.missed.reshape(len(people.thresholds), -1)
    assert each.shape[1] == 200

    def worth(tones):
        missed = np.prod([people.missed[:, j, i] for j, i in tones], axis=0)
        return score((people.guess + people.careful * (1.0 - missed))[:, None])[0]

    best = max(
        score(people.guess[:, None] + people.careful[:, None] * (1.0 - each[:, i : i + 1] * each[:, i:])).max()
        for i in range(200)
    )
    assert worth(people.best(score, 2)) >= 0.98 * best


def test_a_journal_of_sets_is_gone_on_with(tmp_path):
    path = tmp_path / "ear.jsonl"
    person, rng = Listener([[20] * 7], FREQUENCIES, **TOLD), np.random.default_rng(1)
    test = HearingTest(together=3, catch=0.3, journal=path, **TOLD)
    for _ in range(5):
        tones = test.ask()
        assert 1 <= len(tones) <= 3
        test.tell(tones, person.answer(tones, rng))
    again = HearingTest(together=3, catch=0.3, journal=path, **TOLD)
    assert again.answers == test.answers
    assert again.ask() == test.ask()
    assert test.describe().startswith("After 5 trials")
    test.tell(Tone(1000.0, 40.0), heard=True)  # one tone is a set too
    assert test.answers[-1] == Heard((Tone(1000.0, 40.0, 0),), True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "a Tone, or several"),
        ([Tone(1000.0, 20.0), "louder"], "a Tone, or several"),
        ([Tone(1000.0, 20.0)] * 4, "at most 3 tones"),
        ([Tone(1000.0, 20.0), Tone(1000.0, 200.0)], "a level from"),
        (7, "a Tone, or several"),
    ],
)
def test_sets_that_are_none_are_refused(given, words):
    test = HearingTest(together=2)
    with pytest.raises(gf.InvalidInput, match=words):
        test.tell(given, heard=True)
    assert not test.answers


def test_more_than_three_tones_together_are_refused():
    with pytest.raises(gf.InvalidInput, match="at most 3"):
        HearingTest(together=4)


def three_places() -> Population:
    """One class of ears with three frequencies, as steep as impaired ones."""
    sd = np.array([12.0, 14.0, 16.0])
    cov = np.exp(-0.5 * np.subtract.outer(range(3), range(3)) ** 2 / 1.5**2) * np.outer(sd, sd)
    both = np.kron(np.eye(2), cov)
    middle = np.array([45.0, 55.0, 65.0])
    return Population(np.array([2e3, 4e3, 8e3]), np.ones(1), np.tile(middle, 2)[None], both[None], 1.0, names=("one",))


# As a test of three tones at a time went with somebody whose thresholds are 65, 65 and 90: the answers tell first what
# is not heard, and each yes may be any tone's.
TRIALS = [
    ((20, 25, 30), False), ((35, 45, 50), False), ((50, 60, 60), False), ((60, 70, 75), True), ((60, 65, 70), False),
    ((65, 60, 80), True), ((60, 75, 80), True), ((60, 65, 85), False), ((65, 70, 85), True), ((60, 65, 90), True),
    ((70, 50, 80), True), ((65, 55, 90), False), ((55, 70, 80), True), ((60, 60, 95), True),
]  # fmt: skip


@pytest.mark.parametrize("trials", [4, 9, 14])
def test_many_answers_among_three_places_settle_near_integration(trials):
    listeners, population = expected_listeners(**TOLD), three_places()
    heard = [Heard(tuple(Tone(f, float(a)) for f, a in zip((2e3, 4e3, 8e3), levels, strict=True)), yes)
             for levels, yes in TRIALS[:trials]]  # fmt: skip
    belief = believe(population, listeners, heard)  # a class that is not settled would be warned of
    step = np.arange(-20.0, 141.0, 2.0)
    t = np.stack(np.meshgrid(step, step, step, indexing="ij"))
    cov = population.curves([2e3, 4e3, 8e3], [0, 0, 0]).cov[0]
    off = t - np.array([45.0, 55.0, 65.0])[:, None, None, None]
    p = np.exp(-0.5 * np.einsum("iabc,ij,jabc->abc", off, np.linalg.inv(cov), off))
    p = p / p.sum()
    for levels, yes in TRIALS[:trials]:
        one = chance(t, (0, 1, 2), levels)
        p = p * (one if yes else 1 - one)
    assert belief.log_evidence == pytest.approx(np.log(p.sum()), abs=0.15)
    p = p / p.sum()
    mean = np.einsum("iabc,abc->i", t, p)
    sd = np.sqrt(np.einsum("iabc,abc->i", t**2, p) - mean**2)
    assert np.all(np.abs(belief.mean([2e3, 4e3, 8e3]) - mean) < 0.25 * sd)
    found = np.sqrt(np.diagonal(belief.settled.cov[0]))
    assert found == pytest.approx(sd, rel=0.25)


def test_a_belief_is_a_function_of_the_answers_alone():
    """Answer by answer or all at once, to the byte: a test that is gone on with asks for the same tones."""
    listeners, population = expected_listeners(), three_places()
    heard = [Heard((Tone(4e3, 50.0),), False)]
    heard += [Heard(tuple(Tone(f, float(a)) for f, a in zip((2e3, 8e3), levels[::2], strict=True)), yes)
              for levels, yes in TRIALS[:5]]  # fmt: skip
    heard += [Heard((Tone(2e3, 70.0),), True)]
    by_one = None
    for n in range(len(heard) + 1):
        by_one = believe(population, listeners, heard[:n], earlier=by_one)
    at_once = believe(population, listeners, heard)
    assert by_one.log_evidence == at_once.log_evidence
    np.testing.assert_array_equal(by_one.marginals([2e3, 4e3, 8e3]), at_once.marginals([2e3, 4e3, 8e3]))


# A real ear with thresholds of 65 dB up to 4 kHz, 90 and 95 above it, tested by three tones at a time.
STEEP = [
    ("8000:25 4000:15 6000:25", False), ("3000:35 6000:45 4000:40", False), ("2000:40 6000:50 3000:45", False),
    ("1000:35 1000:35 500:30", False), ("6000:75 4000:65 8000:75", True), ("500:45 1000:45 500:45", False),
    ("2000:55 4000:55 3000:55", False), ("500:55 1000:55 500:55", False), ("8000:75 8000:75 8000:75", False),
    ("3000:65 3000:65 2000:65", True), ("500:65 500:65 1000:60", True), ("6000:70 6000:70 6000:70", False),
    ("8000:85 8000:85 8000:85", False), ("6000:80 6000:80 6000:80", False), ("8000:95 8000:95 8000:95", True),
    ("4000:65 4000:65 4000:65", False), ("4000:70 4000:70 4000:70", True), ("1000:60 1000:60 1000:60", False),
    ("2000:60 2000:60 2000:60", False), ("6000:85 6000:85 6000:85", True), ("6000:80 6000:80 6000:80", True),
    ("2000:65 2000:65 2000:65", False), ("1000:65 1000:65 1000:65", True), ("6000:80 6000:80 6000:75", False),
]  # fmt: skip


def test_contradicting_answers_of_a_steep_loss_settle_where_samples_lie():
    """Means and standard deviations of 50,000 elliptical slice samples under the two classes that remain."""
    heard = [Heard(tuple(Tone(*map(float, each.split(":"))) for each in tones.split()), yes) for tones, yes in STEEP]
    test = HearingTest(spread=4.0, guess=0.02, lapse=0.02)
    belief = _believe(test.population, expected_listeners(4.0, 0.02, 0.02), heard, None, None)  # from nothing: harder
    sampled = {
        13: ((92.8, 68.9, 83.6, 65.1, 72.2, 65.3, 63.9), (4.6, 3.9, 2.5, 6.1, 4.8, 3.5, 5.3)),
        10: ((92.0, 68.9, 83.8, 63.4, 72.6, 65.8, 59.7), (4.1, 3.5, 2.6, 4.3, 5.1, 3.9, 4.6)),
    }
    assert belief.classes[list(sampled)].sum() > 0.95
    asked = [frequency for frequency, _ in belief.tested]
    assert asked == [8000.0, 4000.0, 6000.0, 3000.0, 2000.0, 1000.0, 500.0]
    for row, (mean, sd) in sampled.items():
        assert belief.settled.residual[row] < 1e-4
        mass = belief.settled.marginal[row]
        np.testing.assert_array_less(np.abs(mass @ GRID - mean), 0.3 * np.array(sd))
        np.testing.assert_allclose(np.sqrt(mass @ GRID**2 - (mass @ GRID) ** 2), sd, rtol=0.2)
