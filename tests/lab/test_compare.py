"""A comparison gives what a plain loop over the same split gives, and its numbers are what they are called."""

from __future__ import annotations

import csv
import json
import shutil
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

import gainful as gf
from gainful.campaign.learning import rounded
from gainful.lab import Experiment, Here, Processes, comparison, outcome, run
from gainful.lab.compare import _unconverged, run_split
from gainful.lab.comparison_figures import _alike, draw_comparison
from gainful.lab.comparison_statistics import Measure, Standing, standings
from gainful.lab.curves import styles
from gainful.lab.experiment import Claim
from gainful.lab.repetition import derive_seed
from gainful.lab.report import standing, verdict
from gainful.lab.statistics import Estimate
from gainful.lab.strategies_by_name import acquisition_by_name
from gainful.priors import LogNormal

SEED = derive_seed("compare", 0, '{"split":0}')


def write(path: Path, n: int = 60) -> Path:
    """Two inputs; a class, a number and a rank that depend on them."""
    rng = np.random.default_rng(0)
    X = rng.normal([5.0, -2.0], [2.0, 0.1], (n, 2))
    f = (X[:, 0] - 5.0) / 2.0 + np.sin(20.0 * (X[:, 1] + 2.0)) + 0.1 * rng.normal(size=n)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["width", "depth", "class", "value", "grade"])
        for (a, b), value in zip(X.tolist(), f.tolist(), strict=True):
            rank = 1 + int(np.searchsorted([-0.7, 0.7], value))
            writer.writerow([a, b, "up" if value > 0 else "down", 100.0 + 7.0 * value, rank])
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("table") / "mine.csv")


