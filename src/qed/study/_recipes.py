"""What is tried: how columns are prepared, and the candidates that families declare behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.model_selection._candidate import Candidate, TableTask, declared_candidates
from qed.study._column_types import MANY_LEVELS
from qed.study._schema import TEXT_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.compose import ColumnTransformer, Pipeline
    from qed.model_selection._candidate import Preparation
    from qed.study._schema import ColumnSchema, TargetSchema

MOST_CATEGORIES = MANY_LEVELS
MOST_CODES = 254  # categories that boosting can tell apart
MOST_TREE_WORDS = 100  # of texts: each split looks at all columns, and few words tell much
CURVE_KNOTS = 5
STRONGEST = 8  # columns whose products are tried: 28 pairs
FEWEST_FOR_A_CURVE = 12  # distinct values below which a column stays straight
TREES = ("trees", "trees and means")
SEED = 0  # of the folds that means of the target come from


def constant(target: TargetSchema) -> Candidate:
    """Return what every candidate has to be better than, and what is taken where none is."""
    from qed.model_selection import DummyClassifier, DummyRegressor  # noqa: PLC0415  (loads what predicts)

    if target.task == "regression":
        return Candidate("always the mean", "", lambda *_: DummyRegressor(), is_constant=True)
    return Candidate("majority class", "", lambda *_: DummyClassifier(strategy="prior"), is_constant=True)


def candidates(target: TargetSchema, columns: Sequence[ColumnSchema], y: Any = None) -> list[Candidate]:
    """List what all families offer for this table, most promising first; ``y`` tells how rare the rarest class is."""
    rarest = 1.0
    if y is not None and target.task != "regression":
        rarest = float(np.bincount(np.asarray(y, np.int64), minlength=len(target.labels)).min() / len(y))
    width = prepared_width(columns, MOST_CATEGORIES, form="linear")
    codes = len(places_of(columns, form="trees")["category"])
    numbers = any(column.repeats and column.kind == "number" for column in columns)
    task = TableTask(
        target.task,
        target.counts,
        width,
        has_splines=any(map(_may_be_curved, columns)),
        is_positive=target.is_positive,
        n_codes=codes,
        rarest=rarest,
        has_identifiers=numbers,
        has_products=sum(column.is_used for column in columns) > 1,
    )
    return declared_candidates(task)


def _may_be_curved(column: ColumnSchema) -> bool:
    return column.kind == "number" and column.distinct >= FEWEST_FOR_A_CURVE


def prepared_width(columns: Sequence[ColumnSchema], most: int, *, form: Preparation) -> int:
    """Count the columns behind the preparation, at most."""
    width, trees = 0, form in TREES
    for column in columns:
        if not column.is_used:
            continue
        width += column.repeats
        if column.kind in ("category", "code"):
            width += 1 if trees else min(most, len(column.words)) + (column.missing > 0)
        elif column.kind == "date":
            width += 5 if trees else 7
        elif column.kind == "text":
            width += min(column.width, MOST_TREE_WORDS + 2) if trees else column.width
        else:
            marks = not trees and column.missing > 0
            is_curved = form in ("splines", "interactions") and _may_be_curved(column)
            width += 1 + marks + (CURVE_KNOTS + 1 if is_curved else 0)
    return width + (STRONGEST * (STRONGEST - 1) // 2 if form == "interactions" else 0)


def pipeline(
    candidate: Candidate, columns: Sequence[ColumnSchema], target: TargetSchema, y: Any, most: int
) -> Pipeline:
    """Put preparation and model together; of an average of models, each has its own preparation.

    Parameters
    ----------
    candidate : Candidate
        The model.
    columns, target : schemas
        What the columns of the matrix are, and what is predicted.
    y : ndarray
        The targets that it will be fitted on.
    most : int
        Most categories of a column; rarer ones are taken together.
    """
    from qed.compose import Pipeline  # noqa: PLC0415

    if candidate.parts:
        from qed.ensemble import VotingClassifier, VotingRegressor  # noqa: PLC0415

        members = [
            (f"{at + 1}", pipeline(part, columns, target, y, most)) for at, (part, _) in enumerate(candidate.parts)
        ]
        weights = [weight for _, weight in candidate.parts]
        if target.task == "regression":
            return Pipeline([("model", VotingRegressor(members, weights=weights))])
        return Pipeline([("model", VotingClassifier(members, voting="soft", weights=weights))])
    prepare = preparation(columns, target, form=candidate.preparation, most=most)
    return Pipeline([("columns", prepare), ("model", candidate.make(len(y), float(np.std(y)) or 1.0))])


def preparation(
    columns: Sequence[ColumnSchema], target: TargetSchema, *, form: Preparation, most: int
) -> ColumnTransformer:
    """Prepare every column by its kind; columns of many values that come back tell the mean target of theirs besides."""
    from qed.compose import ColumnTransformer  # noqa: PLC0415
    from qed.preprocessing import TargetEncoder  # noqa: PLC0415

    places = places_of(columns, form="splines" if form == "interactions" else form)
    parts = _for_trees(places, target) if form in TREES else _for_linear(places, most)
    if form == "interactions":
        parts.append(("products", _products(places_of(columns, form="linear"), target, most), _all_of(columns)))
    if places["repeats"]:
        kind = {"regression": "continuous"}.get(target.task, target.task)
        means: Any = TargetEncoder(target_type=kind, random_state=SEED)  # type: ignore[arg-type]
        if form not in TREES:
            means = _scaled(means)
        parts.append(("means", means, places["repeats"]))
    return ColumnTransformer(parts)


def _all_of(columns: Sequence[ColumnSchema]) -> list[int]:
    return list(range(sum(column.width for column in columns)))


def _products(places: dict[str, list[int]], target: TargetSchema, most: int) -> Any:
    """Multiply the columns that tell most about the target, each by itself, two by two."""
    from qed.compose import ColumnTransformer, Pipeline  # noqa: PLC0415
    from qed.preprocessing import PolynomialFeatures  # noqa: PLC0415

    plain = ColumnTransformer([part for part in _for_linear(places, most) if part[0] != "words"])
    return Pipeline(
        [
            ("columns", plain),
            ("strongest", _strongest(target, STRONGEST)),
            ("pairs", PolynomialFeatures((2, 2), interaction_only=True, include_bias=False)),
        ]
    )


def _strongest(target: TargetSchema, most: int) -> Any:
    """Choose columns by the test of each alone."""
    from qed.feature_selection import SelectKBest, f_classif, f_regression  # noqa: PLC0415

    return SelectKBest(f_regression if target.task == "regression" else f_classif, k=most)


def _scaled(*steps: Any) -> Any:
    from qed.compose import Pipeline  # noqa: PLC0415
    from qed.preprocessing import StandardScaler  # noqa: PLC0415

    named = [(f"{type(step).__name__}".lower(), step) for step in steps]
    return Pipeline([*named, ("scale", StandardScaler())])


def _for_linear(places: dict[str, list[int]], most: int) -> list[tuple[str, Any, list[int]]]:
    """Fill and mark gaps, scale numbers, take categories and dates apart; splines stay level beyond the range of the fit."""
    from qed.preprocessing import (  # noqa: PLC0415
        DateFeatures,
        OneHotEncoder,
        SimpleImputer,
        SplineTransformer,
        StandardScaler,
        TfidfTransformer,
    )

    parts: list[tuple[str, Any, list[int]]] = []
    if places["number"]:
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        parts.append(("numbers", _scaled(fill), places["number"]))
    if places["curve"]:
        fill = SimpleImputer(strategy="median", keep_empty_features=True)
        splines = SplineTransformer(n_knots=CURVE_KNOTS, knots="quantile", extrapolation="constant", include_bias=False)
        parts.append(("curves", _scaled(fill, splines), places["curve"]))
    if places["yes/no"]:
        fill = SimpleImputer(strategy="most_frequent", add_indicator=True, keep_empty_features=True)
        parts.append(("yes or no", _scaled(fill), places["yes/no"]))
    if places["category"]:
        encoder = OneHotEncoder(max_categories=most, handle_unknown="infrequent_if_exist", sparse_output=False)
        parts.append(("categories", encoder, places["category"]))
    if places["date"]:
        dates = DateFeatures(["days_since", "month", "weekday", "hour"], cyclic=True)
        fill = SimpleImputer(strategy="median", keep_empty_features=True)
        parts.append(("dates", _scaled(dates, fill), places["date"]))
    if places["text"]:
        parts.append(("texts", StandardScaler(), places["text"]))
    if places["words"]:
        parts.append(("words", TfidfTransformer(), places["words"]))
    return parts


def _for_trees(places: dict[str, list[int]], target: TargetSchema) -> list[tuple[str, Any, list[int]]]:
    """Leave numbers as they are, gaps and all; categories become codes and stand first, where boosting looks for them."""
    from qed.preprocessing import DateFeatures, OrdinalEncoder  # noqa: PLC0415

    parts: list[tuple[str, Any, list[int]]] = []
    if places["category"]:
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=np.nan,
            max_categories=MOST_CODES,
        )
        parts.append(("categories", codes, places["category"]))
    many = len(places["words"]) > MOST_TREE_WORDS
    plain = sorted(places["number"] + places["yes/no"] + places["text"] + ([] if many else places["words"]))
    if plain:
        parts.append(("numbers", "passthrough", plain))
    if many:
        parts.append(("words", _strongest(target, MOST_TREE_WORDS), places["words"]))
    if places["date"]:
        parts.append(("dates", DateFeatures(["days_since", "dayofyear", "month", "weekday", "hour"]), places["date"]))
    return parts


def places_of(columns: Sequence[ColumnSchema], *, form: Preparation) -> dict[str, list[int]]:
    """Return the places of columns in the matrix by what they are."""
    names = ("number", "curve", "yes/no", "category", "date", "text", "words", "repeats")
    found: dict[str, list[int]] = {name: [] for name in names}
    at = 0
    for column in columns:
        if column.is_used:
            kind = "category" if column.kind == "code" else column.kind
            curved = form == "splines" and _may_be_curved(column)
            if curved:
                found["curve"].append(at)
            # splines hold straight lines too; a column with gaps stays for the mark of its gaps
            if kind == "text":  # two numbers about its length, then its words
                found["text"] += range(at, at + TEXT_NUMBERS)
                found["words"] += range(at + TEXT_NUMBERS, at + column.width)
            elif not (curved and column.missing == 0):
                found[kind] += range(at, at + column.width)
            # trees split numbers as they are: means of each value, noisy ones, only cover that, unless numbers are identifiers
            if column.repeats and (form != "trees" or kind != "number"):
                found["repeats"].append(at)
        at += column.width
    return found
