"""Ctrl-C while Numba is loaded: it comes, and what is compiled works afterwards."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from gainful.numerics.compiling import uninterrupted

SCRIPT = """
import importlib.abc, os, signal, sys


class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numba.core.types":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    from gainful.numerics.compiling import njit
except KeyboardInterrupt:
    print("interrupted")
from gainful.numerics.compiling import njit
print(njit(lambda x: x + 1)(1))
"""


def test_ctrl_c_while_numba_is_loaded_leaves_it_whole():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["interrupted", "2"], done.stderr


def test_ctrl_c_comes_at_the_end_of_the_block():
    def struck():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append(True)

    reached, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            struck()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached == [True]


def test_other_threads_and_ignored_signals_go_through():
    def ignored():
        with uninterrupted():
            done.append(True)

    done = []
    thread = threading.Thread(target=ignored)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ignored()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [True, True]
