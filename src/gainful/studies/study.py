"""A study: the space, the instruments, the goal and the budget that a small TOML file states.

    [study]
    goal = "minimise"
    evaluations = 40

    [space]
    temperature = { low = 20, high = 90, unit = "°C" }
    catalyst = { levels = ["Pd", "Ni", "Cu"] }

    [instruments.plant]
    command = ["./simulate", "--t={temperature}", "--metal={catalyst}"]

The form is the same for whoever reads it. What a reader needs beyond it (a command to run, an end to go to) it asks for
itself: `Study.require_end`, `Study.require_command`. Whatever is wrong is said with its key and line.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gainful.beliefs import Partitions
from gainful.beliefs.learner import Learner
from gainful.campaign import TrustRegion
from gainful.campaign.design import Design
from gainful.campaign.goal import SIGNS
from gainful.checks import is_number
from gainful.gp import GP
from gainful.instruments import Binary, Count, Instrument, Interval, Ordinal, Point, StudentT
from gainful.space import Places, Space
from gainful.studies.command import Command, has_loose_brace, placeholders
from gainful.studies.model import default_goal, default_model
from gainful.studies.outcome import last_of
from gainful.studies.spaces import read_space
from gainful.studies.tables import Table, read_table

__all__ = ["TEMPLATE", "Measured", "Study", "read_study"]

# The instruments by kind, and what may be said of each.
_MODELS = ("auto", "gp", "sum")
_KINDS: dict[str, tuple[type[Instrument], tuple[str, ...]]] = {
    "point": (Point, ("noise",)),
    "robust": (StudentT, ("noise", "df")),
    "interval": (Interval, ("noise", "width")),
    "ordinal": (Ordinal, ("thresholds", "noise")),
    "binary": (Binary, ("threshold", "noise")),
    "count": (Count, ()),
}
_HOW = ("command", "function", "answer", "timeout")
_NO_MATTER = ("title", "evaluations")  # of [study]: what may change while a run goes on
_INTERPRETER = re.compile(r"(python|pypy|bash|sh|zsh|Rscript|julia|perl|ruby|node|octave)[0-9.]*(\.exe)?")
_SCRIPT = re.compile(r"[^-{}][^{}]*\.[A-Za-z]{1,3}")
_CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Measured:
    """An instrument, and the command that uses it; None where people do."""

    instrument: Instrument
    command: Command | None
    table: Table


@dataclass(frozen=True, eq=False)
class Study:
    """What a file states; see the module. `matters` is what has to stay as it is while a run goes on."""

    path: Path
    title: str
    goal: str
    evaluations: int | None
    seed: int
    initial: int | None
    model: str
    trust: bool
    space: Places
    instruments: tuple[Measured, ...]
    table: Table

    @property
    def matters(self) -> dict[str, Any]:
        """The file's values by dotted keys, without those that may change."""
        kept = {name: value for name, value in self.table.values.items() if name not in ("study", "instruments")}
        head = {name: value for name, value in self.table.values["study"].items() if name not in _NO_MATTER}
        tools = {
            name: {key: value for key, value in each.items() if key != "timeout"}
            for name, each in self.table.values["instruments"].items()
        }
        flat = _flat({"study": {"seed": 0, **head}, **kept, "instruments": tools})
        return dict(json.loads(json.dumps(flat, default=str)))

    def line(self, dotted: str) -> int:
        """The line of a dotted key, or of what is around it."""
        return self.table.line(*dotted.split("."))

    def design(self) -> Design:
        """The campaign that is meant; what it refuses is said with a line of the file."""
        tools = tuple(each.instrument for each in self.instruments)
        certain = all(each.is_certain for each in tools)
        with self.table.table("study", "").making():
            model: GP | Learner = GP(space=self.space)
            if self.model == "sum":
                model = Partitions(self.space, parameters="best")
            elif self.model == "auto" and self.goal in SIGNS:
                model = default_model(self.space)
            goal = default_goal(model, SIGNS[self.goal]) if self.goal in SIGNS else self.goal
            return Design(
                self.space, tools, model, goal,  # type: ignore[arg-type]
                seed=self.seed, repeat=not certain, initial=self.initial,
                trust=TrustRegion() if self.trust else None,
            )  # fmt: skip

    def require_end(self) -> int:
        """1 where the goal is to maximise, −1 to minimise; refused where it is neither."""
        if self.goal not in SIGNS:
            expected = "minimise or maximise"
            self.table.refuse(["study", "goal"], expected, self.goal, "an optimum has no other ends")
        return SIGNS[self.goal]

    def require_command(self) -> Measured:
        """The one instrument, which gives numbers by a command or a function; refused where there is another."""
        if len(self.instruments) != 1:
            names = [each.instrument.label for each in self.instruments]
            self.table.refuse(["instruments"], "one instrument to optimise with", names, "keep the one that counts")
        (only,) = self.instruments
        if only.instrument.answers != "real":
            only.table.refuse(
                ["kind"], "point or robust, which give numbers", only.table.values.get("kind"), "change it"
            )
        if only.command is None:
            remedy = 'for instance command = ["./simulate", "--t={temperature}"], or function = "module:name"'
            only.table.refuse([], "a command or a function to evaluate", "neither", remedy)
        return only


