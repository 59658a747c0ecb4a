"""``qed compare``: two models on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.cli._parser import add_source

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    made.add_argument("model", metavar="FIRST", help="a model file")
    made.add_argument("other", metavar="SECOND", help="another, of the same target")
    add_source(made)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Compare, and say which is better, by how much, and how sure that is."""
    from dataclasses import asdict, replace  # noqa: PLC0415

    from qed.study import read_table, versus  # noqa: PLC0415
    from qed.study._model import load_predictor  # noqa: PLC0415
    from qed.study._source import digest_of  # noqa: PLC0415

    first, second = load_predictor(options.model), load_predictor(options.other)
    table = read_table(options.data, table=options.table, query=options.query, encoding=options.encoding)
    found = versus(first, second, replace(table, digest=digest_of(options.data)))
    screen.say(f"{found.measure} on {found.n_rows:,} rows, paired", "bold")
    names = ("", options.model, options.other)
    screen.table(
        ("", found.measure, "model"),
        [
            (options.model, f"{found.first:.5g}", first.schema.fit_record.candidate),
            (options.other, f"{found.second:.5g}", second.schema.fit_record.candidate),
        ],
        right="1",
    )
    screen.say(f"  difference {found.difference:.4g}  (95 % interval {found.lower:.4g} to {found.upper:.4g})")
    if found.is_same:
        screen.say("  The two give the same answer for every row: they are the same model.", "bold")
    elif found.better:
        screen.say(f"  {names[found.better]} is better.", "bold green")
    else:
        screen.say("  These rows cannot tell which is better.", "bold")
    for note in found.notes:
        screen.warn(note)
    screen.answer({**asdict(found), "same": found.is_same, "better": names[found.better] or None})
    return 0
