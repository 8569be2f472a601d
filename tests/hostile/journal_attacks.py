"""Attacks on a campaign's journal, each with its count of what must never be.

python tests/hostile/journal_attacks.py             in full, with a table
python tests/hostile/journal_attacks.py 0.01        a hundredth of it

races     processes that tell at the same moment: answers that are lost, doubled, or cannot be read
flips     one bit of the file: read as if nothing were the matter
edits     of the file as it is, of the file with its checksums made right again, and of events that no file has
          touched: other exceptions than JournalError, and events accepted that cannot have happened
kills     a process that tells, killed at any moment: what it was told is kept is lost, or the file stays locked
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gainful as gf
from gainful.campaign.lines import Lines, Mark, read_lines, to_lines, to_text

LAB = gf.Point(noise=0.1, name="lab")
LOOK = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, name="look")
STRIP = gf.Interval(noise=0.1, name="strip")
PAIR = gf.Preference(name="pair")
SPACE = gf.Space(gf.Real("x", 0, 1), gf.Real("y", 0, 2))
POOL = gf.Pool([[0.25], [0.5], [0.75]])
GP = gf.GP(gf.SE(0.3))

_BLOCK = 30  # races on one file
_FULL = {"races of 2": 3000, "races of 8": 3000, "flips": 1000, "edits": 200, "kills": 500}


def _processes() -> Any:
    """Processes that begin at once: forked from one that has imported what they need, and has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["gainful"])
    return context


# Races


def race(writers: int, count: int, folder: Path) -> Counter[str]:
    """So many races of so many processes. By turns they tell queries of their own, with the campaign that they have or
    one that is resumed just before, and all of them the same pending query."""
    context = _processes()
    barrier = context.Barrier(writers)
    workers = []
    for who in range(writers):
        here, there = context.Pipe()
        process = context.Process(target=_run_races, args=(who, there, barrier), daemon=True)
        process.start()
        workers.append((process, here))
    found: Counter[str] = Counter()
    for block in range(0, count, _BLOCK):
        races = range(block, min(block + _BLOCK, count))
        path = folder / f"races-{block}.jsonl"
        asked = gf.Campaign(POOL, LAB, GP, gf.Random(), journal=path).ask(len(races))
        for _, pipe in workers:
            pipe.send((path, races))
        replies = [pipe.recv() for _, pipe in workers]
        found += _judge_races(path, races, asked, replies)
        path.unlink()
    for process, pipe in workers:
        pipe.send(None)
        process.join()
    return found


def _run_races(who: int, pipe: Any, barrier: Any) -> None:
    warnings.simplefilter("error")
    while (work := pipe.recv()) is not None:
        path, races = work
        kept, campaign = [], gf.Campaign.resume(path)
        for turn, number in enumerate(races):
            barrier.wait(60)
            if number % 3 == 1:
                campaign = gf.Campaign.resume(path)
            query = campaign.history[turn].query if number % 3 == 2 else gf.Query(LAB, [0.5])
            try:
                campaign.tell(query, float(who), note=number)
                kept.append(number)
            except gf.InvalidInput:
                if number % 3 != 2:
                    raise
        pipe.send(kept)


def _judge_races(path: Path, races: range, asked: list[gf.Query], replies: list[list[int]]) -> Counter[str]:
    acknowledged = Counter((who, number) for who, kept in enumerate(replies) for number in kept)
    try:
        history = gf.Campaign.resume(path).history
    except gf.JournalError:
        return Counter({"races": len(races), "unreadable": 1})
    told = Counter((int(e.answer), e.note) for e in history if e.status == "told")
    return Counter(
        {
            "races": len(races),
            "acknowledged": acknowledged.total(),
            "lost": (acknowledged - told).total(),
            "doubled": (told - acknowledged).total(),
            "won by none or several": sum(
                sum((who, number) in acknowledged for who in range(len(replies))) != 1
                for number in races
                if number % 3 == 2
            ),
        }
    )


# Flips and edits