@pytest.fixture(scope="module")
def original(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished comparison."""
    folder = tmp_path_factory.mktemp("compared")
    assert run(small(table), folder, workers=Here()).ran == 3
    return folder


def small(table: Path, **options: object) -> Experiment:
    usual = {"strategies": ["bald", "random"], "inputs": ["width", "depth"], "hyperparameters": "pool"}
    given = usual | {"answers": 4, "splits": 3} | options
    return comparison(table, given.pop("answer", "class"), **given)


def split_of(table: Path, column: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """The first split, read and drawn by hand: pool and test places, pool and test cells."""
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    X = np.array([[float(row["width"]), float(row["depth"])] for row in rows])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.lexsort(X.T[::-1])  # a data set is sorted by its inputs
    drawn = np.random.default_rng(SEED).permutation(len(X))
    order = order[drawn]
    cells = [rows[i][column] for i in order]
    return X[order[:30]], X[order[30:]], cells[:30], cells[30:]


def one(experiment: Experiment, strategy: str) -> dict[str, np.ndarray]:
    """The columns of one strategy's curve on the first split."""
    given = {**experiment.common, **experiment.paths, "split": 0}
    rows = [row for row in run_split(given, SEED) if row["strategy"] == strategy]
    rows = [row for row in rows if "seconds" not in row]
    return {name: np.array([row[name] for row in rows]) for name in rows[0] if name != "strategy"}


# ------------------------------------------------------------------------------------------------------ the same curves


def test_several_classes_are_learned_together(tmp_path: Path) -> None:
    """Three words that follow from the inputs: with the pool's hyperparameters the last curve beats the commonest."""
    x = np.random.default_rng(1).normal(size=(60, 2))
    words = np.where(x[:, 0] > 0.4, "acid", np.where(x[:, 1] > 0.0, "base", "salt"))
    path = tmp_path / "classes.csv"
    lines = [f"{a:.5f},{b:.5f},{word}" for (a, b), word in zip(x, words, strict=True)]
    path.write_text("\n".join(["width,depth,kind", *lines]), encoding="utf-8")
    curve = one(small(path, answer="kind", pool=25, test=35, answers=3, splits=2), "bald")
    assert len(curve["accuracy"]) == 4
    assert np.all((curve["accuracy"] >= 0.0) & (curve["accuracy"] <= 1.0))
    assert curve["pool_accuracy"][0] > 0.6
    assert curve["pool_log_loss"][0] < np.log(3.0)


def test_yes_or_no_answers_give_the_curve_of_a_plain_loop(table: Path) -> None:
    pool, test, told, kept = split_of(table, "class")
    yes, true = np.array(told) == "up", np.array(kept) == "up"
    ask = gf.Binary(name="answer")
    priors = {"SE.lengthscale": LogNormal(np.log(np.sqrt(2.0)), 0.7), "SE.variance": LogNormal(2.0, 1.0)}
    gp = gf.fit(gf.GP(gf.SE(np.sqrt(2.0), 8.0), priors=priors), gf.Data().add(ask, pool, yes), starts=2).gp
    asked, accuracy, loss = list(range(5)), [], []
    while True:
        post = gp.condition(gf.Data().add(ask, pool[asked], yes[asked]))
        p = ndtr(post.mean(test) / np.sqrt(1.0 + post.variance(test)))
        accuracy.append(np.mean((p > 0.5) == true))
        loss.append(-np.mean(np.log(np.where(true, p, 1.0 - p))))
        if len(asked) == 9:
            break
        bits = gf.information(post, ask, pool)
        bits[asked] = -1.0
        asked.append(int(np.argmax(bits)))
    found = one(small(table), "bald")
    np.testing.assert_array_equal(found["answers"], [5, 6, 7, 8, 9])
    np.testing.assert_array_equal(found["accuracy"], accuracy)
    np.testing.assert_allclose(found["log_loss"], loss, rtol=1e-6)


def test_learned_hyperparameters_are_learned_from_the_answers_so_far(table: Path) -> None:
    pool, test, told, kept = split_of(table, "class")
    yes, true = np.array(told) == "up", np.array(kept) == "up"
    ask = gf.Binary(name="answer")
    priors = {"SE.lengthscale": LogNormal(np.log(np.sqrt(2.0)), 0.7), "SE.variance": LogNormal(2.0, 1.0)}
    prior = gp = gf.GP(gf.SE(np.sqrt(2.0), 8.0), priors=priors)
    asked, loss = list(range(5)), []
    while True:
        data = gf.Data().add(ask, pool[asked], yes[asked])
        if len(asked) % 5 == 0:
            fitted = gf.fit(prior, data, rng=np.random.default_rng([SEED, len(asked)]))
            gp = prior.with_theta(rounded(fitted.problem, fitted.theta)[: prior.size])  # as a campaign writes it down
        post = gp.condition(data)
        p = ndtr(post.mean(test) / np.sqrt(1.0 + post.variance(test)))
        loss.append(-np.mean(np.log(np.where(true, p, 1.0 - p))))
        if len(asked) == 12:
            break
        doubt = -np.abs(post.mean(pool) / np.sqrt(1.0 + post.variance(pool)))  # the entropy is largest where it is
        doubt[asked] = -np.inf
        asked.append(int(np.argmax(doubt)))
    found = one(small(table, strategies=["entropy", "random"], answers=7, hyperparameters="learned"), "entropy")
    np.testing.assert_allclose(found["log_loss"], loss, rtol=1e-6)


def test_numbers_give_the_curve_of_textbook_regression(table: Path) -> None:
    pool, test, told, kept = split_of(table, "value")
    y, true = np.array(told, dtype=float), np.array(kept, dtype=float)
    experiment = small(table, answer="value", strategies=["alm", "random"])
    centre, scale = y.mean(), y.std()
    lab = gf.Point(noise=0.3, name="answer")
    priors = {"SE.lengthscale": LogNormal(np.log(np.sqrt(2.0)), 0.7), "SE.variance": LogNormal(0.0, 1.0)}
    gp = gf.GP(gf.SE(np.sqrt(2.0), 1.0), gf.ConstantMean(0.0), priors=priors)
    values = gf.fit(gp, gf.Data().add(lab, pool, (y - centre) / scale), starts=2).values
    length, variance, noise = values["SE.lengthscale"], values["SE.variance"], values["answer.noise"]
    level = centre + scale * next(value for name, value in values.items() if name.startswith("ConstantMean"))

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return variance * np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2) / length**2)

    asked, rmse, density = list(range(5)), [], []
    while True:
        inverse = np.linalg.inv(kernel(pool[asked], pool[asked]) + noise**2 * np.eye(len(asked)))
        cross = kernel(test, pool[asked])
        mean = level + cross @ inverse @ (y[asked] - level)
        sd = scale * np.sqrt(variance + noise**2 - np.einsum("ij,jk,ik->i", cross, inverse, cross))
        rmse.append(np.sqrt(np.mean((mean - true) ** 2)))
        density.append(np.mean(norm.logpdf(true, mean, sd)))
        if len(asked) == 9:
            break
        cross = kernel(pool, pool[asked])
        left = variance - np.einsum("ij,jk,ik->i", cross, inverse, cross)
        left[asked] = -1.0
        asked.append(int(np.argmax(left)))
    found = one(experiment, "alm")
    np.testing.assert_allclose(found["rmse"], rmse, rtol=1e-6)
    np.testing.assert_allclose(found["log_density"], density, rtol=1e-6)


