"""Keeps BLAS on one thread, so that results have the same last digits everywhere and processes do not fight for cores.

How many threads there are is settled by the environment when NumPy is imported, and can be changed afterwards where
threadpoolctl is installed. Many small matrices are slower on several threads as well: campaigns on two busy cores took
2 s with one BLAS thread where they took 12 s with two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["keep_blas_on_one_thread", "one_blas_thread_in_new_processes"]

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@lru_cache(maxsize=1)
def keep_blas_on_one_thread() -> bool:
    """BLAS on one thread for the rest of this process; whether that could be arranged.

    For good, not just within: the threads of a Dask worker share the setting, and the first to end would undo it for
    the others.
    """
    limits = _threadpool_limits()
    if limits is None:
        return all(os.environ.get(name) == "1" for name in _VARIABLES)
    limits(1)
    return True


@contextmanager
def one_blas_thread_in_new_processes() -> Iterator[None]:
    """Processes that are started within find one BLAS thread in their environment, before they import NumPy."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _threadpool_limits() -> Any:
    """A worker of somebody's own cluster may lack it."""
    try:
        return import_module("threadpoolctl").threadpool_limits
    except ImportError:
        return None
