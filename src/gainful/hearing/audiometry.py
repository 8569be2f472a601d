"""The hearing test itself: which tone to play next, and when enough is known."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.campaign.lines import Lines, Mark, to_lines, to_text
from gainful.checks import is_number, listed, require, require_choice, require_count, require_kind, require_whole
from gainful.errors import InvalidInput, JournalError, JournalWarning
from gainful.hearing.belief import UNSETTLED, Heard, Threshold, ThresholdBelief, Tone, believe, one_or_more
from gainful.hearing.expectations import FREQUENCIES, LEVELS, expected_listeners
from gainful.hearing.kinds import AVERAGED, degree, pure_tone_average, shape
from gainful.hearing.population import Population
from gainful.hearing.scenarios import scenarios

__all__ = ["HearingTest"]

Array = NDArray[np.float64]

_GOALS = ("thresholds", "diagnosis", "both")
_CRITERIA = ("error", "information")
_SCHEMA, _DIGEST = 2, "population's digest"
_LEAST = {"error": 0.01, "information": 0.02}  # dB or bits: a test that no tone is worth more to is over
_UNHEARD_OF = -15.0  # dB HL: a threshold below which hardly any is
_NEARLY = 0.9  # of the highest rate of guesses that is reckoned with: it may be higher than that
_HARDLY = 0.1  # a probability of hearing the loudest tone below which a threshold is said to be beyond it
_GUESSES = 0.2  # an expected share of yeses to nothing from which on a listener is said to guess


class HearingTest:
    """Ask for a tone, play it, tell whether it was heard, until the thresholds or the kind of ear are known.

    ears         their names, one or two
    frequencies  in Hz, that the audiogram is to have; `levels` in dB HL that the audiometer can play
    age          in years, where it is known
    spread       of the psychometric function in dB, `guess` and `lapse` rates: learned where they are None
    goal         "thresholds", "diagnosis" (the kind of ear), or "both": diagnose first, then measure
    by           tones for thresholds are those that narrow them most on average ("error"), or that tell most about the
                 curve in bits ("information")
    precision    a test for thresholds ends when each is within so many dB of what is reported, with probability `sure`;
                 one for a diagnosis when a kind of ear has that probability
    most         trials at most
    together     tones in one trial at most, from 1 to 3: they are played one after the other, and the listener says
                 whether any of them was heard
    catch        the share of trials that are silent, to see whether the listener guesses
    journal      a file that every answer is written to; one that exists already is gone on with

    >>> test = HearingTest(age=70)
    >>> tone = test.ask()
    >>> test.tell(tone, heard=True)
    >>> [threshold.frequency for threshold in test.audiogram()][:2]
    [500.0, 1000.0]
    """

    def __init__(
        self,
        ears: Sequence[str] | str = "ear",
        *,
        frequencies: Sequence[float] = FREQUENCIES,
        levels: Sequence[float] = LEVELS,
        age: float | None = None,
        spread: float | None = None,
        guess: float | None = None,
        lapse: float | None = None,
        goal: str = "thresholds",
        by: str = "error",
        precision: float = 5.0,
        sure: float = 0.95,
        most: int = 150,
        together: int = 1,
        catch: float = 0.0,
        seed: int = 0,
        population: Population | None = None,
        journal: str | Path | None = None,
    ) -> None:
        self.ears = _names(ears)
        self.frequencies = _several("frequencies", frequencies, 20.0, 20_000.0, "Hz")
        self.levels = _several("levels", levels, -30.0, 130.0, "dB HL")
        require_choice("goal", goal, _GOALS, "what the test is for")
        require(is_number(precision) and precision > 0.0, "precision", "decibels above zero", precision, "5 is usual")
        require(
            is_number(sure) and 0.5 <= sure < 1.0, "sure", "a probability from 0.5 to below 1", sure, "0.95 is usual"
        )
        require(is_number(catch) and 0.0 <= catch <= 0.5, "catch", "a share from 0 to 0.5", catch, "0.1 is one in ten")
        if population is not None:
            require_kind(
                "population", population, Population, "a Population", "leave it out for the one that comes along"
            )
        require_choice("by", by, _CRITERIA, "what a tone is chosen by")
        self.by = by
        self.goal, self.precision, self.sure, self.catch = goal, float(precision), float(sure), float(catch)
        self.most = require_count("most", most, 1, "trials")
        self.together = require_count("together", together, 1, "tones in one trial, at most 3")
        require(self.together <= 3, "together", "at most 3 tones in one trial", together, "listeners lose count")
        self.seed = require_whole("seed", seed, 0, "any whole number from 0")
        self.population = Population.load() if population is None else population
        self.population.at_age(age)
        self.age = None if age is None else float(age)
        self._listeners = expected_listeners(spread, guess, lapse)
        stated = {"spread": spread, "guess": guess, "lapse": lapse}
        self._stated = {name: None if value is None else float(value) for name, value in stated.items()}
        self._heard: list[Heard] = []
        self._belief: ThresholdBelief | None = None
        self._scored: tuple[ThresholdBelief, Array] | None = None
        require(
            journal is None or isinstance(journal, str | Path), "journal", "the path of a file, or None", journal,
            "leave it out to keep none",
        )  # fmt: skip
        self._mark, self._path = Mark(), None if journal is None else Path(journal)
        if self._path is not None:
            self._open(self._path)

    @property
    def answers(self) -> tuple[Heard, ...]:
        """The tones so far, and whether each was heard."""
        return tuple(self._heard)

    @property
    def unit(self) -> str:
        """What is counted: tones, or trials where one may have several."""
        return "tones" if self.together == 1 else "trials"

    @property
    def belief(self) -> ThresholdBelief:
        """What the answers say about thresholds, kinds of ears and the listener."""
        if self._belief is None:
            self._belief = believe(self.population, self._listeners, self._heard, self.age)
        return self._belief

    @property
    def done(self) -> str:
        """Why the test is over, in words; nothing while it is not."""
        if len(self._heard) >= self.most:
            return f"{self.most} {self.unit} were played"
        settled = self.belief.unsettled <= UNSETTLED  # what has not settled is not known
        likeliest, chance = next(iter(self.belief.diagnosis.items()))
        if self.goal == "diagnosis":
            return f"the kind of ear is known: {likeliest}, {chance:.0%}" if settled and chance >= self.sure else ""
        if settled and bool(np.all(self._known() >= self.sure)):
            return f"every threshold is known to ±{self.precision:g} dB with {self.sure:.0%}"
        if float(self._scores().max()) < _LEAST[self.by]:
            return f"no tone of {min(self.levels):g} to {max(self.levels):g} dB would tell any more"
        return ""

    def _scores(self) -> Array:
        """What every tone is worth, (J, L), worked out once for a belief."""
        if self._scored is None or self._scored[0] is not self.belief:
            measured = self.belief.gain if self.by == "error" else self.belief.information
            frequencies, ears = self._grid()
            score = self.belief.about_class if self._diagnosing() else measured
            self._scored = self.belief, score(frequencies, self.levels, ears)
        return self._scored[1]

    def _diagnosing(self) -> bool:
        unknown = next(iter(self.belief.diagnosis.values())) < self.sure
        return self.goal == "diagnosis" or (self.goal == "both" and unknown)

    def _known(self) -> Array:
        return self.belief.within(*self._grid(), self.precision)

    def _grid(self) -> tuple[Array, NDArray[np.int64]]:
        ears = np.arange(len(self.ears))
        return np.tile(self.frequencies, len(ears)), np.repeat(ears, len(self.frequencies))

    def ask(self) -> Tone | tuple[Tone, ...] | None:
        """The tone that is worth most, or None when the test is over. Asked again before an answer, it is the same.

        With `together` above one it is a tuple of tones, as many as are worth more than one of them less.
        """
        if self.done:
            return None
        if self.catch and np.random.default_rng([self.seed, len(self._heard)]).random() < self.catch:
            last = self._heard[-1].tones[-1] if self._heard else self._tone(0, 0)
            silence = Tone(last.frequency, None, last.ear)
            return silence if self.together == 1 else (silence,)
        if self.together > 1:
            return tuple(self._tone(j, i) for j, i in self._several())
        scores = self._scores()
        return self._tone(*np.unravel_index(int(np.argmax(np.round(scores, 9))), scores.shape))

    def _several(self) -> list[tuple[int, int]]:
        """The tones of the next trial, place and level by number."""
        frequencies, ears = self._grid()
        people = scenarios(self.belief, frequencies, self.levels, ears)
        measured = people.gain if self.by == "error" else people.bits
        return people.best(people.about_kind if self._diagnosing() else measured, self.together)

    def _tone(self, j: Any, i: Any) -> Tone:
        frequencies, ears = self._grid()
        return Tone(float(frequencies[j]), float(self.levels[i]), int(ears[j]))

    def tell(self, tones: Tone | Sequence[Tone], heard: bool) -> None:
        """Whether a tone was heard, or any of several: those that were asked for, or others that were played."""
        new = self._read(tones, heard)
        self._write([_as_record(new)])
        earlier = self.belief
        self._heard.append(new)
        self._belief = believe(self.population, self._listeners, self._heard, self.age, earlier)

    def _read(self, tones: Any, heard: Any) -> Heard:
        """An answer, checked."""
        given = tones if isinstance(tones, Tone) else listed(tones)
        fine = bool(given) and all(isinstance(each, Tone) for each in one_or_more(given))  # type: ignore[arg-type]
        require(fine, "tones", "a Tone, or several", tones, "such as what ask() gives")
        found = one_or_more(given)  # type: ignore[arg-type]
        require(len(found) <= 3, "tones", "at most 3 tones in one trial", len(found), "tell them trial by trial")
        for tone in found:
            self._require(tone)
        require(isinstance(heard, bool | np.bool_), "heard", "True or False", heard, "whether they said they heard it")
        silent = all(tone.level is None for tone in found)
        require(
            not (silent and heard) or bool(self._listeners.guess.any()),
            "heard", "no yes to silence, as guess=0 is stated", heard, "leave guess out, or state how many guesses",
        )  # fmt: skip
        levels = [None if tone.level is None else float(tone.level) for tone in found]
        return Heard(
            tuple(Tone(float(t.frequency), level, int(t.ear)) for t, level in zip(found, levels, strict=True)),
            bool(heard),
        )

    def _require(self, tone: Tone) -> None:
        fine = is_number(tone.frequency) and 20.0 <= tone.frequency <= 20_000.0
        require(fine, "tone", "a frequency from 20 to 20000 Hz", tone.frequency, "frequencies are in Hz")
        fine = tone.level is None or (is_number(tone.level) and -30.0 <= tone.level <= 130.0)
        require(fine, "tone", "a level from −30 to 130 dB HL, or None for silence", tone.level, "levels are in dB HL")
        require(
            tone.ear in range(len(self.ears)), "tone", f"an ear below {len(self.ears)}", tone.ear, "ears count from 0"
        )

    def undo(self) -> Heard | None:
        """Take the last answer back; the one that it was, or None where there was none."""
        if not self._heard:
            return None
        self._write([{"undone": len(self._heard)}])
        self._belief = None
        return self._heard.pop()

    def audiogram(self, level: float = 0.9) -> list[Threshold]:
        """The thresholds at the test's frequencies, ear by ear, with intervals of this probability."""
        return self.belief.thresholds(*self._grid(), level)

    def kinds(self) -> dict[str, str]:
        """What each ear is called, by the medians of its thresholds: the degree of the loss, and its shape.

        >>> HearingTest(age=20).kinds()
        {'ear': 'normal, flat'}
        """
        return {name: f"{degree(average)}, {form}" for name, (average, form) in self._curves().items()}

    def _curves(self) -> dict[str, tuple[float, str]]:
        """The pure-tone average and the shape of each ear."""
        out = {}
        for ear, name in enumerate(self.ears):
            curve = [t.median for t in self.belief.thresholds(FREQUENCIES, [ear] * len(FREQUENCIES))]
            out[name] = pure_tone_average(curve, FREQUENCIES), shape(curve, FREQUENCIES)
        return out

    def beyond(self, frequencies: ArrayLike, ears: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Whether each threshold lies above the loudest level that can be played, with 90 %: (J,)."""
        return self.belief.upto(max(self.levels), frequencies, ears) < _HARDLY

    def describe(self) -> str:
        """The audiogram and the kind of ear in words."""
        lines = [f"After {len(self._heard)} {self.unit}{' (' + self.done + ')' if self.done else ''}:"]
        for (ear, name), (average, form) in zip(enumerate(self.ears), self._curves().values(), strict=True):
            lines.append(f"\n{name}, thresholds in dB HL, with intervals of 90 %:")
            found = self.belief.thresholds(self.frequencies, ear)
            beyond = self.beyond(self.frequencies, ear)
            lines += [f"  {t.frequency:6.0f} Hz  {self._in_words(t, b)}" for t, b in zip(found, beyond, strict=True)]
            if set(AVERAGED) <= set(self.frequencies):
                lines.append(
                    f"  {degree(average)}, {form}: the average of 500, 1000, 2000 and 4000 Hz is {average:.0f} dB HL"
                )
        kinds = [f"{name} {chance:.0%}" for name, chance in self.belief.diagnosis.items() if chance >= 0.05]
        together = ", both ears together" if len(self.ears) == 2 else ""
        lines.append(f"\nKind of ear: {'; '.join(kinds)} (classes of the population{together}).")
        lines.append(f"Answers spread over {self.belief.spread:.1f} dB.")
        return "\n".join(lines + self._doubts())

    def _in_words(self, threshold: Threshold, beyond: bool) -> str:
        loudest, quietest = max(self.levels), min(self.levels)
        if beyond:
            at = Tone(threshold.frequency, loudest, threshold.ear)
            missed = any(at in each.tones and not each.yes for each in self._heard)
            return f"no response at {loudest:g}" if missed else f"above {loudest:g}"
        if threshold.high <= quietest:
            return f"below {quietest:g}"
        return f"{threshold.median:5.0f}  ({threshold.low:.0f} to {threshold.high:.0f})"

    def _doubts(self) -> list[str]:
        """Why the answers, or what is made of them, may not be trusted."""
        lines = []
        if self.belief.unsettled > UNSETTLED:
            lines.append(
                "The answers contradict each other so much that what they say has not settled: thresholds and "
                "intervals may be far off. Play more tones, or ask whether the listener has understood."
            )
        if self.belief.guessing >= _GUESSES:
            most = float(self._listeners.guess.max())
            rate = (
                f"{most:.0%} or more" if self.belief.guessing > _NEARLY * most else f"about {self.belief.guessing:.0%}"
            )
            if self._stated["guess"] is None:
                lines.append(f"The listener seems to guess: yes to {rate} of what cannot be heard.")
        if self._heard and float(np.median([t.median for t in self.audiogram()])) < _UNHEARD_OF:
            remedy = "" if self.catch else ": play silent trials too, with catch=0.1"
            lines.append(f"The listener said yes to what hardly anybody hears{remedy}.")
        return lines

    def _open(self, path: Path) -> None:
        """Begin a journal, or replay the one that is there; a file that is anything else is left alone."""
        settings = self._settings()
        try:
            with Lines(path, wait=5.0, create=True) as lines:
                content = lines.read(Mark())
                assert content is not None
                if content.damage is not None:
                    reason = f"line {content.damage.line} {content.damage.reason}"
                    raise JournalError(f"{path}: {reason}; take a copy and delete what follows it")
                header, _ = to_lines([to_text(settings)], Mark())
                if not header.startswith(content.torn) and not content.records:
                    raise JournalError(f"{path} is no journal of this test, and is left alone; choose another file")
                if not content.records:
                    self._mark = lines.write([to_text(settings)], Mark())
                    return
        except (OSError, BlockingIOError) as trouble:
            raise JournalError(f"{path}: {trouble}") from None
        first, *rest = content.records
        if _DIGEST not in first:  # as they were written before
            del settings[_DIGEST]
            if self.population.digest() != Population.load().digest():
                warnings.warn(
                    f"{path} does not say of which population it is; be sure that it is the same", JournalWarning,
                    stacklevel=3,
                )  # fmt: skip
        if first != settings:
            raise JournalError(f"{path} is of another test, {first}; give it the same arguments, or another file")
        for number, record in enumerate(rest, start=2):
            try:
                if "undone" in record:
                    self._heard.pop()
                else:
                    self._heard.append(self._read([Tone(*each) for each in record["tones"]], record["heard"]))
            except (KeyError, IndexError, TypeError, InvalidInput) as trouble:
                raise JournalError(f"{path}: line {number} is no answer of a hearing test: {trouble}") from None
        self._mark = content.mark

    def _settings(self) -> dict[str, Any]:
        return {
            "hearing test": _SCHEMA, "ears": list(self.ears), "frequencies": list(self.frequencies),
            "levels": list(self.levels), "age": self.age, **self._stated, "goal": self.goal, "by": self.by,
            "precision": self.precision, "sure": self.sure, "most": self.most, "together": self.together,
            "catch": self.catch, "seed": self.seed, "population": self.population.provenance,
            _DIGEST: self.population.digest(),
        }  # fmt: skip

    def _write(self, records: Sequence[dict[str, Any]]) -> None:
        if self._path is None:
            return
        try:
            with Lines(self._path, wait=5.0) as lines:
                since = lines.read(self._mark)
                if since is None or since.records:
                    raise JournalError(f"{self._path} was written to by somebody else since; open the test again")
                self._mark = lines.write([to_text(each) for each in records], self._mark)
        except (OSError, BlockingIOError) as trouble:
            raise JournalError(f"{self._path}: {trouble}; nothing was written") from None


def _as_record(heard: Heard) -> dict[str, Any]:
    return {"tones": [list(tone) for tone in heard.tones], "heard": heard.yes}


def _names(ears: Any) -> tuple[str, ...]:
    names = (ears,) if isinstance(ears, str) else tuple(listed(ears) or ())
    fine = (
        1 <= len(names) <= 2 and all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
    )
    require(fine, "ears", "the names of one ear or two", ears, 'such as ("right", "left")')
    return names


def _several(argument: str, values: Any, low: float, high: float, unit: str) -> tuple[float, ...]:
    given = listed(values) or []
    fine = (
        bool(given) and all(is_number(each) and low <= each <= high for each in given) and len(set(given)) == len(given)
    )
    require(fine, argument, f"numbers from {low:g} to {high:g} {unit}, each once", values, "leave it out for the usual")
    return tuple(float(each) for each in given)
