"""Gardner 2018, ch. 4, Figs. 4.2 and 4.3: is there a notch in this ear? Tones that tell models apart (BAMS).

Two models, healthy and notched (`published_models.py`), a half each; five random tones, then twenty-five chosen out of
10,000 by what their answers tell about which model is right, I(y; M). Beside it what tells most about f under the
healthy model (BALD), the most uncertain answer, a committee, and chance; all have the same first five tones.

Listeners are real ears of people held back whose thresholds are 20 dB HL or less and that have no notch of their own
(none of 10 dB at 3 to 6 kHz; Coles, Lutman & Buffin 2000). As published, the truth is what the healthy model believes
after a hundred tones, and a notch from the prior, at least 15 dB deep, is taken off its mean: a hundred people, the
first nine of them with three notches. Fifteen of them also as they are, straight lines between their frequencies with a
spread of 4 dB, which no model here expects.

Hyperparameters are integrated by points about their mode, where the text has one Gaussian (MGP), and evidences are
Laplace's, corrected by importance. Answers enter by EP; by Laplace, as in the text, models weigh the same to 0.001, and
a tone takes three times as long. The truth is found by EP as well: by Laplace, a test that begins with five tones that
are heard may go on with the loudest one a hundred times, whose answer it never learns to expect, and what it believes
then is no ear. With such truths 71 of 100 notches were found, and ten of the others were believed to be none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition import Entropy, QueryByCommittee
from gainful.hearing import Listener
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import paired_difference, share
from gainful.lab.table import column, pairs, select
from gainful.papers.gardner2018.ears import FILE, people
from gainful.papers.gardner2018.published_models import TONE, draw_notch, healthy, notched, tones

__all__ = ["EXPERIMENT", "KINDS", "SURE", "TONES", "Chance", "first_sure", "follow"]

Array = NDArray[np.float64]
Chance = Callable[[Array], Array]

_FIRST, TONES, SURE = 5, 30, 0.99
_LISTENERS, _COMPARED, _PERSONS, _NOTCHES = 100, 15, 9, 3
_DEEP = 45.0  # dB: of the prior that expects deeper notches
_EARLY = 10  # chosen tones
_STAGE = 100  # tones to the published kind of truth
_HEALTHY = 20.0  # dB HL at most
_COLES = 10.0  # dB by which 3, 4 or 6 kHz are worse than lower and higher frequencies: a notch
_NEAR = 300  # of the tones, those that few parts of each model like best
_SOME = 300  # of the tones, those that uncertainty and a committee choose from
KINDS = ("healthy", "notched")
_METHODS = ("BAMS", "BALD", "uncertainty", "committee", "random")


@cache
def _pool() -> Array:
    return tones()


def _settings(quick: bool) -> list[Setting]:
    if quick:
        return [{"kind": kind, "truth": "posterior", "tones": 8, "person": 0, "repetition": 0} for kind in KINDS]
    found = []
    for person in range(_LISTENERS):
        notches = _NOTCHES if person < _PERSONS else 1
        found += [("healthy", "posterior", person, 0), *(("notched", "posterior", person, n) for n in range(notches))]
        if person < _COMPARED:
            found += [(kind, "curve", person, 0) for kind in KINDS]
    return [{"kind": k, "truth": t, "tones": TONES, "person": p, "repetition": n} for k, t, p, n in found]


def _person(number: int) -> Listener:
    """Somebody held back who hears well and has no notch by Coles' criterion, always the same for a number."""
    held = people(held=True)
    t = dict(zip(held.frequencies.tolist(), held.both[:, 0].T, strict=True))
    dip = np.max([t[3000.0], t[4000.0], t[6000.0]], axis=0)
    notch = (dip >= np.minimum(t[1000.0], t[2000.0]) + _COLES) & (dip >= np.minimum(t[6000.0], t[8000.0]) + _COLES)
    fine = np.flatnonzero((held.both[:, 0] <= _HEALTHY).all(axis=1) & ~notch)
    order = np.random.default_rng(40).permutation(fine)
    return Listener(held.both[order[number], :1], held.frequencies, 4.0, 0.0, 0.0)


def _curve(kind: str, number: int, notch: int = 0) -> Chance:
    """P(heard) by a person's own curve, with a notch or without."""
    person = _person(number)
    depth, centre, width = draw_notch(np.random.default_rng([43, number, notch]))

    def chance(X: Array) -> Array:
        at = np.log2(np.asarray(person.frequencies, dtype=float))
        t = np.interp(X[:, 0], at, np.asarray(person.thresholds)[0])
        if kind == "notched":
            t = t + depth * np.exp(-0.5 * ((X[:, 0] - np.log2(centre)) / width) ** 2)
        return np.asarray(ndtr((X[:, 1] - t) / person.spread))

    return chance


