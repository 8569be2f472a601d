"""Lin 2022, sec. 4, Figs. 4-1 to 4-9: asking about the kernel (IG-K) beside asking about predictions (IG-P)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import mean, paired_difference, paired_ratio
from gainful.lab.table import column, pairs, select
from gainful.papers.lin2022.common import AFTER, STRATEGIES, STUDIES, curve
from gainful.papers.lin2022.drawing import draw_curves_of, draw_example, write_tables
from gainful.papers.lin2022.published import PUBLISHED

__all__ = ["EXPERIMENT"]

Array = NDArray[np.float64]

_BY = ("figure", "set")
_USUAL, _OTHER = "by program", "by structure"


def _settings(quick: bool) -> list[Setting]:
    """Every data set; in a quick run five of each figure, from all over its grid."""
    return [
        {"figure": study.figure, "set": i}
        for study in STUDIES.values()
        for i in ([37 * k % len(study.truths) for k in range(5)] if quick else range(len(study.truths)))
    ]


def _run(setting: Setting, seed: int) -> list[Row]:
    """One data set, and both strategies on it under each prior."""
    study = STUDIES[setting["figure"]]
    truth = study.truths[setting["set"]]
    y = study.drawn(truth, np.random.default_rng(seed))
    return [
        {"prior": prior, "strategy": strategy, **row}
        for prior in study.odds
        for strategy in STRATEGIES
        for row in curve(study, prior, strategy, truth, y)
    ]


def _claims(rows: list[Row]) -> list[Claim]:
    out: list[Claim] = []

    def better(figure: str, what: str, winner: str, after: tuple[int, ...] = AFTER[1:], prior: str = _USUAL) -> None:
        """The winner is ahead: errors smaller, probabilities larger; IG-P minus IG-K."""
        here = select(rows, figure=figure, prior=prior)
        sign = 1.0 if (winner == "IG-K") == (what not in ("truth", "structure")) else -1.0
        for n in after:
            found = paired_difference(*_both(here, what, n))
            printed = PUBLISHED[figure][what][1][AFTER.index(n) - 1]
            words = f"{_WORDS[what]}: {winner} ahead after {n} answers ({STUDIES[figure].title}"
            words += ")" if prior == _USUAL else f", prior {prior})"
            holds = found.low > 0.0 if sign > 0 else found.high < 0.0
            printed_as = f"{printed[0]:g} and {printed[1]:g}"
            note = f"IG-P minus IG-K over paired data sets; Fig. {figure}, IG-P and IG-K as printed."
            verdict = "not settled" if 0.0 in found else ""
            out.append(Claim(words, printed_as, found.value, found.low, found.high, holds, note, verdict))

    for figure in ("4-1", "4-2", "4-7", "4-9"):
        better(figure, "period", "IG-K")
        better(figure, "truth", "IG-K")
    line = select(rows, figure="4-3", answers=15)
    ratio = paired_ratio(*pairs(line, "parameter", {"strategy": "IG-K"}, {"strategy": "IG-P"}, by=_BY))
    words = "error of the parameter of a line: IG-K's at most half of IG-P's after 15 answers"
    out.append(Claim(words, round(0.0553 / 0.1448, 2), ratio.value, ratio.low, ratio.high, ratio.value <= 0.5))
    better("4-3", "predictive", "IG-P", (5,))
    better("4-3", "predictive", "IG-K", (15,))
    better("4-5", "predictive", "IG-P")
    near = paired_difference(*_both(select(rows, figure="4-5"), "spacing", 15))
    words = "IG-K asks nearer to earlier queries than IG-P does (squared exponential, 15 answers)"
    out.append(Claim(words, None, near.value, near.low, near.high, near.low > 0.0, "IG-P minus IG-K."))
    better("4-1", "scale", "IG-K")
    for figure in ("4-7", "4-9"):
        better(figure, "structure", "IG-K")
    better("4-8", "structure", "IG-P", (5,))
    for figure in ("4-7", "4-9"):
        better(figure, "period", "IG-K", prior=_OTHER)
        better(figure, "truth", "IG-K", prior=_OTHER)
    return [*out, *_first(rows)]


def _first(rows: list[Row]) -> list[Claim]:
    """After one answer: what tells which prior over the 155 was used."""
    out = []
    for prior in (_USUAL, _OTHER):
        for figure in ("4-7", "4-8", "4-9"):
            found = mean(column(rows, "structure", figure=figure, prior=prior, strategy="IG-K", answers=1))
            printed = PUBLISHED[figure]["structure"][0]
            says = "is what was printed" if prior == _USUAL else "is not what was printed"
            words = f"right structure after one answer, {STUDIES[figure].title}: a prior {prior} {says}"
            near = abs(found.value - printed) < 0.05
            out.append(Claim(words, printed, found.value, found.low, found.high, near == (prior == _USUAL)))
    return out


def _both(rows: list[Row], what: str, answers: int) -> tuple[Array, Array]:
    """IG-P and IG-K, paired."""
    here = select(rows, answers=answers)
    return pairs(here, what, {"strategy": "IG-P"}, {"strategy": "IG-K"}, by=_BY)


_WORDS = {
    "predictive": "squared error of predictions",
    "scale": "squared error of the scale",
    "period": "squared error of the period",
    "parameter": "squared error of the parameter",
    "noise": "squared error of the noise",
    "truth": "probability of the true program",
    "structure": "probability of the right structure",
}


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    write_tables(rows, _BY, folder / "tables.md")
    drawn = [draw_curves_of(study, rows, folder / f"{study.figure}.png") for study in STUDIES.values()]
    return [*drawn, *draw_example(folder)]


EXPERIMENT = Experiment(
    name="programs-grid",
    title="Asking about the kernel beside asking about predictions, on grids of kernel programs",
    source="Lin 2022, sec. 4, Figs. 4-1 to 4-9",
    published={
        "places": "100 on [−1, 1], the first reading at the centre, 16 in all; noise variance 0.1 unless it is unknown",
        "data sets": "one from each program of a grid, five from each of the ten lines and squared exponentials",
        "result": "IG-K finds the period, and with it the program; IG-P predicts smooth functions better",
        "not printed": "the kernels' formulas, the prior over 155 programs and the midpoints of IG-P: see the module",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