def rich_campaign(folder: Path) -> Path:
    """The file of a campaign that has every kind of event but a stream's."""
    path = folder / "rich.jsonl"
    path.unlink(missing_ok=True)
    gp = gf.GP(gf.SE([0.3, 0.5], 1.0), gf.ConstantMean(0.1), space=SPACE)
    land = SPACE.where(gf.Within(x=(0, 0.9)))
    instruments = [LAB, LOOK, STRIP, PAIR]
    campaign = gf.Campaign(
        land, instruments, gp, gf.Random(), budget=60, refit=4, search=gf.Search(16, 1), journal=path
    )
    answers = {"lab": 0.3, "look": 2, "strip": (-np.inf, 0.4), "pair": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few answers nothing can be learned that converges
        for n in range(6):
            query = campaign.ask(where=gf.Within(x=(0.1, None)))
            campaign.tell(query, answers[query.instrument.label], note={"by": "J*µ", "n": n})
        for instrument in (LAB, LOOK, STRIP):
            campaign.tell(gf.Query(instrument, [0.2, 0.2]), answers[instrument.label], cost=0.5)
        campaign.tell(gf.Query(PAIR, [[0.2, 0.2], [0.3, 0.3]]), True)
        campaign.correct(6, 0.4, note="read again")
        campaign.withdraw(1)
        campaign.undo()
        campaign.ask()
        campaign.stop("enough")
    return path


def flip(count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """So many files with one bit flipped."""
    rng, content = random.Random(seed), rich_campaign(folder).read_bytes()
    path, found = folder / "flipped.jsonl", Counter({"flips": count})
    for _ in range(count):
        place = rng.randrange(8 * len(content))
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        found[_outcome(path)] += 1
    return found


def _outcome(journal: Any) -> str:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gf.Campaign.resume(journal)
    except gf.JournalError as trouble:
        return "refused" if "line" in str(trouble) or "event" in str(trouble) else "refused without its place"
    except Exception as trouble:
        return f"raw {type(trouble).__name__}"
    return "warned" if any(issubclass(w.category, gf.JournalWarning) for w in caught) else "silent"


def edit(count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """So many edits of the lines of a file, and all impossible events that are thought of here, each of them in a file
    with right checksums and in a journal that is no file."""
    rng, whole = random.Random(seed), rich_campaign(folder)
    path, found = folder / "edited.jsonl", Counter()
    lines = whole.read_bytes().splitlines(keepends=True)
    for _ in range(count):
        path.write_bytes(b"".join(_edited(lines, rng)))
        found[f"lines {_outcome(path)}"] += 1
    events = read_lines(whole).records
    for changed in impossible(events):
        found[f"events {_outcome(Plain(changed))}"] += 1
        try:
            path.write_bytes(to_lines([to_text(event) for event in changed], Mark())[0])
        except (TypeError, ValueError, RecursionError):
            continue  # nothing that a file could hold
        found[f"checked lines {_outcome(path)}"] += 1
    return found


class Plain:
    """A journal that keeps what it is given."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events

    def events(self) -> list[Any]:
        return list(self._events)

    def append(self, *events: Any, after: int | None = None) -> None:
        if after not in (None, len(self._events)):
            raise gf.JournalChanged("others have written")
        self._events = [*self._events, *events]


def _edited(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """One change that an editor makes, to a line, which is not the last one where it would be a shorter journal."""
    i = rng.randrange(len(lines) - 1)
    j = rng.choice([k for k in range(len(lines)) if k != i])
    line, out = lines[i], list(lines)
    kind = rng.randrange(8)
    if kind == 0:
        del out[i]
    elif kind == 1:
        out[i], out[j] = out[j], out[i]
    elif kind == 2:
        out.insert(j, line)
    elif kind == 3:
        out.append(line)
    elif kind == 4:
        digit = rng.choice([k for k, byte in enumerate(line) if 48 <= byte <= 57])
        out[i] = line[:digit] + bytes([48 + (line[digit] - 47) % 10]) + line[digit + 1 :]
    elif kind == 5:
        out[i] = line[: rng.randrange(1, len(line) - 1)] + b"\n"
    elif kind == 6:
        out[i] = line.replace(b'"', b"'", 1)
    else:
        out.insert(i, b"\n")
    return out


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


_WRONG_TYPES = (
    None,
    "x",
    -1,
    -0.5,
    10**400,
    float("nan"),
    float("inf"),
    {},
    [],
    {"a": 1},
    _deep(3000),
    {1: 2, "b": 3},
    b"x",
)


def impossible(events: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """Journals that no campaign has written: one event, or a part of one, is what it cannot be."""

    def put(path: tuple[Any, ...], value: Any) -> list[Any]:
        out = copy.deepcopy(events)
        node = out
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
        return out

    def first(kind: str, **having: Any) -> int:
        return next(
            i for i, e in enumerate(events) if e["event"] == kind and all(e.get(k) == v for k, v in having.items())
        )

    free = {"note", "reason", "failed", "where"}  # where anything, or any text, may be
    for kind in dict.fromkeys(event["event"] for event in events):
        i = first(kind)
        for name in set(events[i]) - free:
            yield [*events[:i], {k: v for k, v in events[i].items() if k != name}, *events[i + 1 :]]
            wrong = [v for v in _WRONG_TYPES if not (name == "answer" and v in (-1, -0.5))]  # they may be right
            yield from (put((i, name), value) for value in wrong)
        yield from (put((i,), value) for value in _WRONG_TYPES)
        yield put((i, "colour"), "blue")
    own = {name: first("told", instrument=name) for name in ("lab", "look", "strip", "pair")}
    fields = (0, "design", "fields")
    for path, value in [
        ((own["lab"], "cost"), -50),
        ((own["lab"], "place"), [0.2]),
        ((own["lab"], "place"), [0.2, 0.2, 0.2]),
        ((own["lab"], "place"), [0.2, 2.5]),
        ((own["lab"], "place"), [[0.2, 0.2], [0.3, 0.3]]),
        ((own["pair"], "place"), [[0.2, 0.2], [0.3, 9.0]]),
        ((own["pair"], "place"), [0.2, 0.2]),
        ((own["lab"], "answer"), "0.3"),
        ((own["lab"], "answer"), [0.3, 0.4]),
        ((own["lab"], "answer"), 1e200),
        ((own["lab"], "answer"), {"number": "inf"}),
        ((own["look"], "answer"), 7),
        ((own["look"], "answer"), 0),
        ((own["look"], "answer"), 1.5),
        ((own["strip"], "answer"), [0.4, -0.1]),
        ((own["strip"], "answer"), [0.4]),
        ((own["strip"], "answer"), 0.4),
        ((own["strip"], "answer"), [{"number": "nan"}, 0.4]),
        ((own["pair"], "answer"), 2),
        ((own["lab"], "instrument"), "nobody"),
        ((own["lab"], "query"), 3),
        ((first("asked"), "place"), [3.0, 0.1]),
        ((first("asked"), "where"), {"type": "gainful.kernels.SE", "fields": {}}),
        ((first("fitted"), "gp"), [0.1]),
        ((first("fitted"), "gp"), [1e5] * 4),
        ((first("fitted"), "instruments"), {"nobody": [0.1]}),
        ((first("fitted"), "instruments"), {"lab": [0.1, 0.2]}),
        ((first("fitted"), "answers"), 9),
        ((first("corrected"), "answer"), "high"),
        ((first("withdrawn"), "query"), 99),
        ((first("undone"), "query"), 0),
        ((*fields, "budget"), -1),
        ((*fields, "seed"), -1),
        ((*fields, "refit"), 0),
        ((*fields, "instruments"), []),
        ((*fields, "search", "fields", "candidates"), 10**13),
        ((*fields, "search", "fields", "climbers"), -1),
        ((*fields, "model", "fields", "kernel", "fields", "lengthscale"), [0.3, -0.5]),
        ((*fields, "model", "fields", "kernel", "fields", "lengthscale"), [0.3, 0.5, 0.7]),
        ((*fields, "model"), {"type": "os.system", "fields": {}}),
        ((*fields, "goal"), {"function": "os:system"}),
        ((*fields, "space"), _deep(150)),
    ]:
        yield put(path, value)
    yield [*events, events[0]]
    yield [*events, events[first("asked")]]  # asked again, after the end
    yield [*events, events[own["lab"]]]
    yield events[1:]
    yield [*events, {"event": "passed", "place": [0.1, 0.1]}]  # there is no stream


# Kills


def kill(count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """So many processes that tell, one after the other on one journal, each killed at some moment."""
    rng, context, found = random.Random(seed), _processes(), Counter({"kills": count})
    path, acknowledged = folder / "killed.jsonl", 0
    for number in range(count):
        if number % 25 == 0:  # a new file now and then: an old one is long
            path, acknowledged = folder / f"killed-{number}.jsonl", 0
            gf.Campaign(POOL, LAB, GP, gf.Random(), journal=path)
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_tell_on, args=(path, there), daemon=True)
        process.start()
        there.close()
        here.recv()
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        kept = 0
        try:
            while here.recv():
                kept += 1
        except EOFError:
            process.join()
        acknowledged += kept
        found["acknowledged"] += kept
        try:
            Lines(path).close()
        except BlockingIOError:
            found["still locked"] += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gf.JournalWarning)
            told = sum(e.status == "told" for e in gf.Campaign.resume(path).history)
        found["lost"] += max(0, acknowledged - told)
        found["kept, though it was not said"] += max(0, told - acknowledged)
        acknowledged = told
    return found


def _tell_on(path: Path, pipe: Any) -> None:
    warnings.simplefilter("ignore")
    campaign = gf.Campaign.resume(path)
    pipe.send(False)
    while True:
        query = campaign.ask() if len(campaign.history) % 2 else gf.Query(LAB, [0.5])
        campaign.tell(query, 0.1)
        pipe.send(True)


def main(share: float = 1.0) -> None:
    """Run everything, or a share of it, and print what happened."""
    counts = {name: max(1, round(count * share)) for name, count in _FULL.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for attack, run in (
            ("races of 2", lambda n: race(2, n, folder)),
            ("races of 8", lambda n: race(8, n, folder)),
            ("flips", lambda n: flip(n, folder)),
            ("edits", lambda n: edit(n, folder)),
            ("kills", lambda n: kill(n, folder)),
        ):
            begun = time.monotonic()
            found = run(counts[attack])
            words = ", ".join(f"{what} {n}" for what, n in sorted(found.items()))
            print(f"{attack:12} {words}   ({time.monotonic() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
