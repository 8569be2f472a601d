"""Running experiments: repetitions, processes, a cluster, statistics, reports; `comparison` makes one of a table."""

from gainful.lab.cluster import Cluster
from gainful.lab.compare import comparison, outcome
from gainful.lab.experiment import Claim, Experiment, Row, Setting
from gainful.lab.files import FILES, DataFile, data_file
from gainful.lab.processes import Processes
from gainful.lab.repetition import Failed, Finished
from gainful.lab.report import Heading, finished_runs, write_report
from gainful.lab.runner import Summary, run
from gainful.lab.standings import Standing
from gainful.lab.workers import Here, Watcher, Workers

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
    "finished_runs",
    "outcome",
    "run",
    "write_report",
]
