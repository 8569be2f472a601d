"""The documentation cannot lie: its code runs, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

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
