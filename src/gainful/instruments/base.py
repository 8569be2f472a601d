"""What an instrument is: how an answer depends on the unknown function, and what it costs.

Every answer sees the function only through g = A f: f(x) for one place, f(u) − f(v) for a pair, (f(x₁) … f(x_k)) for
a set. An instrument knows nothing of data sizes, kernels or inference. It says

    log_prob(answers, g)             log p(answer | g), and with `derivatives` its first three derivatives in g
    log_partition(answers, m, v)     log ∫ p(answer | g) N(g; m, v) dg and its first two derivatives in m
    pullback_theta(answers, m, v)    its derivatives in the instrument's own theta
    answers(m, v)                    the predictive distribution of the answer when g ~ N(m, v)
    simulate(g, rng)                 an answer
    validate(answers, n)             the answers in canonical form, or InvalidInput

all vectorised over n observations and in log space. log_prob is log_partition at v = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput
from gainful.instruments.answers import Answers
from gainful.parameters import Parametrised

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


LARGEST = 1e100  # the largest answer in size: beyond it squares overflow


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


class Likelihood(Protocol):
    """What inference asks of the observations in a term."""

    @property
    def gaussian(self) -> bool: ...

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition: ...

    def derivatives(self, answers: Array, g: Array) -> Derivatives: ...


class Term(NamedTuple):
    """Observations that inference treats alike: their likelihood, answers, and the rows of g each one sees, (n, k)."""

    likelihood: Likelihood
    answers: Array
    rows: Rows


@dataclass(frozen=True)
class Instrument(Parametrised, ABC):
    """One way of measuring; see the module for its verbs. `cost` is what one use costs, `name` what people call it."""

    query: ClassVar[str] = "place"  # "place", "pair" or "set": what one query consists of
    most_places: ClassVar[int | None] = None  # of a set
    answer_axes: ClassVar[int] = 0  # 1 when one answer is itself a pair of numbers
    gaussian: ClassVar[bool] = False  # True when the likelihood is Gaussian in g, so that inference is exact

    cost: float = field(default=1.0, kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("cost", self.cost, "say what one use costs")
        if not isinstance(self.levels, int) or self.levels < 2:
            raise InvalidInput("buckets", "a whole number of at least 2", self.levels, "100 is what was published")
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                raise InvalidInput(name, "one number", value, "make one instrument for each value")

    @property
    def label(self) -> str:
        return self.name or type(self).__name__

    @property
    def levels(self) -> int:
        """How many answers can be told apart: two, unless the instrument says otherwise."""
        return 2

    @abstractmethod
    def validate(self, answers: ArrayLike, n: int) -> Array:
        """Answers of n queries in canonical form."""

    @abstractmethod
    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition: ...

    @abstractmethod
    def derivatives(self, answers: Array, g: Array) -> Derivatives: ...

    @abstractmethod
    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        """d log Z/dtheta, (n, P)."""

    @abstractmethod
    def answers(self, m: Array, v: Array) -> Answers: ...

    @abstractmethod
    def simulate(self, g: Array, rng: np.random.Generator) -> Array: ...

    def log_prob(self, answers: Array, g: Array) -> Array:
        """log p(answer | g), (n,)."""
        return self.derivatives(answers, g).log_p

    def window(self, answers: Array) -> Array | None:
        """(lo, hi, noise) of each answer, (n, 3), where it says no more than lo ≤ g + ε ≤ hi with ε ~ N(0, noise²).

        Answers of all such instruments are then treated together.
        """
        return None

    def split(self, answers: Array, rows: Rows) -> Sequence[Term]:
        """The observations as terms for inference; a set's "no" becomes one term per place, for instance."""
        return [Term(self, answers, rows)]


def require_positive(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite positive number."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not (np.isfinite(value) and value > 0)
    ):
        raise InvalidInput(argument, "a finite positive number", value, remedy)


def require_not_negative(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite number of at least zero."""
    number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    if not number or not (np.isfinite(value) and value >= 0):  # type: ignore[call-overload,operator]  # it is a number
        raise InvalidInput(argument, "a finite number, not negative", value, remedy)


def as_numbers(answers: ArrayLike, shape: tuple[int, ...], expected: str) -> Array:
    """Answers as floats of the given shape, or InvalidInput."""
    try:
        array = np.asarray(answers, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput("answers", expected, answers, "convert them to numbers") from None
    if array.shape != shape:
        raise InvalidInput(
            "answers", f"{expected} (shape {shape})", f"shape {array.shape}", "give one answer per place"
        )
    return array


def as_booleans(answers: ArrayLike, n: int) -> Array:
    """Yes/no answers as 1.0 and 0.0: True/False or 1/0, nothing else (−1/+1 would be ambiguous)."""
    array = as_numbers(answers, (n,), f"{n} yes/no answers")
    wrong = ~((array == 0.0) | (array == 1.0))
    if np.any(wrong):
        raise InvalidInput(
            "answers", "True or False (1 or 0)", float(array[wrong][0]), "code yes as True and no as False"
        )
    return array


def refuse(wrong: NDArray[np.bool_], values: Any, expected: str, remedy: str) -> None:
    """Raise InvalidInput naming the first offending answer and its position."""
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise InvalidInput("answers", expected, f"{np.asarray(values)[first].tolist()} at position {first}", remedy)
