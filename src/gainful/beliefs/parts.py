"""What a belief of several posteriors consists of, as plain numbers: it can be written down and conditioned again.

    weight of a part ∝ exp(log_weight) · p(answers | part)

so that parts that were found from some answers are weighed anew by all of them, without sampling or fitting.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gainful.checks import require
from gainful.data import Data
from gainful.errors import ConvergenceWarning, NumericalError
from gainful.hyper.unstated import structure
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.engines.choosing import comparable
from gainful.inference.ep import EP
from gainful.inference.posterior import Posterior, solve, warn_about
from gainful.inference.sites import Sites
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.inference.together import Model, Settled, prior_covariances, settle_models
from gainful.instruments.base import Instrument
from gainful.process import Process

__all__ = ["Part", "Parts", "with_own"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One posterior to be: the parameters of the gp and, by label, of each instrument that has any; its log weight
    before the answers count; which of the rival models it is of; and its kernel program, where the model is one."""

    gp: tuple[float, ...]
    instruments: Mapping[str, tuple[float, ...]]
    log_weight: float
    model: int = 0
    program: str = ""


class Weighed(NamedTuple):
    """Which parts are left, their posteriors and weights, and the log evidence of all together."""

    kept: list[int]
    posteriors: list[Posterior]
    weights: Array
    log_evidence: float


@dataclass(frozen=True)
class Parts:
    """The parts of a belief, the first of which inference starts from."""

    parts: tuple[Part, ...]

    def require_for(self, processes: Sequence[Process], instruments: Iterable[Instrument]) -> None:
        """InvalidInput for parameters that these models or instruments cannot have."""
        several = tuple(instruments)
        known, forms = {each.label: each for each in several}, [structure(each, several) for each in processes]
        for part in self.parts:
            require(part.model < len(forms), "model", f"a number below {len(forms)}", part.model, "see the models")
            forms[part.model].with_parameters(np.array(part.gp))
            for label, own in part.instruments.items():
                require(label in known, "instruments", f"labels among {sorted(known)}", label, "see the design")
                known[label].with_parameters(np.array(own))

    def believe(
        self,
        processes: Sequence[Process],
        data: Data,
        instruments: Iterable[Instrument],
        inference: Inference | Engine | None = None,
    ) -> Belief:
        """The posteriors of all parts given the data, weighed by its evidence."""
        several = (*instruments, *data.instruments)
        known = {each.label: each for each in several}
        forms = [structure(each, several) for each in processes]
        models, used = [], []
        for part in self.parts:
            own = {label: with_own(each, part.instruments.get(label)) for label, each in known.items()}
            process = forms[part.model].with_parameters(np.array(part.gp))
            seen = process.fitting(data.with_instruments({each: own[each.label] for each in data.instruments}))
            models.append((process.mean, process.kernel, seen))
            used.append(own)
        weighed = self.weigh(models, inference)
        numbers = [self.parts[s].model for s in weighed.kept]
        kept = [used[s] for s in weighed.kept]
        return Belief(weighed.posteriors, weighed.weights, kept, numbers, weighed.log_evidence)

    def weigh(self, models: Sequence[Model], inference: Inference | Engine | None) -> Weighed:
        """The posterior under each part's model, and its weight by the evidence; those under which inference does not
        settle are left out, which is said."""
        solved = _solved(models, inference)
        kept = [s for s, each in enumerate(solved) if each is not None]
        if len(kept) < len(solved):
            warnings.warn(
                f"{len(solved) - len(kept)} of the {len(solved)} settings of the hyperparameters are left out of the "
                "belief: inference does not settle there; answers that allow outliers may contradict the others",
                ConvergenceWarning,
                stacklevel=4,
            )
        found = [warn_about(each) for each in solved if each is not None]
        logs = np.array([self.parts[s].log_weight + q.log_evidence for s, q in zip(kept, found, strict=True)])
        log_evidence = float(logsumexp(logs))
        return Weighed(kept, found, np.exp(logs - log_evidence), log_evidence)


def _solved(models: Sequence[Model], inference: Inference | Engine | None) -> list[Posterior | None]:
    """The posterior under each model of the same answers: the first from the beginning, the others from where all of
    them together have come from there. None where inference does not settle, as long as it does under one of them."""
    layout = models[0][2].layout
    method = method_for(layout, inference)
    if len(models) > 1:
        method = comparable(method, layout)
    cov = prior_covariances(models) if layout.gaussian and layout.size else None
    found: list[Posterior | None] = []
    start: Sites | None = None
    near: Settled | None = None
    trouble: NumericalError | None = None
    for s, (mean, kernel, data) in enumerate(models):
        try:
            if near is not None and near.residual[s] < 1.0:
                found.append(solve(mean, kernel, data, method, near.sites(s), near.cov[s]))
            else:
                found.append(solve(mean, kernel, data, method, start, None if cov is None else cov[s]))
        except NumericalError as why:
            trouble = why
            found.append(None)
            continue
        if start is None and not layout.gaussian and isinstance(method, EP) and len(models) > 1:
            start = found[s].sites  # type: ignore[union-attr]
            near = settle_models(models, start, method.tolerance)
    if trouble is not None and all(each is None for each in found):
        raise trouble
    return found


def with_own(instrument: Instrument, parameters: tuple[float, ...] | None) -> Instrument:
    return instrument if parameters is None else instrument.with_parameters(np.array(parameters))
