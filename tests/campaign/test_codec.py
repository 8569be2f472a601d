"""What is written in a journal comes back equal and of the same type, or is refused before anything is written."""

import builtins
import contextlib
import datetime
import enum
import functools
import importlib
import json
import math
import re
import sys
from collections import OrderedDict, namedtuple
from dataclasses import InitVar, dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import gainful as gf
from gainful.campaign.codec import Codec, encode, write_down
from gainful.campaign.lines import to_text
from gainful.campaign.naming import class_name, declared

SPACE = gf.Space(gf.Real("x", 0, 1))
POOL = gf.Pool(np.linspace(0, 1, 11)[:, None])
LAB = gf.Point(noise=0.1, name="lab")
GP = gf.GP(gf.SE(0.3))
FAST = gf.Search(candidates=10, climbers=0)


def label(value: object) -> str:
    """A name for a test that is the same in every process: without addresses, sets in one order."""
    text = repr(value) if not isinstance(value, set | frozenset) else f"{type(value).__name__} of {len(value)}"
    return re.sub(r" at 0x[0-9a-f]+", "", text)[:60].encode("ascii", "replace").decode()


def through_text(value, known=()):
    """The value after it was a line of a file."""
    return Codec(known).decode(json.loads(to_text({"value": write_down(value)}))["value"])


def same(a, b):
    """Whether two values are the same in every type and bit; written without the help of what is tested."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        a, b = np.asarray(a), np.asarray(b)
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, set | frozenset):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    if is_dataclass(a) and not isinstance(a, type):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return a is b or (isinstance(a, int | str) and a == b)


def copy_of(campaign, change=lambda text: text):
    """The campaign's journal as another one, with its text changed."""
    journal = gf.campaign.MemoryJournal()
    journal.append(*json.loads(change(json.dumps(campaign.journal.events()))))
    return journal


# Names


@dataclass(frozen=True)
class SE(gf.SE):
    """A kernel of the user's that is called like gainful's."""


@dataclass(frozen=True)
class Weighted:
    """A goal with a field of any kind."""

    weights: Any = 1.0

    def score(self, belief, instrument, places):
        return np.arange(float(len(places)))


def test_a_class_that_is_called_like_one_of_gainfuls_is_not_taken_for_it():
    campaign = gf.Campaign(POOL, LAB, gf.GP(SE(0.2) + gf.SE(0.4)))
    with pytest.raises(gf.JournalError, match=r"model\.kernel\.left.*test_codec:SE.*known=\[SE\]"):
        gf.Campaign.resume(campaign.journal)
    kernel = gf.Campaign.resume(campaign.journal, known=[SE]).gp.kernel
    assert (type(kernel.left), type(kernel.right)) == (SE, gf.SE)
    assert type(gf.Campaign.resume(gf.Campaign(POOL, LAB, GP).journal, known=[SE]).gp.kernel) is gf.SE


def test_gainfuls_own_classes_are_called_by_the_room_they_are_found_in():
    for name, kind in declared().items():
        room, called = name.rsplit(".", 1)
        assert getattr(importlib.import_module(room), called) is kind
    names = {class_name(type(part)) for part in (gf.SE(), gf.Zero(), gf.Flat(), LAB, gf.EP(), gf.Learn(), FAST, SPACE)}
    assert names == {
        "gainful.kernels.SE", "gainful.means.Zero", "gainful.priors.Flat", "gainful.instruments.Point",
        "gainful.inference.EP", "gainful.acquisition.Learn", "gainful.selection.Search", "gainful.space.Space",
    }  # fmt: skip
    assert {"gainful.gp.GP", "gainful.information.Region", "gainful.acquisition.RandomType"} <= set(declared())
    assert encode(gf.SE())["type"] == "gainful.kernels.SE"  # journals rely on it


def test_a_class_that_moved_from_a_script_into_a_module_is_found_by_its_name():
    campaign = gf.Campaign(POOL, LAB, GP, Weighted(2.0))
    script = copy_of(campaign, lambda text: text.replace(f"{__name__}:Weighted", "__main__:Weighted"))
    assert "__main__:Weighted" in json.dumps(script.events())
    assert gf.Campaign.resume(script, known=[Weighted])._state.design.goal == Weighted(2.0)


def elsewhere(kind, module):
    """A class of the same name in another module."""
    return dataclass(frozen=True)(type(kind.__name__, (kind,), {"__module__": module, "__qualname__": kind.__name__}))


