"""Fletcher 2022, sec. 6.3: campaigns over the rows of a real table, and the error on rows that were set aside.

The text gives costs, budget and the share of test rows, but not the lengthscale, noise or interval width that were used
after normalising everything to 0..1. `MODELS` are the defaults of its code (noise 0.1, intervals six noises wide), the
same with less noise, and one whose hyperparameters are learned as the campaign goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Row, Setting
from gainful.lab.statistics import mean
from gainful.lab.table import column, select
from gainful.papers.fletcher2022.common import COLOURS, STRATEGIES, answering, ratio_claim

__all__ = ["MODELS", "claims", "figures", "learning_curves", "settings"]

Array = NDArray[np.float64]

COSTS, BUDGET = (10.0, 7.0, 3.0), 200.0
CONTENDERS = ("random", "random type", "cost-adjusted")


@dataclass(frozen=True)
class Model:
    """Noise (an interval is six of them wide), and how many answers lie between two fits; None: never, length 0.2."""

    noise: float
    refit: int | None = None

    @property
    def gp(self) -> gf.GP:
        if self.refit is None:
            return gf.GP(gf.SE(0.2))
        # The instruments are what they are; of the function everything is learned.
        known = ("point.noise", "interval.noise", "ordinal.noise", "ordinal.thresholds[0]", "ordinal.thresholds.gap[1]")
        return gf.GP(gf.SE(0.2), gf.ConstantMean(0.5), priors=dict.fromkeys(known, gf.Fixed()))

    def instruments(self, values: Array) -> tuple[gf.Instrument, ...]:
        thresholds = np.quantile(values, [1 / 3, 2 / 3]).tolist()
        point, interval, ordinal = COSTS
        return (
            gf.Point(noise=self.noise, cost=point, name="point"),
            gf.Interval(noise=self.noise, width=6.0 * self.noise, cost=interval, name="interval"),
            gf.Ordinal(thresholds=thresholds, noise=self.noise, cost=ordinal, name="ordinal"),
        )


MODELS = {
    "defaults of the text": Model(0.1),
    "half the noise": Model(0.05),
    "a fifth of the noise": Model(0.02),
    "learned": Model(0.05, refit=5),
}


def settings(quick: bool) -> list[Setting]:
    """Forty splits for each model, half as many for the one that is fitted again and again; published were five."""
    full = {name: 40 if model.refit is None else 20 for name, model in MODELS.items()}
    return [{"model": name, "repetition": r} for name in MODELS for r in range(2 if quick else full[name])]


def unit(values: Array) -> Array:
    """Each column between 0 and 1."""
    return np.asarray((values - values.min(axis=0)) / (values.max(axis=0) - values.min(axis=0)))


def learning_curves(X: Array, y: Array, setting: Setting, seed: int, *, test: float, most: int) -> list[Row]:
    """RMSE on the test rows after every answer, for each contender on the same split."""
    model = MODELS[setting["model"]]
    order = np.random.default_rng([seed, 0]).permutation(len(y))
    aside, rest = np.split(order, [round(test * len(y))])
    instruments = model.instruments(y[rest])
    pool = gf.Pool(np.unique(X[rest], axis=0))
    rows: list[Row] = []
    for name in CONTENDERS:
        rng = np.random.default_rng([seed, 1])
        campaign = gf.Campaign(
            pool, instruments, model.gp, STRATEGIES[name], budget=BUDGET, seed=seed, refit=model.refit
        )

        def answer(query: gf.Query, rng: np.random.Generator = rng) -> Any:
            # Several rows may share one place: one of them is seen. The table's value is the truth; no noise is added.
            there = rest[np.all(X[rest] == query.place, axis=1)]
            return _reading(query.instrument, float(y[rng.choice(there)]), rng)

        error = np.inf
        for told in answering(campaign, answer, most):
            error = float(np.sqrt(np.mean((campaign.posterior.mean(X[aside]) - y[aside]) ** 2)))
            rows.append({"strategy": name, "answers": told, "rmse": error, "spent": campaign.spent})
        for told in range(len(campaign.history) + 1, most + 1):  # out of money: the belief stays what it is
            rows.append({"strategy": name, "answers": told, "rmse": error, "spent": campaign.spent})
    constant = float(np.sqrt(np.mean((y[rest].mean() - y[aside]) ** 2)))
    rows.append({"strategy": "mean of all", "answers": most, "rmse": constant, "spent": 0.0})
    return rows


def _reading(instrument: gf.Instrument, value: float, rng: np.random.Generator) -> Any:
    """What the instrument says when it reads exactly this value."""
    channel = instrument.channel()
    assert channel is not None
    if channel.is_interval:
        start = value - channel.width * rng.random()
        return start, start + channel.width
    if channel.is_discrete:
        return 1 + int(np.sum(value > channel.bounds))
    return value


def claims(rows: list[Row], most: int, published: tuple[float | None, float | None]) -> list[Claim]:
    """At the end: each contender's error, and cost-adjusted against random, for each model."""
    ends = select(rows, answers=most)
    constant = float(np.mean(column(ends, "rmse", strategy="mean of all")))
    context = f"Predicting the mean of all training rows, without any model, has an RMSE of {constant:.3f}."
    out = []
    for model in MODELS:
        here = select(ends, model=model)
        if not here:
            continue
        for name, figure in zip(("cost-adjusted", "random"), published, strict=True):
            if figure is not None:
                found = mean(column(here, "rmse", strategy=name))
                near = abs(found.value - figure) <= 0.03
                words = f"RMSE of {name} within 0.03 of {figure:g} after {most} answers ({model})"
                out.append(Claim(words, figure, found.value, found.low, found.high, near, context))
        statement = f"RMSE of cost-adjusted below random after {most} answers ({model})"
        note = _WHY if model == "defaults of the text" else ""
        by = ("model", "repetition")
        out.append(ratio_claim(here, "rmse", "cost-adjusted", "random", statement, "below 1", by=by, note=note))
    return out


