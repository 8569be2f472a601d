"""Not published: hearing tests on real ears of people held back, error against the number of tones.

Listeners are simulated from real audiograms (NHANES), in two settings: (A) a psychometric spread of 4 dB and 2 % of
guesses and lapses, which every method is told; (B) a spread from 2 to 10 dB and guesses and lapses from 1 to 10 %,
drawn for each person and unknown to all. Half of the ears are any, half are impaired (pure-tone average above 25 dB).

Beside gainful's test stand the clinical staircase (modified Hughson-Westlake, with the bias of its reports removed or
not), the grid of 114 tones, Bayes' rule over a library of the ears that the population was fitted to, frequencies one
by one with a flat prior and the most informative level (as QUEST+ does), and gainful's own belief with tones by bits,
by uncertainty (a yes as probable as a no), by a committee of twenty draws, or by chance. Some ears are also tested with
up to two and three tones in a trial, and some people with both ears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gainful.hearing import (
    FREQUENCIES,
    LEVELS,
    EarLibrary,
    HearingTest,
    Listener,
    Listeners,
    Population,
    Tone,
    expected_listeners,
    hughson_westlake,
)
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import Estimate, mean, paired_difference
from gainful.lab.table import pairs, select
from gainful.papers.gardner2018.ears import FILE, people

__all__ = ["EXPERIMENT", "listener"]

Array = NDArray[np.float64]

_EARS, _OTHERS, _TONES = 250, 25, 60  # ears of each kind, and those of them that other methods measure too
_SEVERAL, _TRIALS, _BOTH = {2: 20, 3: 10}, 36, (25, 70)  # ears by tones in a trial; people and tones for both ears
_LOOKS = (0, *range(2, 41, 2), 45, 50, 55, 60, 65, 70)
_LEVEL, _SURE = 0.9, 0.95
_EARLY = 20  # tones, after which methods are compared
_CALLED = {
    "library": "Bayes over a library of ears", "one by one": "frequencies one by one", "chance": "random tones",
    "uncertainty": "the most uncertain tones", "committee": "a committee's tones",
}  # fmt: skip
_NEVER = 9.0  # of its tones: not as long as was looked
_WANTED = {("A", "any"): 8, ("A", "impaired"): 14, ("B", "any"): 16, ("B", "impaired"): 22}  # tones to below 5 dB


def listener(setting: str, kind: str, number: int, ears: int = 1) -> tuple[Listener, np.random.Generator]:
    """Somebody of a kind, "any" or "impaired", in setting A or B: always the same for a number; one ear or both."""
    held = people(held=True)
    average = held.average[:, 0]
    pool = np.flatnonzero(average > 25.0) if kind == "impaired" else np.arange(len(average))
    order = np.random.default_rng([14, kind == "impaired"]).permutation(pool)
    rng = np.random.default_rng([14, setting == "B", kind == "impaired", number])
    own = (rng.uniform(2.0, 10.0), *rng.uniform(0.01, 0.1, 2)) if setting == "B" else (4.0, 0.02, 0.02)
    return Listener(held.both[order[number % len(order)], :ears], held.frequencies, *own), rng


def _settings(quick: bool) -> list[Setting]:
    ears, tones = (1, 12) if quick else (_EARS, _TONES)
    return [
        {"setting": s, "kind": k, "tones": tones, "repetition": e}
        for e in range(ears) for s in "AB" for k in ("any", "impaired")
    ]  # fmt: skip


def _run(setting: Setting, seed: int) -> list[Row]:
    person, rng = listener(setting["setting"], setting["kind"], setting["repetition"])
    truth = np.array([person.threshold(f) for f in FREQUENCIES])
    told = {"spread": 4.0, "guess": 0.02, "lapse": 0.02} if setting["setting"] == "A" else {}
    rows: list[Row] = []
    streams = [np.random.default_rng([int(rng.integers(2**31)), i]) for i in range(1 + len(_STEPS))]
    rows += _measured(person, truth, told, setting["tones"], streams[0])
    others = _STEPS if setting["repetition"] < _OTHERS else {}
    for method, own in zip(others, streams[1:], strict=False):
        steps = _STEPS[method](person, truth, told, setting["tones"], own)
        rows += [{"method": method, **row} for row in _looked(steps, truth)]
    for together, ears in _SEVERAL.items():
        if setting["repetition"] < ears and (together == 2 or setting["setting"] == "A"):
            test = HearingTest(most=min(setting["tones"], _TRIALS), sure=0.999999, together=together, **told)  # type: ignore[arg-type]
            own = np.random.default_rng([int(rng.integers(2**31)), together])
            rows += [
                {"method": f"up to {together}", **row} for row in _looked(_tested(test, person, truth, own), truth)
            ]
    if setting["setting"] == "B" and setting["repetition"] < _BOTH[0]:
        rows += _of_both(setting)
    octaves = 250.0 * 2.0 ** np.arange(6)
    heard = [[person.answer(Tone(f, level), rng) for level in range(80, -11, -5)] for f in octaves]
    by_grid = np.interp(np.log2(FREQUENCIES), np.log2(octaves), 82.5 - 5.0 * np.sum(heard, axis=1))
    rows.append({"method": "grid", "after": 114, "error": float(np.abs(by_grid - truth).mean())})
    found = [hughson_westlake(lambda tone: person.answer(tone, rng), f) for f in FREQUENCIES]
    off = np.array([each.threshold for each in found]) - truth
    rows.append({"method": "staircase", "after": sum(each.tones for each in found), "error": float(np.abs(off).mean()),
                 **{f"off at {f:g} Hz": float(each) for f, each in zip(FREQUENCIES, off, strict=True)}})  # fmt: skip
    return rows


def _of_both(setting: Setting) -> list[Row]:
    """Both ears of the same person in one test."""
    person, rng = listener("B", setting["kind"], setting["repetition"], ears=2)
    truth = np.array([person.threshold(f, ear) for ear in (0, 1) for f in FREQUENCIES])
    test = HearingTest(("right", "left"), most=min(_BOTH[1], 2 * setting["tones"]), sure=0.999999)
    steps = _tested(test, person, truth, np.random.default_rng([int(rng.integers(2**31)), 99]))
    return [{"method": "both ears", **row} for row in _looked(steps, truth)]


def _looked(steps: Steps, truth: Array) -> list[Row]:
    """Errors as tones go on."""
    return [
        {"after": tones, "error": float(np.abs(estimate - truth).mean()), "held": held}
        for tones, estimate, held in steps
        if tones in _LOOKS
    ]


Steps = Iterator[tuple[int, Array, float | None]]


def _by_bits(person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator) -> Steps:
    test = HearingTest(most=tones, sure=0.999999, by="information", **told)  # type: ignore[arg-type]
    return _tested(test, person, truth, rng)


def _by_chance(person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator) -> Steps:
    test = HearingTest(most=tones, sure=0.999999, **told)  # type: ignore[arg-type]
    return _tested(test, person, truth, rng, lambda: Tone(float(rng.choice(FREQUENCIES)), float(rng.choice(LEVELS))))


def _by_uncertainty(
    person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator
) -> Steps:
    test = HearingTest(most=tones, sure=0.999999, **told)  # type: ignore[arg-type]

    def next_tone() -> Tone:
        off = np.abs(test.belief.chance(FREQUENCIES, LEVELS) - 0.5)
        j, i = np.unravel_index(int(np.argmin(off + 1e-9 * rng.random(off.shape))), off.shape)
        return Tone(FREQUENCIES[j], LEVELS[i])

    return _tested(test, person, truth, rng, next_tone)


def _by_committee(
    person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator
) -> Steps:
    """Twenty draws of each threshold, each a yes to what is above it: the tone on which they differ most."""
    test = HearingTest(most=tones, sure=0.999999, **told)  # type: ignore[arg-type]

    def next_tone() -> Tone:
        masses = test.belief.marginals(FREQUENCIES)
        drawn = np.array([rng.choice(test.belief.grid, size=20, p=mass / mass.sum()) for mass in masses])
        yes = np.mean(drawn[:, None, :] < np.array(LEVELS)[:, None], axis=2)
        off = np.abs(yes - 0.5) + 1e-9 * rng.random(yes.shape)
        j, i = np.unravel_index(int(np.argmin(off)), off.shape)
        return Tone(FREQUENCIES[j], LEVELS[i])

    return _tested(test, person, truth, rng, next_tone)


def _one_by_one(person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator) -> Steps:
    """Thresholds that have nothing to do with each other, flat over what an audiometer plays, in turn."""
    size = 2 * len(FREQUENCIES)
    flat = Population(np.array(FREQUENCIES), np.ones(1), np.full((1, size), 40.0), 35.0**2 * np.eye(size)[None], 1.0,
                      names=("any",))  # fmt: skip
    test = HearingTest(most=tones, sure=0.999999, population=flat, **told)  # type: ignore[arg-type]

    def next_tone() -> Tone:
        f = FREQUENCIES[len(test.answers) % len(FREQUENCIES)]
        return Tone(f, float(LEVELS[int(np.argmax(test.belief.information([f], LEVELS)[0]))]))

    return _tested(test, person, truth, rng, next_tone)


def _tested(
    test: HearingTest, person: Listener, truth: Array, rng: np.random.Generator,
    choose: Callable[[], Tone] | None = None,
) -> Steps:  # fmt: skip
    while True:
        found = test.audiogram(_LEVEL)
        held = float(np.mean([t.low <= c <= t.high for t, c in zip(found, truth, strict=True)]))
        yield len(test.answers), np.array([t.median for t in found]), held
        if len(test.answers) == test.most:
            return
        tone = test.ask() if choose is None else choose()
        assert tone is not None  # it is told not to end before
        test.tell(tone, person.answer(tone, rng))


def _by_library(person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator) -> Steps:
    known = people(held=False)
    # Where nothing is told, the spread is learned and the rates are typical ones: there are many ears to go through.
    ears: Listeners = expected_listeners(**(told or {"guess": 0.05, "lapse": 0.05}))
    library = EarLibrary(known.both.reshape(-1, len(known.frequencies)), known.frequencies, LEVELS, ears)
    for n in range(tones + 1):
        yield n, library.mean(), None
        if n < tones:
            tone = library.ask()
            library.tell(tone, person.answer(tone, rng))


_STEPS = {
    "by bits": _by_bits, "chance": _by_chance, "one by one": _one_by_one, "library": _by_library,
    "uncertainty": _by_uncertainty, "committee": _by_committee,
}  # fmt: skip


def _measured(
    person: Listener, truth: Array, told: dict[str, float], tones: int, rng: np.random.Generator
) -> list[Row]:
    """gainful's test: errors as tones go on, and those where it would have ended by itself, if it takes longer too."""
    test = HearingTest(most=3 * tones, sure=0.999999, **told)  # type: ignore[arg-type]
    rows: list[Row] = []
    ended = False
    while True:
        after, found = len(test.answers), test.audiogram(_LEVEL)
        off = np.abs([t.median - c for t, c in zip(found, truth, strict=True)])
        held = float(np.mean([t.low <= c <= t.high for t, c in zip(found, truth, strict=True)]))
        if after in _LOOKS and after <= tones:
            rows.append({"method": "gainful", "after": after, "error": float(off.mean()), "held": held})
        if not ended and (np.all(test.belief.within(FREQUENCIES) >= _SURE) or after == test.most):
            ended = True
            near = float(np.mean(off <= test.precision))
            rows.append({"method": "stopped", "after": after, "error": float(off.mean()), "held": near})
        tone = test.ask()
        if tone is None or (ended and after >= tones):
            return rows
        test.tell(tone, person.answer(tone, rng))


