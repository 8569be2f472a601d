"""Exact inference: every answer is Gaussian, so its likelihood is its site."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.inference.conditioned import condition_on
from gainful.inference.convergence import Convergence, Result
from gainful.inference.solution import Solution, WarmStart, gaussian_evidence, gaussian_sites
from gainful.layout import Layout

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """One Cholesky factorisation, for Point answers only."""

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution:
        if not layout.gaussian:
            kinds = sorted({type(s.instrument).__name__ for s in layout.sources if not s.instrument.gaussian})
            raise InvalidInput("inference", "EP() or Laplace() for these answers", f"Exact() with {kinds}", "use EP()")
        state = condition_on(gaussian_sites(layout), mean, cov)
        return Solution(state, gaussian_evidence(layout, state), Convergence(Result.EXACT))
