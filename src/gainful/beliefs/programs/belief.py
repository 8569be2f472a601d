"""What is believed of the structure: weighted programs, each with its posterior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs import decomposition, description
from gainful.beliefs.programs.decomposition import Component, Forecast
from gainful.beliefs.programs.description import Description
from gainful.beliefs.programs.language import FORMS, Program
from gainful.beliefs.programs.units import Units
from gainful.beliefs.programs.words import Axis
from gainful.checks import require
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments.base import Instrument

__all__ = ["ProgramBelief"]

Array = NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ProgramBelief(Belief):
    """Programs with weights, and everything that a belief of several posteriors has.

    `programs` are in the units of the grammar (inputs from −1 to 1, answers that spread by one); `natural` are the same
    in the user's. `noises` are the variances that each has learned of its instruments' noises, by label, in the
    grammar's units. `models` has a number for each program, `kinds` one for its structure, in the order of
    `structures`.
    """

    programs: tuple[Program, ...]
    noises: tuple[Mapping[str, float], ...]
    units: Units

    def __init__(
        self,
        posteriors: Sequence[Posterior],
        weights: ArrayLike,
        instruments: Sequence[Mapping[str, Instrument]],
        programs: Sequence[Program],
        noises: Sequence[Mapping[str, float]],
        units: Units,
        log_evidence: float | None = None,
    ) -> None:
        given = tuple(programs)
        shares = structure_weights(given, weights)
        numbers = {name: i for i, name in enumerate(shares)}
        kinds = [numbers[program.structure] for program in given]
        super().__init__(posteriors, weights, instruments, range(len(posteriors)), log_evidence, kinds)
        object.__setattr__(self, "programs", given)
        object.__setattr__(self, "noises", tuple(noises))
        object.__setattr__(self, "units", units)

    def __repr__(self) -> str:
        count, leading = len(self.structures), next(iter(self.structures.items()))
        return f"ProgramBelief({len(self.programs)} programs of {count} structures, {leading[0]} {leading[1]:.0%})"

    @cached_property
    def structures(self) -> dict[str, float]:
        """The probability of each structure, in canonical order of its parts, the most probable first."""
        return structure_weights(self.programs, self.weights)

    @cached_property
    def sums(self) -> dict[str, float]:
        """The probability of each sum of parts, the most probable first: structures that differ in constants alone, or
        in whether they are written as a product of sums or as a sum of products, are one.

        >>> import gainful as gf
        >>> grid = gf.ProgramGrid(["(+ (LIN 0.2) (PER 0.5 3.0))", "(× (C 2.0) (+ (PER 0.5 3.0) (LIN 0.2)))", "(C 1.0)"])
        >>> {name: round(p, 3) for name, p in grid.condition(gf.Data()).sums.items()}
        {'LIN + PER': 0.667, 'level': 0.333}
        """
        return description.sums(self)

    @cached_property
    def natural(self) -> tuple[Program, ...]:
        """The programs with their numbers in the user's units."""
        return tuple(self.units.natural(program) for program in self.programs)

    def probability(self, holds: Callable[[Program], bool] | str) -> float:
        """That the program contains a symbol, such as "PER", or that it is one for which something holds; numbers are
        in the user's units.

        >>> import gainful as gf
        >>> grid = gf.ProgramGrid(["(LIN 0.2)", "(PER 0.5 3.0)"])
        >>> belief = grid.condition(gf.Data())
        >>> belief.probability("PER"), belief.probability(lambda program: program.size == 1)
        (0.5, 1.0)
        """
        known = holds in FORMS if isinstance(holds, str) else callable(holds)
        require(known, "holds", f"one of {', '.join(FORMS)}, or a function of a program", holds, 'such as "PER"')
        test = (lambda program: program.has(holds)) if isinstance(holds, str) else holds
        return float(sum(w for w, program in zip(self.weights, self.natural, strict=True) if test(program)))

    def numbers(self, structure: str) -> tuple[Array, Array]:
        """The numbers of the programs of one structure, in the order of its canonical text and in the user's units,
        (P, numbers), and their weights (P,), which add up to one."""
        chosen = [i for i, program in enumerate(self.programs) if program.structure == structure]
        some = ", ".join(list(self.structures)[:5])
        require(bool(chosen), "structure", f"one that is believed, such as {some}", structure, "see structures")
        values = np.array([self.natural[i].canonical.values for i in chosen])
        return values, self.weights[chosen] / self.weights[chosen].sum()

    @cached_property
    def features(self) -> dict[str, float]:
        """The probability that the function has anything of a kind, in whatever part of it: a cycle (PER), a trend
        (LIN), smooth variation (SE, RQ), rough variation (MAT), a change (CP).

        >>> import gainful as gf
        >>> gf.ProgramGrid(["(LIN 0.2)", "(× (LIN 0.2) (PER 0.5 3.0))"]).condition(gf.Data()).features
        {'a cycle': 0.5, 'a trend': 1.0, 'smooth variation': 0.0}
        """
        return description.features(self)

    def parts(
        self, X: ArrayLike, level: float = 0.95, centred: bool = False, axes: Sequence[Axis] | None = None
    ) -> tuple[Component, ...]:
        """The function as a sum of parts, the level first and then the most probable: for each kind the probability
        that there is such a part and, if there is, its mean and band at the places X, (M,) each.

        The parts of one program sum to its mean. A part may be shifted up where another is shifted down, so that bands
        are wide: with `centred` a part is what it is above its average over X. `axes` say how inputs are spoken of
        where the space does not.

        >>> import gainful as gf
        >>> data = gf.Data().add(gf.Point(0.1), [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
        >>> grid = gf.ProgramGrid(["(+ (LIN 0.0) (PER 1.0 3.0))", "(LIN 0.0)"])
        >>> [str(part) for part in grid.condition(data).parts([[0.0]])]
        ['a constant level: 100 %', 'a straight trend: 100 %', 'a cycle that repeats every 3: 1 %']
        """
        return decomposition.components(self, X, level, centred, axes)

    def forecast(self, X: ArrayLike, instrument: Instrument | None = None, level: float = 0.95) -> Forecast:
        """The function at the places X, and the readings of an instrument that answers with numbers, with bands; of
        the data's own instrument if none is given."""
        return decomposition.forecast(self, X, instrument, level)

    def periods(self, column: int = 0) -> tuple[Array, Array]:
        """The period of each program's strongest cycle along a column, (P,), in the user's units, with the weights of
        these programs, which add up to the probability that there is a cycle."""
        return description.periods(self, column)

    def describe(self, axes: Sequence[Axis] | None = None) -> Description:
        """What the answers show, in words: `print(belief.describe())`.

        How sure each part is, with its numbers in the units of the space and the answers, each number as its median
        and the range that holds 90 % of it if there is such a part.
        """
        return description.describe(self, axes)


def structure_weights(programs: Sequence[Program], weights: ArrayLike) -> dict[str, float]:
    """The weight of each structure, in canonical order of its parts, the heaviest first."""
    found: dict[str, float] = {}
    for program, weight in zip(programs, np.asarray(weights, dtype=float), strict=True):
        found[program.structure] = found.get(program.structure, 0.0) + float(weight)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
