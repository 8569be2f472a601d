"""The best place of a campaign so far, with what is uncertain about it, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition.optimum import MAXIMISE
from gainful.campaign.design import Design
from gainful.campaign.goal import SIGNS, sign_of
from gainful.campaign.initial import with_an_instrument
from gainful.campaign.state import State
from gainful.campaign.terms import called, goal_in_words, in_unit
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.selection import Choice, Option
from gainful.selection.best import best_place, expected_regret, interval
from gainful.selection.ties import first_best, zero_of
from gainful.space import in_words, natural_in

__all__ = ["Best", "Wanted", "best_choice", "best_of", "known_places", "wanted_end", "with_error"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Best:
    """The place with the best posterior mean: what f is believed to be there, and how much better another may be.

    place     its codes, called `names`; `at` has its values by name, `where` says it in words
    mean, sd  of f there; `low` and `high` are the ends of the band that holds f with 95 %; `unit` is that of f
    regret    how much better, in the unit of f, the truly best place is expected to be (`selection.best`)
    measured  whether an answer was given at this very place

    `str` says it in words.
    """

    place: tuple[float, ...]
    names: tuple[str, ...]
    at: Mapping[str, Any]
    where: str
    mean: float
    sd: float
    low: float
    high: float
    regret: float
    sign: int
    measured: bool
    unit: str = ""
    of: str = "f"  # the function, where it has a name

    def __str__(self) -> str:
        word = "largest" if self.sign == MAXIMISE else "smallest"
        how = "measured" if self.measured else "not measured itself"
        low, high = (_decimals(end, self.sd) for end in (self.low, self.high))
        return (
            f"{self.of} is believed to be {word} at {self.where} ({how}): "
            f"{with_error(self.mean, self.sd, self.unit)}, with 95 % between {low} and {in_unit(high, self.unit)}. "
            f"The best place of all is expected to be better by {in_unit(f'{self.regret:.2g}', self.unit)}."
        )


def best_of(
    belief: Posterior | Belief, state: State, sign: int, measured: bool = False, output: int | str | None = None
) -> Best:
    """The best place by this belief, of all or of the measured ones."""
    design = state.design
    if not state.told:
        raise InvalidInput("best", "at least one answer", "none yet", "tell one first")
    belief, known = belief.of(output), known_places(state, output)
    seeds = [design.seed, len(state.told)]  # the same answers give the same place
    rng = np.random.default_rng(seeds)
    place = best_place(belief, design.places, sign, known, rng, anywhere=not measured, search=design.search)
    if place is None:
        expected = "a measured place that the constraints allow" if measured else "a place that the constraints allow"
        raise InvalidInput("best", expected, "none", "widen the constraints of the space")
    regret = expected_regret(belief, design.places, place, sign, known, np.random.default_rng(seeds))
    mean, sd = float(belief.mean(place[None])[0]), float(np.sqrt(belief.variance(place[None])[0]))
    low, high = interval(belief, place)
    return Best(
        tuple(place.tolist()),
        tuple(design.places.names),
        natural_in(design.places, place),
        in_words(design.places, place),
        mean,
        sd,
        low,
        high,
        regret,
        sign,
        bool(np.any(np.all(known == place, axis=1))),
        design.unit,
        called(output),
    )


def best_choice(state: State, options: Sequence[Option], wanted: Wanted) -> Choice | None:
    """The best place of what may be asked, with the instrument that the goal likes best there; None where there is
    none, or nothing is known yet."""
    sign, output = wanted
    able = [
        option
        for option in options
        if option.instrument.asks == "place" and (output is None or output in option.instrument.seen_outputs)
    ]
    if not able or not state.told:
        return None
    belief, rng = state.belief.of(output), np.random.default_rng([state.design.seed, len(state.entries)])
    found = [
        best_place(belief, option.space, sign, known_places(state, output), rng, search=state.design.search)
        for option in able
    ]
    places = [(place, option) for place, option in zip(found, able, strict=True) if place is not None]
    if not places:
        return None
    heights = sign * belief.mean(np.stack([place for place, _ in places]))
    best = places[first_best(heights - zero_of(heights))][0]
    there = [option for place, option in places if np.array_equal(place, best)]
    return with_an_instrument(state, there, best)


def known_places(state: State, output: int | str | None) -> Array:
    """The places that were measured, (N, d), each once; of several functions, where this one was seen."""
    queries = [e.query for e in state.told if output is None or output in e.query.instrument.seen_outputs]
    none = np.zeros((0, len(state.design.places.names)))
    return np.unique(np.concatenate([none, *(np.atleast_2d(query.place) for query in queries)]), axis=0)


class Wanted(NamedTuple):
    """Which end is wanted, 1 or -1, and of which function, where there are several."""

    sign: int
    output: int | str | None


def wanted_end(word: object, design: Design) -> Wanted:
    """From a word, and an output after it, or else from the goal; InvalidInput where neither says it."""
    outputs = {str(each): each for instrument in design.instruments for each in instrument.seen_outputs}
    if isinstance(word, str):
        end, _, output = word.partition(" ")
        if end in SIGNS and (not output or output in outputs):
            return Wanted(SIGNS[end], outputs[output] if output else design.output)
    if word is not None:
        some = f", and one of the outputs {list(outputs)} after it" if outputs else ""
        raise InvalidInput("end", f"'maximise' or 'minimise'{some}", word, "leave it out where the goal says so")
    sign = sign_of(design.goal)
    if sign is None:
        expected = f"'minimise' or 'maximise', because the goal, {goal_in_words(design.goal)}, has neither"
        raise InvalidInput("end", expected, word, "say which: campaign.best('minimise')")
    return Wanted(sign, design.output)


def with_error(mean: float, sd: float, unit: str = "") -> str:
    """Two digits of the standard deviation, and as many decimals of the mean.

    >>> with_error(0.3123, 0.2), with_error(1234.5, 150.2), with_error(0.5, 0.0), with_error(61.2, 3.0, "°C")
    ('0.31 ± 0.20', '1234 ± 150', '0.5 ± 0', '61.2 ± 3.0 °C')
    """
    if _places(sd) is None:  # as good as known
        return in_unit(f"{mean:.4g} ± {sd:.2g}", unit)
    return in_unit(f"{_decimals(mean, sd)} ± {_decimals(sd, sd)}", unit)


def _decimals(value: float, sd: float) -> str:
    """A number with as many decimals as two digits of the standard deviation have."""
    places = _places(sd)
    return f"{value:.4g}" if places is None else f"{value:.{places}f}"


def _places(sd: float) -> int | None:
    decimals = 1 - int(np.floor(np.log10(sd))) if sd > 0.0 else 99
    return None if decimals > 12 else max(decimals, 0)