def test_ranks_are_predicted_better_than_by_always_saying_the_commonest(table: Path) -> None:
    experiment = small(table, answer="grade", ranks=True, answers=12, strategies=["bald", "random"])
    assert experiment.common["kind"] == "ranks"
    found = one(experiment, "bald")
    _, _, _, kept = split_of(table, "grade")
    ranks = np.array(kept, dtype=float)
    assert found["accuracy"][-1] > max(np.mean(ranks == r) for r in (1, 2, 3))
    assert found["rank_error"][-1] < np.mean(np.abs(ranks - np.median(ranks)))
    assert found["pool_accuracy"][0] >= found["accuracy"][-1] - 0.1


def test_the_same_rows_are_split_alike_whatever_is_compared_and_wherever_the_table_is(
    table: Path, tmp_path: Path
) -> None:
    elsewhere = Path(shutil.copy(table, tmp_path / "elsewhere.csv"))
    alone, others = small(table), small(elsewhere, strategies=["random", "entropy", "bald"])
    for name in ("bald", "random"):
        first, second = one(alone, name), one(others, name)
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[column], second[column]) for column in first)


# ------------------------------------------------------------------------------------------------------- how it is run


def test_processes_give_the_bytes_of_one_process(table: Path, original: Path, tmp_path: Path) -> None:
    summary = run(small(table), tmp_path, workers=Processes(2))
    assert (summary.ran, summary.failures) == (3, ())
    for name in ("result.json", "rows.csv"):
        assert (tmp_path / name).read_bytes() == (original / name).read_bytes()


def test_an_interrupted_comparison_ends_in_the_same_bytes(table: Path, original: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(original, tmp_path / "copy"))
    lines = (folder / "repetitions.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "repetitions.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:50])
    (folder / "result.json").unlink()
    summary = run(small(table), folder, workers=Here())
    assert (summary.kept, summary.ran) == (1, 2)
    assert (folder / "result.json").read_bytes() == (original / "result.json").read_bytes()


def test_times_are_kept_apart_from_results(table: Path, original: Path) -> None:
    result = json.loads((original / "result.json").read_text())
    assert result["common"]["sha256"] == small(table).common["sha256"]
    assert "seconds" not in (original / "rows.csv").read_text().partition("\n")[0]
    with (original / "timings.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["split"], row["strategy"], row["queries"]) for row in rows[:3]] == [
        ("0", "whole pool", "0"),
        ("0", "bald", "4"),
        ("0", "random", "4"),
    ]
    assert all(int(row["unconverged"]) >= 0 for row in rows)
    assert all(float(row["seconds"]) > 0.0 for row in rows)
    assert {path.name for path in (original / "figures").iterdir()} == {"curves.png", "differences.png"}


def test_a_changed_table_or_comparison_is_not_continued(table: Path, original: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(original, tmp_path / "copy"))
    changed = tmp_path / "mine.csv"
    changed.write_text(table.read_text().replace("up", "above"))
    with pytest.raises(gf.InvalidInput, match=r"a run with .*sha256 .*fresh"):
        run(small(changed), folder, workers=Here())
    with pytest.raises(gf.InvalidInput, match=r"strategies \['bald', 'entropy'\].*fresh"):
        run(small(table, strategies=["bald", "entropy"]), folder, workers=Here())
    more = run(small(table, splits=4), folder, workers=Here())  # more splits of the same are welcome
    assert (more.kept, more.ran) == (3, 1)


