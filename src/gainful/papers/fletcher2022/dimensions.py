"""Fletcher 2022, sec. 6.2, last part: cost-adjusted against random type in worlds of two and three dimensions."""

from __future__ import annotations

from pathlib import Path

from gainful.lab import Claim, Experiment, Row, Setting
from gainful.papers.fletcher2022.common import COLOURS, cost_settings, forest, ratio, ratio_claim, survey

__all__ = ["EXPERIMENT"]

_BY = ("costs", "repetition")
_LENGTHSCALE = 0.2
_SIDES = (2.0, 1.0, 0.6)  # the published one first
_PAIR = ("cost-adjusted", "random type")


def _settings(quick: bool) -> list[Setting]:
    costs = cost_settings()[:: 19 if quick else 1]
    out = []
    for dimensions in (2, 3):
        for side in _SIDES:
            repetitions = 1 if quick else 4 if side == _SIDES[0] else 2
            shape = {"dimensions": dimensions, "side": side}
            out += [{**shape, "costs": c, "repetition": r} for c in costs for r in range(repetitions)]
    return out


def _run(setting: Setting, seed: int) -> list[Row]:
    side = float(setting["side"])
    per_dimension = round(side / _LENGTHSCALE) + 1  # the text's own rule: neighbours at most a lengthscale apart
    return survey(
        setting,
        seed,
        ("random", *_PAIR),
        dimensions=int(setting["dimensions"]),
        high=side,
        per_dimension=per_dimension,
        lengthscale=_LENGTHSCALE,
    )


_WHY_LESS = (
    "A budget of 60 buys at most about 22 bits (15 nats) whatever the strategy, at 0.37 bits per unit for the best "
    "instrument, of a divergence that starts far above that in a world of side 2: the whole effect of measuring is a "
    "few per cent, so strategies cannot differ by ten. The published divergence's form and the grid are not printed."
)


_OTHER_READING = (
    "Another reading of the published sentence: of the divergence after the three first readings, how much the "
    "strategy removes. This does not depend on how much there is that nobody can learn from so few answers."
)


def _claims(rows: list[Row]) -> list[Claim]:
    claims = []
    for dimensions in (2, 3):
        for side in _SIDES:
            here = [row for row in rows if row["dimensions"] == dimensions and row["side"] == side]
            world = f"{dimensions}-D, side {side:g}"
            if side == _SIDES[0]:
                ten = f"KL divergence of cost-adjusted at least 10 % below random type ({world})"
                claims.append(
                    ratio_claim(here, "kl", *_PAIR, ten, "about 10 % below", by=_BY, below=0.9, note=_WHY_LESS)
                )
                more = f"cost-adjusted removes at least 10 % more KL divergence than random type ({world})"
                claims.append(
                    ratio_claim(
                        here, "removed", *_PAIR, more, "about 10 %", by=_BY, below=1.1, above=True, note=_OTHER_READING
                    )
                )
            for what, words in (("kl", "KL divergence"), ("rmse", "RMSE")):
                statement = f"{words} of cost-adjusted below random type ({world})"
                published = "below" if side == _SIDES[0] and what == "kl" else "not published"
                claims.append(ratio_claim(here, what, *_PAIR, statement, published, by=_BY))
    return claims


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    lines = []
    for what, words, colour in (
        ("removed", "KL removed", "#CC79A7"),
        ("kl", "KL", COLOURS["cost-adjusted"]),
        ("marginal_kl", "KL at a place", COLOURS["normalised"]),
        ("rmse", "RMSE", COLOURS["random type"]),
    ):
        for dimensions in (2, 3):
            for side in _SIDES:
                here = [row for row in rows if row["dimensions"] == dimensions and row["side"] == side]
                lines.append((f"{words}, {dimensions}-D, side {side:g}", ratio(here, what, *_PAIR, _BY), colour))
    title = "Cost-adjusted after a budget of 60"
    return [forest(lines, title, "relative to random type, with 95 % interval", folder / "summary.png")]


EXPERIMENT = Experiment(
    name="mixed-dimensions",
    title="Cost-adjusted against random type in two and three dimensions",
    source="Fletcher 2022, sec. 6.2",
    published={
        "runs": "about 200 in each of 2 and 3 dimensions, spread evenly over the settings of the costs",
        "result": "average KL divergence about 10 % below random type in both; bounds and grids are not given again",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
