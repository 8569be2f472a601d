"""Surveys many fields at once, in processes of their own, and passes on what comes of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

import gainful as gf
from gainful.demo.survey import Comparison, Moment, compare
from gainful.lab import Died, ProcessPool, cores

__all__ = ["survey_fields"]

_MOST = 4  # processes: each takes a second to start
_PULSE = 0.1  # seconds after which the caller has its turn even if there is nothing new


def survey_fields(seeds: Sequence[int], watched: int) -> Generator[Moment | Comparison | None]:
    """Every moment of the watched field, explained, and the comparison of each; None when nothing came for a while."""
    pool = ProcessPool(_survey, min(cores(), _MOST, len(seeds)), pulse=_PULSE)
    with closing(pool.perform({seed: (seed, seed == watched) for seed in seeds})) as events:
        for event in events:
            if isinstance(event, Died):
                raise gf.GainfulError(f"a process ended before it had surveyed field {event.key} ({event.cause})")
            yield None if event is None else event.value


def _survey(seed: int, watched: bool) -> Iterator[Moment | Comparison]:
    """In another process: the comparison on one field, before it every moment if somebody watches."""
    return (came for came in compare(seed, explain=watched) if watched or isinstance(came, Comparison))
