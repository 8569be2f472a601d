"""Study files: what they can say, and that whatever is wrong is said with its key, its line and what to do."""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gainful as gf
from gainful.studies import Study, default_model, read_study
from gainful.studies.study import TEMPLATE
from gainful.studies.toml_lines import lines_of

GOOD = """\
[study]
title = "A reactor"
goal = "maximise"
evaluations = 12
seed = 4
initial = 5

[space]
temperature = { low = 20, high = 90, unit = "°C" }
rate = { low = 1e-4, high = 1.0, log = true }
stages = { kind = "integer", low = 1, high = 8 }
solver = { levels = ["adam", "sgd"] }
momentum = { low = 0.0, high = 0.9, when = { solver = "sgd" } }
size = { levels = ["small", "large"], ordered = true }
pressure = { value = 1.5, unit = "bar" }
mix = { parts = ["water", "oil"], total = 1, low = { water = 0.2 } }

[[limits]]
weights = { temperature = 1, stages = 10 }
most = 120

[instruments.plant]
command = ["./simulate"]
noise = 0.5
unit = "%"
cost = 3
timeout = 2.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "model.py").write_text("def loss(place):\n    return place['x']\n\nvalue = 3\n")
    return tmp_path


def study(folder: Path, text: str) -> Study:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def test_a_file_says_what_a_space_can_say(folder):
    read = study(folder, GOOD)
    assert (read.title, read.goal, read.evaluations, read.seed, read.initial) == ("A reactor", "maximise", 12, 4, 5)
    assert read.space == gf.Space(
        gf.Real("temperature", 20, 90, unit="°C"),
        gf.Real("rate", 1e-4, 1.0, log=True),
        gf.Integer("stages", 1, 8),
        gf.Categorical("solver", ["adam", "sgd"]),
        gf.Real("momentum", 0.0, 0.9, when={"solver": "sgd"}),
        gf.Categorical("size", ["small", "large"], ordered=True),
        gf.At("pressure", 1.5, unit="bar"),
        gf.Proportions(["water", "oil"], 1, low={"water": 0.2}),
    ).where(gf.LinearLimit({"temperature": 1, "stages": 10}, most=120))
    (plant,) = read.instruments
    assert plant.instrument == gf.Point(0.5, name="plant", unit="%", cost=3)
    assert plant.command is not None
    assert plant.command.timeout == 2.5
    assert read.require_end() == 1
    assert read.design().seed == 4


def test_the_template_is_a_study_once_its_program_is_there(folder):
    (folder / "simulate.py").write_text("")
    read = study(folder, TEMPLATE)
    assert read.goal == "minimise"
    uncommented = TEMPLATE.replace("\n# ", "\n").replace("A study for", "# A study for").replace('function = "', '# "')
    whole = study(folder, uncommented.replace('catalyst}",\n', 'catalyst}",\n    "{hydrogen}{water}{ethanol}",\n'))
    assert len(whole.space.names) == 8  # every line that is only suggested can be taken as it is


def test_the_studies_of_the_guide_are_studies(folder):
    page = (Path(__file__).parents[2] / "docs" / "optimise.md").read_text(encoding="utf-8")
    found = re.findall(r"^```toml\n(.+?)^```$", page, re.M | re.S)
    assert found
    for text in found:
        read = study(folder, text)
        assert read.require_command()
        assert read.design().places is read.space


WRONG = [
    ('goal = "maximise"', 'gaol = "maximise"', "study.gaol, line 3", "did you mean goal?"),
    ('goal = "maximise"', "goal = 3", "study.goal, line 3", "minimise, maximise"),
    ("evaluations = 12", "evaluations = 1.5", "study.evaluations, line 4", "a whole number, at least 1"),
    ("seed = 4", "seed = -4", "study.seed, line 5", "a whole number, at least 0"),
    ("low = 20, high = 90", "low = 90, high = 20", "space.temperature.low, line 9", "low < high"),
    ("low = 20, high = 90", "low = 20, hihg = 90", "space.temperature.hihg, line 9", "did you mean high?"),
    ("low = 20, high = 90", "low = 20", "space.temperature, line 9", "the key high"),
    ('unit = "°C"', "unit = 3", "space.temperature.unit, line 9", "text"),
    ("low = 1e-4", "low = 0", "space.rate.low, line 10", "a number above 0, where log = true"),
    ("log = true", 'log = "yes"', "space.rate.log, line 10", 'true or false, got the text "yes"; true for'),
    ('kind = "integer"', 'kind = "int"', "space.stages.kind, line 11", "one of real, integer, categorical"),
    ("low = 1, high = 8", "low = 1.5, high = 8", "space.stages.low, line 11", "a whole number"),
    ('["adam", "sgd"]', '["adam"]', "space.solver.levels, line 12", "two or more distinct levels"),
    ('{ solver = "sgd" }', '{ solvr = "sgd" }', "space.momentum.when.solvr, line 13", "did you mean solver?"),
    ('{ solver = "sgd" }', '{ cat = "a" }', "space.momentum.when.cat, line 13", "there is no cat"),
    ('{ solver = "sgd" }', '{ size = "small" }', "space.momentum.when.size, line 13", "put it above momentum"),
    ('{ solver = "sgd" }', "{ rate = 1 }", "space.momentum.when.rate, line 13", "not whole"),
    ('{ solver = "sgd" }', "3", "space.momentum.when, line 13", "a table of conditions"),
    ('{ solver = "sgd" }', '{ solver = "sdg" }', "space.momentum.when.solver, line 13", "one of ['adam', 'sgd']"),
    ("most = 120", "most = 10", "limits[1], line 18", "a limit that some place keeps"),
    ("stages = 10", "solver = 1", "limits[1].weights.solver, line 19", "solver, a category"),
    (
        '["water", "oil"]',
        '["water", "rate"]',
        "space.mix.parts, line 16",
        "names that no other dimension has, got rate",
    ),
    ("{ levels =", "{ level =", "space.solver.level, line 12", "did you mean levels?"),
    ("seed = 4", "trust = true", "study.trust, line 5", "did you mean trust_region?"),
    ("timeout = 2.5", 'timeout = "2"', "instruments.plant.timeout, line 27", 'got the text "2"'),
    ("noise = 0.5", 'noise = "a"', "instruments.plant.noise, line 24", 'got the text "a"; write it without quotes'),
    ("evaluations = 12", "evaluations = true", "study.evaluations, line 4", "got true"),
    ("low = 20, high = 90", "low = 20, high = 20", "space.temperature.low, line 9", "temperature = { value = 20 }"),
    ("seed = 4", "seed = 100000000000", "study.seed, line 5", "at least 0 and at most 1000000000"),
    ('["./simulate"]', '["python3", "no.py"]', "instruments.plant.command[2], line 23", "a script that is there"),
    ("ordered = true", "order = true", "space.size.order, line 14", "did you mean ordered?"),
    ("total = 1", "total = -1", "space.mix.total, line 16", "a finite positive number"),
    ("low = { water = 0.2 }", "low = { wter = 0.2 }", "space.mix.low, line 16", "names among"),
    ("pressure =", "rate2 = 3\npressure =", "space.rate2, line 15", "a table"),
    ("stages = 10", "stage = 10", "limits[1], line 18", "a coordinate among"),
    ("most = 120", "moast = 120", "limits[1].moast, line 20", "did you mean most?"),
    ("most = 120", "", "limits[1], line 18", "at least one of them"),
    ('"./simulate"', '"./simulat"', "instruments.plant.command[1], line 23", "a program"),
    ('"./simulate"', '"./simulate", "{temp}"', "instruments.plant.command[2], line 23", "a dimension in braces"),
    ('"./simulate"', '"./simulate", "{temp"', "instruments.plant.command[2], line 23", "braces in pairs"),
    ('"./simulate"', '"./simulate", "{rate}"', "instruments.plant.command, line 23", "{temperature} too"),
    ('["./simulate"]', '"./simulate"', "instruments.plant.command, line 23", "a list of words"),
    ('"./simulate"', '"./simulate", 3', "instruments.plant.command[2], line 23", "text"),
    ("noise = 0.5", "noise = -0.5", "instruments.plant.noise, line 24", "noise"),
    ("noise = 0.5", "nose = 0.5", "instruments.plant.nose, line 24", "did you mean noise?"),
    ("timeout = 2.5", "timeout = 0", "instruments.plant.timeout, line 27", "a positive number of seconds"),
    ("timeout = 2.5", 'function = "m:f"', "instruments.plant.function, line 27", "a command or a function"),
    ("[instruments.plant]", "[instrument.plant]", "instrument, line 22", "did you mean instruments?"),
    ("[study]", "seed = 1\n[study]", "seed, line 1", "put it under [study]"),
    ("cost = 3", "cost = 3\n[extra]", "extra, line 27", "one of the keys study, space, limits, instruments"),
]


@pytest.mark.parametrize(("old", "new", "where", "words"), WRONG, ids=[new[:40] for _, new, _, _ in WRONG])
def test_what_is_wrong_is_said_with_its_key_its_line_and_what_to_do(folder, old, new, where, words):
    assert GOOD.count(old) >= 1
    with pytest.raises(gf.InvalidInput) as caught:
        study(folder, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"study.toml, {where}: expected ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[study\n", r"a file in the form of TOML, got .*at line 1"),
        (b"[study]\ngoal = minimise\n", r"at line 2"),
        (b"", r"line 1: expected the key study"),
        (b"[study]\n", r"line 1: expected the key space"),
        (b"[study]\n[space]\n", r"space, line 2: expected at least one dimension"),
        (b"[study]\n[space]\nx={low=0,high=1}\n", r"line 1: expected the key instruments"),
        (b"[study]\ntitle = '\xff'\n", r"line 2: expected text in UTF-8"),
    ],
)
def test_a_file_that_is_none_or_incomplete_is_refused(tmp_path, text, words):
    path = tmp_path / "study.toml"
    path.write_bytes(text)
    with pytest.raises(gf.InvalidInput, match=words):
        read_study(path)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(gf.InvalidInput, match="No such file"):
        read_study(tmp_path / "nowhere.toml")


SMALL = '[study]\ngoal = "{goal}"\n[space]\nx = {{ low = 0, high = 1 }}\n[instruments.f]\n{how}\n'


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("modl:loss", "No module named 'modl'"),
        ("model:lost", "has no attribute 'lost'"),
        ("model:value", "which cannot be called"),
        ("model", 'a function as "module:name"'),
        (":loss", 'a function as "module:name"'),
    ],
)
def test_a_function_that_cannot_be_imported_is_refused_before_anything_is_evaluated(folder, named, words):
    with pytest.raises(gf.InvalidInput) as caught:
        study(folder, SMALL.format(goal="minimise", how=f'function = "{named}"'))
    assert "instruments.f.function, line 6" in str(caught.value)
    assert words in str(caught.value)


def test_the_form_is_shared_and_what_an_optimisation_needs_is_asked_for_by_it(folder):
    learning = study(folder, SMALL.format(goal="learn", how='kind = "binary"'))
    assert learning.instruments[0].instrument == gf.Binary(name="f")
    with pytest.raises(gf.InvalidInput, match=r"study.goal, line 2: expected minimise or maximise, got learn"):
        learning.require_end()
    with pytest.raises(gf.InvalidInput, match=r"instruments.f.kind, line 6: expected point or robust"):
        learning.require_command()
    by_hand = study(folder, SMALL.format(goal="minimise", how="noise = 1"))
    with pytest.raises(gf.InvalidInput, match=r"instruments.f, line 5: expected a command or a function to evaluate"):
        by_hand.require_command()


def test_only_what_matters_binds_a_run(folder):
    before = study(folder, GOOD).matters
    free = [("evaluations = 12", "evaluations = 99"), ('"A reactor"', '"B"'), ("timeout = 2.5", "timeout = 9")]
    for old, new in [*free, ("seed = 4", "seed=4 # as before")]:
        assert study(folder, GOOD.replace(old, new)).matters == before
    for old, new in (("high = 90", "high = 91"), ('"./simulate"', '"./simulate", "-v"'), ("seed = 4", "")):
        assert study(folder, GOOD.replace(old, new)).matters != before


def test_every_key_is_found_in_the_line_where_it_stands():
    text = '''# a comment with [brackets] = and "quotes"
top = """
not = a key
[nor a table]
"""

[a."b c"]  # comment
"key with = sign" = 1
lit = 'x # y'
nested = { p = [1, {q = 2}], r = "},]" }
many = [
  # inside
  "one",
  [2, 3],
]
a.b.c = true

[[rows]]
v = 1
[rows.sub]
w = 2
[[rows]]
v = 3
'''
    found = lines_of(text)
    lines = text.splitlines()
    assert found["top",] == 2
    assert found["a", "b c"] == 7
    assert found["a", "b c", "key with = sign"] == 8
    assert found["a", "b c", "nested", "p", 1, "q"] == 10
    assert found["a", "b c", "nested", "r"] == 10
    assert (found["a", "b c", "many", 0], found["a", "b c", "many", 1]) == (13, 14)
    assert found["a", "b c", "a", "b", "c"] == 16
    assert (found["rows", 0, "v"], found["rows", 0, "sub", "w"], found["rows", 1, "v"]) == (19, 21, 23)
    assert all(str(path[-1]) in lines[line - 1] for path, line in found.items() if isinstance(path[-1], str))


KEY = st.text("abc \"'=#.[]{}é", min_size=1, max_size=6)
VALUE = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text("ab#=[]{},'\"\n\\", max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEY, inner, max_size=3)),
    max_leaves=6,
)


def written(value: object) -> str:
    """TOML of a value, all on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(k)} = {written(v)}" for k, v in value.items()) + "}"
    return str(value)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(KEY, VALUE, min_size=1, max_size=5), st.lists(st.sampled_from(["", "# x = [", "  "]), max_size=3)
)
def test_the_lines_of_keys_are_those_that_they_were_written_to(table, blanks):
    lines, expected = list(blanks), {}
    for key, value in table.items():
        lines.append(f"{written(key)} = {written(value)}")
        expected[key] = len(lines)
        lines.extend(blanks)
    text = "\n".join(lines)
    assert tomllib.loads(text) == table
    found = lines_of(text)
    escaped = {path: line for path, line in found.items() if len(path) == 1}
    assert sorted(escaped.values()) == sorted(expected.values())
    for key, line in expected.items():
        if "\\" not in written(key) and '"' not in key:
            assert found[key,] == line


