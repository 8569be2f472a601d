"""The GP of tasks whose clusters λ are known, over a space in which a category says which task it is.

    k((x, i), (z, j)) = shared(x, z) [λ_i = λ_j] + own(x, z) [i = j]

All kernels are of the inputs, which are all dimensions but that one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gainful.beliefs.partitions.partition import Partition
from gainful.beliefs.tasks.belief import as_clusters
from gainful.checks import require
from gainful.coordinates import Coordinates
from gainful.kernels import Exchangeable, Kernel, SameCluster, Stationary
from gainful.kernels.mixed import over_all
from gainful.means import Mean, UnknownMean, Zero
from gainful.priors import Prior
from gainful.process import Process
from gainful.space import Places, coordinates_of, natural_in

__all__ = ["clustered", "task_of", "tasks_of"]


def task_of(space: Places, name: str | None) -> str:
    """The name of the category whose levels are the tasks: the one that is named, or the only one."""
    axes = coordinates_of(space).axes
    always = [axis.name for axis in axes if axis.kind == "category" and not axis.when]
    remedy = "such as gf.Categorical('task', ['a', 'b', 'c']), not ordered, without a condition"
    if name is None:
        words = "a space with one category, whose levels are the tasks"
        require(len(always) == 1, "space", words, f"categories {always}", remedy if not always else "name it: task=")
    else:
        require(name in always, "task", f"the name of a category, one of {always}", name, remedy)
    task = always[0] if name is None else name
    inputs = [column.dimension for column in coordinates_of(space).columns if column.dimension != task]
    require(bool(inputs), "space", "an input beside the task", space.names, "such as gf.Real('time', 0, 1)")
    return task


def tasks_of(space: Places, task: str) -> tuple[str, ...]:
    """The levels of that category, in words."""
    at = next(i for i, axis in enumerate(coordinates_of(space).axes) if axis.name == task)
    place, out = np.array(space.low, dtype=float), []
    for code in range(coordinates_of(space).axes[at].levels):
        place[at] = code
        out.append(str(natural_in(space, place)[task]))
    return tuple(out)


def clustered(
    space: Places, task: str, shared: Kernel, own: Kernel, mean: Mean | None, priors: Mapping[str, Prior],
    clustering: Partition,
) -> Process:  # fmt: skip
    """The GP in which tasks of one cluster share a function, and each has one of its own beside it."""
    seen = coordinates_of(space)
    inputs = tuple(dict.fromkeys(column.dimension for column in seen.columns if column.dimension != task))
    others = Coordinates(tuple(axis for axis in seen.axes if axis.name != task))
    among = as_clusters(clustering)

    def over(kernel: Kernel) -> Kernel:
        return (over_all(kernel, others) if isinstance(kernel, Stationary) else kernel).on(inputs)

    kernel = over(shared) * SameCluster(among).on(task) + over(own) * Exchangeable(len(among), 0.0).on(task)
    stated = bool(np.all(kernel.stated))
    return Process(kernel, (Zero() if stated else UnknownMean()) if mean is None else mean, priors, space)
