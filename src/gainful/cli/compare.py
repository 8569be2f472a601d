"""`gainful compare`: strategies on a table of one's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gainful.cli.options import Dask, Fresh, LocalProcesses

if TYPE_CHECKING:
    from gainful.lab import Standing

__all__ = ["compare"]

_OUT = Path("out") / "compare"
_ENOUGH = 20  # splits


def compare(
    table: Annotated[Path, typer.Argument(metavar="TABLE.csv", help="A table with a header, in UTF-8.")],
    answer: Annotated[str, typer.Option(metavar="COLUMN", help="The column that holds the answers.")],
    strategies: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Names of gainful.strategies(), such as bald,entropy,random, and of scikit-activeml as"
            " activeml:NAME:OPTION=VALUE; if not given, a few that suit the answers.",
        ),
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Columns to predict from; all columns of numbers if not given.")
    ] = None,
    drop: Annotated[str | None, typer.Option(metavar="A,B,…", help="Columns to leave out.")] = None,
    yes: Annotated[str | None, typer.Option(metavar="CLASS", help="The class that is yes, against all others.")] = None,
    ranks: Annotated[
        bool, typer.Option("--ranks", help="The answers are ranks: ordered, at unknown distances.")
    ] = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="The answers are numbers, even if few and whole.")] = False,
    hyperparameters: Annotated[
        str,
        typer.Option(
            metavar="learned|pool",
            help="learned: from the answers so far, as in a campaign of your own. pool: once, from all answers of the"
            " pool, so that only the choice of queries differs.",
        ),
    ] = "learned",
    answers: Annotated[
        int | None, typer.Option(help="Queries of each strategy; 50 if not given, or half of a small pool.")
    ] = None,
    start: Annotated[int, typer.Option(help="Random answers before the strategies take over.")] = 5,
    pool: Annotated[int, typer.Option(help="Rows that can be asked about, at most; never more than half.")] = 200,
    test: Annotated[int, typer.Option(help="Rows that predictions are tested on, at most.")] = 300,
    splits: Annotated[int, typer.Option(help="Random splits into pool and test rows.")] = _ENOUGH,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other splits.")] = 0,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Where to; out/compare/TABLE-COLUMN if not given.")
    ] = None,
    processes: LocalProcesses = None,
    dask: Dask = None,
    fresh: Fresh = False,
) -> None:
    """Compare strategies on a table of your own: learning curves over random splits, with 95 % intervals.

    An interrupted comparison continues with the same command.
    """
    from gainful.cli.folders import require_folder
    from gainful.cli.running import carry_out
    from gainful.cli.tables import console, standings_table
    from gainful.lab import Heading, comparison, outcome, write_report

    folder = _usual_folder(table, answer) if out is None else require_folder(out)
    experiment = comparison(
        table,
        answer,
        strategies=_listed(strategies),
        inputs=_listed(inputs),
        drop=_listed(drop) or [],
        yes=yes,
        ranks=ranks,
        numbers=numbers,
        hyperparameters=hyperparameters,
        answers=answers,
        start=start,
        pool=pool,
        test=test,
        splits=splits,
    )
    common = experiment.common
    typer.echo(_description(table.name, common, splits))
    summary = carry_out(experiment, folder, seed=seed, processes=processes, dask=dask, fresh=fresh)
    lead = "Pool-based active learning on random splits of one table: 95 % intervals are over splits of this table."
    write_report(folder, Heading("Strategies compared", lead))  # before a closed pipe can end this
    found = outcome(summary.rows, common)
    for measure in dict.fromkeys(each.measure for each in found):
        console().print(standings_table([each for each in found if each.measure == measure], _seconds(summary.timings)))
    for line in _remarks(found, summary.timings):
        typer.echo(line)
    typer.echo(f"Written to {folder}: report.html, result.json, rows.csv, timings.csv, figures.")


def _usual_folder(table: Path, answer: str) -> Path:
    """out/compare/TABLE-COLUMN, where very long names are shortened, with a hash instead of the rest."""
    name = re.sub(r"[\s/\\\x00]+", "-", f"{table.stem}-{answer}")
    return _OUT / (name if len(name) <= 80 else f"{name[:70]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}")


def _seconds(timings: list[dict[str, Any]]) -> dict[str, float]:
    """For each query, by strategy."""
    found = {}
    for name in dict.fromkeys(row["strategy"] for row in timings):
        mine = [row for row in timings if row["strategy"] == name]
        found[name] = sum(row["seconds"] for row in mine) / max(1, sum(row["queries"] for row in mine))
    return found


def _remarks(found: Sequence[Standing], timings: list[dict[str, Any]]) -> list[str]:
    """What a reader should know about the tables."""
    lines = []
    first = [each for each in found if each.needed is not None]
    if all(each.needed_no_queries for each in first):
        lines.append(
            f"97.5 % of the whole pool is there with the {first[0].start} random answers of the start, before the first"
            " query: start with fewer, or judge by the mean over the curve."
        )
    missed = sum(row.get("unconverged", 0) for row in timings)
    if missed:
        lines.append(f"{missed} {'fit' if missed == 1 else 'fits'} did not converge; timings.csv says where.")
    return lines


def _listed(words: str | None) -> list[str] | None:
    return None if words is None else [word.strip() for word in words.split(",") if word.strip()]


def _description(file: str, common: Mapping[str, Any], splits: int) -> str:
    """What is compared, and on which data."""
    from gainful.lab.compare import KINDS
    from gainful.lab.csv_cells import listed, shown
    from gainful.lab.curves import FEWEST

    inputs = listed(common["inputs"])
    count = len(common["inputs"])
    lines = [
        f"{shown(file)}: {common['rows']} rows, {count} input{'s' if count > 1 else ''} ({inputs}),"
        f" {KINDS[common['kind']]} in {shown(common['answer'])}",
        *(f"  {note}" for note in common["notes"]),
        f"{splits} splits into a pool of {common['pool']} and {common['test']} test rows; {common['start']} random"
        f" answers, then {common['answers']} queries by each of {len(common['strategies'])} strategies",
        f"Hyperparameters are learned from the answers so far, every {common['refit']} answers."
        if common["hyperparameters"] == "learned"
        else "Hyperparameters are learned once, from all answers of the pool, which nobody has in advance.",
    ]
    if splits < FEWEST:
        lines.append(f"Fewer than {FEWEST} splits: too few to say what is beyond chance.")
    elif splits < _ENOUGH:
        lines.append(f"Fewer than {_ENOUGH} splits: the intervals are rough.")
    return "\n".join(lines)