def test_a_sum_is_a_model_of_a_study(tmp_path):
    path = tmp_path / "study.toml"
    head = '[study]\ngoal = "maximise"\nmodel = "sum"\n[space]\na = { low = 0, high = 1 }\n'
    text = f'{head}[instruments.lab]\ncommand = ["python3", "{{a}}"]\n'
    path.write_text(text, encoding="utf-8")
    design = read_study(path).design()
    assert isinstance(design.model, gf.Partitions)
    assert design.goal == gf.acquisition.LogExpectedImprovement(sign=1)
    path.write_text(text.replace('"sum"', '"product"'), encoding="utf-8")
    with pytest.raises(gf.InvalidInput, match=r"line 3.*one of auto, gp, sum"):
        read_study(path)


@pytest.mark.parametrize(
    ("many", "said", "goal", "model"),
    [
        (7, "", "minimise", gf.GP),
        (8, "", "minimise", gf.Partitions),
        (8, "", "learn", gf.GP),
        (8, 'model = "gp"', "maximise", gf.GP),
    ],
)
def test_the_optimum_of_eight_numbers_or_more_is_sought_in_a_sum_unless_the_file_says_otherwise(
    tmp_path, many, said, goal, model
):
    path = tmp_path / "study.toml"
    space = "".join(f"x{i} = {{ low = 0, high = 1 }}\n" for i in range(many))
    head = f'[study]\ngoal = "{goal}"\n{said}\n[space]\n{space}'
    path.write_text(f'{head}[instruments.lab]\ncommand = ["true"]\n', encoding="utf-8")
    assert isinstance(read_study(path).design().model, model)


