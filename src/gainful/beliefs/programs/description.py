"""A belief of programs described to somebody who wants to know what the answers show, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.components import LEVEL, Term, kinds_of, terms_of
from gainful.beliefs.programs.cycles import told
from gainful.beliefs.programs.decomposition import moments, speech_of
from gainful.beliefs.programs.words import Axis, Speech, percent, phrase, quantiles, span
from gainful.kernels.warped import warped
from gainful.numerics.mixture_quantile import mixture_quantile
from gainful.space import coordinates_of

if TYPE_CHECKING:
    from gainful.beliefs.programs.belief import ProgramBelief

__all__ = ["FEATURES", "Description", "describe", "features", "periods", "sums"]

Array = NDArray[np.float64]

# What a program contains, in words, by the symbols of which one is enough.
FEATURES = {
    "a cycle": ("PER",),
    "a trend": ("LIN",),
    "smooth variation": ("SE", "RQ"),
    "rough variation": ("MAT",),
    "a change": ("CP",),
}
_SHOWN = 0.05  # the least probability of a part that is listed
_SOME = 100  # places at which terms are compared
_LEADING = 3  # sums that are listed
_LONGEST = 60  # characters of one


@dataclass(frozen=True)
class Description:
    """What there is to say, line by line: `str(description)` is all of it.

    features    the probability of anything of that kind, in whatever part
    parts       the kinds of parts, in words with their numbers, each with the probability that there is one
    others      how many kinds of parts are less probable than those
    """

    answers: int
    programs: int
    features: dict[str, float]
    parts: tuple[tuple[str, float], ...]
    others: int
    noises: tuple[str, ...]
    sums: tuple[tuple[str, float], ...]
    certainty: str

    def __str__(self) -> str:
        found = [f"{name}: {percent(p)}" for name, p in self.features.items()]
        lines = [f"What {self.answers} answers show: {', '.join(found)}.", "", "Its parts, and how sure each is:"]
        lines += [f"  {percent(p):>9}  {words}" for words, p in self.parts] or ["  none that is probable"]
        if self.others:
            more = "kind of part is" if self.others == 1 else "kinds of parts are"
            lines.append(f"             {self.others} more {more} less probable than {percent(_SHOWN)}")
        lines += ["", *self.noises, "", "The leading sums of parts:"]
        lines += [f"  {percent(p):>9}  {name}" for name, p in self.sums]
        return "\n".join([*lines, "", self.certainty])


def features(belief: ProgramBelief) -> dict[str, float]:
    """The probability that the function has anything of each kind; kinds that no program has are left out, but for the
    first three."""
    found = {name: belief.probability(lambda p, s=symbols: any(map(p.has, s))) for name, symbols in FEATURES.items()}  # type: ignore[misc]
    return {name: p for i, (name, p) in enumerate(found.items()) if i < 3 or p > 0.0}


def sums(belief: ProgramBelief) -> dict[str, float]:
    """The probability of each set of kinds of parts, the most probable first; the level is in all of them."""
    found: dict[str, float] = {}
    for program, weight in zip(belief.programs, belief.weights, strict=True):
        name = " + ".join(sorted({term.kind for term in terms_of(program)} - {LEVEL})) or LEVEL
        found[name] = found.get(name, 0.0) + float(weight)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def periods(belief: ProgramBelief, column: int = 0) -> tuple[Array, Array]:
    """The periods in the user's units, of every program that has a cycle along a column that of its strongest, (P,),
    and the weights of these programs, which add up to the probability of such a cycle."""
    strongest: dict[int, tuple[float, float]] = {}
    kinds = kinds_of(belief.programs)
    for name, having in told(belief, kinds).items():
        for i, terms in having.items():
            for own, term in zip(kinds[name][i], terms, strict=True):
                for leaf in term.leaves:
                    if leaf.symbol == "PER" and leaf.column == column:
                        found = _size(belief, i, own), belief.units.natural(leaf).numbers[1]
                        strongest[i] = max(strongest.get(i, found), found, key=lambda each: each[0])
    return np.array([period for _, period in strongest.values()]), belief.weights[list(strongest)]


def _size(belief: ProgramBelief, i: int, term: Term) -> float:
    """How much a term of a program varies over the places of the answers, as the answers have left it."""
    places = belief.data.layout.places
    if not len(places):
        return term.factor
    some = places[:: max(1, len(places) // _SOME)]
    space, kernel = belief.data.told_by, term.kernel(belief.units)
    seen = kernel if space is None else warped(kernel, coordinates_of(space))
    return float(np.std(belief.posteriors[i].part(seen, some)[0]))


def describe(belief: ProgramBelief, axes: Sequence[Axis] | None = None) -> Description:
    """All that there is to say."""
    speech, weights = speech_of(belief, axes), belief.weights
    kinds = kinds_of(belief.programs)
    kinds.pop(LEVEL, None)
    spoken = told(belief, kinds)
    ranked = sorted(((float(weights[list(having)].sum()), name) for name, having in kinds.items()), reverse=True)
    parts = tuple(
        (phrase(spoken[name], weights, speech) + _amount(belief, kinds[name], speech), min(p, 1.0))
        for p, name in ranked
        if p >= _SHOWN
    )
    leading = [each for i, each in enumerate(belief.sums.items()) if i < _LEADING and (not i or each[1] >= 0.005)]
    return Description(
        len(belief.data), len(belief.programs), features(belief), parts, sum(p < _SHOWN for p, _ in ranked),
        _noises(belief, speech), tuple((_shortened(name), p) for name, p in leading), _certainty(belief, parts),
    )  # fmt: skip


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 2]} …"


def _amount(belief: ProgramBelief, having: dict[int, list[Term]], speech: Speech) -> str:
    """By how much: of a straight trend its slope, with its range; of anything else along one column how far it goes up
    and down where the answers are."""
    terms = next(iter(having.values()))
    leaves, columns = terms[0].leaves, {leaf.column for leaf in terms[0].leaves}
    plain = len(speech.axes) == 1 and not getattr(speech.axes[0], "log", False) and belief.data.dimensions == 1
    if not plain or len(columns) != 1 or not len(belief.data):
        return ""
    places = belief.data.layout.places
    low, high = float(places.min()), float(places.max())
    if not high > low:
        return ""
    unit = f" {speech.answers}" if speech.answers else ""
    if [leaf.symbol for leaf in leaves] == ["LIN"] and not terms[0].sides:
        w, mean, sd = moments(belief, having, np.array([[low], [high]]), centred=True)
        ends = [float(2.0 * mixture_quantile(w / w.sum(), mean, sd, q)[1]) for q in (0.05, 0.5, 0.95)]
        rise = "rises" if ends[1] >= 0.0 else "falls"
        least, middle, most = ends if ends[1] >= 0.0 else [-end for end in reversed(ends)]
        return f", which {rise} by {span([least, middle, most])}{unit} from the first to the last"
    w, mean, _ = moments(belief, having, np.linspace(low, high, 200)[:, None], centred=True)
    return f", {_plainly(float(np.ptp(w / w.sum() @ mean)))}{unit} between its lowest and its highest"


def _plainly(value: float) -> str:
    """Two digits that count."""
    return f"{float(f'{value:.2g}'):g}"


def _noises(belief: ProgramBelief, speech: Speech) -> tuple[str, ...]:
    said = []
    for label in belief.noises[0]:
        spreads = belief.units.spread * np.sqrt([own[label] for own in belief.noises])
        told = [batch.answers for batch in belief.data.batches if batch.instrument.label == label]
        own = float(np.std(np.concatenate(told))) if told else 0.0
        median = float(quantiles(spreads, belief.weights, (0.5,))[0])
        beside = f", beside {_plainly(own)} of the answers themselves" if own > median else ""
        amount = span(quantiles(spreads, belief.weights), speech.answers)
        said.append(f"Noise of {label}: a standard deviation of {amount}{beside}.")
    return tuple(said) or ("The noise was stated, not learned.",)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _certainty(belief: ProgramBelief, parts: Sequence[tuple[str, float]]) -> str:
    """How sure it is overall, in a sentence."""
    shares = np.array(list(belief.sums.values()))
    first, bits = shares[0], float(-np.sum(shares * np.log2(np.maximum(shares, 1e-300))))
    sure, open_ = sum(p >= 0.9 for _, p in parts), sum(0.1 < p < 0.9 for _, p in parts)
    how = (
        "One sum explains the answers, and others hardly do"
        if first >= 0.8
        else "One sum is ahead of the others"
        if first >= 0.4
        else "Many sums explain the answers about as well"
    )
    which = f"{sure or 'none'} of its parts {'is' if sure == 1 else 'are'} sure (90 % or more)"
    return f"{how} ({abs(bits):.1f} bits over {_count(len(shares), 'sum')} of parts): {which}, {open_} open."
