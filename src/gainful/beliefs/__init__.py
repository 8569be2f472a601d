"""Several posteriors at once: rival models, one model with its hyperparameters integrated out, kernel programs,
sums of functions of some dimensions, clusters of tasks."""

from gainful.beliefs.integrated import Integrated
from gainful.beliefs.models import Models
from gainful.beliefs.partitions import Partitions
from gainful.beliefs.parts import Part, Parts
from gainful.beliefs.programs import Grammar, KernelPrograms, Moves, Program, ProgramGrid
from gainful.beliefs.tasks import TaskClusters

__all__ = [
    "Grammar",
    "Integrated",
    "KernelPrograms",
    "Models",
    "Moves",
    "Part",
    "Partitions",
    "Parts",
    "Program",
    "ProgramGrid",
    "TaskClusters",
]
