"""What every journal must satisfy: the promise in `gainful.campaign.journal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["check_journal"]


def check_journal(opened: Callable[[], Any]) -> None:
    """`opened()` opens the same, at first empty, journal each time it is called.

    Events come back in order, as JSON has them, to whoever opens the journal next. Several are appended together, all
    or none; an event that JSON does not have is refused, with all that came with it, and leaves no trace.
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
    _same(opened().events(), [*events, *more], "an opened journal can be gone on with, by several events at once")


def _same(got: Any, expected: Any, law: str) -> None:
    if got != expected:
        raise AssertionError(f"{law}: expected {expected!r}, got {got!r}")