@cache
def _believed(number: int) -> gf.Posterior:
    """What the healthy model believes of a person after a hundred tones, chosen by what they tell about f."""
    chance, rng = _curve("healthy", number), np.random.default_rng([42, number])
    asked = list(_pool()[rng.integers(len(_pool()), size=_FIRST)])
    answers: list[float] = []
    posterior: gf.Posterior | None = None
    while True:
        X = np.array(asked)
        answers += (rng.random(len(X) - len(answers)) < chance(X[len(answers) :])).astype(float).tolist()
        data = gf.Data().add(TONE, X, answers)
        if posterior is None or len(X) % 10 == 0:
            gp = gf.fit(healthy(), data).gp
        posterior = gp.condition(data)
        if len(X) == _STAGE:
            return posterior
        asked.append(_pool()[int(np.argmax(gf.information(posterior, TONE, _pool())))])


def _published(kind: str, person: int, notch: int) -> Chance:
    """P(heard) as that posterior predicts it, its mean lowered by a notch."""
    posterior = _believed(person)
    depth, centre, width = draw_notch(np.random.default_rng([43, person, notch]))
    slope = 1.0 / 4.0

    def chance(X: Array) -> Array:
        m, v = posterior.mean(X), posterior.variance(X)
        if kind == "notched":
            m = m - depth * slope * np.exp(-0.5 * ((X[:, 0] - np.log2(centre)) / width) ** 2)
        return np.asarray(ndtr(m / np.sqrt(1.0 + v)))

    return chance


def _run(setting: Setting, seed: int) -> list[Row]:
    kind, person, notch = setting["kind"], setting["person"], setting["repetition"]
    published = setting["truth"] == "posterior"
    chance = (_published if published else _curve)(kind, person, notch)
    compared = published and person < _COMPARED and notch == 0
    rows: list[Row] = []
    for method in _METHODS if compared else _METHODS[:1]:
        rows += [{"method": method, **row} for row in follow(chance, kind, method, setting["tones"], seed)]
    if compared and kind == "notched":
        count = min(setting["tones"], _FIRST + _EARLY)
        rows += [{"method": "deep", **row} for row in follow(chance, kind, "BAMS", count, seed, _DEEP)]
    return rows


def follow(
    chance: Chance, kind: str, method: str, count: int, seed: int, depth: float | None = None
) -> list[Row]:  # fmt: skip
    """Tones one by one, and how probable the right model is after each from the fifth on."""
    rivals = gf.Models([healthy(), notched() if depth is None else notched(depth)])
    rng, pool = np.random.default_rng(seed), _pool()
    asked = list(pool[rng.integers(len(pool), size=_FIRST)])
    answers = (rng.random(_FIRST) < chance(np.array(asked))).astype(float).tolist()
    own = np.random.default_rng([seed, _METHODS.index(method)])
    belief: gf.Belief | None = None
    rows: list[Row] = []
    while True:
        belief = rivals.condition(gf.Data().add(TONE, np.array(asked), answers), start=belief, rng=0)
        right = float(belief.model_weights[int(kind == "notched")])
        octave, level = asked[-1]
        rows.append({"after": len(asked), "probability": right, "octave": float(octave), "level": float(level)})
        if len(asked) >= count:
            return rows
        asked.append(pool[_choice(belief, method, pool, own)])
        answers.append(float(own.random() < chance(asked[-1][None])[0]))


def _choice(belief: gf.Belief, method: str, pool: Array, rng: np.random.Generator) -> int:
    if method == "random":
        return int(rng.integers(len(pool)))
    if method == "BAMS":
        learn = gf.Learn("model")
        near = np.argsort(-learn.rank(belief, TONE, pool))[:_NEAR]
        return int(near[np.argmax(learn.score(belief, TONE, pool[near]))])
    if method == "BALD":  # under the healthy model, its leading hyperparameters
        first = [i for i, model in enumerate(belief.models) if model == 0]
        lead = max(first, key=lambda i: belief.weights[i])
        return int(np.argmax(gf.information(belief.posteriors[lead], TONE, pool)))
    some = rng.integers(len(pool), size=_SOME)
    goal = Entropy() if method == "uncertainty" else QueryByCommittee(size=20, seed=int(rng.integers(1000)))
    return int(some[np.argmax(goal.score(belief, TONE, pool[some]))])


def first_sure(rows: list[Row]) -> dict[tuple[int, int], int]:
    """After how many tones each run was sure for the first time; more than there were where it never was."""
    found: dict[tuple[int, int], int] = {}
    for row in rows:
        key, late = (row["person"], row["repetition"]), row["tones"] + 1
        found[key] = min(found.get(key, late), row["after"] if row["probability"] > SURE else late)
    return found


def _of_compared(rows: list[Row]) -> list[Row]:
    """Those of the people whom every method has tested."""
    return [row for row in rows if row["person"] < _COMPARED]