def test_where_several_may_be_meant_or_one_for_two_it_is_said():
    one, two = elsewhere(Weighted, "one"), elsewhere(Weighted, "two")
    written = encode((one(1), two(2)))
    assert [type(part) for part in Codec([two, one]).decode(written)] == [one, two]
    with pytest.raises(gf.JournalError, match=r"script:Weighted.*any of.*one:Weighted.*two:Weighted"):
        Codec([one, two]).decode({"type": "script:Weighted", "fields": {"weights": 1}})
    with pytest.raises(gf.JournalError, match=r"one:Weighted cannot stand for both one:Weighted and two:Weighted"):
        Codec([one]).decode(written)
    with pytest.raises(gf.JournalError, match="Weighted"):  # what is called gainful's is gainful's or nothing
        Codec([one]).decode({"type": "gainful.acquisition.Weighted", "fields": {"weights": 1}})


def test_two_classes_of_one_name_are_not_taken_for_one_another():
    def made(factor):
        @dataclass(frozen=True)
        class Scaled(gf.SE):
            def matrix(self, X, Z):
                return factor * super().matrix(X, Z)

        return Scaled

    one, two = made(1.0), made(2.0)
    with pytest.raises(gf.InvalidInput, match=r"model\.kernel\.right.*Scaled twice"):
        gf.Campaign(POOL, LAB, gf.GP(one() + two()))
    with pytest.raises(gf.InvalidInput, match=r"known: .*Scaled twice"):
        gf.Campaign.resume(gf.Campaign(POOL, LAB, gf.GP(one())).journal, known=[one, two])
    assert type(gf.Campaign.resume(gf.Campaign(POOL, LAB, gf.GP(two())).journal, known=[two]).gp.kernel) is two


def test_a_class_that_says_it_is_gainfuls_is_not_believed():
    forged = dataclass(frozen=True)(type("SE", (gf.SE,), {"__module__": "gainful.kernels.stationary"}))
    with pytest.raises(gf.InvalidInput, match=r"model\.kernel.*SE twice"):
        gf.Campaign(POOL, LAB, gf.GP(forged()))


def test_an_object_of_a_class_is_not_the_class():
    campaign = gf.Campaign(POOL, LAB, GP, Weighted())
    with pytest.raises(gf.InvalidInput, match=r"known: .*give the class"):
        gf.Campaign.resume(campaign.journal, known=[Weighted()])
    with pytest.raises(gf.InvalidInput, match="known"):
        gf.Campaign.resume(campaign.journal, known="Weighted")
    assert gf.Campaign.resume(campaign.journal, known=Weighted).ask() is not None


# Objects of classes that are no dataclasses


class Slope:
    def __init__(self, sign=1.0):
        self.sign = sign

    def score(self, belief, instrument, places):
        return self.sign * places[:, 0]


class Left:
    def score(self, belief, instrument, places):
        return -places[:, 0]

    @functools.cached_property
    def memory(self):
        return 3


class Slotted:
    __slots__ = ("__level",)

    def __init__(self):
        self.__level = 3

    def reason(self, belief, richest):
        return None


class Counted(float):
    def score(self, belief, instrument, places):
        return places[:, 0]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"goal": Slope(-1.0)}, "goal"),
        ({"goal": gf.PerCost(Slope(-1.0))}, r"goal\.goal"),
        ({"goal": gf.RandomType(gf.PerCost(Slope()))}, r"goal\.goal\.goal"),
        ({"goal": Weighted({"a": (1, Slope())})}, r"goal\.weights\['a'\]\[1\]"),
        ({"goal": Counted(3)}, "goal"),
        ({"stop": [gf.TooLittleToLearn(1e-9), Slotted()]}, r"stop\[1\]"),
    ],
    ids=label,
)
def test_an_object_with_state_is_refused_with_its_part_and_the_remedy(tmp_path, change, part):
    with pytest.raises(gf.InvalidInput, match=rf"^{part}: .*frozen dataclass"):
        gf.Campaign(POOL, LAB, GP, journal=tmp_path / "j", **change)
    assert not (tmp_path / "j").exists()