def _claims(rows: list[Row]) -> list[Claim]:
    out = []
    for (setting, kind), most in _WANTED.items():
        here = select(rows, setting=setting, kind=kind)
        own = select(here, method="gainful")
        curve = {n: mean([row["error"] for row in own if row["after"] == n]) for n in sorted({r["after"] for r in own})}
        below = next((n for n in curve if curve[n].value < 5.0), None)
        at = curve[max(n for n in curve if n <= most)]
        words = f"{setting}, {kind}: mean absolute error below 5 dB within {most} tones"
        out.append(Claim(words, None, at.value, at.low, at.high, at.value < 5.0, f"Below 5 dB from {below} tones on."))
        stairs = select(here, method="staircase")
        out.append(_beside_the_staircase(f"{setting}, {kind}", stairs, curve))
        held = mean([row["held"] for row in select(here, method="gainful") if row["after"] > 0])
        words = f"{setting}, {kind}: intervals of 90 % hold 87 to 93 % of the thresholds"
        out.append(Claim(words, None, held.value, held.low, held.high, held.low <= 0.93 and held.high >= 0.87))
        stopped = select(here, method="stopped")
        kept = mean([row["held"] for row in stopped])
        tones = float(np.mean([row["after"] for row in stopped]))
        words = f"{setting}, {kind}: where the test stops, thresholds are within 5 dB 93 % of the time or more"
        out.append(Claim(words, None, kept.value, kept.low, kept.high, kept.high >= 0.93, f"After {tones:.0f} tones."))
        out += _beside_others(f"{setting}, {kind}", here)
        out += _by_several(f"{setting}, {kind}", here)
        both = select(here, method="both ears")
        if both:
            last = max(row["after"] for row in both)
            at = mean([row["error"] for row in both if row["after"] == last])
            words = f"{setting}, {kind}: both ears to 3.5 dB within {_BOTH[1]} tones"
            out.append(Claim(words, None, at.value, at.low, at.high, at.value <= 3.5, f"After {last} tones."))
    return out


