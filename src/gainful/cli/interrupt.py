"""Ctrl-C between two steps: what is under way is finished first, and a second Ctrl-C does not wait for it."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Interrupt"]


class Interrupt:
    """While it is open, the first Ctrl-C is only remembered; `check` raises it as KeyboardInterrupt between steps.

    Raised in the middle of compiled code and its threads it would leave them as they are, and the process could not
    end.
    """

    def __init__(self) -> None:
        self._asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # signals reach no other
            self._before = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        print("\nStopping after this step; Ctrl-C again stops at once.", file=sys.stderr, flush=True)

    @property
    def asked(self) -> bool:
        """Whether Ctrl-C came, for whoever ends by itself."""
        return self._asked

    def check(self) -> None:
        """Between two steps."""
        if self._asked:
            raise KeyboardInterrupt
