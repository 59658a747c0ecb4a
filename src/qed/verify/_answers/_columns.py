"""Answers of transformers of columns of numbers: moved, divided, raised to a power, ranked, chosen, projected."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._compare import Labels, Numbers, blocks_of, dense, require, table_of
from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]
EDGE = 1e-7  # ranks nearer to 0 and 1 than this are those of the ends, before they become normal


def _wide(values: Any, p: int, default: float) -> Array:
    return np.full(p, default, EXTENDED) if values is None else np.asarray(values).astype(EXTENDED)


def _divided(x: Array, first: Array, second: Array) -> Numbers:
    return Numbers((x - first) / second, (np.abs(x) + np.abs(first)) / np.abs(second))


def _multiplied(x: Array, first: Array, second: Array) -> Numbers:
    return Numbers(x * second + first, np.abs(x * second) + np.abs(first))


def standard(model: Any, X: Array) -> Numbers:
    """Subtract means and divide by deviations."""
    p = X.shape[1]
    return _divided(
        X.astype(EXTENDED), _wide(model.mean_ if model.with_mean else None, p, 0), _wide(model.scale_, p, 1)
    )


def standard_back(model: Any, X: Array) -> Numbers:
    """Multiply by deviations and add means."""
    p = X.shape[1]
    return _multiplied(
        X.astype(EXTENDED), _wide(model.mean_ if model.with_mean else None, p, 0), _wide(model.scale_, p, 1)
    )


def robust(model: Any, X: Array) -> Numbers:
    """Subtract medians and divide by quantile ranges."""
    return _divided(X.astype(EXTENDED), _wide(model.center_, X.shape[1], 0), _wide(model.scale_, X.shape[1], 1))


def robust_back(model: Any, X: Array) -> Numbers:
    """Multiply by quantile ranges and add medians."""
    return _multiplied(X.astype(EXTENDED), _wide(model.center_, X.shape[1], 0), _wide(model.scale_, X.shape[1], 1))


def ranges(model: Any, X: Array) -> Numbers:
    """Bring columns into a range."""
    found = _multiplied(
        X.astype(EXTENDED), np.asarray(model.min_).astype(EXTENDED), np.asarray(model.scale_).astype(EXTENDED)
    )
    return Numbers(np.clip(found.values, *model.feature_range), found.size) if model.clip else found


def ranges_back(model: Any, X: Array) -> Numbers:
    """Bring columns back from a range."""
    return _divided(
        X.astype(EXTENDED), np.asarray(model.min_).astype(EXTENDED), np.asarray(model.scale_).astype(EXTENDED)
    )


def largest(model: Any, X: Array) -> Numbers:
    """Divide by the largest sizes."""
    found = _divided(X.astype(EXTENDED), np.zeros(X.shape[1], EXTENDED), np.asarray(model.scale_).astype(EXTENDED))
    return Numbers(np.clip(found.values, -1, 1), found.size) if model.clip else found


def largest_back(model: Any, X: Array) -> Numbers:
    """Multiply by the largest sizes."""
    return _multiplied(X.astype(EXTENDED), np.zeros(X.shape[1], EXTENDED), np.asarray(model.scale_).astype(EXTENDED))


def _grown(logs: Array, power: Array) -> Array:
    safe = np.where(power == 0, 1, power)
    return np.asarray(np.where(power == 0, logs, np.expm1(power * logs) / safe))


def _shrunk(values: Array, power: Array) -> Array:
    safe = np.where(power == 0, 1, power)
    return np.asarray(np.where(power == 0, values, np.log1p(power * values) / safe))


def _powered(model: Any, x: Array) -> Array:
    power = np.asarray(model.lambdas_).astype(EXTENDED)
    if model.method == "box-cox":
        return _grown(np.log(x), power)
    logs = np.log1p(np.abs(x))
    return np.where(x < 0, -_grown(logs, 2 - power), _grown(logs, power))


def powers(model: Any, X: Array) -> Numbers:
    """Bend columns by their powers, then standardise them."""
    x = X.astype(EXTENDED)
    powered, power = _powered(model, x), np.abs(np.asarray(model.lambdas_).astype(EXTENDED)) + 2
    # a power multiplies the rounding of a logarithm
    logs = np.abs(np.log(np.where(x > 0, x, 1))) + np.log1p(np.abs(x))
    size = (np.abs(powered) + 1 / power) * (1 + power * logs)
    if model.scaler_ is None:
        return Numbers(powered, size)
    mean, scale = (np.asarray(one).astype(EXTENDED) for one in (model.scaler_.mean_, model.scaler_.scale_))
    return Numbers((powered - mean) / scale, (size + np.abs(mean)) / scale)


def powers_back(model: Any, X: Array) -> Numbers:
    """Undo the standardising and the powers; the size is how far a rounding of what comes in moves what goes out."""
    z, power = X.astype(EXTENDED), np.asarray(model.lambdas_).astype(EXTENDED)
    size = np.abs(z)
    if model.scaler_ is not None:
        mean, scale = (np.asarray(one).astype(EXTENDED) for one in (model.scaler_.mean_, model.scaler_.scale_))
        z, size = z * scale + mean, np.abs(z * scale) + np.abs(mean)
    if model.method == "box-cox":
        logs, inside = _shrunk(z, power), power * z
        values = np.exp(logs)
    else:
        own = np.where(z < 0, 2 - power, power)
        logs, inside = _shrunk(np.abs(z), own), own * np.abs(z)
        values = np.where(z < 0, -np.expm1(logs), np.expm1(logs))
    steep = np.exp(logs) * (1 + np.abs(logs) + (size + 1) / np.maximum(np.abs(1 + inside), 1e-300))
    return Numbers(values, steep)


def _ranks(x: Array, quantiles: Array, references: Array, *, is_normal: bool) -> Array:
    """Return ranks between quantiles; where several are equal, the middle of their ranks."""
    up = np.interp(x, quantiles, references)
    down = -np.interp(-x, -quantiles[::-1], -references[::-1])
    found = (up + down) / 2
    shift = EDGE if is_normal else 0.0
    top = x + shift > quantiles[-1] if is_normal else x == quantiles[-1]
    bottom = x - shift < quantiles[0] if is_normal else x == quantiles[0]
    found = np.where(bottom, 0.0, np.where(top, 1.0, found))
    return np.where(np.isnan(x) | np.isnan(quantiles[0]), np.nan, found)


def quantiles(model: Any, X: Any, told: Any) -> None:
    """Compare ranks, or the normal deviates of ranks; of a sparse table, of what it stores."""
    from scipy.special import ndtri  # noqa: PLC0415  a special function

    rows = table_of(model, X)
    x = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    is_normal = model.output_distribution == "normal"
    references = np.asarray(model.references_, dtype=np.float64)
    own = np.column_stack(
        [
            _ranks(x[:, j], np.asarray(model.quantiles_)[:, j], references, is_normal=is_normal)
            for j in range(x.shape[1])
        ]
    )
    # how steep the curve is where a row lies: a difference of two roundings of a value is multiplied by it
    size = np.full(own.shape, 4.0)
    if is_normal:
        edge = EDGE - np.spacing(1.0)
        own = np.clip(ndtri(own), ndtri(edge), ndtri(1 - edge))
        size = 8.0 + np.sqrt(2 * np.pi) * np.exp(np.minimum(np.nan_to_num(own) ** 2 / 2, 50.0))
    if not isinstance(rows, np.ndarray):
        stored = rows.copy()
        stored.data = np.ones(len(stored.data))
        own = np.where(stored.toarray() > 0, own, 0.0)
    require(model, "transform", Numbers(own, size), dense(told), terms=64, is_single=rows.dtype == np.float32)


def quantiles_back(model: Any, X: Array) -> Numbers:
    """Return the quantiles of ranks."""
    from scipy.special import ndtr  # noqa: PLC0415  a special function

    is_normal = model.output_distribution == "normal"
    ranks = ndtr(X) if is_normal else X
    references, all_ = np.asarray(model.references_), np.asarray(model.quantiles_)
    own = np.column_stack([np.interp(ranks[:, j], references, all_[:, j]) for j in range(X.shape[1])])
    if is_normal:
        own = np.where(ranks + EDGE > 1, all_[-1], np.where(ranks - EDGE < 0, all_[0], own))
    steps = np.abs(np.diff(all_, axis=0)).max(axis=0, initial=0) * len(references)
    return Numbers(own, np.abs(all_).max(axis=0) + steps)


def above(model: Any, X: Array) -> Numbers:
    """Say where entries are above a threshold."""
    return Numbers((model.threshold < X).astype(np.float64), 0.0)


def unit_rows(model: Any, X: Any, told: Any) -> None:
    """Compare rows with those divided by their lengths; rows that are nothing but rounding stay as they are."""
    rows = table_of(model, X)
    answers = told.tocsr() if hasattr(told, "tocsr") else dense(told)
    if answers.shape != rows.shape:
        refuse_answer(model, "transform")
    for some, x in blocks_of(rows):
        if model.norm == "l2":
            length = np.sqrt((x * x).sum(axis=1, keepdims=True))
        else:
            length = (
                np.abs(x).sum(axis=1, keepdims=True) if model.norm == "l1" else np.abs(x).max(axis=1, keepdims=True)
            )
        own = x / np.where(length < 10 * np.finfo(rows.dtype).eps, 1.0, length)
        one = Numbers(own, np.abs(own))
        require(model, "transform", one, dense(answers[some]), terms=x.shape[1], is_single=rows.dtype == np.float32)


def _subspace(model: Any) -> tuple[Array, Array, Any]:
    """Return the point that coordinates are counted from, the directions, and what coordinates are divided by."""
    axes = np.asarray(model.components_).astype(EXTENDED)
    mean = np.asarray(vars(model).get("mean_", np.zeros(axes.shape[1]))).astype(EXTENDED)
    if not getattr(model, "whiten", False):
        return mean, axes, EXTENDED(1)
    deviation = np.sqrt(np.asarray(model.explained_variance_).astype(EXTENDED))
    return mean, axes, np.maximum(deviation, np.finfo(np.float64).eps)


def projections(model: Any, X: Array) -> Numbers:
    """Project rows on directions of largest variance."""
    mean, axes, deviation = _subspace(model)
    x = X.astype(EXTENDED)
    return Numbers((x - mean) @ axes.T / deviation, (np.abs(x) + np.abs(mean)) @ np.abs(axes.T) / deviation)


def projections_back(model: Any, X: Array) -> Numbers:
    """Return the points that coordinates are of."""
    mean, axes, deviation = _subspace(model)
    x = X.astype(EXTENDED) * deviation
    return Numbers(x @ axes + mean, np.abs(x) @ np.abs(axes) + np.abs(mean))


def scores_of_pairs(model: Any, X: Array) -> Numbers:
    """Return scores of standardised rows."""
    axes = np.asarray(getattr(model, "x_rotations_", model.x_weights_)).astype(EXTENDED)
    mean, deviation = np.asarray(model.x_mean_), np.asarray(model.x_std_)
    x = X.astype(EXTENDED)
    return Numbers((x - mean) / deviation @ axes, (np.abs(x) + np.abs(mean)) / deviation @ np.abs(axes))


def rows_of_scores(model: Any, X: Array) -> Numbers:
    """Return the rows that scores explain."""
    mean, deviation = np.asarray(model.x_mean_), np.asarray(model.x_std_)
    axes = np.asarray(model.x_loadings_).astype(EXTENDED).T * deviation
    x = X.astype(EXTENDED)
    return Numbers(x @ axes + mean, np.abs(x) @ np.abs(axes) + np.abs(mean))


def hidden(model: Any, X: Array) -> Numbers:
    """Return the posterior means of hidden normal variables: the best of |x - L'z|² / noise + |z|²."""
    L = np.asarray(model.components_)
    noise = np.broadcast_to(np.asarray(model.noise_variance_), (L.shape[1],))
    rows, p = X.astype(EXTENDED) - np.asarray(model.mean_), L.shape[1]
    stacked = np.vstack([L.T / np.sqrt(noise)[:, None], np.eye(len(L))])
    into = np.linalg.pinv(stacked)[:, :p] / np.sqrt(noise)
    # loadings far longer than the noise are divided by: what is left is rounded by their size
    flat = 1 + float(np.max(np.sum(L * L / noise, axis=1), initial=0.0))
    size = (np.abs(X.astype(EXTENDED)) + np.abs(np.asarray(model.mean_))) @ np.abs(into.T)
    return Numbers(rows @ into.T.astype(EXTENDED), flat * (size + np.max(size, axis=1, initial=0, keepdims=True)))


