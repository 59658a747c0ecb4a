"""``qed verify``: whether what a model claims is true of these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.cli._parser import add_source
from qed.core import CertificateError, InvalidData

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    made.add_argument("model", metavar="MODEL", help="a model file")
    add_source(made)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Check, and answer by words and by the exit code."""
    from qed.study import load, read_table  # noqa: PLC0415

    model = load(options.model)
    table = read_table(options.data, table=options.table, query=options.query, encoding=options.encoding)
    try:
        verdict = model.verify(table)
    except CertificateError as error:
        return _refused(str(error), screen)
    except InvalidData as error:
        return _refused(f"the rows cannot be those of the fit: {error}", screen)
    screen.say("✓ accepted", "bold green")
    screen.say(f"  {model.proof.statement}")
    screen.say(
        f"  Every claim of every part was computed again, on {model.schema.fit_record.rows_fitted:,} rows, by code that shares"
        " nothing with the fit.",
        "dim",
    )
    target = getattr(model.schema, "target", None)
    if target is not None and target.task == "binary" and target.threshold != 0.5:
        screen.say(
            f"  {str(target.labels[1])!r} is predicted from a probability of {target.threshold:.4g} on: a choice (--cost), and no"
            " claim.",
            "dim",
        )
    screen.answer(
        {"accepted": True, "statement": model.proof.statement, "distance": verdict.distance, "claimed": verdict.claimed}
    )
    return 0


def _refused(words: str, screen: Screen) -> int:
    screen.say("✗ rejected", "bold red")
    screen.say(f"  {words}")
    screen.answer({"accepted": False, "reason": words})
    return 1
