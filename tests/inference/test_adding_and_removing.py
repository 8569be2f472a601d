"""Data are a set: what was added can be taken away, in any number of steps and in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gainful as gf

# Some answers here contradict the model on purpose, which is said in a warning.
pytestmark = pytest.mark.filterwarnings("ignore:the readings contradict the model")

INF = np.inf
RNG = np.random.default_rng(21)
X = RNG.uniform(-2.0, 2.0, size=(16, 2))
X_NEW = np.vstack([X[:3], RNG.uniform(-3.0, 3.0, size=(5, 2))])
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
PAIRS = X.reshape(8, 2, 2)

# instrument, places, answers; the last observation of each is the one that comes and goes
CASES: dict[str, tuple[gf.Instrument, np.ndarray, Any]] = {
    "Point": (gf.Point(noise=0.2), X[:8], Y[:8]),
    "Point without noise": (gf.Point(noise=0.0), X[:8], Y[:8]),
    "Interval": (gf.Interval(noise=0.1, width=0.5), X[:8], np.column_stack([Y[:8] - 0.2, Y[:8] + 0.3])),
    "hard Interval": (gf.Interval(noise=0.0), X[:4], [(0.0, 0.3), (-INF, 0.1), (-0.5, INF), (-0.3, 0.4)]),
    "Ordinal": (gf.Ordinal(thresholds=[-0.5, 0.5], noise=0.2), X[:8], [1, 2, 3, 2, 1, 3, 2, 2]),
    "Binary": (gf.Binary(), X[:8], Y[:8] > 0.0),
    "careless Binary": (gf.Binary(guess=0.2, lapse=0.05), X[:8], [1, 0, 0, 1, 1, 0, 1, 0]),
    "Preference": (gf.Preference(noise=0.3), PAIRS[:5], [True, False, True, True, False]),
    "Detection": (gf.Detection(), PAIRS[:4], [True, False, True, True]),
    "Detection, no": (gf.Detection(), PAIRS[:4], [True, False, True, False]),
}
GP = gf.GP(gf.SE(0.9, 2.0), mean=gf.ConstantMean(0.3))
TIGHT = gf.EP(tolerance=1e-12, max_iterations=2000)


def mixture() -> gf.Data:
    return (
        gf.Data()
        .add(gf.Point(noise=0.2), X[:2], Y[:2])
        .add(gf.Detection(), PAIRS[1:3], [True, False])
        .add(gf.Interval(noise=0.1), X[6:9], [(0.0, 0.4), (-INF, 0.3), (-0.6, -0.1)])
        .add(gf.Preference(noise=0.3), PAIRS[5:7], [True, False])
        .add(gf.Ordinal(thresholds=[-0.5, 0.5], noise=0.2), X[9:11], [2, 3])
        .add(gf.Binary(guess=0.1, lapse=0.05), X[11:14], [True, False, True])
        .add(gf.Point(noise=0.4), X[14:], Y[14:])
    )


def assert_same_posterior(a: gf.Posterior, b: gf.Posterior, tolerance: float) -> None:
    assert a.converged
    assert b.converged
    sd = np.sqrt(np.maximum(b.variance(X_NEW), 1e-12))
    assert np.max(np.abs(a.mean(X_NEW) - b.mean(X_NEW)) / sd) < tolerance
    assert np.max(np.abs(a.variance(X_NEW) - b.variance(X_NEW)) / sd**2) < tolerance
    assert abs(a.log_evidence - b.log_evidence) < tolerance * max(1.0, abs(b.log_evidence))


def one_by_one(data: gf.Data) -> list[gf.Data]:
    return [
        gf.Data().add(batch.instrument, batch.X[i : i + 1], batch.answers[i : i + 1])
        for batch in data.batches
        for i in range(len(batch))
    ]


SMOOTH = [name for name in CASES if getattr(CASES[name][0], "noise", 1.0) != 0.0]  # Laplace needs noise


@pytest.mark.parametrize(
    ("name", "inference"),
    [(name, None) for name in CASES] + [(name, TIGHT) for name in CASES] + [(name, gf.Laplace()) for name in SMOOTH],
    ids=str,
)
def test_adding_then_removing_an_observation_changes_nothing(name: str, inference: object) -> None:
    instrument, places, answers = CASES[name]
    data = gf.Data().add(instrument, places[:-1], answers[:-1])
    before = GP.condition(data, inference)
    there = before.condition(gf.Data().add(instrument, places[-1:], answers[-1:]))
    assert abs(there.log_evidence - before.log_evidence) > 1e-3
    assert_same_posterior(there.without(len(data)), before, 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_an_observation_of_any_kind_can_visit_a_mixture(name: str) -> None:
    instrument, places, answers = CASES[name]
    before = GP.condition(mixture(), TIGHT)
    there = before.condition(gf.Data().add(instrument, places[-1:], answers[-1:]))
    assert_same_posterior(there.without(len(mixture())), before, 1e-9)


@pytest.mark.parametrize("index", [0, 2, 3, 5, 8, 12, 15])
def test_taking_out_an_observation_is_never_having_had_it(index: int) -> None:
    data = mixture()
    without = GP.condition(data, TIGHT).without(index)
    kept = gf.Data()
    for i, one in enumerate(one_by_one(data)):
        kept = kept if i == index else kept.join(one)
    assert len(without.data) == len(data) - 1
    assert_same_posterior(without, GP.condition(kept, TIGHT), 1e-9)


def test_several_observations_can_be_taken_out_at_once_and_counted_from_the_end() -> None:
    data = mixture()
    full = GP.condition(data, TIGHT)
    n = len(data)
    assert_same_posterior(full.without([1, n - 1, 4]), full.without(-1).without(4).without(1), 1e-9)


def test_taking_out_everything_leaves_the_prior() -> None:
    for data in (mixture(), gf.Data().add(gf.Point(noise=0.2), X, Y)):
        empty = GP.condition(data).without(list(range(len(data))))
        np.testing.assert_allclose(empty.mean(X_NEW), 0.3)
        np.testing.assert_allclose(empty.variance(X_NEW), 2.0)
        assert empty.log_evidence == 0.0


def test_taking_out_nothing_changes_nothing() -> None:
    full = GP.condition(mixture(), TIGHT)
    assert_same_posterior(full.without([]), full, 1e-9)


@pytest.mark.parametrize("observation", [16, -17, [0, 99]], ids=str)
def test_taking_out_what_is_not_there_is_refused(observation: Any) -> None:
    with pytest.raises(gf.InvalidInput, match="observations"):
        GP.condition(mixture()).without(observation)


@pytest.mark.parametrize("name", CASES)
def test_conditioning_in_two_steps_is_conditioning_at_once(name: str) -> None:
    instrument, places, answers = CASES[name]
    first = gf.Data().add(instrument, places[:3], answers[:3])
    second = gf.Data().add(instrument, places[3:], answers[3:])
    inference = None if instrument.gaussian else TIGHT
    stepwise = GP.condition(first, inference).condition(second)
    assert_same_posterior(stepwise, GP.condition(first.join(second), inference), 1e-9)


def test_conditioning_one_observation_at_a_time_is_conditioning_at_once() -> None:
    post = GP.condition(gf.Data(), TIGHT)
    for one in one_by_one(mixture()):
        post = post.condition(one)
    assert_same_posterior(post, GP.condition(mixture(), TIGHT), 1e-9)


def test_numbers_one_at_a_time_are_numbers_at_once() -> None:
    """The factor is extended, shrunk and extended again, without ever starting over."""
    data = gf.Data().add(gf.Point(noise=0.2), X[:8], Y[:8]).add(gf.Point(noise=0.01), X[8:], Y[8:])
    post = GP.condition(gf.Data())
    for one in one_by_one(data):
        post = post.condition(one)
    assert_same_posterior(post, GP.condition(data), 1e-9)
    for index in (15, 0, 7):
        post = post.without(index)
    assert_same_posterior(post, GP.condition(data.without([0, 8, 15])), 1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_the_order_of_observations_does_not_matter(seed: int, inference: object) -> None:
    parts = one_by_one(mixture())
    shuffled = gf.Data()
    for i in np.random.default_rng(seed).permutation(len(parts)):
        shuffled = shuffled.join(parts[i])
    assert_same_posterior(GP.condition(shuffled, inference), GP.condition(mixture(), inference), 1e-6)


def test_the_order_of_narrow_intervals_does_not_matter() -> None:
    lower = Y
    data = gf.Data().add(gf.Interval(noise=0.0), X, np.column_stack([lower, lower + 1e-3]))
    order = np.random.default_rng(5).permutation(len(X))
    turned = gf.Data().add(gf.Interval(noise=0.0), X[order], np.column_stack([lower, lower + 1e-3])[order])
    assert_same_posterior(GP.condition(turned), GP.condition(data), 1e-6)


def test_conditioning_leaves_the_old_posterior_as_it_was() -> None:
    before = GP.condition(mixture())
    mean, evidence = before.mean(X_NEW), before.log_evidence
    GP.log_evidence_and_gradient(before.data)
    before.condition(gf.Data().add(gf.Binary(), X[:1], [True])).without(0)
    before.without(3)
    np.testing.assert_array_equal(before.mean(X_NEW), mean)
    assert before.log_evidence == evidence


def test_data_do_not_change_when_the_arrays_they_came_from_do() -> None:
    places, answers = X[:4].copy(), Y[:4].copy()
    data = gf.Data().add(gf.Point(noise=0.2), places, answers)
    before = GP.condition(data).mean(X_NEW)
    places += 1.0
    answers *= 2.0
    np.testing.assert_array_equal(GP.condition(data).mean(X_NEW), before)


def test_a_contradiction_found_from_a_warm_start_is_looked_for_from_a_cold_one(monkeypatch):
    from gainful.inference import solving

    gp = gf.GP(gf.SE(0.5))
    post = gp.condition(gf.Data().add(gf.Point(0.0), [[0.1]], [0.3]).add(gf.Binary(), [[0.5]], [True]))
    more = gf.Data().add(gf.Binary(), [[0.7]], [False])
    cold, seen = gp.condition(post.data.join(more)), []

    def refuse(solution):
        seen.append(solution)
        if len(seen) == 1:
            raise gf.NumericalError("it seems so")

    monkeypatch.setattr(solving, "_require_consistent", refuse)
    assert post.condition(more).log_evidence == pytest.approx(cold.log_evidence, abs=1e-10)
    assert len(seen) == 2


def test_a_number_more_or_fewer_extends_or_shortens_the_factor_and_nothing_is_solved_again(monkeypatch):
    from gainful.inference import posterior

    post = GP.condition(gf.Data().add(gf.Point(noise=0.2), X, Y))
    monkeypatch.setattr(posterior, "solve", lambda *given: pytest.fail("it was solved again"))
    grown = post.condition(gf.Data().add(gf.Point(noise=0.1), X_NEW[:1], [0.3]))
    assert len(grown.without(0).data) == len(post.data)
