"""Gardner 2018, sec. 3.3.5, Fig. 3.1: when two tones at once tell more than one.

A listener says yes when at least one of k tones is heard. (a) Two states of equal probability, in which a tone is heard
with probability α or β, and a pair with 1 − (1 − α)² or 1 − (1 − β)². (b) What a pair tells beyond one tone for every α
and β. (c) The same for two latent values N(μ, 1) with correlation ρ, each heard with Φ(f).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.table import select

__all__ = ["EXPERIMENT", "REFERENCE", "beyond_one_tone", "two_states"]

Array = NDArray[np.float64]

_FAR = 40.0  # lengthscales: nothing in common
_CORRELATIONS = (*(float(r) for r in np.linspace(0.0, 0.98, 25)), 0.999)
_MEANS = tuple(float(m) for m in np.linspace(-3.0, 1.0, 33))
_STEPS = 121

# What brute-force integration gives for I₁ and for I₂ − I₁ at these correlations, in bits.
REFERENCE_CORRELATIONS = (0.0, 0.25, 0.5, 0.75, 0.999)
REFERENCE = {
    0.0: (0.2787, (-0.0842, -0.0512, -0.0189, 0.0140, 0.0492)),
    -0.5: (0.2649, (-0.0397, -0.0084, 0.0217, 0.0520, 0.0845)),
    -1.0: (0.2274, (-0.0031, 0.0232, 0.0485, 0.0739, 0.1014)),
    -1.5: (0.1757, (0.0185, 0.0380, 0.0570, 0.0765, 0.0979)),
    -2.0: (0.1218, (0.0254, 0.0380, 0.0508, 0.0643, 0.0796)),
    -3.0: (0.0414, (0.0159, 0.0192, 0.0231, 0.0276, 0.0332)),
}


def two_states(heard: Array, heard_else: Array, tones: int) -> Array:
    """Bits that the answer to so many tones tells about which of two states it is, in which one tone is heard with
    these probabilities."""
    yes, other = 1.0 - (1.0 - heard) ** tones, 1.0 - (1.0 - heard_else) ** tones
    return np.asarray(_entropy(0.5 * (yes + other)) - 0.5 * (_entropy(yes) + _entropy(other)))


def _entropy(p: Array) -> Array:
    q = np.clip(p, 1e-300, 1.0)
    r = np.clip(1.0 - p, 1e-300, 1.0)
    return np.asarray(-(p * np.log2(q) + (1.0 - p) * np.log2(r)))


def beyond_one_tone(mean: float, correlation: float) -> tuple[float, float]:
    """I₁ and I₂ − I₁ in bits for latent values of this mean, of variance one."""
    apart = _FAR if correlation <= 0.0 else float(np.sqrt(-2.0 * np.log(correlation)))
    prior = gf.GP(gf.SE(1.0, 1.0), gf.ConstantMean(mean)).condition(gf.Data())
    one = float(gf.information(prior, gf.Binary(), [[0.0]])[0])
    return one, float(gf.information(prior, gf.Detection(), [[[0.0], [apart]]])[0]) - one


def _settings(quick: bool) -> list[Setting]:
    means = sorted(REFERENCE) if quick else sorted({*_MEANS, *REFERENCE})
    return [{"mean": m, "fine": not quick, "repetition": 0} for m in means]


def _run(setting: Setting, seed: int) -> list[Row]:
    known = sorted({*(_CORRELATIONS if setting["fine"] else ()), *REFERENCE_CORRELATIONS})
    rows = []
    for correlation in known:
        one, more = beyond_one_tone(setting["mean"], correlation)
        rows.append({"correlation": correlation, "one": one, "more": more})
    return rows


def _claims(rows: list[Row]) -> list[Claim]:
    example = float(two_states(np.array(0.05), np.array(0.65), 2) - two_states(np.array(0.05), np.array(0.65), 1))
    words = "two states, α = 0.05, β = 0.65: a pair tells this much more than one tone, in bits"
    out = [Claim(words, 0.18, example, example, example, abs(example - 0.18) < 0.005)]
    grid = np.linspace(0.0, 1.0, 1001)
    more = two_states(grid[:, None], grid, 2) - two_states(grid[:, None], grid, 1)
    for words, value, sign in (("most", more.max(), 1.0), ("least", more.min(), -1.0)):
        at = np.unravel_index(int(np.argmax(sign * more)), more.shape)
        note = f"At α = {grid[at[0]]:.3f}, β = {grid[at[1]]:.3f} (or exchanged)."
        said = f"over all α and β a pair tells at {words} this much more"
        out.append(Claim(said, None, float(value), float(value), float(value), bool(sign * value > 0.1), note))
    off = 0.0
    for mean, (one, table) in REFERENCE.items():
        for correlation, wanted in zip(REFERENCE_CORRELATIONS, table, strict=True):
            (row,) = select(rows, mean=mean, correlation=correlation)
            off = max(off, abs(row["more"] - wanted), abs(row["one"] - one))
    words = "normal latent values: the largest difference to integration by brute force, in bits"
    out.append(Claim(words, None, off, off, off, off < 1e-4, "The table is rounded to 0.0001."))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(12, 3.9), layout="constrained")
    first, second, third = sheet.subplots(1, 3)
    p = np.linspace(0.0, 1.0, _STEPS)
    first.plot(p, _entropy(p), color="#0072B2", lw=1.6)
    for tones, colour, mark in ((1, "#D55E00", "o"), (2, "#009E73", "s")):
        ends = [1.0 - (1.0 - a) ** tones for a in (0.05, 0.65)]
        heights = [float(_entropy(np.array(e))) for e in ends]
        first.plot(ends, heights, color=colour, marker=mark, lw=1.2, label=f"{tones} tone{'s' * (tones > 1)}")
        middle = 0.5 * sum(ends)
        first.plot([middle] * 2, [0.5 * sum(heights), float(_entropy(np.array(middle)))], color=colour, ls=":", lw=2.0)
    first.set(xlabel="probability of a yes", ylabel="entropy (bits)", title="two states, α = 0.05, β = 0.65")
    first.legend(frameon=False, title="what an answer tells is dotted", fontsize=9, title_fontsize=8)
    more = two_states(p[:, None], p, 2) - two_states(p[:, None], p, 1)
    _map(sheet, second, p, p, more.T, 0.28, "α", "β", "a pair beyond one tone (bits)")
    means = sorted({row["mean"] for row in rows})
    at = sorted({row["correlation"] for row in rows})
    known = {(row["mean"], row["correlation"]): row["more"] for row in rows}
    table = np.array([[known[m, r] for r in at] for m in means])
    _map(sheet, third, at, means, table, 0.1, "correlation", "mean of f", "normal latent values (bits)")
    sheet.savefig(folder / "or_channel.png", dpi=130)
    return [folder / "or_channel.png"]


def _map(sheet: object, axes: object, x: object, y: object, values: Array, reach: float, xlabel: str, ylabel: str,
         title: str) -> None:  # fmt: skip
    drawn = axes.pcolormesh(x, y, values, cmap="PuOr_r", vmin=-reach, vmax=reach, shading="nearest")  # type: ignore[attr-defined]
    axes.contour(x, y, values, [0.0], colors="#333333", linewidths=1.0)  # type: ignore[attr-defined]
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)  # type: ignore[attr-defined]
    sheet.colorbar(drawn, ax=axes)  # type: ignore[attr-defined]


EXPERIMENT = Experiment(
    name="hearing-or-channel",
    title="When two tones at once tell more than one",
    source="Gardner 2018, ch. 3, Fig. 3.1",
    published={"two states": "0.18 bits more", "pictures": "the differences over α and β, and over ρ and μ"},
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