def _claims(rows: list[Row]) -> list[Claim]:
    out = []
    for kind in KINDS:
        here = select(rows, kind=kind, truth="posterior", method="BAMS")
        tones = here[0]["tones"]
        first = np.array([n for (_, notch), n in first_sure(here).items() if notch == 0])
        sure = share(first <= tones)
        words = f"{kind}: the right model has more than {SURE:g} within {tones} tones"
        note = f"In {int((first <= tones).sum())} of {len(first)} listeners; wanted in 95 of 100. Published: in all."
        out.append(Claim(words, "all", sure.value, sure.low, sure.high, sure.value >= 0.95, note))
        middle = float(np.median(first))
        words = f"{kind}: tones until then, the median"
        if kind == "notched":
            out.append(Claim(words, "rarely more than 15 chosen", middle, middle, middle, middle <= 15.0))
        for method in _METHODS[1:]:
            last = _of_compared(select(rows, kind=kind, truth="posterior", repetition=0, after=tones))
            gap = paired_difference(*pairs(last, "probability", {"method": "BAMS"}, {"method": method}, by=["person"]))
            words = f"{kind}: probability of the right model after {tones} tones, BAMS minus {method}"
            out.append(Claim(words, "higher", gap.value, gap.low, gap.high, gap.high > 0.0))
    own = _of_compared(select(rows, kind="notched", truth="posterior", repetition=0))
    early = [row for row in own if _FIRST < row["after"] <= _FIRST + _EARLY]
    for words, more, less in (
        (f"the first {_EARLY} chosen tones are louder by BAMS than by BALD (dB)", "BAMS", "BALD"),
        (f"and louder where deeper notches are expected, {_DEEP:g} dB (dB)", "deep", "BAMS"),
    ):
        by = sorted({row["person"] for row in early if row["method"] == more})
        levels = [[np.mean(column(early, "level", method=m, person=p)) for p in by] for m in (more, less)]
        gap = paired_difference(*(np.array(each, dtype=float) for each in levels))
        out.append(Claim(words, "louder", gap.value, gap.low, gap.high, gap.value > 0.0))
    curves = {kind: first_sure(select(rows, kind=kind, truth="curve", method="BAMS")) for kind in KINDS}
    if curves["notched"]:
        shares = {kind: share([n <= TONES for n in found.values()]) for kind, found in curves.items()}
        both = share([n <= TONES for found in curves.values() for n in found.values()])
        words = "real curves, with their kinks: the right model has more than 0.99 within 30 tones"
        note = ", ".join(f"{kind} {each.value:.0%} of {len(curves[kind])}" for kind, each in shares.items()) + "."
        out.append(Claim(words, None, both.value, both.low, both.high, True, note))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    looks = {"BAMS": ("#0072B2", "-"), "BALD": ("#D55E00", "--"), "uncertainty": ("#CC79A7", "-."),
             "committee": ("#E69F00", (0, (3, 1, 1, 1))), "random": ("#7F7F7F", ":")}  # fmt: skip
    sheet = Figure(figsize=(11, 3.8), layout="constrained")
    panels = sheet.subplots(1, 3)
    for axes, kind in zip(panels, KINDS, strict=False):
        for method, (colour, line) in looks.items():
            own = _of_compared(select(rows, kind=kind, truth="posterior", method=method))
            at = sorted({row["after"] for row in own})
            middle = [float(np.mean([row["probability"] for row in own if row["after"] == n])) for n in at]
            axes.plot(at, middle, color=colour, ls=line, lw=1.6, label=method)
        axes.axhline(SURE, color="#999999", lw=0.7)
        axes.set(xlabel="tones", ylabel="probability of the right model", title=f"{kind} ears", ylim=(0.0, 1.02))
    last = panels[2]
    for method, mark in (("BAMS", "o"), ("BALD", "s")):
        own = _of_compared(select(rows, kind="notched", truth="posterior", method=method, repetition=0))
        some = [row for row in own if _FIRST < row["after"] <= _FIRST + _EARLY]
        hertz = [2.0 ** row["octave"] for row in some]
        last.plot(hertz, [row["level"] for row in some], mark, color=looks[method][0], ms=4, alpha=0.6, mfc="none",
                  label=method)  # fmt: skip
    last.set_xscale("log", base=2)
    last.set_xticks([250, 500, 1000, 2000, 4000, 8000], ["250", "500", "1k", "2k", "4k", "8k"])
    last.invert_yaxis()
    last.set(xlabel="frequency (Hz)", ylabel="level (dB HL)", title=f"first {_EARLY} chosen tones, notched ears")
    last.legend(frameon=False, fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    sheet.savefig(folder / "notch.png", dpi=130)
    return [folder / "notch.png"]


EXPERIMENT = Experiment(
    name="hearing-notch",
    title="Is there a notch in this ear?",
    source="Gardner 2018, ch. 4, Figs. 4.2 and 4.3",
    published={
        "settings": "9 healthy persons, 27 notched; 5 random tones and up to 25 chosen out of 10,000",
        "BAMS": "above 0.99 in all runs before the budget ends; notched: rarely more than 15 chosen tones",
        "others": "neither BALD nor random tones infer the notch; all infer the healthy model",
        "tones": "loud at first; after a miss within the notch, then at its edges",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=(FILE,),
)