def test_an_object_without_state_is_supplied_again_by_itself_or_by_its_class():
    goal = Left()
    assert goal.memory == 3
    campaign = gf.Campaign(POOL, LAB, GP, goal)
    with pytest.raises(gf.JournalError, match=r"known=\[Left\]"):
        gf.Campaign.resume(campaign.journal)
    assert gf.Campaign.resume(campaign.journal, known=[goal])._state.design.goal is goal
    assert type(gf.Campaign.resume(campaign.journal, known=[Left])._state.design.goal) is Left
    assert [type(part) for part in through_text((Left(), Left()), [Left])] == [Left, Left]


def test_a_class_with_state_does_not_stand_for_an_object_without():
    campaign = gf.Campaign(POOL, LAB, GP, Left())
    later = copy_of(campaign, lambda text: text.replace(f"{__name__}:Left", f"{__name__}:Slope"))
    with pytest.raises(gf.JournalError, match="no state"):
        gf.Campaign.resume(later, known=[Slope])
    with pytest.raises(gf.InvalidInput, match="known"):
        gf.Campaign.resume(later, known=[Slope(2.0)])
    with pytest.raises(gf.JournalError, match="no state"):
        Codec().decode({"object": "gainful.kernels.SE"})


# Values


class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1
    BLUE = "b"


class Level(enum.IntEnum):
    LOW = 0


class Parts(enum.Flag):
    A = 1
    B = 2


Pair = namedtuple("Pair", ["a", "b"])


class Text(str):
    pass


EXACT = [
    *(None, True, False, 0, 1, -1, 2**53 + 1, -(2**64), 10**3000, "", "x", "µ", "\ud800", "a\udc00b", "\0", "\u2028"),
    *(0.1, -0.0, 1e-320, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 5e-324),
    *(
        (),
        [],
        {},
        set(),
        frozenset(),
        ((),),
        [[]],
        (1, 1.0, True),
        [1, (2, [3])],
        (0.5, -0.0),
        [0.5, 1.0],
        (1e308, 1e308),
    ),
    {1: "a", "1": "b", (2, 3): None, 2.5: [], None: {}, False: 0},
    {"b": 1, "a": 2},
    *({1, "a", 2.5, (1, 2)}, frozenset({frozenset({1}), frozenset()}), {-0.0}),
    *(np.float64(0.1), np.float32(0.1), np.float16(0.1), np.int64(3), np.uint8(255), np.bool_(True), np.float64("nan")),
    np.linspace(0, 1, 6).reshape(2, 3),
    np.array([[1.5, np.nan], [-np.inf, -0.0]]),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    *(
        np.array(3.0),
        np.zeros((0, 3)),
        np.zeros((2, 0)),
        np.array([True, False]),
        np.array([2**63, 1], dtype=np.uint64),
    ),
    *(np.array([-5], dtype=np.int8), np.array([0.1], dtype=np.float32), np.array([6e4], dtype=np.float16)),
    *(Colour.RED, Colour.CRIMSON, Colour.BLUE, Level.LOW, Parts.A, gf.SE, float, Colour),
    {"type": "gainful.kernels.SE", "fields": {}},
    {"number": "inf", "list": [1]},
    *(gf.SE((0.1, -0.0 + 0.2)), gf.Within(x=(None, 0.5)), gf.Point(np.float32(0.5), cost=np.int64(2))),
]
KNOWN = [Colour, Level, Parts, float, Weighted]


@pytest.mark.parametrize("value", EXACT, ids=label)
def test_a_value_comes_back_the_same_in_type_and_bits(value):
    for each in (value, [value], (value,), {"k": value}, Weighted(value)):
        assert same(through_text(each, KNOWN), each)


def test_a_matrix_comes_back_in_the_order_it_had_in_memory():
    rows = np.asfortranarray(np.random.default_rng(0).random((5, 4)))
    assert through_text(rows).flags.f_contiguous
    assert through_text(rows.copy(order="C")).flags.c_contiguous
    assert same(through_text(rows[::2]), rows[::2])


def test_a_set_is_written_in_one_order():
    words = [f"w{i}" for i in range(50)]
    assert encode(set(words)) == encode({*words[20:], *words[:20]}) == {"set": sorted(words)}


def count(posterior):
    return 1.0


