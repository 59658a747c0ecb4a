"""Parts of a source that keep a state between passes: where it was computed, and computed again where it was lost.

Some methods change something for every row in every pass: boosting deals rows out to the nodes of a tree. What is kept for the
rows of a part stays with whoever reads the part, in a file that is mapped only while a pass uses it. A pass sends a message to all
parts, and merges their answers.

A state is built from its part and then follows from the messages, one after the other. So when a worker dies, or a part moves to
another, the part is read again and the messages are applied again: the same state, bit for bit.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
import time
import uuid
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from qed.core._errors import ClusterLost
from qed.data._fold import Lost, Statistic, Tally
from qed.data.executors._choice import as_executor, chosen_executor, scratch_folder
from qed.data.executors._local import Remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from qed.data._parts import Part
    from qed.data._sources import Source

S = TypeVar("S", bound=Statistic)
Array = np.ndarray[Any, Any]

ALIGNED = 64  # bytes: where arrays of a file begin
IDLE_SECONDS = 3600.0  # after which the states of a fit whose client is gone may be deleted


class ArrayFile:
    """Named arrays in one file, which is mapped while they are used.

    Parameters
    ----------
    folder : Path
        Where the file is written.
    arrays : mapping of str to (shape, dtype)
        What it holds; zeros at first.
    """

    def __init__(self, folder: Path, arrays: Mapping[str, tuple[tuple[int, ...], Any]]) -> None:
        self._places: dict[str, tuple[int, tuple[int, ...], np.dtype[Any]]] = {}
        end = 0
        for name, (shape, dtype) in arrays.items():
            kind = np.dtype(dtype)
            self._places[name] = (end, shape, kind)
            end += -(-int(np.prod(shape)) * kind.itemsize // ALIGNED) * ALIGNED
        self._path = folder / f"{uuid.uuid4().hex}.arrays"
        with self._path.open("wb") as file:
            file.truncate(max(end, 1))

    @contextmanager
    def mapped(self) -> Iterator[dict[str, Array]]:
        """Give the arrays. Their memory is the file's, and is free for others once no array is held."""
        with self._path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        arrays = {
            name: np.frombuffer(memory, kind, int(np.prod(shape)), start).reshape(shape)
            for name, (start, shape, kind) in self._places.items()
        }
        try:
            yield arrays
        finally:
            arrays.clear()


class State(Protocol):
    """What is kept for the rows of a part."""

    def apply(self, message: Any, *, wanted: bool) -> Any:
        """Change by a message, and answer it; when the answer is not wanted, anything may be returned."""
        ...


@dataclass(eq=False)
class _Fit:
    """The states of one fit in this process: its folder, when it was last used, and for each part the messages applied."""

    folder: Path
    used: float = 0.0
    states: dict[int, tuple[int, State]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clean = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


_fits: dict[str, _Fit] = {}


@dataclass(frozen=True, eq=False)
class Visit:
    """A message on its way to a part; it finds the state there, or says that there is none."""

    key: str
    number: int
    done: int  # messages before this one
    message: Any

    @property
    def label(self) -> str:
        """Which part."""
        return f"part {self.number}"


@dataclass(frozen=True, eq=False)
class FirstVisit:
    """A message to a part that is to be read, with all messages before it."""

    key: str
    number: int
    part: Part
    build: Callable[[Part, Path], State]
    messages: tuple[Any, ...]

    @property
    def label(self) -> str:
        """As the part says."""
        return self.part.label


class Missing:
    """Said in place of an answer where the state of a part is not at hand."""


def _visit(visit: Visit | FirstVisit) -> Any:
    if isinstance(visit, FirstVisit):
        return _built(visit)
    fit = _fits.get(visit.key)
    done, state = (None, None) if fit is None else fit.states.get(visit.number, (None, None))
    if fit is None or state is None or done != visit.done:
        return Missing()
    fit.used = time.monotonic()
    del fit.states[visit.number]  # an error or an interrupt leaves no state that is half changed
    answer = state.apply(visit.message, wanted=True)
    fit.states[visit.number] = visit.done + 1, state
    return answer


def _built(visit: FirstVisit) -> Any:
    now = time.monotonic()
    for key in [key for key, fit in _fits.items() if key != visit.key and now - fit.used > IDLE_SECONDS]:
        _forget(key)
    fit = _fits.get(visit.key)
    if fit is None:
        fit = _fits.setdefault(visit.key, _Fit(Path(tempfile.mkdtemp(prefix="qed-", dir=scratch_folder()))))
    fit.used = now
    state = visit.build(visit.part, fit.folder)
    for message in visit.messages[:-1]:
        state.apply(message, wanted=False)
    answer = state.apply(visit.messages[-1], wanted=True)
    fit.states[visit.number] = len(visit.messages), state
    return answer


def _forget(key: str) -> None:
    """Delete the states of a fit from this process."""
    fit = _fits.pop(key, None)
    if fit is not None:
        fit.clean()


class Residents(Generic[S]):
    """The parts of a source, each with a state.

    Parameters
    ----------
    source : Source
        Where the parts are read.
    build : callable
        From a part and a folder for its files to its state; picklable.
    executor : optional
        Where states live; as in `fold`.

    Notes
    -----
    Memory: that of the state of one part for each thread that computes. Files: the states of all parts, in the folder for
    temporary files of the process that keeps them.
    """

    def __init__(self, source: Source, build: Callable[[Part, Path], State], executor: Any = None) -> None:
        self._parts, self._build = list(source.parts()), build
        runs = chosen_executor(in_memory=source.in_memory) if executor is None else as_executor(executor)
        self._remote = runs if isinstance(runs, Remote) else None
        self._map = runs.placed_map() if isinstance(runs, Remote) else runs.map
        self._key, self._messages = uuid.uuid4().hex, []  # type: tuple[str, list[Any]]

    def answers(self, message: Any) -> list[Any]:
        """Send a message to all parts; return their answers in order."""
        try:
            return self._answers(message)
        except ClusterLost as lost:
            raise Lost(words=str(lost)) from lost

    def _answers(self, message: Any) -> list[Any]:
        done = len(self._messages)
        self._messages.append(message)
        numbers = range(len(self._parts))
        if done:
            visits = [Visit(self._key, number, done, message) for number in numbers]
            found = dict(zip(numbers, self._map(_visit, visits), strict=True))
        else:
            found = dict.fromkeys(numbers, Missing())
        lost = [number for number in numbers if isinstance(found[number], Missing)]
        again = [
            FirstVisit(self._key, number, self._parts[number], self._build, tuple(self._messages)) for number in lost
        ]
        found.update(zip(lost, self._map(_visit, again), strict=True))
        return [found[number] for number in numbers]

    def fold(self, message: Any) -> S:
        """Send a message to all parts; merge their answers in order."""
        tally: Tally[S] = Tally()
        for number, answer in enumerate(self.answers(message)):
            tally.add(number, answer)
        total = tally.total()
        assert total is not None  # noqa: S101  (a source has a part)
        return total

    def close(self) -> None:
        """Delete all states."""
        if self._remote is None:
            _forget(self._key)
        else:
            self._remote.run_everywhere(_forget, self._key)
