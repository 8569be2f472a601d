"""BLAS on one thread, for as long as many small matrices are worked on.

Small matrices are slower on several threads, and where several threads call BLAS already, its own fight with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_blas_thread"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread within. Entering takes some milliseconds."""
    from threadpoolctl import threadpool_limits  # looks through all loaded libraries

    with threadpool_limits(1):
        yield
