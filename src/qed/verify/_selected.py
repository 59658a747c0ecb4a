"""Columns chosen by a model, checked: the model itself, and that the choice follows from models fitted again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._answers._columns import importances
from qed.verify._answers._compare import table_of
from qed.verify._part import Part, takes_weight
from qed.verify._refits import fitted_again, folds_of_rows, is_classifier, scorer_of
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]


def from_model(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the model that columns are chosen by; the choice is a function of it and the parameters."""
    wish = model.max_features(X) if callable(model.max_features) else model.max_features
    if model.max_features_ != (None if wish is None else int(wish)):
        refuse_changed(model, f"keeps at most {model.max_features_!r:.20} columns, and its parameters say {wish!r:.20}")
    part = vars(model)["estimator_"]
    weight = sample_weight if takes_weight(part) else None
    yield Part("estimator", part, model.estimator, X, y, weight)
    if part.n_features_in_ != vars(model).get("n_features_in_"):
        refuse_changed(model, "was fitted to another number of columns than its model")


def elimination(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the model of the remaining columns, once the steps that led to them have been taken again."""
    rows = table_of(model, X)
    target = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    target = target.reshape(-1) if target.ndim == 2 and target.shape[1] == 1 else target
    if len(target) != rows.shape[0]:
        raise OtherData(f"X has {rows.shape[0]} rows and y has {len(target)}.")
    part = vars(model)["estimator_"]
    weight = None
    if sample_weight is not None and takes_weight(model.estimator):
        weight = np.asarray(sample_weight)
    least = _least(model, rows.shape[1])
    if "cv_results_" in vars(model):
        least = _best_count(model, rows, target, weight)
    ranking = _eliminated(model, rows, target, weight, least)[-1][1]
    if not np.array_equal(model.ranking_, ranking):
        refuse_changed(
            model,
            f"ranks its columns {model.ranking_.tolist()!r:.80}, and fits of the same steps give {ranking.tolist()!r:.80}",
        )
    if not np.array_equal(model.support_, ranking == 1) or model.n_features_ != int(np.sum(ranking == 1)):
        refuse_changed(model, "keeps other columns than those that its steps leave")
    yield Part("estimator", part, model.estimator, rows[:, np.flatnonzero(ranking == 1)], target, weight)


def _least(model: Any, p: int) -> int:
    """Return how many columns are to remain, by the parameters."""
    wish = getattr(model, "n_features_to_select", None)
    return p // 2 if wish is None else max(int(p * wish), 1) if isinstance(wish, float) else int(wish)


def _best_count(model: Any, rows: Any, target: Array, weight: Any) -> int:
    """Derive the scores of all folds again; return the number of columns that they are best for."""
    results, least = model.cv_results_, min(int(model.min_features_to_select), rows.shape[1])
    folds = folds_of_rows(model.cv, rows, target, is_class=is_classifier(model.estimator))
    names = [name for name in results if name.startswith("split") and name.endswith("_test_score")]
    if names != [f"split{k}_test_score" for k in range(len(folds))]:
        refuse_changed(model, f"stores scores of {len(names)} folds, and there are {len(folds)}")
    score, scores = scorer_of(model), []
    for k, (train, test) in enumerate(folds):
        own = None if weight is None else weight[train]
        steps = _eliminated(model, rows[train], target[train], own, least, score, rows[test], target[test])[::-1]
        if not np.array_equal(results["n_features"], [int(np.sum(ranking == 1)) for _, ranking, _ in steps]):
            refuse_changed(model, "stores scores of other numbers of columns than its steps lead through")
        found, stated = np.array([one for _, _, one in steps]), np.asarray(results[names[k]], dtype=np.float64)
        tie = 1e-5 if rows.dtype == np.float32 else 1e-9
        if stated.shape != found.shape or not (np.abs(stated - found) <= tie * (1 + np.abs(found))).all():
            refuse_changed(
                model, f"states other scores of fold {k} than its rows give, or its folds are drawn without a seed"
            )
        for name, table in (("ranking", [r for _, r, _ in steps]), ("support", [r == 1 for _, r, _ in steps])):
            if f"split{k}_{name}" in results and not np.array_equal(results[f"split{k}_{name}"], np.array(table)):
                refuse_changed(model, f"states another {name} of the columns in fold {k} than its rows give")
        scores.append(stated)
    return _chosen_count(model, results, np.array(scores))


def _chosen_count(model: Any, results: Any, scores: Array) -> int:
    near = np.allclose(scores.mean(axis=0), results["mean_test_score"], rtol=1e-12, atol=1e-300, equal_nan=True)
    near = near and np.allclose(scores.std(axis=0), results["std_test_score"], rtol=1e-9, atol=1e-12, equal_nan=True)
    if not near:
        refuse_changed(model, "stores means that do not follow from the scores of its folds")
    return int(results["n_features"][int(np.argmax(scores.sum(axis=0)))])


def _at_once(p: int, step: float) -> int:
    return max(1, int(step * p)) if 0 < step < 1 else int(step)


def _eliminated(
    model: Any, X: Any, y: Array, weight: Any, least: int, score: Any = None, held: Any = None, truth: Any = None
) -> list[tuple[Any, Array, float]]:
    """Fit on fewer and fewer columns; return each fit with the ranks so far, 1 for columns that it has, and its score."""
    ranking, found = np.ones(X.shape[1], dtype=np.int64), []
    while True:
        left = np.flatnonzero(ranking == 1)
        one = fitted_again(model.estimator, X[:, left], y, weight)
        told = np.nan if score is None else score(one, held[:, left], truth)
        found.append((one, ranking.copy(), told))
        if len(left) <= least:
            return found
        size = importances(one, model.importance_getter, 2)
        order = left[np.lexsort((np.arange(len(left)), size))]
        ranking[ranking > 1] += 1
        ranking[order[: min(_at_once(X.shape[1], model.step), len(left) - least)]] = 2
