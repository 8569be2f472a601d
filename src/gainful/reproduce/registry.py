"""Experiments by name: the files of this package that define EXPERIMENT, and "module:ATTRIBUTE" for anybody's own.

The name of an experiment of this package is the name of its file with dashes: mixed-costs is `mixed_costs.py`.
"""

from __future__ import annotations

import difflib
import os
import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gainful.errors import InvalidInput
from gainful.reproduce.experiment import Experiment, Row, Setting

__all__ = ["Run", "address_of", "experiments", "find", "locate", "resolve"]

Run = Callable[[Setting, int], list[Row]]

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
    address = resolve(name)
    found = _at(address)
    if not isinstance(found, Experiment):
        got = f"{type(found).__name__} at {address}"
        raise InvalidInput("name", "the address of an Experiment", got, "write it as module:ATTRIBUTE")
    return found


def locate(address: str) -> Experiment | Run:
    """What `address_of` gave the address of, in another process."""
    found = _at(resolve(address))
    return found if callable(found) else find(address)


def _at(address: str) -> Any:
    module_name, _, attribute = address.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, but something that it needs is not
        remedy = "run from the folder of that module, or put its folder on PYTHONPATH"
        raise InvalidInput("name", "a module that can be imported", module_name, remedy) from None
    return getattr(module, attribute, None)


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
    """Where another process finds the experiment: the module of its `run`, and the name that it has there.

    An experiment that was made at run time has no name. All that other processes need is its `run`, which has one.
    """
    module_name = getattr(experiment.run, "__module__", None) or "?"
    module = sys.modules.get(module_name)
    known = vars(module).items() if module else ()
    names = [name for wanted in (experiment, experiment.run) for name, value in known if value is wanted]
    if module_name == "__main__" or not names:
        raise InvalidInput(
            "experiment",
            "one that other processes can import",
            f"{experiment.name!r}, whose run is in {module_name}",
            "make its run a function of a module, give 'module:ATTRIBUTE', or use workers=Here()",
        )
    return f"{module_name}:{names[0]}"
