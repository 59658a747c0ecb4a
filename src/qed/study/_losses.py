"""What a model says of rows, within what is possible, and what that costs: squared error, or minus a log-probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from qed.study._schema import TargetSchema

Array = np.ndarray[Any, Any]
FLOOR = 1e-15  # of a probability, so that one mistake costs no infinity


def answers(model: Any, X: Array, target: TargetSchema) -> Array:
    """Return predictions within the possible range, or the probabilities of all classes."""
    if target.task != "regression":
        return probabilities(model, X, target)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(np.asarray(model.predict(X), np.float64), *target.possible)


def probabilities(model: Any, X: Array, target: TargetSchema) -> Array:
    """Return the probabilities of all classes, also of those that a fold has not seen."""
    found = np.asarray(model.predict_proba(X), np.float64)
    out = np.zeros((len(found), len(target.labels)))
    out[:, np.asarray(model.classes_, np.int64)] = found
    return out


def decided(shares: Array, target: TargetSchema) -> Array:
    """Return the number of the class that is predicted: the most probable one; of two, the second from its threshold on."""
    if target.task != "binary" or target.threshold == 0.5:
        return np.asarray(shares.argmax(axis=1))
    return np.asarray(shares[:, 1] >= target.threshold).astype(np.int64)


def row_losses(model: Any, X: Array, y: Array, target: TargetSchema) -> Array:
    """Return the loss of every row: squared error, or minus the logarithm of the probability of what happened."""
    said = answers(model, X, target)
    if target.task == "regression":
        with np.errstate(over="ignore", invalid="ignore"):  # what explodes is infinite, and loses
            return np.asarray((said - y) ** 2)
    return np.asarray(-np.log(np.maximum(said[np.arange(len(y)), y.astype(np.int64)], FLOOR)))


def constant_losses(y: Array, new: Array, target: TargetSchema) -> Array:
    """Return the losses of new rows when the mean, or the shares, of others is said of each."""
    if target.task == "regression":
        return np.asarray((new - y.mean()) ** 2)
    share = np.bincount(y.astype(np.int64), minlength=len(target.labels)) / len(y)
    return np.asarray(-np.log(np.maximum(share[new.astype(np.int64)], FLOOR)))
