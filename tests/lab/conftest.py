"""Toys can be imported by name, here and in the processes that tests start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)


@pytest.fixture(autouse=True)
def _obedient_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOY_LOG", "TOY_SLEEP", "TOY_FAIL", "TOY_DIE", "TOY_COUNT"):
        monkeypatch.delenv(name, raising=False)