REFUSED = [
    *(1j, np.complex128(1), b"x", bytearray(b"x"), range(3), slice(1), ..., NotImplemented, object(), math),
    *(Path("x"), Fraction(1, 3), Decimal("0.1"), datetime.date(2024, 1, 1), datetime.timedelta(1), memoryview(b"")),
    *(Pair(1, 2), Text("x"), Counted(2), OrderedDict(a=1), MappingProxyType({}), Parts.A | Parts.B, iter(())),
    *(np.array(["a"]), np.array([None]), np.array([1j]), np.arange(3.0).astype(">f8"), np.array("2024", dtype="M8[D]")),
    *(np.ma.array([1.0]), np.str_("x"), np.longdouble(1), np.zeros(1, dtype=[("a", float)]), np.random.default_rng(0)),
    *(10**4500, "\ud83d\ude00", (i for i in ())),
    *(functools.partial(count, 3), [].append, "x".upper, Left().score, Slope(1.0).score, property(count)),
]  # fmt: skip


@pytest.mark.parametrize("value", REFUSED, ids=lambda v: type(v).__name__)
def test_what_would_not_come_back_is_refused_with_its_part_and_a_remedy(value):
    for at, each in ((r"weights", Weighted(value)), (r"weights\[1\]", Weighted((1, value)))):
        with pytest.raises(gf.InvalidInput, match=rf"^{at}: expected .*; \w+"):
            write_down(each)
    with pytest.raises(gf.InvalidInput, match=r"^goal\.weights: "):
        gf.Campaign(POOL, LAB, GP, Weighted(value))


def test_values_without_end_are_refused():
    endless = []
    endless.append(endless)
    ring: dict[str, Any] = {}
    ring["again"] = ring
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    for value in (endless, ring, deep, Weighted(deep)):
        with pytest.raises(gf.InvalidInput, match="contains itself"):
            write_down(value)
    while deep:  # as deep as this, Python cannot take it apart by itself
        (deep,) = deep


def test_a_sum_of_many_kernels_comes_back():
    kernel = gf.SE(0.1)
    for i in range(200):
        kernel = kernel + gf.SE(0.1 + i)
    assert through_text(gf.GP(kernel)) == gf.GP(kernel)


# Dataclasses of every sort


@dataclass(frozen=True)
class Derived:
    size: int
    twice: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "twice", 2 * self.size)
        object.__setattr__(self, "beside", np.arange(self.size))


@dataclass(frozen=True)
class Normalising:
    name: str
    weights: Any

    def __post_init__(self):
        object.__setattr__(self, "name", self.name.strip())
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))


@dataclass(frozen=True, kw_only=True, slots=True)
class Keywords:
    a: int
    b: Any = ()


@dataclass
class Optional:
    size: int
    scale: InitVar[float] = 1.0

    def __post_init__(self, scale):
        self.scaled = scale * self.size


@dataclass
class Needing:
    size: int
    scale: InitVar[float]

    def __post_init__(self, scale):
        self.size = int(scale * self.size)


@dataclass(init=False)
class OwnWay:
    a: int
    b: int

    def __init__(self, both):
        self.a = self.b = both


@dataclass
class Drifting:
    level: float

    def __post_init__(self):
        self.level += 1.0


class Undecorated(gf.SE):
    """Fields of gainful's, and no more."""


class Named(gf.Space):
    """A box that is made by the constructor of gainful's."""


@dataclass
class Listed(list):
    a: int = 0


def with_extra():
    value = Undecorated(0.2)
    object.__setattr__(value, "extra", 3)
    return value


def without_a_field():
    value = Keywords(a=1)
    object.__delattr__(value, "a")
    return value


def spoilt():
    value = Derived(2)
    object.__setattr__(value, "twice", 5)
    return value


@pytest.mark.parametrize(
    "value",
    [
        *(Derived(3), Normalising(" a ", [1, 2]), Keywords(a=1, b=(2.5,)), Optional(3), Undecorated(0.2)),
        *(gf.SE(0.2), Named(gf.Real("x", 0, 1))),
    ],
    ids=label,
)
def test_a_dataclass_comes_back_as_it_is(value):
    if isinstance(value, gf.SE):
        assert value.size == 2  # a cached property is no state
    assert same(through_text(value, [type(value)]), value)
    assert type(through_text(value, [type(value)])) is type(value)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        *((with_extra(), r"weights\.extra"), (without_a_field(), r"weights\.a"), (spoilt(), r"weights\.twice")),
        *((Optional(3, scale=2.0), r"weights\.scaled"), (Needing(3, scale=2.0), "weights"), (OwnWay(3), "weights")),
        *((Drifting(1.0), r"weights\.level"), (Listed(4), "weights")),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_dataclass_that_would_come_back_different_is_refused(value, part):
    with pytest.raises(gf.InvalidInput, match=rf"^goal\.{part}: "):
        gf.Campaign(POOL, LAB, GP, Weighted(value))