def read_study(path: str | Path) -> Study:
    """The study that a file states; InvalidInput names the key, its line and what to do."""
    path = Path(path)
    whole = read_table(path)
    head_words = ("title", "goal", "evaluations", "seed", "initial", "model", "trust_region")
    hints = dict.fromkeys(head_words, "put it under [study]")
    whole.only(("study", "space", "limits", "instruments"), hints)
    head = whole.table("study", 'for instance [study], then goal = "minimise" and evaluations = 40')
    head.only(head_words)
    space = read_space(whole)
    tools = whole.table("instruments", "for instance [instruments.plant], then how it is used")
    if not tools.values:
        tools.refuse([], "at least one instrument", "none", "for instance [instruments.plant]")
    named = [
        _instrument(name, each, space, path.resolve().parent)
        for name, each in tools.tables("for instance [instruments.plant], then how it is used")
    ]
    return Study(
        path,
        head.text("title", "text", "what the study is about", path.stem),
        head.text("goal", "minimise, maximise, or another goal of a campaign", 'goal = "minimise"'),
        head.whole("evaluations", 1, "how many to make in all", None),
        head.whole("seed", 0, "0 will do", 0),
        head.whole("initial", 0, "how many are spread over the space at first", None),
        head.get("model", lambda v: v in _MODELS, f"one of {', '.join(_MODELS)}", "leave it out for auto", "auto"),
        head.get("trust_region", lambda v: isinstance(v, bool), "true or false", "leave it out for false", False),
        space, tuple(named), whole,
    )  # fmt: skip


def _instrument(name: str, table: Table, space: Places, folder: Path) -> Measured:
    kinds = list(_KINDS)
    kind = table.get("kind", lambda v: v in kinds, f"one of {', '.join(kinds)}", "leave it out for point", "point")
    made, own = _KINDS[kind]
    table.only(("kind", "cost", "unit", *own, *_HOW))
    told = {key: value for key, value in table.values.items() if key in ("cost", "unit", *own)}
    with table.making():
        instrument = made(name=name, **told)
    return Measured(instrument, _command(table, space, folder), table)


def _command(table: Table, space: Places, folder: Path) -> Command | None:
    remedy = "seconds, after which an evaluation is ended"
    timeout = table.get("timeout", lambda v: is_number(v) and v > 0, "a positive number of seconds", remedy, None)
    if "command" not in table.values and "function" not in table.values:
        for key in ("answer", "timeout"):
            if key in table.values:
                table.refuse([key], "a command that it is about", "none", "add command = [...]")
        return None
    if "command" in table.values and "function" in table.values:
        table.refuse(["function"], "a command or a function", "both", "take one of them out")
    if "function" in table.values:
        if "answer" in table.values:
            remedy = "take it out; the value is what the function returns"
            table.refuse(["answer"], "a command whose output has a key", "a function", remedy)
        return Command(_function(table, folder), folder, "value", timeout, function=True)
    answer = table.text("answer", "the key of the value in a line of JSON", 'answer = "loss"', None)
    return Command(_words(table, space, folder), folder, answer, timeout)


