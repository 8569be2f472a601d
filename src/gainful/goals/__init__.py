"""belief × queries → scores: what each possible measurement is worth."""

from gainful.goals.goal import Goal, Learn, Normalised, PerCost
from gainful.goals.information import information

__all__ = ["Goal", "Learn", "Normalised", "PerCost", "information"]
