"""Shows the demonstration while it runs: on the screen of a terminal, or line by line in a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gainful.demo.survey import BUDGET, GOALS, INSTRUMENTS, NEUTRAL, SIDE, SPREAD, Comparison, Moment

__all__ = ["Lines", "Screen", "Viewer", "choose_viewer"]

Array = NDArray[np.float64]

MARKS = {instrument.label: mark for instrument, mark in zip(INSTRUMENTS, "●■◆", strict=True)}
_COLUMNS, _ROWS = 24, 12  # of characters: three maps side by side fit into 80 columns, and all of it into 24 rows
_REACH = 2.5  # how far from neutral the colours go, in pH
_BAR = 20


class Viewer(Protocol):
    """Is shown how the demonstration goes. `hold` is how long people want to see each moment, in seconds."""

    hold: float

    def watch(self, truth: Array, moment: Moment) -> None:
        """The field that is watched has come so far."""
        ...

    def advance(self, done: Sequence[Comparison]) -> None:
        """So many fields are finished."""
        ...

    def end(self) -> None: ...


def choose_viewer(fields: int) -> Viewer:
    """Standard error is for people, so that standard output is the result's."""
    console = Console(stderr=True, highlight=False)
    return Screen(fields, console) if console.is_terminal and not console.is_dumb_terminal else Lines(fields, console)


class Lines:
    """A line for every query of the watched field, and then one for every field."""

    hold = 0.0

    def __init__(self, fields: int, console: Console) -> None:
        self._fields, self._console = fields, console
        self._watching, self._told = True, 0

    def watch(self, truth: Array, moment: Moment) -> None:
        if moment.steps:
            step = moment.steps[-1]
            self.say(
                f"  {len(moment.steps):2}  {step.plan.instrument:5} at {step.plan.where}: {step.answer:12}  "
                f"spent {step.spent:2g} of {BUDGET:g}, {moment.bits:4.1f} bits, error {moment.error:.2f} pH"
            )
        else:
            self.say(f"Field {moment.seed}, query by query; the error before the first is {moment.error:.2f} pH.")
        self._watching = moment.plan is not None

    def advance(self, done: Sequence[Comparison]) -> None:
        if self._watching:  # the others have their turn when the first is finished
            return
        for i, each in enumerate(done[self._told :], start=self._told + 1):
            errors = ", ".join(f"{name} {last.error:.2f}" for name, last in each.last.items())
            self.say(f"{i:2} of {self._fields} fields surveyed. Field {each.seed}: error {errors}")
        self._told = len(done)

    def say(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, soft_wrap=True)

    def end(self) -> None: ...


class Screen:
    """Maps of the watched field with the numbers beneath, redrawn in place."""

    hold = 0.7

    def __init__(self, fields: int, console: Console) -> None:
        self._fields, self._console = fields, console
        self._done: list[Comparison] = []
        self._watched: tuple[Array, Moment] | None = None
        self._live = Live(self._picture(), console=console, auto_refresh=False)
        self._live.start(refresh=True)

    def watch(self, truth: Array, moment: Moment) -> None:
        self._watched = truth, moment
        self._live.update(self._picture(), refresh=True)

    def advance(self, done: Sequence[Comparison]) -> None:
        self._done = list(done)
        self._live.update(self._picture(), refresh=True)

    def end(self) -> None:
        self._live.stop()

    @property
    def _room_for_maps(self) -> bool:
        coloured = self._console.color_system is not None and not self._console.no_color
        return coloured and self._console.width >= 3 * _COLUMNS + 8 and self._console.height >= _ROWS + 11

    def _picture(self) -> RenderableType:
        body: list[RenderableType] = []
        if self._watched is None:
            body.append(Text("starting the first surveys …", style="dim"))
        else:
            if self._room_for_maps:
                body.append(_maps(*self._watched))
            body.append(_numbers(self._watched[1]))
        body.append(self._tally())
        title = Text("A soil survey on a 2 km square: pH, three instruments, a budget of 60", style="bold")
        return Panel(Group(*body), title=title, title_align="left", box=box.ROUNDED, width=min(self._console.width, 80))

    def _tally(self) -> Table:
        words = f"{len(self._done)} of {self._fields}"
        if self._done:
            ours, theirs = (np.array([each.last[name].error for each in self._done]) for name in GOALS)
            words += f"; beats random on {np.sum(ours < theirs)}, ratio {ours.mean() / theirs.mean():.2f}"
        table = _rows()
        table.add_row("fields", _bar(len(self._done), self._fields, words))
        return table


