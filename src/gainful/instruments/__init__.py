"""Ways of measuring: one file each, all acting on a few linear functionals of one unknown function."""

from gainful.instruments.answers import (
    Answers,
    DiscreteAnswers,
    IntervalAnswers,
    MeasuredAnswers,
    NormalAnswers,
    NumericAnswers,
)
from gainful.instruments.base import Instrument, Outcomes
from gainful.instruments.binary import Binary
from gainful.instruments.channel import Channel
from gainful.instruments.classes import Classes
from gainful.instruments.count import Binomial, Count
from gainful.instruments.detection import Detection
from gainful.instruments.interval import Interval
from gainful.instruments.likelihood import Likelihood
from gainful.instruments.ordinal import Ordinal
from gainful.instruments.point import Point
from gainful.instruments.pointwitherror import PointWithError
from gainful.instruments.preference import Preference
from gainful.instruments.studentt import StudentT

__all__ = [
    "Answers",
    "Binary",
    "Binomial",
    "Channel",
    "Classes",
    "Count",
    "Detection",
    "DiscreteAnswers",
    "Instrument",
    "Interval",
    "IntervalAnswers",
    "Likelihood",
    "MeasuredAnswers",
    "NormalAnswers",
    "NumericAnswers",
    "Ordinal",
    "Outcomes",
    "Point",
    "PointWithError",
    "Preference",
    "StudentT",
]
