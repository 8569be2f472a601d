"""Minimising a function: what it is given, what comes back, what is survived, and that nothing depends on timing."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import ExpectedImprovement, KnowledgeGradient
from gainful.studies import Outcome
from gainful.studies.driving import End, drive
from gainful.studies.kept import Kept

BOUNDS = [(-1.0, 2.0), (0.0, 4.0)]
SPACE = gf.Space(gf.Real("t", 20, 90, unit="°C"), gf.Categorical("metal", ["Pd", "Ni", "Cu"]), gf.Integer("n", 1, 5))
QUICK = {"model": gf.GP(gf.SE([1.0, 1.0], 4.0)), "noise": 0.01}  # all stated: nothing is learned


def bowl(x):
    return (x[0] - 0.5) ** 2 + (x[1] - 3.0) ** 2


class Watching:
    def asked(self, query):
        pass

    def answered(self, query, outcome):
        return False


def test_the_minimum_of_a_bowl_is_found_to_a_thousandth_in_sixteen_evaluations():
    result = gf.minimise(bowl, BOUNDS, 16, **(QUICK | {"noise": 0}))
    assert result.fun < 1e-3
    assert result.x == pytest.approx([0.5, 3.0], abs=0.04)
    assert result.success
    assert (result.nfev, result.nfail) == (16, 0)


def test_the_value_is_that_of_the_function_at_x_and_the_best_of_all_where_there_is_no_noise():
    result = gf.minimise(bowl, BOUNDS, 8, **(QUICK | {"noise": 0}))
    assert result.fun == bowl(result.x) == result.values.min() == result.best_so_far[-1]
    assert (result.mean, result.sd) == (result.fun, 0.0)
    assert np.array_equal(result.best_so_far, np.minimum.accumulate(result.values))
    assert np.array_equal([bowl(x) for x in result.places], result.values)
    assert len(np.unique(result.places, axis=0)) == 8


def test_with_noise_the_place_is_the_one_that_is_believed_to_be_best():
    rng = np.random.default_rng(0)
    result = gf.minimise(lambda x: bowl(x) + rng.normal(0, 0.5), BOUNDS, 12, **(QUICK | {"noise": 0.5}))
    means = result.campaign.belief.mean(result.places)
    assert result.mean == pytest.approx(means.min())
    assert np.array_equal(result.x, result.places[np.argmin(means)])
    assert 0.0 < result.sd < 0.5


def test_maximising_is_minimising_the_negative():
    low = gf.minimise(bowl, BOUNDS, 8, **QUICK)
    high = gf.minimise(lambda x: -bowl(x), BOUNDS, 8, maximise=True, **QUICK)
    assert high.places == pytest.approx(low.places, abs=1e-6)
    assert high.fun == pytest.approx(-low.fun, abs=1e-9)


def test_a_function_of_bounds_gets_an_array_and_one_of_a_space_a_dict_by_name():
    seen = []
    gf.minimise(lambda x: seen.append(x) or 1.0, BOUNDS, 3, **QUICK)
    assert all(type(x) is np.ndarray and x.shape == (2,) for x in seen)
    seen.clear()
    result = gf.minimise(lambda p: seen.append(p) or p["t"], SPACE, 4, initial=4, goal=gf.Random())
    assert all(list(p) == ["t", "metal", "n"] and p["metal"] in ("Pd", "Ni", "Cu") for p in seen)
    assert all(type(p["t"]) is float and type(p["n"]) is int for p in seen)
    assert result.x == result.place == min(seen, key=lambda p: result.campaign.belief.mean([list(p.values())])[0])
    assert "metal" in repr(result)


def test_what_the_function_does_to_its_argument_stays_with_it():
    def spoils(x):
        value = bowl(x)
        x[:] = 99.0
        return value

    assert np.array_equal(gf.minimise(spoils, BOUNDS, 6, **QUICK).places, gf.minimise(bowl, BOUNDS, 6, **QUICK).places)


def test_a_bound_of_no_width_is_kept():
    result = gf.minimise(lambda x: x[0] + x[1], [(0, 1), (3, 3)], 4, goal=gf.Random())
    assert (result.places[:, 1] == 3.0).all()


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (float("nan"), "the value is nan"),
        (np.inf, "the value is inf"),
        (None, "the value is None, which is no number"),
        ("3", "the value is 3, which is no number"),
        (True, "the value is True, which is no number"),
        ([1.0, 2.0], "which is no number"),
        (1j, "which is no number"),
        (1e200, "beyond 1e+100 in size"),
        (10**400, "the value is inf"),
    ],
)
def test_what_is_no_finite_number_is_a_failure_that_says_so(came, reason):
    outcome = Outcome.of(came)
    assert outcome.failed
    assert reason in outcome.reason


@pytest.mark.parametrize(
    "came", [3, 3.0, np.float32(3), np.array(3), np.array([3.0]), np.array([[3]]), [3], np.int8(3)]
)
def test_one_number_is_a_value_however_it_is_wrapped(came):
    assert Outcome.of(came).value == 3.0


def test_failures_are_survived_recorded_and_not_evaluated_again():
    calls = []

    def fragile(x):
        calls.append(tuple(x))
        if x[0] > 1.2:
            raise ZeroDivisionError("the mesh is empty")
        return float("nan") if x[0] < -0.8 else bowl(x)

    result = gf.minimise(fragile, BOUNDS, 15, seed=2, **QUICK)
    failed = np.isnan(result.values)
    assert result.nfail == failed.sum() > 0
    assert result.nfev == 15 == len(calls) == len(set(calls))
    assert result.success
    assert f"{result.nfail} of which failed (the last: " in result.message
    assert all((x[0] > 1.2 or x[0] < -0.8) == bad for x, bad in zip(result.places, failed, strict=True))
    notes = [entry.note for entry in result.campaign.history if entry.note]
    assert set(notes) <= {"ZeroDivisionError: the mesh is empty", "the value is nan"}


def test_a_function_that_always_fails_is_given_up_with_its_last_words():
    result = gf.minimise(lambda x: 1 / 0, BOUNDS, 40, **QUICK)
    assert not result.success
    assert (result.nfev, result.nfail, result.x, result.place) == (10, 10, None, None)
    assert np.isnan(result.fun)
    assert "the first 10 evaluations failed" in result.message
    assert "ZeroDivisionError: division by zero" in result.message
    assert "nfail: 10" in repr(result)


def test_the_same_seed_gives_the_same_result_and_another_another():
    results = [gf.minimise(bowl, BOUNDS, 8, seed=seed, **QUICK) for seed in (5, 5, 6)]
    assert np.array_equal(results[0].places, results[1].places)
    assert not np.array_equal(results[0].places, results[2].places)


def test_what_is_evaluated_does_not_depend_on_which_of_several_is_ready_first():
    def run(seed):
        rng, lock, together = np.random.default_rng(seed), threading.Lock(), threading.Barrier(3, timeout=20)

        def slow(x):
            if together.n_waiting or not together.broken:
                with contextlib.suppress(threading.BrokenBarrierError):
                    together.wait()  # the first three are here at once
                    together.abort()
            with lock:
                pause = rng.uniform(0, 0.06)
            time.sleep(pause)
            return bowl(x)

        return gf.minimise(slow, BOUNDS, 9, workers=3, **QUICK).places

    assert np.array_equal(run(1), run(2))


def test_ctrl_c_gives_what_is_known_so_far():
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return bowl(x)

    result = gf.minimise(interrupted, BOUNDS, 20, **QUICK)
    assert (result.nfev, result.success) == (4, False)
    assert result.message == "interrupted before all evaluations were made: 4"
    assert result.fun == result.values.min()


def test_the_callback_sees_the_result_so_far_and_can_stop():
    seen = []
    result = gf.minimise(bowl, BOUNDS, 20, callback=lambda r: seen.append(r.fun) or len(seen) == 6, **QUICK)
    assert result.nfev == 6
    assert not result.success
    assert result.message.startswith("stopped")
    assert seen == sorted(seen, reverse=True)


def test_an_interrupted_run_goes_on_from_its_journal_as_if_it_had_not_been(tmp_path):
    whole = gf.minimise(bowl, BOUNDS, 10, journal=tmp_path / "whole.jsonl", **QUICK)
    path = tmp_path / "parts.jsonl"
    for stop in (3, 4, 8):
        gf.minimise(bowl, BOUNDS, 10, journal=path, callback=lambda r, stop=stop: r.nfev >= stop, **QUICK)
    calls = []
    last = gf.minimise(lambda x: calls.append(x) or bowl(x), BOUNDS, 10, journal=path, **QUICK)
    assert len(calls) == 2
    assert np.array_equal(last.places, whole.places)
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    more = gf.minimise(bowl, BOUNDS, 12, journal=path, **QUICK)
    assert np.array_equal(more.places[:10], whole.places)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed 0, as it was begun, got 1"),
        ({"space": [(-1.0, 2.0), (0.0, 5.0)]}, r"space.dimensions\[1\].high 4.0, as it was begun, got 5.0"),
        ({"noise": 0.02}, r"instruments\[0\].noise 0.01, as it was begun, got 0.02"),
        ({"maximise": True}, r"goal.goal.sign -1, as it was begun, got 1"),
    ],
)
def test_a_journal_of_another_run_is_refused_with_what_has_changed(tmp_path, change, words):
    path = tmp_path / "run.jsonl"
    given = {"function": bowl, "space": BOUNDS, "evaluations": 2, "journal": path, **QUICK}
    gf.minimise(**given)
    with pytest.raises(gf.InvalidInput, match=words):
        gf.minimise(**(given | change))


def test_a_space_with_a_predicate_of_ones_own_goes_on_too(tmp_path):
    space = gf.Space(gf.Real("x", 0, 1), gf.Real("y", 0, 1)).where(dry)
    for evaluations in (2, 5):
        given = {"goal": gf.Random(), "journal": tmp_path / "dry.jsonl"}
        result = gf.minimise(lambda p: p["x"], space, evaluations, **given)
    assert result.nfev == 5
    assert (result.places.sum(axis=1) < 1).all()


def dry(X):
    return X.sum(axis=1) < 1.0


def test_an_answer_that_is_ready_before_its_turn_is_kept_and_not_evaluated_again(tmp_path):
    """Two at once: the second is done, the first hangs, the power goes."""

    class Reversed:
        def __init__(self):
            self.started, self.waits = [], 0

        def start(self, query):
            self.started.append(query)

        def wait(self):
            self.waits += 1
            if self.waits > 1:
                raise KeyboardInterrupt
            query = self.started[1]
            return query.number, Outcome(float(query.place[0]))

        def close(self):
            pass

    path = tmp_path / "run.jsonl"
    campaign = gf.Campaign(gf.Space(gf.Real("x", 0, 1)), gf.Point(0.1), gf.GP(gf.SE(0.3)), gf.Random(), journal=path)
    first = Reversed()
    with Kept(tmp_path / "kept.jsonl") as kept, pytest.raises(KeyboardInterrupt):
        drive(campaign, first, 2, 2, kept, Watching())
    assert len(campaign.pending) == 2

    class Here(Reversed):
        def wait(self):
            return self.started[0].number, Outcome(7.0)

    again, evaluator = gf.Campaign.resume(path), Here()
    with Kept(tmp_path / "kept.jsonl") as kept:
        assert drive(again, evaluator, 2, 2, kept, Watching()) is End.ALL_MADE
    assert [query.number for query in evaluator.started] == [0]
    assert [entry.answer for entry in again.history] == [7.0, first.started[1].place[0]]


def test_outcomes_whose_journal_was_taken_away_are_not_believed(tmp_path):
    path = tmp_path / "run.jsonl"
    gf.minimise(bowl, BOUNDS, 4, journal=path, workers=2, **QUICK)
    path.unlink()
    result = gf.minimise(lambda x: 5.0 + bowl(x), BOUNDS, 4, journal=path, workers=2, **QUICK)
    assert result.values.min() >= 5.0


def test_ctrl_c_does_not_wait_for_threads():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    calls = []

    def hangs(x):
        calls.append(x)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)  # which the main thread hears
        if len(calls) >= 3:
            time.sleep(20)
        return bowl(x)

    started = time.monotonic()
    try:
        result = gf.minimise(hangs, BOUNDS, 9, workers=2, **QUICK)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 15
    assert (result.success, result.nfev <= 3) == (False, True)


def test_two_runs_cannot_have_the_same_outcomes_open(tmp_path):
    with Kept(tmp_path / "kept.jsonl"), pytest.raises(gf.GainfulError, match="another run is at work there"):
        Kept(tmp_path / "kept.jsonl")


def test_processes_evaluate_at_once_and_one_that_dies_takes_nothing_else_along(tmp_path):
    """As a script: other processes have to import the function."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, gainful as gf\n"
        "def f(x):\n    if x[0] > 1.0: os._exit(7)\n    return float(x[0] ** 2 + 0 * os.getpid())\n"
        "if __name__ == '__main__':\n"
        "    r = gf.minimise(f, [(-1, 2)], 4, initial=4, goal=gf.Random(), workers=2, processes=True)\n"
        "    print(r.nfev, r.nfail, int((r.places[:, 0] > 1).sum()), r.message)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=60)
    nfev, nfail, expected = done.stdout.split()[:3]
    assert (nfev, nfail) == ("4", expected)
    assert expected != "0"
    assert "its process died" in done.stdout


