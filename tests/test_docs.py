"""The documentation cannot lie: its code runs, and its links lead somewhere."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

import gainful
import gainful.acquisition
import gainful.protocols
import gainful.testing

ROOT = Path(__file__).resolve().parent.parent
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.exists()]

FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$", re.M | re.S
)
INLINE_CODE = re.compile(r"`[^`\n]*`")
TARGETS = [
    re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)"),  # [text](target "title") and ![text](target)
    re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?", re.M),  # [text]: target
    re.compile(r"(?:src|href)=[\"']([^\"']+)[\"']"),  # <img src="target">
]
ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#")  # a scheme, a host, or a place on the same page

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


class Block(NamedTuple):
    """One fenced block of Python; `line` is where its code begins in the page, counted from 1."""

    line: int
    code: str


# ::: package.module, and after it the members that are shown; all of __all__ if none are named
DIRECTIVE = re.compile(r"^::: (?P<module>[\w.]+)\n(?: {4}options:\n {6}members: \[(?P<members>[^\]]+)\])?", re.M)

NAME = r"\b[A-ZÀ-Ž][a-zß-ž]+(?:[’'-]?[A-ZÀ-Ža-zß-ž]+)?\b"
CITATION = re.compile(rf"((?:{NAME}, ){{0,2}}{NAME}(?: & {NAME}| et al\.)?),? \(?((?:18|19|20)\d\d)\b")
MONTHS = {"January", "February", "March", "April", "May", "June", "July"} | {
    "August", "September", "October", "November", "December"
}  # fmt: skip


def python_blocks(text: str) -> list[Block]:
    return [
        Block(text.count("\n", 0, fence.start("body")) + 1, dedent(fence["body"]))
        for fence in FENCE.finditer(text)
        if fence["info"].split()[:1] == ["python"]
    ]


def run(page: Path, namespace: dict[str, object]) -> None:
    """Run the blocks of a page in order; every traceback points at a line of the page itself."""
    for block in python_blocks(page.read_text(encoding="utf-8")):
        padded = "\n" * (block.line - 1) + block.code
        try:
            exec(compile(padded, str(page), "exec", dont_inherit=True), namespace)
        except Exception as error:
            error.add_note(f"in the Python block at {page.name}:{block.line}")
            raise


def relative_targets(text: str) -> list[str]:
    prose = INLINE_CODE.sub("", FENCE.sub("", text))
    targets = [target for pattern in TARGETS for target in pattern.findall(prose)]
    return [target.partition("#")[0] for target in targets if not ELSEWHERE.match(target)]


@each_page
def test_every_python_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    try:
        run(page, {"__name__": "__main__"})
    finally:
        plt.close("all")


@each_page
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    missing = [
        target for target in relative_targets(page.read_text(encoding="utf-8")) if not (page.parent / target).exists()
    ]
    assert not missing, f"{page.relative_to(ROOT)} links to what does not exist: {missing}"


def test_blocks_share_a_namespace_and_failures_name_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first, second, other = "x = 1\n", "  x += 1\n  1 / 0\n", "exit 1\n"
    page.write_text(
        f"# Title\n\n```python\n{first}```\n\n- item\n\n  ```python title='b'\n{second}  ```\n\n```sh\n{other}```\n"
    )
    namespace: dict[str, object] = {}
    with pytest.raises(ZeroDivisionError) as caught:
        run(page, namespace)
    last = caught.traceback[-1]
    assert namespace["x"] == 2
    assert (Path(last.path).name, last.lineno + 1) == ("page.md", 11)
    assert caught.value.__notes__ == ["in the Python block at page.md:10"]


def test_relative_targets_are_found_in_prose_and_nowhere_else() -> None:
    text = (
        '[a](one.md#part) ![b](img/two.png "title") [c](https://example.com) [d](#here) `[e](code.md)`\n'
        '<img src="three.svg">\n[f]: four.md\n\n```text\n[g](fenced.md)\n```\n'
    )
    assert sorted(relative_targets(text)) == ["four.md", "img/two.png", "one.md", "three.svg"]


def rendered() -> Iterator[tuple[str, str, object]]:
    """What the reference pages show: the page, the name, and the object behind it."""
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for found in DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
            module = importlib.import_module(found["module"])
            for name in re.findall(r"\w+", found["members"] or "") or module.__all__:
                yield page.name, name, getattr(module, name)


def test_every_public_name_and_protocol_is_on_a_reference_page() -> None:
    shown = {id(each) for _, _, each in rendered()}
    for package in (gainful, gainful.acquisition, gainful.protocols, gainful.testing):
        missing = [name for name in package.__all__ if id(getattr(package, name)) not in shown]
        assert not missing, f"docs/reference has no place for {missing} of {package.__name__}"


def test_no_class_or_function_on_the_reference_pages_is_without_words() -> None:
    silent = [f"{page}: {name}" for page, name, each in rendered() if callable(each) and not inspect.getdoc(each)]
    assert not silent


def test_the_reference_and_the_guide_list_every_strategy_and_what_it_makes() -> None:
    reference, guide = (
        (ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("reference/acquisition.md", "strategies.md")
    )
    listed = dict(re.findall(r"^\| `([a-z0-9-]+)` \| `(.+?)`", reference, re.M))
    strategies = {each.name: each for each in gainful.strategies()}
    assert sorted(listed) == sorted(strategies)
    for name, made in listed.items():
        kind = strategies[name].make.kind
        wanted = kind.__name__ if isinstance(kind, type) else "Learn"  # the one that is made by a function
        assert re.search(rf"\b{wanted}\(", made), f"{name} makes {wanted}, not {made}"
        assert f"`{name}`" in guide, f"docs/strategies.md says nothing of {name}"


def test_modules_and_names_that_the_pages_mention_exist() -> None:
    wrong = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        prose = FENCE.sub("", page.read_text(encoding="utf-8"))
        for path in re.findall(r"`((?:\w+/)+\w+\.py|\w+\.py)`", prose):
            if not any((base / path).is_file() for base in (ROOT, ROOT / "src" / "gainful")) and path != "median.py":
                wrong.append(f"{page.relative_to(ROOT)}: {path}")
        for dotted in re.findall(r"`(gainful(?:\.\w+)+)(?:\(\w*\))?`", prose):
            if not _resolves(dotted):
                wrong.append(f"{page.relative_to(ROOT)}: {dotted}")
    assert not wrong, "\n".join(wrong)


def _resolves(dotted: str) -> bool:
    """Whether a module, or a name in one, is there."""
    for name, rest in ((dotted, None), tuple(dotted.rsplit(".", 1))):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return rest is None or hasattr(module, rest)
    return False


def test_protocols_name_suites_that_exist() -> None:
    suites = set(re.findall(r"gainful\.testing\.(\w+)", gainful.protocols.__doc__ or ""))
    assert suites == set(gainful.testing.__all__)


def test_every_source_that_is_cited_is_among_the_references() -> None:
    entries = re.findall(r"^\| (.+? \d{4}) \| (.+) \|$", (ROOT / "docs" / "references.md").read_text("utf-8"), re.M)
    known = [(key, f"{key} {reference}".lower()) for key, reference in entries]
    unknown = []
    for page in [*PAGES, *sorted((ROOT / "src").rglob("*.py"))]:
        for names, year in CITATION.findall(" ".join(page.read_text(encoding="utf-8").split())):
            authors = re.findall(NAME, names.replace("et al.", ""))
            if set(authors) & MONTHS:
                continue
            if not any(key.endswith(year) and all(each.lower() in entry for each in authors) for key, entry in known):
                unknown.append(f"{page.relative_to(ROOT)}: {names} {year}")
    assert not unknown, "without an entry in docs/references.md:\n" + "\n".join(unknown)


def test_no_source_is_cited_by_a_nickname() -> None:
    nickname = re.compile(r"\b(?:bald|mixed|structure|programs) \d|\b[Ll]ecture\b(?! notes)|\bbald(?: eq|'s)\b")
    pages = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "src").rglob("*.py"))]
    found = [
        f"{page.relative_to(ROOT)}:{number}: {line.strip()}"
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        if nickname.search(line)
    ]
    assert not found, "cite author, year and section:\n" + "\n".join(found)
