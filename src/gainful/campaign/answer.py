"""One answer as a journal has it: checked by its instrument, in the plain form that comes back from JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.instruments import Instrument

__all__ = ["canonical_answer"]


def canonical_answer(instrument: Instrument, answer: Any) -> Any:
    """The answer as it will come back from the journal; InvalidInput if the instrument cannot give it.

    An array of one number is that number.

    >>> from gainful.instruments import Interval, Point
    >>> canonical_answer(Point(), np.array([0.3])), canonical_answer(Interval(), [-np.inf, 1])
    (0.3, (-inf, 1.0))
    """
    array = _as_one(instrument, answer)
    try:
        value = instrument.validate(array[None], 1)[0]
    except InvalidInput as trouble:
        raise InvalidInput("answer", trouble.expected.removeprefix("1 "), answer, trouble.remedy) from None
    except (ValueError, OverflowError):  # NumPy, of a whole number that no double can hold
        raise _refused(instrument, answer) from None
    plain = instrument.encode(value)
    return tuple(plain) if isinstance(plain, list) else plain


def _as_one(instrument: Instrument, answer: Any) -> NDArray[Any]:
    """The answer as an array of the shape that one answer has; what NumPy would take for a number is refused."""
    if np.ma.is_masked(answer):
        raise InvalidInput("answer", "an answer", "a masked value", "leave missing answers out, or withdraw the query")
    try:
        array = np.asarray(answer)
    except ValueError:  # lists of unequal length
        raise _refused(instrument, answer) from None
    axes = instrument.answer_axes
    extra = array.ndim - axes
    if extra in (1, 2) and array.shape[:extra] == (1,) * extra:  # a list of one answer, or a table of one row
        array = array.reshape(array.shape[extra:])
    if array.ndim != axes:
        raise _refused(instrument, answer)
    worded = not isinstance(instrument.answers, str) and any(isinstance(each, str) for each in instrument.answers)
    if array.dtype.kind in "cmMV" or (array.dtype.kind in "SU" and not worded):
        raise _refused(instrument, answer)
    return array


def _refused(instrument: Instrument, answer: Any) -> InvalidInput:
    return InvalidInput("answer", instrument.answer_words, answer, "tell what one use of the instrument gave")
