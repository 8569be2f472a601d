"""Numba's `njit`, whose loading Ctrl-C cannot break.

Loading Numba takes half a second. An exception in the middle of it leaves some of its modules loaded and others not,
and nothing in that process could be compiled any more. So Ctrl-C waits until it has been loaded.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["njit", "uninterrupted"]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C within the block comes at its end."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # it interrupts the main thread alone, and there only by a handler in Python
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(*came[0])


with uninterrupted():
    from numba import njit
