"""Any likelihood of one's own: two functions and a word about the answers."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number, listed, numbers
from gainful.errors import InvalidInput
from gainful.instruments.base import Instrument

__all__ = ["Likelihood"]

Array = NDArray[np.float64]

LogProb = Callable[[Any, Array], Any]
Simulate = Callable[[Array, np.random.Generator], Any]

_KINDS = ("real", "positive", "count")


@dataclass(frozen=True, init=False)
class Likelihood(Instrument):
    """An instrument from two functions: `log_prob(answer, f)`, log p(answer | f(x)), and `simulate(f, rng)`, an answer
    for each f.

    `answers` says what can be answered: a list of values (any that JSON has), "real", "positive" or "count". With a
    list, `log_prob` is called with one value of it and an array of f; otherwise with arrays of answers and of f that
    broadcast. Everything else follows by quadrature: inference, information, every acquisition, campaigns. A journal
    names the two functions, which are supplied again on resuming.

    A likelihood with parameters to learn is a subclass of Instrument with `answers`, `log_prob` and `simulate`.

    >>> def log_prob(answer, f):  # complementary log-log: yes with probability 1 − exp(−exp(f))
    ...     return np.log(-np.expm1(-np.exp(f))) if answer else -np.exp(f)
    >>> def simulate(f, rng):
    ...     return rng.random(np.shape(f)) < -np.expm1(-np.exp(f))
    >>> alarm = Likelihood(log_prob, simulate, answers=[False, True], name="alarm")
    >>> alarm.predict(np.zeros(1), np.zeros(1) + 1e-12).probability.round(4).tolist()
    [0.6321]
    """

    functions: tuple[LogProb, Simulate]
    possible: tuple[Any, ...] | str

    def __init__(
        self,
        log_prob: LogProb,
        simulate: Simulate,
        *,
        answers: Any,
        cost: float = 1.0,
        name: str | None = None,
        output: int | str | None = None,
    ) -> None:
        for argument, function in (("log_prob", log_prob), ("simulate", simulate)):
            if not callable(function) or not hasattr(function, "__name__") or isinstance(function, type):
                raise InvalidInput(argument, "a named function", function, "use def: a journal writes down its name")
        own = {"functions": (log_prob, simulate), "possible": _possible(answers), "cost": cost, "name": name}
        own["output"] = output
        for attribute, value in own.items():
            object.__setattr__(self, attribute, value)
        self.__post_init__()

    @property
    def answers(self) -> tuple[Any, ...] | str:
        return self.possible

    def log_prob(self, answers: Array, g: Array) -> Array:
        if isinstance(self.answers, str):
            return self._checked(self.functions[0](answers, g), np.broadcast_shapes(np.shape(answers), np.shape(g)))
        given, g = np.broadcast_arrays(answers, g)
        out = np.full(g.shape, -np.inf)
        for code, value in zip(self.values or (), self.answers, strict=True):
            mine = given == code
            if mine.any():
                out[mine] = self._checked(self.functions[0](value, g[mine]), (int(mine.sum()),))
        return out

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        drawn = np.asarray(self.functions[1](g, rng))
        if drawn.shape != np.shape(g):
            raise InvalidInput("simulate", f"answers of shape {np.shape(g)}", f"shape {drawn.shape}", "one for each f")
        return self.validate(drawn.ravel(), drawn.size).reshape(drawn.shape)

    def _checked(self, found: Any, shape: tuple[int, ...]) -> Array:
        """What the user's function gave: logarithms of probabilities, one for each value."""
        logs = numbers("log_prob", found, "numbers, one for each f", "return an array of logarithms")
        if logs.shape != shape:
            raise InvalidInput("log_prob", f"an array of shape {shape}", f"shape {logs.shape}", "one for each f")
        if not isinstance(self.answers, str) and np.any(logs > 1e-9):
            raise InvalidInput(
                "log_prob", "logarithms of probabilities, none above 0", float(np.max(logs)), "return log p, not p"
            )
        return logs


def _possible(answers: Any) -> tuple[Any, ...] | str:
    if isinstance(answers, str):
        if answers not in _KINDS:
            raise InvalidInput("answers", f"a list of values, or one of {list(_KINDS)}", answers, "a list for a few")
        return answers
    given = listed(answers)
    if given is None or isinstance(answers, Set):  # a set has no order
        raise InvalidInput("answers", f"a list of values, or one of {list(_KINDS)}", answers, "such as [False, True]")
    values = tuple(each.item() if isinstance(each, np.generic) else each for each in given)
    plain = all(isinstance(each, bool | str) or is_number(each) for each in values)
    if len(values) < 2 or not plain or len({(type(each) is bool, each) for each in values}) < len(values):
        raise InvalidInput(
            "answers", "two or more different values: numbers, words, True and False", answers, "list all"
        )
    if all(is_number(each) for each in values) and list(values) != sorted(values):
        raise InvalidInput("answers", "numbers in increasing order", answers, "sort them")
    return values
