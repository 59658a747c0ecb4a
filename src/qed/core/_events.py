"""Events: how a long fit tells what it is doing, and how it is stopped.

A loop announces its steps through a `Progress`; whoever listens hears them::

    with Progress("Lasso", total=self.max_iter, verbose=self.verbose) as progress, guard(store):
        for _ in range(self.max_iter):
            ...
            if progress.step(value=gap) is STOP:
                break

    with qed.listen(lambda event: STOP if event.seconds > 60 else None):
        model.fit(X, y)

**Listening.** `listen` adds a callback for the block it opens, in this thread and in tasks started from it; fits in
other threads are not heard. A callback hears *every* event, because it may count, record or stop at an exact step;
what is printed is thinned where it is printed. With nobody listening a step costs well under a microsecond.

**Stopping.** A callback that returns `STOP` or raises `StopFit` ends the loop that announced the event, after its
current step. That is an outcome, not an error: the model keeps what it has, its certificate says how good that is, and
``progress.is_stopped`` is true. Any other exception of a callback is a mistake in the callback and comes out of `fit`.

**Interrupting.** On Ctrl-C, `guard` lets the model store what it has, then KeyboardInterrupt goes on its way.

**Resuming.** A model that was stopped or interrupted is fitted, with the certificate it has reached. Where the
estimator has ``warm_start``, ``model.set_params(warm_start=True).fit(X, y)`` starts from the stored coefficients; where
it has ``partial_fit``, further chunks continue. Nothing else is kept, so a saved and loaded model resumes just as well.

**Screen and log.** ``verbose=1`` writes to standard error: a bar when that is a terminal and rich is installed, plain
lines otherwise. The logger ``"qed"`` receives the same lines at level INFO, whatever `verbose` says.
"""

from __future__ import annotations

import enum
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Literal, Self


class Signal(enum.Enum):
    """What a callback can ask for; its one member is `STOP`."""

    STOP = "stop"


#: What a callback returns to end a fit after the current step.
STOP: Final = Signal.STOP


class StopFit(Exception):  # noqa: N818  a request, like StopIteration, and no error
    """Raised by a callback to end the fit after the current step; the same as returning `STOP`."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a fit.

    Attributes
    ----------
    kind : {"start", "step", "end"}
        Each start is followed by any number of steps and by one end, also when the fit fails.
    source : str
        Who speaks, such as ``"Lasso"`` or ``"fold"``.
    step : int
        Steps done so far.
    total : int or None
        Most steps there can be, when known.
    value : float or None
        The quantity that should fall, such as the relative gap.
    seconds : float
        Time since the start.
    message : str
        A few words, often empty. At the end: "finished", "stopped by a callback" or the name of the exception.
    """

    kind: Literal["start", "step", "end"]
    source: str
    step: int
    total: int | None
    value: float | None
    seconds: float
    message: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        count = "" if self.step == 0 else f" {self.step}" + (f"/{self.total}" if self.total else "")
        value = "" if self.value is None else f"  {self.value:.3g}"
        words = f"  {self.message}" if self.message else ""
        return f"{self.source}{count}{value}{words}  {self.seconds:.1f} s"


Callback = Callable[[Event], object]

_listeners: ContextVar[tuple[Callback, ...]] = ContextVar("qed_listeners", default=())


@contextmanager
def listen(callback: Callback) -> Iterator[None]:
    """Call `callback` with every event of the fits inside the block.

    Parameters
    ----------
    callback : callable
        Takes an `Event`. To end a fit early it returns `STOP` or raises `StopFit`; any other value is ignored.
    """
    token = _listeners.set((*_listeners.get(), callback))
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def guard(store: Callable[[], object]) -> Iterator[None]:
    """On KeyboardInterrupt inside the block call `store`, then let the interrupt go on.

    Parameters
    ----------
    store : callable
        Puts the model's current state and its certificate in place. A second Ctrl-C interrupts it.
    """
    try:
        yield
    except KeyboardInterrupt:
        store()
        raise


