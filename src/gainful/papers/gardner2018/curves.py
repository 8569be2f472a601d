"""Gardner 2018, ch. 3, Fig. 3.3: how soon single tones, pairs and chance know what a listener hears.

The truth is what the model believes of a person after a hundred single tones. Two measures over a grid of six octaves
and nineteen levels: (i) as printed, the log density of the mean that was found under the truth's posterior, log N(m;
m_true, S_true + 0.01 I), which depends on that last term, since S_true is near singular; (ii) the mean log likelihood
Σ p ln q + (1 − p) ln(1 − q) of answers with the true probability p and the believed q, at most minus the entropy of p.
How many queries each method needs is read off (ii): the first at which its mean curve has come 95 % of the way from
where all begin to that limit.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import multivariate_normal

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import bootstrap
from gainful.lab.table import select
from gainful.papers.gardner2018.agreement import person
from gainful.papers.gardner2018.ears import FILE
from gainful.papers.gardner2018.pairs_of_tones import follow, octave_grid

__all__ = ["EXPERIMENT"]

Array = NDArray[np.float64]

_RUNS = {"single": 10, "paired": 10, "random": 100}
_QUERIES, _STAGE, _JITTER, _WAY = 100, 100, 0.01, 0.95
_LEVELS = np.arange(80.0, -11.0, -5.0)
_WHO = 21


def _settings(quick: bool) -> list[Setting]:
    if quick:
        return [{"method": method, "queries": 4, "repetition": 0} for method in _RUNS]
    return [{"method": m, "queries": _QUERIES, "repetition": r} for m, runs in _RUNS.items() for r in range(runs)]


@cache
def _grid() -> Array:
    return np.array([[octave, level] for octave in octave_grid() for level in _LEVELS])


@cache
def _truth() -> gf.Posterior:
    """What is believed of somebody held back after a hundred single tones."""
    at, thresholds = person(_WHO)

    def chance(X: Array) -> Array:
        return np.asarray(ndtr((X[:, 1] - np.interp(X[:, 0], at, thresholds)) / 4.0))

    *_, last = follow(chance, "single", _STAGE, np.random.default_rng(33))
    return last.posterior


def _heard(posterior: gf.Posterior, X: Array) -> Array:
    return np.asarray(ndtr(posterior.mean(X) / np.sqrt(1.0 + posterior.variance(X))))


def _measured(posterior: gf.Posterior) -> Row:
    """Both measures of a belief."""
    truth, X = _truth(), _grid()
    cov = truth.covariance(X) + _JITTER * np.eye(len(X))
    density = multivariate_normal.logpdf(posterior.mean(X), truth.mean(X), cov)
    p, q = _heard(truth, X), np.clip(_heard(posterior, X), 1e-12, 1.0 - 1e-12)
    return {"density": float(density), "likelihood": float(np.mean(p * np.log(q) + (1.0 - p) * np.log1p(-q)))}


def _run(setting: Setting, seed: int) -> list[Row]:
    def chance(X: Array) -> Array:
        return _heard(_truth(), X)

    asked = follow(chance, setting["method"], setting["queries"], np.random.default_rng(seed))
    rows: list[Row] = [
        {"query": number, "tones": len(tones), **_measured(posterior)}
        for number, (posterior, tones) in enumerate(asked, start=1)
    ]
    best = _measured(_truth())
    return [*rows, {"query": None, "best": best["likelihood"], "best density": best["density"]}]


def _curves(rows: list[Row], method: str, measure: str) -> Array:
    """Of every run, (R, Q)."""
    own = [row for row in select(rows, method=method) if row["query"] is not None]
    runs = sorted({row["repetition"] for row in own})
    return np.array([[row[measure] for row in select(own, repetition=r)] for r in runs])


def _needed(curves: Array, target: float) -> float:
    """The first query at which the mean curve is there; one more than there are where it never is."""
    there = np.flatnonzero(curves.mean(axis=0) >= target)
    return float(there[0] + 1 if len(there) else curves.shape[1] + 1)


def _claims(rows: list[Row]) -> list[Claim]:
    best = next(row["best"] for row in rows if row["query"] is None)
    curves = {method: _curves(rows, method, "likelihood") for method in _RUNS}
    begin = float(np.mean([each[:, 0].mean() for each in curves.values()]))
    target = begin + _WAY * (best - begin)
    needed = {method: _needed(each, target) for method, each in curves.items()}
    most = curves["random"].shape[1]

    def against(other: str) -> tuple[float, float, float]:
        """Paired over the other's, resampling runs of both."""
        rng = np.random.default_rng(0)
        ratios = []
        for _ in range(400):
            a, b = (_needed(each[rng.integers(len(each), size=len(each))], target) for each in
                    (curves["paired"], curves[other]))  # fmt: skip
            ratios.append(a / b)
        low, high = np.quantile(ratios, [0.025, 0.975])
        return needed["paired"] / needed[other], float(low), float(high)

    note = ", ".join(f"{method} {n:.0f}" if n <= most else f"{method} more than {most}" for method, n in needed.items())
    note = f"Queries to {_WAY:.0%} of the way: {note}."
    half, low, high = against("single")
    out = [Claim("pairs need this share of the queries of single tones", 0.5, half, low, high, half <= 0.6, note)]
    few, low, high = against("random")
    words = "and this share of those of random tones (85 % fewer were printed)"
    out.append(Claim(words, 0.15, few, low, high, few <= 0.2, "A lower bound of the saving where chance never came."))
    end = {m: each[:, min(89, each.shape[1] - 1)] for m, each in curves.items()}
    gap = bootstrap(lambda x: best - np.mean(x, axis=-1), end["paired"])
    words = "pairs are this far from the truth's own likelihood after 90 queries (nats an answer)"
    out.append(Claim(words, "match the truth at 80 to 90", gap.value, gap.low, gap.high, gap.value < 0.02))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    looks = {"paired": ("#0072B2", "-"), "single": ("#D55E00", "--"), "random": ("#7F7F7F", ":")}
    sheet = Figure(figsize=(10, 3.8), layout="constrained")
    panels = sheet.subplots(1, 2)
    for axes, measure, best, label in zip(
        panels, ("likelihood", "density"), ("best", "best density"),
        ("mean log likelihood of an answer (nats)", "log density of the mean found, under the truth"), strict=True,
    ):  # fmt: skip
        for method, (colour, line) in looks.items():
            curves = _curves(rows, method, measure)
            middle, error = curves.mean(axis=0), curves.std(axis=0) / np.sqrt(max(len(curves), 1))
            at = np.arange(1, len(middle) + 1)
            axes.plot(at, middle, color=colour, ls=line, lw=1.6, label=f"{method} ({len(curves)} runs)")
            axes.fill_between(at, middle - error, middle + error, color=colour, alpha=0.2, lw=0)
        limit = next(row[best] for row in rows if row["query"] is None)
        axes.axhline(limit, color="#333333", lw=0.8, ls=(0, (4, 2)), label="the truth itself")
        axes.set(xlabel="queries", ylabel=label)
        if measure == "density":
            low = float(np.quantile(_curves(rows, "paired", measure), 0.1))
            axes.set_ylim(low, limit + 0.1 * (limit - low))
    panels[0].legend(frameon=False, fontsize=8, loc="lower right")
    sheet.savefig(folder / "curves.png", dpi=130)
    return [folder / "curves.png"]


EXPERIMENT = Experiment(
    name="hearing-curves",
    title="How soon tones, pairs and chance know what is heard",
    source="Gardner 2018, ch. 3, Fig. 3.3",
    published={
        "runs": "10 of single and paired, 100 of random",
        "claims": "paired matches the truth at 80 to 90 queries, half those of single, 85 % fewer than random",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=(FILE,),
)
