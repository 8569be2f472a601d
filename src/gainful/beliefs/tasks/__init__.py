"""Which tasks are alike: beliefs over clusterings of them, by Gibbs sampling (Gardner 2018, sec. 6.1)."""

from gainful.beliefs.tasks.belief import TaskBelief
from gainful.beliefs.tasks.task_clusters import TaskClusters

__all__ = ["TaskBelief", "TaskClusters"]
