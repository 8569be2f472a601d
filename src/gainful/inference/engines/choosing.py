"""Which engine takes the answers where nothing is said: none while they are few.

Numbers are taken exactly as far as memory goes: one array of N × N, factored in place. Measured on 14,940 readings in
eighteen dimensions, exact inference takes a minute and is 560 nats and 4 % in its errors ahead of the best
approximation. Beyond that each reading is conditioned on its neighbours (`Vecchia`), which takes any kernel and any
number of dimensions; a grid (`SKI`) would be nearer for smooth functions of one or two dimensions, but cannot predict
beyond its edge, so that one has to ask for it. Other answers are taken through inducing points, by EP.
"""

from __future__ import annotations

from gainful.inference.engines.base import Engine
from gainful.inference.engines.dense import Dense
from gainful.inference.engines.inducing import Inducing
from gainful.inference.engines.vecchia import Vecchia
from gainful.layout import Layout
from gainful.numerics.memory import MOST, available

__all__ = ["FEW", "engine_for"]

FEW = 4096  # rows of g up to which a posterior keeps whole matrices, and adds and removes answers in O(N²)
_SHARE = 0.6  # of the memory that is free: for one array of N × N


def engine_for(layout: Layout) -> Engine | None:
    """The engine for these answers; None where whole matrices will do, or no engine can take them."""
    N = layout.size
    coupled = any(term.rows.shape[1] > 1 for term in layout.terms)
    certain = any(source.instrument.gaussian and source.instrument.is_certain for source in layout.sources)
    if N <= FEW or coupled or certain:
        return None
    if layout.gaussian and layout.direct:
        return Dense() if N * N <= MOST and _SHARE * available() >= 8.0 * N * N else Vecchia()
    return Inducing()
