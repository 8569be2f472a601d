"""The environment that the rivals live in, BoTorch and Optuna with their PyTorch: made on demand, beside gainful's."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parent.parent / ".venv-rivals"
PACKAGES = ("torch==2.13.0", "botorch==0.18.1", "optuna==5.0.0", "scipy==1.17.1")


def rivals() -> Path:
    """Its Python, with the packages installed."""
    python, stamp = ENVIRONMENT / "bin" / "python", ENVIRONMENT / ".installed"
    wanted = "\n".join(PACKAGES)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing BoTorch and Optuna into {ENVIRONMENT.name} (some minutes the first time)", flush=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *PACKAGES], check=True)
        stamp.write_text(wanted)
    return python
