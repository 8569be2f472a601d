"""Bands and ranks of the truth, by simulation: plain EP, EP with linear response, and draws of the latent values.

    .venv/bin/python benchmarks/calibration.py [truths]

Truths are drawn from the prior, answered, and predicted at twenty places. A band of 95 % should hold 95 % of them, and
the rank of the truth among draws from the posterior should be uniform (simulation-based calibration): p is that of a
chi-square test of ten bins, with one place per truth. Draws have bands by quantiles, the others by mean and spread.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats

import gainful as gf

DRAWS, PLACES, BINS = 999, 20, 10
RANKS = np.array([-0.8, -0.2, 0.3, 0.9])


@dataclass(frozen=True)
class Setting:
    """Answers of one kind: how many, in how many dimensions, under a prior of this variance."""

    name: str
    answers: int
    dimensions: int = 1
    variance: float = 1.0

    def data(self, X: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> gf.Data:
        if self.name == "yes/no":
            return gf.Data().add(gf.Binary(), X, f + rng.standard_normal(len(f)) > 0.0)
        edges = RANKS if self.name == "hard ranks" else np.zeros(1)
        return gf.Data().add(gf.Ordinal(edges, noise=0.0), X, 1 + np.sum(f[:, None] > edges, axis=1))


SETTINGS = (
    Setting("hard signs", 40),
    Setting("hard ranks", 60),
    Setting("hard ranks", 60, 2),
    Setting("yes/no", 50, variance=100.0),
    Setting("yes/no", 50),
)
METHODS = {"plain EP": gf.EP(response=False), "EP": gf.EP(), "Sampled": gf.Sampled()}


def trial(setting: Setting, seed: int) -> dict[str, tuple[float, int]]:
    """Of each method the share of places whose band holds the truth, and the truth's rank at the first of them."""
    rng = np.random.default_rng(seed)
    gp = gf.GP(gf.SE(0.2 if setting.dimensions == 1 else 0.4, setting.variance))
    places = rng.random((setting.answers + PLACES, setting.dimensions))
    f = gp.condition(gf.Data()).sample(places, 1, rng)[0]
    data = setting.data(places[: setting.answers], f[: setting.answers], rng)
    X, truth = places[setting.answers :], f[setting.answers :]
    out = {}
    for name, inference in METHODS.items():
        belief = gp.condition(data, inference=inference)
        rank = np.sum(belief.sample(X, DRAWS, rng) < truth, axis=0)
        held = np.abs(truth - belief.mean(X)) < 1.96 * np.sqrt(belief.variance(X))
        if belief.draws is not None:
            held = (rank >= 0.025 * (DRAWS + 1)) & (rank < 0.975 * (DRAWS + 1))
        out[name] = float(held.mean()), int(rank[0])
    return out


def main() -> int:
    truths = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    warnings.simplefilter("ignore", gf.JitterWarning)  # truths are drawn without noise
    print(f"{truths} truths each; band of 95 % holds, and p that ranks are uniform")
    for setting in SETTINGS:
        found = [trial(setting, seed) for seed in range(truths)]
        what = f"{setting.answers} {setting.name}, {setting.dimensions}-D, prior variance {setting.variance:g}"
        for name in METHODS:
            held = np.array([each[name][0] for each in found])
            counts = np.histogram([each[name][1] for each in found], BINS, (-0.5, DRAWS + 0.5))[0]
            p = stats.chisquare(counts).pvalue
            error = held.std() / np.sqrt(truths)
            print(f"{what:45s} {name:9s} {held.mean():.1%} ± {error:.1%}   p = {p:.2g}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
