"""The hearing test: what ears look like, which tone to play next, and when to stop."""

from gainful.hearing.audiometry import HearingTest
from gainful.hearing.belief import Heard, Threshold, ThresholdBelief, Tone, believe
from gainful.hearing.expectations import FREQUENCIES, LEVELS, Listeners, expected_listeners
from gainful.hearing.library import EarLibrary
from gainful.hearing.listeners import Listener
from gainful.hearing.picture import plot_audiogram
from gainful.hearing.population import Population, fit_population
from gainful.hearing.staircase import Staircase, hughson_westlake

__all__ = [
    "FREQUENCIES", "LEVELS", "EarLibrary", "Heard", "HearingTest", "Listener", "Listeners", "Population", "Staircase",
    "Threshold", "ThresholdBelief", "Tone", "believe", "expected_listeners", "fit_population", "hughson_westlake",
    "plot_audiogram",
]  # fmt: skip
