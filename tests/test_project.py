"""What the project promises about itself: its files, its version, its public names, the weight of its import."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gainful

ROOT = Path(__file__).resolve().parent.parent
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

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
        folders = [ROOT / name for name in (".ci", "benchmarks", "docs", "examples", "src", "tests")]
        found = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


@pytest.mark.parametrize("name", ["LICENSE", "CITATION.cff", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"])
def test_the_project_has(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8").strip()


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