# Functions


def nested(level):
    def part(X):
        return X[:, 0] > level

    return part


@functools.cache
def cached(posterior):
    return 1.0


@pytest.mark.parametrize(
    "function", [count, nested(0.5), lambda X: X, cached, np.sin, math.sqrt, dict.fromkeys, Codec.__init__], ids=label
)
def test_a_function_is_handed_over_as_it_was_supplied(function):
    written = json.loads(json.dumps(write_down(Weighted(function))))
    assert Codec([Weighted, function]).decode(written).weights is function
    with pytest.raises(gf.JournalError, match=r"weights.*a function that is not gainful's own.*known=\["):
        Codec([Weighted]).decode(written)


def test_two_functions_of_one_name_are_refused_with_the_part_and_the_remedy():
    with pytest.raises(gf.InvalidInput, match=r"goal\.weights\[1\]: .*<lambda> twice; rename"):
        gf.Campaign(POOL, LAB, GP, Weighted((lambda x: x, lambda x: 2 * x)))
    limits = {"lab": nested(0.2), "look": nested(0.4)}
    with pytest.raises(gf.InvalidInput, match=r"limits\['look'\]: .*part twice; rename"):
        gf.Campaign(SPACE, [LAB, gf.Binary(name="look")], GP, limits=limits)
    one = nested(0.3)
    assert write_down((one, one))  # one function, twice


def test_what_is_supplied_has_to_be_told_apart():
    with pytest.raises(gf.InvalidInput, match=r"known: .*part twice"):
        Codec([nested(0.1), nested(0.2)])


# What a file may say


def trap(*_, **__):
    raise AssertionError("called")


class Trap:
    def __init__(self, *_, **__):
        raise AssertionError("built")


def typed(kind, **given):
    return {"type": kind, "fields": given}


def numbers(rows, shape=(1,), dtype="float64", **more):
    return {"array": rows, "shape": list(shape) if isinstance(shape, tuple) else shape, "dtype": dtype, **more}


