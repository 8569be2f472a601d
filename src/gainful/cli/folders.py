"""Makes the folder that --out names, or says why it cannot be one, before anything runs."""

from __future__ import annotations

from pathlib import Path

from gainful.errors import InvalidInput

__all__ = ["make_folder", "require_folder"]


def require_folder(out: str) -> Path:
    """The folder that --out names; refused if it cannot be one."""
    if not out.strip():
        raise InvalidInput("--out", "the name of a folder", "nothing", "leave it out for the usual one, or say .")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InvalidInput("--out", "a folder", f"{out}, which is a file", "name another one, or move the file away")
    return folder


def make_folder(folder: Path) -> None:
    """Better to say now that nothing can be written there than when all is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput("--out", "a folder that can be made", str(folder), error.strerror or str(error)) from None
