"""One of several classes: each has a latent function, and the largest of them, with noise, wins."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from gainful.checks import column_names, listed, refuse
from gainful.coordinates import output_code
from gainful.errors import InvalidInput
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.base import Derivatives, Instrument, Partition
from gainful.numerics.largest import MOST, expected_entropy, first_is_largest, log_each_is_largest, log_first_is_largest
from gainful.numerics.normal import hazard

__all__ = ["Classes"]

Array = NDArray[np.float64]
Order = NDArray[np.intp]

_EXACT = 4  # classes up to which probabilities are nested integrals


@dataclass(frozen=True)
class Classes(Instrument):
    """The answer is the c whose f_c(x) + ε_c is largest, ε standard normal: multinomial probit.

    P(c | f) = E_u Π_{j≠c} Φ(u + f_c − f_j), u standard normal (Riihimäki, Jylänki & Vehtari 2013). Each of two to ten
    `labels` has a function of its own, f_c(x) = f(x, c): places are those of the space, to which the instrument appends
    the number of the class, 0, 1, …, as a last coordinate, and the kernel says how the functions go together.

    >>> Classes(["red", "green", "blue"]).levels
    3
    """

    query: ClassVar[str] = "set"
    alike: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    labels: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _labels(self.labels))
        super().__post_init__()

    @property
    def answers(self) -> tuple[Any, ...]:
        return tuple(self.labels)

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(float(c) for c in range(len(self.labels)))

    @property
    def outputs(self) -> tuple[int, ...]:
        return tuple(output_code(each) for each in self.seen_outputs)

    @property
    def seen_outputs(self) -> tuple[int | str, ...]:
        """One for each label: numbers from `output` on, or names such as "phase: oil"."""
        if isinstance(self.output, str):
            return tuple(f"{self.output}: {label}" for label in self.labels)
        first = self.output or 0
        return tuple(range(first, first + len(self.labels)))

    def validate(self, answers: ArrayLike, n: int) -> Array:
        given = np.array(listed(answers) or [], dtype=object)
        if given.shape != (n,):
            raise InvalidInput("answers", f"{n} of {list(self.labels)}", f"shape {given.shape}", "give one per place")
        codes = {(type(each) is bool, each): float(c) for c, each in enumerate(self.labels)}
        plain = [each.item() if isinstance(each, np.generic) else each for each in given]
        known = [isinstance(each, str | bool | int | float) and (type(each) is bool, each) in codes for each in plain]
        refuse(~np.array(known, dtype=bool), given, f"one of {list(self.labels)}", "as they are listed")
        return np.array([codes[type(each) is bool, each] for each in plain])

    def log_prob(self, answers: Array, g: Array) -> Array:
        turned, _ = self._first(answers, g)
        return log_first_is_largest(turned).log_p

    def _first(self, answers: Array, g: Array) -> tuple[Array, Order]:
        """g with the class that was answered first, and the order (n, k) that it is in."""
        own, k = answers.astype(np.intp), g.shape[-1]
        order = (own[:, None] + np.arange(k)) % k
        return np.take_along_axis(g, order, axis=1), order

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        """m is (n, k) and v (n, k, k): f + ε is N(m, v + I), of which the one that was answered is the largest."""
        turned, order = self._first(answers, m)
        rows, back = np.arange(len(m))[:, None], np.argsort(order, axis=1)
        cov = v[rows[:, :, None], order[:, :, None], order[:, None, :]] + np.eye(m.shape[1])
        log_p, slope, curvature = first_is_largest(turned, cov)
        d2 = curvature[rows[:, :, None], back[:, :, None], back[:, None, :]]
        return Partition(log_p, slope[rows, back], d2, np.ones_like(log_p))

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        """log P and its derivatives: cumulants over u of those of Σ_j log Φ(a_j), a_j = u + g_c − g_j."""
        turned, order = self._first(answers, g)
        log_p, weight, a = log_first_is_largest(turned)
        k = g.shape[1]
        h = hazard(a)
        second, third = -h * (a + h), h * ((a + h) * (a + 2.0 * h) - 1.0)
        turn = np.column_stack([np.ones(k - 1), -np.eye(k - 1)])  # a in g
        score = h @ turn  # ∂ log of the integrand, (n, Q, k)
        bend = np.einsum("nqj,ja,jb->nqab", second, turn, turn, optimize=True)
        d1 = np.einsum("nq,nqa->na", weight, score)
        s = score - d1[:, None]
        d2 = np.einsum("nq,nqab->nab", weight, bend) + np.einsum("nq,nqa,nqb->nab", weight, s, s, optimize=True)
        mixed = np.einsum("nq,nqab,nqc->nabc", weight, bend, s, optimize=True)
        d3 = np.einsum("nq,nqa,nqb,nqc->nabc", weight, s, s, s, optimize=True)
        d3 += mixed + np.moveaxis(mixed, 3, 1) + np.moveaxis(mixed, 3, 2)
        d3 += np.einsum("nq,nqj,ja,jb,jc->nabc", weight, third, turn, turn, turn, optimize=True)
        rows, back = np.arange(len(g)), np.argsort(order, axis=1)
        grid2 = rows[:, None, None], back[:, :, None], back[:, None, :]
        grid3 = rows[:, None, None, None], back[:, :, None, None], back[:, None, :, None], back[:, None, None, :]
        return Derivatives(log_p, d1[rows[:, None], back], d2[grid2], d3[grid3])

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        return np.zeros((len(m), 0))

    def predict(self, m: Array, v: Array) -> DiscreteAnswers:
        return DiscreteAnswers(self.values, log_each_is_largest(m, v + np.eye(m.shape[1])))

    def bits(self, m: Array, v: Array) -> Array:
        """H[E p] − E H[p] over g ~ N(m, v); of more than four classes from one set of nodes, to a few hundredths."""
        mean, given = expected_entropy(m, v)
        p = mean if m.shape[1] > _EXACT else self.predict(m, v).probabilities
        return np.maximum(-xlogy(p, p).sum(axis=1) - given, 0.0) / np.log(2.0)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return np.argmax(g + rng.standard_normal(np.shape(g)), axis=-1).astype(float)


def _labels(labels: Any) -> tuple[Any, ...]:
    in_order = not isinstance(labels, Set | Iterator) and column_names(labels) is None
    given = listed(labels) if in_order else None
    values = () if given is None else tuple(e.item() if isinstance(e, np.generic) else e for e in given)
    plain = all(isinstance(each, str) or (isinstance(each, int | float) and abs(each) < np.inf) for each in values)
    distinct = plain and len({(type(each) is bool, each) for each in values}) == len(values)
    if not distinct or not 2 <= len(values) <= MOST:
        raise InvalidInput(
            "labels", f"two to {MOST} different values: words, numbers, True and False", labels,
            "more classes are answered one against the rest, by a Binary each",
        )  # fmt: skip
    return values