def test_a_function_that_cannot_be_sent_to_other_processes_is_refused_at_once():
    with pytest.raises(gf.InvalidInput, match="function: expected a function that other processes can import"):
        gf.minimise(lambda x: 1.0, BOUNDS, 3, workers=2, processes=True)


def test_a_small_space_without_noise_ends_when_all_of_it_is_known():
    space = gf.Space(gf.Integer("n", 1, 4))
    result = gf.minimise(lambda p: (p["n"] - 3) ** 2, space, 10, noise=0, model=gf.GP(gf.SE(1.0)))
    assert (result.nfev, result.x, result.fun) == (4, {"n": 3}, 0.0)
    assert result.success
    assert result.message == "no place is left to evaluate: 4"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"function": 3}, "function: expected a function of one place"),
        ({"space": [(0, 1, 2)]}, "space: expected pairs"),
        ({"space": [(1, 0)]}, "space: expected low ≤ high"),
        ({"space": [(0, np.inf)]}, "space: expected finite bounds"),
        ({"space": "x"}, r"space: expected a Space or bounds, got x; for instance bounds \[\(low, high\)"),
        ({"space": gf.Stream(gf.Space(gf.Real("x", 0, 1)), rate=0.5)}, "space: expected"),
        ({"evaluations": 0}, "evaluations: expected a whole number, at least 1"),
        ({"workers": 0}, "workers: expected a whole number, at least 1"),
        ({"noise": -1}, "noise: expected a finite number, not negative"),
        ({"maximise": "yes"}, "maximise: expected True or False"),
        ({"callback": 3}, "callback: expected a function"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"goal": "minimice"}, "goal: expected"),
        ({"goal": "maximise"}, "goal: expected one that minimises, got .*maximise.*leave it out, or say maximise=True"),
        ({"goal": "minimise", "maximise": True}, "goal: expected one that maximises"),
        ({"goal": ExpectedImprovement()}, "goal: expected one that minimises, got .* give it sign=-1"),
        ({"goal": KnowledgeGradient(sign=-1), "maximise": True}, "goal: expected one that maximises.*sign=1"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_the_callers_words(change, words):
    with pytest.raises(gf.InvalidInput, match=words):
        gf.minimise(**({"function": bowl, "space": BOUNDS, "evaluations": 3} | change))


def test_nothing_is_left_behind_without_a_journal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gf.minimise(bowl, BOUNDS, 3, workers=2, **QUICK)
    assert list(Path.cwd().iterdir()) == []


def test_a_sum_of_six_dimensions_is_minimised_by_partitions():
    result = gf.minimise(
        lambda x: float(np.sum((x - np.linspace(0.2, 0.8, 6)) ** 2)), [(0.0, 1.0)] * 6, 24,
        model=gf.Partitions(chain=5, burn=5), noise=None, seed=0,
    )  # fmt: skip
    assert result.fun < 0.05
    assert result.campaign.belief.together.shape == (6, 6)


WORDS = [
    "expected-improvement", "log-expected-improvement", "probability-of-improvement", "upper-confidence-bound",
    "max-value-entropy", "best-place",
]  # fmt: skip


@pytest.mark.parametrize("maximise", [False, True], ids=["minimise", "maximise"])
@pytest.mark.parametrize("goal", WORDS)
@pytest.mark.filterwarnings("error")
def test_a_goal_by_name_goes_to_the_end_that_is_sought(goal, maximise):
    sign = -1 if maximise else 1
    options = QUICK | {"noise": 0, "initial": 4, "goal": goal, "maximise": maximise}
    result = gf.minimise(lambda x: sign * bowl(x), BOUNDS, 10, **options)
    assert sign * result.fun < 0.2
    believed = result.campaign.belief
    assert result.success
    assert sign * believed.mean(result.places[-1:])[0] < 0.1  # the last one is where it is believed to be best


@pytest.mark.parametrize("yes", [True, np.True_])
def test_the_callback_stops_with_any_kind_of_true(yes):
    result = gf.minimise(bowl, BOUNDS, 6, callback=lambda found: yes if found.nfev == 3 else None, **QUICK)
    assert result.nfev == 3


def test_bounds_of_scipy_are_bounds():
    from scipy.optimize import Bounds

    given, plain = Bounds([-1.0, 0.0], [2.0, 4.0]), BOUNDS
    assert np.array_equal(gf.minimise(bowl, given, 4, **QUICK).places, gf.minimise(bowl, plain, 4, **QUICK).places)


@pytest.mark.filterwarnings("ignore::gainful.errors.JitterWarning")  # equal answers make a very long wave of it
@pytest.mark.parametrize("bounds", [[(-2, 2), (-1, 3)], [(0, 1)]], ids=["two", "one"])
def test_of_a_constant_function_all_evaluations_are_made(bounds):
    result = gf.minimise(lambda x: 3.0, bounds, 12, noise=0)
    assert (result.nfev, result.message) == (12, "all evaluations were made: 12")
    assert len(np.unique(result.places, axis=0)) == 12
    width = np.ptp(bounds, axis=1)
    apart = np.linalg.norm((result.places[:, None] - result.places) / width, axis=2) + np.eye(12)
    assert apart.min() > 0.02


def test_a_file_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "kept.jsonl"
    path.write_text("notes without an end of line")
    with pytest.raises(gf.InvalidInput, match="something else"):
        Kept(path)
    assert path.read_text() == "notes without an end of line"
    path.write_text('{"outcomes": 1')  # the beginning of its own first line, cut off by a loss of power
    with Kept(path) as kept:
        assert kept == {}
