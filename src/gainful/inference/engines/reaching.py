"""How far an engine has to reach: over the whole space, where there is one and nobody has said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gainful.inference.engines.base import Engine
from gainful.inference.engines.ski import SKI
from gainful.inference.engines.skip import SKIP
from gainful.inference.solution import Inference
from gainful.space import Places

__all__ = ["reaching"]


def reaching(inference: Inference | Engine | None, space: Places | None) -> Inference | Engine | None:
    """The same inference; one from a grid with the lowest and the highest corner of the space as its `over`, where it
    has none.

    >>> from gainful.space import Real, Space
    >>> reaching(SKIP(), Space(Real("a", 0, 1), Real("b", -1, 5))).over
    ((0.0, -1.0), (1.0, 5.0))
    """
    if space is None or not isinstance(inference, SKI | SKIP) or inference.over is not None:
        return inference
    return replace(inference, over=np.stack([space.low, space.high]))
