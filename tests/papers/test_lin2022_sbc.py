"""Calibration of kernel programs: one repetition of each kind, and claims that can hold and fail."""

from __future__ import annotations

import numpy as np
import pytest

from gainful.papers.lin2022.sbc import EXPERIMENT, ranks_of


def a_setting(**other: object) -> dict[str, object]:
    return {"queries": "given", "moves": "published", "particles": 10, "prior": "right", "size": 2, "block": 0} | other


@pytest.mark.parametrize("other", [{}, {"moves": "ours", "size": 1}, {"queries": "chosen", "size": 1}], ids=str)
def test_a_repetition_has_ranks_of_program_and_noise_and_is_the_same_again(other: dict[str, object]) -> None:
    setting = a_setting(**other)
    rows = EXPERIMENT.run(setting, 5)
    assert len(rows) == setting["size"]
    assert all(0 <= row[what] <= 19 for row in rows for what in ("program", "noise"))
    assert EXPERIMENT.run(setting, 5) == rows


def test_every_cell_is_told_of_and_wrong_ranks_are_found_out(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    settings = [s for s in EXPERIMENT.settings(False) if s["block"] < 8]
    rows = [
        s | {"program": int(rng.integers(20)), "noise": int(20 * rng.random() ** (3 if s["prior"] == "wrong" else 1))}
        for s in settings
        for _ in range(s["size"])
    ]
    claims = EXPERIMENT.claims(rows)
    assert len(claims) == 15
    assert all(claim.holds for claim in claims)
    spoilt = [row | {"program": min(row["program"], 4)} for row in rows]
    assert sum(not claim.holds for claim in EXPERIMENT.claims(spoilt)) == 7
    assert ranks_of(rows, "program").draws == 19
    assert [path.name for path in EXPERIMENT.figures(rows, tmp_path)] == ["ranks.png"]
