"""Audiograms by gainful beside AEPsych, on AEPsych's own audiometric test functions.

    .venv/bin/python benchmarks/hearing_rivals.py [--seeds 10] [--spreads 2 5] [--only Metabolic] [--methods level-set]

The functions are four audiograms of older people (Dubno et al. 2013), each with six spreads of the psychometric
function from 0.2 to 10 dB, as in Song et al. 2017 and AEPsych's paper, Owen et al. 2021. They are read from the
installed AEPsych: the probability of a yes is Φ((level − t(f))/spread), without guesses and lapses.

gainful is told the frequencies of the audiogram and the levels, −10 to 110 dB in steps of 5 as audiometers have them,
and nothing else: no age, no spread, no rates. Its `sure` is out of reach, so that it goes on; if it ends all the same,
what it said last counts at later looks. AEPsych plays any frequency and level of the same range; `_aepsych.py` has its
settings and the reasons for them. Both hear answers by the same random numbers.

The error is the mean of |estimated − true threshold| in dB, at the eight frequencies of the audiogram. The error of the
curve is beside it: that at 31 frequencies from 250 to 8000 Hz, a sixth of an octave apart, because AEPsych learns the
whole curve. Seconds are those with 25 answers, on one thread, with one test at a time unless --cores says otherwise.
AEPsych fits its model when it is asked for a point, gainful when it is told an answer. What AEPsych needs from an
answer to the next tone is therefore shown beside two things: the same of gainful, and gainful's ask alone.

Wanted: at 25 and 50 trials less error than both strategies of AEPsych, and the next tone at least 20 times as fast.
AEPsych gets an environment of its own on demand. Results are kept, and what is on file is not done again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _environment import aepsych
from _resumable import Record, on_file, options, perform

from gainful.hearing import HearingTest, Listener

PHENOTYPES = ("Older-normal", "Sensory", "Metabolic", "Metabolic+Sensory")
SPREADS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # dB
AUDIOGRAM = (250.0, 500.0, 1000.0, 2000.0, 3000.0, 4000.0, 6000.0, 8000.0)  # Hz
CURVE = tuple(float(f) for f in 250.0 * 2.0 ** (np.arange(31) / 6.0))
SOFTEST, LOUDEST, STEP = -10.0, 110.0, 5.0  # dB
LOOKS, TRIALS, TIMED, WANTED = (10, 25, 50), 50, 25, 20.0
OURS, THEIRS = "gainful", ("level-set", "look-ahead")
OTHERS = ("volume", "level-set hurried", "look-ahead hurried", "volume hurried")
SUFFICIENT = 0.999999  # never that sure

_servers: list[subprocess.Popen[str]] = []  # of this process, at most one


def chances(function: str, seed: int) -> list[float]:
    """Random numbers that decide the answers of a test: yes where the probability is above."""
    return np.random.default_rng([seed, zlib.crc32(function.encode())]).random(TRIALS).tolist()


def asked(python: str, task: Record) -> Record:
    """What AEPsych says to a task."""
    if not _servers:
        command = [python, str(Path(__file__).resolve().with_name("_aepsych.py"))]
        elsewhere = tempfile.gettempdir()  # AEPsych begins a folder of logs where it is started
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        _servers.append(subprocess.Popen(command, **pipes, text=True, bufsize=1, cwd=elsewhere))
    talking, heard = _servers[0].stdin, _servers[0].stdout
    assert talking is not None
    assert heard is not None
    talking.write(json.dumps(task) + "\n")
    line = heard.readline()
    if not line:
        raise RuntimeError(f"AEPsych ended with {_servers.pop().wait()}")
    return dict(json.loads(line))


def one_test(python: str, function: str, method: str, seed: int, truth: Record) -> Iterator[Record]:
    """A whole test by one of them: errors at the looks, seconds of the asks and the tells, the tones."""
    if method == OURS:
        found = by_gainful(function, seed, truth)
    else:
        found = asked(python, {
            "function": function, "strategy": method, "seed": seed, "chances": chances(function, seed),
            "frequencies": AUDIOGRAM + CURVE, "levels": [SOFTEST, LOUDEST], "looks": LOOKS,
        })  # fmt: skip
    off = {look: np.abs(np.subtract(said, truth["thresholds"])) for look, said in found["thresholds"].items() if said}
    here = len(AUDIOGRAM)
    yield {
        "method": method, "function": function, "off": {look: float(each[:here].mean()) for look, each in off.items()},
        "off_curve": {look: float(each[here:].mean()) for look, each in off.items()}, **found,
    }  # fmt: skip


def by_gainful(function: str, seed: int, truth: Record) -> Record:
    """gainful's thresholds at the looks, seconds [wall, processor] and tones, as `_aepsych.py` has them."""
    here = len(AUDIOGRAM)
    somebody = Listener([truth["thresholds"][:here]], AUDIOGRAM, spread=truth["spread"], guess=0.0, lapse=0.0)
    levels = np.arange(SOFTEST, LOUDEST + STEP / 2, STEP)
    test = HearingTest(frequencies=AUDIOGRAM, levels=list(levels), most=TRIALS, sure=SUFFICIENT)
    thresholds, tones = {}, []
    asks: list[list[float]] = []
    tells: list[list[float]] = []
    for count, chance in enumerate(chances(function, seed), start=1):
        begun = _now()
        tone = test.ask()
        if tone is not None:
            asks.append(_since(begun))
            heard = bool(chance < somebody.chance(tone))
            begun = _now()
            test.tell(tone, heard)
            tells.append(_since(begun))
            tones.append([*tone[:2], heard])
        if count in LOOKS:
            thresholds[str(count)] = [each.median for each in test.belief.thresholds(AUDIOGRAM + CURVE)]
    return {"thresholds": thresholds, "asks": asks, "tells": tells, "tones": tones}


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(begun: tuple[float, float]) -> list[float]:
    return [round(a - b, 5) for a, b in zip(_now(), begun, strict=True)]


