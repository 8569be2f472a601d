"""Makes acquisition functions for a pool from their names: gainful's own strategies, and scikit-activeml's.

bald                                             a name of `gainful.strategies()`
upper-confidence-bound:beta=9                    with options of its acquisition
activeml:UncertaintySampling:method=entropy      a strategy of scikit-activeml, with options
"""

from __future__ import annotations

import difflib
import inspect
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, Random, RandomType, strategies
from gainful.errors import InvalidInput
from gainful.lab.activeml import ActiveML

__all__ = ["ACTIVEML", "acquisition_by_name", "without_options"]

Array = NDArray[np.float64]

ACTIVEML = "activeml"


def acquisition_by_name(name: str, pool: Array, seed: int) -> Acquisition | Random | RandomType:
    """The acquisition of that name, for a campaign over the pool (P, D).

    One that predicts somewhere does so on the pool, where it was not told otherwise; one that draws does so by seed.

    >>> acquisition_by_name("bald", np.zeros((3, 1)), 0)
    Learn(about='function')
    """
    word, *rest = name.split(":")
    if word == ACTIVEML:
        if not rest:
            raise InvalidInput("strategies", f"{ACTIVEML}:NAME", name, f"for instance {ACTIVEML}:UncertaintySampling")
        try:
            return ActiveML(rest[0], _options(name, rest[1:]), seed)
        except InvalidInput as error:
            if error.argument != "name":
                raise
            raise InvalidInput("strategies", error.expected, name, error.remedy) from None
    found = next((each for each in strategies() if each.name == word), None)
    if found is None:
        known = [each.name for each in strategies()]
        close = difflib.get_close_matches(word, known, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"scikit-activeml's are named {ACTIVEML}:NAME"
        raise InvalidInput("strategies", f"among {', '.join(known)}", word, remedy)
    takes = inspect.signature(found.make.kind).parameters
    usual = {"reference": pool, "over": pool, "seed": seed}
    return found.make(**{**{k: v for k, v in usual.items() if k in takes}, **_options(name, rest)})


def without_options(name: str) -> str:
    """The name alone.

    >>> without_options("upper-confidence-bound:beta=9"), without_options("activeml:QueryByCommittee:method=vote")
    ('upper-confidence-bound', 'activeml:QueryByCommittee')
    """
    words = name.split(":")
    return ":".join(words[: 2 if words[0] == ACTIVEML else 1])


def _options(name: str, words: list[str]) -> dict[str, Any]:
    """OPTION=VALUE each, with values as JSON has them; whatever is no JSON is a word."""
    found = {}
    for word in words:
        option, equals, value = word.partition("=")
        if not equals or not option:
            raise InvalidInput("strategies", "options as NAME:OPTION=VALUE", name, "several are divided by colons")
        try:
            found[option] = json.loads(value)
        except ValueError:
            found[option] = value
    return found
