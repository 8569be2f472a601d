"""What an instrument is: how an answer depends on the unknown function, and what it costs.

Every answer sees the function only through g = A f: f(x) for one place, f(u) − f(v) for a pair, (f(x₁) … f(x_k)) for
a set. An instrument knows nothing of data sizes, kernels or inference. Whoever writes one must say

    answers                          what can be answered: a list of values, "real", "positive" or "count"
    log_prob(answers, g)             log p(answer | g), vectorised over n observations
    simulate(g, rng)                 an answer for each g

and everything else follows by one-dimensional quadrature (`generic`). Where there is a closed form the instrument has
it instead:

    log_partition(answers, m, v)     log ∫ p(answer | g) N(g; m, v) dg and its derivatives in m
    derivatives(answers, g)          log p(answer | g) and its first three derivatives in g
    pullback_theta(answers, m, v)    derivatives of log_partition in the instrument's own theta
    predict(m, v)                    the predictive distribution of the answer when g ~ N(m, v)
    outcomes(m, v)                   the answers that may come, or nodes and weights for averages over them
    channel()                        the reading behind the answer, so that exact formulas for information apply
    window(answers)                  the same for inference: answers that say no more than lo ≤ g + ε ≤ hi
    validate, encode, describe       answers from users, to a journal, in words

all in log space. log_prob is log_partition at v = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_booleans, is_number, require_count, require_name, require_positive
from gainful.errors import InvalidInput
from gainful.instruments import generic
from gainful.instruments.answers import Answers, DiscreteAnswers, NumericAnswers
from gainful.instruments.channel import Channel
from gainful.instruments.terms import Derivatives, Partition
from gainful.numerics.quadrature import Tilted
from gainful.parameters import Parametrised

__all__ = [
    "LARGEST",
    "Derivatives",
    "Instrument",
    "Outcomes",
    "Partition",
    "Rows",
    "Term",
    "TermLikelihood",
    "YesNo",
]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

LARGEST = 1e100  # the largest answer in size: beyond it squares overflow


class Outcomes(NamedTuple):
    """Answers that may come, (Q, M, ...) in canonical form, and their weights (Q, M), which sum to one for each query.

    Without weights, None, they are all the answers there are, and each weighs its own probability.
    """

    answers: Array
    weight: Array | None


class TermLikelihood(Protocol):
    """What inference asks of the observations in a term."""

    @property
    def gaussian(self) -> bool: ...

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition: ...

    def derivatives(self, answers: Array, g: Array) -> Derivatives: ...


class Term(NamedTuple):
    """Observations that inference treats alike: their likelihood, answers, and the rows of g each one sees, (n, k)."""

    likelihood: TermLikelihood
    answers: Array
    rows: Rows


@dataclass(frozen=True)
class Instrument(Parametrised, ABC):
    """One way of measuring; see the module for its verbs. `cost` is what one use costs, `name` what people call it."""

    query: ClassVar[str] = "place"  # "place", "pair" or "set": what one query consists of
    most_places: ClassVar[int | None] = None  # of a set
    answer_axes: ClassVar[int] = 0  # 1 when one answer is itself a pair of numbers
    gaussian: ClassVar[bool] = False  # True when the likelihood is Gaussian in g, so that inference is exact
    log_concave: ClassVar[bool] = False  # True when log_prob is concave in g for every answer, with `derivatives`
    shifts: ClassVar[bool] = False  # True when a number's log_prob depends on answer − g alone, and has no channel

    cost: float = field(default=1.0, kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("cost", self.cost, "say what one use costs")
        if self.name is not None:
            require_name("name", self.name, "leave it out, or say what people call the instrument")
        require_count("buckets", self.levels, 2, "100 is what was published")
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                raise InvalidInput(name, "one number", value, "make one instrument for each value")

    # What a new instrument must say

    @property
    @abstractmethod
    def answers(self) -> Sequence[Any] | str:
        """What can be answered: the values, lowest first, or "real", "positive" or "count"."""

    @abstractmethod
    def log_prob(self, answers: Array, g: Array) -> Array:
        """log p(answer | g) for answers in canonical form, elementwise; answers and g broadcast."""

    @abstractmethod
    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        """An answer for each g, in canonical form."""

    # What follows from it

    @property
    def label(self) -> str:
        return self.name or type(self).__name__

    @property
    def values(self) -> tuple[float, ...] | None:
        """The answers in canonical form, where they are few: the numbers themselves, or else their positions."""
        if isinstance(self.answers, str):
            return None
        listed = tuple(self.answers)
        numeric = all(is_number(each) or isinstance(each, bool | np.bool_) for each in listed)
        return tuple(float(each) for each in listed) if numeric else tuple(float(i) for i in range(len(listed)))

    @property
    def levels(self) -> int:
        """How many answers can be told apart, for normalised scores; a hundred of a number, as published."""
        return 100 if isinstance(self.answers, str) else len(self.answers)

    def channel(self) -> Channel | None:
        """The reading behind the answer; None where the answer does not come from one."""
        return None

    @property
    def is_predictable(self) -> bool:
        """Whether it is known what an answer will look like before it comes."""
        return True

    @property
    def is_certain(self) -> bool:
        """Whether the answer is known once g is: asked again, it tells nothing."""
        channel = self.channel() if self.is_predictable else None
        if channel is None or channel.is_interval:  # a window may lie elsewhere the next time
            return False
        return channel.noise == 0.0 and channel.mixing is None

    def validate(self, answers: ArrayLike, n: int) -> Array:
        """Answers of n queries in canonical form, or InvalidInput."""
        return generic.validate(self.answers, answers, n)

    def encode(self, answer: Any) -> Any:
        """One answer in canonical form, as JSON has it: the value that `answers` lists, or a number."""
        values = self.values
        if values is None:
            return int(answer) if self.answers == "count" else float(answer)
        value = self.answers[values.index(float(answer))]
        return value.item() if isinstance(value, np.generic) else value

    def describe(self, answer: Any) -> str:
        """One answer in canonical form, in words."""
        value = self.encode(answer)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.4g}" if is_number(value) else str(value)

    def mentioned(self, answers: Array) -> Array:
        """Numbers in the function's unit that the answers speak of, for the scale of default priors; none as a rule."""
        return np.zeros(0)

    def tilted(self, answers: Array, m: Array, v: Array) -> Tilted:
        """p(g | answer) ∝ p(answer | g) N(g; m, v) for each observation, as nodes and weights."""
        return generic.tilted_by(self, answers, m, v)

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        """log Z = log ∫ p(answer | g) N(g; m, v) dg and its derivatives in m."""
        return generic.partition(self, answers, m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        """log p(answer | g) and its first three derivatives in g."""
        return generic.derivatives(self.log_prob, answers, g)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        """d log Z/dtheta, (n, P)."""
        return generic.pullback_theta(self, answers, m, v)

    def predict(self, m: Array, v: Array) -> Answers:
        """The predictive distribution of the answer when g ~ N(m, v)."""
        values = self.values
        if values is None:
            return NumericAnswers(self, m, v)
        logs = [self.log_partition(np.full_like(m, value), m, v).log_z for value in values]
        return DiscreteAnswers(values, np.stack(logs, axis=-1))

    def outcomes(self, m: Array, v: Array, means: bool = True) -> Outcomes:
        """The answers that may come when g ~ N(m, v), (M,) each or (M, k), (M, k, k) for a set.

        Without `means` only averages are wanted that do not depend on where a number lies.
        """
        values = self.values
        if values is not None:
            return Outcomes(np.repeat(np.asarray(values)[:, None], len(m), axis=1), None)
        return Outcomes(*generic.outcomes(self, m, v))

    def grain(self, answers: Array) -> float | None:
        """A step of g that resolves log_prob of these answers, for sums on a lattice; None where it is not known."""
        return None

    def window(self, answers: Array) -> Array | None:
        """(lo, hi, noise) of each answer, (n, 3), where it says no more than lo ≤ g + ε ≤ hi with ε ~ N(0, noise²).

        Answers of all such instruments are then treated together.
        """
        return None

    def split(self, answers: Array, rows: Rows) -> Sequence[Term]:
        """The observations as terms for inference; a set's "no" becomes one term per place, for instance."""
        return [Term(self, answers, rows)]


@dataclass(frozen=True)
class YesNo(Instrument):
    """An instrument that is answered by yes or no."""

    @property
    def answers(self) -> tuple[bool, bool]:
        return False, True

    def validate(self, answers: ArrayLike, n: int) -> Array:
        return as_booleans(answers, n)
