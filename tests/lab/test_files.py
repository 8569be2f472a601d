"""Data files are checked to the last byte, and their absence is explained."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import gainful as gf
from gainful.lab import FILES, DataFile, data_file


@pytest.mark.parametrize("name", FILES)
def test_the_known_files_are_what_they_were(name: str, data_folder: Path) -> None:
    if not (data_folder / name).exists():
        pytest.skip(f"{name} is not in GAINFUL_DATA")
    assert data_file(name) == data_folder / name


def test_a_missing_file_is_named_with_its_source_and_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAINFUL_DATA", str(tmp_path))
    with pytest.raises(gf.InvalidInput) as caught:
        data_file("taiwan_real_estate.csv")
    for words in ("taiwan_real_estate.csv", '"Real Estate Valuation" (id 477)', f"put it into {tmp_path}"):
        assert words in str(caught.value)
    monkeypatch.delenv("GAINFUL_DATA")
    with pytest.raises(gf.InvalidInput, match="name that folder in the environment variable GAINFUL_DATA"):
        data_file("taiwan_real_estate.csv")


def test_a_changed_file_is_refused_also_after_it_was_once_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAINFUL_DATA", str(tmp_path))
    own = DataFile("own.csv", hashlib.sha256(b"1,2\n").hexdigest(), "my own measurements")
    path = tmp_path / "own.csv"
    path.write_bytes(b"1,2\n")
    assert data_file(own) == path
    path.write_bytes(b"1,2,3\n")
    with pytest.raises(gf.InvalidInput, match=r"SHA-256.*my own measurements"):
        data_file(own)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(gf.InvalidInput, match="DataFile"):
        data_file("unheard_of.csv")
