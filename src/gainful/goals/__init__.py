"""belief × queries → scores: what each possible measurement is worth."""

from gainful.goals.information import information

__all__ = ["information"]
