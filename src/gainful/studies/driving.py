"""Ask, evaluate, tell: a campaign that is driven to its end, several evaluations at once if wanted.

With w evaluations at once, query n is chosen when the answers up to query n − w are known, whichever come first. So
what is chosen does not depend on how long evaluations take, and a run that is interrupted anywhere goes on as if it had
not been.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from gainful.campaign import Campaign
from gainful.campaign.state import Status
from gainful.data import Query
from gainful.studies.evaluating import Evaluator
from gainful.studies.kept import Kept
from gainful.studies.outcome import Outcome

__all__ = ["End", "Watcher", "drive", "made"]

_ENOUGH = 10  # failures at the very beginning, after which something is wrong with all of them


class End(StrEnum):
    """Why the evaluations have ended."""

    ALL_MADE = "all evaluations were made"
    NO_PLACE = "no place is left to evaluate"
    STOPPED = "stopped before all evaluations were made"
    INTERRUPTED = "interrupted before all evaluations were made"
    ALL_FAILED = f"the first {_ENOUGH} evaluations failed, every one of them"


class Watcher(Protocol):
    """Whoever looks on: when a query is asked, when it is answered. What `answered` gives says whether to stop."""

    def asked(self, query: Query) -> None: ...

    def answered(self, query: Query, outcome: Outcome) -> bool: ...


def made(campaign: Campaign) -> int:
    """How many evaluations there were, with those under way."""
    return sum(entry.status is not Status.WITHDRAWN for entry in campaign.history)


def drive(
    campaign: Campaign,
    evaluator: Evaluator,
    evaluations: int,
    at_once: int,
    kept: Kept,
    watcher: Watcher,
    stop: Callable[[], bool] = lambda: False,
    confirm: str | None = None,
) -> End:
    """Go on until so many evaluations are made in all; what an earlier run left pending comes first.

    Once `stop` is true nothing more is asked. What is under way is waited for and kept, to be told when it goes on.
    With `confirm`, "minimise" or "maximise", the last evaluation is made where that end is believed to be.
    """
    kept.only_below(len(campaign.history))
    under_way = deque(campaign.pending)
    for query in under_way:
        if query.number not in kept:
            evaluator.start(query)
        watcher.asked(query)
    told, failed = 0, 0
    while True:
        stopping = stop()
        while not stopping and len(under_way) < at_once and made(campaign) < evaluations:
            last_one = confirm is not None and made(campaign) == evaluations - 1
            new = (campaign.confirm(confirm) if last_one else None) or campaign.ask()
            if new is None:
                break
            evaluator.start(new)
            under_way.append(new)
            watcher.asked(new)
        if not under_way:
            if stopping:
                return End.INTERRUPTED
            return End.ALL_MADE if made(campaign) >= evaluations else End.NO_PLACE
        query = under_way.popleft()
        outcome = _outcome(query, evaluator, kept)
        _tell(campaign, query, outcome)
        told, failed = told + 1, failed + outcome.failed
        if watcher.answered(query, outcome):
            return End.STOPPED
        if stop():
            for left in under_way:
                _outcome(left, evaluator, kept)
            return End.INTERRUPTED if under_way or made(campaign) < evaluations else End.ALL_MADE
        if failed == told == _ENOUGH and len(campaign.history) - len(under_way) == _ENOUGH:
            return End.ALL_FAILED


def _outcome(query: Query, evaluator: Evaluator, kept: Kept) -> Outcome:
    """Wait for the outcome of this query; those that come before it are kept."""
    number = query.number
    assert number is not None  # a campaign has asked it
    while number not in kept:
        kept.add(*evaluator.wait())
    return kept[number]


def _tell(campaign: Campaign, query: Query, outcome: Outcome) -> None:
    if outcome.value is None:
        campaign.fail(query, note=outcome.reason)
    else:
        campaign.tell(query, outcome.value)
