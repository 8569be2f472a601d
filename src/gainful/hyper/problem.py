"""Hyperparameters as one vector: the kernel's, the mean's and the instruments' own, with their priors.

log p(theta | answers) = log p(answers | theta) + log p(theta) + constant, with its exact gradient; MAP, the Laplace
approximation and NUTS all ask this one value.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require
from gainful.data import Data
from gainful.errors import GainfulWarning, InvalidInput, NumericalError
from gainful.hyper.defaults import default_priors
from gainful.inference.engines.base import Bounded, Choosing, Engine
from gainful.inference.engines.reaching import reaching
from gainful.inference.evidence import Evidence, Start, evidence_and_gradient, log_evidences
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.instruments.base import Instrument
from gainful.parameters import LOG, Slot, natural, unique_names
from gainful.priors import Fixed, Flat, Prior, log_density_in_theta
from gainful.process import Process

Array = NDArray[np.float64]

_SHARES, _ALONE = (0.3, 0.1, 0.03), 0.1  # of lengthscales, all of them and one alone, where a search may begin as well
_EPS = float(np.finfo(float).eps)
_ROUNDED = 0.02  # of a noise's variance: where rounding comes to that, the noise is small enough
_SEEN = 1e-3  # of that; below, nothing is taken off


@dataclass(frozen=True, eq=False)
class Problem:
    """A gp, data, priors and a way of inference; theta is that of the gp followed by that of each instrument."""

    gp: Process
    data: Data
    given: Mapping[str, Prior]
    inference: Inference | Engine

    @staticmethod
    def of(
        gp: Process, data: Data, priors: Mapping[str, Prior] | Prior | None, inference: Inference | Engine | None
    ) -> Problem:
        """Defaults filled in: the gp's priors, overridden by `priors`; one alone is for all the gp leaves free."""
        if not isinstance(gp, Process):
            raise InvalidInput("gp", "a GP such as GP(SE())", gp, "put the kernel into a GP first")
        data = gp.fitting(data)
        if not any(each.size for each in data.instruments if not each.gaussian):  # others may be possible
            data.layout.require_possible()
        method = method_for(data.layout, reaching(inference, gp.space))
        if isinstance(method, Bounded):  # a search begins with few of them, and would take an hour to come to all
            method.require_room(data.layout.size)
        problem = Problem(gp, data, {}, method)
        if len(data):  # a kernel or mean for other dimensions is refused here, in its own words
            gp.kernel.diag(data.layout.places[:1])
            gp.mean(data.layout.places[:1])
        known = problem._own_priors()
        if isinstance(priors, Prior):
            kept = {name: prior for name, prior in known.items() if isinstance(prior, Fixed)}
            given = dict.fromkeys(problem.names, priors) | kept
        else:
            given = known | _checked(priors, problem.names)
        for slot in problem.slots:
            _require_domain(slot, given.get(slot.name))
        return Problem(gp, data, given, problem.inference)

    def _own_priors(self) -> dict[str, Prior]:
        """The gp's priors of parameters that are here; warns of others, whose instruments may not have answered yet."""
        own = {name: prior for name, prior in self.gp.priors.items() if name in self.names}
        others = self.gp.priors.keys() - own.keys()
        owners = {name.partition(".")[0] for name in self.names} | {each.label for each in self.data.instruments}
        _refuse_names([name for name in others if name.rpartition(".")[0] in owners], self.names)
        if others:
            warnings.warn(
                f"the gp has priors for {sorted(others)}, and no answer is from such an instrument; "
                f"what there is to learn is {list(self.names)}",
                GainfulWarning,
                stacklevel=4,
            )
        return own

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """One per entry of theta."""
        return _slots(self.gp, self.data.instruments)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(slot.name for slot in self.slots)

    @cached_property
    def theta(self) -> Array:
        return np.concatenate([self.gp.theta, *(i.theta for i in self.data.instruments)])

    @cached_property
    def parameters(self) -> Array:
        """What theta stands for, entry by entry."""
        return np.concatenate([self.gp.parameters, *(i.parameters for i in self.data.instruments)])

    @cached_property
    def priors(self) -> tuple[Prior, ...]:
        """The given prior of each parameter, or its default."""
        defaults = default_priors(self.slots, natural(self.slots, self.theta), self.data, self.gp.space)
        return tuple(self.given.get(name, prior) for name, prior in zip(self.names, defaults, strict=True))

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """The entries of theta that are learned."""
        return np.flatnonzero([not isinstance(p, Fixed) for p in self.priors])

    def at(self, theta: Array) -> tuple[Process, Data]:
        """The gp and the data (with their instruments) at another theta; NumericalError where doubles fail."""
        return self._with("with_theta", theta)

    def having(self, parameters: Array) -> tuple[Process, Data]:
        """The gp and the data with other parameters, on their own scale and not a bit changed."""
        return self._with("with_parameters", parameters)

    def _with(self, verb: str, vector: Array) -> tuple[Process, Data]:
        size = self.gp.size
        changed, start = {}, size
        try:
            for instrument in self.data.instruments:
                stop = start + instrument.size
                changed[instrument] = getattr(instrument, verb)(vector[start:stop]) if stop > start else instrument
                start = stop
            return getattr(self.gp, verb)(vector[:size]), self.data.with_instruments(changed)
        except InvalidInput as trouble:  # an exponential that under- or overflows, thresholds that coincide
            raise NumericalError(f"hyperparameters out of range: {trouble}") from trouble

    def settled(self, theta: Array) -> Problem:
        """The same with one engine, the one that suits this theta: a search or a chain has to keep to it."""
        if not isinstance(self.inference, Choosing):
            return self
        gp, data = self.at(theta)
        return replace(self, inference=self.inference.chosen(gp.mean, gp.kernel, data.layout))

    def evidence(self, theta: Array, start: Start = None) -> tuple[Evidence, Array]:
        """The evidence and its gradient in all of theta."""
        gp, data = self.at(theta)
        blur, slope = self._blur(gp, data, theta)
        learned = bool(np.any(self.free >= self.gp.size))
        found = evidence_and_gradient(gp.mean, gp.kernel, data, self.inference, start, instruments=learned)
        gradient = np.concatenate([found.kernel, found.mean, *found.instruments])
        return replace(found, value=found.value - blur), gradient - slope

    @cached_property
    def learned_noises(self) -> dict[int, NDArray[np.intp]]:
        """The entries of theta that are logarithms of noises of readings and are learned, with the places of each. One
        that is below rounding to begin with was meant so."""
        starts = np.cumsum([self.gp.size, *(each.size for each in self.data.instruments)])[:-1]
        layout = self.data.layout
        found: dict[int, NDArray[np.intp]] = {}
        for instrument, owner, _, rows in layout.sources:
            at = int(starts[owner])
            if instrument.gaussian and instrument.size and at in self.free:
                found[at] = np.append(found.get(at, np.zeros(0, dtype=np.intp)), layout.first[rows[:, 0]])
        if not found:
            return found
        variances = self.gp.kernel.diag(layout.places)
        return {at: places for at, places in found.items() if self._rounding(variances[places], self.theta[at]) <= 1.0}

    def _rounding(self, variances: Array, log_noise: float) -> float:
        """√N eps max k(x, x)/noise², beside what is small enough."""
        with np.errstate(over="ignore"):
            ratio = float(np.max(variances) * np.exp(-2.0 * log_noise))
        return float(np.sqrt(self.data.layout.size)) * _EPS * ratio / _ROUNDED

    def _blur(self, gp: Process, data: Data, theta: Array) -> tuple[float, Array]:
        """What is taken off a log density where a noise that is learned comes near to rounding, and its slope.

            u⁴,   u = √N eps max k(x, x)/noise² / 0.02

        Readings without noise would have it ever smaller, and below rounding an evidence is wrong without a sign of it.
        """
        slope = np.zeros(len(theta))
        if not self.learned_noises:
            return 0.0, slope
        variances = gp.kernel.diag(data.layout.places)
        u, at = max((self._rounding(variances[own], theta[at]), at) for at, own in self.learned_noises.items())
        if u < _SEEN:
            return 0.0, slope
        if not u < 1.0 / _SEEN:
            raise NumericalError("a noise is below the rounding of what is read")
        own = self.learned_noises[at]
        place = int(own[np.argmax(variances[own])])
        x = data.layout.places[place : place + 1]
        slope[: gp.kernel.size] = 4.0 * u**4 / variances[place] * gp.kernel.vjp(x, x)[1](np.ones((1, 1)))
        slope[at] -= 8.0 * u**4
        return float(u**4), slope

    def log_densities(self, thetas: Array, start: Start = None) -> tuple[Array, Array]:
        """log p(answers | theta), −inf where double precision fails, and log p(theta), for the rows of (S, P)."""
        prior = np.array([log_density_in_theta(self.priors, self.slots, theta)[0] for theta in thetas])
        found, places, blurs = [], [], []
        for s, theta in enumerate(thetas):
            try:
                gp, data = self.at(theta)
                blurs.append(self._blur(gp, data, theta)[0])
                found.append((gp.mean, gp.kernel, data))
                places.append(s)
            except NumericalError:
                continue
        evidence = np.full(len(thetas), -np.inf)
        if found:
            evidence[places] = log_evidences(found, self.inference, start) - np.array(blurs)
        return evidence, prior

    def log_density(self, theta: Array, start: Start = None) -> tuple[float, Array, Evidence]:
        """log p(answers, theta) and its gradient in all of theta; the density is per unit of theta."""
        found, gradient = self.evidence(theta, start)
        prior, prior_gradient = log_density_in_theta(self.priors, self.slots, theta)
        return found.value + prior, gradient + prior_gradient, found


