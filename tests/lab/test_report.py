"""The page says everything in words, needs nothing from elsewhere, and trusts no text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import toys

import gainful as gf
from gainful.lab import Here, finished_runs, run, write_report
from gainful.lab.report import unfinished_runs

VOID = {"meta", "img"}


class Balanced(HTMLParser):
    """Fails on tags that do not close in the order in which they opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_says_what_holds(tmp_path: Path) -> None:
    run(replace(toys.TOY, title="A <b>toy</b> & more"), tmp_path / "toy", workers=Here(), quick=True)
    run(toys.TOY, tmp_path / "toy", workers=Here(), fresh=True)
    run(replace(toys.TOY, name="other"), tmp_path / "other", workers=Here(), quick=True)
    text = write_report(tmp_path).read_text(encoding="utf-8")
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    assert all(link.startswith(("data:image/png;base64,", "#run-")) for link in reader.links)
    assert not re.search(r"https?:|@import|url\(", text)
    assert (text.count("✓ holds"), text.count("✗ does not hold"), text.count("<figure>")) == (2, 2, 2)
    assert text.count('<span class="quick">quick</span>') == 2  # of one run: in the list, and in its section
    assert "with &lt;angle&gt; brackets" in text
    assert "1 of 2" in text
    assert [each.folder.name for each in finished_runs(tmp_path)] == ["other", "toy"]  # and not toy.old-1


def test_runs_without_a_result_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_FAIL", "2")
    run(toys.TOY, tmp_path / "half", workers=Here(), quick=True)
    assert unfinished_runs(tmp_path) == [(tmp_path / "half", 3)]
    with pytest.raises(gf.InvalidInput, match="at least one finished run"):
        write_report(tmp_path)
