"""What it costs to score every place with every instrument: ratios, measured in one run.

    .venv/bin/python benchmarks/ask.py

1. Information of 3 instruments at 900 places (n = 30 answers) against predicting the posterior variance there.
2. The same against the published estimate from 100 samples and 100 buckets, with the errors of both.
"""

from __future__ import annotations

import sys

import numpy as np
from _harness import Claim, best_times, report

import gainful as gf
from gainful.goals.information import information_given
from gainful.goals.sampled import sampled_information

INSTRUMENTS = (
    gf.Point(noise=0.1, cost=10),
    gf.Interval(noise=0.1, width=0.6, cost=7),
    gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, cost=3),
)


def problem() -> tuple[gf.Posterior, np.ndarray]:
    """Thirty mixed answers about a field on a 2 km square, and a grid of 30 by 30 places."""
    rng = np.random.default_rng(0)
    space = gf.Space(gf.Real("east", 0, 2, unit="km"), gf.Real("north", 0, 2, unit="km"))
    gp = gf.GP(gf.SE(lengthscale=0.4), space=space)
    X = space.candidates(30, rng)
    truth = gp.condition(gf.Data()).sample(X, 1, rng)[0]
    data = gf.Data()
    for i, instrument in enumerate(INSTRUMENTS):
        data = data.add(instrument, X[i::3], instrument.simulate(truth[i::3], rng))
    return gp.condition(data), space.grid(30)


def scoring() -> list[Claim]:
    post, X = problem()

    def exact() -> list[np.ndarray]:
        m, v = post.mean(X), post.variance(X)
        return [information_given(instrument, m, v) / instrument.cost for instrument in INSTRUMENTS]

    def published() -> list[np.ndarray]:
        return [sampled_information(post, instrument, X, 0) / instrument.cost for instrument in INSTRUMENTS]

    fast = best_times({"variance": lambda: post.variance(X), "exact": exact}, repeats=30)
    slow = best_times({"published": published}, repeats=1)
    error = max(
        float(np.max(np.abs(a - b) * i.cost)) for a, b, i in zip(exact(), published(), INSTRUMENTS, strict=True)
    )
    detail = f"variance {1e3 * fast['variance']:.2f} ms, three instruments {1e3 * fast['exact']:.2f} ms"
    return [
        Claim("scoring 3 instruments at 900 places, in variances", fast["exact"] / fast["variance"], 6, True, detail),
        Claim("times faster than 100 samples and 100 buckets", slow["published"] / fast["exact"], 1000, False,
              f"published {slow['published']:.2f} s, off by up to {error:.2f} bits"),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(1 if report(scoring()) else 0)
