"""Models whose beliefs are weighted kernel programs: found by sequential Monte Carlo, or given one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.beliefs.learner import Learner, Seed, Start, Used
from gainful.beliefs.parts import Part, Parts, with_own
from gainful.beliefs.programs import smc
from gainful.beliefs.programs.belief import ProgramBelief
from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.language import Program
from gainful.beliefs.programs.moves import Answered
from gainful.beliefs.programs.reading import Reader, labels_of, noisy
from gainful.beliefs.programs.smc import Info, Moves, State
from gainful.beliefs.programs.units import Units
from gainful.checks import as_rng, column_names, is_number, listed, numbers, require, require_count, require_kind
from gainful.coordinates import Coordinates
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.hyper.defaults import scale_of
from gainful.hyper.unstated import readable
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.instruments.base import Instrument
from gainful.means import ConstantMean
from gainful.numerics.threads import one_blas_thread
from gainful.process import Process
from gainful.space import Places, coordinates_of, require_places

__all__ = ["KernelPrograms", "ProgramGrid", "Progress"]

Array = NDArray[np.float64]

_OFTEN = 16  # learned anew when there are a sixteenth more answers: a step is not dear while they are few
_ROUNDING = 1e-12  # of a sum of probabilities
_HOPELESS = 15.0  # nats of evidence by which a search may fall behind another and still count
_SURPRISED = (
    0.25  # the exponent with which new answers leave half of the particles effective: about 3 nats between them
)
_OTHER = 2.0  # times: where places or answers spread by more or less than this beside the scale in use, it begins anew


class Progress(NamedTuple):
    """Where a search is: what its last step saw, the share of the work that is done, and the particles."""

    info: Info
    done: float
    state: State


@dataclass(frozen=True)
class _Programs(Learner):
    """What both models have in common: parts that are programs, and how they are believed again."""

    @property
    @abstractmethod
    def method(self) -> Inference | None: ...

    @property
    @abstractmethod
    def place(self) -> Places | None:
        """The space, where there is one."""

    @property
    def processes(self) -> tuple[Process, ...]:
        return ()

    def space_of(self, model: int) -> Places | None:
        return self.place

    def due(self, known: int, new: int) -> bool:
        return new >= max(1, known // _OFTEN)

    def require(self, parts: Parts, instruments: Used) -> None:
        known = {each.label: each for each in instruments}
        for part in parts.parts:
            Program.read(part.program)
            fine = len(part.gp) % 2 == 0 and len(part.gp) >= 4
            require(fine, "gp", "level, spread, middles and half ranges", part.gp, "two for each column")
            for label, own in part.instruments.items():
                require(label in known, "instruments", f"labels among {sorted(known)}", label, "see the design")
                known[label].with_parameters(np.array(own))

    def believe(self, parts: Parts, data: Data, instruments: Used) -> ProgramBelief:
        known = {each.label: each for each in (*instruments, *data.instruments)}
        data = self._fitting(data)
        units = _units_in(parts)
        learned = labels_of(known)
        programs, noises, used, models = [], [], [], []
        for part in parts.parts:
            own = {label: with_own(each, part.instruments.get(label)) for label, each in known.items()}
            program = Program.read(part.program)
            process = Process(units.kernel(program), ConstantMean(units.level), {}, self.place)
            seen = data.with_instruments({each: own[each.label] for each in data.instruments})
            models.append((process.mean, process.kernel, seen))
            programs.append(program)
            used.append(own)
            noises.append({label: _sd(own[label]) ** 2 / units.spread**2 for label in learned})
        weighed = parts.weigh(models, self.method)
        kept = weighed.kept
        return ProgramBelief(
            weighed.posteriors, weighed.weights, [used[s] for s in kept], [programs[s] for s in kept],
            [noises[s] for s in kept], units, weighed.log_evidence,
        )  # fmt: skip

    def _fitting(self, data: Data) -> Data:
        """The data, called as the space calls its dimensions."""
        return Process(_ANY_KERNEL, space=self.place).fitting(data)

    def _columns(self) -> Coordinates | None:
        return None if self.place is None else coordinates_of(self.place)

    def _units(self, data: Data, instruments: Used, answers: tuple[float, float] | None) -> Units:
        """From the space, or else from where the answers are; from the stated scale, or else from the answers."""
        several = (*instruments, *data.instruments)
        outputs = any(each.outputs is not None for each in several)
        require(not outputs, "instruments", "instruments that see one function", "outputs", "a model for each output")
        if self.place is not None:
            kinds = {column.dimension for column in coordinates_of(self.place).columns if column.kind == "category"}
            require(not kinds, "space", "numbers, which programs look at", sorted(kinds),
                    "leave categories out, or fit a program for each level")  # fmt: skip
        scale = scale_of(data, self.place, several)
        level, spread = (scale.centre, scale.spread) if answers is None else answers
        return Units(tuple(scale.middle.tolist()), tuple((0.5 * scale.range).tolist()), level, spread)


_ANY_KERNEL = Program.read("(C 1.0)").kernel


def _units_in(parts: Parts) -> Units:
    level, spread, *rest = parts.parts[0].gp
    return Units(tuple(rest[::2]), tuple(rest[1::2]), level, spread)


def _gp_of(units: Units) -> tuple[float, ...]:
    ends = (end for pair in zip(units.middle, units.half, strict=True) for end in pair)
    return (units.level, units.spread, *ends)


def _sd(instrument: Instrument) -> float:
    channel = instrument.channel()
    assert channel is not None
    return float(channel.noise)


@dataclass(frozen=True)
class KernelPrograms(_Programs):
    """The covariance itself is unknown: a program of a small language, followed by sequential Monte Carlo (Lin 2022).

    grammar    the prior over programs, see `Grammar`
    particles  how many programs are kept
    space      where the places are; without one, their range is that of the first data
    answers    their level and spread, where they are to be scaled by these and not by the answers that come
    moves      what particles do between answers
    threshold  the share of effective particles below which they are resampled
    searches   how many searches begin from the prior: each counts by its evidence, and one may find what another misses
    rivals     other grammars, as probable as the first: each is searched as often, and counts by its evidence

    Programs see inputs from −1 to 1 and answers that spread by one; everything is scaled back to the user's units.
    Numbers whose instrument states no noise have one in every program. Answers of other kinds count by EP's evidence.

    >>> import gainful as gf
    >>> x = np.linspace(0.0, 30.0, 24)
    >>> data = gf.Data().add(gf.Point(name="lab"), x[:, None], 5.0 + np.sin(2 * np.pi * x / 7.0))
    >>> belief = gf.KernelPrograms(particles=40).condition(data, rng=1)
    >>> belief.probability("PER") > 0.9
    True
    """

    grammar: Grammar = field(default_factory=Grammar)
    particles: int = 200
    space: Places | None = None
    answers: tuple[float, float] | None = None
    moves: Moves = field(default_factory=Moves)
    threshold: float = 0.5
    inference: Inference | None = None
    searches: int = 1
    rivals: tuple[Grammar, ...] = ()

    def __post_init__(self) -> None:
        require_kind("grammar", self.grammar, Grammar, "a Grammar", "Grammar() is the published one")
        rivals = tuple(listed(self.rivals) or ())
        fine = listed(self.rivals) is not None and all(isinstance(each, Grammar) for each in rivals)
        require(fine, "rivals", "a list of grammars", self.rivals, "for instance [Grammar.for_data(changes=True)]")
        object.__setattr__(self, "rivals", rivals)
        require_count("particles", self.particles, 2, "200 is usual")
        require_count("searches", self.searches, 1, "1 is usual")
        require_kind("moves", self.moves, Moves, "Moves", "for instance Moves(sweeps=5)")
        if self.space is not None:
            require_places("space", self.space)
        fine = is_number(self.threshold) and 0.0 < self.threshold < 1.0
        require(fine, "threshold", "a share between 0 and 1", self.threshold, "0.5 is usual")
        _require_answers(self.answers)
        method_for(Data().layout, self.inference)

    @property
    def method(self) -> Inference | None:
        return self.inference

    @property
    def place(self) -> Places | None:
        return self.space

    def condition(self, data: Data, start: Start = None, rng: Seed = 0) -> ProgramBelief:
        """The belief given the data; `start` is an earlier one to go on from."""
        return self.believe(self.learn(data, (), start, rng), data, ())

    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        """The programs that the data leaves, to be written down."""
        several, generator = tuple(instruments), as_rng(rng)
        start = None if self.rivals else start  # a program of one grammar may be none of another
        last, surprised = None, False
        for last in self.follow(data, several, start, generator):
            surprised = surprised or last.info.share < _SURPRISED
        if last is None:
            return self.typical(data, several)
        runs = [last]
        if not isinstance(start, ProgramBelief) or last.state.units != start.units:
            more = self.searches - 1
        else:
            # Particles that went on from few answers may all be near what those suggested, and new answers that most
            # of them did not expect say so. Others, from the prior, count by their evidence beside them, as independent
            # runs do: `log_weight` has it.
            more = self.searches if surprised or _is_time(len(start.data), len(data)) else 0
        again = [each for each in (self.grammar, *self.rivals) for _ in range(more)] + list(self.rivals)
        for grammar in again:
            runs += deque(self._followed(data, several, last.state.units, None, generator, grammar), maxlen=1)
        runs.sort(key=lambda run: -run.state.log_evidence)
        near = [run for run in runs if run.state.log_evidence > runs[0].state.log_evidence - _HOPELESS]
        each = [part for run in near for part in self.parts_at(run, data, several).parts]
        share = float(np.log(len(runs)))
        return Parts(tuple(replace(part, log_weight=part.log_weight - share) for part in each))

    def follow(self, data: Data, instruments: Used = (), start: Start = None, rng: Seed = 0) -> Iterator[Progress]:
        """Step by step, for whoever wants to watch: `parts_at` says what is believed at any of them."""
        return self._followed(data, instruments, None, start, as_rng(rng))

    def _followed(
        self, data: Data, instruments: Used, units: Units | None, start: Start, generator: np.random.Generator,
        grammar: Grammar | None = None,
    ) -> Iterator[Progress]:  # fmt: skip
        several = _by_label(instruments, data)
        data = self._fitting(data)
        if not len(data):
            return
        answers, state = self._begun(data, several, units, start, generator, grammar or self.grammar)
        stages = smc.portions(state.towards, len(answers)) or [len(answers)]
        costs = np.cumsum([_cost(n) for n in stages])
        for number, upto in enumerate(stages):
            while True:
                with one_blas_thread():
                    state, info = smc.step(state, answers, upto, generator, self.moves, self.threshold)
                before = costs[number - 1] if number else 0.0
                done = (before + info.share * (costs[number] - before)) / costs[-1]
                yield Progress(info, float(done), state)
                if state.share == 1.0:
                    break

    def parts_at(self, progress: Progress, data: Data, instruments: Used = ()) -> Parts:
        """The programs as they are at some step, each once."""
        state = progress.state
        several = _by_label(instruments, data)
        labels = labels_of(several)
        units: Units = state.units  # type: ignore[assignment]
        logs = np.log(np.maximum(state.weights, 1e-300))
        # What a program weighs before the answers count, so that all of them together weigh as much as the evidence.
        values, variances = state.value - state.log_evidence, state.grammar.noises(state.population)
        merged: dict[tuple[str, tuple[float, ...]], list[float]] = {}
        for i in range(len(logs)):
            key = str(state.grammar.program(state.population, i)), tuple(variances[i].tolist())
            merged.setdefault(key, []).append(logs[i] - values[i])
        typical = {
            label: tuple(each.parameters.tolist()) for label, each in self._readable(several, data).items() if each.size
        }
        gp = _gp_of(units)
        return Parts(
            tuple(
                Part(gp, typical | self._noises(several, labels, noise, units), float(logsumexp(each)), 0, text)
                for (text, noise), each in sorted(merged.items(), key=lambda item: -logsumexp(item[1]))
            )
        )

    def _noises(
        self, several: Mapping[str, Instrument], labels: Sequence[str], variances: Sequence[float], units: Units
    ) -> dict[str, tuple[float, ...]]:
        return {
            label: tuple(noisy(several[label], units.spread * float(np.sqrt(variance))).parameters.tolist())
            for label, variance in zip(labels, variances, strict=True)
        }

    def _readable(self, several: Mapping[str, Instrument], data: Data) -> dict[str, Instrument]:
        """Instruments whose noise is not learned with the program have a typical one, where they state none."""
        scale = scale_of(data, self.space, several.values())
        learned = labels_of(several)
        return {label: readable(each, scale) for label, each in several.items() if label not in learned}

    def typical(self, data: Data, instruments: Used) -> Parts:
        """Programs from the prior."""
        several = _by_label(instruments, data)
        units = self._units(data, several.values(), self.answers)
        grammar = _over_all(self.grammar, units)
        state = smc.init(grammar, len(labels_of(several)), self.particles, np.random.default_rng(0))
        state = replace(state, units=units)
        info = Info(0, 1.0, float(self.particles), False, self.particles, {}, 0.0)
        return self.parts_at(Progress(info, 1.0, state), data, several.values())

    def _begun(
        self, data: Data, several: Mapping[str, Instrument], given: Units | None, start: Start,
        rng: np.random.Generator, grammar: Grammar,
    ) -> tuple[Answered, State]:  # fmt: skip
        """The answers in the order in which they count, and where the particles begin: at an earlier belief's, whose
        answers come first, or at the prior's."""
        labels = labels_of(several)
        units = given or self._units(data, several.values(), self.answers)
        usable = isinstance(start, ProgramBelief) and _fits(start, units, labels)
        known = _found_in(start.data, data) if usable else None  # type: ignore[union-attr]
        if known is not None:
            assert isinstance(start, ProgramBelief)
            units = start.units
        readable_data = data.with_instruments(
            {each: now for each in data.instruments
             if (now := self._readable(several, data).get(each.label)) is not None and now != each}
        )  # fmt: skip
        reader = Reader(units, self._columns(), labels, self.inference)
        grammar = _over_all(grammar, units)
        if known is None:
            order = rng.permutation(len(data))
            state = smc.init(grammar, len(labels), self.particles, rng)
            return reader.read(readable_data, order), replace(state, units=units)
        assert isinstance(start, ProgramBelief)
        rest = np.setdiff1d(np.arange(len(data)), known)
        answers = reader.read(readable_data, np.concatenate([known, rng.permutation(rest)]).astype(np.intp))
        return answers, _resumed(grammar, start, labels, answers, len(known), self.particles, units, rng)


