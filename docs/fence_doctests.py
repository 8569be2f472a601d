"""Shows the examples of docstrings as code: Markdown would take `>>>` for a quotation of a quotation of a quotation."""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*\n?(?:^(?! *$).*\n?)*", re.M)


class FenceDoctests(griffe.Extension):
    """Puts every run of `>>>` lines, with the output below it, between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(example: re.Match[str]) -> str:
    return indent(f"```pycon\n{dedent(example[0]).rstrip()}\n```\n", example[1])