def rougher(problem: Problem, theta: Array) -> list[Array]:
    """This theta with shorter lengthscales, all of them or one: what changes within a tenth of a lengthscale looks like
    noise to longer ones, and a search that begins among these ends there."""
    lengths = [i for i in problem.free if problem.slots[i].role == "length"]
    shorter = [(lengths, share) for share in _SHARES] + [([i], _ALONE) for i in lengths if len(lengths) > 1]
    found = []
    for some, share in shorter if lengths else []:
        found.append(theta.copy())
        found[-1][some] += np.log(share)
    return found


def require_prior_names(gp: Process, instruments: Iterable[Instrument], priors: Iterable[str] | None = None) -> None:
    """Refuse priors that are for no parameter of the gp or of these instruments, which are all there will be: the gp's
    own, or these."""
    names = parameter_names(gp, instruments)
    _refuse_names([name for name in (gp.priors if priors is None else priors) if not called(name, names)], names)


def called(name: str, names: Iterable[str]) -> list[str]:
    """The parameters that a name means: the one of this name, or one for each dimension."""
    return [each for each in names if each == name or each.startswith(f"{name}[")]


def parameter_names(gp: Process, instruments: Iterable[Instrument]) -> tuple[str, ...]:
    """What a fit would call the parameters of the gp and of these instruments."""
    return tuple(slot.name for slot in _slots(gp, instruments))


