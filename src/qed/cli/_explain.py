"""``qed explain``: what each column contributes to each prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cli._files import require_free, write_whole
from qed.cli._parser import add_source
from qed.cli._predict import require_columns
from qed.cli._table_words import write_text
from qed.core import InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.inspection import Explanation

PAGE = "explanation.html"


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    made.add_argument("model", metavar="MODEL", help="a model file")
    add_source(made)
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


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Explain, and write a page or answer in JSON."""
    from qed import listen  # noqa: PLC0415
    from qed.study import read_table  # noqa: PLC0415
    from qed.study._model import load_predictor  # noqa: PLC0415

    if options.rows < 1:
        raise InvalidParameter(f"--rows {options.rows}: at least one row must be explained.")
    out = options.out or (None if options.json else PAGE)  # JSON alone is an answer too
    if out is not None:
        require_free(out, force=options.force, flag="--out")
    model = load_predictor(options.model)
    table = read_table(options.data, table=options.table, query=options.query, encoding=options.encoding)
    require_columns(model, table, allow=options.allow_missing)
    against = None
    if options.against is not None:
        against = read_table(options.against)
        require_columns(model, against, allow=options.allow_missing)
    with listen(screen.follow):
        found = model.explain(table, against=against, rows=options.rows)
    screen.stop()
    notices = list(model.notices)
    if table.n_rows > len(found):
        notices.append(f"The first {len(found):,} of {table.n_rows:,} rows are explained. Say --rows to have more.")
    for notice in notices:
        screen.warn(notice)
    if out is not None:
        _write_page(model, found, out, options)
    _show(found, screen, out)
    screen.answer({**_facts(found), "notices": notices, "out": out})
    return 0


def _write_page(model: Any, found: Explanation, out: str, options: argparse.Namespace) -> None:
    from qed.report import explanation_report  # noqa: PLC0415

    source, against = (Path(path).name if path else "" for path in (options.data, options.against))
    page = explanation_report(model, found, source=source, against=against).html()
    write_whole(out, lambda path: write_text(path, page), replace=options.force)


def _sizes(found: Explanation) -> Any:
    """Return the mean absolute contribution of each column, over classes too."""
    sizes = found.importance()
    return sizes if sizes.ndim == 1 else sizes.mean(axis=1)


def _show(found: Explanation, screen: Screen, out: str | None) -> None:
    sizes = _sizes(found)
    most = float(sizes.max()) or 1.0
    screen.say(f"Mean contribution of each column to {len(found):,} predictions, up or down", "bold")
    rows = [
        (found.feature_names[j], f"{sizes[j]:.4g}", "━" * max(1, round(24 * sizes[j] / most)) if sizes[j] else "")
        for j in np.argsort(-sizes, kind="stable")[:20]
    ]
    screen.table(("column", "contribution", ""), rows, right="1")
    screen.say(f"  {found.certificate.statement}", "dim")
    if out is not None:
        screen.say(f"  page    {out}")


def _facts(found: Explanation) -> dict[str, Any]:
    """Return the explanation as plain values; of more than two classes contributions are lists, a number for each."""
    proof = found.certificate
    names = found.feature_names
    return {
        "rows": len(found),
        "output": found.output,
        "outputs": list(found.output_names),
        "base_value": found.base_value,
        "importance": dict(zip(names, _sizes(found).tolist(), strict=True)),
        "contributions": [
            {
                "row": row + 1,
                "prediction": found.predictions[row],
                "contributions": dict(zip(names, found.values[row].tolist(), strict=True)),
            }
            for row in range(len(found))
        ],
        "residual": proof.residual,
        "standard_error": proof.standard_error,
        "certificate": {"statement": proof.statement, "numbers": proof.numbers(), "reached": proof.reached},
    }
