"""What the experiments of Fletcher 2022, sec. 6, share: the strategies, the costs, one run of a strategy, and figures.

The published metric is a Kullback–Leibler divergence between the ground truth and the posterior on the grid, whose
exact form is not printed. Here it is `lab.divergence`: from readings of the truth to predicted readings. Its
expectation over worlds is ½ log|I + covariance/noise²|, so that it falls, on average, by exactly the information that
the answers tell: whatever the strategy, a budget can buy no more nats than it buys bits times ln 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import gainful as gf
from gainful.lab import Claim, Row, Setting, World, divergence
from gainful.lab.statistics import Estimate, bootstrap, paired_ratio
from gainful.lab.table import pairs

__all__ = ["COLOURS", "STRATEGIES", "answering", "cost_settings", "ratio_claim", "survey"]

STRATEGIES: dict[str, Any] = {
    "random": gf.Random(),
    "random type": gf.RandomType(gf.Learn("function")),
    "normalised": gf.Normalised(gf.Learn("function")),
    "cost-adjusted": gf.PerCost(gf.Learn("function")),
}
COLOURS = {"random": "#999999", "random type": "#E69F00", "normalised": "#009E73", "cost-adjusted": "#0072B2"}

BUDGET, MOST_ANSWERS, FIRST = 60.0, 20, 3


def cost_settings() -> list[list[float]]:
    """(point, interval, ordinal) with point 8 to 12, interval 6 to 9, ordinal 2 to 4 and point not below interval.

    The text counts 54; there are 57.

    >>> len(cost_settings())
    57
    """
    grid = product(range(8, 13), range(6, 10), range(2, 5))
    return [[float(p), float(i), float(o)] for p, i, o in grid if p >= i]


def answering(campaign: gf.Campaign, answer: Callable[[gf.Query], Any], most: int) -> Iterator[int]:
    """Asks and tells, at most so often; yields the number of answers, from 0 before the first."""
    yield 0
    for told in range(1, most + 1):
        query = campaign.ask()
        if query is None:
            return
        campaign.tell(query, answer(query))
        yield told


def survey(setting: Setting, seed: int, strategies: Sequence[str], **world: Any) -> list[Row]:
    """One world, and each strategy's campaign in it from the same three readings: how far from the truth it ends."""
    here = World.draw(rng=np.random.default_rng([seed, 0]), costs=setting["costs"], **world)
    truth, noise = here.truth(here.grid), 0.1
    rows = []
    for name in strategies:
        rng = np.random.default_rng([seed, 1])  # the first readings are the same for all
        campaign = gf.Campaign(here.pool, here.instruments, here.gp, STRATEGIES[name], budget=BUDGET, seed=seed)
        for i in rng.choice(len(here.grid), FIRST, replace=False):
            first = gf.Query(here.instruments[0], here.grid[i])
            campaign.tell(first, here.answer(first, rng), cost=0.0)
        start = divergence(campaign.posterior, here.grid, truth, noise)
        for _ in answering(campaign, lambda query, rng=rng: here.answer(query, rng), MOST_ANSWERS):  # type: ignore[misc]
            pass
        posterior = campaign.posterior
        error = posterior.mean(here.grid) - truth
        spread = posterior.variance(here.grid) + noise**2
        marginal = 0.5 * np.mean(noise**2 / spread - 1.0 + np.log(spread / noise**2) + error**2 / spread)
        used = [e.query.instrument.label for e in campaign.history[FIRST:]]
        end = divergence(posterior, here.grid, truth, noise)
        row: Row = {"strategy": name, "kl": end, "removed": start - end, "marginal_kl": marginal}
        row |= {"rmse": float(np.sqrt(np.mean(error**2))), "answers": len(used), "spent": campaign.spent}
        rows.append(row | {f"{i.label}s": used.count(i.label) for i in here.instruments})
    return rows


def ratio_claim(
    rows: list[Row],
    what: str,
    first: str,
    second: str,
    statement: str,
    published: str | float | None,
    *,
    by: Sequence[str],
    below: float = 1.0,
    above: bool = False,
    note: str = "",
) -> Claim:
    """mean(first)/mean(second) over paired runs; the claim holds when its whole 95 % interval lies below (or above)."""
    found = ratio(rows, what, first, second, by)
    holds = found.low > below if above else found.high < below
    return Claim(statement, published, found.value, found.low, found.high, holds, note)


def ratio(rows: list[Row], what: str, first: str, second: str, by: Sequence[str]) -> Estimate:
    """mean(first)/mean(second) over paired runs; what was removed may be negative in a single one."""
    columns = pairs(rows, what, {"strategy": first}, {"strategy": second}, by=list(by))
    if what == "removed":
        return bootstrap(lambda x, y: x.mean(axis=-1) / y.mean(axis=-1), *columns)
    return paired_ratio(*columns)


def forest(labelled: Sequence[tuple[str, Estimate, str]], title: str, xlabel: str, path: Path) -> Path:
    """Ratios with their intervals, one line each, against the line of no difference."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 0.9 + 0.45 * len(labelled)), layout="constrained")
    axes = figure.subplots()
    for i, (_, estimate, colour) in enumerate(reversed(labelled)):
        axes.plot([estimate.low, estimate.high], [i, i], color=colour, lw=3, solid_capstyle="round")
        axes.plot(estimate.value, i, "o", color=colour, ms=8, mec="white")
    axes.axvline(1.0, color="black", lw=1, ls="--")
    axes.set_yticks(range(len(labelled)), [label for label, _, _ in reversed(labelled)])
    axes.set_ylim(-0.6, len(labelled) - 0.4)
    axes.set_xlabel(xlabel)
    axes.set_title(title, loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.savefig(path, dpi=150)
    return path
