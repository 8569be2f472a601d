"""Which engine takes the answers where nothing is said: none while they are few.

Numbers are taken exactly where that is worth it and there is memory for one array of N × N: 14,940 readings in eighteen
dimensions take a minute, and are 560 nats and 4 % in their errors ahead of the best approximation. Often it is not
worth it: each reading given its nearest neighbours (`Vecchia`) says by how much it falls short, and where that is next
to nothing, rough functions and readings in few dimensions mostly, a search by exact inference takes twenty times as
long for the same predictions. What is smooth under noise is another matter: there the evidence lacks hardly anything,
and yet its neighbours know a place half as well as all readings do. That takes one factorisation, after the search. A
grid (`SKI`) would be nearer for smooth functions of one or two dimensions, but cannot predict beyond its edge, so that
one has to ask for it. Other answers are taken through inducing points, by EP.
"""

from __future__ import annotations

from dataclasses import dataclass

from gainful.inference.engines.base import Engine, EngineBelief
from gainful.inference.engines.dense import Dense
from gainful.inference.engines.inducing import Inducing
from gainful.inference.engines.vecchia import Vecchia, VecchiaBelief
from gainful.inference.solution import Inference
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.memory import MOST, available

__all__ = ["FEW", "Automatic", "comparable", "engine_for"]

FEW = 4096  # rows of g up to which a posterior keeps whole matrices, and adds and removes answers in O(N²)
_WORTH = 0.02  # nats that more neighbours would add for each reading: errors that are larger by a fiftieth
_WIDER, _MODEST = 0.1, 10_000  # share of a variance that more neighbours would take off, for readings up to so many
_SHARE = 0.6  # of the memory that is free: for one array of N × N


def engine_for(layout: Layout) -> Engine | None:
    """The engine for these answers; None where whole matrices will do, or no engine can take them."""
    N = layout.size
    coupled = any(term.rows.shape[1] > 1 for term in layout.terms)
    certain = any(source.instrument.gaussian and source.instrument.is_certain for source in layout.sources)
    if N <= FEW or coupled or certain:
        return None
    return Automatic() if layout.gaussian and layout.direct else Inducing()


@dataclass(frozen=True)
class Automatic:
    """Numbers exactly, where there is memory and given neighbours would fall short; else by `Vecchia`.

    It decides by the hyperparameters: the smoother the function and the smaller the noise, the more tell readings that
    are far away.
    """

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> EngineBelief:
        found = self._believed(mean, kernel, layout)
        if found is None or self.closing(found) is not None:
            return Dense().believe(mean, kernel, layout)
        return found

    @property
    def first(self) -> Engine:
        """What a search begins with."""
        return Vecchia()

    def chosen(self, mean: Mean, kernel: Kernel, layout: Layout) -> Engine:
        """The engine that suits these answers under this prior."""
        found = self._believed(mean, kernel, layout)
        return Dense() if found is None else found.engine

    def refined(self, belief: EngineBelief) -> Engine | None:
        """A nearer engine than the one that was chosen when less was known of the prior."""
        if not isinstance(belief, VecchiaBelief):
            return None
        exact = belief.falls_short(_WORTH) and _has_room(len(belief.readings.X))
        return Dense() if exact else belief.engine.refined(belief)

    def closing(self, belief: EngineBelief) -> Engine | None:
        """Exact inference, for what is believed after a search by neighbours, where these widen the belief."""
        if not isinstance(belief, VecchiaBelief):
            return None
        N = len(belief.readings.X)
        return Dense() if N <= _MODEST and _has_room(N) and not belief.widened <= _WIDER else None

    def _believed(self, mean: Mean, kernel: Kernel, layout: Layout) -> VecchiaBelief | None:
        """By neighbours; None where exact inference is worth what it takes."""
        room = _has_room(layout.size)
        if room and layout.size <= FEW:
            return None
        near = Vecchia().believe(mean, kernel, layout)
        return None if room and near.falls_short(_WORTH) else near


def comparable(method: Inference | Engine, layout: Layout) -> Inference | Engine:
    """The same method, and one engine for several models, whose evidences must all be as near."""
    if not isinstance(method, Automatic):
        return method
    return Dense() if _has_room(layout.size) else Vecchia()


def _has_room(N: int) -> bool:
    """Whether there is memory for one array of N × N."""
    return N * N <= MOST and _SHARE * available() >= 8.0 * N * N
