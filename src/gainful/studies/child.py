"""Runs a Python function of a study in a process of its own: `python child.py FOLDER module:function`.

The place comes as a line of JSON on standard input; the value goes to standard output as a last line of JSON, after
whatever the function prints. Nothing of gainful is imported, so that it starts quickly.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from functools import reduce
from importlib import import_module
from typing import Any

_PAUSE = 0.5  # seconds between two looks at the parent


def main() -> None:
    folder, named, *check = sys.argv[1:]
    sys.path[0] = folder  # in place of this file's own, whose names are nobody's business
    module, _, name = named.partition(":")
    function: Any = reduce(getattr, name.split("."), import_module(module))
    if not callable(function):
        raise TypeError(f"{named} is a {type(function).__name__}, which cannot be called")
    if check:
        return
    threading.Thread(target=_end_with_the_parent, args=(os.getppid(),), daemon=True).start()
    try:
        value = function(json.loads(sys.stdin.readline()))
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        why = type(error).__name__ + (f": {words[:200]}" if words else "")
        sys.stdout.flush()
        print("\n" + json.dumps({"error": why}), flush=True)
        traceback.print_exception(error)
        sys.exit(1)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    said = value if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
    print("\n" + json.dumps({"value": said}), flush=True)


def _end_with_the_parent(parent: int) -> None:
    """A parent that was killed cannot say so; without this its evaluations would go on for nobody."""
    while os.getppid() == parent:
        time.sleep(_PAUSE)
    os._exit(1)


if __name__ == "__main__":
    main()