Results = dict[tuple[str, str, int], Record]  # by method, function and seed


def mean_error(done: Results, method: str, functions: Iterable[str], look: int, key: str = "off") -> float:
    """In dB, over the tests that are done; nan where there are none."""
    offs = [r[key][str(look)] for (m, f, _), r in done.items() if m == method and f in functions and _seen(r, look)]
    return float(np.mean(offs)) if offs else float("nan")


def difference(done: Results, method: str, look: int, key: str = "off") -> tuple[float, float, int]:
    """How much larger the error of a method is than gainful's on the same function and seed: its mean, half of its
    interval of 95 %, and the number of pairs. Functions are given, seeds are chance: each function has its variance."""
    by_function: dict[str, list[float]] = {}
    for (m, function, seed), record in done.items():
        mine = done.get((OURS, function, seed))
        if m == method and mine and _seen(record, look) and _seen(mine, look):
            by_function.setdefault(function, []).append(record[key][str(look)] - mine[key][str(look)])
    groups = list(by_function.values())
    if not groups:
        return float("nan"), float("nan"), 0
    pairs = sum(map(len, groups))
    # A seed alone has no variance, and no interval comes of it.
    variances = [np.var(each, ddof=1) / len(each) if len(each) > 1 else np.nan for each in groups]
    half = 1.96 * float(np.sqrt(np.sum(variances))) / len(groups)
    return float(np.mean([np.mean(each) for each in groups])), half, pairs


def _seen(record: Record, look: int) -> bool:
    return str(look) in record.get("off", {})


def seconds(done: Results, method: str, which: int) -> tuple[float, float]:
    """Medians with 25 answers: of the ask, and of it with the tell before; `which` is 0 on the wall, 1 processor."""
    rows = [r for (m, _, _), r in done.items() if m == method and len(r.get("asks", ())) > TIMED]
    if not rows:
        return float("nan"), float("nan")
    alone = np.array([r["asks"][TIMED][which] for r in rows])
    before = np.array([r["tells"][TIMED - 1][which] for r in rows])
    return float(np.median(alone)), float(np.median(before + alone))


