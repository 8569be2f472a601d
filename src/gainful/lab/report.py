"""Writes finished runs as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from gainful.errors import InvalidInput
from gainful.lab.journal import JOURNAL, read_journal, write_atomically
from gainful.lab.runner import FIGURES, RESULT, RUN

__all__ = [
    "Heading",
    "Run",
    "finished_runs",
    "interval",
    "number",
    "page",
    "standing",
    "unfinished_runs",
    "verdict",
    "write_report",
]

_SIGNS = {"holds": "✓", "fails": "✗", "open": "·"}


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, what result.json says, and what run.json says about how it went."""

    folder: Path
    result: Mapping[str, Any]
    record: Mapping[str, Any]

    @property
    def figures(self) -> list[Path]:
        return sorted((self.folder / FIGURES).glob("*.png"))


def finished_runs(folder: str | Path) -> list[Run]:
    """The runs in a folder and below it that have a result, by name; those set aside by `fresh=True` are left out."""
    found = []
    for path in _below(Path(folder), RESULT):
        record = path.with_name(RUN)
        found.append(Run(path.parent, _read(path), _read(record) if record.exists() else {}))
    return sorted(found, key=lambda each: (each.result["experiment"], str(each.folder)))


def unfinished_runs(folder: str | Path) -> list[tuple[Path, int]]:
    """Folders of runs that have no result yet, and how many repetitions each has finished."""
    journals = _below(Path(folder), JOURNAL)
    return [(path.parent, len(read_journal(path)[1])) for path in journals if not path.with_name(RESULT).exists()]


def write_report(folder: str | Path, heading: Heading | None = None) -> Path:
    """Write report.html about all finished runs of a folder into that folder; its path."""
    runs = finished_runs(folder)
    if not runs:
        raise InvalidInput("folder", "at least one finished run in it", str(folder), "run an experiment into it first")
    path = Path(folder) / "report.html"
    write_atomically(path, page(runs, heading or Heading()).encode())
    return path


def number(value: object) -> str:
    """A number with four digits, words as they are, nothing as a dash.

    >>> number(0.123456), number("fewer"), number(None)
    ('0.1235', 'fewer', '–')
    """
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def interval(claim: Mapping[str, Any]) -> str:
    """The ends of the 95 % interval; a dash where there is none.

    >>> interval({"low": 0.5, "high": 1.25}), interval({"low": None, "high": None})
    ('0.5 to 1.25', '–')
    """
    if claim["low"] is None and claim["high"] is None:
        return "–"
    return f"{number(claim['low'])} to {number(claim['high'])}"


def verdict(claim: Mapping[str, Any]) -> str:
    """A sign and words: colour alone would be lost on some eyes, and on paper.

    >>> verdict({"holds": True}), verdict({"holds": False}), verdict({"holds": False, "verdict": "within chance"})
    ('✓ holds', '✗ does not hold', '· within chance')
    """
    words = claim.get("verdict") or ("holds" if claim["holds"] else "does not hold")
    return f"{_SIGNS[standing(claim)]} {words}"


def standing(claim: Mapping[str, Any]) -> str:
    """Whether a claim "holds" or "fails", or is "open": neither.

    >>> standing({"holds": True}), standing({"holds": False, "verdict": "worse"}), standing({"holds": False})
    ('holds', 'fails', 'fails')
    """
    if claim["holds"]:
        return "holds"
    return "fails" if claim.get("verdict", "worse") == "worse" else "open"


@dataclass(frozen=True)
class Heading:
    """What a page says first."""

    title: str = "Published experiments, run again"
    lead: str = "What was published, what gainful measured with its 95 % interval, and whether the claim holds."


def page(runs: Sequence[Run], heading: Heading) -> str:
    """The whole page."""
    contents = "".join(_summary_row(i, each) for i, each in enumerate(runs))
    sections = "\n".join(_section(i, each) for i, each in enumerate(runs))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(heading.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(heading.title)}</h1>
<p class="lead">{escape(heading.lead)}</p>
<table>
<thead><tr><th>Experiment</th><th>Source</th><th class="n">Repetitions</th><th>Claims that hold</th></tr></thead>
<tbody>{contents}</tbody>
</table>
{sections}
</main>
</body>
</html>
"""


def _summary_row(index: int, run: Run) -> str:
    result = run.result
    holding = sum(claim["holds"] for claim in result["claims"])
    total = len(result["claims"])
    words = Counter(claim["verdict"] for claim in result["claims"] if claim.get("verdict"))
    counted = ", ".join(f"{count} {word}" for word, count in words.items()) or f"{holding} of {total}"
    kind = "open" if words else "holds" if holding == total else "fails"
    return (
        f'<tr><td><a href="#run-{index}">{escape(result["title"])}</a>{_quick(run)}</td>'
        f'<td>{escape(result["source"])}</td><td class="n">{result["repetitions"]}</td>'
        f'<td class="{kind}">{counted}</td></tr>'
    )


def _section(index: int, run: Run) -> str:
    result = run.result
    printed = any(claim["published"] is not None for claim in result["claims"]) or not result.get("common")
    claims = "".join(_claim_row(claim, printed) for claim in result["claims"])
    published = '<th class="n">Published</th>' if printed else ""
    figures = "".join(_figure(path) for path in run.figures)
    return f"""<section id="run-{index}">
