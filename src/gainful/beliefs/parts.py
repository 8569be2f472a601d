"""What a belief of several posteriors consists of, as plain numbers: it can be written down and conditioned again.

    weight of a part ∝ exp(log_weight) · p(answers | part)

so that parts that were found from some answers are weighed anew by all of them, without sampling or fitting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gainful.checks import require
from gainful.data import Data
from gainful.hyper.unstated import structure
from gainful.inference.belief import Belief
from gainful.inference.posterior import solve, warn_about
from gainful.inference.sites import Sites
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.instruments.base import Instrument
from gainful.process import Process

__all__ = ["Part", "Parts"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One posterior to be: the parameters of the gp and, by label, of each instrument that has any; its log weight
    before the answers count; and which of the rival models it is of."""

    gp: tuple[float, ...]
    instruments: Mapping[str, tuple[float, ...]]
    log_weight: float
    model: int = 0


@dataclass(frozen=True)
class Parts:
    """The parts of a belief, the first of which inference starts from."""

    parts: tuple[Part, ...]

    def require_for(self, processes: Sequence[Process], instruments: Iterable[Instrument]) -> None:
        """InvalidInput for parameters that these models or instruments cannot have."""
        known, forms = {each.label: each for each in instruments}, [structure(each) for each in processes]
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
        inference: Inference | None = None,
    ) -> Belief:
        """The posteriors of all parts given the data, weighed by its evidence."""
        known = {each.label: each for each in instruments} | {each.label: each for each in data.instruments}
        forms = [structure(each) for each in processes]
        found, used = [], []
        sites: Sites | None = None
        for part in self.parts:
            form = forms[part.model]
            own = {label: _with(each, part.instruments.get(label)) for label, each in known.items()}
            process = form.with_parameters(np.array(part.gp))
            seen = process.fitting(data.with_instruments({each: own[each.label] for each in data.instruments}))
            start: Sites | None = None if seen.layout.gaussian else sites
            posterior = warn_about(solve(process.mean, process.kernel, seen, method_for(seen.layout, inference), start))
            sites = posterior.sites if sites is None else sites
            found.append(posterior)
            used.append(own)
        logs = np.array([p.log_weight + q.log_evidence for p, q in zip(self.parts, found, strict=True)])
        log_evidence = float(logsumexp(logs))
        return Belief(found, np.exp(logs - log_evidence), used, [p.model for p in self.parts], log_evidence)


def _with(instrument: Instrument, parameters: tuple[float, ...] | None) -> Instrument:
    return instrument if parameters is None else instrument.with_parameters(np.array(parameters))
