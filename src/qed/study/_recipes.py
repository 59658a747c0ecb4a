"""What is tried: how columns are prepared, and the candidates that families declare behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.model_selection._candidate import Candidate, TableTask, declared_candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.compose import ColumnTransformer, Pipeline
    from qed.model_selection._candidate import Preparation
    from qed.study._schema import ColumnSchema, TargetSchema

MOST_CATEGORIES = 25
CURVE_KNOTS = 5
FEWEST_FOR_A_CURVE = 12  # distinct values below which a column stays straight


def constant(target: TargetSchema) -> Candidate:
    """Return what every candidate has to be better than, and what is taken where none is."""
    from qed.model_selection import DummyClassifier, DummyRegressor  # noqa: PLC0415  (loads what predicts)

    if target.task == "regression":
        return Candidate("always the mean", "", lambda *_: DummyRegressor(), is_constant=True)
    return Candidate("always the usual shares", "", lambda *_: DummyClassifier(strategy="prior"), is_constant=True)


def candidates(target: TargetSchema, columns: Sequence[ColumnSchema]) -> list[Candidate]:
    """List what all families offer for this table, most promising first."""
    width = prepared_width(columns, MOST_CATEGORIES, form="linear")
    return declared_candidates(TableTask(target.task, target.counts, width, any(map(_may_bend, columns))))


def _may_bend(column: ColumnSchema) -> bool:
    return column.kind == "number" and column.distinct >= FEWEST_FOR_A_CURVE


def prepared_width(columns: Sequence[ColumnSchema], most: int, *, form: Preparation) -> int:
    """Count the columns behind the preparation, at most."""
    width = 0
    for column in columns:
        if column.kind in ("category", "code"):
            width += min(most, len(column.words)) + (column.missing > 0)
        elif column.kind == "date":
            width += 7
        elif column.kind == "text":
            width += column.width
        elif column.is_used:
            width += 1 + (column.missing > 0) + (CURVE_KNOTS + 1 if form == "splines" and _may_bend(column) else 0)
    return width


def pipeline(candidate: Candidate, columns: Sequence[ColumnSchema], n_rows: int, spread: float, most: int) -> Pipeline:
    """Put preparation and model together.

    Parameters
    ----------
    candidate : Candidate
        The model.
    columns : sequence of ColumnSchema
        What the columns of the matrix are.
    n_rows : int
        Rows that it will be fitted on.
    spread : float
        Spread of the target.
    most : int
        Most categories of a column; rarer ones are taken together.
    """
    from qed.compose import Pipeline  # noqa: PLC0415

    prepare = preparation(columns, form=candidate.preparation, most=most)
    return Pipeline([("columns", prepare), ("model", candidate.make(n_rows, spread or 1.0))])


def preparation(columns: Sequence[ColumnSchema], *, form: Preparation, most: int) -> ColumnTransformer:
    """Prepare every column by its kind: gaps filled and marked, numbers scaled, categories and dates taken apart."""
    from qed.compose import ColumnTransformer, Pipeline  # noqa: PLC0415
    from qed.preprocessing import DateFeatures, OneHotEncoder, SimpleImputer, SplineTransformer, StandardScaler  # noqa: PLC0415

    places = _places(columns, curved=form == "splines")
    parts: list[tuple[str, Any, list[int]]] = []
    if places["number"]:
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        parts.append(("numbers", Pipeline([("fill", fill), ("scale", StandardScaler())]), places["number"]))
    if places["curve"]:
        fill = SimpleImputer(strategy="median", keep_empty_features=True)
        bend = SplineTransformer(n_knots=CURVE_KNOTS, knots="quantile", extrapolation="linear", include_bias=False)
        parts.append(
            ("curves", Pipeline([("fill", fill), ("bend", bend), ("scale", StandardScaler())]), places["curve"])
        )
    if places["yes/no"]:
        fill = SimpleImputer(strategy="most_frequent", add_indicator=True, keep_empty_features=True)
        parts.append(("yes or no", Pipeline([("fill", fill), ("scale", StandardScaler())]), places["yes/no"]))
    if places["category"]:
        encoder = OneHotEncoder(max_categories=most, handle_unknown="infrequent_if_exist", sparse_output=False)
        parts.append(("categories", encoder, places["category"]))
    if places["date"]:
        dates = DateFeatures(["days_since", "month", "weekday", "hour"], cyclic=True)
        fill = SimpleImputer(strategy="median", keep_empty_features=True)
        parts.append(
            ("dates", Pipeline([("parts", dates), ("fill", fill), ("scale", StandardScaler())]), places["date"])
        )
    if places["text"]:
        parts.append(("texts", StandardScaler(), places["text"]))
    return ColumnTransformer(parts)


def _places(columns: Sequence[ColumnSchema], *, curved: bool) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in ("number", "curve", "yes/no", "category", "date", "text")}
    at = 0
    for column in columns:
        if column.is_used:
            kind = "category" if column.kind == "code" else column.kind
            if curved and _may_bend(column):
                found["curve"].append(at)
            # splines hold straight lines too; a column with gaps stays for the mark of its gaps
            if not (curved and _may_bend(column) and column.missing == 0):
                found[kind] += range(at, at + column.width)
        at += column.width
    return found
