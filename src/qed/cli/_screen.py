"""Where words go: a terminal with colour and a live bar, plain lines into a pipe, one JSON object, or nowhere."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from qed.core import InvalidParameter, QedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.core._events import Event


# Events of a study that people want to see; solvers inside it speak too.
SPEAKERS = frozenset(
    {
        "reading",
        "columns",
        "comparing",
        "note",
        "judging",
        "fitting",
        "checking",
        "interrupted",
        "shapley_values",
        "explaining",
    }
)


def told(error: Exception) -> tuple[int, str]:
    """Turn an error into an exit code and a sentence."""
    if isinstance(error, InvalidParameter):
        return 2, str(error)
    if isinstance(error, QedError):
        return 1, str(error)
    if isinstance(error, MemoryError):
        return 1, "There is not enough memory for this table. Leave columns out with --drop, or take fewer rows."
    if isinstance(error, OSError):
        name = f"{error.filename!r}: " if error.filename else ""
        return 1, f"{name}{error.strerror or error}."
    if isinstance(error, ImportError):
        return (
            1,
            f"{error.name or error} is not installed. Install what the command needs with: pip install 'qed[app]'.",
        )
    first = (str(error).splitlines() or [""])[0][:200]
    return (
        1,
        f"This should not happen: {type(error).__name__}: {first}. Say --debug to see where, and please report it.",
    )


def tolerate() -> None:
    """Let a terminal that lacks some letters show the others."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


class Screen:
    """Speaks to whoever called.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing but errors.
    json : bool
        Whether the answer is one JSON object.
    """

    def __init__(self, *, quiet: bool = False, json: bool = False) -> None:
        self.quiet, self.wants_json = quiet, json
        self.speaks = not quiet and not json
        self.console = _console(stderr=False) if self.speaks and sys.stdout.isatty() else None
        self.bar: Any = None
        self.begin = time.perf_counter()
        self.budget: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def width(self) -> int:
        """How many letters a line holds."""
        return int(self.console.width) if self.console is not None else 100

    # -- words -------------------------------------------------------------------------------------------

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line."""
        if not self.speaks:
            return
        if self.console is not None:
            if style != "cyan" and len(text) > self.console.width:  # commands stay whole, to be copied
                indent = " " * (len(text) - len(text.lstrip(" !")))
                text = textwrap.fill(text, self.console.width, subsequent_indent=indent, break_on_hyphens=False)
            self.console.print(text, style=style or None, highlight=False, markup=False, soft_wrap=True)
        else:
            try:
                print(text, flush=True)  # noqa: T201  (talking is what a command does)
            except BrokenPipeError:  # the work goes on when nobody reads any more
                self.give_up()

    def heading(self, text: str) -> None:
        """Print a heading."""
        self.say()
        self.say(text, "bold")

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = (), *, right: str = ""
    ) -> None:
        """Print a table; columns whose number stands in `right` are flush right."""
        if not self.speaks or not rows:
            return
        room = self.width - 4
        cells = [[_clean(cell) for cell in row] for row in rows]
        lines = [list(head), *cells] if any(head) else cells
        widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
        # the widest columns are cut where they leave no room for the rest; what is last goes on below instead
        while (excess := sum(widths[:-1]) + 2 * len(widths) + min(16, widths[-1]) - room) > 0 and max(
            widths[:-1], default=0
        ) > 12:
            widest = max(range(len(widths) - 1), key=widths.__getitem__)
            widths[widest] -= min(excess, max(1, widths[widest] - max([12, *sorted(widths[:-1])[:-1]])))
        lines = [
            [_cut(cell, width) for cell, width in zip(line[:-1], widths, strict=False)] + line[-1:] for line in lines
        ]
        widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
        widths[-1] = min(widths[-1], max(16, room - sum(widths[:-1]) - 2 * len(widths)))
        for number, line in enumerate(lines):
            # what is long in the last column goes on below: nothing is cut
            wrapped = textwrap.wrap(line[-1], max(1, widths[-1])) or [""]
            before = [
                cell.rjust(width) if str(at) in right else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line[:-1], widths, strict=False))
            ]
            last = wrapped[0].rjust(widths[-1]) if str(len(head) - 1) in right else wrapped[0]
            is_head = any(head) and number == 0
            style = "dim" if is_head else (styles[number - any(head)] if styles else "")
            self._row("  " + "  ".join([*before, last]), style)
            for more in wrapped[1:]:
                self._row(" " * (2 + sum(widths[:-1]) + 2 * (len(widths) - 1)) + more, style)

    def _row(self, text: str, style: str) -> None:
        if self.console is not None:
            self.console.print(text.rstrip(), style=style or None, highlight=False, markup=False, soft_wrap=True)
        else:
            self.say(text.rstrip())

    def warn(self, text: str) -> None:
        """Print a line that should not be missed; where the answer is data, on standard error."""
        if self.quiet:
            return
        if self.speaks:
            self.say(f"  ! {text}", "yellow")
        else:
            print(f"! {text}", file=sys.stderr, flush=True)  # noqa: T201

    def error(self, text: str, code: int) -> None:
        """Print what went wrong: on standard error, or as the JSON object that was asked for."""
        self.stop()
        if self.wants_json:
            self.answer({"error": text, "code": code})
            return
        print(f"qed: {text}", file=sys.stderr, flush=True)  # noqa: T201

    def answer(self, value: dict[str, Any]) -> None:
        """Print the JSON object, if that was asked for."""
        if self.wants_json:
            print(json.dumps(_plain(value), ensure_ascii=False), flush=True)  # noqa: T201

    def give_up(self) -> None:
        """Leave quietly when nobody reads any more."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())

    # -- progress ----------------------------------------------------------------------------------------

    def follow(self, event: Event) -> None:
        """Show an event of a study: on a live bar in a terminal, as a line elsewhere."""
        if self.quiet or event.source not in SPEAKERS:
            return
        if sys.stderr.isatty() and find_spec("rich") is not None:
            self._draw(event)
        elif event.kind == "step" and event.message:
            spent = time.perf_counter() - self.begin
            try:
                print(f"  {spent:6.1f} s  {event.source}: {event.message}", file=sys.stderr, flush=True)  # noqa: T201
            except BrokenPipeError:
                self.give_up()

    def _draw(self, event: Event) -> None:
        if self.bar is None:
            self.bar = _bar(self.budget)
            self.bar.start()
        task = self.bar.task_ids[0]
        step = f"{event.step}/{event.total}" if event.total and event.total > 1 else ""
        words = {"words": event.message} if event.kind == "start" or (event.kind == "step" and event.message) else {}
        self.bar.update(task, description=event.source, step=step, **words)

    def stop(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def _console(*, stderr: bool) -> Any:
    if find_spec("rich") is None:
        return None
    from rich.console import Console  # noqa: PLC0415  (only for a terminal)

    return Console(stderr=stderr)


def _bar(budget: float | None) -> Any:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    bar = Progress(
        SpinnerColumn(),
        TextColumn("[bold]{task.description:<10}"),
        TimeElapsedColumn(),
        TextColumn("" if budget is None else f"of {budget:g} s", style="dim"),
        TextColumn("{task.fields[step]:>5}"),
        TextColumn("{task.fields[words]}", table_column=Column(no_wrap=True, overflow="ellipsis"), markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("reading", total=None, step="", words="")
    return bar


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _clean(text: str) -> str:
    """Show names from strangers' files without the signs that move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "·" for sign in text.replace("\u202f", " "))


def _plain(value: Any) -> Any:
    """Turn an answer into what JSON can say: no infinite numbers, no arrays."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):  # noqa: PLR0124
        return None
    return value
