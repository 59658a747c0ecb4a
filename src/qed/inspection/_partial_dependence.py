"""How predictions move with one or two columns: on average, and for each row."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.inspection._column_table import ColumnTable
from qed.inspection._importance import Result

Array = np.ndarray[Any, Any]
ROWS = 1 << 15  # asked at once: the cost of a call is far below that of its rows, and few megabytes are needed


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    custom_values: Any = None,
    method: Literal["auto", "brute"] = "auto",
    kind: Literal["average", "individual", "both"] = "average",
) -> Result:
    """Set one or two columns to values of a grid, in every row, and return what is predicted.

    Parameters
    ----------
    estimator : fitted estimator
        Any classifier or regressor.
    X : array-like or frame of shape (n, p)
        Rows to average over.
    features : int, str, or pair of them
        Columns, by number or name.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the average.
    categorical_features : sequence of int, str or bool, optional
        Columns whose grid is all their values.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    response_method : {"auto", "predict_proba", "decision_function"}
        What a classifier is asked; "auto" takes the first that it has. Of two classes the second is returned.
    percentiles : pair of float
        Ends of the grid, as shares of the values.
    grid_resolution : int
        Points of the grid; a column with fewer distinct values has these as its grid.
    custom_values : dict, optional
        By column, the grid to use.
    method : {"auto", "brute"}
        Both predict every row at every point.
    kind : {"average", "individual", "both"}
        Averages, or a curve for each row (individual conditional expectation, ICE).

    Returns
    -------
    Bunch-like
        ``grid_values``, a list of arrays; ``average`` of shape (outputs, points, ...) and ``individual`` of shape (outputs, n,
        points, ...).

    Notes
    -----
    Where columns depend on one another, the grid holds combinations that never occur, and the average describes the model there.

    Examples
    --------
    >>> from qed.inspection import partial_dependence
    >>> from qed.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 2.0, 1.0])
    >>> found = partial_dependence(model, [[0.0, 0.0], [1.0, 1.0]], [0])
    >>> found.average.round(6).tolist(), found.grid_values[0].tolist()
    ([[0.5, 2.5]], [0.0, 1.0])
    """
    if method not in ("auto", "brute"):
        raise InvalidParameter(
            f"method must be 'auto' or 'brute', got {method!r:.80}: trees are predicted fast enough."
        )
    if kind not in ("average", "individual", "both"):
        raise InvalidParameter(f"kind must be 'average', 'individual' or 'both', got {kind!r:.80}.")
    table = ColumnTable(X)
    if not len(table):
        raise InvalidData("X has no rows to average over.")
    weight = _weights(sample_weight, len(table))
    places = column_numbers(table, features, feature_names)
    categories = (
        set() if categorical_features is None else categorical_numbers(table, categorical_features, feature_names)
    )
    grids = []
    for place in places:
        own = _custom(custom_values, place, table, feature_names)
        is_category = place in categories
        grids.append(_grid(table.column(place), percentiles, grid_resolution, is_category) if own is None else own)
    shape = tuple(len(grid) for grid in grids)
    points = [np.asarray(one).reshape(-1) for one in np.meshgrid(*grids, indexing="ij")]
    at_once = max(1, ROWS // len(table))
    told = [
        _response(
            estimator,
            table.filled({j: values[i : i + at_once] for j, values in zip(places, points, strict=True)}),
            response_method,
        )
        for i in range(0, len(points[0]), at_once)
    ]
    found = np.concatenate(told).reshape(len(points[0]), len(table), -1)  # points, n, outputs
    individual = found.transpose(2, 1, 0).reshape(found.shape[2], len(table), *shape)
    result = Result(grid_values=grids)
    if kind != "individual":
        result["average"] = np.average(individual, axis=1, weights=weight)
    if kind != "average":
        result["individual"] = individual
    return result


def _weights(given: Any, n: int) -> Array | None:
    if given is None:
        return None
    weight = np.asarray(given, dtype=np.float64)
    if weight.shape != (n,) or not (weight >= 0).all() or not weight.sum() > 0:
        raise InvalidData(f"sample_weight must hold {n} numbers of at least zero, and not only zeros.")
    return weight


def column_numbers(table: ColumnTable, features: Any, feature_names: Any) -> list[int]:
    """Return the numbers of one or two columns, given by number or name."""
    listed = [features] if isinstance(features, str | int | np.integer) else list(features)
    if not 1 <= len(listed) <= 2:
        raise InvalidParameter(f"features must be one column or a pair, got {features!r:.80}.")
    return [column_number(table, one, feature_names) for one in listed]


def column_number(table: ColumnTable, feature: Any, feature_names: Any) -> int:
    """Return the number of a column, given by number or name."""
    names = table.names if feature_names is None else [str(name) for name in feature_names]
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and -len(table.names) <= feature < len(table.names):
        return int(feature) % len(table.names)
    raise InvalidParameter(
        f"There is no column {feature!r:.80}. Columns are {', '.join(names[:20])}, or their numbers."
    )


def categorical_numbers(table: ColumnTable, given: Any, feature_names: Any) -> set[int]:
    """Return the numbers of the columns that hold categories, given by number, name or mask."""
    flags = np.asarray(given)
    if flags.dtype == bool:
        return set(np.flatnonzero(flags).tolist())
    return {column_number(table, one, feature_names) for one in flags.tolist()}


def _custom(custom_values: Any, place: int, table: ColumnTable, feature_names: Any) -> Array | None:
    for feature, values in (custom_values or {}).items():
        if column_number(table, feature, feature_names) == place:
            grid = np.asarray(values)
            if grid.ndim != 1 or not len(grid):
                raise InvalidParameter(f"custom_values of column {feature!r:.80} must be a list of at least one value.")
            return grid
    return None


def _grid(values: Array, percentiles: tuple[float, float], points: int, is_category: bool) -> Array:
    low, high = percentiles
    if not 0 <= low < high <= 1:
        raise InvalidParameter(f"percentiles must be two shares, the lower one first, got {percentiles!r:.80}.")
    if not isinstance(points, int | np.integer) or points < 2:
        raise InvalidParameter(f"grid_resolution must be a whole number of at least 2, got {points!r:.80}.")
    if values.dtype.kind in "fiub":
        distinct = np.unique(values[~np.isnan(values)]) if values.dtype.kind == "f" else np.unique(values)
    else:
        distinct, is_category = (
            np.array(sorted({one for one in values.tolist() if not _is_missing(one)})),
            True,
        )
    if not len(distinct):
        raise InvalidData("A column has no known values to make a grid of. Pass custom_values.")
    if is_category or len(distinct) < points:
        return distinct
    ends = _quantiles(values.astype(np.float64), (low, high))
    if not ends[0] < ends[1]:
        raise InvalidData(
            f"The {low:.0%} and {high:.0%} quantiles of a column are both {ends[0]:.6g}. Widen percentiles, or pass custom_values."
        )
    return np.linspace(ends[0], ends[1], points)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _quantiles(values: Array, shares: tuple[float, float]) -> tuple[float, float]:
    """Return quantiles by the plotting positions of Cunnane, (k - 0.4) / (n + 0.2), as scikit-learn takes them."""
    known = np.sort(values[~np.isnan(values)])
    n = len(known)
    found = []
    for share in shares:
        place = n * share + 0.4 + 0.2 * share
        k = int(np.floor(np.clip(place, 1, max(n - 1, 1))))
        part = float(np.clip(place - k, 0.0, 1.0))
        found.append(float((1 - part) * known[k - 1] + part * known[min(k, n - 1)]))
    return found[0], found[1]


def _response(estimator: Any, rows: Any, method: str) -> Array:
    if not hasattr(estimator, "classes_"):
        if method != "auto":
            raise InvalidParameter("response_method is for classifiers; a regressor is asked for its predictions.")
        method = "predict"
    elif method == "auto":
        method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    if method not in ("predict", "predict_proba", "decision_function") or not hasattr(estimator, method):
        raise InvalidParameter(f"{type(estimator).__name__} has no {method!r:.80}. Choose another response_method.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        told = getattr(estimator, method)(rows)
    if isinstance(told, list):
        raise InvalidParameter(
            f"{type(estimator).__name__} predicts {len(told)} columns of labels. Look at a model for each column."
        )
    said = np.asarray(told, dtype=np.float64)
    said = said.reshape(len(said), -1)
    return said[:, 1:] if method == "predict_proba" and said.shape[1] == 2 else said