def test_numbers_are_counted_that_vary_whatever_is_beside_them():
    numbers = [gf.Real(f"x{i}", 0, 1) for i in range(8)]
    kind, fixed = gf.Categorical("kind", ["a", "b"]), gf.At("fixed", 1.0)
    for beside in ([], [fixed], [kind], [fixed, kind], [gf.Integer("n", 1, 3)]):
        assert isinstance(default_model(gf.Space(*numbers, *beside)), gf.Partitions)
        assert isinstance(default_model(gf.Space(*numbers[:6], *beside)), gf.GP)
    assert isinstance(default_model(gf.Space(*numbers[:7], kind)), gf.GP)  # of which seven are numbers


def test_numbers_that_are_not_always_there_or_share_a_total_are_no_sum():
    numbers, kind = [gf.Real(f"x{i}", 0, 1) for i in range(8)], gf.Categorical("kind", ["a", "b"])
    assert isinstance(default_model(gf.Space(*numbers, kind, gf.Real("h", 0, 1, when={"kind": "a"}))), gf.GP)
    assert isinstance(default_model(gf.Space(*numbers, gf.Proportions(["u", "v"], total=1))), gf.GP)
    assert isinstance(default_model(gf.Space(*numbers).where(gf.LinearLimit({"x0": 1, "x1": 1}, most=0.5))), gf.GP)
    assert isinstance(default_model(gf.Pool(np.eye(9)[:, :8])), gf.GP)


def test_a_file_with_a_mark_at_its_beginning_is_read(folder):
    (folder / "study.toml").write_text(GOOD, encoding="utf-8-sig")
    assert read_study(folder / "study.toml").space == study(folder, GOOD).space


def test_a_key_of_the_output_is_refused_where_a_function_gives_the_value(folder):
    (folder / "model.py").write_text("def loss(place):\n    return 1.0\n")
    text = GOOD.replace('command = ["./simulate"]', 'function = "model:loss"\nanswer = "x"')
    with pytest.raises(gf.InvalidInput, match=r"plant\.answer, line 24: expected a command .* got a function; take it"):
        study(folder, text)
