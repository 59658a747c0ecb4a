"""Whole files or none: what is written goes to a temporary name first, and nothing is replaced unasked."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from qed.core import InvalidParameter, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["require_free", "write_whole"]


def require_free(path: str, *, force: bool, flag: str) -> None:
    """Refuse, before any work is done, a place where the answer could not be put."""
    target = Path(path)
    if not path or "\0" in path:
        raise InvalidParameter(f"{flag} names no file.")
    if target.is_dir():
        raise InvalidParameter(f"{flag} {path}: that is a folder. Add the name of a file.")
    if not target.parent.is_dir():
        raise InvalidParameter(f"{flag} {path}: the folder {str(target.parent)!r} does not exist. Create it first.")
    if target.exists() and not target.is_file():
        raise InvalidParameter(f"{flag} {path}: that is a device or a pipe. Name a file.")
    if target.exists() and not force:
        raise InvalidParameter(f"{flag} {path}: there is such a file already. Choose another name, or say --force.")
    if not os.access(target.parent, os.W_OK):
        raise InvalidParameter(f"{flag} {path}: you may not write to {str(target.parent)!r}.")


def write_whole(path: str, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside the target, then give it its name in one step."""
    import secrets  # noqa: PLC0415  (what prints writes no file)

    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.tmp")
    try:
        write(temporary)
        temporary.replace(target)
    except OSError as error:
        raise ModelFileError(f"{path!r} could not be written: {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):  # after the rename it is gone
            temporary.unlink()