def test_the_same_table_at_another_path_continues_the_run_and_ends_in_the_same_bytes(
    table: Path, original: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(original, tmp_path / "copy"))
    lines = (folder / "repetitions.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "repetitions.jsonl").write_bytes(b"".join(lines[:2]))
    (folder / "result.json").unlink()
    (tmp_path / "elsewhere").mkdir()
    moved = Path(shutil.copy(table, tmp_path / "elsewhere" / table.name))
    summary = run(small(moved), folder, workers=Processes(2))
    assert (summary.kept, summary.ran) == (1, 2)
    assert (folder / "result.json").read_bytes() == (original / "result.json").read_bytes()


def test_a_table_that_changes_under_way_fails_and_says_so(table: Path, tmp_path: Path) -> None:
    mine = Path(shutil.copy(table, tmp_path / "mine.csv"))
    experiment = small(mine)
    mine.write_text(mine.read_text().replace("up", "above"))
    summary = run(experiment, tmp_path / "out", workers=Here())
    assert len(summary.failures) == 3
    assert "expected the table as it was, SHA-256" in summary.failures[0].reason


# ------------------------------------------------------------------------------------------------------- what is said


def test_standings_are_means_over_the_curve_and_paired_differences() -> None:
    def curve(split: int, strategy: str, values: list[float]) -> list[dict]:
        return [
            {"split": split, "strategy": strategy, "answers": 3 + n, "error": value, "pool_error": 1.0}
            for n, value in enumerate(values)
        ]

    rows = curve(0, "a", [4.0, 1.0, 1.0]) + curve(0, "b", [4.0, 3.0, 2.0])
    rows += curve(1, "a", [8.0, 1.0, 3.0]) + curve(1, "b", [8.0, 5.0, 5.0])
    rows += curve(2, "a", [4.0, 1.0, 1.02]) + curve(2, "b", [4.0, 4.0, 1.02])
    a, b = standings(rows, [Measure("error", "error", lower=True)], ["a", "b"], "b")
    assert (a.area.value, b.area.value) == pytest.approx((24.02 / 9.0, 36.02 / 9.0))
    assert a.gain.value == pytest.approx(-4.0 / 3.0)
    assert a.last_gain.value == pytest.approx(-1.0)
    assert (b.gain, b.verdict) == (None, "the reference")
    assert a.needed == (4, None, 4)  # 1.02 is within 97.5 % of 1, and 3 is not
    assert a.needed_in_words == "4 answers (2 of 3 splits)"
    assert b.needed_in_words == "not in most splits (1 of 3)"


@pytest.mark.parametrize(
    ("gains", "lower", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.0, 1.1], False, "better"),
        ([1.0, 1.1, 0.9, 1.0, 1.1], True, "worse"),
        ([1.0, -1.0, 0.1, 0.3, -0.2], True, "within chance"),
        ([1.0, 1.1, 0.9, 1.0], False, "too few splits"),
        ([0.0] * 6, False, "the same in all splits"),
        ([1.0] * 6, False, "the same in all splits"),
    ],
)
def test_a_difference_is_beyond_chance_when_its_interval_leaves_out_zero(
    gains: list[float], lower: bool, verdict: str
) -> None:
    rows = [
        {"split": i, "strategy": name, "answers": 0, "x": gain * (name == "a"), "pool_x": 1.0}
        for i, gain in enumerate(gains)
        for name in ("a", "b")
    ]
    assert standings(rows, [Measure("x", "x", lower)], ["a", "b"], "b")[0].verdict == verdict


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        ((10, 20), "15 answers"),
        ((10, 10), "10 answers"),
        ((10, 20, 30), "20 answers"),
        ((10, 11, 40, None), "25.5 answers (3 of 4 splits)"),
        ((10, None), "not in most splits (1 of 2)"),
        ((10, 11, None, None, None), "not in most splits (2 of 5)"),
    ],
)
def test_the_median_number_of_answers_is_a_median(needed: tuple[int | None, ...], words: str) -> None:
    some = Estimate(0.9, 0.8, 1.0)
    mine = Standing("a", Measure("x", "x"), "b", some, some, some, some, needed, len(needed), 10)
    assert mine.needed_in_words == words
    finite = np.median([np.inf if each is None else each for each in needed])
    assert (f"{finite:g} answers" in words) == np.isfinite(finite)
    assert mine.needed_no_queries == (set(needed) == {10})


