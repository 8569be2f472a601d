"""The environments that the rivals live in, made on demand, beside gainful's: one for BoTorch and Optuna with their
PyTorch, one with CMA-ES and SAAS besides, one for HEBO with an older NumPy, one for the BBOB functions, one for
gallifrey with its JAX, one for AEPsych with an older BoTorch, one for GPBoost and GPyTorch."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RIVALS = ("torch==2.13.0", "botorch==0.18.1", "optuna==5.0.0", "scipy==1.17.1")
TEN = (  # SAAS draws by NumPyro's NUTS, in JAX
    *RIVALS, "cma==4.5.0", "numpyro==0.22.0", "jax==0.9.2", "jaxlib==0.9.2", "numpy==2.4.6",
)  # fmt: skip
HEBO = (  # every pin keeps to the NumPy below 1.25 and the pymoo 0.6.0 that HEBO asks for
    "HEBO==0.3.6", "torch==2.13.0", "gpytorch==1.13", "linear_operator==0.5.3", "numpy==1.24.4", "scipy==1.12.0",
    "pandas==2.2.3", "scikit-learn==1.5.2", "pymoo==0.6.0", "GPy==1.13.2", "catboost==1.2.7", "matplotlib==3.7.5",
    "contourpy==1.2.1",
)  # fmt: skip
BBOB = ("ioh==0.3.22", "numpy==2.4.6")
GALLIFREY = (
    "gallifrey==0.1.1", "jax==0.5.3", "jaxlib==0.5.3", "flax==0.10.6", "equinox==0.11.12", "blackjax==1.3",
    "beartype==0.19.0", "jaxtyping==0.3.11", "tensorflow-probability==0.25.0", "numpy==2.4.6", "scipy==1.17.1",
)  # fmt: skip
AEPSYCH = (
    "aepsych[benchmark]==0.8.0", "torch==2.13.0", "botorch==0.12.0", "gpytorch==1.13", "linear_operator==0.5.3",
    "numpy==1.26.4", "scipy==1.14.1", "pandas==2.3.3", "torcheval==0.0.7",
)  # fmt: skip
SCALE = (
    "gpboost==1.8.0", "gpytorch==1.15.2", "linear_operator==0.6.1", "torch==2.13.0", "numpy==2.4.6", "scipy==1.17.1",
    "pandas==3.1.1", "scikit-learn==1.9.1",
)  # fmt: skip


def rivals() -> Path:
    """The Python that has BoTorch and Optuna."""
    return _made(ROOT / ".venv-rivals", RIVALS, "BoTorch and Optuna")


def ten() -> Path:
    """The Python that has BoTorch with SAAS, Optuna and CMA-ES."""
    return _made(ROOT / ".venv-ten", TEN, "BoTorch, SAAS, Optuna and CMA-ES")


def hebo() -> Path:
    """The Python that has HEBO."""
    return _made(ROOT / ".venv-hebo", HEBO, "HEBO")


def bbob() -> Path:
    """The Python that has the BBOB functions."""
    return _made(ROOT / ".venv-bbob", BBOB, "the BBOB functions")


def gallifrey() -> Path:
    """The Python that has gallifrey."""
    return _made(ROOT / ".venv-gallifrey", GALLIFREY, "gallifrey")


def aepsych() -> Path:
    """The Python that has AEPsych, with its test functions."""
    return _made(ROOT / ".venv-aepsych", AEPSYCH, "AEPsych")


def scale() -> Path:
    """The Python that has GPBoost and GPyTorch."""
    return _made(ROOT / ".venv-scale", SCALE, "GPBoost and GPyTorch")


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
