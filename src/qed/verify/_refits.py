"""Searches over columns: folds, fits that are verified, and scores, each derived again.

Which columns a greedy search takes depends on models that it does not keep. They are fitted once more, as a proposal: a fit of a
class of qed carries a certificate, and is verified like any other part before a number of it is used. Its predictions are compared
with their definition, and the usual scores are computed here. What remains unseen are estimators, metrics and splitters of the
user: they are asked, since nobody else knows what they do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Estimator, clone
from qed.core._records import public_name
from qed.verify._answers import agreed, answers_known
from qed.verify._check_model import check_model
from qed.verify._part import takes_weight
from qed.verify._rows import EXTENDED

if TYPE_CHECKING:
    from collections.abc import Callable


Array = np.ndarray[Any, Any]
USUAL = {
    "r2": "r2",
    "accuracy": "accuracy",
    "neg_mean_squared_error": "squares",
    "neg_root_mean_squared_error": "root",
    "neg_mean_absolute_error": "sizes",
}


def fitted_again(estimator: Any, X: Any, y: Any, weight: Any) -> Any:
    """Fit a copy of an estimator, and verify it if it is one of qed."""
    options = {} if weight is None or not takes_weight(estimator) else {"sample_weight": weight}
    one = clone(estimator)
    one.fit(X, **options) if y is None else one.fit(X, y, **options)
    if isinstance(one, Estimator):
        check_model(one, X, y, options.get("sample_weight"), as_part=True)
    return one


def folds_of_rows(cv: Any, X: Any, y: Any, *, is_class: bool) -> list[tuple[Array, Array]]:
    """Return the rows that are trained on and those that are held back, fold by fold."""
    n = X.shape[0]
    if cv is None or isinstance(cv, int | np.integer):
        held = _usual_folds(5 if cv is None else int(cv), n, y if is_class else None)
        return [(np.flatnonzero(held != k), np.flatnonzero(held == k)) for k in range(int(held.max()) + 1)]
    listed = cv.split(X, y) if hasattr(cv, "split") else cv
    return [(np.asarray(train), np.asarray(test)) for train, test in listed]


def _usual_folds(count: int, n: int, labels: Any) -> Array:
    """Return the fold of each row: stretches of equal length, of labels those of each label in turn."""
    if labels is None or np.ndim(labels) != 1:
        sizes = [n // count + (k < n % count) for k in range(count)]
        return np.repeat(np.arange(count), sizes)
    order: dict[Any, int] = {}
    codes = np.array([order.setdefault(label, len(order)) for label in np.asarray(labels).tolist()])
    ranked = np.sort(codes)
    held = np.empty(n, dtype=np.intp)
    for code in range(len(order)):
        # every count-th of all rows, put in the order of their labels, is in the same fold
        shares = [int(np.sum(ranked[k::count] == code)) for k in range(count)]
        held[codes == code] = np.repeat(np.arange(count), shares)
    return held


def is_classifier(estimator: Any) -> bool:
    """Say whether an estimator predicts labels."""
    if isinstance(estimator, Estimator):
        return bool(estimator._traits().target == "label")  # noqa: SLF001
    return getattr(estimator, "_estimator_type", None) == "classifier" or hasattr(estimator, "predict_proba")


def scorer_of(model: Any) -> Callable[[Any, Any, Any], float]:
    """Return a function of a fitted model, rows and targets: the score that a search goes by."""
    wish = model.scoring
    usual = USUAL.get(wish) if isinstance(wish, str) else None
    if wish is None and isinstance(model.estimator, Estimator) and _scores_as_usual(model.estimator):
        usual = "accuracy" if is_classifier(model.estimator) else "r2"
    given: Any = model._scorer() if usual is None else None  # noqa: SLF001  a metric of the user, or one that is not written here

    def score(one: Any, X: Any, y: Any) -> float:
        known = isinstance(one, Estimator) and "predict" in answers_known(public_name(type(one)))
        if usual is None:
            return float(given(one, X) if y is None else given(one, X, y))
        said = np.asarray(agreed(one, "predict", X) if known else one.predict(X))
        return usual_score(usual, said, np.asarray(y))

    return score


def _scores_as_usual(estimator: Any) -> bool:
    """Say whether a class scores like others of its kind: its own score may be another, such as a share of deviance."""
    kind = type(estimator)
    usual = {"Classifier", "Regressor"}
    return next((base.__name__ for base in kind.__mro__ if "score" in vars(base)), "") in usual


def usual_score(kind: str, said: Array, truth: Array) -> float:
    """Compute a score by its definition."""
    if kind == "accuracy":
        same = said == truth
        return float(np.mean(same.all(axis=1) if same.ndim == 2 else same))
    off = truth.astype(EXTENDED) - said.astype(EXTENDED)
    if kind == "r2":
        spread = np.sum((truth.astype(EXTENDED) - truth.astype(EXTENDED).mean(axis=0)) ** 2, axis=0)
        left = np.sum(off**2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.mean(np.where(spread > 0, 1 - left / np.where(spread > 0, spread, 1), left == 0)))
    if kind == "sizes":
        return -float(np.mean(np.abs(off)))
    squares = np.mean(off**2, axis=0)
    return -float(np.mean(np.sqrt(squares) if kind == "root" else squares))
