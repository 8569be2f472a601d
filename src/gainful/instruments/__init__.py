"""Ways of measuring: one file each, all acting on a few linear functionals of one unknown function."""

from gainful.instruments.answers import Answers, DiscreteAnswers, IntervalAnswers, NormalAnswers
from gainful.instruments.base import Instrument
from gainful.instruments.binary import Binary
from gainful.instruments.detection import Detection
from gainful.instruments.interval import Interval
from gainful.instruments.ordinal import Ordinal
from gainful.instruments.point import Point
from gainful.instruments.preference import Preference

__all__ = [
    "Answers",
    "Binary",
    "Detection",
    "DiscreteAnswers",
    "Instrument",
    "Interval",
    "IntervalAnswers",
    "NormalAnswers",
    "Ordinal",
    "Point",
    "Preference",
]
