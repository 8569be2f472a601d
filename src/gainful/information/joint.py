"""What several queries tell together, and what one more tells beyond queries that are asked but not answered yet.

    I(answers of S; f)                                   joint_estimate(posterior, S)
    I(answer; f | answers of S) = I(S and it) − I(S)     information(posterior, instrument, places, pending=S)

Exact where integrals nest at most two deep (see `nested`) and are few; otherwise by outcomes (see `outcomes`), with a
standard error that `joint_estimate` and `information_estimate` hand over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Query, as_queries
from gainful.errors import InvalidInput
from gainful.inference.fantasy import fantasize
from gainful.inference.posterior import Posterior
from gainful.information.answered import unanswered
from gainful.information.nested import conditional, given_all_numbers, given_numbers, is_exact, rest_entropy
from gainful.information.outcomes import Size, information_with_pending, outcomes
from gainful.information.readings import (
    CandidateReadings,
    Readings,
    candidate_readings,
    checked,
    read,
    rows_of,
)
from gainful.information.single import information_given
from gainful.instruments import Instrument
from gainful.numerics.memory import in_blocks

__all__ = ["Estimate", "information_estimate", "joint_estimate"]

Array = NDArray[np.float64]

_PATIENCE = 320_000  # bivariate normal probabilities that a scan may take: 0.2 seconds
_PATIENCE_OF_ONE = 2_000_000  # and a single number
_SCAN, _SCAN_OF_NUMBERS, _CAREFUL = Size(128, 16), Size(64, 16), Size(1024, 64)
_MATRICES = 8  # of readings × readings, held for each query
_FEW = 64  # candidates, up to which there is time to be careful


class Estimate(NamedTuple):
    """Bits, and their standard error: 0 where they are exact."""

    bits: Array
    error: Array


def joint_estimate(posterior: Posterior, queries: Sequence[Query]) -> Estimate:
    """Bits that all the answers together are expected to tell about f under one posterior, and their standard error."""
    _check_posterior("posterior", posterior)
    read_off, others = _apart(unanswered(posterior, checked("queries", queries, posterior.data.coordinates)))
    wanted = [*read_off, *others]
    if not wanted:
        return Estimate(np.zeros(()), np.zeros(()))
    most = range(len(read_off), 0, -1)
    first = next((n for n in most if _is_exact(read(posterior, wanted[:n]), _PATIENCE_OF_ONE)), 0)
    bits, variance = _exact_bits(read(posterior, wanted[:first]))[0] if first else 0.0, 0.0
    for n in range(first, len(wanted)):
        query = wanted[n]
        more = information_estimate(posterior, query.instrument, query.place[None], pending=wanted[:n])
        bits, variance = bits + more.bits[0], variance + more.error[0] ** 2
    return Estimate(np.asarray(bits), np.asarray(np.sqrt(variance)))


def information_estimate(
    belief: Posterior, instrument: Instrument, places: ArrayLike, pending: Sequence[Query] = ()
) -> Estimate:
    """I(answer; f | pending answers) under one posterior, (M,), and its standard error, NaN where it is not known."""
    _check_posterior("belief", belief)
    mine, _ = as_queries(instrument, places)
    own = instrument.channel()  # refuses intervals without a width
    read_off, others = _apart(unanswered(belief, checked("pending", pending, mine.shape[-1])))
    if not len(mine):
        return Estimate(np.zeros(0), np.zeros(0))
    if own is None:
        counted = fantasize(belief, [*read_off, *others])
        bits = information_given(instrument, *counted.marginals(instrument, mine))
        return Estimate(bits, np.full_like(bits, np.nan if read_off or others else 0.0))
    counted = fantasize(belief, others) if others else belief
    readings = sum(rows_of(query.instrument, query.place) for query in read_off) + rows_of(instrument, mine[0])

    def of(part: slice) -> Array:
        asked = candidate_readings(counted, read_off, instrument, mine[part])
        share = len(asked) / len(mine)
        exact = _exact_beyond(asked, share * _PATIENCE)
        found = (exact, np.zeros_like(exact)) if exact is not None else _by_outcomes(instrument, asked, len(mine))
        return np.stack(found, axis=1)

    bits, error = in_blocks(of, len(mine), _MATRICES * readings**2).T
    return Estimate(bits, np.full_like(bits, np.nan) if others else error)


def _exact_beyond(asked: CandidateReadings, patience: float) -> Array | None:
    """I(S and it) − I(S), (M,), where both are exact and cheap; the terms that are in both are never formed."""
    pending, channel = asked.pending, asked.channel
    numbers_only = len(pending.numbers) == len(pending.channels) and asked.mean.shape[1] == 1
    if not numbers_only and not is_exact(given_numbers(asked.together.cases(slice(0, 1))), patience / len(asked)):
        return None  # not even the first case, whose matrices cost nothing
    left = given_all_numbers(asked) if numbers_only else given_numbers(asked.together)
    if left.rest.channels and not is_exact(left, patience):
        return None
    gained = rest_entropy(left) - rest_entropy(given_numbers(pending))
    if channel.is_number:
        return np.maximum(left.bits[:, -1] + gained, 0.0)
    return np.maximum(gained - conditional(channel, asked.mean, asked.cov), 0.0)


def _by_outcomes(instrument: Instrument, asked: CandidateReadings, count: int | None = None) -> Estimate:
    """I(it) − I(it; answers of S), the second by outcomes: as many as there is time for with `count` queries in all."""
    channel = asked.channel
    if channel.is_number and channel.noise == 0.0:
        bits = given_numbers(asked.together).bits[:, -1]  # infinite, unless numbers leave nothing
        return Estimate(bits, np.zeros_like(bits))
    g = asked.cov - channel.noise**2 * np.eye(asked.mean.shape[1])
    seen = (asked.mean, g) if channel.any_of else (asked.mean[:, 0], np.maximum(g[:, 0, 0], 0.0))
    alone = information_given(instrument, *seen)
    scan = _SCAN if channel.is_discrete else _SCAN_OF_NUMBERS
    told, error = information_with_pending(
        outcomes(asked.pending, _CAREFUL if (count or len(asked)) <= _FEW else scan), asked
    )
    return Estimate(np.clip(alone - told, 0.0, alone), error)


def _is_exact(readings: Readings, budget: float) -> bool:
    left = given_numbers(readings)
    return not left.rest.channels or is_exact(left, budget)


def _exact_bits(readings: Readings) -> Array:
    left = given_numbers(readings)
    bits = left.bits.sum(axis=1) + rest_entropy(left)
    for channel, rows in zip(readings.channels, readings.rows, strict=True):
        if not channel.is_number:
            index = list(rows)
            bits = bits - conditional(channel, readings.mean[:, index], readings.cov[:, index][:, :, index])
    return np.maximum(bits, 0.0)


def _apart(queries: list[Query]) -> tuple[list[Query], list[Query]]:
    """Those whose answers come from a reading, and those whose do not."""
    has = [query.instrument.channel() is not None for query in queries]
    chosen = ([q for q, own in zip(queries, has, strict=True) if own is wanted] for wanted in (True, False))
    read_off, others = (_in_order(each) for each in chosen)
    return read_off, others


def _in_order(queries: list[Query]) -> list[Query]:
    """Numbers first, then in an order that depends on the queries alone: the answer does not depend on theirs."""
    return sorted(queries, key=lambda q: (not q.instrument.gaussian, repr(q.instrument), q.place.tolist()))


def _check_posterior(argument: str, belief: object) -> None:
    if not isinstance(belief, Posterior):
        raise InvalidInput(argument, "a posterior, or a Belief of several", belief, "condition a GP on data first")