MINE = f"{__name__}:"
UNKNOWN = [None, 3, [], {}, ["gainful.kernels.SE"], "os.system", "builtins.eval", "builtins:eval", "antigravity:fly"]
NO_VALUES = [
    *("kernels.Kernel", "instruments.Instrument", "kernels.base.SE", "kernels.stationary.SE", "inference.Posterior"),
    *(
        "campaign.Campaign",
        "space.evenly",
        "acquisition.score",
        "acquisition.Strategy",
        "selection.Option",
        "SE",
        "x.SE",
    ),
]
HOSTILE = [
    *(typed(name) for name in [*UNKNOWN, "", ":", "a:", f"{MINE}trap", f"{MINE}Trap"]),
    *(typed(f"gainful.{name}") for name in NO_VALUES),
    *(typed("gainful.kernels.SE", **given) for given in ({}, {"lengthscale": 1.0}, {"variance": 1.0})),
    *({"type": "gainful.kernels.SE", "fields": given} for given in ([], None, "lengthscale")),
    typed("gainful.kernels.SE", lengthscale=1.0, variance=1.0, __class__="x"),
    *(typed("gainful.kernels.SE", lengthscale=x, variance=1.0) for x in ("a", None, -1.0, {}, [], [[]])),
    *(typed("gainful.space.Space", dimensions=x) for x in (None, [], 3, {"mapping": []}, ["x"])),
    *(typed("gainful.space.Within", ends=x) for x in (None, [], 3, [["x"]], [["x", "a", 1]])),
    typed("gainful.instruments.Likelihood", functions=[], possible="real", cost=1.0, name=None),
    typed("gainful.space.Pool", places=numbers(1.0, ()), names=[]),
    *(numbers(x, (2,)) for x in ([1.0], [1.0, "2.0"], [1.0, 2], [1.0, None], [[1.0], [2.0]], 3, {})),
    *(numbers([], shape) for shape in ([0, 10**30], [-1], ["0"], 0, None, [0.0], [False], [0] * 99)),
    *(numbers([1], dtype=d) for d in ("O", "object", "U9", "float65", "float64", None, [], {}, "i8,f4")),
    *(numbers([x], dtype="int8") for x in (300, 10**40, 1.0, True, "1", {"number": "nan"})),
    *(numbers([0.1], dtype=d) for d in ("float32", "float16", "bool", "int64")),
    numbers([1.0], order="K"),
    *({"scalar": x, "dtype": "float64"} for x in ("1", [1.0], None, 1, {"number": "1"})),
    *({"number": x} for x in ("1", "Infinity", None, [], 3.0, "nan(3)")),
    *({form: x} for form in ("list", "set", "frozenset", "mapping") for x in (None, 3, "ab", {}, {"list": []})),
    *({form: [{"list": []}]} for form in ("set", "frozenset")),
    *({"set": [1, 1]}, {"set": [1, 1.0]}, {"mapping": [[1, 2], [1, 3]]}, {"mapping": [[{"list": []}, 1]]}),
    *({"mapping": x} for x in ([1], [[1]], [[1, 2, 3]], ["ab"], [{"list": [1, 2]}])),
    *({"enum": x, "member": "RED"} for x in (None, "gainful.kernels.SE", f"{MINE}Trap", f"{MINE}trap")),
    *({"enum": f"{MINE}Colour", "member": x} for x in (None, "GREEN", "mro", "__class__", [], 1)),
    *({form: x} for form in ("class", "function", "object") for x in UNKNOWN),
    *({"object": f"{MINE}{x}"} for x in ("trap", "Trap", "Weighted", "Colour")),
    *({"function": f"{MINE}Trap"}, {"class": f"{MINE}trap"}, {}, {"type": "gainful.kernels.SE"}, {"fields": {}}),
    *({"supplied": "os.system"}, {"__reduce__": []}, {"number": "inf", "list": []}, {"type": 1, "fields": 2, "x": 3}),
    *(math.nan, math.inf, (1,), {1: 2}, b"x", object()),  # nothing that JSON has
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=label)
def test_whatever_a_file_says_nothing_is_imported_or_called(data, monkeypatch):
    imported = []
    real = builtins.__import__

    def watched(name, *args, **named):
        imported.append(name)
        return real(name, *args, **named)

    known = [trap, Trap, Weighted, Colour]
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", watched)
        patch.setattr(importlib, "import_module", trap)
        for wrapped in (
            data,
            [1, data],
            {"list": [data]},
            {"type": f"{__name__}:Weighted", "fields": {"weights": data}},
        ):
            with pytest.raises(gf.JournalError, match=r"cannot be read: ."):
                Codec(known).decode(wrapped)
    assert not {name.partition(".")[0] for name in imported} & {"os", "builtins", "antigravity", "gainful"}
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("wrap", [lambda d: [d], lambda d: {"list": [d]}, lambda d: {"mapping": [[1, d]]}])
@pytest.mark.parametrize("depth", [400, 100_000])
def test_data_that_is_nested_without_end_is_refused(wrap, depth):
    data: Any = 1
    for _ in range(depth):
        data = wrap(data)
    try:
        with pytest.raises(gf.JournalError, match=r"levels|deep"):
            Codec().decode(data)
    finally:
        while data != 1:  # as deep as this, Python cannot take it apart by itself
            data = data[0] if isinstance(data, list) else data.get("list", data.get("mapping"))
            data = data[1] if isinstance(data, list) and len(data) == 2 else data


def test_a_journal_that_names_anything_but_a_design_is_refused():
    campaign = gf.Campaign(POOL, LAB, GP)
    for change in (
        ("gainful.campaign.Design", "os.system"),
        ("gainful.acquisition.PerCost", "gainful.acquisition.score"),
        ("gainful.campaign.Design", "gainful.kernels.SE"),
        ("gainful.kernels.SE", "gainful.kernels.Kernel"),
        ('"goal": {"type"', '"goal": {"no type"'),
        ('"stop": []', '"stop": [1.0]'),
        ('"kernel": {"type": "gainful.kernels.SE"', '"kernel": {"type": "gainful.means.Zero"'),
    ):
        with pytest.raises(gf.JournalError):
            gf.Campaign.resume(copy_of(campaign, lambda text, change=change: text.replace(*change)))


# At random


