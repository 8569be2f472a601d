"""Where the tests find data sets: the folder GAINFUL_DATA, or the one that is shared next to a checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"

if "GAINFUL_DATA" not in os.environ and SHARED.is_dir():
    os.environ["GAINFUL_DATA"] = str(SHARED)


@pytest.fixture
def data_folder() -> Path:
    """The folder of the data files; a test that asks for it is skipped where there is none."""
    if "GAINFUL_DATA" not in os.environ:
        pytest.skip("needs the data files: name their folder in GAINFUL_DATA")
    return Path(os.environ["GAINFUL_DATA"])
