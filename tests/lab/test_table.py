"""Pairs are matched by what identifies them, never by position."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainful as gf
from gainful.lab.table import pairs, to_csv


@given(st.permutations(range(8)))
def test_pairs_do_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    rows = [{"costs": [k], "who": who, "x": 10.0 * k + (who == "b")} for k in range(4) for who in "ab"]
    first, second = pairs([rows[i] for i in order], "x", {"who": "a"}, {"who": "b"}, by=["costs"])
    assert (second - first).tolist() == [1.0] * 4
    assert sorted(first) == [0.0, 10.0, 20.0, 30.0]


def test_a_contender_without_its_partner_or_twice_is_refused() -> None:
    rows = [{"who": "a", "i": 0, "x": 1.0}, {"who": "b", "i": 0, "x": 1.0}, {"who": "b", "i": 1, "x": 1.0}]
    with pytest.raises(gf.InvalidInput, match="both"):
        pairs(rows, "x", {"who": "a"}, {"who": "b"}, by=["i"])
    with pytest.raises(gf.InvalidInput, match="twice"):
        pairs([*rows, rows[0]], "x", {"who": "a"}, {"who": "b"}, by=["i"])
    with pytest.raises(gf.InvalidInput, match="no rows at all"):
        pairs(rows, "x", {"who": "c"}, {"who": "d"}, by=["i"])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_csv_keeps_every_digit_and_lists_come_back_as_json(numbers: list[float]) -> None:
    text = to_csv([{"costs": [1, 2.5], "x": number} for number in numbers])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["x"]) for row in rows] == numbers
    assert json.loads(rows[0]["costs"]) == [1, 2.5]
