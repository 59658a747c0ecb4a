"""``qed detect``: a table in, its anomalous rows, a model that scores new ones and a page out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from qed.cli._table_words import add_table_words, run_without_target, show_end, show_table

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.study import Detection

MOST_SHOWN = 10


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    add_table_words(made, given="the score of each row of DATA, by models that have not seen it")
    made.add_argument(
        "--rate", type=float, metavar="P", help="false-alarm rate: the share of rows like these that is called anomalous (0.01)"
    )  # fmt: skip
    made.add_argument(
        "--method", choices=("forest", "neighbors", "mixture", "envelope"),
        help="isolation forest, nearest neighbours, Gaussian mixture density or elliptic envelope; unless said the one that tells"
        " held-out rows best from artificial anomalies",
    )  # fmt: skip


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Find anomalies, write, tell."""
    from qed.report import detect_report  # noqa: PLC0415
    from qed.study import detect  # noqa: PLC0415

    found, page, clock = run_without_target(
        options, screen, detect, detect_report, rate=options.rate, method=options.method
    )
    _show(found, screen)
    shared = show_end(options, screen, found, page, clock)
    screen.answer({**shared, **_facts(found)})
    return 0


def _show(found: Detection, screen: Screen) -> None:
    from qed.report._detect import why_words  # noqa: PLC0415

    show_table(found, screen)
    screen.heading("Which method? ROC area of held-out rows against artificial anomalies")
    rows = [
        (one.title, *("" if math.isnan(value) else f"{value:.3f}" for value in (one.area, one.error)), one.reason)
        for one in found.methods
    ]
    screen.table(("", "area", "±", ""), rows, right="12")
    screen.heading(f"Result: {found.n_anomalous:,} of {len(found.scores):,} rows are anomalous")
    screen.say(f"  Of new rows like these at most {100 * found.bound:.2g} % lie above the threshold (95 % confidence).")
    shown = [
        (f"row {one.row + 1:,}", f"{one.score:.4g}", why_words(found, one)) for one in found.anomalies[:MOST_SHOWN]
    ]
    screen.table(("", "score", "why"), shown, right="1")


def _facts(found: Detection) -> dict[str, Any]:
    """Return what was found as plain values."""
    output = found.model.schema.output
    return {
        "rate": output.rate,
        "threshold": output.threshold,
        "bound": found.bound,
        "anomalous": found.n_anomalous,
        "methods": [
            {"method": one.name, "area": one.area, "error": one.error, "combinations": one.combinations,
             "extremes": one.extremes, "why": one.reason}
            for one in found.methods
        ],
        "anomalies": [
            {"row": one.row + 1, "score": one.score, "p_value": one.p_value,
             "reasons": [{"column": why.column, "part": why.part} for why in one.reasons[:8]]}
            for one in found.anomalies
        ],
    }  # fmt: skip
