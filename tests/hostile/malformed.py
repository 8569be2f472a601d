"""Every public call with one argument replaced by something that it cannot be, and what became of it.

    python tests/hostile/malformed.py            the table, and every call that is not as it should be
    python tests/hostile/malformed.py --accepted the values that were taken, to be judged by eye

A call is `clear` when it is refused by an exception of gainful's that names the argument and says what to do, `right`
when the value may be taken for what it is (`FINE` says which may), `misread` when it was taken for what it is not,
`unclear` when the refusal does not name the argument, `raw` when another exception came, `endless` after five seconds.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import datetime
import os
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import gainful as gf
from gainful import acquisition
from gainful.acquisition.published.ivm import IVM
from gainful.acquisition.published.svm import ActiveSVM
from gainful.selection import Option, choose

SECONDS = 5.0
VERDICTS = ("clear", "right", "misread", "unclear", "raw", "endless")

# ------------------------------------------------------------------------------------------------- what is malformed


def _recursive() -> list[Any]:
    out: list[Any] = [1.0]
    out.append(out)
    return out


def _masked(hidden: bool) -> Any:
    return np.ma.array([[0.1, 0.2], [9999.0, 0.4], [0.5, 0.6]], mask=[[0, 0], [hidden, 0], [0, 0]])


_TABLE = {"T": [0.1, 0.3, 0.5], "pH": [0.2, 0.4, 0.6]}

VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "a",
    "empty text": lambda: "",
    "text of a number": lambda: "3.5",
    "bytes": lambda: b"3",
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -np.inf,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1.5": lambda: 1.5,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**30": lambda: 10**30,
    "complex": lambda: 1j,
    "True": lambda: True,
    "np.bool_": lambda: np.bool_(False),
    "int64(3)": lambda: np.int64(3),
    "Decimal": lambda: Decimal("1.5"),
    "timedelta64": lambda: np.timedelta64(3, "s"),
    "datetime": lambda: datetime.datetime(2020, 1, 1),
    "masked": lambda: np.ma.masked,
    "0-d array": lambda: np.array(1.5),
    "masked array": lambda: _masked(True),
    "nothing masked": lambda: _masked(False),
    "list of masked": lambda: list(_masked(True)),
    "NaN array": lambda: np.array([[0.1, np.nan], [0.3, 0.4], [0.5, 0.6]]),
    "inf array": lambda: np.array([0.1, np.inf, 0.3]),
    "complex array": lambda: np.array([[0.1 + 1j, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    "bool array": lambda: np.array([[True, False], [False, False], [True, True]]),
    "bools": lambda: [True, False, True],
    "some bools": lambda: [[True, 0.5], [0.5, False], [0.1, 0.2]],
    "texts": lambda: [["0.1", "0.2"], ["0.3", "0.4"], ["0.5", "0.6"]],
    "words": lambda: ["a", "b", "c"],
    "dates": lambda: np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]"),
    "table of dates": lambda: np.array([["2020-01-01"] * 2] * 3, dtype="M8[D]"),
    "Python dates": lambda: [datetime.date(2020, 1, day) for day in (1, 2, 3)],
    "times": lambda: np.array([1, 2, 3], dtype="m8[s]"),
    "objects": lambda: np.array([1.0, "a", None], dtype=object),
    "number objects": lambda: np.array([[0.1, 0.2], [Decimal("0.3"), Fraction(2, 5)], [0.5, 0.6]], dtype=object),
    "Nones": lambda: [0.1, None, 0.3],
    "ragged": lambda: [[0.1], [0.2, 0.3], [0.4]],
    "empty list": list,
    "empty table": lambda: np.zeros((0, 2)),
    "no pairs": lambda: np.zeros((0, 2, 2)),
    "no columns": lambda: np.zeros((3, 0)),
    "3-D": lambda: np.full((3, 3, 3), 0.5),
    "20-D": lambda: np.ones((1,) * 20),
    "one column": lambda: [[0.1], [0.2], [0.3]],
    "huge integers": lambda: [10**400, 1, 2],
    "structured": lambda: np.zeros(3, dtype=[("a", float), ("b", float)]),
    "set": lambda: {0.1, 0.2, 0.3},
    "dict": lambda: {"T": 0.1},
    "numbered dict": lambda: {0: 1.0},
    "generator": lambda: (x for x in (0.1, 0.2, 0.3)),
    "endless list": _recursive,
    "object": object,
    "class": lambda: gf.Point,
    "function": lambda: lambda *_: "nonsense",
    "kernel": gf.SE,
    "kernel class": lambda: gf.SE,
    "instruments": lambda: [gf.Point(), gf.Binary()],
    "gp": lambda: gf.GP(gf.SE()),
    "space": lambda: gf.Space(gf.Real("z", 0, 1)),
    "frame with text": lambda: pd.DataFrame({"T": [0.1, 0.3, 0.5], "pH": ["a", "b", "c"]}),
    "frame with NA": lambda: pd.DataFrame({"T": pd.array([1, None, 3], "Int64"), "pH": [0.2, 0.4, 0.6]}),
    "frame with dates": lambda: pd.DataFrame({"T": pd.to_datetime(["2020-01-01"] * 3), "pH": [0.2, 0.4, 0.6]}),
    "frame with bools": lambda: pd.DataFrame({"T": [True, False, True], "pH": [0.2, 0.4, 0.6]}),
    "frame turned": lambda: pd.DataFrame(_TABLE)[["pH", "T"]],
    "row turned": lambda: pd.DataFrame(_TABLE)[["pH", "T"]].iloc[0],
    "series of text": lambda: pd.Series(["1", "2", "3"]),
    "series with NA": lambda: pd.Series([1.0, None, 3.0], dtype="Float64"),
}

# ------------------------------------------------------------------------------------------ what may be taken for what

_NUMBERS = {"-1", "0", "1.5", "int64(3)"}  # whole ones beyond NumPy's are to be floats
_ARRAYS = {"Decimal", "0-d array", "10**30"}
FINE: dict[str, set[str]] = {
    "finite": _NUMBERS,
    "positive": {"1.5", "int64(3)"},
    "not negative": {"0", "1.5", "int64(3)"},
    "level": _NUMBERS | {"inf", "-inf"},  # of one's own measure
    "real parameter": _NUMBERS | _ARRAYS,
    "positive parameter": {"1.5", "10**30", "int64(3)", *_ARRAYS},
    "noise": {"0", "1.5", "10**30", "int64(3)", *_ARRAYS},
    "fraction": {"0"},
    "count": {"int64(3)"},
    "count or 0": {"0", "int64(3)"},
    "output": {"0", "int64(3)", "None", "text", "text of a number"},
    "seed": {"0", "int64(3)", "10**30", "10**400"},
    "rng": {"0", "int64(3)", "10**30", "10**400", "None", "huge integers"},
    "places": {"nothing masked", "number objects", "empty table"},
    "some places": {"nothing masked", "number objects"},
    "place": set(),
    "pairs": {"no pairs"},
    "some pairs": set(),
    "some sets": {"nothing masked", "number objects", "3-D"},
    "sets": {"no pairs", "nothing masked", "number objects", "3-D"},
    "numbers": set(),
    "name": {"text", "text of a number"},
    "name or none": {"text", "text of a number", "None"},
    "text": {"text", "empty text", "text of a number"},
    "flag": {"True"},
    "callable": {"function", "kernel"},  # what it gives is looked at when it is used
    "kernel": {"kernel"},
    "summand": {"kernel", "1.5", "int64(3)"},
    "gp": {"gp"},
    "none": {"None"},
    "nothing": set(),
    "several": {"empty list"},
    "options": {"empty list", "empty table", "no pairs"},
    "dims": {"0", "int64(3)", "text", "text of a number", "words", "series of text"},
    "observations": {"-1", "0", "empty list", "empty table", "no pairs"},
    "bounds": {"nothing masked", "number objects", "empty table"},
}


@dataclass(frozen=True)
class Case:
    """One valid call: what it is called, how to make it anew, and of what kind each of its arguments is."""

    name: str
    prepare: Callable[[], tuple[Callable[..., Any], dict[str, Any]]]
    kinds: dict[str, str]
    also: dict[str, set[str]]  # argument → further values that this call may take


@dataclass(frozen=True)
class Outcome:
    """What became of one malformed call."""

    case: str
    argument: str
    value: str
    verdict: str
    words: str


CASES: dict[str, Case] = {}


def case(name: str, function: Callable[..., Any], /, also: dict[str, set[str]] | None = None, **arguments: Any) -> None:
    """A call whose arguments are given as (kind, value); one value alone is kept as it is."""
    kinds = {key: value[0] for key, value in arguments.items() if type(value) is tuple}
    given = {key: value[1] if type(value) is tuple else value for key, value in arguments.items()}
    CASES[name] = Case(name, lambda: (function, dict(given)), kinds, also or {})


def anew(
    name: str, make: Callable[[], Callable[..., Any]], /, also: dict[str, set[str]] | None = None, **args: Any
) -> None:
    """The same of something with a state, which `make` makes for every call."""
    case(name, lambda: None, also, **args)
    old = CASES[name]
    CASES[name] = Case(name, lambda: (make(), old.prepare()[1]), old.kinds, old.also)


# ------------------------------------------------------------------------------------------------------- what is called

SPACE = gf.Space(gf.Real("T", 0, 1), gf.Real("pH", 0, 1))
X = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
PAIRS = np.array([[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.1]]])
LAB, LOOK, DUEL, GROUP = gf.Point(0.1, name="lab"), gf.Binary(name="look"), gf.Preference(), gf.Detection()
MODEL = gf.GP(gf.SE(0.3, 1.0), space=SPACE)
DATA = gf.Data().add(LAB, X, [0.1, 0.2, 0.3])
POSTERIOR = MODEL.condition(DATA)
JUDGED = MODEL.condition(gf.Data().add(LOOK, X, [True, False, True]))
BELIEF = gf.Belief([POSTERIOR, MODEL.condition(DATA.without(0))])
FITTED = gf.fit(MODEL, DATA, starts=1)
QUERY = gf.Query(LAB, [0.5, 0.5])


def log_prob(answer: Any, f: Any) -> Any:
    return -0.5 * (np.asarray(answer) - f) ** 2


def simulate(f: Any, rng: np.random.Generator) -> Any:
    return f + rng.standard_normal(np.shape(f))


def roughness(posterior: gf.Posterior) -> float:
    return 1.0


_FOLDER = tempfile.TemporaryDirectory()
atexit.register(_FOLDER.cleanup)


def _readings() -> str:
    """A file of numbers."""
    path = os.path.join(_FOLDER.name, "readings.npy")
    np.save(path, np.arange(12.0).reshape(3, 4))
    return path


def _values() -> None:
    for kernel in (gf.SE, gf.Matern, gf.RationalQuadratic, gf.Periodic):
        positive = {f: ("positive parameter", 1.0) for f in kernel.__dataclass_fields__ if f != "nu"}
        several = {f: {"one column", "number objects", "nothing masked"} for f in ("lengthscale", "period")}
        case(kernel.__name__, kernel, {**several, "variance": set(), "alpha": set()}, **positive)
    case("Matern nu", gf.Matern, {"nu": {"1.5"}}, nu=("nothing", 2.5))
    case("Constant", gf.Constant, variance=("positive parameter", 1.0))
    case("Linear", gf.Linear, variance=("positive parameter", 1.0))
    case("CentredLinear", gf.CentredLinear, variance=("positive parameter", 1.0))
    case("Exchangeable", gf.Exchangeable, levels=("count", 3), correlation=("fraction", 0.5))
    case("Leaning", gf.Leaning, levels=("count", 3), correlation=("fraction", 0.5))
    case("Leaning leanings", gf.Leaning, levels=3, leanings=("nothing", (1.0, 2.0, 3.0)), also={"leanings": {"0"}})
    case("Similarity", gf.Similarity, levels=("count", 3), rank=("count", 2))
    case("Similarity loadings", gf.Similarity, levels=3, loadings=("nothing", (1.0, 2.0, 3.0)),
         also={"loadings": {"0"}})  # fmt: skip
    case("Tasks", gf.Tasks, tasks=("count", 3), rank=("count", 2))
    case("Tasks numbers", gf.Tasks, tasks=3, loadings=("nothing", (1.0, 2.0, 3.0)), own=("positive parameter", 1.0),
         also={"loadings": {"0"}})  # fmt: skip
    case("SameCluster", gf.SameCluster, clusters=("nothing", (0, 0, 1)),
         also={"clusters": {"huge integers"}})  # fmt: skip
    case(
        "Coregionalised",
        gf.Coregionalised,
        {"outputs": {"int64(3)", "words", "series of text"}},
        outputs=("nothing", 2),
    )
    case("Coregionalised numbers", gf.Coregionalised, outputs=2, variance=("nothing", (1.0, 2.0)),
         correlation=("nothing", 0.5), alike=("nothing", (0, 1)),
         also={"variance": {"1.5", "int64(3)", "nothing masked", "number objects", *_ARRAYS},
               "correlation": {"0", "one column"}})  # fmt: skip
    case("OutputMeans", gf.OutputMeans, {"outputs": {"int64(3)", "words", "series of text"}}, outputs=("nothing", 2))
    case("OutputMeans values", gf.OutputMeans, outputs=2, values=("nothing", (1.0, 2.0)),
         also={"values": {"-1", "0", "1.5", "int64(3)", "nothing masked", "number objects", *_ARRAYS}})  # fmt: skip
    case("Warped", gf.Warped, base=("kernel", gf.SE()), coordinates=("nothing", SPACE.coordinates))
    case("ConstantMean", gf.ConstantMean, value=("real parameter", 1.0))
    case("LinearMean", gf.LinearMean, {"slope": {"one column", "number objects", "nothing masked"}},
         slope=("real parameter", 1.0), intercept=("real parameter", 0.0))  # fmt: skip
    case("NotchMean", gf.NotchMean, offset=("real parameter", 0.0), depth=("positive parameter", 1.0),
         centre=("real parameter", 0.0), width=("positive parameter", 1.0),
         dim=("dims", 0), also={"dim": set()})  # fmt: skip
    case("kernel(X, Z)", gf.SE(), X=("places", X), Z=("places", X),
         also={"X": {"frame turned"}, "Z": {"None", "frame turned"}})  # fmt: skip
    case("kernel.on", gf.SE().on, dims=("dims", [0]))
    case("kernel +", lambda other: gf.SE() + other, other=("summand", gf.SE()))
    case("kernel *", lambda other: gf.SE() * other, other=("summand", gf.SE()))
    case("kernel.with_theta", gf.SE().with_theta, theta=("nothing", [0.0, 0.0]),
         also={"theta": {"nothing masked", "number objects", "empty table"}})  # fmt: skip
    case("kernel.bind", gf.SE().on("T").bind, names=("nothing", ["T", "pH"]), also={"names": {"dict"}})
    case("LogNormal", gf.LogNormal, mu=("finite", 0.0), sigma=("positive", 1.0))
    case("Gamma", gf.Gamma, shape=("positive", 1.0), rate=("positive", 1.0))
    case("Beta", gf.Beta, a=("positive", 1.0), b=("positive", 1.0))
    case("Normal", gf.Normal, mean=("finite", 0.0), sd=("positive", 1.0))
    case("Uniform", gf.Uniform, low=("finite", -2.0), high=("finite", 4.0), also={})
    for prior in (gf.LogNormal(), gf.Gamma(), gf.Beta(), gf.Normal(), gf.Uniform(0, 1)):
        case(f"{type(prior).__name__}.quantile", prior.quantile, u=("fraction", 0.5))
    when = {"dict", "empty list", "empty table", "no pairs"}
    case("Real", gf.Real, name=("name", "x"), low=("finite", 0.5), high=("finite", 4.0), unit=("text", "km"),
         log=("flag", False), when=("none", {"c": "a"}), also={"when": when})  # fmt: skip
    whole = {"-1", "0", "int64(3)"}
    case("Integer", gf.Integer, name=("name", "x"), low=("nothing", 1), high=("nothing", 4), unit=("text", "km"),
         log=("flag", False), when=("none", {"c": "a"}),
         also={"low": whole, "high": {"int64(3)"}, "when": when})  # fmt: skip
    case("Categorical", gf.Categorical, name=("name", "x"), levels=("nothing", ["a", "b"]), ordered=("flag", False),
         also={"levels": {"words", "series of text", "generator", "row turned"}})  # fmt: skip
    case("At", gf.At, name=("name", "x"), value=("finite", 1.0), unit=("text", "km"))
    case("Proportions", gf.Proportions, names=("nothing", ["a", "b"]), total=("positive", 1.0), unit=("text", "%"),
         low=("nothing", 0.1), high=("none", 5.0),
         also={"names": {"words", "series of text"}, "low": {"0"}, "high": {"1.5", "int64(3)"}})  # fmt: skip
    case("LinearLimit", gf.LinearLimit, weights=("nothing", {"T": 1.0}), least=("finite", -2.0), most=("finite", 4.0),
         also={"weights": {"dict"}, "least": {"None"}, "most": {"None"}})  # fmt: skip
    case("Space(...)", lambda dimension: gf.Space(gf.Real("x", 0, 1), dimension),
         dimension=("nothing", gf.Real("y", 0, 1)))  # fmt: skip
    case("Space.contains", SPACE.contains, X=("places", X))
    case("Space.candidates", SPACE.candidates, n=("count", 5), rng=("rng", 0))
    case("Space.grid", SPACE.grid, per_dimension=("count", 3))
    case("Space.where", SPACE.where, constraint=("callable", gf.Within(T=(0.2, None))))
    half = SPACE.where(gf.Within(T=(0.2, None)))
    case("Restricted.contains", half.contains, X=("places", X))
    case("Restricted.candidates", half.candidates, n=("count", 5), rng=("rng", 0))
    case("a constraint that answers", lambda given: SPACE.where(lambda places: given).contains(X),
         given=("nothing", np.array([True, False, True])), also={"given": {"bools"}})  # fmt: skip
    case("Within", gf.Within, ends=("nothing", {"T": (0.2, None)}))
    case("Within(T=...)", gf.Within, T=("nothing", (0.2, None)))
    case("Within end", lambda low: gf.Within(T=(low, None)), low=("level", 0.2), also={"low": {"None"}})
    mixed = {"frame with text", "frame with bools"}
    case("Pool", gf.Pool, places=("some places", X), names=("none", ["T", "pH"]),
         items=("none", ["a", "b", "c"]), levels=("none", [None, None]),
         also={"places": {"frame turned", *mixed}, "items": {"words", "series of text"}})  # fmt: skip
    tables = {"frame turned", "one column", "3-D", "dict", *mixed}
    case("Pool of a table", gf.Pool, places=("some places", X), also={"places": tables})
    pool = gf.Pool(X, names=["T", "pH"])
    case("Pool.contains", pool.contains, X=("places", X))
    case("Pool.candidates", pool.candidates, n=("count", 2), rng=("rng", 0), also={"n": {"10**30", "10**400"}})
    mixed_space = gf.Space(gf.Real("T", 0, 1), gf.Categorical("c", ["Pd", "Ni"]))
    rows = [[0.5, "Ni"], [0.25, "Pd"]]
    case(
        "Space.code",
        mixed_space.code,
        table=("nothing", rows),
        also={"table": {"empty table", "empty list", "no pairs"}},
    )
    case("Space.natural", mixed_space.natural, place=("nothing", [0.5, 1.0]), also={"place": {"empty table"}})
    case("Query in a space", gf.Query, instrument=LAB, place=("nothing", rows[0]), space=mixed_space)
    case("Data in a space", gf.Data(space=mixed_space).add, instrument=LAB, X=("nothing", rows), answers=[0.1, 0.2])
    case("Data(space)", lambda space: gf.Data(space=space), space=("none", mixed_space), also={"space": {"space"}})
    case("Stream", gf.Stream, space=("nothing", SPACE), rate=("nothing", 0.5), also={"space": {"space"}})
    case("Stream length", gf.Stream, space=SPACE, length=("count", 5))
    case("Integrated", gf.Integrated, gp=("gp", MODEL), by=("nothing", "points"), inference=("none", None))
    case("Models", gf.Models, gps=("nothing", [MODEL, MODEL]), prior=("none", None), inference=("none", None))
    case("UnknownMean", gf.UnknownMean)
    case("ChangePoint", gf.ChangePoint, before=("kernel", gf.SE()), after=("kernel", gf.SE()),
         place=("real parameter", 0.0), width=("positive parameter", 1.0), column=("count or 0", 0))  # fmt: skip
    uneven = {"nothing masked", "number objects"}
    case("Grammar", gf.Grammar, productions=("nothing", {"SE": 1.0}), priors=("nothing", {}),
         noise=("nothing", gf.Gamma()), inputs=("count", 1), also={"priors": {"empty dict"}})  # fmt: skip
    case("Grammar.log_prior", gf.Grammar().log_prior, program=("nothing", "(SE 0.2)"))
    case("Grammar.for_data", gf.Grammar.for_data, inputs=("count", 1), changes=("nothing", False))
    case("Program", gf.Program, symbol=("nothing", "SE"), numbers=("nothing", (0.2,)), parts=("nothing", ()),
         column=("count or 0", 0), also={"parts": {"empty list", "empty table", "no pairs"}})  # fmt: skip
    case("Program.read", gf.Program.read, program=("nothing", "(SE 0.2)"))
    case("Moves", gf.Moves, sweeps=("count or 0", 1), repeats=("count or 0", 1), step=("positive", 0.1),
         leaps=("count or 0", 1), growing=("flag", True))  # fmt: skip
    case("KernelPrograms", gf.KernelPrograms, grammar=("nothing", gf.Grammar()), particles=("count", 5),
         space=("none", None), answers=("none", None), moves=("nothing", gf.Moves()), threshold=("nothing", 0.5),
         inference=("none", None), searches=("count", 1), also={"space": {"space"}})  # fmt: skip
    case("Additive", gf.Additive, terms=("nothing", [(0,), (1,)]), lengthscale=("positive parameter", 1.0),
         variance=("positive parameter", 1.0), profile=("nothing", "SE"),
         also={"terms": {"words", "series of text"}})  # fmt: skip
    case("Partitions", gf.Partitions, space=("none", SPACE), chain=("count", 5), form=("nothing", "partitions"),
         profile=("nothing", "SE"), evidence=("nothing", "bic"), prior=("nothing", "blocks"),
         lengthscales=("nothing", "each"), moves=("nothing", "all"), burn=("count or 0", 3), by=("nothing", "chain"),
         given=("none", None), inference=("none", None), also={"space": {"space"}})  # fmt: skip
    tasks = gf.Space(gf.Real("T", 0, 1), gf.Categorical("task", ["a", "b"]))
    case("TaskClusters", gf.TaskClusters, space=("none", tasks), task=("none", None), shared=("kernel", gf.SE()),
         own=("kernel", gf.SE()), mean=("none", None), priors=("nothing", {}), prior=("nothing", "uniform"),
         concentration=("positive", 1.0), sweeps=("count", 5), burn=("count or 0", 3), inference=("none", None),
         also={"shared": {"None"}, "own": {"None"}, "priors": {"empty dict"}})  # fmt: skip
    case("minimise", gf.minimise, function=("callable", sum), space=("nothing", [(0.0, 1.0), (0.0, 1.0)]),
         evaluations=("count", 1), maximise=("flag", False), noise=("not negative", 0.1), initial=("none", 1),
         seed=("seed", 0), model=("gp", None), goal=("none", None), workers=("count", 1), processes=("flag", False),
         journal=("none", None), callback=("none", None), trust=("none", None),
         also={"space": {"space"}, "model": {"None"}, "noise": {"None"}, "callback": {"function"},
               "initial": {"0", "int64(3)"}})  # fmt: skip
    case("ProgramGrid", gf.ProgramGrid, programs=("nothing", ["(SE 0.2)", "(LIN 0.1)", "(C 1.0)"]),
         prior=("none", None), noise=("positive parameter", 0.1), space=("none", None), inference=("none", None),
         also={"space": {"space"}, "noise": {"1.5", "int64(3)", *uneven}})  # fmt: skip
    case("GP", gf.GP, kernel=("kernel", gf.SE()), mean=("none", gf.Zero()), priors=("nothing", {}),
         space=("none", SPACE), also={"space": {"space"}, "kernel": {"None"}})  # fmt: skip

    def hashable(name: Any) -> Any:
        try:
            hash(name)
        except TypeError:
            raise NoSuchCall from None
        return name

    case("GP priors", lambda prior: gf.GP(gf.SE(), priors={"SE.lengthscale": prior}), prior=("nothing", gf.Fixed()))
    case("GP prior names", lambda name: gf.GP(gf.SE(), priors={hashable(name): gf.Fixed()}),
         name=("nothing", "SE.variance"), also={"name": {"text of a number"}})  # fmt: skip
    case("GP.condition", MODEL.condition, data=("nothing", DATA), inference=("none", gf.EP()))
    case("GP.log_evidence_and_gradient", MODEL.log_evidence_and_gradient, data=("nothing", DATA),
         inference=("none", gf.EP()))  # fmt: skip
    case("GP.with_theta", MODEL.with_theta, theta=("nothing", [0.0, 0.0]),
         also={"theta": {"nothing masked", "number objects", "empty table"}})  # fmt: skip
    case("EP", gf.EP, tolerance=("positive", 1e-9), max_iterations=("count", 3), memory=("count or 0", 6),
         response=("flag", True), also={"response": {"None"}})  # fmt: skip
    case("Sampled", gf.Sampled, draws=("nothing", 9), seed=("seed", 0), around=("nothing", gf.EP()),
         also={"draws": {"int64(3)"}})  # fmt: skip
    case("Laplace", gf.Laplace, tolerance=("positive", 1e-9), max_iterations=("count", 3))
    case("Solver", gf.Solver, tolerance=("positive", 1e-4), most=("count", 9), preconditioner=("count or 0", 5),
         probes=("count", 8), root=("count", 20), seed=("seed", 0))  # fmt: skip
    case("Iterative", gf.Iterative, memory=("not negative", 1.0), solver=("nothing", gf.Solver()))
    case("Single", gf.Single, tolerance=("positive", 1e-8), most=("count", 9), probes=("count", 8), seed=("seed", 0))
    case("Distributed", gf.Distributed, scheduler=("nothing", "tcp://10.0.0.5:8786"), tile=("count", 512))
    case("read_table", gf.read_table, table=("nothing", _readings()), answer=("nothing", 2), inputs=("none", [1]),
         also={"answer": {"-1", "0", "int64(3)"}})  # fmt: skip
    case("SKI", gf.SKI, grid=("none", 20), over=("some places", [[0.0, 0.0], [1.0, 1.0]]),
         solver=("nothing", gf.Solver()), also={"over": {"None", "one column"}})  # fmt: skip
    case("SKIP", gf.SKIP, rank=("count", 20), grid=("nothing", 20), over=("some places", [[0.0, 0.0], [1.0, 1.0]]),
         solver=("nothing", gf.Solver()), also={"over": {"None", "one column"}})  # fmt: skip
    case("Inducing", gf.Inducing, points=("count", 20), tolerance=("positive", 1e-8), max_iterations=("count", 3),
         also={"points": {"nothing masked", "number objects", "one column"}})  # fmt: skip
    case("Vecchia", gf.Vecchia, neighbours=("count", 20), order=("nothing", "random"), nearest=("count", 80),
         also={"nearest": {"None"}})  # fmt: skip
    case("InvalidInput", gf.InvalidInput, argument="x", expected="y", got=("anything", 1), remedy="z")


def _instruments() -> None:
    alone = {"cost": ("positive", 1.0), "name": ("name or none", "lab")}
    common = {**alone, "output": ("output", 0)}
    case("Point", gf.Point, noise=("noise", 0.1), buckets=("count", 100), **common)
    case("PointWithError", gf.PointWithError, noise=("not negative", 0.1), buckets=("count", 100), **common)
    case("Interval", gf.Interval, noise=("noise", 0.1), width=("positive", 0.5), buckets=("count", 9), **common,
         also={"width": {"None"}})  # fmt: skip
    case("Ordinal", gf.Ordinal, thresholds=("nothing", [0.0, 1.0]), noise=("noise", 0.1), **common)
    case("Binary", gf.Binary, guess=("fraction", 0.1), lapse=("fraction", 0.1), threshold=("real parameter", 0.5),
         noise=("noise", 0.1), **common, also={"threshold": {"None"}, "noise": {"None"}})  # fmt: skip
    case("Preference", gf.Preference, noise=("noise", 0.1), **alone)
    case("Detection", gf.Detection, **alone)
    case("Classes", gf.Classes, {"labels": {"words", "series of text", "huge integers"}},
         labels=("nothing", ["a", "b", "c"]), **common)  # fmt: skip
    case("Count", gf.Count, **common)
    case("Binomial", gf.Binomial, trials=("count", 3), **common)
    case("StudentT", gf.StudentT, noise=("positive parameter", 0.1), df=("positive", 4.0), **common)
    case("Likelihood", gf.Likelihood, log_prob=("callable", log_prob), simulate=("callable", simulate),
         answers=("nothing", "real"), **common, also={
             "answers": {"words", "generator", "series of text"}, "log_prob": set()})  # fmt: skip
    words = gf.Likelihood(log_prob, simulate, answers=["a", "b", "c"], name="words")
    real = gf.Likelihood(log_prob, simulate, answers="real")
    yes_no = {"bools"}
    for instrument, places, good, fine in (
        (LAB, X, [0.1, 0.2, 0.3], set()), (gf.Interval(), X, [(0, 1)] * 3, {"nothing masked", "number objects"}),
        (gf.Ordinal([0.0, 1.0]), X, [1, 2, 3], set()), (LOOK, X, [True, False, True], yes_no),
        (DUEL, np.array([PAIRS[0]] * 3), [True] * 3, yes_no), (GROUP, np.array([PAIRS[0]] * 3), [True] * 3, yes_no),
        (gf.Count(), X, [1, 2, 3], set()), (gf.Binomial(trials=3), X, [1, 2, 3], set()),
        (gf.StudentT(), X, [0.1, 0.2, 0.3], set()), (words, X, ["a", "b", "a"], {"words"}), (real, X, [0.1] * 3, set()),
    ):  # fmt: skip
        name = instrument.label
        fine = {"nothing masked", "number objects"} if name == "Interval" else fine
        case(f"{name}.validate", instrument.validate, answers=("numbers", good), n=3,
             also={"answers": fine})  # fmt: skip
        case(f"Data.add({name})", gf.Data(names=("T", "pH")).add, instrument=instrument,
             X=({"place": "some places", "pair": "some pairs", "set": "some sets"}[instrument.query], places),
             answers=("numbers", good), also={"answers": fine})  # fmt: skip


def _beliefs() -> None:
    case(
        "Data.add",
        DATA.called(["T", "pH"]).add,
        instrument=("nothing", LAB),
        X=("some places", X),
        answers=("numbers", [0.1, 0.2, 0.3]),
    )
    single = {"1.5", "0", "-1", "10**30", "int64(3)", "Decimal", "0-d array"}
    case("Data.add one", gf.Data(names=("T", "pH")).add, instrument=LAB, X=("place", X[0]), answers=("numbers", 0.1),
         also={"answers": single})  # fmt: skip
    case("Data.join", DATA.join, more=("nothing", DATA))
    case("Data.without", DATA.without, observations=("observations", [0]))
    case("Data.numbers", DATA.numbers, observations=("observations", [0]))
    case("Query", gf.Query, instrument=("nothing", LAB), place=("place", X[0]), number=("none", 0),
         also={"number": {"0", "int64(3)", "10**30", "10**400"}, "place": {"row turned"}})  # fmt: skip
    case("Query of a pair", gf.Query, instrument=DUEL, place=("some pairs", PAIRS[0]))
    for name, post in (("Posterior", POSTERIOR), ("Belief", BELIEF)):
        case(f"{name}.mean", post.mean, X=("places", X))
        case(f"{name}.variance", post.variance, X=("places", X))
        case(f"{name}.covariance", post.covariance, X=("places", X))
        case(f"{name}.quantile", post.quantile, X=("places", X), q=("nothing", 0.5), also={"q": {"row turned"}})
        case(f"{name}.band", post.band, X=("places", X), level=("nothing", 0.9))
        case(f"{name}.predict", post.predict, X=("places", X))
        case(f"{name}.marginals", post.marginals, instrument=("nothing", LAB), X=("places", X))
        case(f"{name}.sample", post.sample, X=("places", X), size=("count or 0", 2), rng=("rng", 0))
        case(f"{name}.answers", post.answers, instrument=("nothing", LAB), X=("places", X))
        case(f"{name}.answers of pairs", post.answers, instrument=DUEL, X=("pairs", PAIRS))
        case(f"{name}.answers of sets", post.answers, instrument=GROUP, X=("sets", PAIRS))
    case("Posterior.covariance Z", POSTERIOR.covariance, X=X, Z=("places", X), also={"Z": {"None"}})
    case("Posterior.condition", POSTERIOR.condition, more=("nothing", DATA))
    several = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1, output=0), X, [0.1, 0.2, 0.3]))
    case("Posterior.of", several.of, output=("output", 0))
    case("Belief.of", gf.Belief([several]).of, output=("output", 0))
    case("Posterior.without", POSTERIOR.without, observations=("observations", [0]))
    case("NormalAnswers.log_prob", POSTERIOR.answers(LAB, X).log_prob, answers=("numbers", [0.1, 0.2, 0.3]),
         also={"answers": {"inf array"}})  # fmt: skip
    case("DiscreteAnswers.log_prob", POSTERIOR.answers(LOOK, X).log_prob, answers=("numbers", [True, False, True]),
         also={"answers": {"bools"}})  # fmt: skip
    case("IntervalAnswers.log_prob", POSTERIOR.answers(gf.Interval(0.1, 0.5), X).log_prob,
         answers=("numbers", [0.1, 0.2, 0.3]),
         also={"answers": {"nothing masked", "number objects", "inf array", "frame turned"}})  # fmt: skip
    case("NumericAnswers.log_prob", POSTERIOR.answers(gf.Count(), X).log_prob, answers=("numbers", [1, 2, 3]))
    case("Belief", gf.Belief, posteriors=("nothing", [POSTERIOR]), weights=("none", [1.0]),
         instruments=("none", [{"lab": LAB}]))  # fmt: skip
    case("fit", gf.fit, gp=("gp", MODEL), data=("nothing", DATA), priors=("none", gf.Flat()),
         inference=("none", gf.EP()), starts=("count", 1), rng=("rng", 0),
         also={"starts": set()})  # fmt: skip
    case("fit priors", lambda prior: gf.fit(MODEL, DATA, priors={"SE.lengthscale": prior}, starts=1),
         prior=("nothing", gf.Fixed()))  # fmt: skip
    case("Posterior.check", JUDGED.check, X=("places", X), draws=("nothing", 9), seed=("seed", 0),
         level=("nothing", 0.9), also={"X": {"None"}, "draws": {"int64(3)"}})  # fmt: skip
    case("hyperposterior", gf.hyperposterior, fitted=("nothing", FITTED))
    hyper = gf.hyperposterior(FITTED)
    case("HyperPosterior.sample", hyper.sample, size=("count or 0", 2), rng=("rng", 0))
    case("MGP.mean", hyper.mgp.mean, X=("places", X))
    case("MGP.variance", hyper.mgp.variance, X=("places", X))
    case("MGP.answers", hyper.mgp.answers, instrument=("nothing", LAB), X=("places", X))
    case("nuts", gf.nuts, gp=("gp", MODEL), data=("nothing", DATA), draws=("count", 2), tune=("count", 2),
         chains=("count", 1), thin=("count", 1), seed=("seed", 0), priors=("none", {}),
         inference=("none", gf.EP()), progress=("flag", False))  # fmt: skip
    case("rank", gf.rank, posterior=("nothing", POSTERIOR), places=("some places", X), draws=("nothing", 100),
         rng=("rng", 0))  # fmt: skip
    case("information", gf.information, belief=("nothing", POSTERIOR), instrument=("nothing", LAB),
         places=("places", X), about=("nothing", "function"), pending=("several", [QUERY]))  # fmt: skip
    case("information of pairs", gf.information, belief=POSTERIOR, instrument=DUEL, places=("pairs", PAIRS))
    case("information about a region", gf.information, belief=POSTERIOR, instrument=LAB, places=("places", X),
         about=gf.Region(X), pending=("several", [QUERY]))  # fmt: skip
    case("information of a belief", gf.information, belief=BELIEF, instrument=("nothing", LAB), places=("places", X),
         about=("nothing", "model"), pending=("several", [QUERY]))  # fmt: skip
    case("joint_information", gf.joint_information, posterior=("nothing", POSTERIOR), queries=("several", [QUERY]))
    case("joint_information of several", gf.joint_information, posterior=BELIEF, queries=("several", [QUERY]))
    case("Region", gf.Region, points=("some places", X), weights=("none", [1.0, 1.0, 1.0]), together=("flag", False),
         answers=("none", None), also={"points": {"frame turned", "one column"}, "together": {"True"}})  # fmt: skip
    case("a region that is asked about", lambda points: gf.information(POSTERIOR, LAB, X, gf.Region(points)),
         points=("some places", X))  # fmt: skip


def _goals() -> None:
    case("Learn", gf.Learn, about=("nothing", "function"))
    case("Predictions", gf.Predictions, reference=("some places", X), weights=("none", None),
         also={"reference": {"frame turned", "one column"}})  # fmt: skip
    case("Switch", gf.Switch, first=("nothing", gf.Learn("model")), then=("nothing", gf.Learn()),
         below=("nothing", 0.5), above=("nothing", 0.8), also={"above": {"1.5", "int64(3)"}})  # fmt: skip
    case("Level", gf.Level, value=("finite", 0.5), reference=("some places", X),
         also={"reference": {"None", "frame turned", "one column"}})  # fmt: skip
    case("a level that is scored", lambda reference: gf.Level(0.5, reference).score(JUDGED, LOOK, X),
         reference=("some places", X), also={"reference": {"None"}})  # fmt: skip
    for wrap in (gf.PerCost, gf.Normalised):
        case(wrap.__name__, wrap, goal=("nothing", gf.Learn()))
        case(f"{wrap.__name__}.score", wrap(gf.Learn()).score, belief=("nothing", POSTERIOR),
             instrument=("nothing", LAB), places=("places", X))  # fmt: skip
    case("RandomType", gf.RandomType, goal=("nothing", gf.Learn()))
    case("EPIG", acquisition.EPIG, reference=("some places", X), predict=("none", LOOK),
         also={"reference": {"frame turned", "one column"}})  # fmt: skip
    for goal in ("IntegratedVariance", "AOptimal", "DOptimal", "EOptimal", "ExpectedError", "Zhu", "Kapoor",
                 "ExpectedErrorReduction", "ExpectedModelChange"):  # fmt: skip
        make = getattr(acquisition, goal)
        case(goal, make, reference=("some places", X), also={"reference": {"frame turned", "one column"}})
        case(f"{goal} scored", lambda reference, make=make: make(reference).score(JUDGED, LOOK, X),
             reference=("some places", X))  # fmt: skip
    case(
        "ExpectedError options", acquisition.ExpectedError, reference=X, predict=("none", LOOK), loss=("nothing", "log")
    )
    case("Kapoor options", acquisition.Kapoor, reference=X, missed=("positive", 1.0), false_alarm=("positive", 1.0),
         price=("not negative", 1.0))  # fmt: skip
    case("ExpectedErrorReduction options", acquisition.ExpectedErrorReduction, reference=X, loss=("nothing", "squared"))
    case("QueryByCommittee", acquisition.QueryByCommittee, size=("count", 10), measure=("nothing", "kl"),
         seed=("seed", 0), over=("some places", X), also={"over": {"None", "frame turned", "one column"}})  # fmt: skip
    case("a committee that votes", lambda over: acquisition.QueryByCommittee(9, over=over).score(JUDGED, LOOK, X),
         over=("some places", X), also={"over": {"None"}})  # fmt: skip
    for goal in ("ProbabilityOfImprovement", "ExpectedImprovement", "LogExpectedImprovement"):
        case(goal, getattr(acquisition, goal), incumbent=("finite", 0.0), sign=("nothing", 1),
             also={"incumbent": {"None"}, "sign": {"-1"}})  # fmt: skip
    case("KnowledgeGradient", acquisition.KnowledgeGradient, sign=("nothing", 1), over=("some places", X),
         also={"sign": {"-1"}, "over": {"None", "frame turned", "one column"}})  # fmt: skip
    case("ProbabilityOfImprovement margin", acquisition.ProbabilityOfImprovement, margin=("not negative", 0.0))
    case("UpperConfidenceBound", acquisition.UpperConfidenceBound, beta=("not negative", 4.0), sign=("nothing", 1),
         also={"sign": {"-1"}})  # fmt: skip
    case("Refitted", acquisition.Refitted, goal=("nothing", acquisition.Zhu(X)), first=("count", 1))
    pairs = {"nothing masked", "number objects", "bool array", "some bools", "frame with bools", "frame turned"}
    case("IVM", IVM, pool=("some places", X), answers=("numbers", [True, False, True]), also={
        "pool": {"3-D", "one column", "frame turned"}, "answers": {"bools", "inf array", *pairs}})  # fmt: skip
    case("an IVM that scores", lambda pool: IVM(pool, [True] * 3).score(JUDGED, LOOK, pool), pool=("some places", X))
    case("answers of an IVM", lambda answers: IVM(X, answers).score(JUDGED, LOOK, X), answers=("numbers", [True] * 3),
         also={"answers": {"bools"}})  # fmt: skip
    case("ActiveSVM", ActiveSVM, rule=("nothing", "simple"), C=("positive", 1.0))
    case("score", gf.score, name=("nothing", "bald"), belief=("nothing", POSTERIOR), instrument=("nothing", LAB),
         places=("places", X), pending=("several", [QUERY]))  # fmt: skip
    for each in gf.strategies():
        if each.scores:
            belief = gf.Belief([JUDGED]) if "hyperparameters" in each.name else JUDGED
            case(f"score {each.name} of several", lambda belief, instrument, places, name=each.name: gf.score(
                name, belief, instrument, places), belief=("nothing", gf.Belief([JUDGED, JUDGED])),
                instrument=("nothing", LOOK), places=("places", X))  # fmt: skip
            case(f"score {each.name}", lambda belief, instrument, places, name=each.name: gf.score(
                name, belief, instrument, places), belief=("nothing", belief), instrument=("nothing", LOOK),
                places=("places", X))  # fmt: skip
    case("score options", lambda reference: gf.score("alc", POSTERIOR, LAB, X, reference=reference),
         reference=("some places", X))  # fmt: skip
    case("Search", gf.Search, candidates=("count", 5), climbers=("count or 0", 1), set_size=("count", 2))
    case("Option", Option, instrument=("nothing", LAB), space=("nothing", SPACE), distinct=("flag", False),
         also={"space": {"space"}})  # fmt: skip
    case("choose", choose, goal=("nothing", gf.Learn()), belief=("nothing", POSTERIOR),
         options=("options", [Option(LAB, gf.Pool(X))]), rng=("rng", np.random.default_rng(0)),
         pending=("several", []), search=("none", gf.Search(5, 0)))  # fmt: skip


def _outside() -> None:
    from gainful.lab.compare import comparison

    case("comparison", comparison, table=("nothing", "no such file.csv"), answer=("nothing", "y"),
         strategies=("nothing", ["bald", "random"]))  # fmt: skip
    try:
        from gainful.plots import plot_posterior
        from gainful.sklearn import GPClassifier, GPRegressor
    except gf.MissingExtra:
        return
    y = np.array([0.1, 0.2, 0.3])
    fast: dict[str, Any] = {"learn": False}
    case("GPRegressor.fit", lambda X, y: GPRegressor(**fast).fit(X, y), X=("some places", X), y=("numbers", y),
         also={"X": {"frame turned", "one column", "bool array", "some bools", "frame with bools"},
               "y": {"one column", "bools"}})  # fmt: skip
    named = GPRegressor(**fast).fit(pd.DataFrame(X, columns=["T", "pH"]), y)
    # Bools are numbers to scikit-learn.
    bools = {"bool array", "some bools", "frame with bools"}
    case(
        "GPRegressor.predict", named.predict, also={"X": bools}, X=("some places", pd.DataFrame(X, columns=["T", "pH"]))
    )
    case("GPRegressor.sample_y", named.sample_y, X=pd.DataFrame(X, columns=["T", "pH"]), n_samples=("count or 0", 1),
         random_state=("nothing", 0), also={"random_state": {"0", "int64(3)", "None"}})  # fmt: skip
    case("GPRegressor options", lambda **o: GPRegressor(**o).fit(X, y), kernel=("kernel", gf.SE()),
         mean=("none", gf.Zero()), noise=("noise", 0.1), starts=("count", 1), priors=("none", gf.Flat()),
         engine=("nothing", "auto"), random_state=("nothing", 0),
         also={"kernel": {"None"}, "random_state": {"0", "int64(3)", "None"}})  # fmt: skip
    case("GPClassifier.fit", lambda X, y: GPClassifier(**fast).fit(X, y), X=("some places", X),
         y=("numbers", [True, False, True]), also={
             "X": {"frame turned", "one column", *bools},
             "y": {"bools", "words", "series of text", "dates", "times"}})  # fmt: skip
    case("GPClassifier options", lambda **o: GPClassifier(**fast, **o).fit(X, ["a", "b", "a"]),
         guess=("fraction", 0.1), lapse=("fraction", 0.1), inference=("none", gf.EP()))  # fmt: skip
    import matplotlib.pyplot as plt

    line = gf.GP(gf.SE()).condition(gf.Data().add(LAB, [[0.0], [1.0]], [0.1, 0.2]))

    def drawn(**options: Any) -> None:
        try:
            plot_posterior(**options)
        finally:
            plt.close("all")

    case("plot_posterior", drawn, belief=("nothing", line), space=("none", (0.0, 1.0)), ax=("none", None),
         truth=("none", None), data=("none", None), ylabel=("text", "f"), legend=("flag", True), places=("count", 9),
         also={"space": {"space"}})  # fmt: skip


def _campaigns() -> None:
    def campaign(**options: Any) -> gf.Campaign:
        given = {"space": gf.Pool(X, names=["T", "pH"]), "instruments": [LAB], "model": gf.GP(gf.SE(0.3))}
        return gf.Campaign(**{**given, **options})

    def told() -> gf.Campaign:
        made = campaign()
        made.tell(made.ask(), 0.1)  # type: ignore[arg-type]
        made.ask()
        return made

    case("Campaign", campaign, space=("nothing", SPACE), instruments=("nothing", [LAB]), model=("gp", MODEL),
         goal=("none", gf.Learn()), budget=("positive", 9.0), seed=("seed", 0), limits=("none", {}),
         forward=("none", "T"), repeat=("flag", True), stop=("several", ()), refit=("count", 3),
         inference=("none", gf.EP()), search=("none", gf.Search(5, 0)), journal=("none", None),
         initial=("count or 0", 2), trust=("none", None),
         also={"initial": {"None"}, "model": {"None"}, "space": {"space"}, "instruments": {"instruments"},
               "budget": {"None"}, "refit": {"None", "10**30"},
               "limits": set(), "stop": {"None"}, "journal": {"text", "text of a number", "bytes"}})  # fmt: skip
    anew("Campaign.ask", lambda: campaign().ask, count=("count", 1), where=("none", None), also={"count": {"None"}})
    case("Campaign.best", lambda **given: told().best(**given), end=("nothing", "minimise"), measured=("flag", False))
    asked = told().history[0].query

    def telling() -> Callable[..., Any]:
        made = told()
        return lambda query, **rest: made.tell(made.pending[0] if query is None else query, **rest)

    anew("Campaign.tell", telling,
         query=("nothing", None), answer=("numbers", 0.1), cost=("not negative", 1.0), note=("anything", None),
         also={"query": {"None"}, "answer": {"1.5", "0", "-1", "10**30", "int64(3)", "Decimal", "0-d array"},
               "cost": {"None"}})  # fmt: skip
    anew("Campaign.correct", lambda: told().correct, query=("nothing", asked), answer=("numbers", 0.1),
         note=("anything", None), also={
             "query": {"0"}, "answer": {"1.5", "0", "-1", "10**30", "int64(3)", "Decimal", "0-d array"}})  # fmt: skip
    anew("Campaign.withdraw", lambda: told().withdraw, query=("nothing", asked), note=("anything", None),
         also={"query": {"0"}})  # fmt: skip
    anew("Campaign.why", lambda: told().why, query=("nothing", asked), also={"query": {"0"}})
    anew("Campaign.stop", lambda: told().stop, reason=("anything", "enough"))
    stream = gf.Stream(SPACE, rate=1.0)
    anew("Campaign.offer", lambda: campaign(space=stream).offer, place=("place", X[0]))
    # What a campaign of another call wrote to a path of that name is there.
    case("Campaign.resume", gf.Campaign.resume, journal=("nothing", "no such file.jsonl"),
         also={"journal": {"text", "text of a number"}})  # fmt: skip
    case("TooLittleToLearn", gf.TooLittleToLearn, level=("positive", 0.01))
    case("TrustRegion", gf.TrustRegion, start=("positive", 0.8), least=("positive", 0.01), most=("positive", 1.6),
         successes=("count", 3), failures=("count", 4), also={"failures": {"None"}})  # fmt: skip
    case("GoodEnough", gf.GoodEnough, measure=("callable", roughness), level=("level", 0.5),
         also={"measure": {"class", "kernel class"}})  # fmt: skip


for _group in (_values, _instruments, _beliefs, _goals, _outside, _campaigns):
    _group()

# --------------------------------------------------------------------------------------------------- what becomes of it


class NoSuchCall(Exception):
    """Python itself has no such call: what cannot be hashed is no name in a mapping."""


class Endless(BaseException):
    """A call that did not end; no `except Exception` may stop it."""


def _ring(*_: Any) -> None:
    raise Endless


def _judge(which: Case, argument: str, value: str) -> tuple[str, str]:
    function, given = which.prepare()
    given[argument] = VALUES[value]()
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(**given)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except NoSuchCall:
        return "", ""
    except gf.GainfulError as refused:
        return _refusal(refused, argument)
    except Endless:
        return "endless", f"after {SECONDS:g} s"
    except Exception as trouble:
        if which.name.startswith(("GPRegressor", "GPClassifier")) and isinstance(trouble, TypeError | ValueError):
            return "clear", str(trouble)  # in scikit-learn's own words, which its conventions demand
        return "raw", f"{type(trouble).__name__}: {trouble}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    kind = which.kinds[argument]
    fine = kind == "anything" or value in FINE[kind] | which.also.get(argument, set())
    if isinstance(found, np.ndarray) and found.dtype == float and np.isnan(found).any():
        return "misread", "gives NaN"
    return ("right" if fine else "misread"), " ".join(repr(found).split())[:80]


# What else a refusal may name: what was made of the argument here, or the other of two that do not fit together.
CALLED = {
    "answers": ("answer", "X"), "X": ("answers", "Z"), "places": ("X", "names", "pending", "belief"), "y": ("answers",),
    "reference": ("X",), "points": ("reference",), "over": ("X",), "pool": ("X",), "given": ("constraint",),
    "where": ("constraint",), "other": ("kernel", "Constant"), "name": ("priors",), "names": ("dims",), "low": ("T",),
    "ends": ("T",), "theta": ("SE.",), "strategies": ("table",), "answer": ("table",), "space": ("gp", "model"),
}  # fmt: skip


def _refusal(refused: gf.GainfulError, argument: str) -> tuple[str, str]:
    words = str(refused)
    if not isinstance(refused, gf.InvalidInput):
        return "clear", words
    if not (refused.remedy and refused.expected):
        return "unclear", words
    mine = {argument, *CALLED.get(argument, ())}
    named = any(each in refused.argument for each in mine)
    return ("clear" if named else "unclear"), words


def outcomes(names: Iterable[str], every: int = 1, seed: int = 0) -> Iterator[Outcome]:
    """What becomes of all malformed calls of these names, or of a sample: one in `every`, the same each time."""
    rng = np.random.default_rng(seed)
    for which in (CASES[name] for name in names):
        for argument in which.kinds:
            for value in VALUES:
                if every == 1 or rng.integers(every) == 0:
                    verdict, words = _judge(which, argument, value)
                    if verdict:
                        yield Outcome(which.name, argument, value, verdict, words)


OF_CAMPAIGNS = ("Campaign", "GoodEnough", "TooLittleToLearn", "TrustRegion")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accepted", action="store_true", help="show what was taken, too")
    parser.add_argument("--only", default="", help="calls whose name begins like this")
    options = parser.parse_args()
    names = [name for name in CASES if name.startswith(options.only)]
    with contextlib.suppress(ImportError):  # loading it does not count as the first call's time
        import nutpie  # noqa: F401
    os.chdir(tempfile.mkdtemp())  # a journal by any other name is still a file
    tables: dict[str, Counter[str]] = {"all others": Counter(), "campaigns": Counter()}
    for each in outcomes(names):
        folder = "campaigns" if each.case.split(".")[0] in OF_CAMPAIGNS else "all others"
        tables[folder][each.verdict] += 1
        if each.verdict not in ("clear", "right") or (options.accepted and each.verdict == "right"):
            print(f"{each.verdict:8} {each.case}({each.argument}={each.value}): {each.words[:150]}")
    print(f"{'':12}{'calls':>8}" + "".join(f"{verdict:>9}" for verdict in VERDICTS) + "   good")
    for folder, counts in tables.items():
        total = counts.total()
        good = 100 * (counts["clear"] + counts["right"]) / max(total, 1)
        print(f"{folder:12}{total:8}" + "".join(f"{counts[verdict]:9}" for verdict in VERDICTS) + f"{good:7.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
