"""The listener as published, a Gaussian process over frequency and level (Gardner 2018, secs. 3.3 and 4.5).

    f(φ, i) ~ GP(c, α i i′ + β exp(−(φ − φ′)²/(2ℓ²))),  P(heard | f) = Φ(f)

φ is the frequency in octaves, log2 Hz, and i the level in dB HL. Noise-induced loss lowers the mean by a notch,
c − d exp(−(φ − ν)²/(2w²)). No values or priors are printed. Here they are what an audiologist might say, in dB and
octaves; a slope of s a dB turns dB into units of f, so a spread of 4 dB is s = 1/4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

import gainful as gf

__all__ = ["LEVEL_RANGE", "OCTAVES", "TONE", "draw_notch", "healthy", "notched", "tones"]

Array = NDArray[np.float64]

OCTAVES = (float(np.log2(250.0)), float(np.log2(8000.0)))
LEVEL_RANGE = (-10.0, 80.0)  # dB HL
TONE = gf.Binary(name="tone")

_SPREAD, _BY = 4.0, 1.3  # dB, and by what factor people differ
_LEVEL, _LEVELS = 8.0, 8.0  # dB HL: a typical threshold of a healthy ear, and how far people lie from it
_ROUGHNESS, _ROUGH_BY = 6.0, 1.4  # dB by which thresholds differ between frequencies, and the factor
_LENGTH, _LENGTH_BY = 1.5, 1.25  # octaves
_CENTRE, _CENTRES = float(np.log2(4200.0)), 0.27  # octaves: from 3 to 6 kHz
_WIDTH, _WIDTH_BY = 0.35, 1.25  # octaves
_DEPTH, _DEPTH_BY = 26.0, 1.25  # dB: from 16 to 40


def _kernel() -> gf.Kernel:
    return gf.Linear(1.0 / _SPREAD**2).on(1) + gf.SE(_LENGTH, (_ROUGHNESS / _SPREAD) ** 2).on(0)


def _priors() -> dict[str, gf.Prior]:
    return {
        "Linear.variance": gf.LogNormal(-2.0 * float(np.log(_SPREAD)), 2.0 * float(np.log(_BY))),
        "SE.lengthscale": gf.LogNormal(float(np.log(_LENGTH)), float(np.log(_LENGTH_BY))),
        "SE.variance": gf.LogNormal(2.0 * float(np.log(_ROUGHNESS / _SPREAD)), 2.0 * float(np.log(_ROUGH_BY))),
    }


def healthy() -> gf.GP:
    """A constant mean."""
    level = {"ConstantMean.value": gf.Normal(-_LEVEL / _SPREAD, _LEVELS / _SPREAD)}
    return gf.GP(_kernel(), gf.ConstantMean(-_LEVEL / _SPREAD), _priors() | level)


def notched(depth: float = _DEPTH) -> gf.GP:
    """A mean with a notch, typically so many dB deep."""
    mean = gf.NotchMean(-_LEVEL / _SPREAD, depth / _SPREAD, _CENTRE, _WIDTH, dim=0)
    own = {
        "NotchMean.offset": gf.Normal(-_LEVEL / _SPREAD, _LEVELS / _SPREAD),
        "NotchMean.depth": gf.LogNormal(float(np.log(depth / _SPREAD)), float(np.log(_DEPTH_BY))),
        "NotchMean.centre": gf.Normal(_CENTRE, _CENTRES),
        "NotchMean.width": gf.LogNormal(float(np.log(_WIDTH)), float(np.log(_WIDTH_BY))),
    }
    return gf.GP(_kernel(), mean, _priors() | own)


def draw_notch(rng: np.random.Generator, least: float = 15.0) -> tuple[float, float, float]:
    """Depth in dB, at least so much, centre in Hz and width in octaves of a notch from the prior."""
    depth = 0.0
    while depth < least:
        depth = float(_DEPTH * _DEPTH_BY ** rng.standard_normal())
    centre = float(2.0 ** (_CENTRE + _CENTRES * rng.standard_normal()))
    return depth, centre, float(_WIDTH * _WIDTH_BY ** rng.standard_normal())


def tones(count: int = 10_000, seed: int = 0) -> Array:
    """So many tones (octaves, dB HL), scrambled Halton points over the whole range."""
    unit = qmc.Halton(2, scramble=True, rng=np.random.default_rng(seed)).random(count)
    low, high = np.transpose([OCTAVES, LEVEL_RANGE])
    return np.asarray(low + unit * (high - low))
