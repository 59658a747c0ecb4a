"""What commands that begin with a table share: their words, how they read it, and where they write."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qed.cli._files import require_free, write_whole
from qed.cli._parser import add_source
from qed.core import InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.report import Report
    from qed.study._clock import Clock
    from qed.study._schema import ColumnSchema


def add_columns(made: argparse.ArgumentParser) -> None:
    """Add the words that say what the columns are."""
    made.add_argument(
        "--types", default="", metavar="COL=TYPE,…",
        help="what columns are: number, code, category, yes/no, date, text, identifier; or how they are written: day-first,"
        " month-first, decimal-comma, decimal-point",
    )  # fmt: skip
    made.add_argument("--drop", default="", metavar="COL,…", help="columns to leave out")
    made.add_argument("--budget", default="60s", metavar="TIME", help="time to spend: 60s, 5m, 1h (60s)")


def add_files(made: argparse.ArgumentParser, *, model: str = "model.qed", report: str = "report.html") -> None:
    """Add the words that say where the answer goes."""
    made.add_argument("--out", "-o", default=model, metavar="FILE", help=f"the model file ({model})")
    made.add_argument("--report", default=report, metavar="FILE", help=f"the page to show ({report})")
    made.add_argument("--no-report", action="store_true", help="write no page")
    made.add_argument("--seed", type=int, default=0, help="what every random choice follows from (0)")
    made.add_argument("--force", "-f", action="store_true", help="replace files that are there")


def add_table_words(made: argparse.ArgumentParser, *, given: str, rows: str | None = None) -> None:
    """Add the words of a command that fits a model without a target and gives something for each row."""
    add_source(made)
    add_columns(made)
    add_files(made)
    default = f" ({rows})" if rows else ""
    made.add_argument(
        "--rows", default=rows, metavar="FILE", help=f"a .csv, .json, .jsonl or .parquet file for {given}{default}"
    )


def run_without_target(options: argparse.Namespace, screen: Screen, fit: Any, report: Any, **said: Any) -> Any:
    """Read a table, fit a model without a target, and write model, page and rows; return what was found and the clock."""
    from qed import listen  # noqa: PLC0415
    from qed.cli._predict import require_ending, write_rows  # noqa: PLC0415
    from qed.study._clock import Clock, seconds_of  # noqa: PLC0415
    from qed.study._source import without_password  # noqa: PLC0415

    require_places(options, rows=options.rows)
    if options.rows is not None:
        require_ending(options.rows, "--rows")
    types, drop = pairs(options.types), names(options.drop)
    clock = Clock(seconds_of(options.budget))
    screen.budget = clock.budget
    screen.say(f"qed {options.command} {without_password(options.data)}", "bold")
    with listen(screen.follow):
        table = read(options, clock)
        found = fit(table, types=types, drop=drop, seed=options.seed, command=typed(), clock=clock, **said)
    screen.stop()
    write_whole(options.out, found.model.save, replace=options.force)
    if options.rows is not None:
        ending = Path(options.rows).suffix.lower()
        write_whole(options.rows, lambda path: write_rows(path, ending, found.table), replace=options.force)
    page = None
    if not options.no_report:
        page = write_page(report(found, model_file=Path(options.out).name), options.report, replace=options.force)
    return found, page, clock


def show_end(options: argparse.Namespace, screen: Screen, found: Any, page: str | None, clock: Clock) -> dict[str, Any]:
    """Print proof and files; return what every answer in JSON holds."""
    schema, proof = found.model.schema, found.model.proof
    screen.heading("Proven")
    screen.say(f"  {proof.statement}")
    show_check(found.checked, screen)
    show_files(options, screen, page, clock.spent, rows=options.rows)
    return {
        "rows": schema.fit_record.rows_used,
        "rows_fitted": schema.fit_record.rows_fitted,
        "columns": [
            {"name": one.name, "type": one.kind, "why": one.reason, "missing": one.missing, "form": one.form}
            for one in schema.columns
        ],
        "method": schema.output.method,
        "scores": schema.fit_record.scores,
        "certificate": {"statement": proof.statement, "numbers": proof.numbers(), "reached": proof.reached},
        "checked": None if found.checked is None else found.checked.is_accepted,
        "notes": list(schema.fit_record.notes),
        "model": options.out,
        "report": page,
        "rows_file": options.rows,
        "seconds": clock.spent,
    }


def show_table(found: Any, screen: Screen) -> None:
    """Print how many rows there are, the columns and the notes."""
    schema = found.model.schema
    screen.heading(f"{schema.fit_record.rows_used:,} rows")
    show_columns(schema.columns, screen)
    for note in schema.fit_record.notes:
        screen.warn(note)


def require_places(options: argparse.Namespace, **others: str | None) -> None:
    """Refuse, before any work is done, files that are there already, and one name for two things, also with --force."""
    places = {"--out": options.out, **({} if options.no_report else {"--report": options.report})}
    places |= {f"--{flag}": path for flag, path in others.items() if path is not None}
    seen = {Path(options.data).resolve(): "the table"} if Path(options.data).exists() else {}
    for flag, path in places.items():
        require_free(path, force=options.force, flag=flag)
    for flag, path in places.items():
        other = seen.setdefault(Path(path).resolve(), flag)
        if other != flag:
            raise InvalidParameter(f"{flag} {path}: that is also {other}. Choose another name.")


def read(options: argparse.Namespace, clock: Clock) -> Any:
    """Read the table, and note the digest of its file."""
    from dataclasses import replace  # noqa: PLC0415

    from qed.core._events import Progress  # noqa: PLC0415
    from qed.study import read_table  # noqa: PLC0415
    from qed.study._source import digest_of  # noqa: PLC0415

    with Progress("reading"):
        table = read_table(
            options.data, table=options.table, query=options.query, encoding=options.encoding, clock=clock
        )
        return replace(table, digest=digest_of(options.data))


def typed() -> str:
    """Return the command as it was typed, without passwords."""
    from qed.study._source import without_password  # noqa: PLC0415

    words = ["qed", *map(without_password, sys.argv[1:])]
    return shlex.join(words)[:2000]


def pairs(text: str) -> dict[str, str]:
    """Read what the user says of columns."""
    found = {}
    for part in names(text):
        name, is_pair, kind = part.rpartition("=")
        if not is_pair or not name or not kind:
            raise InvalidParameter(f"--types {part}: write column=type, such as --types age=number,zip=category.")
        found[name.strip()] = kind.strip()
    return found


def names(text: str) -> list[str]:
    """Read a list of columns."""
    return [part.strip() for part in text.split(",") if part.strip()]


def write_page(report: Report, path: str, *, replace: bool) -> str | None:
    """Write a page, whole or, when Ctrl-C comes, not at all; the model is there by then."""
    try:
        page = report.html()
        write_whole(path, lambda place: write_text(place, page), replace=replace)
    except KeyboardInterrupt:
        return None
    return path


def write_text(path: Path, page: str) -> None:
    """Write a page."""
    path.write_text(page, encoding="utf-8")


def show_columns(columns: tuple[ColumnSchema, ...], screen: Screen) -> None:
    """Print what each column is taken for, and why."""
    rows = [
        (one.name, one.kind if one.is_used else f"{one.kind} (left out)", _gaps(one.missing), one.reason)
        for one in columns
    ]
    styles = ["" if one.is_used else "dim" for one in columns]
    screen.table(("column", "type", "missing", "why"), rows[:40], styles[:40], right="2")
    if len(rows) > 40:
        screen.say(f"  … and {len(rows) - 40} more columns")


def _gaps(share: float) -> str:
    return "" if share == 0 else "<1 %" if share < 0.01 else f"{100 * share:.0f} %"


def show_check(checked: Any, screen: Screen) -> None:
    """Print what the independent checker said."""
    if checked is None:
        screen.say("  Have it checked by independent code: qed verify MODEL DATA", "dim")
    elif checked.is_accepted:
        screen.say("  ✓ accepted by an independent checker", "green")
    else:
        screen.say(f"  ✗ rejected by the independent checker: {checked.words}", "bold red")


def show_files(
    options: argparse.Namespace, screen: Screen, report: str | None, seconds: float, **others: str | None
) -> None:
    """Print what was written, and what to type next."""
    screen.say()
    screen.say(f"  model   {options.out}")
    if not options.no_report:
        screen.say(f"  report  {report or 'not written: interrupted'}")
    for name, path in others.items():
        if path is not None:
            screen.say(f"  {name:7} {path}")
    screen.say(f"  next    qed predict {shlex.quote(options.out)} NEW-ROWS", "dim")
    screen.say(f"  {seconds:.1f} s", "dim")
