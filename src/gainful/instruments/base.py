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
    reading(answers)                 of a Gaussian instrument: the number and its noise
    validate, encode, describe       answers from users, to a journal, in words
    is_scaled, rescaled              whether f may be measured in another unit, and the instrument for it

all in log space. log_prob is log_partition at v = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import (
    as_booleans,
    is_number,
    require,
    require_count,
    require_kind,
    require_name,
    require_positive,
)
from gainful.coordinates import output_code, require_output
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
    "require_unit",
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
    """One way of measuring; see the module for its verbs. `cost` is what one use costs, `name` what people call it, and
    `unit` what its numbers are in."""

    query: ClassVar[str] = "place"  # "place", "pair" or "set": what one query consists of
    most_places: ClassVar[int | None] = None  # of a set
    answer_axes: ClassVar[int] = 0  # 1 when one answer is itself a pair of numbers
    answer_words: ClassVar[str] = "one answer: a number, a rank, True or False"  # what one answer looks like
    gaussian: ClassVar[bool] = False  # True when the likelihood is Gaussian in g, so that inference is exact
    log_concave: ClassVar[bool] = False  # True when log_prob is concave in g for every answer, with `derivatives`
    spans: ClassVar[tuple[str, ...]] = ()  # what is a difference in the unit of f, its noise for instance
    alike: ClassVar[bool] = False  # True when the functions that it sees are alike, and their differences alone count
    shifts: ClassVar[bool] = False  # True when a number's log_prob depends on answer − g alone, and has no channel

    cost: float = field(default=1.0, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    output: int | str | None = field(default=None, kw_only=True)  # which of several functions, by name or number
    unit: str = field(default="", kw_only=True)  # of what it measures, such as "°C"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output is not None:
            words = "the name of the function that it sees, or its number: 0, 1, …"
            object.__setattr__(self, "output", require_output("output", self.output, words))
            fits = self.query == "place" or type(self).outputs is not Instrument.outputs
            require(fits, "output", "None for pairs and sets", self.output, "leave it out")
        require_positive("cost", self.cost, "say what one use costs")
        if self.name is not None:
            require_name("name", self.name, "leave it out, or say what people call the instrument")
        require_kind("unit", self.unit, str, "text such as '°C'", "leave it out where there is none")
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
        """What people call it: its name, or else that of its output, or else its kind."""
        return self.name or (self.output if isinstance(self.output, str) else type(self).__name__)

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

    @property
    def outputs(self) -> tuple[int, ...] | None:
        """The functions that it sees at a place, where there are several, as last coordinates: their numbers, or codes
        of their names. None where there is one function."""
        return None if self.output is None else (output_code(self.output),)

    @property
    def seen_outputs(self) -> tuple[int | str, ...]:
        """The same by number or by name; none where there is one function."""
        return () if self.output is None else (self.output,)

    @property
    def asks(self) -> str:
        """What it is asked for: "place", "pair" or "set"."""
        return "place" if self.outputs is not None else self.query

    def sees(self, queries: Array) -> Array:
        """The places that queries (n, d), (n, 2, d) or (n, k, d) look at, of these shapes; of several functions each of
        k `outputs` is looked at, (n, k, d + 1), its number being a last coordinate."""
        if self.outputs is None:
            return queries
        n, d = queries.shape
        places = np.empty((n, len(self.outputs), d + 1))
        places[:, :, :d], places[:, :, d] = queries[:, None], self.outputs
        return places

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

    # The unit of the function

    @property
    def is_scaled(self) -> bool:
        """Whether all that the instrument says of f is in f's own unit, so that f may be measured in another one."""
        return bool(self.spans)

    def rescaled(self, shift: float, factor: float) -> Self:
        """The instrument as it sees f' = (f − shift)/factor; its answers are then those of `rescale_answers`."""
        require_unit(shift, factor)
        if not self.is_scaled:
            raise InvalidInput(
                "instrument", "one whose numbers are in the function's unit", self,
                "f is measured by this instrument's own scale; shift and scale nothing",
            )  # fmt: skip
        return replace(self._in_unit(float(shift), float(factor)), unit="")  # f' has another

    def _in_unit(self, shift: float, factor: float) -> Self:
        given = {name: getattr(self, name) for name in self.spans}
        return replace(self, **{name: value / factor for name, value in given.items() if value is not None})

    def rescale_answers(self, answers: Array, shift: float, factor: float) -> Array:
        """Answers in canonical form when f' = (f − shift)/factor is the function: numbers and ends change with f, ranks
        and yes/no stay as they are."""
        require_unit(shift, factor)
        return (answers - shift) / factor if self.is_scaled and self.answers == "real" else answers

    def standardised(self) -> tuple[Instrument, float]:
        """The instrument in the unit of its own noise, and that unit, where answer − g alone counts (`shifts`)."""
        return self, 1.0

    def grain(self, answers: Array) -> float | None:
        """A step of g that resolves log_prob of these answers, for sums on a lattice; None where it is not known."""
        return None

    def window(self, answers: Array) -> Array | None:
        """(lo, hi, noise) of each answer, (n, 3), where it says no more than lo ≤ g + ε ≤ hi with ε ~ N(0, noise²).

        Answers of all such instruments are then treated together.
        """
        return None

    def reading(self, answers: Array) -> Array:
        """(y, noise) of each answer of a Gaussian instrument, (n, 2): it says y = g + ε with ε ~ N(0, noise²)."""
        noise = float(getattr(self, "noise"))  # noqa: B009 - Gaussian means it has noise, unless it says otherwise here
        return np.column_stack([answers, np.full(len(answers), noise)])

    def bits(self, m: Array, v: Array) -> Array | None:
        """I(answer; g) in bits when g ~ N(m, v), (n,), of a set without a channel; None where it is not known."""
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


def require_unit(shift: object, factor: object) -> None:
    """Refuse what is no change of unit, f' = (f − shift)/factor."""
    fine = is_number(shift) and bool(np.isfinite(shift))
    require(fine, "shift", "a finite number", shift, "what becomes zero, in the function's unit")
    require_positive("factor", factor, "what becomes one, in the function's unit")