def expected_of_hidden(model: Any, X: Array) -> Numbers:
    """Return the rows that are expected of hidden variables."""
    L, mean, z = np.asarray(model.components_), np.asarray(model.mean_), X.astype(EXTENDED)
    return Numbers(z @ L + mean, np.abs(z) @ np.abs(L) + np.abs(mean))


def unmixed(model: Any, X: Array) -> Numbers:
    """Return the sources of rows."""
    A, mean = np.asarray(model.components_), np.asarray(getattr(model, "mean_", 0.0))
    x = X.astype(EXTENDED)
    return Numbers((x - mean) @ A.T, (np.abs(x) + np.abs(mean)) @ np.abs(A.T))


def mixed(model: Any, X: Array) -> Numbers:
    """Return the rows of sources."""
    M, mean = np.asarray(model.mixing_), np.asarray(getattr(model, "mean_", 0.0))
    y = X.astype(EXTENDED)
    return Numbers(y @ M.T + mean, np.abs(y) @ np.abs(M.T) + np.abs(mean))


def distances(model: Any, X: Array) -> Numbers:
    """Return distances from the centres of clusters."""
    return _distances_from(model.cluster_centers_, X)


def subcluster_distances(model: Any, X: Array) -> Numbers:
    """Return distances from the centres of subclusters."""
    return _distances_from(model.subcluster_centers_, X)


