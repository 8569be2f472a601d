"""Everything that follows from `log_prob` and `simulate` alone, for likelihoods without closed forms.

Averages over g ~ N(m, v) are by adaptive quadrature (`numerics.quadrature.tilted`), derivatives by differences of sixth
order at the step that serves best, averages over numbers and counts by nodes that a few simulated answers locate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_booleans, as_numbers, is_number, listed, refuse
from gainful.errors import InvalidInput
from gainful.instruments.terms import Derivatives, Partition
from gainful.numerics.quadrature import Tilted, gauss_hermite, sinh_lattice, tilted, tilted_about_mode

__all__ = [
    "answer_nodes",
    "derivatives",
    "outcomes",
    "partition",
    "pullback_theta",
    "tilted_by",
    "validate",
    "weighed",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
LogProb = Callable[[Array, Array], Array]

_CERTAIN = 1e-7  # of the size of g: a belief narrower than this is a point, and its averages are expansions about it
_STENCIL = np.arange(-3.0, 4.0)
_FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0
_SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180.0
_THIRD = np.array([1.0, -8.0, 13.0, 0.0, -13.0, 8.0, -1.0]) / 8.0
_STEPS = 2.0 ** -np.arange(0.0, 18.0)
_DRAWS = 64  # simulated answers for each of the nodes of g, to locate the answers
_ALL = 400  # counts that are all taken one by one; beyond, some stand for their neighbours


class Generic(Protocol):
    """What is asked of a likelihood here, and what it has for it."""

    @property
    def answers(self) -> Sequence[Any] | str: ...

    @property
    def log_concave(self) -> bool: ...

    @property
    def theta(self) -> Array: ...

    def log_prob(self, answers: Array, g: Array) -> Array: ...

    def simulate(self, g: Array, rng: np.random.Generator) -> Array: ...

    def derivatives(self, answers: Array, g: Array) -> Derivatives: ...

    def tilted(self, answers: Array, m: Array, v: Array) -> Tilted: ...

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition: ...

    def with_theta(self, theta: ArrayLike) -> Any: ...


def tilted_by(likelihood: Generic, answers: Array, m: Array, v: Array) -> Tilted:
    """p(g | answer) for each observation: about the mode where the likelihood is log-concave, adaptively otherwise."""

    def log_f(g: Array, which: Index) -> Array:
        return likelihood.log_prob(answers[which, None], g)

    if not likelihood.log_concave:
        return tilted(log_f, m, v)

    def slope_and_curvature(g: Array) -> tuple[Array, Array]:
        d = likelihood.derivatives(answers, g)
        return d.d1, d.d2

    return tilted_about_mode(log_f, slope_and_curvature, m, v)


def partition(likelihood: Generic, answers: Array, m: Array, v: Array) -> Partition:
    """log Z and its derivatives from the cumulants of the tilted distribution: dⁿ log Z/dmⁿ = κₙ/vⁿ for n ≥ 3."""
    sd = np.sqrt(v)
    point = sd <= _CERTAIN * (1.0 + np.abs(m))
    wide = np.flatnonzero(~point)
    out = [np.zeros(len(m)) for _ in range(6)]
    if wide.size:
        found = likelihood.tilted(answers[wide], m[wide], v[wide])
        mean, variance, third, fourth = found.cumulants()
        parts = (found.log_z, mean / sd[wide], (variance - 1.0) / v[wide], variance, third, fourth)
        for whole, part in zip(out, parts, strict=True):
            whole[wide] = part
    (narrow,) = np.nonzero(point)
    if narrow.size:
        d = likelihood.derivatives(answers[narrow], m[narrow])
        out[0][narrow] = d.log_p + 0.5 * v[narrow] * (d.d2 + d.d1**2)
        out[1][narrow], out[2][narrow], out[3][narrow] = d.d1, d.d2, 1.0 + v[narrow] * d.d2
        out[4][narrow] = v[narrow] ** 1.5 * d.d3
    return Partition(*out)


def derivatives(log_prob: LogProb, answers: Array, g: Array) -> Derivatives:
    """log p and three derivatives by central differences; the step is that from which halving it changes least.

    To about 1e-9, 1e-8 and 1e-7 of their size for a likelihood that is smooth over a thousandth to a thousand of g's
    unit.
    """
    unit = np.maximum(np.abs(g), 1.0)
    steps = _STEPS[:, None, None] * unit
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = log_prob(np.broadcast_to(answers, (len(steps), 7, *g.shape)), g + steps * _STENCIL[:, None])
        found = [
            np.einsum("s,ksn->kn", weights, values) / steps[:, 0] ** power
            for weights, power in ((_FIRST, 1), (_SECOND, 2), (_THIRD, 3))
        ]
    return Derivatives(log_prob(answers, g), *(_steadiest(each) for each in found))


def _steadiest(found: Array) -> Array:
    """The estimate (n,) that differs least from the next, of estimates (K, n) at ever smaller steps."""
    with np.errstate(invalid="ignore"):
        change = np.abs(np.diff(found, axis=0))
    change = np.where(np.isfinite(change), change, np.inf)
    # Two in a row: one coincidence is not convergence.
    both = np.maximum(change[:-1], change[1:])
    best = np.argmin(both, axis=0)
    return np.take_along_axis(found, best[None] + 1, axis=0)[0]


def pullback_theta(likelihood: Generic, answers: Array, m: Array, v: Array) -> Array:
    """d log Z/dtheta by central differences, (n, P)."""
    theta = likelihood.theta
    out = np.zeros((len(m), len(theta)))
    for i in range(len(theta)):
        step = np.zeros_like(theta)
        step[i] = 1e-3
        near, far = (
            likelihood.with_theta(theta + k * step).log_partition(answers, m, v).log_z
            - likelihood.with_theta(theta - k * step).log_partition(answers, m, v).log_z
            for k in (1.0, 2.0)
        )
        out[:, i] = (8.0 * near - far) / (12.0 * step[i])
    return out


def outcomes(likelihood: Generic, m: Array, v: Array) -> tuple[Array, Array]:
    """Nodes (Q, M) and weights (Q, M) for averages over a number, a positive number or a count to be answered."""
    if not len(m):
        return np.zeros((1, 0)), np.zeros((1, 0))
    return weighed(likelihood, *answer_nodes(likelihood, m, v), m, v)


def weighed(likelihood: Generic, nodes: Array, measure: Array, m: Array, v: Array) -> tuple[Array, Array]:
    """Answers (Q, M) and their weights (Q, M), from what each stands for and how likely it is."""
    flat = nodes.ravel()
    repeated = (np.tile(part, len(nodes)) for part in (m, v))
    log_z = likelihood.log_partition(flat, *repeated).log_z.reshape(nodes.shape)
    mass = np.where(np.isfinite(log_z), np.exp(log_z), 0.0) * measure
    total = mass.sum(axis=0)
    return nodes, mass / np.where(total > 0.0, total, 1.0)


def answer_nodes(likelihood: Generic, m: Array, v: Array) -> tuple[Array, Array]:
    """Answers (Q, M) and what each stands for (Q, M): a length, or a number of counts.

    A few simulated answers say where they lie. Numbers are placed by a sinh, dense in the middle and far into the
    tails; positive ones by their logarithm; counts one by one, or in growing steps where they are many.
    """
    z, share = gauss_hermite(9)
    rng = np.random.default_rng(0)
    g = m[:, None, None] + np.sqrt(v)[:, None, None] * z[:, None] + np.zeros(_DRAWS)
    drawn = np.asarray(likelihood.simulate(g, rng), dtype=float).reshape(len(m), -1)
    if likelihood.answers == "count":
        nodes, measure = _counts(drawn)
    else:
        drawn = np.log(np.maximum(drawn, 1e-300)) if likelihood.answers == "positive" else drawn
        weight = np.repeat(share, _DRAWS) / _DRAWS
        low, middle, high = (_quantile(drawn, weight, q) for q in (0.25, 0.5, 0.75))
        x, measure = sinh_lattice()
        spread = np.maximum((high - low) / 1.35, 1e-12 * (1.0 + np.abs(middle)))
        nodes, measure = middle + spread * x[:, None], spread * measure[:, None]
        if likelihood.answers == "positive":
            nodes = np.exp(np.clip(nodes, -700.0, 700.0))
            measure = measure * nodes
    shape = (len(nodes), len(m))
    return np.array(np.broadcast_to(nodes, shape)), np.array(np.broadcast_to(measure, shape))


def _quantile(drawn: Array, weight: Array, q: float) -> Array:
    order = np.argsort(drawn, axis=1)
    first = np.argmax(np.cumsum(weight[order], axis=1) >= q, axis=1)
    at = np.take_along_axis(order, first[:, None], axis=1)
    return np.take_along_axis(drawn, at, axis=1)[:, 0]


def _counts(drawn: Array) -> tuple[Array, Array]:
    """Counts (Q, 1) from zero to well beyond the largest that was drawn, and how many each stands for."""
    top = float(np.max(drawn))
    reach = int(top + 12.0 * np.sqrt(top + 1.0) + 20.0)
    if reach <= _ALL:
        nodes = np.arange(reach + 1.0)
    else:
        growing = np.unique(np.round(np.geomspace(_ALL // 2, 4.0 * reach, _ALL)))
        nodes = np.unique(np.concatenate([np.arange(_ALL // 2 + 1.0), growing]))
    edges = np.concatenate([[-0.5], 0.5 * (nodes[1:] + nodes[:-1]), [nodes[-1] + 0.5]])
    return nodes[:, None], np.diff(edges)[:, None]


def validate(possible: Sequence[Any] | str, answers: ArrayLike, n: int) -> Array:
    """Answers in canonical form: numbers as they are, other values by their position in the list."""
    if isinstance(possible, str):
        y = as_numbers(answers, (n,), {"count": f"{n} counts"}.get(possible, f"{n} numbers"))
        refuse(~np.isfinite(y), y, "finite numbers", "leave missing answers out")
        if possible != "real":
            refuse(y < 0.0, y, "numbers that are not negative", "check the sign")
        if possible == "count":
            refuse(y != np.round(y), y, "whole numbers", "a count has no fraction")
        return y
    values = list(possible)
    if all(isinstance(each, bool | np.bool_) for each in values):
        return as_booleans(answers, n)
    if all(is_number(each) for each in values):
        array = as_numbers(answers, (n,), f"{n} answers")
        wrong = ~np.isin(array, np.asarray(values, dtype=float))
        refuse(wrong, array, f"one of {values}", "see the instrument's answers")
        return array
    given = np.array(listed(answers) or [], dtype=object)
    if given.shape != (n,):
        raise InvalidInput("answers", f"{n} of {values}", f"shape {given.shape}", "give one answer per place")
    wrong = np.array([not isinstance(each, str | bool | Real) or each not in values for each in given], dtype=bool)
    refuse(wrong, given, f"one of {values}", "as they are listed")
    return np.array([float(values.index(each)) for each in given])