def _over_all(grammar: Grammar, units: Units) -> Grammar:
    """The grammar over as many columns as there are."""
    columns = len(units.middle)
    if grammar.inputs == columns:
        return grammar
    expected = f"inputs={columns}, one for each column that programs look at, or 1 for all there are"
    require(grammar.inputs == 1, "grammar", expected, grammar.inputs, "leave it out")
    return replace(grammar, inputs=columns)


def _is_time(before: int, now: int) -> bool:
    """Whether a search from the prior is due: at 8, 12, 16, 24, 32, 48 … answers."""
    return any(before < n <= now or before == n == now for j in range(3, 20) for n in (2**j, 3 * 2 ** (j - 1)))


def _resumed(
    grammar: Grammar, start: ProgramBelief, labels: Sequence[str], answers: Answered, done: int, particles: int,
    units: Units, rng: np.random.Generator,
) -> State:  # fmt: skip
    """Particles from an earlier belief's programs, as many as there should be."""
    noise = np.array([[own[label] for label in labels] for own in start.noises]).reshape(len(start.programs), -1)
    population = grammar.coded(start.programs, noise)
    weights = np.asarray(start.weights)
    if len(weights) != particles:  # copies were merged, or another search was added: as many particles again
        rows = np.repeat(np.arange(len(weights)), smc.residual_counts(weights, rng, particles))
        population, weights = population.take(rows), np.ones(len(rows))
    value = answers.log_evidence(grammar, population, (done,), (1.0,))
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    # The evidence of its answers in the program's units, as `value` is.
    apart = answers.log_evidence(grammar, grammar.coded(start.programs[:1], noise[:1]), (done,), (1.0,))[0]
    evidence = (start.log_evidence or 0.0) + float(apart) - start.posteriors[0].log_evidence
    return State(grammar, population, logs, value, evidence, done, done, 1.0, units=units)


