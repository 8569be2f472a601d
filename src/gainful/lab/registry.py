"""Finds experiments by their address "module:ATTRIBUTE", which other processes can import."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from gainful.errors import InvalidInput
from gainful.lab.experiment import Experiment, Row, Setting

__all__ = ["Run", "address_of", "find", "locate"]

Run = Callable[[Setting, int], list[Row]]


def find(address: str) -> Experiment:
    """The experiment at that address, "module:ATTRIBUTE", also in the current folder."""
    found = _at(_importable(address))
    if not isinstance(found, Experiment):
        got = f"{type(found).__name__} at {address}"
        raise InvalidInput("experiment", "the address of an Experiment", got, "write it as module:ATTRIBUTE")
    return found


def locate(address: str) -> Experiment | Run:
    """What `address_of` gave the address of, in another process."""
    found = _at(_importable(address))
    return found if callable(found) else find(address)


def _at(address: str) -> Any:
    module_name, _, attribute = address.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, but something that it needs is not
        remedy = "run from the folder of that module, or put its folder on PYTHONPATH"
        raise InvalidInput("experiment", "a module that can be imported", module_name, remedy) from None
    return getattr(module, attribute, None)


def _importable(address: str) -> str:
    """The address, once modules of the current folder can be imported too."""
    if ":" not in address:
        raise InvalidInput("experiment", "an Experiment, or its address module:ATTRIBUTE", address, "name its module")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # as `python -m` has it; the command's own script does not
    return address


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