def _distances_from(points: Any, X: Array) -> Numbers:
    """Return distances from points; cancellation costs digits of small ones."""
    centres = np.asarray(points).astype(EXTENDED)
    x = X.astype(EXTENDED)
    found = np.sqrt(((x[:, None, :] - centres) ** 2).sum(axis=2))
    whole = ((np.abs(x)[:, None, :] + np.abs(centres)) ** 2).sum(axis=2)
    return Numbers(found, np.minimum(whole / np.maximum(found, 1e-300), 2.0**20 * np.sqrt(whole)))


def nearest_centre(model: Any, X: Array) -> Labels:
    """Predict the number of the nearest centre."""
    centres = np.asarray(model.cluster_centers_).astype(EXTENDED)
    x = X.astype(EXTENDED)
    squares = ((x[:, None, :] - centres) ** 2).sum(axis=2)
    whole = ((np.abs(x)[:, None, :] + np.abs(centres)) ** 2).sum(axis=2).max(axis=1, keepdims=True)
    return Labels(-squares, whole, np.arange(len(centres)))


def rising(model: Any, X: Array) -> Numbers:
    """Follow a rising or falling curve between its corners."""
    x, at, value = X[:, 0], np.asarray(model.X_thresholds_), np.asarray(model.y_thresholds_)
    own = np.interp(x, at, value)
    if model.out_of_bounds == "nan":
        own = np.where((x < model.X_min_) | (x > model.X_max_), np.nan, own)
    return Numbers(own, np.abs(value).max() * 4)


