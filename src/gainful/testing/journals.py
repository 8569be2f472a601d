"""What every journal must satisfy: the promise in `gainful.campaign.journal`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gainful.errors import JournalChanged

__all__ = ["check_journal"]


def check_journal(opened: Callable[[], Any]) -> None:
    """`opened()` opens the same, at first empty, journal each time it is called.

    Events come back in order, as JSON has them, to whoever opens the journal next. Several are appended together, all
    or none; an event that JSON does not have is refused, with all that came with it, and leaves no trace. Events that
    are to follow so many others are refused as JournalChanged if the journal holds another number; of several writers
    at once each is refused or keeps what it appends.
    """
    journal = opened()
    _same(journal.events(), [], "a new journal is empty")
    events = [
        {"event": "created", "schema": 1, "text": "µ, ≤ and \n", "nested": {"list": [1, 2.5, None, True]}},
        {"event": "told", "answer": 0.1 + 0.2, "huge": 1e300, "tiny": 5e-324},
        {"event": "stopped", "reason": ""},
    ]
    for n, event in enumerate(events, start=1):
        journal.append(event)
        _same(journal.events(), events[:n], "events come back as they were, in order")
    _same(opened().events(), events, "to whoever opens the journal next")
    for bad in ({"event": "told", "answer": float("nan")}, {"event": "told", "answer": object()}):
        try:
            journal.append({"event": "asked", "query": 0}, bad)
        except (TypeError, ValueError):
            pass
        else:
            raise AssertionError(f"expected {bad} to be refused: JSON has no such value")
        _same(opened().events(), events, "what is refused leaves no trace")
    again = opened()
    again.events()
    more = [{"event": "asked", "query": n} for n in range(3)]
    again.append(*more)
    held = [*events, *more]
    _same(opened().events(), held, "an opened journal can be gone on with, by several events at once")
    journal.append({"event": "stopped"})
    held.append({"event": "stopped"})
    _same(opened().events(), held, "without `after`, events are appended after whatever is there")
    for after in (0, len(held) - 1, len(held) + 1):
        for appended in ([], more):
            _refused(again, appended, after)
            _same(opened().events(), held, "what is refused leaves no trace")
    again.append(after=len(held))
    again.append(*more, after=len(held))
    _same(opened().events(), [*held, *more], "events that follow what was seen are kept")
    _check_several_writers(opened)


def _check_several_writers(opened: Callable[[], Any], writers: int = 3, each: int = 10) -> None:
    """Writers at the same time, each of which reads again when it was refused."""
    before = len(opened().events())

    def write(who: int) -> None:
        journal = opened()
        for n in range(each):
            while True:
                seen = len(journal.events())
                try:
                    journal.append({"event": "told", "who": who, "n": n, "seen": seen}, after=seen)
                    break
                except JournalChanged:
                    pass

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    found = opened().events()[before:]
    kept = sorted((event["who"], event["n"]) for event in found)
    _same(kept, [(w, n) for w in range(writers) for n in range(each)], "what several writers append is kept, once")
    seen = [event["seen"] for event in found]
    _same(seen, list(range(before, before + writers * each)), "an event follows as many as its writer has seen")


def _refused(journal: Any, events: list[Any], after: int) -> None:
    try:
        journal.append(*events, after=after)
    except JournalChanged:
        return
    raise AssertionError(f"expected JournalChanged, where events are to follow {after} others and the journal differs")


def _same(got: Any, expected: Any, law: str) -> None:
    if got != expected:
        raise AssertionError(f"{law}: expected {expected!r}, got {got!r}")
