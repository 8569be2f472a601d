"""Gardner 2018, ch. 5, Fig. 5.6: three settings of singular value thresholding, tuned on a picture with holes.

X = shrink_τ(Y), the singular values of Y less τ and no less than 0; Y ← Y + δ P_Ω(M − X); until the residual on the
known pixels Ω is below ε of their norm. Here at most 100 iterations, and a residual that grows past twice the norm ends
it with the worst error, 1, which a black picture has. τ, δ and ε are tuned on log scales around what is usual: τ within
a factor of 20 of 5√(n₁n₂), in units of the root of the mean square of the known pixels, δ within a factor of 10 of
1.2 n₁n₂/|Ω|, ε from 1e-5 to 1e-1. What comes of it is held against the middle of the first two and ε = 1e-4.

The published pictures are not available; six others are, the middle square of each averaged down to 96 × 96, in grey
levels from 0 to 255. Half of the pixels are destroyed. A fifth of those that are left are held back, and the error that
is minimised is ‖X − M‖/‖M‖ on them; the same on the destroyed pixels is what came of it. Three dimensions have five
partitions, so that a bag of fifty is exhaustive. All have the same ten first places and sixty evaluations.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting, Style, data_file, draw_curves
from gainful.lab.statistics import Estimate, mean, paired_difference
from gainful.lab.table import column, pairs, select
from gainful.papers.gardner2018.additive_worlds import INITIAL, best_so_far, looked_at

__all__ = ["EXPERIMENT", "Holes", "completed", "holes", "picture"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FILE = "images_gray.npz"
_PICTURES = ("china", "flower", "camera", "coins", "moon", "brick")
_SIDE, _EVALUATIONS, _MASKS, _ITERATIONS = 96, 60, 3, 100
_DESTROYED, _HELD = 0.5, 0.2
_USUAL_STOP = 1e-4
_WORST = 1.0
_STRATEGIES = ("own", "chain", "bag", "full")
_CALLED = {
    "own": "gainful's chain",
    "chain": "the published chain",
    "bag": "the bag",
    "full": "all together",
}
_LOOKS = {
    "own": Style("#009E73", "-", 2.4),
    "chain": Style("#0072B2", "-", 1.8),
    "bag": Style("#D55E00", (0, (5, 2)), 1.6),
    "full": Style("#8A8A8A", (0, (7, 2, 1.2, 2)), 1.6),
}
_ALIKE = 0.005  # of the error


class Holes:
    """A picture M, the pixels Ω that the solver sees, those held back to judge by, and those destroyed."""

    def __init__(self, M: Array, rng: np.random.Generator) -> None:
        chance = rng.random(M.shape)
        left = chance >= _DESTROYED
        self.M, self.destroyed = M, ~left
        self.held = left & (rng.random(M.shape) < _HELD)
        self.seen = left & ~self.held

    @property
    def usual(self) -> tuple[float, float, float]:
        """τ, δ and ε."""
        level = float(np.sqrt(np.mean(self.M[self.seen] ** 2)))
        return 5.0 * level * float(np.sqrt(self.M.size)), 1.2 * self.M.size / float(self.seen.sum()), _USUAL_STOP

    def space(self) -> gf.Space:
        tau, delta, _ = self.usual
        return gf.Space(
            gf.Real("tau", tau / 20.0, tau * 20.0, log=True),
            gf.Real("delta", delta / 10.0, delta * 10.0, log=True),
            gf.Real("epsilon", 1e-5, 1e-1, log=True),
        )

    def error(self, X: Array, where: Mask) -> float:
        """‖X − M‖/‖M‖ there, at most 1."""
        return min(float(np.linalg.norm((X - self.M)[where]) / np.linalg.norm(self.M[where])), _WORST)


@cache
def picture(name: str, side: int) -> Array:
    """The middle square of a picture, averaged down, (S, S)."""
    with np.load(data_file(_FILE)) as file:
        whole = np.asarray(file[name], dtype=float)
    step = min(whole.shape) // side
    top, left = ((n - step * side) // 2 for n in whole.shape)
    middle = whole[top : top + step * side, left : left + step * side]
    return np.asarray(middle.reshape(side, step, side, step).mean(axis=(1, 3)))


def holes(name: str, side: int, repetition: int) -> Holes:
    """The same for a picture and a repetition."""
    return Holes(picture(name, side), np.random.default_rng([55, _PICTURES.index(name), repetition]))


def completed(M: Array, seen: Mask, tau: float, delta: float, epsilon: float, iterations: int = _ITERATIONS) -> Array:
    """A matrix of low rank that is near M where it is seen; 0 where the iteration runs away."""
    known = np.where(seen, M, 0.0)
    size = float(np.linalg.norm(known))
    X, Y = np.zeros_like(M), delta * known
    for _ in range(iterations):
        U, s, V = np.linalg.svd(Y, full_matrices=False)
        X = (U * np.maximum(s - tau, 0.0)) @ V
        residual = np.where(seen, M - X, 0.0)
        apart = float(np.linalg.norm(residual)) / size
        if apart > 2.0:
            return np.zeros_like(M)
        if apart < epsilon:
            break
        Y = Y + delta * residual
    return X


def _settings(quick: bool) -> list[Setting]:
    if quick:
        small = {"side": 24, "evaluations": INITIAL + 4, "repetition": 0}
        return [{"picture": "coins", "strategy": name, **small} for name in _STRATEGIES]
    return [
        {"picture": name, "strategy": strategy, "side": _SIDE, "evaluations": _EVALUATIONS, "repetition": r}
        for name in _PICTURES
        for r in range(_MASKS)
        for strategy in _STRATEGIES
    ]


def _run(setting: Setting, seed: int) -> list[Row]:
    """One campaign. Neither the holes nor the first places depend on the strategy."""
    number = setting["repetition"]
    here = holes(setting["picture"], setting["side"], number)
    space = here.space()
    model = {
        "own": gf.Partitions(space, parameters="best"),
        "chain": gf.Partitions.as_published(space),
        "bag": gf.Partitions.as_published(space, by="bag"),
        "full": gf.Partitions.as_published(space, given="full"),
    }[setting["strategy"]]

    def error(x: Array) -> float:
        return here.error(completed(here.M, here.seen, *x.tolist()), here.held)

    begun = time.perf_counter()
    found = list(best_so_far(space, model, error, setting["evaluations"], number))
    took = time.perf_counter() - begun
    rows = looked_at([best for best, _ in found])
    at = found[-1][1].tolist()
    tuned = here.error(completed(here.M, here.seen, *at), here.destroyed)
    usual = here.error(completed(here.M, here.seen, *here.usual), here.destroyed)
    rows[-1] |= {"destroyed": tuned, "usual": usual, "tau": at[0], "delta": at[1], "epsilon": at[2]}
    return [*rows, {"answers": setting["evaluations"], "seconds": took}]


def _gap(rows: list[Row], what: str, one: str, other: str) -> Estimate:
    """Over pictures, the mean of whose masks counts once."""
    a, b = pairs(rows, what, {"strategy": one}, {"strategy": other}, by=["picture", "repetition"])
    masks = len({row["repetition"] for row in rows})
    return paired_difference(*(each.reshape(-1, masks).mean(axis=1) for each in (a, b)))


def _claims(rows: list[Row]) -> list[Claim]:
    end = max(row["answers"] for row in rows)
    half = min({row["answers"] for row in rows}, key=lambda n: (abs(n - end / 2), n))
    out = []
    for name in ("chain", "bag", "own"):
        for after in (half, end):
            gap = _gap(select(rows, answers=after), "best", "full", name)
            words = f"{_CALLED[name]}: the error after {after} is lower than with all together by"
            printed = "lower" if name != "own" else None
            verdict = "not settled" if 0.0 in gap else ""
            out.append(Claim(words, printed, gap.value, gap.low, gap.high, gap.low > 0.0, "", verdict))
    last = select(rows, answers=end)
    gap = _gap(last, "best", "bag", "chain")
    words = "bag and chain are alike: the bag's error minus the chain's"
    note = f"Alike: within {_ALIKE:g}."
    out.append(Claim(words, "alike", gap.value, gap.low, gap.high, abs(gap.value) <= _ALIKE, note))
    own = select(last, strategy="chain")
    better = mean([np.mean(column(own, "usual", picture=p) - column(own, "destroyed", picture=p))
                   for p in sorted({row["picture"] for row in own})])  # fmt: skip
    words = "destroyed pixels come out nearer than with the usual settings, by"
    level = float(np.mean(column(own, "destroyed")))
    note = f"The chain's error there is {level:.3f}, over pictures."
    out.append(Claim(words, "sharper", better.value, better.low, better.high, better.low > 0.0, note))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(12, 3.6), layout="constrained")
    panels = sheet.subplots(1, 5, width_ratios=(2.0, 1.0, 1.0, 1.0, 1.0))
    draw_curves(panels[0], rows, "best", _LOOKS)
    panels[0].set(xlabel="evaluations", ylabel="error on pixels held back")
    handles, labels = panels[0].get_legend_handles_labels()
    sheet.legend(handles, [_CALLED[each] for each in labels], loc="outside lower center", ncols=4, frameon=False)
    best = next(row for row in select(rows, strategy="chain", repetition=0) if row.get("tau") is not None)
    here = holes(best["picture"], best["side"], 0)
    shown = (
        ("whole", here.M),
        ("half destroyed", np.where(here.destroyed, 255.0, here.M)),
        (f"usual settings: {best['usual']:.3f}", completed(here.M, here.seen, *here.usual)),
        (f"tuned: {best['destroyed']:.3f}",
         completed(here.M, here.seen, best["tau"], best["delta"], best["epsilon"])),
    )  # fmt: skip
    for axes, (words, M) in zip(panels[1:], shown, strict=True):
        axes.imshow(M, cmap="gray", vmin=0.0, vmax=255.0)
        axes.set_title(words, fontsize=9)
        axes.set_axis_off()
    sheet.savefig(folder / "completion.png", dpi=130)
    return [folder / "completion.png"]


EXPERIMENT = Experiment(
    name="additive-completion",
    title="Pictures with holes: three settings of a solver",
    source="Gardner 2018, ch. 5, Fig. 5.6",
    published={
        "settings": "τ, δ and ε of singular value thresholding, 50 % of the pixels destroyed, about 60 evaluations",
        "additive": "chain and bag are alike, and ahead of all together in speed and in the final error",
        "not printed": "ranges, how the error is measured, how many pixels judge",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=(_FILE,),
)
