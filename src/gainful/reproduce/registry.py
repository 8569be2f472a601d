"""Experiments by name: the files of this package that define EXPERIMENT, and "module:ATTRIBUTE" for anybody's own.

The name of an experiment of this package is the name of its file with dashes: mixed-costs is `mixed_costs.py`.
"""

from __future__ import annotations

import difflib
import os
import pkgutil
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from gainful.errors import InvalidInput
from gainful.reproduce.experiment import Experiment

__all__ = ["address_of", "experiments", "find", "resolve"]

_PACKAGE = "gainful.reproduce"
_ATTRIBUTE = "EXPERIMENT"


def experiments() -> dict[str, Experiment]:
    """Every experiment of this package, by name, in alphabetical order."""
    folder = str(Path(__file__).parent)
    modules = [import_module(f"{_PACKAGE}.{module.name}") for module in pkgutil.iter_modules([folder])]
    found = [getattr(module, _ATTRIBUTE) for module in modules if hasattr(module, _ATTRIBUTE)]
    return {experiment.name: experiment for experiment in sorted(found, key=lambda each: each.name)}


def find(name: str) -> Experiment:
    """The experiment of that name, or at that address ("module:ATTRIBUTE", also in the current folder)."""
    module_name, _, attribute = resolve(name).partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, but something that it needs is not
        remedy = "run from the folder of that module, or put its folder on PYTHONPATH"
        raise InvalidInput("name", "a module that can be imported", module_name, remedy) from None
    experiment = getattr(module, attribute, None)
    if not isinstance(experiment, Experiment):
        got = f"{type(experiment).__name__} at {module_name}:{attribute}"
        raise InvalidInput("name", "the address of an Experiment", got, "write it as module:ATTRIBUTE")
    return experiment


def resolve(name: str) -> str:
    """The address "module:ATTRIBUTE" behind a name; an address is its own."""
    if ":" in name:
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.append(os.getcwd())  # as `python -m` has it; the command's own script does not
        return name
    module = f"{_PACKAGE}.{name.replace('-', '_')}"
    if "." not in name and find_spec(module) is not None and hasattr(import_module(module), _ATTRIBUTE):
        return f"{module}:{_ATTRIBUTE}"
    known = list(experiments())
    close = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {close[0]}?" if close else "your own are given as module:ATTRIBUTE"
    raise InvalidInput("name", f"one of {', '.join(known) or '(none yet)'}", name, remedy)


def address_of(experiment: Experiment) -> str:
    """Where another process finds the experiment: the module of its `run`, and the name it has there."""
    module_name = getattr(experiment.run, "__module__", None) or "?"
    module = sys.modules.get(module_name)
    names = [name for name, value in vars(module).items() if value is experiment] if module else []
    if module_name == "__main__" or not names:
        raise InvalidInput(
            "experiment",
            "one that other processes can import",
            f"{experiment.name!r}, whose run is in {module_name}",
            "keep it in a module next to its run function, give 'module:ATTRIBUTE', or use workers=Here()",
        )
    return f"{module_name}:{names[0]}"