_WHY = (
    "With a prior standard deviation of 1 for values between 0 and 1 and 0.1 of noise, the highest rank, which has no "
    "upper end, is most informative per unit of cost, and says little about how high the values are. The number of "
    "answers ends the campaign before the budget does, so being thrifty is not rewarded."
)


def figures(rows: list[Row], folder: Path, published: tuple[float | None, float | None]) -> list[Path]:
    from matplotlib.figure import Figure

    models = [name for name in MODELS if select(rows, model=name)]
    figure = Figure(figsize=(3.1 * len(models) + 0.6, 3.4), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(models), sharey=True))
    for axes, model in zip(panels, models, strict=True):
        here = select(rows, model=model)
        for name in CONTENDERS:
            mine = select(here, strategy=name)
            counts = sorted({row["answers"] for row in mine})
            curves = np.array([column(mine, "rmse", answers=n) for n in counts])
            middle, half = curves.mean(axis=1), 1.96 * curves.std(axis=1) / np.sqrt(curves.shape[1])
            axes.plot(counts, middle, color=COLOURS[name], lw=2, label=name)
            axes.fill_between(counts, middle - half, middle + half, color=COLOURS[name], alpha=0.2, lw=0)
        constant = float(np.mean(column(here, "rmse", strategy="mean of all")))
        axes.axhline(constant, color="black", lw=1, ls=":", label="mean of all rows")
        for level, name in zip(published, ("cost-adjusted", "random"), strict=True):
            if level is not None:
                axes.axhline(level, color=COLOURS[name], lw=1, ls="--", label=f"{name}, published")
        axes.set_title(model, loc="left", fontsize=10)
        axes.set_xlabel("answers")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("RMSE on test rows")
    panels[0].set_ylim(bottom=0.0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    path = folder / "curves.png"
    figure.savefig(path, dpi=150)
    return [path]
