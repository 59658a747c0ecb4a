"""``qed predict``: new rows in, predictions out."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cli._files import require_free, write_whole
from qed.cli._parser import add_source
from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen

Columns = dict[str, Any]  # arrays and lists of one length, by name
ENDINGS = (".csv", ".json", ".jsonl", ".parquet", ".feather")


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    made.add_argument("model", metavar="MODEL", help="a model file")
    add_source(made)
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
        "--intervals", action="store_true", help="add the ends of an interval that holds at least 90 %% of new rows"
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


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Predict and write."""
    from qed.study._model import load  # noqa: PLC0415
    from qed.study._source import TableBlocks  # noqa: PLC0415

    if options.out is not None:
        require_free(options.out, force=options.force, flag="--out")
        require_ending(options.out, "--out")
    model = load(options.model)
    wanted = _names_to_keep(options.keep)
    table = TableBlocks(options.data, wanted, table=options.table, query=options.query, encoding=options.encoding)
    require_columns(model, table, allow=options.allow_missing)
    found = _columns(model, table, options)
    for name in set(wanted) & set(found):
        raise InvalidParameter(f"--keep {name}: what the model gives has that name. Rename the column.")
    columns = {**_kept(table, wanted), **found}
    if options.outside:
        columns["outside"] = ["; ".join(model.strange.get(row, ())) for row in range(table.n_rows)]
    outside = _counted(model.strange)
    for notice in model.notices:
        if not options.quiet:
            print(f"! {notice}", file=sys.stderr, flush=True)  # noqa: T201
    if options.out is not None:
        write_whole(
            options.out, lambda path: write_rows(path, Path(options.out).suffix.lower(), columns), replace=options.force
        )
        screen.say(f"{table.n_rows:,} predictions in {options.out}")
        screen.answer({"rows": table.n_rows, "out": options.out, "outside": outside, "notices": model.notices})
    elif options.json:
        screen.answer({"rows": table.n_rows, "predictions": columns, "outside": outside, "notices": model.notices})
    else:
        sys.stdout.write(_csv(columns))
        sys.stdout.flush()
    return 0


def require_columns(model: Any, table: Any, *, allow: bool) -> None:
    """Refuse rows without the columns that the model was fitted on."""
    lacking = model.lacking(table)
    if lacking and not allow:
        listed = ", ".join(repr(name) for name in lacking[:6]) + (" …" if len(lacking) > 6 else "")
        known = {column.name for column in model.schema.columns}
        others = ", ".join(repr(name) for name in table.names if name not in known)[:200]
        hint = f" Unknown to it are {others}: is one of them meant?" if others else ""
        raise InvalidData(
            f"The model needs {listed}, which {table.source} has not.{hint} Rename or add them, or say --allow-missing to have"
            " every row counted as missing them."
        )


def _names_to_keep(names: str) -> list[str]:
    wanted = [part.strip() for part in names.split(",") if part.strip()]
    for name in wanted:
        if name == "prediction" or name.startswith("probability_"):
            raise InvalidParameter(f"--keep {name}: predictions have that name. Rename the column.")
    return wanted


def _kept(table: Any, wanted: list[str]) -> Columns:
    """Return what tells the rows apart: the columns that were asked for, or the number of the row."""
    if not wanted:
        return {"row": np.arange(1, table.n_rows + 1)}
    return {name: _entries(table.column(name)) for name in wanted}


def _entries(column: Any) -> Any:
    """Return the entries of a column as the table holds them: whole numbers, truths, words, dates as text."""
    if column.kind == "nested":
        raise InvalidParameter(f"--keep {column.name}: it holds nested values, which cannot be written.")
    if column.kind in ("number", "truth") and not column.form:
        values = column.values
        if column.gaps.any():
            entries = [None if math.isnan(one) else one for one in values.tolist()]
            whole = all(one is None or one == math.floor(one) for one in entries)
            return [None if one is None else bool(one) if column.kind == "truth" else int(one) if whole else one
                    for one in entries]  # fmt: skip
        if column.kind == "truth":
            return values.astype(bool)
        return (
            values.astype(np.int64) if bool((values == np.floor(values)).all()) and abs(values).max() < 1e15 else values
        )
    codes, words = (column.worded() if column.form else column).as_words()
    return [None if code < 0 else words[code] for code in codes.tolist()]


