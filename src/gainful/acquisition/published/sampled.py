"""Information as first published for mixed data: by samples of the posterior and buckets of the answers (Fletcher 2022,
sec. 5.2).

Kept for comparison. It costs samples × buckets normal probabilities per place, has the samples' noise, and approaches
`information` as both grow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput
from gainful.inference.posterior import Posterior
from gainful.information.entropy import of_probabilities
from gainful.instruments import Instrument
from gainful.numerics.memory import in_blocks
from gainful.numerics.normal import log_ndtr_between

__all__ = ["sampled_information"]

Array = NDArray[np.float64]


def sampled_information(
    belief: Posterior,
    instrument: Instrument,
    places: ArrayLike,
    rng: np.random.Generator | int,
    *,
    samples: int = 100,
    buckets: int = 100,
    bound: float = 3.0,
) -> Array:
    """H of the bucket probabilities averaged over samples of f, minus the average H, in bits, (M,).

    Readings are divided into `buckets` between −bound and bound (in the function's unit), as published.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> bits = sampled_information(prior, gf.Ordinal([0.0], 0.5), [[0.0]], rng=0, samples=4000)
    >>> bool(abs(bits[0] - gf.information(prior, gf.Ordinal([0.0], 0.5), [[0.0]])[0]) < 0.02)
    True
    """
    if samples < 1 or buckets < 2 or not bound > 0:
        raise InvalidInput("samples, buckets, bound", "positive numbers", (samples, buckets, bound), "100, 100 and 3")
    g = belief.sample(places, samples, rng)

    def of(part: slice) -> Array:
        logs = log_buckets(instrument, g[:, part], buckets, bound)
        averaged = np.log(np.mean(np.exp(logs), axis=0) + 1e-300)
        return of_probabilities(averaged) - of_probabilities(logs).mean(axis=0)

    return in_blocks(of, g.shape[1], 6 * samples * buckets)


def log_buckets(instrument: Instrument, g: Array, buckets: int, bound: float) -> Array:
    """Log probabilities of the buckets given each value of g, (S, M, K)."""
    channel = instrument.channel()
    if channel is None or channel.any_of or channel.mixing is not None:
        raise InvalidInput(
            "instrument", "Point, Interval or Ordinal, as published", instrument, "use information instead"
        )
    if channel.is_discrete:
        edges = np.concatenate([[-np.inf], channel.bounds, [np.inf]])
        z = (edges - g[..., None]) / max(channel.noise, 1e-150)
        return log_ndtr_between(z[..., :-1], z[..., 1:], np.diff(edges) / max(channel.noise, 1e-150))
    if channel.is_number:
        z = (np.linspace(-bound, bound, buckets + 1) - g[..., None]) / channel.noise
        return _normalised(log_ndtr_between(z[..., :-1], z[..., 1:]))
    z = (np.linspace(-bound, bound - channel.width, buckets) - g[..., None]) / channel.noise
    return _normalised(log_ndtr_between(z, z + channel.width / channel.noise))


def _normalised(logs: Array) -> Array:
    largest = logs.max(axis=-1, keepdims=True)
    return logs - largest - np.log(np.sum(np.exp(logs - largest), axis=-1, keepdims=True))
