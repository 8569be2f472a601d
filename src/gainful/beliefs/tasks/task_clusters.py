"""The model in which it is not known which tasks are alike: clusterings of them, weighed by Gibbs sampling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.integrated import typical_part
from gainful.beliefs.learner import Learner, Seed, Start, Used
from gainful.beliefs.partitions.partition import Partition, alone, together
from gainful.beliefs.parts import Part, Parts, with_own
from gainful.beliefs.tasks import chain
from gainful.beliefs.tasks.belief import TaskBelief, as_text, from_text
from gainful.beliefs.tasks.chain import PRIORS, Info, State, Target
from gainful.beliefs.tasks.clustered import clustered, task_of, tasks_of
from gainful.beliefs.tasks.evidence import Explained
from gainful.checks import as_rng, require, require_choice, require_count, require_kind, require_positive
from gainful.data import Data
from gainful.hyper.unstated import structure
from gainful.inference.engines.base import Engine
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.kernels import Kernel, Matern
from gainful.means import Mean
from gainful.numerics.threads import one_blas_thread
from gainful.priors import Prior
from gainful.process import Process
from gainful.space import Places, require_places

__all__ = ["TaskClusters"]

Array = NDArray[np.float64]

_DECIMALS = 4  # of a parameter in its units: see `Opened.rounded`
_FEWEST = 3  # answers: before, nothing is learned


@dataclass(frozen=True)
class TaskClusters(Learner):
    """Which tasks are alike is not known: tasks of one cluster share a function, by Gibbs sampling (Gardner 2018).

    k((x, i), (z, j)) = shared(x, z) [i and j are in one cluster] + own(x, z) [i = j]. A task with few readings is
    predicted from those that behave as it does, and not from the others. All clusters have one `shared` kernel and all
    tasks one `own`; what they leave unstated is learned for each clustering.

    space          where the places are: the inputs, and a category whose levels are the tasks
    task           the name of that category; may be left out where there is only one
    shared, own    kernels of the inputs; a Matérn 5/2 where they are left out
    mean, priors   as of a GP: an unknown constant for all tasks, where something else is unstated
    prior          "restaurant", the Chinese restaurant process; "uniform", all clusterings as probable
    concentration  of the restaurant: two tasks are together with probability 1/(1 + concentration)
    sweeps         of the chain, each time that there is more to learn from
    burn           sweeps at the very beginning that do not count

    >>> import gainful as gf
    >>> space = gf.Space(gf.Real("time", 0, 6), gf.Categorical("patient", ["ann", "ben", "cid"]))
    >>> t, who = np.tile(np.linspace(0, 6, 8), 3), np.repeat([0.0, 1.0, 2.0], 8)
    >>> y = np.where(who == 2.0, np.cos(2.0 * t), np.sin(t)) + 0.05 * np.sin(99.0 * np.arange(24))
    >>> model = gf.TaskClusters(space, shared=gf.SE(1.0, 1.0), own=gf.SE(1.0, 0.01))
    >>> belief = model.condition(gf.Data().add(gf.Point(0.05), np.column_stack([t, who]), y))
    >>> print(belief.describe())
    ann and ben are alike (100 %).
    cid is like no other (100 %).
    """

    space: Places | None = None
    task: str | None = None
    shared: Any = None
    own: Any = None
    mean: Any = None
    priors: Mapping[str, Prior] = field(default_factory=dict, hash=False)
    prior: str = "restaurant"
    concentration: float = 1.0
    sweeps: int = 200
    burn: int = 20
    inference: Inference | Engine | None = None

    def __post_init__(self) -> None:
        for name in ("shared", "own"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, Matern())
            require_kind(name, getattr(self, name), Kernel, "a kernel of the inputs", "such as SE(), not SE")
        mean_or_none = (Mean, type(None))
        require_kind("mean", self.mean, mean_or_none, "a mean such as ConstantMean()", "or leave it out")
        own = isinstance(self.priors, Mapping) and all(isinstance(each, Prior) for each in self.priors.values())
        remedy = "for instance {'Matern.lengthscale': LogNormal(0, 1)}"
        require(own, "priors", "a mapping from names to priors", self.priors, remedy)
        require_choice("prior", self.prior, PRIORS, f"{PRIORS[0]!r} is usual")
        require_positive("concentration", self.concentration, "1.0 is usual")
        require_count("sweeps", self.sweeps, 1, "200 is usual")
        require_count("burn", self.burn, 0, "20 is usual")
        method_for(Data().layout, self.inference)  # says so, if it is none
        words = self.task is None or isinstance(self.task, str)
        require(words, "task", "the name of a category of the space", self.task, "or leave it out")
        if self.space is not None:
            require_places("space", self.space)
            probe = np.array(self.space.low, dtype=float)[None]
            self.process(alone(len(self.tasks))).kernel(probe)  # one for other dimensions is refused in its own words

    @property
    def _place(self) -> Places:
        require(self.space is not None, "space", "a space, with a category whose levels are the tasks", None,
                "give it: TaskClusters(space)")  # fmt: skip
        assert self.space is not None
        return self.space

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks by name, in the order of the category's levels."""
        return tasks_of(self._place, task_of(self._place, self.task))

    def process(self, clustering: Partition) -> Process:
        """The GP of a clustering, given by the positions of the tasks in each cluster."""
        task = task_of(self._place, self.task)
        return clustered(self._place, task, self.shared, self.own, self.mean, self.priors, clustering)

    @property
    def processes(self) -> tuple[Process, ...]:
        return ()

    def space_of(self, model: int) -> Places | None:
        return self.space

    @property
    def method(self) -> Inference | Engine | None:
        return self.inference

    def condition(self, data: Data, start: Start = None, rng: Seed = 0) -> TaskBelief:
        """The belief given the data; `start` is an earlier one to go on from."""
        return self.believe(self.learn(data, (), start, rng), data, ())

    def target(self, data: Data, instruments: Used = ()) -> Target:
        """What the chain visits in proportion to: p(clustering) p(answers | clustering)."""
        first = self.process(alone(len(self.tasks)))
        data, several = first.fitting(data), tuple(instruments)
        outputs = any(each.outputs is not None for each in (*several, *data.instruments))
        require(not outputs, "instruments", "instruments that see one function", "outputs", "a model for each output")
        answers = Explained(len(self.tasks), self.process, data, several, self.inference)
        return Target(answers, self.prior, self.concentration)

    def follow(
        self, data: Data, instruments: Used = (), start: Start = None, rng: Seed = 0
    ) -> Iterator[tuple[State, Info]]:
        """Sweep by sweep, for whoever wants to watch; those that do not count come first."""
        return self._followed(self.target(data, instruments), start, as_rng(rng))

    def _followed(self, target: Target, start: Start, rng: np.random.Generator) -> Iterator[tuple[State, Info]]:
        state, burn = self._first(target, start)
        for _ in range(burn + self.sweeps):
            state, info = chain.step(state, target, rng)
            yield state, info

    def _first(self, target: Target, start: Start) -> tuple[State, int]:
        """Where the chain begins, and how many sweeps do not count: none where it goes on."""
        if isinstance(start, TaskBelief) and start.names == self.tasks:
            return chain.init(target, start.last), 0
        T = len(self.tasks)
        begins = [chain.init(target, each) for each in (together(T), alone(T))]
        return max(begins, key=lambda each: each.log_density), self.burn

    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        """The clusterings that the data leaves, to be written down."""
        several, generator = tuple(instruments), as_rng(rng)
        target = self.target(data, several)
        if len(data) < _FEWEST:
            return self.typical(data, several)
        with one_blas_thread():
            states = [state for state, _ in self._followed(target, start, generator)]
            visited = Counter(each.clustering for each in states[-self.sweeps :])
            return self._parts(target, visited, states[-1].clustering)

    def _parts(self, target: Target, visited: Counter[Partition], last: Partition) -> Parts:
        """Each clustering once, the one where the chain ended first. With these answers it weighs as often as it was
        visited."""
        answers = target.answers
        assert isinstance(answers, Explained)
        ordered = sorted(visited, key=lambda each: (each != last, -visited[each], each))
        total = sum(visited.values())
        return Parts(tuple(answers.part(c, float(np.log(visited[c] / total)), _DECIMALS, as_text(c)) for c in ordered))

    def typical(self, data: Data, instruments: Used) -> Parts:
        """Each task alone, with typical parameters for the scale of the data."""
        clustering = alone(len(self.tasks))
        found = typical_part(self.process(clustering), data, tuple(instruments), self.inference)
        return Parts((Part(found.gp, found.instruments, 0.0, 0, as_text(clustering)),))

    def require(self, parts: Parts, instruments: Used) -> None:
        several, T = tuple(instruments), len(self.tasks)
        known = {each.label: each for each in several}
        for part in parts.parts:
            words = part.program.split()
            fine = len(words) == T and all(each.isdecimal() for each in words)
            require(fine, "program", f"{T} numbers of clusters, such as '0 0 1'", part.program, "see the journal")
            structure(self.process(from_text(part.program)), several).with_parameters(np.array(part.gp))
            for label, own in part.instruments.items():
                require(label in known, "instruments", f"labels among {sorted(known)}", label, "see the design")
                known[label].with_parameters(np.array(own))

    def believe(self, parts: Parts, data: Data, instruments: Used) -> TaskBelief:
        several = (*instruments, *data.instruments)
        known = {each.label: each for each in several}
        clusterings, used, models = [], [], []
        for part in parts.parts:
            own = {label: with_own(each, part.instruments.get(label)) for label, each in known.items()}
            clustering = from_text(part.program)
            process = structure(self.process(clustering), several).with_parameters(np.array(part.gp))
            seen = process.fitting(data.with_instruments({each: own[each.label] for each in data.instruments}))
            models.append((process.mean, process.kernel, seen))
            clusterings.append(clustering)
            used.append(own)
        weighed = parts.weigh(models, self.method)
        kept = weighed.kept
        return TaskBelief(
            weighed.posteriors, weighed.weights, [used[s] for s in kept], [clusterings[s] for s in kept], self.tasks,
            clusterings[0],
        )  # fmt: skip
