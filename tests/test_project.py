"""What the project promises about itself: its files, its version, its public names, the weight of its import."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gainful
import gainful.testing

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = PROJECT["project"]["version"]

# Written in pieces, so that this file does not match itself.
REGISTRY = re.compile(b"|".join([b"pypi" + rb"\.org", b"files" + rb"\.pythonhosted"]))
MACHINE_PATH = re.compile(rb"(?<![\w.])/(?:root|home|work)" + b"/")


def files_of_the_project() -> list[Path]:
    """What git tracks or would track; without git, everything in the folders that the project consists of."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        found = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        folders = [ROOT / name for name in (".ci", ".github", "benchmarks", "docs", "examples", "src", "tests")]
        found = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_licence_is_the_one_that_is_declared() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in text_of("LICENSE").split("\n", 3)[1]
    assert re.search(r"^license: Apache-2\.0$", text_of("CITATION.cff"), re.M)


def test_the_workflow_calls_make_test_on_every_supported_python() -> None:
    workflow = text_of(".github/workflows/test.yml")
    versions = re.findall(r'"3\.(\d+)"', re.search(r"python: \[(.+)\]", workflow)[1])  # type: ignore[index]
    minor = [int(version) for version in versions]
    least = int(re.fullmatch(r">=3\.(\d+)", PROJECT["project"]["requires-python"])[1])  # type: ignore[index]
    assert minor == list(range(least, least + len(minor)))
    assert len(minor) >= 3
    classifiers = " ".join(PROJECT["project"]["classifiers"])
    assert re.findall(r"Python :: 3\.(\d+)", classifiers) in ([], versions)
    assert PROJECT["tool"]["mypy"]["python_version"] == f"3.{least}"
    assert "run: make test " in workflow
    assert re.search(r"^test:", text_of("Makefile"), re.M)


def test_commits_are_checked_as_make_lint_checks() -> None:
    hooks = re.findall(r"entry: \.venv/bin/([\w-]+(?: check| format)?)", text_of(".pre-commit-config.yaml"))
    lint = re.search(r"^lint:.*?\n\n", text_of("Makefile"), re.M | re.S)
    assert lint is not None
    assert hooks == re.findall(r"\$\(BIN\)/([\w-]+(?: check| format)?)", lint[0])
    assert set(re.findall(r"- repo: (\S+)", text_of(".pre-commit-config.yaml"))) == {"local"}


def test_every_room_has_its_floor_in_the_drawing_and_in_the_table() -> None:
    """The floors that import-linter checks, those of the table in CONTRIBUTING and those of the drawing are alike."""
    checked = [re.findall(r"\w+", floor) for floor in PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]]
    floors = [sorted(floor) for floor in checked if floor != ["__main__"]]
    rows = re.findall(r"^\| (`.+?) \| .+\|$", text_of("CONTRIBUTING.md").split("## Names")[0], re.M)
    assert [sorted(re.findall(r"`(\w+)`", row)) for row in rows] == floors
    drawing = re.search(r"```text\n(.+?)```", text_of("docs/architecture.md"), re.S)
    assert drawing is not None
    drawn = [line.split("│", 1)[1].strip() for line in drawing[1].splitlines() if "│" in line]
    names = [re.split(r"\s{2,}", line)[0].split(" · ") for line in drawn]
    assert [sorted(each) for each in names] == floors


def test_files_that_tell_people_what_to_do_name_commands_and_files_that_exist() -> None:
    for name in ["CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md", ".github/ISSUE_TEMPLATE/bug.md"]:
        text = text_of(name)
        paths = re.findall(r"`((?:docs|tests)/[\w/.]*|[A-Z]+\.md)`", text)
        missing = [path for path in paths if not (ROOT / path).exists()]
        assert not missing, f"{name} names {missing}"
        targets = re.findall(r"^([a-z]+):", text_of("Makefile"), re.M)
        unknown = [target for target in re.findall(r"`make (\w+)`", text) if target not in targets]
        assert not unknown, f"{name} names make {unknown}"
        wrong = [check for check in re.findall(r"gainful\.testing\.(\w+)", text) if not hasattr(gainful.testing, check)]
        assert not wrong, f"{name} names gainful.testing.{wrong}"


def test_the_version_is_the_same_everywhere() -> None:
    citation = re.search(r"^version: *(\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    newest = re.search(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert citation is not None
    assert newest is not None
    assert {"CITATION.cff": citation[1], "CHANGELOG.md": newest[1], "gainful": gainful.__version__} == dict.fromkeys(
        ["CITATION.cff", "CHANGELOG.md", "gainful"], VERSION
    )


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE_PATH], ids=["package registry", "machine path"])
def test_no_file_names_a(pattern: re.Pattern[bytes]) -> None:
    found = [str(path.relative_to(ROOT)) for path in files_of_the_project() if pattern.search(path.read_bytes())]
    assert not found


def test_the_public_names_are_the_pinned_ones() -> None:
    lines = (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert pinned == sorted(pinned)
    assert sorted(gainful.__all__) == pinned


def test_importing_gainful_loads_no_optional_or_slow_dependency() -> None:
    heavy = ["matplotlib", "nutpie", "pandas", "scipy.stats", "sklearn"]
    program = f"import sys, gainful; print(*[name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert loaded.split() == []