# -- columns that are chosen -----------------------------------------------------------------------------------


def kept_columns(model: Any, X: Any, told: Any) -> None:
    """Compare rows with those of the columns that the scores and parameters choose."""
    rows = table_of(model, X)
    own = rows[:, np.flatnonzero(chosen(model))]
    if told.shape != own.shape:
        refuse_answer(model, "transform")
    answers, wanted = dense(told), dense(own)
    if not np.array_equal(answers, wanted, equal_nan=True):
        refuse_answer(model, "transform")


def chosen(model: Any) -> Array:
    """Return which columns a selector keeps, by the definition of its parameters."""
    state, kind = vars(model), type(model).__name__
    if "support_" in state:
        return np.asarray(state["support_"])
    if kind == "VarianceThreshold":
        return np.asarray(model.variances_ > model.threshold)
    if kind == "SelectFromModel":
        return _by_importance(model)
    mode = {"SelectKBest": "k_best", "SelectPercentile": "percentile", "SelectFpr": "fpr", "SelectFdr": "fdr"}
    how = model.mode if kind == "GenericUnivariateSelect" else mode.get(kind, "fwe")
    wish = {"k_best": "k", "percentile": "percentile"}.get(how, "alpha")
    return _by_scores(model, how, model.param if kind == "GenericUnivariateSelect" else getattr(model, wish))


