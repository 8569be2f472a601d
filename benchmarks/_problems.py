"""Problems that several benchmarks share."""

from __future__ import annotations

import numpy as np

import gainful as gf

ASK = gf.Binary()
SPACE = gf.Space(gf.Real("east", 0, 2), gf.Real("north", 0, 2))


def yes_no(seed: int, candidates: int, reference: int) -> tuple[gf.Posterior, np.ndarray, np.ndarray]:
    """A belief after 50 yes/no answers in a square, so many candidates, and so many places of reference."""
    rng = np.random.default_rng(seed)
    gp = gf.GP(gf.SE(lengthscale=0.4, variance=4.0))
    X = SPACE.candidates(50, rng)
    truth = gp.condition(gf.Data()).sample(X, 1, rng)[0]
    posterior = gp.condition(gf.Data().add(ASK, X, ASK.simulate(truth, rng)))
    return posterior, SPACE.candidates(candidates, rng), SPACE.candidates(reference, rng)
