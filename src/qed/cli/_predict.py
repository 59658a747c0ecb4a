"""``qed predict``: new rows in, predictions out."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qed.cli._files import require_free, write_whole
from qed.core import InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen


ENDINGS = (".csv", ".json", ".jsonl", ".parquet")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Predict and write."""
    from qed.study._model import load  # noqa: PLC0415
    from qed.study._source import read_table  # noqa: PLC0415

    if options.out is not None:
        require_free(options.out, force=options.force, flag="--out")
        if Path(options.out).suffix.lower() not in ENDINGS:
            raise InvalidParameter(f"--out {options.out}: the name should end in {', '.join(ENDINGS)}.")
    model = load(options.model)
    table = read_table(options.data, table=options.table, query=options.query, encoding=options.encoding)
    columns = _columns(model, table)
    if options.outside:
        columns["outside"] = ["; ".join(model.strange.get(row, ())) for row in range(table.n_rows)]
    outside = _counted(model.strange)
    for notice in model.notices:
        if not options.quiet:
            print(f"! {notice}", file=sys.stderr, flush=True)  # noqa: T201
    if options.out is not None:
        write_whole(
            options.out, lambda path: _write(path, Path(options.out).suffix.lower(), columns), replace=options.force
        )
        screen.say(f"{table.n_rows:,} predictions in {options.out}")
        screen.answer({"rows": table.n_rows, "out": options.out, "outside": outside, "notices": model.notices})
    elif options.json:
        screen.answer({"rows": table.n_rows, "predictions": columns, "outside": outside, "notices": model.notices})
    else:
        sys.stdout.write(_csv(columns))
        sys.stdout.flush()
    return 0


def _counted(strange: dict[int, list[str]]) -> dict[str, Any]:
    """Count rows, and cells by column, that are like nothing at the fit."""
    cells: dict[str, int] = {}
    for names in strange.values():
        for name in names:
            cells[name] = cells.get(name, 0) + 1
    return {"rows": len(strange), "columns": cells}


def _columns(model: Any, table: Any) -> dict[str, list[Any]]:
    """Return the prediction, and for classes their probabilities."""
    labels = list(model.classes_)
    if not labels:
        return {"prediction": model.predict(table).tolist()}
    shares = model.predict_proba(table)
    best = [labels[at] for at in shares.argmax(axis=1)]
    return {"prediction": best, **{f"probability_{label}": shares[:, at].tolist() for at, label in enumerate(labels)}}


def _csv(columns: dict[str, list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def _write(path: Path, ending: str, columns: dict[str, list[Any]]) -> None:
    if ending == ".csv":
        path.write_text(_csv(columns), encoding="utf-8")
    elif ending == ".parquet":
        from pyarrow import parquet, table  # noqa: PLC0415  (an extra)

        parquet.write_table(table(columns), path)
    else:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        text = "\n".join(lines) + "\n" if ending == ".jsonl" else "[\n" + ",\n".join(lines) + "\n]\n"
        path.write_text(text, encoding="utf-8")
