"""Query by committee: functions drawn from the belief vote on every answer (Seung et al.
1992; Houlsby et al. 2011, sec. 4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import AMOUNT
from gainful.checks import column_names, require, require_choice, require_columns, require_count, require_seed
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.belief import Belief, queries_of, require_askable
from gainful.inference.posterior import Posterior
from gainful.information.about import as_reference
from gainful.information.entropy import of_probabilities
from gainful.instruments import Instrument
from gainful.numerics.blas import matmul
from gainful.numerics.memory import in_blocks

__all__ = ["QueryByCommittee", "divergence_to_consensus", "members", "vote_entropy"]

Array = NDArray[np.float64]

MOST_PLACES = 2000  # drawn together: a second for their eigenvectors
_ROUNDING = 1e-11  # of the prior variance: directions with less are left to what each place has of its own

_MOST_MEMBERS = 100_000  # of a committee: each is a function drawn at every candidate


def vote_entropy(log_p: Array) -> Array:
    """−Σ_k V_k/C log2(V_k/C), V_k the members whose likeliest answer is k: bits, from log_p (C, M, K).

    >>> vote_entropy(np.log(np.array([[[0.9, 0.1]], [[0.4, 0.6]]]))).tolist()
    [1.0]
    """
    votes = np.argmax(log_p, axis=-1)
    share = np.stack([np.mean(votes == k, axis=0) for k in range(log_p.shape[-1])], axis=-1)
    with np.errstate(divide="ignore"):
        return of_probabilities(np.log(share))


def divergence_to_consensus(log_p: Array) -> Array:
    """(1/C) Σ_c KL(P_c ‖ P̄), P̄ = (1/C) Σ_c P_c (McCallum & Nigam 1998): bits, from log_p (C, M, K).

    It is H[P̄] − (1/C) Σ_c H[P_c], which is BALD with the belief replaced by its members (Houlsby et al. 2011, sec.
    4).

    >>> divergence_to_consensus(np.log(np.array([[[0.9, 0.1]], [[0.1, 0.9]]]))).round(4).tolist()
    [0.531]
    """
    with np.errstate(divide="ignore"):
        consensus = np.log(np.mean(np.exp(log_p), axis=0))
    return np.maximum(of_probabilities(consensus) - of_probabilities(log_p).mean(axis=0), 0.0)


def members(belief: Posterior | Belief, places: Array, size: int, seed: int, over: Array) -> Array:
    """`size` functions drawn from the belief, at the places: (size, M).

    Their values at the places `over` (R, d) are one joint draw, f = m + V √λ z from the eigenvectors of the
    covariance. Elsewhere a member has its mean given those values, and around it what they leave unknown, drawn by
    itself: every value has its exact distribution, jointly with all of `over`. What is drawn depends on the seed, on
    how many answers there are, on `over` and on the place, not on which places are asked for together.
    """
    if isinstance(belief, Belief):
        drawn = [
            _members_of(belief.posteriors[s], places, size, (seed, 0, len(belief.posteriors[s].data)), over)[rows]
            for s, rows in _seats(belief, size, seed)
        ]
        return np.concatenate(drawn)
    return _members_of(belief, places, size, (seed, 0, len(belief.data)), over)


def _seats(belief: Belief, size: int, seed: int) -> list[tuple[int, slice]]:
    """Which members are drawn from which posterior: each has some of the members that a committee of its own would
    have, so that equal posteriors make one committee."""
    ends = np.cumsum(np.random.default_rng([seed]).multinomial(size, belief.weights)).tolist()
    each = [(s, slice(low, high)) for s, (low, high) in enumerate(pairwise([0, *ends]))]
    return [(s, rows) for s, rows in each if rows.stop > rows.start]


def _members_of(posterior: Posterior, places: Array, size: int, seed: tuple[int, ...], over: Array) -> Array:
    values, vectors = np.linalg.eigh(posterior.covariance(over))
    prior = float(np.max(posterior.kernel.diag(over), initial=0.0))
    if values.size and values[0] < -1e-8 * prior:
        raise NumericalError("the posterior covariance of these places is not positive definite in double precision")
    kept = values > _ROUNDING * prior
    z = np.random.default_rng(seed).standard_normal((size, len(over)))[:, ::-1][:, kept]
    part = matmul(posterior.covariance(places, over), vectors[:, kept] / np.sqrt(values[kept]))
    variance = posterior.variance(places)
    own = np.maximum(variance - np.sum(part**2, axis=1), 0.0)
    out = posterior.mean(places) + matmul(z, np.ascontiguousarray(part.T))
    for i in np.flatnonzero(own > 1e-9 * variance):
        words = np.frombuffer((places[i] + 0.0).tobytes(), dtype=np.uint32)
        noise = np.random.default_rng([*seed, 1, *words.tolist()]).standard_normal(size)
        out[:, i] += np.sqrt(own[i]) * noise
    return out


@dataclass(frozen=True)
class QueryByCommittee:
    """How much a committee of functions drawn from the belief disagrees about the answer, in bits.

    measure="vote" counts each member's likeliest answer, as published, and so forgets how sure the members are;
    measure="kl" is their mean divergence to the consensus. With two members a vote is 0 or 1; as the committee grows,
    "vote" approaches the entropy of the likeliest answer, for yes/no h(Φ(m/√v)), and "kl" the information of `Learn`.

    Members are drawn jointly at the places that are asked about, at most 2000 of them, so a score also depends on
    which places are asked about together. Give `over`, for instance the pool, to fix the functions instead: they are
    then drawn jointly there, and every place has the same members whenever it is asked about. The same seed gives the
    same committee for the same belief, and another one after the next answer. Of several posteriors each has as many
    members as its weight gives it, which vote with its own instrument.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Binary(), [[0.0]] * 30, [True] * 30))
    >>> votes = QueryByCommittee(100, seed=0).score(post, gf.Binary(), [[0.0], [5.0]])
    >>> bool(votes[0] < 0.1 < 0.9 < votes[1])
    True
    """

    scale: ClassVar[str] = AMOUNT

    size: int = 100
    measure: str = "vote"
    seed: int = 0
    over: Any = None

    def __post_init__(self) -> None:
        size = require_count("size", self.size, 2, "2 and 100 are what was published")
        require(size <= _MOST_MEMBERS, "size", f"at most {_MOST_MEMBERS} members", size, "100 is what was published")
        object.__setattr__(self, "size", size)
        require_choice("measure", self.measure, ("vote", "kl"), "'vote' is what was published")
        object.__setattr__(self, "seed", require_seed("seed", self.seed))
        if self.over is not None:
            fixed = as_reference(self.over, "over")
            require(np.ndim(fixed) == 2, "over", "places (R, d)", f"shape {np.shape(fixed)}", "one row per place")
            _few_enough("over", len(fixed))
            object.__setattr__(self, "over", fixed)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        require_askable(belief, instrument, places)
        require_columns("over", column_names(self.over), belief.data.columns)
        if instrument.values is None:
            raise InvalidInput(
                "instrument", "one with discrete answers, such as Binary, Ordinal, Preference or Detection", instrument,
                "a committee votes on a few answers; use Learn() or Entropy() for numbers",
            )  # fmt: skip
        queries = queries_of(belief, instrument, places)
        if not len(queries):
            return np.zeros(0)
        # Sorted and without repeats, so that the order of the queries, or pairs that share places, change nothing.
        at, where = np.unique(queries.reshape(-1, queries.shape[-1]) + 0.0, axis=0, return_inverse=True)
        if self.over is None:
            _few_enough("places", len(at))
        over = at if self.over is None else np.asarray(self.over, dtype=float)

        def drawn(part: slice) -> Array:
            return np.ascontiguousarray(members(belief, at[part], self.size, self.seed, over).T)

        voters = [(instrument, slice(None))]
        if isinstance(belief, Belief):
            seats = _seats(belief, self.size, self.seed)
            voters = [(belief.instrument_of(s, instrument), rows) for s, rows in seats]
        f = in_blocks(drawn, len(at), 4 * (len(over) + self.size))
        seen = where.reshape(queries.shape[:-1])

        def of(part: slice) -> Array:
            values = np.moveaxis(f[seen[part]], -1, 0)
            log_p = np.concatenate([_votes(own, values[rows]) for own, rows in voters])
            return vote_entropy(log_p) if self.measure == "vote" else divergence_to_consensus(log_p)

        return in_blocks(of, len(queries), 6 * self.size * len(instrument.values))


def _few_enough(argument: str, count: int) -> None:
    if count > MOST_PLACES:
        raise InvalidInput(
            argument, f"at most {MOST_PLACES} different places, whose values are drawn together", count,
            "fix the members at fewer places: QueryByCommittee(over=some of them)",
        )  # fmt: skip


def _votes(instrument: Instrument, f: Array) -> Array:
    """Log probabilities of the answers under each member, (C, M, K), from its values at each query's places."""
    values = instrument.values
    assert values is not None
    if instrument.query == "set":
        flat = f.reshape(-1, f.shape[-1])
        logs = [instrument.log_prob(np.full(len(flat), answer), flat) for answer in values]
        return np.stack(logs, axis=-1).reshape(*f.shape[:2], len(values))
    g = f[..., 0] - f[..., 1] if instrument.query == "pair" else f
    channel = instrument.channel()
    if channel is None:
        return np.stack([instrument.log_prob(np.full(g.shape, answer), g) for answer in values], axis=-1)
    with np.errstate(divide="ignore"):  # without noise, a member is sure of its answer
        return np.log(np.stack(channel.probabilities(g, np.zeros_like(g)), axis=-1))
