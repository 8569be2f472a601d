"""Hearing tests on real ears, small: who is tested, what is measured, and what is claimed from it."""

from __future__ import annotations

import numpy as np
import pytest

from gainful.papers.gardner2018 import ears, or_channel, real


def test_people_are_kept_apart_not_ears(data_folder):
    fitted, held = ears.people(held=False), ears.people(held=True)
    assert fitted.both.shape[1:] == held.both.shape[1:] == (2, 7)
    assert 0.17 < len(held.both) / (len(held.both) + len(fitted.both)) < 0.23
    assert held.frequencies.tolist() == [500, 1000, 2000, 3000, 4000, 6000, 8000]
    assert np.all((held.both >= -10) & (held.both <= 120))


@pytest.mark.parametrize("kind", ["any", "impaired"])
def test_listeners_are_always_the_same_and_of_their_kind(data_folder, kind):
    one, again = (real.listener("B", kind, 3)[0] for _ in range(2))
    np.testing.assert_array_equal(one.thresholds, again.thresholds)
    assert (one.spread, one.guess, one.lapse) == (again.spread, again.guess, again.lapse)
    assert 2.0 <= one.spread <= 10.0
    if kind == "impaired":
        assert np.mean([one.threshold(f) for f in (500.0, 1000.0, 2000.0, 4000.0)]) > 25.0


def test_a_small_run_measures_every_method_and_says_what_it_found(data_folder, tmp_path):
    settings = [{"setting": s, "kind": k, "tones": 4, "repetition": 0} for s in "AB" for k in ("any", "impaired")]
    rows = [{**setting, **row} for setting in settings for row in real.EXPERIMENT.run(setting, 0)]
    methods = {"gainful", "by bits", "library", "one by one", "chance", "staircase", "stopped"}
    assert {row["method"] for row in rows} == methods
    assert all(row["error"] >= 0.0 for row in rows)
    claims = real.EXPERIMENT.claims(rows)
    assert len(claims) == 16
    assert sum("staircase" in claim.statement for claim in claims) == 4
    (figure,) = real.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000


def test_two_states_are_told_apart_as_published():
    alone, both = (float(or_channel.two_states(np.array(0.05), np.array(0.65), k)) for k in (1, 2))
    assert (alone, both) == pytest.approx((0.32384, 0.50079), abs=1e-5)
    most = or_channel.two_states(np.array(0.0), np.array(0.708), 2) - or_channel.two_states(
        np.array(0.0), np.array(0.708), 1
    )
    assert most == pytest.approx(0.2826, abs=1e-4)  # by hand: 0.78453 − 0.50197


def test_what_a_pair_tells_beyond_one_tone_is_the_reference_table_and_is_drawn(tmp_path):
    settings = or_channel.EXPERIMENT.settings(True)
    rows = [{**setting, **row} for setting in settings for row in or_channel.EXPERIMENT.run(setting, 0)]
    for row in rows:
        one, table = or_channel.REFERENCE[row["mean"]]
        wanted = table[or_channel.REFERENCE_CORRELATIONS.index(row["correlation"])]
        assert (row["one"], row["more"]) == pytest.approx((one, wanted), abs=1e-4)
    assert len(rows) == 30
    assert all(claim.holds for claim in or_channel.EXPERIMENT.claims(rows))
    (figure,) = or_channel.EXPERIMENT.figures(rows, tmp_path)
    assert figure.stat().st_size > 10_000