def _numbers(moment: Moment) -> Table:
    table = _rows()
    table.add_row("spent", _bar(moment.spent, BUDGET, f"{moment.spent:g} of {BUDGET:g}"))
    table.add_row("learned", Text(f"{moment.bits:.1f} bits expected, {len(moment.steps)} answers"))
    table.add_row("error", Text(f"{moment.error:.2f} pH"))
    if moment.steps:
        last = moment.steps[-1]
        table.add_row("last", Text(f"{MARKS[last.plan.instrument]} {last.plan.instrument} says {last.answer}"))
    else:
        table.add_row("last", Text("nothing measured yet", style="dim"))
    if moment.plan is None:
        table.add_row("next", Text("nothing: the budget is spent"))
        table.add_row("why", Text(""))
    else:
        plan = moment.plan
        table.add_row("next", Text(f"{plan.instrument} at {plan.where}, for {plan.cost:g}", style="bold"))
        table.add_row("why", Text(plan.reason))
    return table


def _rows() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", width=7)
    table.add_column(no_wrap=True, overflow="ellipsis")
    return table


def _bar(done: float, total: float, words: str) -> Table:
    row = Table.grid(padding=(0, 2))
    row.add_column(width=_BAR)
    row.add_column(no_wrap=True, overflow="ellipsis")
    row.add_row(
        ProgressBar(total=total, completed=done, width=_BAR, complete_style="blue", finished_style="blue"), words
    )
    return row


def _maps(truth: Array, moment: Moment) -> Group:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(*(Text(name, style="dim") for name in ("truth", "belief", "uncertainty")))
    table.add_row(_acidity(truth, None), _acidity(moment.mean, moment), _doubt(moment.sd, moment))
    legend = "  ".join(f"{mark} {label}" for label, mark in MARKS.items())
    return Group(table, Text(f"{legend}  ✕ next; red is acid, blue alkaline, black unknown", style="dim"))


def _acidity(values: Array, moment: Moment | None) -> Text:
    return _blocks("RdYlBu", 0.5 + (values - NEUTRAL) / (2.0 * _REACH), moment)


def _doubt(values: Array, moment: Moment) -> Text:
    return _blocks("Greys", values / SPREAD, moment)


def _blocks(colours: str, shares: Array, moment: Moment | None) -> Text:
    """A map of half blocks, two values to a character, with marks where was measured and a cross at the next place."""
    from matplotlib import colormaps

    n = len(shares)
    rows = np.linspace(n - 1, 0, 2 * _ROWS).round().astype(int)  # from the north
    columns = np.linspace(0, n - 1, _COLUMNS).round().astype(int)
    rgb = (255 * colormaps[colours](np.clip(shares, 0.0, 1.0)[np.ix_(rows, columns)])[:, :, :3]).astype(int)
    marks = _marked(moment) if moment is not None else {}
    text = Text()
    for i in range(_ROWS):
        for j in range(_COLUMNS):
            upper, lower = _colour(rgb[2 * i, j]), _colour(rgb[2 * i + 1, j])
            mark = marks.get((i, j))
            if mark is None:
                text.append("▀", style=f"{upper} on {lower}")
            else:
                ink = "#ffffff" if rgb[2 * i, j].sum() < 300 else "#000000"
                text.append(mark, style=f"bold {ink} on {upper}")
        text.append("\n" if i < _ROWS - 1 else "")
    return text


def _marked(moment: Moment) -> dict[tuple[int, int], str]:
    """Which character of the map shows which mark."""

    def cell(place: tuple[float, float]) -> tuple[int, int]:
        east, north = place[0] / SIDE, place[1] / SIDE
        return round((1.0 - north) * (_ROWS - 1)), round(east * (_COLUMNS - 1))

    marks = {cell(step.plan.place): MARKS[step.plan.instrument] for step in moment.steps}
    return marks | ({cell(moment.plan.place): "✕"} if moment.plan is not None else {})


def _colour(rgb: NDArray[np.int_]) -> str:
    return f"#{rgb[0]:02x}{rgb[1]:02x}{rgb[2]:02x}"
