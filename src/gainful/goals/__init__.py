"""belief × queries → scores: what each possible measurement is worth."""

from gainful.goals.goal import Goal, Learn, Normalised, PerCost
from gainful.goals.information import information
from gainful.goals.joint import Estimate, information_estimate, joint_estimate, joint_information

__all__ = [
    "Estimate",
    "Goal",
    "Learn",
    "Normalised",
    "PerCost",
    "information",
    "information_estimate",
    "joint_estimate",
    "joint_information",
]