def show(done: Results, methods: list[str], functions: list[str]) -> bool:
    """Print the tables; whether all that is wanted is so."""
    titles = [f"{method:>20s}" for method in methods]
    print(f"\nerror in dB after {', '.join(map(str, LOOKS))} trials\n{'':26s}{''.join(titles)}")
    spreads = {f"spread {s:g} dB": [f for f in functions if float(f.rsplit(" ", 1)[1]) == s] for s in SPREADS}
    phenotypes = {p: [f for f in functions if f.rsplit(" ", 1)[0] == p] for p in PHENOTYPES}
    for name, some in {**phenotypes, **spreads, "all": functions}.items():
        if some:
            _row(name, [[mean_error(done, method, some, look) for look in LOOKS] for method in methods])
    _row("all, whole curve", [[mean_error(done, m, functions, look, "off_curve") for look in LOOKS] for m in methods])
    good = True
    print("\nhow much larger than gainful's, on the same function and answers, with intervals of 95 %")
    for method in (m for m in methods if m != OURS):
        for key, name in (("off", method), ("off_curve", f"{method}, whole curve")):
            cells = [difference(done, method, look, key) for look in LOOKS]
            text = [f"{look}: {off:.2f} ± {half:.2f} ({n})" for look, (off, half, n) in zip(LOOKS, cells, strict=True)]
            print(f"  {name:36s} {'   '.join(text)}")
            if key == "off" and method in THEIRS:
                good &= all(mean - half > 0.0 for mean, half, _ in cells[1:])
    print(f"\nseconds with {TIMED} answers: wall, processor\n{'':26s}{'ask':>18s}{'tell and ask':>18s}")
    alone, turn = seconds(done, OURS, 1)
    for method in methods:
        (ask, both), (ask_of, both_of) = (seconds(done, method, which) for which in (0, 1))
        times = f"{both_of / turn:.0f} × our tell and ask, {both_of / alone:.0f} × our ask (processor)"
        print(f"{method:26s}{ask:9.3f}{ask_of:9.3f}{both:9.3f}{both_of:9.3f}   {'' if method == OURS else times}")
        good &= method not in THEIRS or both_of / turn >= WANTED
    return bool(good) and {OURS, *THEIRS} <= set(methods)


def _row(name: str, cells: list[list[float]]) -> None:
    print(f"{name:26s}" + "".join(f"{' '.join(f'{each:5.2f}' for each in cell):>20s}" for cell in cells))


def main() -> int:
    wanted = options(__doc__ or "", "aepsych")
    wanted.add_argument("--seeds", type=int, default=10)
    wanted.add_argument("--only", nargs="*", default=PHENOTYPES, choices=PHENOTYPES, metavar="PHENOTYPE")
    wanted.add_argument("--spreads", nargs="*", type=float, default=SPREADS, choices=SPREADS, metavar="DB")
    wanted.add_argument("--methods", nargs="*", default=[OURS, *THEIRS], choices=[OURS, *THEIRS, *OTHERS])
    wanted.set_defaults(cores=1)  # for the sake of the seconds
    given = wanted.parse_args()
    functions = [f"{phenotype} {spread:g}" for phenotype, spread in product(given.only, given.spreads)]
    keys = {
        (f"{method.replace(' ', '-')} {function}", seed): (method, function, seed)
        for seed, function, method in product(range(given.seeds), functions, given.methods)
    }
    if set(keys) - set(on_file(given.folder)):
        python = str(aepsych())
        truths = {f: asked(python, {"truth": f, "frequencies": AUDIOGRAM + CURVE}) for f in functions}
        _servers.pop().communicate()
        tasks: dict[tuple[str, int], tuple[Any, ...]] = {
            key: (python, function, method, seed, truths[function]) for key, (method, function, seed) in keys.items()
        }
        if not perform(one_test, tasks, given.folder, given.cores):
            return 1
    kept = on_file(given.folder)
    failed = {key: kept[key]["error"] for key in keys if "error" in kept[key]}
    for key, words in failed.items():
        print(*key, words)
    done = {names: kept[key] for key, names in keys.items() if key not in failed}
    return 0 if show(done, given.methods, functions) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
