"""What a likelihood tells inference: the log partition function and its derivatives, and those of log p itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Derivatives", "Partition"]

Array = NDArray[np.float64]


class Partition(NamedTuple):
    """log Z, d log Z/dm, d² log Z/dm², and tilted variance over v, which is 1 + v·d2 without its cancellation.

    third and fourth, v^1.5 d³ log Z/dm³ and v² d⁴ log Z/dm⁴, may be left out (empty): they are then found by
    differences where they are needed. For a block of k values d1 is (n, k), d2 is (n, k, k), and the others are not
    used.
    """

    log_z: Array
    d1: Array
    d2: Array
    shrink: Array
    third: Array = np.empty(0)
    fourth: Array = np.empty(0)


class Derivatives(NamedTuple):
    """log p(answer | g) and its first three derivatives in g; (n,), or for blocks (n,), (n, k), (n, k, k), (n, k, k,
    k)."""

    log_p: Array
    d1: Array
    d2: Array
    d3: Array