def _beside_others(words: str, here: list[Row]) -> list[Claim]:
    """Errors after twenty tones and at the end, less those of other ways to test, on the ears that both have tested."""
    out = []
    for other in ("library", "one by one", "uncertainty", "committee", "chance"):
        own = [row for row in here if row["repetition"] < _OTHERS]
        looks = {row["after"] for row in select(own, method=other)}
        for after in sorted(looks & {_EARLY, max(looks)}):
            a, b = pairs(select(own, after=after), "error", {"method": "gainful"}, {"method": other}, ["repetition"])
            gap = paired_difference(a, b)
            said = f"{words}: error after {after} tones, minus that of {_CALLED[other]} on the same ears (dB)"
            out.append(Claim(said, None, gap.value, gap.low, gap.high, gap.low <= 0.0))
    return out


def _by_several(words: str, here: list[Row]) -> list[Claim]:
    """In what share of the trials several tones have the error that single ones have at the end, on the same ears."""
    out = []
    for together in _SEVERAL:
        own = select(here, method=f"up to {together}")
        if not own:
            continue
        ears, last = {row["repetition"] for row in own}, max(row["after"] for row in own)
        single = [row for row in select(here, method="gainful", after=last) if row["repetition"] in ears]
        wanted = float(np.mean([row["error"] for row in single]))
        at = sorted({row["after"] for row in own})
        error = [float(np.mean([row["error"] for row in own if row["after"] == n])) for n in at]
        first = next((n for n, each in zip(at, error, strict=True) if each <= wanted), None)
        share = _NEVER if first is None else first / last
        note = f"{len(ears)} ears: {wanted:.2f} dB after {last} single tones, {error[-1]:.2f} dB after as many trials."
        said = f"{words}: up to {together} tones in a trial reach the error of single ones in this share of the trials"
        out.append(Claim(said, None, share, share, share, share <= 0.8, note))
    return out