class Progress:
    """The voice of one loop: announces start, steps and end to everyone who listens.

    Steps may be announced from several threads; callbacks are called one at a time.

    Parameters
    ----------
    source : str
        Name of the estimator or of the part that works.
    total : int, optional
        Most steps there can be.
    verbose : int or bool
        Above zero, progress is shown on standard error.
    """

    __slots__ = ("_listeners", "_lock", "_start", "is_stopped", "source", "steps", "total")

    def __init__(self, source: str, total: int | None = None, *, verbose: int | bool = 0) -> None:
        self.source, self.total = source, total
        self.steps, self.is_stopped = 0, False
        self._lock = threading.Lock()
        self._start = time.perf_counter()
        self._listeners: tuple[Callback, ...] = _listeners.get()
        # Printers come first: a callback that fails must not leave a bar on the screen.
        logging = sys.modules.get("logging")  # whoever wants to read a log has imported it
        if logging is not None and (logger := logging.getLogger("qed")).isEnabledFor(logging.INFO):
            self._listeners = (_Lines(logger.info), *self._listeners)
        if verbose > 0:
            self._listeners = (_Screen(), *self._listeners)

    @property
    def has_listeners(self) -> bool:
        """Whether anyone listens: then every step is to be announced by itself."""
        return bool(self._listeners)

    def __enter__(self) -> Self:
        try:
            self._tell("start", None, "")
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def step(self, value: float | None = None, message: str = "", *, count: int = 1) -> Signal | None:
        """Announce that `count` steps are done; the answer is `STOP` when a callback has asked to stop."""
        with self._lock:
            self.steps += count
            if self._listeners:
                self._tell("step", value, message)
        return STOP if self.is_stopped else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._tell("end", None, "stopped by a callback" if self.is_stopped else "finished")
            return
        try:
            self._tell("end", None, type(error).__name__)
        except Exception as second:  # the first error matters more; the second is not lost
            error.add_note(f"A callback then failed at the end event: {second!r}")

    def _tell(self, kind: Literal["start", "step", "end"], value: float | None, message: str) -> None:
        if not self._listeners:
            return
        seconds = time.perf_counter() - self._start
        event = Event(kind, self.source, self.steps, self.total, value, seconds, message)
        for callback in self._listeners:
            try:
                if callback(event) is STOP:
                    self.is_stopped = True
            except StopFit:
                self.is_stopped = True


class _Lines:
    """Writes start and end, and of the steps at most one line a second."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write, self.last = write, 0.0

    def __call__(self, event: Event) -> None:
        if event.kind != "step" or event.seconds - self.last >= 1.0:
            self.last = event.seconds
            self.write(str(event))


class _Screen:
    """Shows progress on standard error: by a bar where that can be, by lines elsewhere."""

    busy = threading.Lock()  # a terminal has room for one bar; a fit inside a fit writes lines

    def __init__(self) -> None:
        # sys.stderr is looked up at each line: notebooks and tests replace it.
        self.lines = _Lines(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201
        self.bar: Any = None

    def __call__(self, event: Event) -> None:
        if event.kind == "start" and _has_terminal() and _Screen.busy.acquire(blocking=False):
            self.bar = _new_bar(event)
        if self.bar is None:
            self.lines(event)
            return
        value = event.message if event.value is None else f"{event.value:.3g}  {event.message}"
        self.bar.update(self.bar.task_ids[0], completed=event.step, value=value)
        if event.kind == "end":
            self.bar.stop()
            _Screen.busy.release()


def _has_terminal() -> bool:
    import importlib.util  # noqa: PLC0415  (only those who watch)

    return sys.stderr is not None and sys.stderr.isatty() and importlib.util.find_spec("rich") is not None


def _new_bar(event: Event) -> Any:
    from rich import progress  # noqa: PLC0415  only for a terminal that asked
    from rich.console import Console  # noqa: PLC0415

    columns = (*progress.Progress.get_default_columns(), progress.TextColumn("{task.fields[value]}"))
    bar = progress.Progress(*columns, console=Console(stderr=True))
    bar.add_task(event.source, total=event.total, value="")
    bar.start()  # from here rich redraws ten times a second, however many steps there are
    return bar
