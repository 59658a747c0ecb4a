"""Whole files or none: what is written goes to a temporary name first, and nothing is replaced unasked."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from qed.core import InvalidParameter, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Callable


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
    if target.exists() and not os.access(target, os.W_OK):
        raise InvalidParameter(
            f"{flag} {path}: that file is write-protected. Choose another name, or allow writing to it."
        )
    if not os.access(target.parent, os.W_OK):
        raise InvalidParameter(f"{flag} {path}: you may not write to {str(target.parent)!r}.")


def write_whole(path: str, write: Callable[[Path], None], *, replace: bool) -> None:
    """Let `write` fill a temporary file beside the target, then give it its name in one step.

    Without `replace` that step fails where there is a file by then: of two programs that write one name, one succeeds.
    """
    import secrets  # noqa: PLC0415  (what prints writes no file)

    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.tmp")
    try:
        write(temporary)
        if replace:
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        else:
            _rename_to_free(temporary, target)
    except FileExistsError as error:
        raise InvalidParameter(
            f"{path!r} was created by another program in the meantime, and is left as it is. Choose another name, or say --force."
        ) from error
    except OSError as error:
        raise ModelFileError(f"{path!r} could not be written: {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):  # after the rename it is gone
            temporary.unlink()


def _rename_to_free(temporary: Path, target: Path) -> None:
    """Give a file its name, and fail where that name is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: an empty file reserves the name
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        temporary.replace(target)
