"""Answers of linear models: sums of columns times coefficients, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._compare import Labels, Numbers, both, in_precision_of_rows, sigmoid, softmax
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]


def scores(model: Any, X: Array) -> Numbers:
    """Return sums of columns times coefficients plus intercepts, one column for each."""
    w = np.atleast_2d(np.asarray(model.coef_)).astype(EXTENDED).T
    b = np.broadcast_to(np.asarray(getattr(model, "intercept_", 0.0), dtype=EXTENDED).reshape(-1), (w.shape[1],))
    x = X.astype(EXTENDED)
    return Numbers(x @ w + b, np.abs(x) @ np.abs(w) + np.abs(b))


def number(model: Any, X: Array) -> Numbers:
    """Predict numbers."""
    found = scores(model, X)
    flat = np.ndim(model.coef_) == 1
    return Numbers(*(one[:, 0] if flat else one for one in found))


def number_of_centred(model: Any, X: Array) -> Numbers:
    """Predict numbers from centred columns; one for each row where one target was learnt."""
    w, mean = np.asarray(model.coef_).astype(EXTENDED).T, np.asarray(model.x_mean_).astype(EXTENDED)
    b, x = np.asarray(model.intercept_).astype(EXTENDED), X.astype(EXTENDED)
    found = Numbers((x - mean) @ w + b, (np.abs(x) + np.abs(mean)) @ np.abs(w) + np.abs(b))
    return Numbers(*(one[:, 0] if model.one_target_ else one for one in found))


def mean_of_counts(model: Any, X: Array) -> Numbers:
    """Predict means whose logarithms are linear."""
    logs = number(model, X)
    values = np.exp(logs.values)
    return Numbers(values, values * (1 + logs.size))


def decision(model: Any, X: Array) -> Numbers:
    """Return scores, of two classes those of the second."""
    found = scores(model, X)
    return Numbers(*(one[:, 0] if found.values.shape[1] == 1 else one for one in found))


def by_class(model: Any, X: Array) -> Numbers:
    """Return one score for each class."""
    found = scores(model, X)
    if found.values.shape[1] > 1:
        return found
    zeros = np.zeros_like(found.values)
    return Numbers(np.hstack([zeros, found.values]), np.hstack([found.size, found.size]))


def label(model: Any, X: Array) -> Labels:
    """Predict the label with the largest score."""
    return Labels(*by_class(model, X), model.classes_)


def chances(model: Any, X: Array) -> Numbers:
    """Return shares of exponentials of scores."""
    found = by_class(model, X)
    return Numbers(softmax(found.values), 1 + found.size.max(axis=1, keepdims=True))


def chances_of_descent(model: Any, X: Array) -> Numbers:
    """Return chances of each class against the others, divided by their sum."""
    found = scores(model, X)
    own = sigmoid(found.values) if model.loss == "log_loss" else (1 + np.clip(found.values, -1, 1)) / 2
    size = 1 + found.size.max(axis=1, keepdims=True)
    if own.shape[1] == 1:
        return Numbers(both(own[:, 0]), size)
    total = own.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1)
    return Numbers(np.where(total > 0, own / safe, 1 / EXTENDED(own.shape[1])), size / np.minimum(safe, 1))


def chances_in_order(model: Any, X: Array) -> Numbers:
    """Return differences of chances to lie below thresholds, by label."""
    found = number(model, X)
    t, cuts = found.values[:, None], np.asarray(model.thresholds_).astype(EXTENDED)
    below, above = sigmoid(cuts - t), sigmoid(t - cuts)
    inner = below[:, 1:] * above[:, :-1] * -np.expm1(-np.diff(cuts))
    shares = np.hstack([below[:, :1], inner, above[:, -1:]])
    order = np.argsort(np.asarray(vars(model).get("order_", model.classes_)))
    shares = shares / shares.sum(axis=1, keepdims=True)
    return Numbers(shares[:, order], 1 + found.size[:, None] + np.abs(cuts).max(initial=0))


def label_in_order(model: Any, X: Array) -> Labels:
    """Predict the label with the largest chance."""
    return Labels(*chances_in_order(model, X), model.classes_)


def votes(model: Any, X: Array) -> Numbers:
    """Return the balance of the votes of all hyperplanes that a perceptron went through."""
    steps = np.asarray(vars(model).get("steps_", np.ones(len(model.mistakes_))))
    planes = np.cumsum(np.asarray(model.mistakes_) * steps[:, None], axis=0)
    # planes are added up as the fit did, since a row may lie on one
    won = (X @ planes[:, :-1].T + planes[:, -1] > 0) @ np.asarray(model.votes_[1:], dtype=np.float64)
    size = (np.abs(X) @ np.abs(planes[:, :-1].T) + np.abs(planes[:, -1])) * 2.0**-46
    rounding_error = (np.abs(X @ planes[:, :-1].T + planes[:, -1]) <= size) @ np.asarray(
        model.votes_[1:], dtype=np.float64
    )
    total = max(int(np.sum(model.votes_)), 1)
    return Numbers((2 * won - int(np.sum(model.votes_))) / total, 1 + 2.0**44 * rounding_error / total)


def label_by_votes(model: Any, X: Array) -> Labels:
    """Predict the second label where most votes are for it."""
    balance = votes(model, X)
    return Labels(np.column_stack([np.zeros(len(X)), balance.values]), balance.size[:, None], model.classes_)


def sides(model: Any, X: Array) -> tuple[Array, Array]:
    """Return the number of the label on each row's side of a threshold, and the distance from it."""
    column = X[:, int(model.column_)]
    own = np.asarray(model.sides_)
    if np.isinf(model.threshold_):
        return np.full(len(column), own[0]), np.ones(len(column))
    return own[(column > model.threshold_).astype(np.intp)], column - model.threshold_


def side_decision(model: Any, X: Array) -> Numbers:
    """Return the distance from a threshold, with the sign of the label."""
    place, distance = sides(model, X)
    if len(model.classes_) != 2:
        return Numbers(np.eye(len(model.classes_))[place], 0)
    size = np.maximum(np.abs(distance), np.finfo(np.float64).tiny)
    return Numbers(np.where(place == 1, size, -size), np.abs(distance))


def side_label(model: Any, X: Array) -> Labels:
    """Predict the label of a row's side of a threshold."""
    return Labels(np.eye(len(model.classes_))[sides(model, X)[0]], 0, model.classes_)


def discriminant_axes(model: Any, X: Array) -> Numbers:
    """Project rows on the axes between the means of classes."""
    k, p = np.shape(model.means_)
    count = min(k - 1, p) if model.n_components is None else int(model.n_components)
    axes = np.asarray(model.scalings_)[:, :count].astype(EXTENDED)
    centre = np.asarray(model.xbar_ if model.solver == "svd" else np.zeros(p)).astype(EXTENDED)
    x = X.astype(EXTENDED)
    return Numbers((x - centre) @ axes, (np.abs(x) + np.abs(centre)) @ np.abs(axes))


# -- what most linear models answer ----------------------------------------------------------------------------

NUMBER = in_precision_of_rows(predict=number)
HYPERPLANES = in_precision_of_rows(predict=label, decision_function=decision)
PROBABILITIES = {**HYPERPLANES, **in_precision_of_rows(predict_proba=chances)}
