"""Memory: work in blocks under one bound, refusal of arrays beyond another, and reuse of what was freed.

What is worked out for each of M places needs arrays of (N, M) on the way, of which only M numbers are kept. `blocks`
bounds those, for every caller: a million places at four hundred answers would take gigabytes at once. What is itself as
large as places × places cannot be had in blocks; `require_room` refuses it in words instead of a MemoryError.

An array of more than 128 kB is handed back to the operating system when it is freed, and the next one of its size is
given fresh pages, each of which costs a fault when first touched: at n = 200 that made an elementwise product of two
matrices five times as dear. The C library stops doing so for sizes up to the largest block that was ever freed, so
one block is allocated (not touched) and freed at import. Elsewhere than under glibc this does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput

__all__ = ["MOST", "WORKING", "available", "blocks", "in_blocks", "keep_freed_memory", "require_room"]

Array = NDArray[np.float64]

WORKING = 128 * 2**20  # bytes of working arrays at a time: four of them are then small enough to be reused when freed
MOST = 2**30  # numbers in one array that is asked for: 8 GB, the covariance of 32768 places


def blocks(count: int, each: int) -> Iterator[slice]:
    """Slices that cover range(count), as long as `each` numbers per entry fit into WORKING bytes; one at least.

    >>> [part.stop - part.start for part in blocks(5, WORKING // 16)]
    [2, 2, 1]
    """
    size = max(1, WORKING // (8 * max(each, 1)))
    for start in range(0, max(count, 1), size):
        yield slice(start, min(start + size, count))


def in_blocks(function: Callable[[slice], Array], count: int, each: int) -> Array:
    """What `function` gives for each block, one after the other: its first axis is that of the entries.

    >>> in_blocks(lambda part: np.arange(5.0)[part] ** 2, 5, WORKING // 16).tolist()
    [0.0, 1.0, 4.0, 9.0, 16.0]
    """
    found = [function(part) for part in blocks(count, each)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def require_room(argument: str, rows: int, columns: int, remedy: str) -> None:
    """Refuse an array of rows × columns that is too large to be had."""
    if rows * columns > MOST:
        raise InvalidInput(
            argument, f"at most {MOST} numbers in one array ({MOST / 2**27:g} GB)", f"{rows} × {columns}", remedy
        )


def available() -> int:
    """Bytes of memory that are free for use now; all that there is where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass  # not Linux
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 4 * 2**30


def keep_freed_memory(megabytes: int = 31) -> None:
    """Let the C library reuse freed arrays of up to that size; 32 MB is the most that glibc allows."""
    block = np.empty(megabytes * 2**20, dtype=np.uint8)
    del block
