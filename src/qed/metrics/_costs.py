"""Errors that cost differently, and sizes of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._targets import as_target


def cost_sensitive_error(
    y_true: Any, y_pred: Any, *, cost_positive: float = 1.0, cost_negative: float = 1.0, pos_label: Any = 1
) -> float:
    r"""Return the mean cost of errors when those on one class cost more than those on the other.

    .. math:: \hat R(c_+, c_-) = \frac1n \sum_i c_{y_i} \, 1[\hat y_i \ne y_i] = c_- \, \hat R(c_+ / c_-, 1)

    so that only the ratio of the costs decides which classifier is best.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    cost_positive, cost_negative : float
        What an error costs on a row whose label is ``pos_label``, and on any other.
    pos_label : object
        The positive class.

    Returns
    -------
    float
        The mean cost.

    Examples
    --------
    >>> from qed.metrics import cost_sensitive_error
    >>> cost_sensitive_error([1, 1, 0, 0], [0, 1, 1, 0], cost_positive=10.0)
    2.75
    """
    for name, cost in (("cost_positive", cost_positive), ("cost_negative", cost_negative)):
        if not 0 <= cost < np.inf:
            raise InvalidParameter(f"cost_sensitive_error: {name} must be a real number >= 0, got {cost!r}.")
    truth, guess = as_target(y_true, "y_true"), as_target(y_pred, "y_pred")
    if truth.shape != guess.shape or truth.ndim != 1 or not len(truth):
        raise InvalidData(
            f"Found labels of shapes {truth.shape} and {guess.shape}; pass one each for at least one row."
        )
    costs = np.where(truth == pos_label, float(cost_positive), float(cost_negative))
    return float(np.mean(costs * (truth != guess)))


def norm(w: Any, order: float = 2) -> float:
    r"""Return a size of a vector: the number of its nonzero entries, or a power mean of their sizes.

    Parameters
    ----------
    w : array-like
        The vector; of a table all entries count.
    order : float
        0 for the number of nonzero entries (no norm: it does not scale), ``inf`` for the largest size, any p >= 1 for
        :math:`(\sum_j |w_j|^p)^{1/p}`.

    Returns
    -------
    float
        The size.

    Examples
    --------
    >>> from qed.metrics import norm
    >>> [norm([0, 3, -4], order) for order in (0, 1, 2, float("inf"))]
    [2.0, 7.0, 5.0, 4.0]
    """
    sizes = np.abs(np.asarray(w, dtype=np.float64)).ravel()
    if order != 0 and not order >= 1:
        raise InvalidParameter(f"norm: order must be 0 or a real number >= 1, got {order!r}.")
    if order == 0:
        return float(np.count_nonzero(sizes))
    largest = float(sizes.max(initial=0.0))
    if np.isinf(order) or largest == 0 or not np.isfinite(largest):
        return largest
    total = float(np.sum((sizes / largest) ** order))  # neither overflows nor vanishes
    return float(largest * total ** (1 / order))
