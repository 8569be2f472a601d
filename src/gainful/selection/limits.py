"""The last steps of a climb along linear limits, where the best place often lies on a face that no box has.

From the best place found so far, sequential quadratic programming (SLSQP) follows the score with the limits, the bounds
and the sums of mixtures held. What it reaches is pulled a billionth of the limits inwards, since it keeps them up to
rounding only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gainful.selection.chart import Chart
from gainful.space import LinearLimit, Restricted

__all__ = ["along_limits"]

Array = NDArray[np.float64]

_STEPS = 40
_INWARDS = 1e-9  # of the largest term of a limit


def along_limits(
    chart: Chart, place: Array, score_and_gradient: Callable[[Array], tuple[float, Array]]
) -> Array | None:
    """The query reached from this one, (d,), (2, d) or (k, d); None where there is no linear limit, or nothing moves.

    score_and_gradient gives the score of a query and its derivatives in the coordinates of the chart.
    """
    limits = _rows(chart)
    moves = chart.moves(place)
    if limits is None or not moves.any():
        return None
    (A, b), (E, e) = limits, _sums(chart)
    width = np.where(chart.high > chart.low, chart.high - chart.low, 1.0)
    scale = 1.0

    def placed(z: Array) -> Array:
        out = place.copy()
        out[moves] = z
        return np.where(moves, np.clip(chart.low + width * out, chart.low, chart.high), place)

    def objective(z: Array) -> tuple[float, Array]:
        here = placed(z)
        score, slopes = score_and_gradient(here)
        gradient = slopes / chart.unit(here) * width
        return -score / scale, -gradient[moves] / scale

    def there(z: Array) -> Array:
        """The places as rows, with 0 for what is absent."""
        rows = np.atleast_2d(placed(z))
        return np.where(chart.coordinates.active(rows), rows, 0.0)

    def slopes_of(M: Array) -> Array:
        """d (M x) / dz for each place of the query, (rows · places, moves)."""
        full = np.zeros((len(np.atleast_2d(place)), len(M), *np.atleast_2d(place).shape))
        for i in range(len(full)):
            full[i, :, i] = M * width
        return np.asarray(full.reshape(-1, place.size)[:, moves.ravel()])

    inside: dict[str, Any] = {
        "type": "ineq",
        "fun": lambda z: (b - there(z) @ A.T).ravel(),
        "jac": lambda z: -slopes_of(A),
    }
    sums: dict[str, Any] = {"type": "eq", "fun": lambda z: (there(z) @ E.T - e).ravel(), "jac": lambda z: slopes_of(E)}
    constraints: Any = [inside, sums] if len(E) else [inside]
    start = ((place - chart.low) / width)[moves]
    scale = max(abs(objective(start)[0]), np.finfo(float).tiny)
    found = minimize(
        objective,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(start),
        constraints=constraints,
        options={"maxiter": _STEPS, "ftol": 1e-10},
    )
    return placed(np.asarray(found.x)) if np.all(np.isfinite(found.x)) else None


def _rows(chart: Chart) -> tuple[Array, Array] | None:
    """A x ≤ b, all limits a little tighter than they are; None where there is none."""
    space = chart.space
    constraints = space.constraints if isinstance(space, Restricted) else ()
    rows, ends = [], []
    for limit in constraints:
        if isinstance(limit, LinearLimit):
            w, (least, most) = limit.vector(space.names), limit.ends
            slack = _INWARDS * float(np.max(np.abs(w) * np.maximum(np.abs(chart.low), np.abs(chart.high))))
            for sign, end in ((1.0, most), (-1.0, -least)):
                if np.isfinite(end):
                    rows.append(sign * w)
                    ends.append(end - slack)
    return (np.array(rows), np.array(ends)) if rows else None


def _sums(chart: Chart) -> tuple[Array, Array]:
    """E x = e, for mixtures."""
    E = np.zeros((len(chart.mixtures), len(chart.low)))
    for i, (columns, _) in enumerate(chart.mixtures):
        E[i, columns] = 1.0
    return E, np.array([total for _, total in chart.mixtures])
