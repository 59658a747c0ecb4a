"""``qed embed``: a table in, its rows as points in two dimensions, a model that embeds new ones and a page out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.cli._table_words import add_table_words, run_without_target, show_end, show_table

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.study import TableEmbedding


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    add_table_words(made, given="the coordinates of each row of DATA", rows="coordinates.csv")
    made.add_argument(
        "--method", choices=("pca", "umap", "tsne"),
        help="principal components, UMAP or t-SNE (which embeds no new rows); the more faithful of the first two unless said",
    )  # fmt: skip
    made.add_argument(
        "--colour",
        "--color",
        metavar="COLUMN",
        help="the column that colours the points; the embedding does not see it",
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Embed, write, tell."""
    from qed.report import embed_report  # noqa: PLC0415
    from qed.study import embed  # noqa: PLC0415

    found, page, clock = run_without_target(
        options, screen, embed, embed_report, method=options.method, colour=options.colour
    )
    _show(found, screen)
    shared = show_end(options, screen, found, page, clock)
    screen.answer({**shared, **_facts(found)})
    return 0


def _show(found: TableEmbedding, screen: Screen) -> None:
    show_table(found, screen)
    screen.heading("Which method?")
    rows = [
        (one.title, f"{one.trustworthiness:.3f}", f"{one.continuity:.3f}", one.reason)
        if len(one.points)
        else (one.title, "", "", one.reason)
        for one in found.methods
    ]
    screen.table(("", "trustworthiness", "continuity", ""), rows, right="12")
    screen.say(f"  {found.reason}")
    screen.heading(f"Result: {found.model.schema.output.method} of {len(found.points):,} rows")
    screen.say(
        f"  trustworthiness {found.trustworthiness:.3f}: points that are near each other are rows that are near each other"
    )
    screen.say(
        f"  continuity      {found.continuity:.3f}: rows that are near each other are points that are near each other"
    )
    screen.say("  1 is the best, 0.5 what chance gives", "dim")


def _facts(found: TableEmbedding) -> dict[str, Any]:
    """Return an embedding as plain values."""
    return {
        "trustworthiness": found.trustworthiness,
        "continuity": found.continuity,
        "reason": found.reason,
        "methods": [
            {
                "method": one.name,
                "trustworthiness": one.trustworthiness,
                "continuity": one.continuity,
                "why": one.reason,
            }
            for one in found.methods
        ],
        "embeds_new_rows": hasattr(found.model.pipeline, "transform"),
    }
