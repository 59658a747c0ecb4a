"""The words of the command."""

from __future__ import annotations

import argparse
import json
import os
from typing import NoReturn

from qed.core._version import __version__

DATA = (
    "CSV, Parquet, JSON, Feather, Excel, SQLite or DuckDB file, compressed or not; - for standard input; a query over files:"
    " \"SELECT * FROM 'sales/*.parquet'\"; or postgresql://user@host/database"
)


def _layout(prog: str) -> argparse.HelpFormatter:
    """Lay help out as wide as the terminal; argparse asks shutil, which loads four ways to compress files."""
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (OSError, ValueError):
        width = 80
    return argparse.HelpFormatter(prog, width=max(40, min(width, 120) - 2))


class _JsonParser(argparse.ArgumentParser):
    """A parser whose errors are JSON."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the words of the command as one JSON object."""
        print(json.dumps({"error": message, "code": 2}, ensure_ascii=False), flush=True)  # noqa: T201
        raise SystemExit(2)


def parser(*, json_errors: bool = False) -> argparse.ArgumentParser:
    """Build the parser of ``qed``; those of its commands are of the same class."""
    top = (_JsonParser if json_errors else argparse.ArgumentParser)(
        prog="qed",
        formatter_class=_layout,
        description="Machine learning that shows its proof: from a table to a model, a page and a certificate.",
        epilog="Begin with: qed demo. Then: qed fit table.csv --target price",
    )
    top.add_argument("--version", action="version", version=f"qed {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    _fit(commands)
    _predict(commands)
    _explain(commands)
    _verify(commands)
    _compare(commands)
    _info(commands)
    _demo(commands)
    return top


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", formatter_class=_layout)
    made.add_argument("--json", action="store_true", help="answer with one JSON object")
    made.add_argument("--quiet", "-q", action="store_true", help="say nothing but errors")
    made.add_argument("--debug", action="store_true", help="on an error show where it happened")
    return made


def _source(made: argparse.ArgumentParser) -> None:
    made.add_argument("data", metavar="DATA", help=DATA)
    made.add_argument("--table", help="which table of a database, or sheet of an Excel file")
    made.add_argument("--query", help="what to ask a database")
    made.add_argument("--encoding", help="how a text file is written, if not in UTF-8")


def _fit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "fit", "find, fit and prove a model for one column of a table")
    _source(made)
    made.add_argument(
        "--target", "-t", metavar="COLUMN", help="the column to predict; without it the columns are listed"
    )
    made.add_argument(
        "--task", choices=("regression", "counts", "binary", "multiclass"), help="what to predict, if not as inferred"
    )
    made.add_argument(
        "--types", default="", metavar="COL=TYPE,…",
        help="what columns are: number, code, category, yes/no, date, text, identifier; or how they are written: day-first,"
        " month-first, decimal-comma, decimal-point",
    )  # fmt: skip
    made.add_argument("--drop", default="", metavar="COL,…", help="columns to leave out")
    made.add_argument("--budget", default="60s", metavar="TIME", help="time to spend: 60s, 5m, 1h (60s)")
    lean = made.add_mutually_exclusive_group()
    lean.add_argument(
        "--simple", action="store_true", help="take the simplest model within one standard error of the best"
    )
    lean.add_argument("--best", action="store_true", help="take the least error, whatever it is made of")
    made.add_argument(
        "--cost", default="", metavar="fp=1,fn=20",
        help="what a false alarm and a missed case cost, of two classes: predictions use the threshold that asks for",
    )  # fmt: skip
    made.add_argument("--out", "-o", default="model.qed", metavar="FILE", help="the model file (model.qed)")
    made.add_argument("--report", default="report.html", metavar="FILE", help="the page to show (report.html)")
    made.add_argument("--no-report", action="store_true", help="write no page")
    made.add_argument("--seed", type=int, default=0, help="what every random choice follows from (0)")
    made.add_argument("--force", "-f", action="store_true", help="replace files that are there")


def _predict(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "predict", "predict for new rows")
    made.add_argument("model", metavar="MODEL", help="a model file")
    _source(made)
    made.add_argument(
        "--out", "-o", metavar="FILE", help="a .csv, .json, .jsonl or .parquet file; otherwise CSV is printed"
    )
    made.add_argument(
        "--keep",
        default="",
        metavar="COL,…",
        help="columns of DATA to write beside the predictions, instead of the row number",
    )
    made.add_argument(
        "--intervals", action="store_true", help="add the ends of an interval that holds at least 90 % of new rows"
    )
    made.add_argument(
        "--threshold", type=float, metavar="P", help="predict the second of two classes from this probability on"
    )
    made.add_argument("--no-probabilities", action="store_true", help="write classes without their probabilities")
    made.add_argument(
        "--allow-missing", action="store_true", help="predict although columns are missing: their rows count as gaps"
    )
    made.add_argument(
        "--outside", action="store_true",
        help="add a column that names, for each row, the columns whose entry is like nothing at the fit",
    )  # fmt: skip
    made.add_argument("--force", "-f", action="store_true", help="replace the file if it is there")


def _explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "explain", "show what each column contributes to each prediction")
    made.add_argument("model", metavar="MODEL", help="a model file")
    _source(made)
    made.add_argument("--rows", type=int, default=100, metavar="N", help="explain the first N rows (100)")
    made.add_argument(
        "--against", metavar="DATA", help="a table to compare with, such as that of the fit; DATA itself by default"
    )
    made.add_argument(
        "--out", "-o", metavar="FILE", help="the page to write (explanation.html; with --json none unless named)"
    )
    made.add_argument(
        "--allow-missing", action="store_true", help="explain although columns are missing: their rows count as gaps"
    )
    made.add_argument("--force", "-f", action="store_true", help="replace the page if it is there")


def _verify(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "verify", "check a model's certificate by code that shares nothing with the fit")
    made.add_argument("model", metavar="MODEL", help="a model file")
    _source(made)


def _compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "compare", "compare two models on the same rows")
    made.add_argument("model", metavar="FIRST", help="a model file")
    made.add_argument("other", metavar="SECOND", help="another, of the same target")
    _source(made)


def _info(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "info", "show what a model file holds: columns, certificate, how it was made")
    made.add_argument("model", metavar="MODEL", help="a model file")


def _demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = _command(commands, "demo", "fit real data, write a page, see a tampered model rejected")
    made.add_argument("folder", nargs="?", default="demo", metavar="FOLDER", help="where to write (demo)")
    made.add_argument(
        "--data", default="penguins", choices=("penguins", "weather", "iris", "wine", "breast_cancer", "diabetes"),
        help="which of the bundled tables (penguins)",
    )  # fmt: skip
    made.add_argument("--budget", default="20s", metavar="TIME", help="time to spend on the fit (20s)")
