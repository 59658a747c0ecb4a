"""The words of the command: which commands there are; what each takes, its own module declares.

A command ``name`` is a line of `COMMANDS` and a module ``qed.cli._name`` with two functions: ``arguments(made)`` adds its words to
a parser, ``run(options, screen)`` does the work and returns the exit code. Only the module of the chosen command is imported.
"""

from __future__ import annotations

import argparse
import json
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from qed.core._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the order of `qed --help`.
COMMANDS = {
    "fit": "find, fit and prove a model for one column of a table",
    "cluster": "find groups of similar rows, describe them, assign new rows",
    "embed": "draw rows as points in the plane, embed new rows",
    "detect": "find anomalous rows and say why, score new rows",
    "predict": "predict for new rows, or assign, embed or score them",
    "explain": "show what each column contributes to each prediction",
    "verify": "check a model's certificate by code that shares nothing with the fit",
    "compare": "compare two models on the same rows",
    "info": "show what a model file holds: columns, certificate, how it was made",
    "demo": "fit real data, write a page, see a tampered model rejected",
}
DATA = (
    "CSV, Parquet, JSON, Feather, Excel, SQLite or DuckDB file, compressed or not; - for standard input; a query over files:"
    " \"SELECT * FROM 'sales/*.parquet'\"; or postgresql://user@host/database"
)


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser of ``qed`` for these words: the command that they choose is complete, the others are names."""
    made = (_JsonParser if "--json" in words else argparse.ArgumentParser)(
        prog="qed",
        formatter_class=_layout,
        description="Machine learning that shows its proof: from a table to a model, a page and a certificate.",
        epilog="Begin with: qed demo. Then: qed fit table.csv --target price",
    )
    made.add_argument("--version", action="version", version=f"qed {__version__}")
    commands = made.add_subparsers(dest="command", metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        own = commands.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", formatter_class=_layout
        )
        if name == chosen:
            own.add_argument("--json", action="store_true", help="answer with one JSON object")
            own.add_argument("--quiet", "-q", action="store_true", help="say nothing but errors")
            own.add_argument("--debug", action="store_true", help="on an error show where it happened")
            module_of(name).arguments(own)
    return made


def module_of(command: str) -> Any:
    """Import what does a command."""
    return import_module(f"qed.cli._{command}")


def add_source(made: argparse.ArgumentParser) -> None:
    """Add the words that say where rows are read."""
    made.add_argument("data", metavar="DATA", help=DATA)
    made.add_argument("--table", help="which table of a database, or sheet of an Excel file")
    made.add_argument("--query", help="what to ask a database")
    made.add_argument("--encoding", help="how a text file is written, if not in UTF-8")


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
