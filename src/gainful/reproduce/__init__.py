"""Published experiments, run again: each is one file with its source, its figures, one repetition and its claims.

`comparison` makes an experiment of a table of one's own.
"""

from gainful.reproduce.cluster import Cluster
from gainful.reproduce.compare import comparison, outcome
from gainful.reproduce.experiment import Claim, Experiment, Row, Setting
from gainful.reproduce.files import FILES, DataFile, data_file
from gainful.reproduce.processes import Processes
from gainful.reproduce.registry import experiments, find
from gainful.reproduce.repetition import Failed, Finished
from gainful.reproduce.report import Heading, finished_runs, write_report
from gainful.reproduce.runner import Summary, run
from gainful.reproduce.standings import Standing
from gainful.reproduce.workers import Here, Watcher, Workers

__all__ = [
    "FILES",
    "Claim",
    "Cluster",
    "DataFile",
    "Experiment",
    "Failed",
    "Finished",
    "Heading",
    "Here",
    "Processes",
    "Row",
    "Setting",
    "Standing",
    "Summary",
    "Watcher",
    "Workers",
    "comparison",
    "data_file",
    "experiments",
    "find",
    "finished_runs",
    "outcome",
    "run",
    "write_report",
]
