"""Kernel programs: covariances as expressions of a small language, with a prior over them (Lin 2022)."""

from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.language import Program

__all__ = ["Grammar", "Program"]
