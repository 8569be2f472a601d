"""Running experiments: repetitions, processes, a cluster, statistics, reports; `comparison` makes one of a table.

`lab.statistics` has numbers with their 95 % intervals, `lab.table` picks and pairs rows.
"""

from gainful.lab.cluster import Cluster
from gainful.lab.compare import comparison, outcome
from gainful.lab.comparison_statistics import Standing
from gainful.lab.curves import Style, draw_curves, learning_curve
from gainful.lab.experiment import Claim, Experiment, Row, Setting
from gainful.lab.files import FILES, DataFile, data_file, missing_files
from gainful.lab.process_pool import Died, ProcessPool, Sent, cores
from gainful.lab.processes import Processes
from gainful.lab.registry import address_of, find
from gainful.lab.repetition import Failed, Finished
from gainful.lab.report import Heading, finished_runs, write_report
from gainful.lab.runner import Summary, run
from gainful.lab.synthetic import World, divergence
from gainful.lab.workers import Here, Watcher, Workers

__all__ = [
    "FILES",
    "Claim",
    "Cluster",
    "DataFile",
    "Died",
    "Experiment",
    "Failed",
    "Finished",
    "Heading",
    "Here",
    "ProcessPool",
    "Processes",
    "Row",
    "Sent",
    "Setting",
    "Standing",
    "Style",
    "Summary",
    "Watcher",
    "Workers",
    "World",
    "address_of",
    "comparison",
    "cores",
    "data_file",
    "divergence",
    "draw_curves",
    "find",
    "finished_runs",
    "learning_curve",
    "missing_files",
    "outcome",
    "run",
    "write_report",
]