def _words(table: Table, space: Places, folder: Path) -> tuple[tuple[str, ...], ...]:
    """The words of a command, checked: the program is there, and its placeholders are dimensions."""
    example = 'for instance command = ["./simulate", "--t={temperature}"], without a shell'
    given = table.get("command", lambda v: isinstance(v, list) and bool(v), "a list of words", example)
    groups: list[tuple[str, ...]] = []
    for i, each in enumerate(given):
        group = each if isinstance(each, list) and each else [each]
        if not all(isinstance(word, str) for word in group):
            table.refuse(["command", i], "text, or a list of texts that belong together", each, "put it in quotes")
        groups.append(tuple(group))
    used = [name for group in groups for name in placeholders(group)]
    for i, words in enumerate(groups):
        for name in placeholders(words):
            if name not in space.names:
                expected = f"a dimension in braces, one of {', '.join(space.names)}"
                table.refuse(["command", i], expected, f"{{{name}}}", "for braces themselves write {{ and }}")
        for word in words:
            if has_loose_brace(word):
                table.refuse(["command", i], "braces in pairs", word, "for braces themselves write {{ and }}")
    whole = getattr(space, "whole", space)
    varying = [d.name for d in whole.single if d.low < d.high] if isinstance(whole, Space) else list(space.names)
    left_out = [name for name in varying if name not in used]
    if used and left_out:
        remedy = "or use no placeholder at all: the place comes as a line of JSON on standard input too"
        table.refuse(["command"], f"a placeholder for each dimension, {{{left_out[0]}}} too", given, remedy)
    program = groups[0][0]
    if not placeholders([program]) and not _can_be_run(program, folder):
        remedy = f"give a program that can be run; a path such as ./simulate begins in {folder}"
        table.refuse(["command", 0], "a program", program, remedy)
    script = groups[1][0] if len(groups) > 1 else ""
    if _INTERPRETER.fullmatch(Path(program).name) and _SCRIPT.fullmatch(script) and not (folder / script).is_file():
        table.refuse(["command", 1], "a script that is there", script, f"it is looked for in {folder}")
    return tuple(groups)


def _can_be_run(program: str, folder: Path) -> bool:
    return shutil.which(str(folder / program) if "/" in program else program) is not None


def _function(table: Table, folder: Path) -> tuple[tuple[str, ...], ...]:
    """The words that call a Python function in a process of its own; refused where it cannot be imported."""
    named = table.text("function", 'a function as "module:name"', 'for instance "model:loss"')
    words = (sys.executable, str(_CHILD), str(folder), named)
    if ":" not in named or "" in named.split(":", 1):
        table.refuse(["function"], 'a function as "module:name"', named, 'for instance "model:loss"')
    tried = subprocess.run([*words, "--check"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if tried.returncode != 0:
        said = last_of(tried.stderr, 300).splitlines() or ["nothing was said"]
        remedy = f"modules are looked for in {folder} first"
        table.refuse(["function"], "a function that can be imported", f"{named} ({said[-1]})", remedy)
    return tuple((word.replace("{", "{{").replace("}", "}}"),) for word in words)


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in values.items():
        dotted = f"{path}.{key}" if path else key
        out |= _flat(value, dotted) if isinstance(value, dict) and value else {dotted: value}
    return out


TEMPLATE = """\
# A study for `gainful optimise`. Lines that begin with # are left out; take the # away from what you need.

[study]
title = "Waste of the reactor"
goal = "minimise"            # or "maximise"
evaluations = 30             # in all; raise it and run again to go on
# seed = 0                   # another one chooses other places
# initial = 6                # how many are spread over the space before the search begins
# model = "gp"               # one function of all dimensions; left out, eight numbers or more are taken as a sum
# trust_region = true        # hundreds of evaluations in many dimensions: looks near the best place so far

[space]                      # one line for each dimension
temperature = { low = 20, high = 90, unit = "°C" }
concentration = { low = 1e-6, high = 1e-2, log = true, unit = "mol/L" }
stages = { kind = "integer", low = 1, high = 8 }
catalyst = { levels = ["Pd", "Ni", "Cu"] }
# hydrogen = { low = 1, high = 5, when = { catalyst = ["Pd", "Ni"] } }   # there only where this holds
# pressure = { value = 1.5, unit = "bar" }                               # the same everywhere
# solvent = { parts = ["water", "ethanol"], total = 1 }                  # two numbers that sum to one

# [[limits]]                 # least <= weighted sum <= most
# weights = { temperature = 1, stages = 5 }
# most = 110

[instruments.simulator]
command = [
    "python3", "simulate.py", "--temperature={temperature}", "--concentration={concentration}",
    "--stages={stages}", "--catalyst={catalyst}",
]
# function = "model:loss"    # instead of a command: loss(place) in model.py, place a dict
# answer = "loss"            # the value is in a line of JSON, {"loss": 0.25}; otherwise the last word printed
noise = 0                    # it gives the same value every time; leave it out to have the noise learned
timeout = 600                # seconds
"""
