"""Kernels of one form as one kernel with a batch axis: most of what a small matrix costs is the calling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from gainful.kernels.base import Kernel

__all__ = ["as_batch"]


def as_batch(kernels: Sequence[Kernel]) -> Kernel | None:
    """One kernel with the parameters of all; None where they are of different forms, or have no parameters.

    >>> import gainful as gf
    >>> as_batch([gf.SE(1.0), gf.SE(2.0)])([[0.0]], [[1.0]]).round(3).tolist()
    [[[0.607]], [[0.882]]]
    >>> as_batch([gf.SE(1.0), gf.Matern(1.0)]) is None
    True
    """
    first = kernels[0]
    if not first.size or not all(_of_one_form(first, each) for each in kernels[1:]):
        return None
    return first.with_parameters(np.stack([each.parameters for each in kernels]))


def _of_one_form(one: Any, other: Any) -> bool:
    """Whether two kernels have the same parts, with as many parameters in each."""
    if type(one) is not type(other) or one.size != other.size:
        return False
    for each in fields(one):
        a, b = getattr(one, each.name), getattr(other, each.name)
        if isinstance(a, Kernel):
            if not _of_one_form(a, b):
                return False
        elif "parameter" not in each.metadata and a is not b and a != b:
            return False
    return True
