"""Files on disk: where they can be, and that a failed save leaves the old one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from qed.core._errors import ModelFileError
from qed.core._persistence import load, save

if TYPE_CHECKING:
    from collections.abc import Callable


from model_files import MODEL, Everything, everything


def test_messages_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.qed").write_bytes(b"nonsense")
    with pytest.raises(ModelFileError, match=r"a\.qed' cannot be loaded: it does not begin"):
        load(tmp_path / "a.qed")
    with pytest.raises(ModelFileError, match=r"b\.qed' cannot be read: No such file"):
        load(str(tmp_path / "b.qed"))
    with pytest.raises(ModelFileError, match="is a folder, and a model is one file"):
        load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe"):
        load(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe"):
        save(Everything(), tmp_path / "pipe")


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"is a folder. Add a file name, such as .*model.qed"):
        save(Everything(), tmp_path)
    with pytest.raises(ModelFileError, match=r"none' does not exist. Create it first"):
        save(Everything(), tmp_path / "none" / "model.qed")

    class InBytes(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return b"model.qed"

    for path in ("", "a\0b", b"bytes", 3, None, InBytes()):
        with pytest.raises(ModelFileError, match="names a file"):
            save(Everything(), path)  # type: ignore[arg-type]
        with pytest.raises(ModelFileError, match="names a file"):
            load(path)  # type: ignore[arg-type]


def test_a_protected_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.qed").write_bytes(b"old")
    monkeypatch.setattr("qed.core._persistence.os.access", lambda path, mode: False)
    with pytest.raises(ModelFileError, match="write-protected"):
        save(Everything(), tmp_path / "model.qed")
    assert (tmp_path / "model.qed").read_bytes() == b"old"


def test_a_folder_that_cannot_be_synced_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qed.core._persistence._sync_folder", fail(OSError(errno.EINVAL, "Invalid argument")))
    save(Everything(), tmp_path / "model.qed")
    assert load(tmp_path / "model.qed").alpha == 1.0


def test_save_writes_what_dumps_returns(tmp_path: Path) -> None:
    save(everything.example(), str(tmp_path / "model.qed"))
    assert (tmp_path / "model.qed").read_bytes() == MODEL
    assert load(tmp_path / "model.qed").alpha == 2.0


def test_saving_keeps_links_and_permissions(tmp_path: Path) -> None:
    (tmp_path / "real.qed").write_bytes(b"old")
    (tmp_path / "real.qed").chmod(0o640)
    (tmp_path / "link.qed").symlink_to("real.qed")
    save(Everything(), tmp_path / "link.qed")
    assert (tmp_path / "link.qed").is_symlink()
    assert (tmp_path / "real.qed").stat().st_mode & 0o777 == 0o640
    assert load(tmp_path / "real.qed").alpha == 1.0


def fail(error: BaseException) -> Callable[..., Any]:
    def raising(*args: Any, **options: Any) -> Any:
        raise error

    return raising


class Full:
    """A stream on a disk that fills up after the first kilobyte."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.written = stream, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.stream.close()

    def write(self, part: bytes) -> None:
        self.written += self.stream.write(part)
        if self.written > 1024:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failure", ["replace", "fsync", "full", "interrupt"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.qed"
    path.write_bytes(b"old")
    expected: type[BaseException] = ModelFileError
    if failure == "replace":
        monkeypatch.setattr(Path, "replace", fail(OSError(errno.EACCES, "Permission denied")))
    elif failure == "fsync":
        monkeypatch.setattr("qed.core._persistence.os.fsync", fail(OSError(errno.EIO, "Input/output error")))
    elif failure == "full":
        real = os.fdopen
        monkeypatch.setattr("qed.core._persistence.os.fdopen", lambda *args: Full(real(*args)))
    else:
        monkeypatch.setattr("qed.core._persistence.os.fsync", fail(KeyboardInterrupt()))
        expected = KeyboardInterrupt
    with pytest.raises(expected) as caught:
        save(everything.example(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    if failure == "full":
        assert "No space left on device. What stood there before is untouched" in str(caught.value)


def test_a_model_that_cannot_be_saved_touches_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="data only"):
        save(Everything(extra=print), tmp_path / "model.qed")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.qed"
    path.write_bytes(MODEL[:-500])
    monkeypatch.setattr(
        "qed.core._persistence.os.fstat", lambda handle: os.stat_result([0] * 6 + [len(MODEL)] + [0] * 3)
    )
    with pytest.raises(ModelFileError, match="ended while it was being read"):
        load(path)


def test_core_loads_neither_scipy_nor_random_for_plain_models() -> None:
    code = (
        "import sys\nfrom qed.core import Estimator\nfrom qed.core._records import register_estimator\n"
        "from qed.core._persistence import dumps, loads\n"
        "class Plain(Estimator): pass\nregister_estimator(Plain)\nloads(dumps(Plain()))\n"
        "sys.exit(any(name in sys.modules for name in ('scipy', 'numpy.random')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