def _beside_the_staircase(words: str, stairs: list[Row], curve: dict[int, Estimate]) -> Claim:
    """In what share of its tones the staircase's error is reached, the bias of its reports taken off."""
    off = np.array([[row[f"off at {f:g} Hz"] for f in FREQUENCIES] for row in stairs])
    plain, corrected = float(np.abs(off).mean()), float(np.abs(off - off.mean()).mean())
    taken = float(np.mean([row["after"] for row in stairs]))
    first = next((n for n in curve if curve[n].value <= corrected), None)
    share = _NEVER if first is None else first / taken
    note = (
        f"Staircase: {taken:.0f} tones to {plain:.2f} dB, {corrected:.2f} dB once its bias of {off.mean():+.2f} dB is "
        f"taken off; gainful is as near after {f'more than {max(curve)}' if first is None else first} tones."
    )
    words = f"{words}: the staircase's error within a third of its tones"
    return Claim(words, None, share, share, share, share <= 1.0 / 3.0, note)


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    looks = {
        "gainful": ("#0072B2", "o", "-"),
        "by bits": ("#56B4E9", "v", "-"),
        "library": ("#009E73", "^", "--"),
        "one by one": ("#D55E00", "s", "-."),
        "chance": ("#7F7F7F", "D", ":"),
        "uncertainty": ("#E69F00", "x", ":"),
        "committee": ("#882255", "+", ":"),
        "up to 2": ("#000000", "", "-"),
    }
    sheet = Figure(figsize=(10, 7), layout="constrained")
    panels = sheet.subplots(2, 2, sharex=True, sharey=True)
    every = min(_OTHERS, _SEVERAL[2])  # ears that all have measured
    for axes, (setting, kind) in zip(panels.flat, _WANTED, strict=True):
        here = [row for row in select(rows, setting=setting, kind=kind) if row["repetition"] < every]
        for method, (colour, mark, line) in looks.items():
            own = select(here, method=method)
            at = sorted({row["after"] for row in own})
            value = [float(np.mean([row["error"] for row in own if row["after"] == n])) for n in at]
            axes.plot(at, value, color=colour, marker=mark, ls=line, ms=4, lw=1.3, label=method)
        stairs = select(here, method="staircase")
        if stairs:
            axes.axhline(float(np.mean([row["error"] for row in stairs])), color="#CC79A7", lw=1.2,
                         label="staircase, at its end")  # fmt: skip
        words = "told spread and rates" if setting == "A" else "spread and rates unknown"
        axes.set_title(f"{kind} ears, {words}", fontsize=10)
        axes.set_ylim(0, 16)
    for axes in panels[-1]:
        axes.set_xlabel("tones")
    for axes in panels[:, 0]:
        axes.set_ylabel("mean absolute error (dB)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    sheet.savefig(folder / "errors.png", dpi=130)
    return [folder / "errors.png"]


EXPERIMENT = Experiment(
    name="hearing-real",
    title="Thresholds of real ears, tone by tone",
    source="Gardner 2018, ch. 3; this comparison is not published",
    published={"nothing": "gainful's own test beside the clinical one and three others"},
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=(FILE,),
)