def test_a_claim_within_chance_has_not_failed() -> None:
    words = ("better", "worse", "within chance", "too few splits")
    claims = [Claim("a is better", None, 0.0, -1.0, 1.0, word == "better", verdict=word).record for word in words]
    assert [standing(claim) for claim in claims] == ["holds", "fails", "open", "open"]
    assert [verdict(claim) for claim in claims] == ["✓ better", "✗ worse", "· within chance", "· too few splits"]
    assert "verdict" not in Claim("halves it", 0.5, 0.5, 0.4, 0.6, True).record  # published ones have none


def test_curves_that_coincide_have_one_label(tmp_path: Path) -> None:
    rows = [
        {"split": i, "strategy": name, "answers": n, "x": value + n, "pool_x": 3.0}
        for i in range(2)
        for name, value in (("alm", 1.0), ("bald", 1.0), ("random", 0.5))
        for n in range(3)
    ]
    assert _alike(rows, "x", ["alm", "bald", "random"]) == {"alm": ["alm", "bald"], "random": ["random"]}
    found = standings(rows, [Measure("x", "price $ in $")], ["alm", "bald", "random"], "random")
    assert all(path.stat().st_size > 5000 for path in draw_comparison(found, rows, "a$b_{: $", tmp_path))


def test_fits_that_do_not_converge_are_counted_and_other_warnings_are_given() -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        with _unconverged() as missed:
            for _ in range(3):
                warnings.warn("not there yet", gf.errors.ConvergenceWarning, stacklevel=1)
            warnings.warn("a larger diagonal", gf.errors.JitterWarning, stacklevel=1)
    assert missed == ["not there yet"] * 3
    assert [str(each.message) for each in given] == ["a larger diagonal"]


def test_what_a_guess_would_get_is_among_the_notes(table: Path) -> None:
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    down = np.mean([row["class"] == "down" for row in rows])
    word, share = ("no", down) if down >= 0.5 else ("yes", 1.0 - down)
    notes = small(table).common["notes"]
    assert notes[-1] == f"always saying {word} would be right for {100 * share:.1f} % of the rows"
    value = np.array([float(row["value"]) for row in rows])
    notes = small(table, answer="value").common["notes"]
    assert notes[-1] == f"always saying the mean, {value.mean():.4g}, would have an RMSE of {value.std():.4g}"
    grades = Counter(row["grade"] for row in rows)
    grade, count = grades.most_common(1)[0]
    notes = small(table, answer="grade", ranks=True).common["notes"]
    assert notes[-1] == f"always saying {grade} would be right for {100 * count / 60:.1f} % of the rows"


def test_numbers_of_numpy_are_numbers(table: Path) -> None:
    found = small(table, splits=np.int64(3), answers=np.int32(4), pool=np.uint8(20), start=np.int64(5))
    assert json.loads(json.dumps(dict(found.common)))["answers"] == 4
    assert len(found.settings(False)) == 3


def test_claims_say_who_is_better_with_an_interval(table: Path, original: Path) -> None:
    claims = json.loads((original / "result.json").read_text())["claims"]
    assert [claim["statement"] for claim in claims] == [
        "bald has a higher accuracy than random, over the whole curve",
        "bald has a lower log loss (nats) than random, over the whole curve",
    ]
    rows = run(small(table), original, workers=Here()).rows
    found = outcome(rows, small(table).common)
    assert claims[0]["measured"] == found[0].gain.value
    assert all(claim["low"] < claim["measured"] < claim["high"] for claim in claims)