def anything(rng, depth=0):
    """A value of any sort, with others in it."""
    few = int(rng.integers(0, 4))
    leaves = [
        lambda: None,
        lambda: bool(rng.integers(2)),
        lambda: int(rng.integers(-9, 9)) ** int(rng.integers(1, 40)),
        lambda: float(np.frombuffer(rng.bytes(8), dtype=float)[0]),
        lambda: float(rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-310, 0.1])),
        lambda: "".join(chr(int(c)) for c in rng.choice([0, 34, 92, 97, 0x3BC, 0xD83D, 0xDE00, 0x1F600], few)),
        lambda: EXACT[int(rng.integers(len(EXACT)))],
        lambda: REFUSED[int(rng.integers(len(REFUSED)))] if rng.random() < 0.1 else 1,
        lambda: rng.normal(size=rng.integers(0, 4, few)).astype(rng.choice(["f2", "f4", "f8", "i1", "u8", "?"])),
        lambda: np.dtype(rng.choice(["f2", "f4", "f8", "i8", "?"])).type(rng.normal()),
    ]
    if depth > 4 or rng.random() < 0.3:
        return leaves[int(rng.integers(len(leaves)))]()

    def more():
        return anything(rng, depth + 1)

    def key():
        each = more()
        try:
            hash(each)
        except TypeError:
            return repr(type(each))
        return each

    branches = [
        lambda: tuple(more() for _ in range(few)),
        lambda: [more() for _ in range(few)],
        lambda: {key(): more() for _ in range(few)},
        lambda: {key() for _ in range(few)},
        lambda: frozenset(key() for _ in range(few)),
        lambda: Weighted(more()),
        lambda: Keywords(a=more(), b=more()),
        lambda: tuple(rng.normal(size=few).tolist()),
    ]
    return branches[int(rng.integers(len(branches)))]()


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
@pytest.mark.parametrize("seed", range(20))
def test_any_value_comes_back_the_same_or_is_refused(seed):
    rng = np.random.default_rng(seed)
    written = 0
    for _ in range(100):
        value = anything(rng)
        try:
            data = write_down(value)
        except gf.InvalidInput:
            continue
        again = Codec([*KNOWN, Keywords]).decode(json.loads(to_text({"v": data}))["v"])
        assert same(again, value)
        assert encode(again) == data
        written += 1
    assert written > 50


@pytest.mark.parametrize("seed", range(20))
def test_a_design_with_anything_changed_in_it_is_read_or_refused_as_a_journal(seed):
    """Parts of a design are exchanged, taken away or replaced: it is another design, or a JournalError."""
    rng = np.random.default_rng(seed)
    goal = gf.PerCost(gf.Learn(gf.Region([[0.1], [0.2]], answers=gf.Point(0.1))))
    kernel = gf.SE((0.2,)).on(["x"]) * gf.Matern(0.3) + 2.0
    gp = gf.GP(kernel, gf.LinearMean([1.0], 2.0), {"Matern.variance": gf.LogNormal(0, 1)}, SPACE)
    (created,) = gf.Campaign(
        SPACE.where(gf.Within(x=(0, 0.9))), [LAB, gf.Ordinal([0.0, 1.0])], gp, goal
    ).journal.events()
    for _ in range(30):
        data = json.loads(json.dumps(created))
        spots = list(every_spot(data["design"]))
        (holder, key), (other, its) = (spots[int(i)] for i in rng.integers(len(spots), size=2))
        match int(rng.integers(4)):
            case 0:
                holder[key] = json.loads(json.dumps(other[its]))
            case 1 if isinstance(holder, dict):
                del holder[key]
            case 2:
                holder[key] = HOSTILE[int(rng.integers(len(HOSTILE) - 6))]  # of what JSON has
            case _:
                holder[key] = [holder[key]]
        journal = gf.campaign.MemoryJournal()
        journal.append(data)
        with contextlib.suppress(gf.JournalError):
            assert isinstance(gf.Campaign.resume(journal), gf.Campaign)


def every_spot(data):
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from every_spot(data[key])


def test_the_places_of_a_pool_are_rows_of_numbers_in_the_journal():
    places = np.random.default_rng(0).random((1000, 3))
    (created,) = gf.Campaign(gf.Pool(places), LAB, GP).journal.events()
    written = created["design"]["fields"]["space"]["fields"]["places"]
    assert written == {"array": places.tolist(), "shape": [1000, 3], "dtype": "float64"}