def _fits(start: ProgramBelief, units: Units, labels: Sequence[str]) -> bool:
    """Whether an earlier belief's scales still suit the places and the answers, and it knows the same noises."""
    old = start.units
    if len(old.middle) != len(units.middle) or any(set(own) != set(labels) for own in start.noises):
        return False
    half, ratio = np.array(units.half), np.append(np.array(old.half) / units.half, old.spread / units.spread)
    apart = np.append(np.subtract(old.middle, units.middle) / half, (old.level - units.level) / (_OTHER * units.spread))
    return bool(np.all((ratio >= 1.0 / _OTHER) & (ratio <= _OTHER)) and np.all(np.abs(apart) <= 1.0))


def _found_in(some: Data, data: Data) -> NDArray[np.intp] | None:
    """The numbers that the answers of some data have among all; None where one of them is not there."""

    def keys(given: Data) -> list[tuple[Any, ...]]:
        return [
            (batch.instrument.label, x.tobytes(), np.asarray(a).tobytes())
            for batch in given.batches
            for x, a in zip(batch.X, batch.answers, strict=True)
        ]

    where: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(keys(data)):
        where.setdefault(key, []).append(i)
    found = []
    for key in keys(some):
        if not where.get(key):
            return None
        found.append(where[key].pop(0))
    return np.array(found, dtype=np.intp)