def _slots(gp: Process, instruments: Iterable[Instrument]) -> tuple[Slot, ...]:
    groups = gp.groups()
    for instrument in instruments:
        groups += instrument.groups()
    return tuple(unique_names(groups))


def _checked(priors: Any, names: Sequence[str]) -> dict[str, Prior]:
    """The priors that a fit was given, by name."""
    given = {} if priors is None else priors
    usable = isinstance(given, Mapping) and all(isinstance(prior, Prior) for prior in given.values())
    remedy = "for instance {'SE.lengthscale': LogNormal(0, 1)}; Fixed() keeps a parameter"
    require(usable, "priors", "a prior, or a mapping from names to priors", priors, remedy)
    _refuse_names([name for name in given if name not in names], names)
    return dict(given)


def _refuse_names(unknown: list[str], names: Sequence[str]) -> None:
    if unknown:
        expected = f"names among {list(names)}"
        raise InvalidInput("priors", expected, sorted(map(str, unknown)), "see gp.names and the instruments'")


def _require_domain(slot: Slot, prior: Prior | None) -> None:
    """A prior must keep to the values that its parameter can have: above zero, or between zero and one."""
    if prior is None or isinstance(prior, Flat | Fixed):
        return
    if prior.quantile(1e-10) < slot.transform.low or prior.quantile(1.0 - 1e-10) > slot.transform.high:
        expected, remedy = ("positive values", "LogNormal or Gamma") if slot.transform == LOG else ("fractions", "Beta")
        raise InvalidInput("priors", f"a prior over {expected} for {slot.name}", prior, f"use {remedy}, for instance")
