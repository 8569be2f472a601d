"""Published experiments, run again: a folder for each source, which use gainful's public names and `lab` only."""

from __future__ import annotations

import difflib

import gainful as gf
from gainful.lab import Experiment
from gainful.lab import find as find_at
from gainful.papers.fletcher2022 import buoys, costs, dimensions, realestate
from gainful.papers.gardner2018 import (
    additive_completion,
    additive_none,
    additive_optimise,
    additive_recovery,
    agreement,
    curves,
    notch,
    notch_limit,
    or_channel,
    real,
    scale_mvm,
    scale_regression,
)
from gainful.papers.houlsby2011 import approximation, artificial, benchmarks, preference
from gainful.papers.lin2022 import airline, grid, sbc, series

__all__ = ["experiments", "find"]

_MODULES = (
    *(approximation, artificial, benchmarks, preference),
    *(buoys, costs, dimensions, realestate),
    *(airline, grid, sbc, series),
    *(agreement, curves, notch, notch_limit, or_channel, real),
    *(additive_completion, additive_none, additive_optimise, additive_recovery),
    *(scale_mvm, scale_regression),
)


def experiments() -> dict[str, Experiment]:
    """Every published experiment, by name, in alphabetical order."""
    found = [module.EXPERIMENT for module in _MODULES]
    return {experiment.name: experiment for experiment in sorted(found, key=lambda each: each.name)}


def find(name: str) -> Experiment:
    """The experiment of that name, or at that address ("module:ATTRIBUTE", also in the current folder)."""
    if ":" in name:
        return find_at(name)
    known = experiments()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {close[0]}?" if close else "your own are given as module:ATTRIBUTE"
    raise gf.InvalidInput("name", f"one of {', '.join(known)}", name, remedy)
