"""Model files: ``model.save(path)`` and ``qed.load(path)``.

A model file is data, never code. Loading one can run nothing but qed's own checks, so a file from a stranger is as safe
as a picture: it gives a model or a `ModelFileError` that says what is wrong. ``_container`` describes the bytes,
``_codec`` the values. The state of a model is its parameters and its fitted attributes; both pass the checks of their
class again, parameters through their declared ranges, attributes through their declarations (``_state``).

Files stay readable. A qed reads the format versions of all earlier ones; a parameter that did not exist when a file was
written takes its default; a file of a newer format raises an error. ``tests/golden`` keeps a file of every version.

Saving is all or nothing: the bytes go to a temporary file in the same folder, to the disk, and only then to their name.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from qed.core._codec import Decoder, Encoder
from qed.core._container import FORMAT, pieces, read
from qed.core._errors import ModelFileError, QedError
from qed.core._records import find_estimator, public_name
from qed.core._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to a file.

    Parameters
    ----------
    model : Estimator
        Any estimator of qed, or of your own that derives from one.
    path : str or path-like
        Where to. An existing file is replaced, in one step, when everything has been written; if anything fails it
        stays as it was.

    Raises
    ------
    ModelFileError
        When the model holds something other than data, or the file cannot be written.
    """
    import secrets  # noqa: PLC0415  (loads random and hashlib, which reading a model does without)

    target = _target(path)
    parts = _parts(model)
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        try:
            _write(temporary, parts, target)
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):  # it may never have existed; the first error is the one to report
                temporary.unlink()
            raise
    except OSError as error:
        raise ModelFileError(
            f"{str(target)!r} could not be written: {error.strerror or error}. What stood there before is untouched."
        ) from error
    with contextlib.suppress(OSError):  # the file is complete and in place; some systems cannot sync a folder
        _sync_folder(target.parent)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file.

    Parameters
    ----------
    path : str or path-like
        A file written by `save`, by this qed or an earlier one, from any source, trusted or not.

    Returns
    -------
    Estimator
        The model, as it was when it was saved. Its arrays are its own and can be written to. A file of ``qed fit`` gives the
        `qed.study.TableModel` that takes tables.

    Raises
    ------
    ModelFileError
        When the file cannot be read or is not exactly a model file.
    """
    name = _name(path)
    try:
        with _opened(name) as stream:
            model = _model(stream, os.fstat(stream.fileno()).st_size, f"{name!r}")
    except OSError as error:
        raise ModelFileError(f"{name!r} cannot be read: {error.strerror or error}. Check the path.") from error
    # a pipeline that was fitted on a table knows its columns, and they know how to put it behind a table again
    opened = getattr(vars(model).get("sheet_"), "opened", None)
    return model if opened is None else opened(model, name)


def dumps(model: Any) -> bytes:
    """Return the bytes that `save` would write."""
    return b"".join(_parts(model))


def loads(data: bytes) -> Any:
    """Return the model that `dumps` turned into bytes."""
    return _model(io.BytesIO(data), len(data), "The data")


def _parts(model: Any) -> Iterator[bytes | memoryview]:
    kind = type(model)
    if find_estimator(public_name(kind)) is not kind:
        known = (
            "" if find_estimator(public_name(kind)) is None else " Its class was defined again since: fit a new one."
        )
        raise ModelFileError(f"Only qed's estimators can be saved, and this is {public_name(kind)}.{known}")
    encoder = Encoder()
    try:
        header = {"model": encoder.node(model, kind.__name__), "qed": __version__}
        parts = pieces(header, encoder.arrays, encoder.format)
        first = next(parts)
    except ModelFileError as error:
        raise ModelFileError(f"This {kind.__name__} cannot be saved: {error}.") from error
    return _chained(first, parts)


def _chained(first: bytes | memoryview, rest: Iterator[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    yield first
    yield from rest


def _model(stream: BinaryIO, size: int, name: str) -> Any:
    try:
        return assembled(*read(stream, size))
    except OSError:
        raise
    except QedError as error:
        raise ModelFileError(f"{name} cannot be loaded: {_advised(str(error))}") from error
    except Exception as error:
        # Checks of estimators and records meet values they never expected; whatever they raise, the file is at fault.
        problem = f"a value in it makes no sense ({type(error).__name__}: {str(error)[:200]})"
        raise ModelFileError(f"{name} cannot be loaded: {_advised(problem)}") from error


def assembled(header: dict[str, Any], arrays: list[Any], form: int = FORMAT) -> Any:
    """Return the model that a header and its arrays describe, in a format version."""
    version = header.get("qed")
    if header.keys() != {"arrays", "model", "qed"} or not isinstance(version, str) or len(version) > 40:
        raise ModelFileError("its header lacks a part or has one too many")
    if not isinstance(header["model"], dict) or header["model"].keys() != {"estimator"}:
        raise ModelFileError("it holds something other than an estimator")
    decoder = Decoder(arrays, version, form)
    model = decoder.value(header["model"])
    decoder.finish()
    return model


def _advised(problem: str) -> str:
    return f"{problem.removesuffix('.')}. If it once worked, restore it from a copy or save the model again."


def _target(path: str | os.PathLike[str]) -> Path:
    """Resolve links, so that a link stays one, and refuse places where no file can be put."""
    given = _name(path)
    target = Path(os.path.realpath(given))
    if target.is_dir():
        raise ModelFileError(f"{given!r} is a folder. Add a file name, such as {str(target / 'model.qed')!r}.")
    if not target.parent.is_dir():
        raise ModelFileError(f"The folder {str(target.parent)!r} does not exist. Create it first.")
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{given!r} is a device or a pipe, and a model file needs a place on a disk.")
    if target.exists() and not os.access(target, os.W_OK):  # replacing it would not ask
        raise ModelFileError(f"{given!r} is write-protected. Choose another name, or allow writing to it.")
    return target


def _name(path: object) -> str:
    if isinstance(path, str | os.PathLike):
        name = os.fspath(path)
        if isinstance(name, str) and name and "\0" not in name:
            return name
    raise ModelFileError(f"A path is a string or path-like object that names a file, got {path!r}.")


def _write(temporary: Path, parts: Iterator[bytes | memoryview], target: Path) -> None:
    # Created by os.open rather than tempfile, so that the user's umask decides who may read it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(temporary, flags, 0o666), "wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _opened(name: str) -> BinaryIO:
    file = Path(name)
    if file.is_dir():
        raise ModelFileError(f"{name!r} is a folder, and a model is one file.")
    if not stat.S_ISREG(file.stat().st_mode):  # opening a pipe would wait for ever
        raise ModelFileError(f"{name!r} is a device or a pipe, and a model file lies on a disk.")
    return file.open("rb")
