"""Thirteen time series with their last tenth held out, on which automatic kernel search was published.

Lloyd et al. 2014 search greedily for the sum of products that has the best score; Lin 2022 names that search as what
kernel programs come after. Printed are errors in units of the best of nine methods on each series, not the errors
themselves. One of the nine is linear regression, which has no settings and comes out the same for everybody: its error
here, divided by its printed multiple, is the best of nine. (A squared exponential alone, also among the nine and run
here too, depends on how it is fitted: the printed one has 471 on the airline's passengers, the one here 217.)

How often particles move matters more than how many there are: on the airline's passengers 32 particles with 10 sweeps
have a log evidence of −538, with 40 sweeps −527. So there are as many sweeps as five minutes or so have room for on two
cores. Short series are searched twice, and programs that may change along the series, as those of the published search
may, are searched for besides: a change takes a kernel that is no longer one of distances, and many times as long. They
win where there is one (the calls to directory assistance by 50 nats), and where there is none they are worse, since the
search has more to find. Of longer series the time is better spent on sweeps: young men without work, 367 months, have a
log evidence of −2089 by 10 sweeps with changes and −2006 by 30 without. Every search counts by its evidence.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting, data_file
from gainful.lab.table import column, select

__all__ = ["EXPERIMENT", "NAMES", "Series", "series"]

Array = NDArray[np.float64]

_FILE = "series13.csv"
NAMES = (
    "airline", "solar", "mauna", "wheat", "temperature", "internet", "calls", "radio", "gas", "sulphuric",
    "unemployment", "births", "wages",
)  # fmt: skip
_SEARCH = (1.14, 1.00, 1.40, 1.07, 1.00, 1.00, 2.98, 3.10, 1.00, 1.00, 2.16, 1.06, 3.03)
_SMOOTH = (32.2, 1.61, 1.85, 3.03, 2.72, 4.13, 22.6, 8.46, 2.85, 1.08, 1.89, 1.66, 5.35)
_LINE = (4.94, 1.07, 3.19, 1.02, 1.51, 4.93, 28.76, 4.31, 2.64, 3.52, 1.00, 1.96, 4.25)
_PARTICLES, _WANTED, _AIM = 32, 1.44, 1.25
# Up to so many readings: sweeps, searches, and whether programs that change are searched for as well; many are dear.
_EFFORT = ((250, 40, 2, True), (380, 30, 1, False), (500, 20, 1, False), (700, 10, 1, False), (1000, 4, 1, False))


class Series(NamedTuple):
    """Times and values to learn from, and those held out."""

    x: Array
    y: Array
    ahead: Array
    held: Array


@cache
def _all() -> dict[str, Series]:
    rows: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with data_file(_FILE).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            parts = rows.setdefault(row["series"], {"train": [], "test": []})
            parts[row["part"]].append((float(row["time"]), float(row["value"])))
    found = {}
    for name, parts in zip(NAMES, rows.values(), strict=True):
        (x, y), (ahead, held) = (np.array(parts[part]).T for part in ("train", "test"))
        found[name] = Series(x, y, ahead, held)
    return found


def series(name: str) -> Series:
    """One of the thirteen."""
    return _all()[name]


def _settings(quick: bool) -> list[Setting]:
    return [{"series": name} for name in (("airline",) if quick else NAMES)]


def _run(setting: Setting, seed: int) -> list[Row]:
    """Programs; and of the nine methods a squared exponential alone with its numbers learned, and a straight line."""
    given = series(setting["series"])
    data = gf.Data().add(gf.Point(name="value"), given.x[:, None], given.y)
    sweeps, searches, changing = next(each[1:] for each in _EFFORT if len(given.y) <= each[0])
    rivals = (gf.Grammar.for_data(changes=True),) if changing else ()
    moves = gf.Moves(sweeps=sweeps)
    model = gf.KernelPrograms(gf.Grammar.for_data(), _PARTICLES, moves=moves, searches=searches, rivals=rivals)
    begun = time.process_time()  # of all threads: what else the machine does is not counted
    programs = model.condition(data, rng=seed)
    took = time.process_time() - begun
    ahead = programs.forecast(given.ahead[:, None])
    held = float(np.mean((ahead.reading_low <= given.held) & (given.held <= ahead.reading_high)))
    words = {"leading": next(iter(programs.structures)), "changing": programs.probability("CP"), "held": held}
    rows: list[Row] = [{"method": "programs", **words, **_judged(programs, given)}]
    rows.append({"method": "smooth", "leading": "SE", "held": None, **_judged(_smooth(given), given)})
    rows.append({"method": "line", "leading": "LIN", "held": None, "error": _line(given)})
    return [*rows, {"method": "programs", "seconds": took}]


def _smooth(given: Series) -> gf.Belief:
    """A squared exponential and noise about the mean, by maximum likelihood."""
    level, spread = float(given.y.mean()), float(given.y.std())
    reach = float(np.ptp(given.x))
    lab = gf.Point(0.1 * spread, name="value")
    gp = gf.GP(gf.SE(0.1 * reach, spread**2), gf.ConstantMean(level))
    data = gf.Data().add(lab, given.x[:, None], given.y)
    loose = {name: gf.Flat() for name in (*gp.kernel.names, "value.noise")}
    starts = np.array([[np.log(share * reach), 2 * np.log(spread), level, np.log(noise * spread)]
                       for share in (0.02, 0.1, 0.5) for noise in (0.05, 0.3)])  # fmt: skip
    found = gf.fit(gp, data, priors=loose, starts=starts)
    return gf.Belief([found.posterior], instruments=[{each.label: each for each in found.posterior.data.instruments}])


def _line(given: Series) -> float:
    """The error ahead of a straight line by least squares."""
    slope, level = np.polyfit(given.x - given.x.mean(), given.y, 1)
    return float(np.sqrt(np.mean((level + slope * (given.ahead - given.x.mean()) - given.held) ** 2)))


def _judged(belief: gf.Belief, given: Series) -> Row:
    """The root of the mean squared error ahead, and the mean log density of what was held out."""
    X, lab = given.ahead[:, None], belief.data.instruments[0]
    logs = belief.answers(lab, X).log_prob(given.held)
    error = np.sqrt(np.mean((belief.mean(X) - given.held) ** 2))
    return {"error": float(error), "log_density": float(np.mean(logs))}


def standardised(rows: Sequence[Row]) -> dict[str, float]:
    """The error of programs in units of the best of nine methods, for each series that there is."""
    out = {}
    for name, multiple in zip(NAMES, _LINE, strict=True):
        mine = column(list(rows), "error", series=name, method="programs")
        line = column(list(rows), "error", series=name, method="line")
        if len(mine) and len(line):
            out[name] = float(mine[0] / (line[0] / multiple))
    return out


def _claims(rows: list[Row]) -> list[Claim]:
    found = standardised(rows)
    logs = np.log(list(found.values()))
    centre, error = float(logs.mean()), float(logs.std() / np.sqrt(max(len(logs) - 1, 1)))
    published = float(np.exp(np.mean([np.log(s) for n, s in zip(NAMES, _SEARCH, strict=True) if n in found])))
    ends = np.exp([centre - 1.96 * error, centre + 1.96 * error])
    words = f"geometric mean of the error over {len(found)} series, in units of the best of nine methods on each"
    each = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    note = f"Wanted at most {_WANTED}, aimed at {_AIM}. {each}."
    value = float(np.exp(centre))
    return [Claim(words, round(published, 2), value, float(ends[0]), float(ends[1]), value <= _WANTED, note)]


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    found = standardised(select(rows))
    sheet = Figure(figsize=(8.5, 0.4 * len(found) + 1.6), layout="constrained")
    axes = sheet.subplots()
    at = np.arange(len(found))[::-1]
    printed = [_SEARCH[NAMES.index(name)] for name in found]
    smooth = [_SMOOTH[NAMES.index(name)] for name in found]
    axes.plot(smooth, at, "D", color="#7F7F7F", label="squared exponential alone, published")
    axes.plot(printed, at, "s", color="#D55E00", label="automatic search, published")
    axes.plot(list(found.values()), at, "o", color="#0072B2", label=f"kernel programs, {_PARTICLES} particles")
    axes.axvline(1.0, color="#999999", lw=0.8)
    axes.set_xscale("log")
    axes.set_yticks(at, list(found))
    axes.set_xlabel("error on the last tenth, in units of the best of nine published methods")
    sheet.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    sheet.savefig(folder / "series.png", dpi=120)
    return [folder / "series.png"]


EXPERIMENT = Experiment(
    name="programs-series",
    title="Thirteen time series and their last tenth",
    source="Lin 2022, sec. 6 (future work), and Lloyd et al. 2014",
    published={
        "automatic search for accuracy": ", ".join(f"{n} {s:g}" for n, s in zip(NAMES, _SEARCH, strict=True)),
        "squared exponential alone": ", ".join(f"{n} {s:g}" for n, s in zip(NAMES, _SMOOTH, strict=True)),
        "linear regression": ", ".join(f"{n} {s:g}" for n, s in zip(NAMES, _LINE, strict=True)),
        "not printed": "the errors themselves, of which these are multiples: linear regression tells the unit",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=(_FILE,),
)
