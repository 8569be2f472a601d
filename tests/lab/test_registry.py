"""Experiments are found by their addresses, here and in other processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import toys

import gainful as gf
from gainful.lab import Experiment, address_of, find


def test_an_address_leads_back_to_the_experiment() -> None:
    assert address_of(toys.TOY) == "toys:TOY"
    assert find("toys:TOY") is toys.TOY
    assert address_of(replace(toys.TOY, title="made at run time")) == "toys:run"


def test_what_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("no-such-thing", "os.path", "toys:nothing", "toys:settings", "no_such_module:X"):
        with pytest.raises(gf.InvalidInput, match="experiment: expected"):
            find(address)
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        find("needs_more:X")


def test_a_name_must_be_fit_for_a_folder() -> None:
    with pytest.raises(gf.InvalidInput, match="small letters"):
        Experiment("../up", "", "", {}, toys.settings, toys.run, toys.claims, toys.figures)
