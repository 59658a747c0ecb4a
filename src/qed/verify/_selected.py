"""Columns chosen by a model, checked: the model itself, and that the choice follows from models fitted again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _tables, clone
from qed.verify._parts import Part, _refuse, _takes_weight
from qed.verify._rows import OtherData

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]


def from_model(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the model that columns are chosen by; the choice is a function of it and the parameters."""
    wish = model.max_features(X) if callable(model.max_features) else model.max_features
    if model.max_features_ != (None if wish is None else int(wish)):
        _refuse(model, f"keeps at most {model.max_features_!r:.20} columns, and its parameters say {wish!r:.20}")
    part = vars(model)["estimator_"]
    weight = sample_weight if _takes_weight(part) else None
    yield Part("estimator", part, model.estimator, X, y, weight)
    if part.n_features_in_ != vars(model).get("n_features_in_"):
        _refuse(model, "was fitted to another number of columns than its model")


def elimination(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the model of the remaining columns, once the steps that led to them have been taken again."""
    rows, _ = _tables.read(X, "X", model._traits(), type(model).__name__)  # noqa: SLF001
    target = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if len(target) != rows.shape[0]:
        raise OtherData(f"X has {rows.shape[0]} rows and y has {len(target)}.")
    part = vars(model)["estimator_"]
    weight = sample_weight if sample_weight is not None and _takes_weight(model.estimator) else None
    least = _least(model, rows.shape[1])
    ranking = _ranking(model, rows, target, {} if weight is None else {"sample_weight": weight}, least)
    if not np.array_equal(model.ranking_, ranking):
        _refuse(
            model,
            f"ranks its columns {model.ranking_.tolist()!r:.80}, and fits of the same steps give {ranking.tolist()!r:.80}",
        )
    if not np.array_equal(model.support_, ranking == 1) or model.n_features_ != int(np.sum(ranking == 1)):
        _refuse(model, "keeps other columns than those that its steps leave")
    yield Part("estimator", part, model.estimator, rows[:, np.flatnonzero(ranking == 1)], target, weight)


def _least(model: Any, p: int) -> int:
    """Return how many columns are to remain: by the parameters, or by the scores of the folds."""
    if "cv_results_" in vars(model):
        results = model.cv_results_
        folds = [results[name] for name in results if name.startswith("split") and name.endswith("_test_score")]
        scores = np.stack(folds)
        near = np.allclose(scores.mean(axis=0), results["mean_test_score"], rtol=1e-12, atol=1e-300, equal_nan=True)
        near = near and np.allclose(
            scores.std(axis=0), results["std_test_score"], rtol=1e-9, atol=1e-12, equal_nan=True
        )
        if not near:
            _refuse(model, "stores means that do not follow from the scores of its folds")
        counts = _counts(p, min(int(model.min_features_to_select), p), model.step)
        if not np.array_equal(results["n_features"], counts[::-1]):
            _refuse(model, "stores scores of other numbers of columns than its steps lead through")
        return int(counts[::-1][int(np.argmax(scores.sum(axis=0)))])
    wish = model.n_features_to_select
    return p // 2 if wish is None else max(int(p * wish), 1) if isinstance(wish, float) else int(wish)


def _at_once(p: int, step: float) -> int:
    return max(1, int(step * p)) if 0 < step < 1 else int(step)


def _counts(p: int, least: int, step: float) -> list[int]:
    """Return the numbers of columns that an elimination goes through."""
    found = [p]
    while found[-1] > least:
        found.append(max(found[-1] - _at_once(p, step), least))
    return found


def _ranking(model: Any, X: Any, y: Array, options: dict[str, Any], least: int) -> Array:
    """Fit on fewer and fewer columns; those left out last have rank 2."""
    p = X.shape[1]
    left, groups = list(range(p)), []
    while len(left) > least:
        one = clone(model.estimator).fit(X[:, left], y, **options)
        size = _sizes(one, model.importance_getter)
        order = np.lexsort((np.arange(len(left)), size)).tolist()
        gone = {left[at] for at in order[: min(_at_once(p, model.step), len(left) - least)]}
        groups.append(gone)
        left = [j for j in left if j not in gone]
    ranking = np.ones(p, dtype=np.int64)
    for rank, gone in enumerate(reversed(groups), start=2):
        ranking[list(gone)] = rank
    return ranking


def _sizes(one: Any, getter: Any) -> Array:
    if callable(getter):
        found = getter(one)
    else:
        names = (
            ["coef_" if hasattr(one, "coef_") else "feature_importances_"] if getter == "auto" else getter.split(".")
        )
        found = one
        for name in names:
            found = getattr(found, name)
    table = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    return np.abs(table) if table.ndim == 1 else np.asarray(np.linalg.norm(table, axis=0))
