"""Answers of networks: rows are taken through the layers, one product after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._compare import Labels, Numbers, both, sigmoid, softmax
from qed.verify._networks import unit_of

Array = np.ndarray[Any, Any]
GROWTH = 16.0  # of the rounding of a layer by those behind it


def _outputs(model: Any, X: Array) -> Numbers:
    """Return the values of the last layer, and how large the terms of all layers can be."""
    h, size = X, np.abs(X)
    last = len(model.coefs_) - 1
    for number, (weights, intercept) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        w, b = np.asarray(weights, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
        h, size = h @ w + b, size @ np.abs(w) + np.abs(b)
        if number < last:
            h = unit_of(model.activation, h)[0]
            size = np.minimum(size, 1.0) + size if model.activation in ("tanh", "logistic") else size
    return Numbers(h, GROWTH * size)


def number(model: Any, X: Array) -> Numbers:
    """Predict numbers, or means of counts."""
    found = _outputs(model, X)
    values, size = found
    if model.out_activation_ == "exp":
        values, size = np.exp(values), np.exp(values) * (1 + size)
    return Numbers(*(one[:, 0] if model.n_outputs_ == 1 else one for one in (values, size)))


def chances(model: Any, X: Array) -> Numbers:
    """Return chances of labels: of each by itself where a row has several."""
    found = _outputs(model, X)
    size = 1 + found.size.max(axis=1, keepdims=True)
    if model.out_activation_ == "softmax":
        return Numbers(softmax(found.values), size)
    own = sigmoid(found.values)
    return Numbers(both(own[:, 0]) if own.shape[1] == 1 else own, size)


def label(model: Any, X: Array) -> Numbers | Labels:
    """Predict the label with the largest chance; a table of zeros and ones where a row has several."""
    found = _outputs(model, X)
    if model.out_activation_ == "logistic" and found.values.shape[1] > 1:
        return Numbers((found.values > 0).astype(np.float64), np.where(np.abs(found.values) < 1e-6, 1e16, 0.0))
    scores = found.values
    scores = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    return Labels(scores, found.size.max(axis=1, keepdims=True), model.classes_)
