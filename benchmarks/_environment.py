"""The environments that the rivals live in, made on demand, beside gainful's: one for BoTorch and Optuna with their
PyTorch, one for gallifrey with its JAX, one for AEPsych with an older BoTorch."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RIVALS = ("torch==2.13.0", "botorch==0.18.1", "optuna==5.0.0", "scipy==1.17.1")
GALLIFREY = (
    "gallifrey==0.1.1", "jax==0.5.3", "jaxlib==0.5.3", "flax==0.10.6", "equinox==0.11.12", "blackjax==1.3",
    "beartype==0.19.0", "jaxtyping==0.3.11", "tensorflow-probability==0.25.0", "numpy==2.4.6", "scipy==1.17.1",
)  # fmt: skip
AEPSYCH = (
    "aepsych[benchmark]==0.8.0", "torch==2.13.0", "botorch==0.12.0", "gpytorch==1.13", "linear_operator==0.5.3",
    "numpy==1.26.4", "scipy==1.14.1", "pandas==2.3.3", "torcheval==0.0.7",
)  # fmt: skip


def rivals() -> Path:
    """The Python that has BoTorch and Optuna."""
    return _made(ROOT / ".venv-rivals", RIVALS, "BoTorch and Optuna")


def gallifrey() -> Path:
    """The Python that has gallifrey."""
    return _made(ROOT / ".venv-gallifrey", GALLIFREY, "gallifrey")


def aepsych() -> Path:
    """The Python that has AEPsych, with its test functions."""
    return _made(ROOT / ".venv-aepsych", AEPSYCH, "AEPsych")


def _made(environment: Path, packages: tuple[str, ...], names: str) -> Path:
    """Its Python, with the packages installed."""
    python, stamp = environment / "bin" / "python", environment / ".installed"
    wanted = "\n".join(packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {names} into {environment.name} (some minutes the first time)", flush=True)
        venv.create(environment, with_pip=True, clear=True)
        (environment / ".gitignore").write_text("*\n")
        subprocess.run([python, "-m", "pip", "install", "-qq", *packages], check=True)
        stamp.write_text(wanted)
    return python
