"""Kernel programs: covariances as expressions of a small language, with a prior over them (Lin 2022)."""

from gainful.beliefs.programs.belief import ProgramBelief
from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.kernel_programs import KernelPrograms, ProgramGrid, Progress
from gainful.beliefs.programs.language import Program
from gainful.beliefs.programs.smc import Moves

__all__ = ["Grammar", "KernelPrograms", "Moves", "Program", "ProgramBelief", "ProgramGrid", "Progress"]
