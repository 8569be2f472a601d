"""The model in which it is not known which dimensions act together: additive models, weighed by a Markov chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.learner import Learner, Seed, Start, Used
from gainful.beliefs.partitions import chain
from gainful.beliefs.partitions.answers import Reading
from gainful.beliefs.partitions.ascent import ascended
from gainful.beliefs.partitions.belief import PartitionBelief, as_text, from_text
from gainful.beliefs.partitions.chain import FORMS, PRIORS, Info, State, Target
from gainful.beliefs.partitions.drawn import drawn
from gainful.beliefs.partitions.evidence import EVIDENCES, Additively
from gainful.beliefs.partitions.partition import alone, at_random, tidy, together
from gainful.beliefs.parts import Part, Parts, with_own
from gainful.checks import as_rng, listed, require, require_choice, require_count
from gainful.data import Data
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.instruments.base import Instrument
from gainful.kernels.additive import PROFILES, Terms
from gainful.kernels.base import Constant
from gainful.numerics.threads import one_blas_thread
from gainful.process import Process
from gainful.space import Places, coordinates_of, require_places

__all__ = ["Partitions", "Progress"]

Array = NDArray[np.float64]

_DECIMALS = 4  # of a logarithm: the search promises no more, and more would differ with the number of threads
_OFTEN = 20  # learned anew when there are a twentieth more answers
_DRAWS = 24  # of parameters, for all models together
_FEWEST = 3  # answers: before, nothing is learned
PARAMETERS = ("drawn", "best")
_LEARNED, _RIVALS = "learned", ("Matern52", "SE")  # the first where it makes no difference


class Progress(NamedTuple):
    """Where a chain is: how many steps of how many, what the last one did, the terms it is at, and log p(answers) there
    at the best parameters, in units in which the answers spread by one. Of a bag: the best terms so far."""

    done: int
    steps: int
    info: Info
    terms: Terms
    log_likelihood: float


class Begun(NamedTuple):
    """How answers are read, what the chain visits, where it begins, and how many steps do not count."""

    reading: Reading
    target: Target
    state: State
    burn: int


@dataclass(frozen=True)
class Partitions(Learner):
    """Which dimensions act together is not known: sums of functions of some of them, by a Markov chain (Gardner 2018).

    f(x) = Σ_g f_g(x_g). Dimensions in no common term do not interact, and a sum of functions of few dimensions can be
    learned from few answers, in ten or twenty dimensions too.

    space         where the places are
    chain         how many steps the chain takes each time that there is more to learn from
    form          "partitions", every dimension in one term; "graphs", terms of one and two dimensions, which overlap;
                  "both"
    profile       the covariance of each term: "SE", "Matern52", "Matern32", …; "learned" is the first or the second of
                  them, whichever explains the answers better
    evidence      of a model: "laplace", "bic", or "likelihood", that of its best parameters
    prior         "blocks", every number of terms as probable; "partitions", every partition
    lengthscales  "each" dimension its own, or one for all dimensions of a term: "term"
    moves         "all", or only the published ones: "split-merge"
    parameters    of each model: "drawn" from what the answers leave of them, so that bands know what is not known of
                  them; "best", the most probable ones. Answers that are not numbers have the latter
    burn          steps at the very beginning that do not count
    by            "chain", or "bag": the best of as many partitions drawn by chance
    given         no chain: these terms, by the names of the dimensions or by number, and a term of its own for each
                  dimension that is in none of them; "additive" or "full"

    >>> import gainful as gf
    >>> rng = np.random.default_rng(0)
    >>> space = gf.Space(*(gf.Real(name, 0, 1) for name in "abcd"))
    >>> X = rng.random((60, 4))
    >>> data = gf.Data().add(gf.Point(), X, np.sin(9 * X[:, 0] * X[:, 1]) + X[:, 2] ** 2 + np.cos(5 * X[:, 3]))
    >>> belief = gf.Partitions(space, chain=30).condition(data)
    >>> print(belief.describe())
    a and b act together (100 %).
    c and d act each alone.
    """

    space: Places | None = None
    chain: int = 50
    form: str = "partitions"
    profile: str = "learned"
    evidence: str = "laplace"
    prior: str = "blocks"
    lengthscales: str = "each"
    moves: str = "all"
    parameters: str = "drawn"
    burn: int = 25
    by: str = "chain"
    given: Any = None
    inference: Inference | None = None

    def __post_init__(self) -> None:
        if self.space is not None:
            require_places("space", self.space)
        require_count("chain", self.chain, 1, "50 is usual")
        require_count("burn", self.burn, 0, "25 is usual")
        for name, choices in (
            ("form", FORMS), ("profile", (_LEARNED, *PROFILES)), ("evidence", EVIDENCES), ("prior", PRIORS),
            ("lengthscales", ("each", "term")), ("moves", ("all", "split-merge")), ("by", ("chain", "bag")),
            ("parameters", PARAMETERS),
        ):  # fmt: skip
            require_choice(name, getattr(self, name), choices, f"{choices[0]!r} is usual")
        apart = self.lengthscales == "each" or self.form == "partitions"
        require(apart, "lengthscales", "one for each dimension, where terms overlap", self.lengthscales, "'each'")
        method_for(Data().layout, self.inference)
        words = isinstance(self.given, str) or listed(self.given) is not None
        require(self.given is None or words, "given", "groups of dimensions, 'additive' or 'full'", self.given,
                "for instance [('a', 'b'), ('c',)]")  # fmt: skip
        free = self.given is None or self.form == FORMS[0]
        require(free, "form", f"{FORMS[0]!r}, where terms are given", self.form, "leave one of them out")
        if self.given is not None and self.space is not None:
            object.__setattr__(self, "given", _as_terms(self.given, _names(self.space)))

    @classmethod
    def as_published(cls, space: Places | None = None, **changes: Any) -> Partitions:
        """With the settings of Gardner 2018, sec. 5.3: squared exponentials, splits and merges alone, one lengthscale
        for each block, the most probable parameters, all partitions as probable, from all dimensions together on,
        nothing left out."""
        published: dict[str, Any] = {
            "profile": "SE",
            "prior": "partitions",
            "lengthscales": "term",
            "moves": "split-merge",
            "burn": 0,
            "evidence": "bic",
            "parameters": "best",
        }
        return cls(space, **(published | changes))

    @property
    def processes(self) -> tuple[Process, ...]:
        return ()

    def space_of(self, model: int) -> Places | None:
        return self.space

    @property
    def method(self) -> Inference | None:
        return self.inference

    def due(self, known: int, new: int) -> bool:
        return new >= max(1, known // _OFTEN)

    def require(self, parts: Parts, instruments: Used) -> None:
        known = {each.label: each for each in instruments}
        D = len(_names(self._place))
        for part in parts.parts:
            terms, profile = _read(part.program)
            fine = {d for term in terms for d in term} == set(range(D)) and profile in PROFILES
            words = f"a profile and terms over {D} dimensions, such as 'SE 0 1|2'"
            require(fine, "program", words, part.program, "see the journal")
            size = D + len(terms) + 2
            require(len(part.gp) == size and all(np.isfinite(part.gp)), "gp", f"{size} numbers", part.gp, "as learned")
            for label, own in part.instruments.items():
                require(label in known, "instruments", f"labels among {sorted(known)}", label, "see the design")
                known[label].with_parameters(np.array(own))

    @property
    def _place(self) -> Places:
        require(self.space is not None, "space", "a space, whose dimensions are the ones that may act together", None,
                "give it: Partitions(space)")  # fmt: skip
        assert self.space is not None
        return self.space

    def condition(self, data: Data, start: Start = None, rng: Seed = 0) -> PartitionBelief:
        """The belief given the data; `start` is an earlier one to go on from."""
        return self.believe(self.learn(data, (), start, rng), data, ())

    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        """The additive models that the data leaves, to be written down."""
        if len(data) < _FEWEST:
            return self.typical(data, instruments)
        with one_blas_thread():
            source, begun = as_rng(rng), self._begun(data, instruments, start)
            steps = list(self._followed(begun, source))
            kept = steps[-self.chain :] if self.by == "chain" and self.given is None else steps[-1:]
            return self._parts(begun, Counter(each.terms for each in kept), steps[-1].terms, source)

    def follow(self, data: Data, instruments: Used = (), start: Start = None, rng: Seed = 0) -> Iterator[Progress]:
        """Step by step, for whoever wants to watch."""
        return self._followed(self._begun(data, instruments, start), as_rng(rng))

    def _reading(self, data: Data, instruments: Used, profile: str = _RIVALS[0]) -> tuple[Reading, Data]:
        """How the answers are read, with this profile unless another one is stated, and the answers at its places."""
        place, shared = self._place, self.lengthscales == "term"
        data = Process(Constant(), space=place).fitting(data)
        several = (*instruments, *data.instruments)
        outputs = any(each.outputs is not None for each in several)
        require(not outputs, "instruments", "instruments that see one function", "outputs", "a model for each output")
        known: Mapping[str, Instrument] = {each.label: each for each in several}
        stated = profile if self.profile == _LEARNED else self.profile
        return Reading.of(place, data, known, stated, self.evidence, shared, self.inference), data

    def _target(self, reading: Reading, data: Data, start: Start) -> Target:
        known: dict[Terms, list[Array]] = {}
        if isinstance(start, PartitionBelief) and start.names == reading.names:
            for terms, posterior, own in zip(start.terms, start.posteriors, start.instruments, strict=True):
                parameters = {label: tuple(each.parameters.tolist()) for label, each in own.items()}
                theta = reading.theta(terms, posterior.kernel.parameters, parameters)
                known.setdefault(terms, []).append(theta)
        begins = {terms: np.asarray(np.mean(thetas, axis=0)) for terms, thetas in known.items()}
        return Target(reading.explained(data), self.form, self.prior, self.moves == "split-merge", begins)

    def _begun(self, data: Data, instruments: Used, start: Start) -> Begun:
        """Where the chain begins; of profiles that are not stated, with the one that is more probable there."""
        found = []
        for profile in _RIVALS if self.profile == _LEARNED else (self.profile,):
            reading, seen = self._reading(data, instruments, profile)
            target = self._target(reading, seen, start)
            found.append(Begun(reading, target, *self._first(target, start)))
            if not seen.layout.gaussian:
                break  # a search by EP's evidence is dear
        return max(found, key=lambda each: each.state.log_density)

    def _first(self, target: Target, start: Start) -> tuple[State, int]:
        """Where the chain begins, and how many steps do not count: none where it goes on."""
        D = target.answers.dimensions
        if self.given is not None:
            terms = _as_terms(self.given, _names(self._place))
            return State(terms, target.fit(terms).log_evidence), 0
        if self.by == "bag":
            return chain.init(target, together(D)), 0
        if isinstance(start, PartitionBelief) and len(start.names) == D:
            return chain.init(target, start.last), 0
        begins = [] if self.moves == "split-merge" else [ascended(target)]
        if self.form != "graphs":
            begins.append(chain.init(target, together(D)))
        return max(begins, key=lambda each: each.log_density), self.burn

    def _followed(self, begun: Begun, rng: np.random.Generator) -> Iterator[Progress]:
        target, state = begun.target, begun.state
        if self.given is not None:
            yield self._at(target, 1, 1, Info(state.terms, True, 1), None)
        elif self.by == "bag":
            yield from self._drawn(target, rng)
        else:
            steps = begun.burn + self.chain
            for i in range(steps):
                state, info = chain.step(state, target, rng)
                yield self._at(target, i + 1, steps, info, state.terms)

    def _drawn(self, target: Target, rng: np.random.Generator) -> Iterator[Progress]:
        """The best of partitions drawn by chance, after each of them."""
        best: Terms | None = None
        for i in range(self.chain):
            terms = at_random(target.answers.dimensions, rng)
            better = best is None or target.fit(terms).log_evidence > target.fit(best).log_evidence
            best = terms if better else best
            yield self._at(target, i + 1, self.chain, Info(terms, better, len(target.found)), best)

    @staticmethod
    def _at(target: Target, done: int, steps: int, info: Info, terms: Terms | None) -> Progress:
        here = info.proposed if terms is None else terms
        target.fit(here)
        return Progress(done, steps, info, here, target.log_likelihood(here))

    def _parts(self, begun: Begun, visited: Counter[Terms], last: Terms, rng: np.random.Generator) -> Parts:
        """Every model that was visited, the one where the chain ended first, with as many draws of its parameters as
        are its share. What a part weighs before the answers count is such that with them a model weighs as often as it
        was visited."""
        reading, target = begun.reading, begun.target
        total, out = sum(visited.values()), []
        for terms in sorted(visited, key=lambda each: (each != last, -visited[each], each)):
            fit, share = target.fit(terms), visited[terms] / total
            thetas = [fit.theta]
            if self.parameters == PARAMETERS[0] and isinstance(target.answers, Additively):
                thetas = drawn(target.answers, terms, fit, max(1, round(_DRAWS * share)), rng)
            log_share = float(np.log(share / len(thetas)))
            for theta in (np.round(each, _DECIMALS) for each in thetas):
                likelihood = target.answers.log_likelihood(terms, theta)
                out.append(self._part(reading, terms, theta, log_share - likelihood))
        return Parts(tuple(out))

    def _part(self, reading: Reading, terms: Terms, theta: Array, log_weight: float) -> Part:
        gp = tuple(reading.process(terms, theta).parameters.tolist())
        read = {
            label: tuple(each.parameters.tolist()) for label, each in reading.read(theta, terms).items() if each.size
        }
        return Part(gp, read, round(log_weight, _DECIMALS), 0, as_text(terms, reading.profile))

    def typical(self, data: Data, instruments: Used) -> Parts:
        """One model with typical parameters for the scale of the data: each dimension alone, or what is given."""
        reading, _ = self._reading(data, instruments)
        D = reading.dimensions
        terms = alone(D) if self.given is None else _as_terms(self.given, tuple(map(str, range(D))))
        expected = reading.expected.noise
        lengths = np.log(0.35) + 0.5 * np.log([max(len(t) for t in terms if d in t) for d in range(D)])
        theta = np.concatenate([lengths, np.full(len(terms), -np.log(len(terms))), expected])
        return Parts((self._part(reading, terms, np.round(theta, _DECIMALS), 0.0),))

    def believe(self, parts: Parts, data: Data, instruments: Used) -> PartitionBelief:
        reading, data = self._reading(data, instruments, from_text(parts.parts[0].program)[1])
        known = {each.label: each for each in (*instruments, *data.instruments)}
        terms, used, models = [], [], []
        for part in parts.parts:
            own = {label: with_own(each, part.instruments.get(label)) for label, each in known.items()}
            one, _ = from_text(part.program)
            theta = np.zeros(reading.dimensions + len(one) + len(reading.labels))
            process = reading.process(one, theta).with_parameters(np.array(part.gp))
            seen = data.with_instruments({each: own[each.label] for each in data.instruments})
            models.append((process.mean, process.kernel, seen))
            terms.append(one)
            used.append(own)
        weighed = parts.weigh(models, self.method)
        kept = weighed.kept
        return PartitionBelief(
            weighed.posteriors, weighed.weights, [used[s] for s in kept], [terms[s] for s in kept], reading.names,
            terms[0],
        )  # fmt: skip


def _names(space: Places) -> tuple[str, ...]:
    """The dimensions of a space that vary."""
    return tuple(dict.fromkeys(column.dimension for column in coordinates_of(space).columns))


def _read(text: str) -> tuple[Terms, str]:
    """The terms and the profile that a text says; no terms where it says none."""
    try:
        return from_text(text)
    except ValueError:
        return (), ""


def _as_terms(given: Any, names: tuple[str, ...]) -> Terms:
    """Terms by name or by number, or one of the words for all alone and for all together; who is not named is alone."""
    D = len(names)
    if isinstance(given, str):
        require_choice("given", given, ("additive", "full"), "or a list of groups of dimensions")
        return alone(D) if given == "additive" else together(D)
    several = [(each,) if listed(each) is None else tuple(listed(each) or ()) for each in listed(given) or ()]
    at: dict[Any, int] = {name: i for i, name in enumerate(names)} | {i: i for i in range(D)}
    fine = bool(several) and all(each and all(d in at for d in each) for each in several)
    require(fine, "given", f"groups of {list(names)}, by name or by number", given, "for instance [('a', 'b'), ('c',)]")
    terms = [tuple(sorted({at[d] for d in each})) for each in several]
    left = set(range(D)) - {d for each in terms for d in each}
    return tidy([*terms, *((d,) for d in left)])
