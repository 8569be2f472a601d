"""Gardner 2018, ch. 3, Figs. 3.2 and 3.4: sixty queries by one or two tones beside the standard grid of 114.

The grid plays six octaves from 250 Hz on at nineteen levels from 80 to −10 dB HL, each once. Its threshold at
a frequency is the level above which everything would have been heard if as many were: 82.5 dB less 5 dB for each yes.
Between the octaves it is a straight line. Twenty real people of any hearing, held back, with a spread of 4 dB and no
careless answers, take the place of the one person in the text; frequencies below 500 Hz, which were not measured, are
as at 500 Hz. What is compared is the level at which the mean of f is zero, at quarter octaves.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import mean
from gainful.lab.table import select
from gainful.papers.gardner2018.ears import FILE, people
from gainful.papers.gardner2018.pairs_of_tones import follow, octave_grid, threshold_curve

__all__ = ["EXPERIMENT", "person"]

Array = NDArray[np.float64]

_PEOPLE, _QUERIES, _LOOKS = 20, 60, (1, 5, 10, 15, 20, 30, 45, 60)
_LEVELS = np.arange(80.0, -11.0, -5.0)
_LOUDEST = 60.0  # dB HL: people whose thresholds are within what both tests play
_NEAR = 5.0  # dB
_LINES = (
    ("true", "#7F7F7F", ":", "true curve"),
    ("grid", "#D55E00", "--", "grid of 114"),
    ("found", "#0072B2", "-", "one or two tones a query"),
)


def _settings(quick: bool) -> list[Setting]:
    return [{"queries": 5 if quick else _QUERIES, "repetition": r} for r in range(1 if quick else _PEOPLE)]


def person(number: int) -> tuple[Array, Array]:
    """The frequencies in octaves and the thresholds of somebody held back, always the same for a number."""
    held = people(held=True)
    fine = np.flatnonzero((held.both[:, 0] <= _LOUDEST).all(axis=1))
    chosen = np.random.default_rng(32).permutation(fine)[number]
    return np.log2(held.frequencies), held.both[chosen, 0]


def _run(setting: Setting, seed: int) -> list[Row]:
    at, thresholds = person(setting["repetition"])
    rng = np.random.default_rng(seed)

    def chance(X: Array) -> Array:
        return np.asarray(ndtr((X[:, 1] - np.interp(X[:, 0], at, thresholds)) / 4.0))

    octaves, fine = octave_grid(), octave_grid(0.25)
    played = np.array([[octave, level] for octave in octaves for level in _LEVELS])
    yes = (rng.random(len(played)) < chance(played)).reshape(len(octaves), len(_LEVELS))
    grid = np.interp(fine, octaves, _LEVELS[0] + 2.5 - 5.0 * yes.sum(axis=1))
    truth = np.interp(fine, at, thresholds)
    rows: list[Row] = [{"method": "grid", "queries": len(played), "tones": len(played),
                        "to truth": float(np.abs(grid - truth).mean())}]  # fmt: skip
    count = 0
    for number, (posterior, tones) in enumerate(follow(chance, "paired", setting["queries"], rng), start=1):
        count += len(tones)
        above = float(np.max(tones[:, 1] - np.interp(tones[:, 0], at, thresholds)))
        apart = float(12.0 * np.ptp(tones[:, 0])) if len(tones) > 1 else None
        rows.append({"method": "query", "query": number, "above": above, "semitones": apart})
        if number in _LOOKS or number == setting["queries"]:
            curve = threshold_curve(posterior, fine)
            found = {"to grid": float(np.abs(curve - grid).mean()), "to truth": float(np.abs(curve - truth).mean())}
            rows.append({"method": "paired", "queries": number, "tones": count, **found})
            if number in (1, 15, 30, 60) and setting["repetition"] == 0:
                rows += _drawn(number, fine, curve, grid, truth)
    return rows


def _drawn(number: int, fine: Array, curve: Array, grid: Array, truth: Array) -> list[Row]:
    """What the figure shows of one person: the threshold curves."""
    return [
        {
            "method": "curve",
            "queries": number,
            "octave": float(o),
            "found": float(c),
            "grid": float(g),
            "true": float(t),
        }
        for o, c, g, t in zip(fine, curve, grid, truth, strict=True)
    ]


def _claims(rows: list[Row]) -> list[Claim]:
    own = select(rows, method="paired")
    last = max(row["queries"] for row in own)
    found = {
        n: mean([row["to grid"] for row in own if row["queries"] == n]) for n in sorted({r["queries"] for r in own})
    }
    end, tones = found[last], float(np.mean([row["tones"] for row in own if row["queries"] == last]))
    grid = mean([row["to truth"] for row in select(rows, method="grid")])
    truth = mean([row["to truth"] for row in own if row["queries"] == last])
    note = (
        f"{tones:.0f} tones in {last} queries. To the true curve: {truth.value:.2f} dB, the grid of 114 tones itself "
        f"{grid.value:.2f} dB."
    )
    words = f"the threshold is within 5 dB of the standard grid's after {last} queries (mean difference, dB)"
    out = [Claim(words, "within 5 dB", end.value, end.low, end.high, end.value <= _NEAR, note)]
    early = next((n for n in found if n >= 15), last)
    words = f"and well approximated after {early} (mean difference, dB)"
    out.append(Claim(words, "at 15", found[early].value, found[early].low, found[early].high,
                     found[early].value <= 2.0 * _NEAR, "Well: within 10 dB."))  # fmt: skip
    asked = [row for row in select(rows, method="query") if row["query"] > 10]
    loud = mean([float(row["above"] > 20.0) for row in asked] or [0.0])
    words = "from the eleventh query on, the share of queries with a tone more than 20 dB above the threshold"
    out.append(Claim(words, "none well above", loud.value, loud.low, loud.high, loud.value < 0.05))
    apart = [row["semitones"] for row in select(rows, method="query") if row["semitones"] is not None]
    if apart:
        low, far, high = (float(q) for q in np.quantile(apart, [0.25, 0.5, 0.75]))
        words = "tones of a pair are apart by, in semitones, the median with the quartiles"
        out.append(Claim(words, "up to four or five", far, low, high, far <= 6.0))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    looks = sorted({row["queries"] for row in select(rows, method="curve")})
    sheet = Figure(figsize=(12, 3.6), layout="constrained")
    panels = np.atleast_1d(sheet.subplots(1, len(looks) + 1))
    for axes, number in zip(panels, looks, strict=False):
        own = select(rows, method="curve", queries=number)
        hertz = [2.0 ** row["octave"] for row in own]
        for name, colour, line, words in _LINES:
            axes.plot(hertz, [row[name] for row in own], color=colour, ls=line, lw=1.5, label=words)
        axes.set_xscale("log", base=2)
        axes.set_xticks([250, 1000, 4000], ["250", "1k", "4k"])
        axes.set(
            xlabel="frequency (Hz)", ylim=(80, -12), title=f"after {number} {'query' if number == 1 else 'queries'}"
        )
    panels[0].set_ylabel("level (dB HL)")
    own = select(rows, method="paired")
    at = sorted({row["queries"] for row in own})
    for name, colour, mark, words in (
        ("to grid", "#D55E00", "s", "to the grid's"),
        ("to truth", "#7F7F7F", "o", "to the true one"),
    ):
        values = [float(np.mean([row[name] for row in own if row["queries"] == n])) for n in at]
        panels[-1].plot(at, values, color=colour, marker=mark, ms=4, label=words)
    panels[-1].axhline(_NEAR, color="#999999", lw=0.7)
    panels[-1].set(xlabel="queries", ylabel="mean difference (dB)", title="all people", ylim=(0, None))
    panels[-1].legend(frameon=False, fontsize=8)
    if looks:
        handles, labels = panels[0].get_legend_handles_labels()
        sheet.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    sheet.savefig(folder / "agreement.png", dpi=130)
    return [folder / "agreement.png"]


EXPERIMENT = Experiment(
    name="hearing-agreement",
    title="Sixty queries beside the standard grid of 114 tones",
    source="Gardner 2018, ch. 3, Figs. 3.2 and 3.4",
    published={
        "one person": "60 queries by pairs, 119 tones: within 5 dB of the grid's threshold",
        "after 1, 15, 30, 60": "the threshold well approximated at 15, its shape at 30",
        "tones": "none well above the threshold; those of a pair up to four or five semitones apart",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=(FILE,),
)
