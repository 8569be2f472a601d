"""How often a notch can be known within thirty tones where both models are right (Gardner 2018, ch. 4; not published).

Ears are drawn from the priors of the two models of `published_models.py`: level, roughness, lengthscale and notch, and
then the curve. Their slope is what the prior is typical of, a spread of 4 dB within a factor of 1.3; the model allows
any slope, also none, and an ear without one has no threshold to find. Tones are chosen as in `hearing-notch`, by what
they tell about which model is right, after five random ones. No model here is wrong, so what is left is chance: healthy
curves that dip by themselves, and notches that look like part of a curve.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import share
from gainful.lab.table import select
from gainful.papers.gardner2018.notch import KINDS, SURE, TONES, Chance, first_sure, follow
from gainful.papers.gardner2018.published_models import OCTAVES, healthy, notched

__all__ = ["EXPERIMENT", "drawn_ear"]

Array = NDArray[np.float64]

_EARS = 40  # of each kind
_GRID = 161  # frequencies at which a curve is drawn, a thirty-second of an octave apart


def drawn_ear(kind: str, number: int) -> Chance:
    """P(heard) of an ear from the prior of its model, always the same for a number."""
    rng = np.random.default_rng([44, KINDS.index(kind), number])
    gp = (healthy if kind == "healthy" else notched)()
    octaves = np.linspace(*OCTAVES, _GRID)
    value = {name: prior.quantile(float(rng.random())) for name, prior in gp.priors.items()}
    slope = float(np.sqrt(value["Linear.variance"]))
    apart = octaves[:, None] - octaves
    K = value["SE.variance"] * np.exp(-0.5 * (apart / value["SE.lengthscale"]) ** 2)
    f = _mean(value, octaves) + np.linalg.cholesky(K + 1e-8 * np.eye(_GRID)) @ rng.standard_normal(_GRID)
    return lambda X: np.asarray(ndtr(np.interp(X[:, 0], octaves, f) + slope * X[:, 1]))


def _mean(value: dict[str, float], octaves: Array) -> Array:
    """A constant, or one with a notch."""
    if "NotchMean.depth" not in value:
        return np.full(len(octaves), value["ConstantMean.value"])
    from_centre = (octaves - value["NotchMean.centre"]) / value["NotchMean.width"]
    return np.asarray(value["NotchMean.offset"] - value["NotchMean.depth"] * np.exp(-0.5 * from_centre**2))


def _settings(quick: bool) -> list[Setting]:
    count, tones = (1, 8) if quick else (_EARS, TONES)
    return [{"kind": kind, "tones": tones, "person": p, "repetition": 0} for p in range(count) for kind in KINDS]


def _run(setting: Setting, seed: int) -> list[Row]:
    chance = drawn_ear(setting["kind"], setting["person"])
    return [dict(row) for row in follow(chance, setting["kind"], "BAMS", setting["tones"], seed)]


def _claims(rows: list[Row]) -> list[Claim]:
    out = []
    for kind in KINDS:
        here = select(rows, kind=kind)
        tones = here[0]["tones"]
        first = np.array(list(first_sure(here).values()))
        found = share(first <= tones)
        words = f"{kind}: the right model has more than {SURE:g} within {tones} tones"
        note = f"In {int((first <= tones).sum())} of {len(first)} ears; the median is {np.median(first):g} tones."
        out.append(Claim(words, None, found.value, found.low, found.high, True, note))
        wrong = share([row["probability"] < 1.0 - SURE for row in here if row["after"] == tones])
        words = f"{kind}: the wrong model has more than {SURE:g} after {tones} tones"
        note = "Beliefs that are as sure as they may be are wrong there once in a hundred times at most."
        out.append(Claim(words, None, wrong.value, wrong.low, wrong.high, wrong.low <= 1.0 - SURE, note))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = sheet.subplots()
    for kind, colour, line in zip(KINDS, ("#0072B2", "#D55E00"), ("-", (0, (5, 2))), strict=True):
        here = select(rows, kind=kind)
        first = np.array(list(first_sure(here).values()))
        at = np.array(sorted({row["after"] for row in here}))
        axes.step(
            at, [float(np.mean(first <= n)) for n in at], where="post", color=colour, ls=line, label=f"{kind} ears"
        )
    axes.set(xlabel="tones", ylabel="share of the ears", ylim=(0.0, 1.02))
    axes.set_title(f"more than {SURE:g} for the right model", fontsize=10)
    axes.legend(frameon=False, loc="upper left")
    sheet.savefig(folder / "limit.png", dpi=130)
    return [folder / "limit.png"]


EXPERIMENT = Experiment(
    name="hearing-notch-limit",
    title="Is there a notch, where the models are right?",
    source="Gardner 2018, ch. 4; these ears are not published",
    published={"BAMS": "above 0.99 in all runs before the budget ends, of other ears than these"},
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
