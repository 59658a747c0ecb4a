"""Hyperplanes as geometry: which side, how far, with what margin, and how far a row can be pushed before its label changes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._records import record
from qed.core._targets import as_target

Array = np.ndarray[Any, Any]
Norm = Literal[1, 2] | float
DUAL: dict[float, float] = {1: np.inf, 2: 2, np.inf: 1}
SAME = 1e-5  # of the sizes of the terms: how far scores of float32 rows may be from those of their planes


@record("hyperplane")
class Hyperplane:
    """The points x with ``x @ coef + intercept == 0``: d + 1 numbers, the same hyperplane whatever they are multiplied by.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        Normal; not zero.
    intercept : float
        Offset.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import Hyperplane
    >>> wall = Hyperplane(np.array([3.0, 4.0]), -5.0)
    >>> wall.distance([[3.0, 4.0], [0.0, 0.0]]).tolist(), wall.side([[3.0, 4.0], [0.0, 0.0], [1.0, 0.5]]).tolist()
    ([4.0, -1.0], [1, -1, 1])
    """

    coef: Array
    intercept: float

    @classmethod
    def of(cls, model: Any) -> Hyperplane:
        """Return the hyperplane of a fitted linear classifier of two classes, or of a regressor of one target."""
        w, b = _planes_of(model)
        if len(w) != 1:
            raise InvalidData(f"{type(model).__name__} has {len(w)} hyperplanes. Pass a model of two classes.")
        return cls(w[0], float(b[0]))

    def check(self) -> None:
        """Refuse what is no hyperplane."""
        if self.coef.ndim != 1 or not np.isfinite(self.coef).all() or not np.isfinite(self.intercept):
            raise InvalidData("a hyperplane needs a vector of finite numbers and a finite intercept")

    @property
    def n_parameters(self) -> int:
        """Numbers that are learnt: one for each column, and the offset."""
        return len(self.coef) + 1

    @property
    def length(self) -> float:
        """Length of the normal: what a score is divided by to be a distance."""
        return float(np.linalg.norm(self.coef))

    def score(self, X: Any) -> Array:
        """Return ``X @ coef + intercept``: a distance only if the normal has length one."""
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.coef + self.intercept)

    def distance(self, X: Any) -> Array:
        """Return the distance of each row from the hyperplane, negative on the side that the normal points away from."""
        if self.length == 0:
            raise InvalidData("a hyperplane whose normal is zero has no distances")
        return self.score(X) / self.length

    def side(self, X: Any) -> Array:
        """Return +1 where the score is not negative, -1 elsewhere: a row on the hyperplane goes to +1."""
        return np.where(self.score(X) >= 0, 1, -1)

    def project(self, X: Any) -> Array:
        """Return the nearest point of the hyperplane to each row."""
        return np.asarray(X, dtype=np.float64) - np.multiply.outer(self.distance(X), self.coef / self.length)


def signed_distance(model: Any, X: Any) -> Array:
    """Return how far each row is from the hyperplanes of a linear classifier.

    Parameters
    ----------
    model : fitted linear classifier
        With ``coef_`` and ``decision_function``.
    X : array-like or sparse of shape (n, p)
        Rows.

    Returns
    -------
    ndarray of shape (n,) or (n, k)
        Scores divided by the lengths of their coefficients: positive on the side of the second class of two, or of each class.

    Examples
    --------
    >>> from qed.linear_model import signed_distance
    >>> from qed.svm import LinearSVC
    >>> model = LinearSVC(C=float("inf")).fit([[0.0], [4.0]], [0, 1])
    >>> signed_distance(model, [[0.0], [3.0]]).tolist()
    [-2.0, 1.0]
    """
    w, scores = _scored(model, X)
    length = np.linalg.norm(w, axis=1)
    if not np.all(length > 0):
        raise InvalidData(
            f"{type(model).__name__} has a hyperplane whose coefficients are all zero, and no distances from it."
        )
    return np.asarray(scores / (length[0] if scores.ndim == 1 else length))


def margins(model: Any, X: Any, y: Any, *, normalised: bool = True) -> Array:
    """Return the margin of each row: how far it is on the right side, negative where it is on the wrong one.

    Parameters
    ----------
    model : fitted linear classifier
        With ``coef_``, ``classes_`` and ``decision_function``.
    X : array-like or sparse of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Their labels.
    normalised : bool
        Whether margins are distances, which stay when coefficients are multiplied; otherwise they are differences of scores.

    Returns
    -------
    ndarray of shape (n,)
        Margins; the margin of the data is their minimum. Of several classes, the distance from the nearest boundary between
        the label and another class.

    Examples
    --------
    >>> from qed.linear_model import margins
    >>> from qed.svm import LinearSVC
    >>> model = LinearSVC(C=float("inf")).fit([[0.0], [4.0]], [0, 1])
    >>> margins(model, [[0.0], [1.0], [3.0]], [0, 0, 0]).tolist()
    [2.0, 1.0, -1.0]
    """
    w, scores = _scored(model, X)
    labels, classes = as_target(y, "y"), np.asarray(model.classes_)
    code = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    if not np.array_equal(classes[code], labels):
        raise InvalidData(f"y holds labels that the model does not know; it knows {classes.tolist()[:20]}.")
    if scores.ndim == 1:
        lead = np.where(code == 1, scores, -scores)
        return np.asarray(lead / np.linalg.norm(w[0])) if normalised else lead
    return _nearest(scores, w, code, 2 if normalised else None)


def robustness_radius(model: Any, X: Any, *, norm: Norm = 2) -> Array:
    r"""Return the exact size of the smallest change of each row that changes its label.

    Parameters
    ----------
    model : fitted linear classifier
        With ``coef_`` and ``decision_function``; labels are signs of one score, or the largest of several.
    X : array-like or sparse of shape (n, p)
        Rows.
    norm : {1, 2, inf}
        How a change is measured: the sum of its sizes, its length, or its largest entry.

    Returns
    -------
    ndarray of shape (n,)
        No smaller change moves a row across a boundary, and some change of any larger size does; infinite where no change
        does. It is the lead of a score over another, divided by the dual norm of the difference of their coefficients.

    Examples
    --------
    >>> from qed.linear_model import robustness_radius
    >>> from qed.svm import LinearSVC
    >>> model = LinearSVC(C=float("inf")).fit([[0.0, 0.0], [2.0, 2.0]], [0, 1])
    >>> robustness_radius(model, [[2.0, 2.0]], norm=float("inf")).round(9).tolist()
    [1.0]
    """
    if norm not in DUAL:
        raise InvalidParameter(f"robustness_radius.norm must be 1, 2 or inf, got {norm!r}.")
    w, scores = _scored(model, X)
    if scores.ndim == 1:
        size = float(np.linalg.norm(w[0], DUAL[norm]))
        return np.abs(scores) / size if size > 0 else np.full(len(scores), np.inf)
    return _nearest(scores, w, scores.argmax(axis=1), DUAL[norm])


def _nearest(scores: Array, w: Array, code: Array, dual: float | None) -> Array:
    """Return the least lead of the class in ``code`` over another, each divided by the size of what separates them."""
    rows = np.arange(len(scores))
    lead = scores[rows, code][:, np.newaxis] - scores
    if dual is not None:
        apart = np.linalg.norm(w[:, np.newaxis, :] - w[np.newaxis, :, :], dual, axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            lead = np.where(apart[code] > 0, lead / apart[code], np.where(lead > 0, np.inf, lead))
    lead[rows, code] = np.inf
    return np.asarray(lead.min(axis=1))


def _planes_of(model: Any) -> tuple[Array, Array]:
    """Return coefficients and intercept of each plane of a linear model."""
    if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
        raise InvalidData(f"{type(model).__name__} has no coef_: pass a fitted linear model.")
    coef = model.coef_
    w = np.atleast_2d(np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64))
    return w, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), (len(w),))


def _scored(model: Any, X: Any) -> tuple[Array, Array]:
    """Return the coefficients of each plane of a linear classifier, and the scores of rows, which must be those of the planes."""
    name = type(model).__name__
    if not all(hasattr(model, one) for one in ("coef_", "intercept_", "classes_", "decision_function")):
        raise InvalidData(
            f"{name} is not a fitted linear classifier, with coef_, intercept_, classes_ and decision_function. Of a pipeline pass"
            " its last model and the transformed rows; of a multiclass strategy one of estimators_."
        )
    w, b = _planes_of(model)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    rows = X if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    linear, size = np.asarray(rows @ w.T) + b, np.asarray(abs(rows) @ np.abs(w).T) + np.abs(b)
    linear, size = (linear[:, 0], size[:, 0]) if scores.ndim == 1 else (linear, size)
    if linear.shape != scores.shape or not np.all(np.abs(linear - scores) <= SAME * size):
        raise InvalidData(
            f"The scores of {name} are not those of the hyperplanes in its coef_, so that coefficients give no distance from the"
            " decision boundary. Use a model whose decision_function is X @ coef_.T + intercept_."
        )
    return w, scores
