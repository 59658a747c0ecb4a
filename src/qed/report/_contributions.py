"""What each column contributes: a section of the page of a study, and the page of ``qed explain``."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np

from qed.report._contribution_figures import NO_SHADE, contribution_bars, shades_of, swarm, waterfall
from qed.report._format_numbers import said
from qed.report._parts import Figure, Section
from qed.report._report import Report
from qed.study._contributions import entry_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qed.inspection import Explanation
    from qed.study import Study, TableModel
    from qed.study._schema import ColumnSchema, TableSchema, TargetSchema

TITLE = "What does each column contribute?"
MOST_BARS = 12
MOST_STEPS = 9
WATERFALLS = 4
CAUTION = "Contributions describe how the model reasons, and not what causes what."


def contributions_section(study: Study) -> Section | None:
    """Show the contributions of all columns to the predictions of held-out rows, or say why they are not there."""
    shared = study.held_out.contributions
    if shared is None:
        return None
    found = shared.explanation
    if found is None:
        words = (
            f"Not shown: {shared.words}. Contributions may take {100 * shared.share:.0f} % of the budget: give more with --budget,"
            " or run: qed explain."
        )
        return Section(TITLE, words=(words,))
    share = (
        f"At most {100 * shared.share:.0f} % of the time go into this, enough here for {len(found):,} rows, compared with"
        f" {found.certificate.background_rows} rows of the fit."
    )
    return Section(
        TITLE, figures=_overview(found, study.schema, "rows kept aside"), words=(_proven(found), f"{share} {CAUTION}")
    )


def explanation_report(model: TableModel, found: Explanation, *, source: str = "", against: str = "") -> Report:
    """Make the page of an explanation: bars and dots over all rows, the steps of the first ones.

    Parameters
    ----------
    model : TableModel
        Whose predictions are explained.
    found : Explanation
        What `TableModel.explain` gave.
    source, against : str
        Where the rows come from, and those that they are compared with.

    Returns
    -------
    Report
        Ready to be saved as one HTML file.
    """
    schema = model.schema
    many = f"{len(found):,} row{'s' if len(found) != 1 else ''}" + (f" of {source}" if source else "")
    lead = (
        f"{schema.fit_record.candidate[0].upper() + schema.fit_record.candidate[1:]}: {many}, compared with"
        f" {found.certificate.background_rows} rows of {against or source or 'the same table'}. What is predicted on average,"
        " plus what each column contributes, is the prediction."
    )
    first = tuple(_steps(found, schema, row) for row in range(min(WATERFALLS, len(found))))
    sections = (
        Section(TITLE, figures=_overview(found, schema, "rows"), words=(CAUTION,)),
        Section("Why these predictions?", figures=first),
        Section("What is proven?", words=(_proven(found),), facts=tuple(found.certificate.numbers().items())),
    )
    footer = f"Written by qed on {dt.datetime.now(dt.UTC).date().isoformat()}. One file, no scripts, nothing fetched."
    return Report(f"Why is {schema.target.name.replace('_', ' ')} predicted so?", lead, sections, footer)


def meaning(found: Explanation, target: TargetSchema, label: str = "") -> str:
    """Say in which unit contributions are."""
    if target.task == "regression":
        unit = f", {target.unit}" if target.unit else ""
        name = target.name.removesuffix(f"_{target.unit}") + unit
        return f"the logarithm of {name}" if found.output.startswith("log of") else name
    named = label or f"“{found.output_names[-1]}”"
    if found.output == "predict_proba":
        return f"the probability of {named}"
    return f"the {'log-odds' if target.task == 'binary' else 'score'} of {named}"


def _proven(found: Explanation) -> str:
    proof = found.certificate
    exact = (
        "They are exact up to rounding"
        if proof.standard_error == 0
        else f"They are estimates, with standard errors up to {said(proof.standard_error)}"
    )
    return f"These are Shapley values. {exact}, and add up to prediction minus average within {proof.residual:.1e}."


def _one_output(found: Explanation) -> Explanation:
    """Return the explanation of a number, of the second of two classes, or of the class that is most probable most often."""
    if found.values.ndim == 2:
        return found
    often = np.bincount(found.predictions.argmax(axis=1), minlength=len(found.output_names))
    return found.of_output(int(often.argmax()))


def _overview(found: Explanation, schema: TableSchema, rows: str) -> tuple[Figure, ...]:
    """Draw bars over all classes, and dots of one."""
    sizes = found.importance() if found.values.ndim == 2 else found.importance().mean(axis=1)
    order = np.argsort(-sizes, kind="stable")[:MOST_BARS]
    names = [found.feature_names[j] for j in order]
    label = meaning(found, schema.target, "a class" if found.values.ndim == 3 else "")
    left = len(sizes) - len(order)
    more = f" The other {left} contribute less." if left else ""
    bars = Figure(
        contribution_bars(
            names, sizes[order], label=f"mean contribution to {label}",
            description=f"Bars of the mean absolute contribution of {len(names)} columns, {names[0]} first",
        ),
        f"How far each column moves a prediction, up or down, on average over {len(found):,} {rows}{_classes(found)}.{more}",
    )  # fmt: skip
    one = _one_output(found)
    dots = Figure(
        swarm(
            names, one.values[:, order], _shades(one, schema, order), _hovers(one, schema, order),
            label=f"contribution to {meaning(one, schema.target)}",
            description=f"Contributions of {len(names)} columns to {len(found)} predictions, a dot for each row",
        ),
        f"Each dot is one of {len(found):,} {rows}: to the right of the dashes the column raises the prediction. From blue for"
        " small values of the column to orange for large ones; grey where it is missing or its values have no order.",
    )  # fmt: skip
    return bars, dots


def _classes(found: Explanation) -> str:
    return "" if found.values.ndim == 2 else f" and {len(found.output_names)} classes"


def _used(schema: TableSchema) -> list[ColumnSchema]:
    return [column for column in schema.columns if column.is_used]


def _shades(found: Explanation, schema: TableSchema, order: NDArray[np.int64]) -> NDArray[np.int64]:
    columns = _used(schema)
    made = np.full((len(found), len(order)), NO_SHADE)
    for at, j in enumerate(order):
        values = found.shown_values(int(j))
        if columns[j].kind in ("number", "date", "yes/no") and values is not None:
            made[:, at] = shades_of(values)
    return made


def _entries(found: Explanation, columns: Sequence[ColumnSchema], row: int) -> list[str]:
    """Write what a row holds, column by column."""
    places = [int(np.argmax(found.players == j)) for j in range(len(columns))]
    shown = [entry_of(column, float(found.data[row, place])) for column, place in zip(columns, places, strict=True)]
    return [f"{column.name} = {words}" if words else column.name for column, words in zip(columns, shown, strict=True)]


def _hovers(found: Explanation, schema: TableSchema, order: NDArray[np.int64]) -> list[list[str]]:
    columns = _used(schema)
    lines = []
    for row in range(len(found)):
        entries = _entries(found, columns, row)
        lines.append([f"{entries[j]}: {said(float(found.values[row, j]))}" for j in order])
    return lines


def _steps(found: Explanation, schema: TableSchema, row: int) -> Figure:
    """Draw how one prediction comes about: of several classes, that of the most probable one."""
    one = found if found.values.ndim == 2 else found.of_output(int(found.predictions[row].argmax()))
    columns, values = _used(schema), one.values[row]
    entries = _entries(one, columns, row)
    order = np.argsort(-np.abs(values), kind="stable")
    shown = order if len(order) <= MOST_STEPS else order[: MOST_STEPS - 1]
    steps = [(entries[j], float(values[j])) for j in shown]
    if len(shown) < len(order):
        rest = order[len(shown) :]
        steps.append((f"{len(rest)} other columns", float(values[rest].sum())))
    label = meaning(one, schema.target)
    svg = waterfall(
        steps, float(one.base_value), label=label, description=f"Contributions to the prediction of row {row + 1}"
    )
    return Figure(svg, "", title=f"Row {row + 1}: {said(float(one.predictions[row]))}")
