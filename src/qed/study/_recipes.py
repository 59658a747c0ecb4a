"""What is tried: how columns are prepared, and the certified linear models behind them.

Strengths of penalties are stated per row and in units of the target, so that a strength found on some rows means the same on all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.compose import ColumnTransformer, Pipeline
    from qed.study._schema import ColumnSchema, TargetSchema

__all__ = ["Candidate", "candidates", "constant", "pipeline", "preparation", "prepared_width"]

MOST_CATEGORIES = 25
CURVE_KNOTS = 5
WIDE = 300  # prepared columns
MANY_ROWS = 50_000
FEWEST_FOR_A_CURVE = 12  # distinct values below which a column stays straight


@dataclass(frozen=True)
class Candidate:
    """A model to try.

    Attributes
    ----------
    family : str
        Its name for people.
    detail : str
        What tells it from others of its family.
    curved : bool
        Whether numbers may bend.
    kind : str
        Which estimator.
    strength : float
        Of its penalty, per row; unused where the estimator finds its own.
    """

    family: str
    detail: str
    curved: bool
    kind: str
    strength: float = 0.0

    @property
    def title(self) -> str:
        """Family and detail."""
        return f"{self.family}, {self.detail}" if self.detail else self.family

    @property
    def is_constant(self) -> bool:
        """Whether it says the same of every row."""
        return self.kind in ("mean", "shares")

    def estimator(self, n_rows: int, spread: float) -> Any:  # noqa: PLR0911  one line per estimator
        """Make the estimator for so many rows of a target of this spread."""
        from qed import linear_model as lm  # noqa: PLC0415  (loads the solvers)

        if self.is_constant:
            from qed.model_selection import DummyClassifier, DummyRegressor  # noqa: PLC0415

            return DummyRegressor() if self.kind == "mean" else DummyClassifier(strategy="prior")
        a, scale = self.strength, spread or 1.0
        if self.kind == "ridge" and n_rows > MANY_ROWS:
            # far more rows than columns: a strength that only keeps the problem well posed is as good as a chosen one
            return lm.Ridge(alpha=3e-7 * n_rows)
        if self.kind == "ridge":
            return lm.RidgeCV(alphas=np.logspace(-3, 4, 15))
        if self.kind == "plain ridge":
            return lm.Ridge(alpha=a * n_rows)
        if self.kind == "lasso":
            return lm.Lasso(alpha=a * scale)
        if self.kind == "elastic net":
            # absolute values scale with the target and squares do not: each part gets its own strength
            return lm.ElasticNet(alpha=a * scale + a, l1_ratio=scale / (scale + 1))
        if self.kind == "huber":
            return lm.HuberRegressor(
                alpha=a * n_rows / scale
            )  # its losses grow as the target does, squares as its square
        if self.kind == "poisson":
            return lm.PoissonRegressor(alpha=a)
        ratio = 1.0 if self.kind == "logistic l1" else 0.0
        return lm.LogisticRegression(C=1 / (a * n_rows), l1_ratio=ratio, tol=1e-6, solver="saga")


def constant(target: TargetSchema) -> Candidate:
    """Return what every candidate has to be better than, and what is taken where none is."""
    if target.task == "regression":
        return Candidate("always the mean", "", False, "mean")
    return Candidate("always the usual shares", "", False, "shares")


def candidates(target: TargetSchema, columns: Sequence[ColumnSchema]) -> list[Candidate]:
    """List what to try, most promising first."""
    is_wide = prepared_width(columns, MOST_CATEGORIES, curved=False) > WIDE
    bend = any(_may_bend(column) for column in columns) and not is_wide
    if target.task == "regression":
        found = [Candidate("ridge regression", "", False, "ridge")]
        if is_wide:  # exact leave-one-out factors the table for every fold, which costs the cube of its width
            found = [Candidate("lasso", "strength 0.03", False, "lasso", 0.03)]  # of many columns few matter, as a rule
            found += [
                Candidate("ridge regression", f"strength {a:g}", False, "plain ridge", a) for a in (1e-1, 1e-2, 1.0)
            ]
        if bend:
            found.append(Candidate("ridge on curves", "", True, "ridge"))
        if target.counts:
            found += [Candidate("Poisson regression", f"strength {a:g}", False, "poisson", a) for a in (1e-3, 1e-1)]
            if bend:
                found.append(Candidate("Poisson on curves", "strength 0.01", True, "poisson", 1e-2))
        found += [Candidate("lasso", f"strength {a:g}", False, "lasso", a) for a in (0.01, 0.1, 0.001)]
        found.append(Candidate("Huber regression", "", False, "huber", 1e-4))
        found += [Candidate("elastic net", f"strength {a:g}", False, "elastic net", a) for a in (0.02, 0.2, 0.002)]
        return found
    kind = "logistic" if target.task == "binary" else "multinomial"
    name = f"{kind} regression"
    strengths = (1e-2, 1e-3, 1e-1, 1e-4)
    found = [Candidate(name, f"strength {strengths[0]:g}", False, "logistic l2", strengths[0])]
    if bend:
        found += [Candidate(f"{kind} on curves", f"strength {a:g}", True, "logistic l2", a) for a in (1e-3, 1e-2, 1e-4)]
    found += [Candidate(name, f"strength {a:g}", False, "logistic l2", a) for a in strengths[1:]]
    found += [Candidate(f"sparse {kind}", f"strength {a:g}", False, "logistic l1", a) for a in (3e-3, 1e-2, 1e-3)]
    return found


def _may_bend(column: ColumnSchema) -> bool:
    return column.kind == "number" and column.distinct >= FEWEST_FOR_A_CURVE


def prepared_width(columns: Sequence[ColumnSchema], most: int, *, curved: bool) -> int:
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
            width += 1 + (column.missing > 0) + (CURVE_KNOTS + 1 if curved and _may_bend(column) else 0)
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

    model = candidate.estimator(n_rows, spread)
    return Pipeline([("columns", preparation(columns, curved=candidate.curved, most=most)), ("model", model)])


def preparation(columns: Sequence[ColumnSchema], *, curved: bool, most: int) -> ColumnTransformer:
    """Prepare every column by its kind: gaps filled and marked, numbers scaled, categories and dates taken apart."""
    from qed.compose import ColumnTransformer, Pipeline  # noqa: PLC0415
    from qed.preprocessing import DateFeatures, OneHotEncoder, SimpleImputer, SplineTransformer, StandardScaler  # noqa: PLC0415

    places = _places(columns, curved=curved)
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
