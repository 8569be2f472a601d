"""Lets the C library reuse freed memory instead of handing it back to the operating system.

An array of more than 128 kB is handed back to the operating system when it is freed, and the next one of its size is
given fresh pages, each of which costs a fault when first touched: at n = 200 that made an elementwise product of two
matrices five times as dear. The C library stops doing so for sizes up to the largest block that was ever freed, so
one block is allocated (not touched) and freed at import. Elsewhere than under glibc this does nothing.
"""

from __future__ import annotations

import numpy as np


def keep_freed_memory(megabytes: int = 31) -> None:
    """Let the C library reuse freed arrays of up to that size; 32 MB is the most that glibc allows."""
    block = np.empty(megabytes * 2**20, dtype=np.uint8)
    del block