def _by_label(instruments: Used, data: Data) -> dict[str, Instrument]:
    require_kind("data", data, Data, "a Data value", "for instance Data().add(Point(), X, y)")
    return {each.label: each for each in (*data.instruments, *instruments)}


def _cost(n: int) -> float:
    """Of a stage with so many answers, in any unit."""
    return 20.0 + n + n**2 / 50.0 + n**3 / 5000.0


def _require_answers(answers: Any) -> None:
    if answers is not None:
        pair = listed(answers) if column_names(answers) is None else None
        fine = pair is not None and len(pair) == 2 and all(is_number(each) for each in pair) and pair[1] > 0.0
        require(fine, "answers", "their level and spread, such as (20.0, 5.0)", answers, "leave it out to learn it")


@dataclass(frozen=True, init=False)
class ProgramGrid(_Programs):
    """Some programs with their numbers, each a rival, weighed exactly by Bayes' rule.

    Programs are in the units of the places and the answers, as they are written; `noise` is the variance of readings
    whose instrument states none, one for all or one for each program.

    >>> import gainful as gf
    >>> data = gf.Data().add(gf.Point(0.1), [[0.0], [0.25], [0.5]], [0.0, 0.5, 1.0])
    >>> gf.ProgramGrid(["(LIN 0.0)", "(PER 1.0 0.25)"]).condition(data).structures
    {'LIN': 1.0, 'PER': 0.0}
    """

    programs: tuple[Program, ...]
    prior: tuple[float, ...]
    noise: tuple[float, ...]
    space: Places | None = None
    inference: Inference | None = None

    def __init__(
        self,
        programs: Sequence[Program | str],
        prior: ArrayLike | None = None,
        noise: ArrayLike = 0.1,
        space: Places | None = None,
        inference: Inference | None = None,
    ) -> None:
        given = listed(programs) or []
        remedy = 'for instance ["(LIN 0.3)", "(PER 0.5 0.1)"]'
        try:
            read = tuple(Program.read(each) if isinstance(each, str) else each for each in given)
        except InvalidInput as trouble:
            raise InvalidInput("programs", trouble.expected, trouble.got, remedy) from None
        fine = bool(read) and all(isinstance(each, Program) for each in read)
        require(fine, "programs", "one or more programs", programs, remedy)
        odds = np.full(len(read), 1.0) if prior is None else numbers("prior", prior, "probabilities")
        fine = odds.shape == (len(read),) and bool(np.all(np.isfinite(odds) & (odds > 0.0)))
        require(fine, "prior", f"{len(read)} positive probabilities", prior, "one for each program")
        given_noise = numbers("noise", noise, "positive variances")
        fine = given_noise.shape in ((), (len(read),)) and bool(np.all(np.isfinite(given_noise) & (given_noise > 0.0)))
        require(fine, "noise", f"a positive variance, or {len(read)} of them", noise, "one for each program")
        each = np.broadcast_to(given_noise, (len(read),))
        if space is not None:
            require_places("space", space)
        method_for(Data().layout, inference)
        object.__setattr__(self, "programs", read)
        # What sums to one already, rounding left aside, is kept: a journal's numbers make the same value again.
        shares = odds if abs(odds.sum() - 1.0) < _ROUNDING else odds / odds.sum()
        object.__setattr__(self, "prior", tuple(shares.tolist()))
        object.__setattr__(self, "noise", tuple(each.tolist()))
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "inference", inference)

    @property
    def method(self) -> Inference | None:
        return self.inference

    @property
    def place(self) -> Places | None:
        return self.space

    def due(self, known: int, new: int) -> bool:
        """Never: the programs stay, and answers move their weights by themselves."""
        return False

    def condition(self, data: Data, start: Start = None, rng: Seed = 0) -> ProgramBelief:
        """The exact posterior over the programs."""
        return self.believe(self.typical(data, ()), data, ())

    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        return self.typical(data, instruments)

    def typical(self, data: Data, instruments: Used) -> Parts:
        """The programs with their prior probabilities; the answers weigh them."""
        several = _by_label(instruments, data)
        labels = labels_of(several)
        columns = 1 + max(node.column for program in self.programs for node in program.nodes())
        wide = max(columns, len(coordinates_of(self.space).columns) if self.space is not None else 1)
        gp = _gp_of(Units((0.0,) * wide, (1.0,) * wide))
        out = []
        for program, share, variance in zip(self.programs, self.prior, self.noise, strict=True):
            own = {
                label: tuple(noisy(several[label], float(np.sqrt(variance))).parameters.tolist()) for label in labels
            }
            out.append(Part(gp, own, float(np.log(share)), 0, str(program)))
        return Parts(tuple(out))
