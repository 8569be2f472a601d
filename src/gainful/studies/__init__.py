"""A function, or a command, to be minimised over a space: in five lines of Python, or by a small file and one command.

minimise(function, space, evaluations)      asks, evaluates and tells until all evaluations are made
read_study("study.toml")                    the space, the instruments, the goal and the budget that a file states
Run(study, folder)                          the evaluations of a study, kept in a folder and gone on with from there
"""

from gainful.studies.minimising import minimise
from gainful.studies.minimum import Minimum
from gainful.studies.model import default_model
from gainful.studies.outcome import Outcome
from gainful.studies.run import Run
from gainful.studies.study import Measured, Study, read_study

__all__ = ["Measured", "Minimum", "Outcome", "Run", "Study", "default_model", "minimise", "read_study"]