def test_every_curve_has_a_look_of_its_own() -> None:
    names = [f"strategy {i}" for i in range(28)] + ["random"]
    looks = [(style.colour, style.dash) for style in styles(names, "random").values()]
    assert len(set(looks)) == len(looks)


def test_strategies_are_made_for_the_pool_with_their_options() -> None:
    pool = np.arange(6.0)[:, None]
    assert acquisition_by_name("upper-confidence-bound:beta=9", pool, 0).beta == 9
    assert np.array_equal(np.asarray(acquisition_by_name("zhu", pool, 0).reference), pool)
    committee = acquisition_by_name("qbc-vote-2", pool, 7)
    assert (committee.size, committee.seed, len(committee.over)) == (2, 7, 6)
    assert acquisition_by_name("random", pool, 0) == gf.Random()


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategies": ["bald", "entrpy"]}, "strategies: expected among bald.* got entrpy; did you mean entropy"),
        ({"strategies": ["bald"]}, "at least two different ones"),
        ({"strategies": ["bald", "bald"]}, "at least two different ones"),
        (
            {"strategies": ["bald", "bald-hyperparameters"]},
            "strategies that can ask for yes/no answers, got bald-hyper",
        ),
        ({"strategies": ["bald", "random:size"]}, "options as NAME:OPTION=VALUE, got random:size"),
        (
            {"strategies": ["bald", "zhu:colour=red"]},
            r"options that the strategy takes, got zhu:colour=red; .*\(reference, predict\)",
        ),
        (
            {"strategies": ["bald", "upper-confidence-bound:beta=abc"]},
            "options that the strategy takes, got upper-confidence-bound:beta=abc; beta: expected a finite number",
        ),
        ({"strategies": ["bald", "bald:foo=3"]}, r"options that the strategy takes, got bald:foo=3; .*foo"),
        ({"strategies": ["bald", "bald:about=nonsense"]}, "got bald:about=nonsense; about: expected one of"),
        (
            {"answer": "value", "strategies": ["bald", "zhu:predict=sure"]},
            "strategies that can ask for numbers, got zhu;",
        ),
        (
            {"strategies": "bald"},
            r"strategies: expected a list of names, got one string, 'bald'; give a list, \['bald'",
        ),
        ({"strategies": ["bald", gf.Random()]}, "strategies: expected a list of names, got"),
        ({"strategies": 3}, "strategies: expected a list of names, got 3"),
        ({"inputs": "width"}, "inputs: expected a list of names, got one string"),
        ({"drop": "width"}, "drop: expected a list of names, got one string"),
        ({"answer": 2}, "answer: expected the name of a column, got 2"),
        ({"splits": 2.0}, "splits: expected a whole number, at least 2, got 2.0"),
        ({"splits": True}, "splits: expected a whole number, at least 2, got True"),
        ({"strategies": ["bald", "activeml"]}, "strategies: expected activeml:NAME, got activeml"),
        ({"strategies": ["bald", "svm:"]}, "strategies: expected among bald"),
        (
            {"answer": "value", "strategies": ["bald", "zhu"]},
            "strategies that can ask for numbers, got zhu; ",
        ),
        (
            {"answer": "grade", "ranks": True, "strategies": ["bald", "active-svm"]},
            "can ask for ranks, got active-svm;",
        ),
        ({"hyperparameters": "guessed"}, "hyperparameters: expected one of learned, pool, got guessed"),
        (
            {"answers": 26},
            "answers: expected at most 25: the pool has 30 rows, of which 5 are told at the start, got 26",
        ),
        ({"answers": 0}, "answers: expected a whole number, at least 1, got 0"),
        ({"splits": 1}, "splits: expected a whole number, at least 2, got 1"),
        ({"start": 29}, "start: expected at most 28, for a pool of 30, got 29"),
        ({"answer": "value", "start": 1, "hyperparameters": "learned"}, "start: expected at least 2, for numbers"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(map(str, value)),
)
def test_what_cannot_be_compared_is_said_before_anything_runs(table: Path, options: dict, words: str) -> None:
    with pytest.raises(gf.InvalidInput, match=words):
        small(table, **options)