def _counted(strange: dict[int, list[str]]) -> dict[str, Any]:
    """Count rows, and cells by column, that are like nothing at the fit."""
    cells: dict[str, int] = {}
    for names in strange.values():
        for name in names:
            cells[name] = cells.get(name, 0) + 1
    return {"rows": len(strange), "columns": cells}


def _columns(model: Any, table: Any, options: argparse.Namespace) -> Columns:
    """Return the prediction, and for classes their probabilities, for numbers an interval where one is asked for."""
    from qed.study._losses import decided  # noqa: PLC0415
    from qed.study._model import TableModel, typed_classes  # noqa: PLC0415

    if not isinstance(model, TableModel):
        return _outputs(model, table, options)
    if options.threshold is not None and (model.schema.target.task != "binary" or not 0 <= options.threshold <= 1):
        raise InvalidParameter(
            f"--threshold {options.threshold:g}: it is a probability between 0 and 1, for models of two classes."
        )
    if options.intervals:
        half = model.schema.fit_record.scores.get("90 % of errors below")
        if half is None or len(model.classes_):
            raise InvalidParameter(
                "--intervals: this model has none. They are for numbers, from models of which at least 29 rows were kept aside."
            )
    if not len(model.classes_):
        said = model.answers(table)
        if not options.intervals:
            return {"prediction": said}
        low, high = model.schema.target.possible
        return {"prediction": said, "lower": np.maximum(said - half, low), "upper": np.minimum(said + half, high)}
    shares, target = model.answers(table), model.schema.target
    if options.threshold is not None:
        target = replace(target, threshold=options.threshold)
    classes = typed_classes(target)
    found: Columns = {"prediction": classes[decided(shares, target)]}
    if not options.no_probabilities:
        names = classes if target.entries == "truth" else model.classes_
        found |= {f"probability_{name}": shares[:, at] for at, name in enumerate(names)}
    return found


def _outputs(model: Any, table: Any, options: argparse.Namespace) -> Columns:
    """Return clusters, coordinates or anomaly scores."""
    for flag, is_said in (("--threshold", options.threshold is not None), ("--intervals", options.intervals)):
        if is_said:
            raise InvalidParameter(f"{flag}: this is a model of {model.schema.output.task}, which has none.")
    found: Columns = model.outputs(table)
    if options.no_probabilities:
        found = {name: one for name, one in found.items() if not name.startswith("probability_")}
    return found


def _rows(columns: Columns) -> Any:
    lists = [one.tolist() if isinstance(one, np.ndarray) else one for one in columns.values()]
    return zip(*lists, strict=True)


def _csv(columns: Columns) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(_rows(columns))
    return out.getvalue()


def _words(columns: Columns) -> list[str]:
    """Name the columns whose entries come back; a dictionary of different numbers would only take time."""
    return [name for name, one in columns.items() if not (isinstance(one, np.ndarray) and one.dtype.kind in "fiu")]


def require_ending(path: str, flag: str) -> None:
    """Refuse a file whose name says no format that rows can be written in."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise InvalidParameter(f"{flag} {path}: the name should end in {', '.join(ENDINGS)}.")


def _arrow(values: Any) -> Any:
    """Return a column for Arrow; numbers where they lie in memory, as Arrow's own way loads pandas first."""
    from pyarrow import Array, array, float64, int64, py_buffer  # noqa: PLC0415

    kind = {"float64": float64, "int64": int64}.get(str(getattr(values, "dtype", "")))
    if kind is None or values.ndim != 1:
        return array(values)
    return Array.from_buffers(kind(), len(values), [None, py_buffer(np.ascontiguousarray(values))])


def write_rows(path: Path, ending: str, columns: Columns) -> None:
    """Write columns in the format that the ending of a name says."""
    if ending == ".csv":
        path.write_text(_csv(columns), encoding="utf-8")
    elif ending in (".parquet", ".feather"):
        from pyarrow import feather, parquet, table  # noqa: PLC0415  (an extra)

        made = table({name: _arrow(one) for name, one in columns.items()})
        if ending == ".parquet":
            parquet.write_table(made, path, use_dictionary=_words(columns))
        else:
            feather.write_feather(made, str(path))
    else:
        lines = [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in _rows(columns)]
        text = "\n".join(lines) + "\n" if ending == ".jsonl" else "[\n" + ",\n".join(lines) + "\n]\n"
        path.write_text(text, encoding="utf-8")