<h2>{escape(result["title"])}{_quick(run)}</h2>
<p class="source">{escape(result["source"])}</p>
<h3>Claims</h3>
<table>
<thead><tr><th>Claim</th>{published}<th class="n">Measured</th><th class="n">95 % interval</th>
<th></th></tr></thead>
<tbody>{claims}</tbody>
</table>
{figures}
{_details("What was published", result["published"])}{_details("What was run", result.get("common", {}))}
<p class="how">{escape(_how(run))}</p>
</section>"""


def _details(title: str, values: Mapping[str, Any]) -> str:
    if not values:
        return ""
    words = {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in values.items()}
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(number(value))}</dd>" for name, value in words.items())
    return f"<details><summary>{title}</summary><dl>{listed}</dl></details>"


def _claim_row(claim: Mapping[str, Any], printed: bool) -> str:
    note = f'<div class="note">{escape(claim["note"])}</div>' if claim["note"] else ""
    published = f'<td class="n">{escape(number(claim["published"]))}</td>' if printed else ""
    return (
        f"<tr><td>{escape(claim['statement'])}{note}</td>{published}"
        f'<td class="n">{number(claim["measured"])}</td><td class="n">{interval(claim)}</td>'
        f'<td class="{standing(claim)}">{verdict(claim)}</td></tr>'
    )


def _figure(path: Path) -> str:
    caption = escape(path.stem.replace("_", " ").replace("-", " "))
    content = base64.b64encode(path.read_bytes()).decode()
    image = f'<img alt="{caption}" src="data:image/png;base64,{content}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _quick(run: Run) -> str:
    return ' <span class="quick">quick</span>' if run.result["quick"] else ""


def _how(run: Run) -> str:
    result, record = run.result, run.record
    words = [f"gainful {result['gainful']}", f"seed {result['seed']}", f"{result['repetitions']} repetitions"]
    if record:
        words.append(f"{_duration(record['seconds of all repetitions'])} of computing, {record['where']}")
    return "; ".join(words) + f". All numbers: {result['table']['file']}, {result['table']['rows']} rows."


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _below(folder: Path, name: str) -> Iterable[Path]:
    return (path for path in sorted(folder.rglob(name)) if ".old-" not in path.relative_to(folder).as_posix())


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


# Blue and vermillion of Okabe & Ito (2008), the latter darkened for text.
_STYLE = """
:root { --ink: #1d2430; --soft: #5b6472; --line: #dde1e7; --holds: #00588a; --fails: #a84300; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 3rem 1.5rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; margin: 0; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
section { margin-top: 3.5rem; padding-top: 2rem; border-top: 1px solid var(--line); }
.lead, .source, .how, .note, figcaption { color: var(--soft); }
.lead { margin: 0 0 2rem; font-size: 1.05rem; }
.source { margin: .2rem 0 0; }
.how, .note, figcaption, summary { font-size: .875rem; }
table { width: 100%; border-collapse: collapse; font-size: .95rem; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); }
th, td { padding: .55rem .9rem .55rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
td.holds, td.fails, td.open { font-weight: 600; white-space: nowrap; }
td.holds { color: var(--holds); }
td.fails { color: var(--fails); }
td.open { color: var(--soft); }
.quick { font-size: .75rem; font-weight: 600; padding: .1rem .45rem; border-radius: .6rem; background: #eef1f5;
  color: var(--soft); vertical-align: .1em; }
a { color: #0072b2; }
figure { margin: 2rem 0 1rem; }
img { max-width: 100%; height: auto; display: block; }
details { margin-top: 1.5rem; }
summary { cursor: pointer; color: var(--soft); }
dl { display: grid; grid-template-columns: minmax(10rem, max-content) 1fr; gap: .3rem 1.5rem; font-size: .9rem; }
dt { color: var(--soft); }
dd { margin: 0; }
@media (max-width: 40rem) { table { display: block; overflow-x: auto; } }
@media print { section { break-inside: avoid; } main { padding: 0; max-width: none; } }
"""