def _by_scores(model: Any, how: str, wish: Any) -> Array:
    p = len(model.scores_)
    most = np.finfo(np.float64).max
    scores = [-most if one != one else min(max(one, -most), most) for one in np.asarray(model.scores_).tolist()]  # noqa: PLR0124
    if how == "k_best":
        count = p if isinstance(wish, str) else min(int(wish), p)
        # of equal scores the last are kept
        ranked = sorted(range(p), key=lambda j: (scores[j], j))[p - count :]
        return np.isin(np.arange(p), ranked)
    if how == "percentile":
        if wish in (0, 100):
            return np.full(p, wish == 100)
        edge = np.percentile(scores, 100 - wish)
        better = np.array(scores) > edge
        left = max(int(p * wish / 100) - int(better.sum()), 0)
        better[np.flatnonzero(np.array(scores) == edge)[:left]] = True
        return np.asarray(better)
    shares = np.asarray(model.pvalues_)
    if how == "fdr":
        ordered = np.sort(shares)
        good = [one for place, one in enumerate(ordered.tolist()) if one <= float(wish) / p * (place + 1)]
        return np.asarray(shares <= max(good) if good else np.zeros(p, dtype=bool))
    return np.asarray(shares < (wish if how == "fpr" else wish / p))


def importances(part: Any, getter: Any, order: float) -> Array:
    """Return how much each column counts in a model: importances of trees, or lengths of coefficients."""
    if callable(getter):
        found = getter(part)
    else:
        names = (
            ["coef_" if hasattr(part, "coef_") else "feature_importances_"] if getter == "auto" else getter.split(".")
        )
        found = part
        for name in names:
            found = getattr(found, name)
    table = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    return np.abs(table) if table.ndim == 1 else np.asarray(np.linalg.norm(table, ord=order, axis=0))


def _by_importance(model: Any) -> Array:
    part, wish = model.estimator_, model.threshold
    sizes = importances(part, model.importance_getter, model.norm_order)
    kept = np.ones(len(sizes), dtype=bool)
    if model.max_features_ is not None:
        kept[np.argsort(-sizes, kind="stable")[model.max_features_ :]] = False
    if wish is None:
        wish = 1e-5 if _is_sparse_model(part) else "mean"
    if isinstance(wish, str):
        factor, star, reference = wish.rpartition("*")
        wish = (float(factor) if star else 1.0) * float(
            np.mean(sizes) if reference.strip() == "mean" else np.median(sizes)
        )
    return np.asarray(kept & ~(sizes < float(wish)))


def _is_sparse_model(part: Any) -> bool:
    name = type(part).__name__
    if getattr(part, "penalty", None) == "l1" or "Lasso" in name:
        return True
    share = getattr(part, "l1_ratio_", getattr(part, "l1_ratio", None))
    mixed = name in ("ElasticNet", "ElasticNetCV", "LogisticRegression", "LogisticRegressionCV")
    return mixed and share is not None and bool(np.all(np.isclose(np.asarray(share, dtype=np.float64), 1.0)))
