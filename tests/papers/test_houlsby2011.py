"""The experiments of Houlsby et al. 2011: their samplers and data sets against what they should be."""

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition import BALDClosedForm
from gainful.papers.houlsby2011 import approximation, benchmarks
from gainful.papers.houlsby2011.artificial import draw
from gainful.papers.houlsby2011.benchmarks import extra_answers, load
from gainful.papers.houlsby2011.common import STRATEGIES, learning_curves
from gainful.papers.houlsby2011.preference import _drawn, cart


def test_slice_samples_have_the_moments_of_the_posterior():
    K = np.array([[4.0, 1.5], [1.5, 2.0]])
    yes = np.array([True, False])
    z = np.linspace(-12, 12, 601)
    f = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1)
    weight = np.exp(-0.5 * np.einsum("abi,ij,abj->ab", f, np.linalg.inv(K), f)) * ndtr(f[..., 0]) * ndtr(-f[..., 1])
    weight /= weight.sum()
    mean = np.einsum("ab,abi->i", weight, f)
    cov = np.einsum("ab,abi,abj->ij", weight, f, f) - np.outer(mean, mean)
    draws = approximation.slice_samples(K, yes, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(draws.T), cov, atol=0.25)


def test_the_gold_standard_is_exact_for_a_normal_belief():
    rng = np.random.default_rng(1)
    m, v = np.array([0.3, -1.0]), np.array([0.5, 2.0])
    draws = rng.normal(m, np.sqrt(0.5 * v), (40_000, 2))  # half of the variance in the draws, half given each
    prior = [gf.GP(gf.SE(1.0, each), gf.ConstantMean(c)).condition(gf.Data()) for c, each in zip(m, v, strict=True)]
    wanted = [gf.information(p, gf.Binary(), [[0.0]])[0] for p in prior]
    found, smooth = approximation._gold(draws, 0.5 * v)
    np.testing.assert_allclose(found, wanted, atol=5e-3)
    closed = [BALDClosedForm().score(p, gf.Binary(), [[0.0]])[0] for p in prior]
    np.testing.assert_allclose(smooth, closed, atol=5e-3)


def test_artificial_sets_have_the_blocks_they_are_named_for():
    middle = draw("block in the middle", np.random.default_rng(0))
    assert 0.25 < middle.yes[middle.block].mean() < 0.75
    np.testing.assert_array_equal(middle.yes[~middle.block], middle.X[~middle.block, 0] > 0)
    corner = draw("block in the corner", np.random.default_rng(0))
    assert corner.yes[corner.block].all()
    board = draw("checkerboard", np.random.default_rng(0))
    assert board.block is None
    assert 0.4 < board.yes.mean() < 0.6


def test_every_strategy_of_the_experiment_asks_each_place_once_and_is_scored():
    problem = draw("block in the middle", np.random.default_rng(2))
    rows = learning_curves(problem, list(STRATEGIES), 4, 0)
    assert len(rows) == 5 * len(STRATEGIES)
    assert all(0.0 <= row["accuracy"] <= 1.0 for row in rows)


def test_cart_is_breimans():
    X, y = cart(40_000, np.random.default_rng(0))
    assert set(np.unique(X[:, 0])) == {-1.0, 1.0}
    assert set(np.unique(X[:, 1:])) == {-1.0, 0.0, 1.0}
    up = X[:, 0] > 0
    for rows, sign, columns in ((up, 3.0, (1, 2, 3)), (~up, -3.0, (4, 5, 6))):
        design = np.column_stack([np.ones(rows.sum()), X[rows][:, 1:]])
        found = np.linalg.lstsq(design, y[rows], rcond=None)[0]
        wanted = np.zeros(10)
        wanted[[0, *columns]] = [sign, 3.0, 2.0, 1.0]
        np.testing.assert_allclose(found, wanted, atol=0.06)
        assert np.std(y[rows] - design @ found) == pytest.approx(np.sqrt(2.0), rel=0.02)


def test_pairs_prefer_the_larger_target():
    X, y = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    pairs, first = _drawn(X, y, 50, np.random.default_rng(0))
    np.testing.assert_array_equal(first, pairs[:, 0, 0] > pairs[:, 1, 0])


def test_extra_answers_count_from_where_a_curve_stays_above_the_level():
    def curve(strategy, accuracies):
        return [
            {"set": "a", "repetition": 0, "strategy": strategy, "answers": n, "accuracy": value, "full": 1.0}
            for n, value in enumerate(accuracies)
        ]

    rows = curve("BALD", [0.5, 0.98, 0.99, 1.0]) + curve("late", [0.5, 0.98, 0.9, 0.98]) + curve("never", [0.5] * 4)
    assert extra_answers(rows) == {"BALD": [0.0], "late": [2.0], "never": [3.0]}


@pytest.mark.parametrize(
    ("name", "rows", "columns", "share"),
    [
        ("australian", 690, 14, 0.445),
        ("crabs", 200, 5, 0.5),
        ("vehicle", 429, 18, 0.494),
        ("cancer", 683, 9, 0.35),
        ("wine", 178, 13, 0.331),
        ("wdbc", 569, 30, 0.373),
        ("letter E-F", 1543, 16, 0.498),
        ("letter D-P", 1608, 16, 0.501),
    ],
)
def test_tables_are_what_is_known_of_them(data_folder, name, rows, columns, share):
    X, yes = load(name)
    assert X.shape == (rows, columns)
    assert yes.mean() == pytest.approx(share, abs=0.01)
    np.testing.assert_allclose(X.std(axis=0), 1.0)


def test_isolet_takes_part_if_its_file_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("GAINFUL_DATA", str(tmp_path))
    experiment = benchmarks.EXPERIMENT
    assert "isolet" not in {setting["set"] for setting in experiment.settings(False)}
    rng = np.random.default_rng(0)
    letters = rng.integers(1, 27, 400)
    lines = [",".join([*(f"{x:.4f}" for x in rng.normal(size=617)), f"'{letter}'"]) for letter in letters]
    header = ",".join([*(f"f{i}" for i in range(1, 618)), "class"])
    file = tmp_path / "isolet.csv"
    for text in ("\n".join(lines), "\n".join([header, *lines])):
        file.write_text(text + "\n")
        X, yes = load("isolet")
        assert X.shape == (np.isin(letters, (3, 26)).sum(), 617)
        assert yes.sum() == (letters == 3).sum()
    assert sum(setting["set"] == "isolet" for setting in experiment.settings(False)) == 20
    file.write_text("1,2,3\n")
    with pytest.raises(gf.InvalidInput, match="617 numbers"):
        load("isolet")
    file.write_text("\n".join(line for line, letter in zip(lines, letters, strict=True) if letter != 3) + "\n")
    with pytest.raises(gf.InvalidInput, match="letters"):
        load("isolet")
