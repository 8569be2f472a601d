"""A listener under the model of ch. 3, asked by single tones, by pairs, or by chance.

    f(φ, i) ~ GP(c, α i i′ + β exp(−(φ − φ′)²/(2ℓ²))), all of it stated: no value is printed

with thresholds that vary by 15 dB about 15 dB HL over an octave, and a spread of 4 dB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.papers.gardner2018.published_models import OCTAVES, TONE, tones

__all__ = ["Asked", "follow", "listener_model", "octave_grid", "threshold_curve"]

Array = NDArray[np.float64]

_SPREAD, _LEVEL, _VARIES, _LENGTH = 4.0, 15.0, 15.0, 1.0  # dB, dB HL, dB, octaves
_CANDIDATES = 250
_PAIR = gf.Detection(name="pair")


class Asked(NamedTuple):
    """After a query: what is believed, and the tones (k, 2) of the query."""

    posterior: gf.Posterior
    tones: Array


def listener_model() -> gf.GP:
    kernel = gf.Linear(1.0 / _SPREAD**2).on(1) + gf.SE(_LENGTH, (_VARIES / _SPREAD) ** 2).on(0)
    return gf.GP(kernel, gf.ConstantMean(-_LEVEL / _SPREAD))


@cache
def _candidates() -> Array:
    return tones(_CANDIDATES, seed=1)


def follow(chance: Callable[[Array], Array], method: str, queries: int, rng: np.random.Generator) -> Iterator[Asked]:
    """So many queries by "single", "paired" or "random"; `chance` is how probable each tone is heard."""
    gp, data = listener_model(), gf.Data()
    for _ in range(queries):
        posterior = gp.posterior(data)
        chosen = _chosen(posterior, method, rng)
        missed = float(np.prod(1.0 - chance(chosen)))
        yes = float(rng.random() < 1.0 - missed)
        data = data.add(TONE, chosen, [yes]) if len(chosen) == 1 else data.add(_PAIR, chosen[None], [yes])
        yield Asked(gp.posterior(data), chosen)


def _chosen(posterior: gf.Posterior, method: str, rng: np.random.Generator) -> Array:
    """The tones of the next query, (k, 2): with "paired" a second one where that tells more."""
    pool = _candidates()
    if method == "random":
        return pool[rng.integers(len(pool), size=1)]
    alone = gf.information(posterior, TONE, pool)
    first = int(np.argmax(alone))
    if method == "single":
        return pool[[first]]
    both = gf.information(posterior, _PAIR, np.stack([np.broadcast_to(pool[first], pool.shape), pool], axis=1))
    second = int(np.argmax(both))
    return pool[[first, second]] if both[second] > alone[first] else pool[[first]]


def threshold_curve(posterior: gf.Posterior, octaves: Array) -> Array:
    """The levels at which the mean of f is zero: it is a straight line in the level."""
    at = [posterior.mean(np.column_stack([octaves, np.full(len(octaves), level)])) for level in (0.0, 1.0)]
    slope = np.maximum(at[1] - at[0], 1e-3)
    return np.asarray(-at[0] / slope)


def octave_grid(step: float = 1.0) -> Array:
    """Octaves from 250 to 8000 Hz."""
    return np.arange(OCTAVES[0], OCTAVES[1] + 1e-9, step)
