"""The mean of a loss over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from qed.convex._loss import Loss

__all__ = ["risk"]


def risk(loss: Loss, t: Any, sample_weight: Any = None) -> float:
    """Return the mean loss of scores: on the rows of a fit the training error, on others the test error.

    Parameters
    ----------
    loss : Loss
        One loss for each row, targets included.
    t : array-like of shape (n,) or (n, k)
        Scores.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; the mean is theirs.

    Returns
    -------
    float
        The mean.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import ZeroOne, risk
    >>> risk(ZeroOne(np.array([1.0, -1.0, -1.0, 1.0])), [2.0, -1.0, 0.5, 3.0])
    0.25
    """
    values = loss.value(np.asarray(t, dtype=np.float64))
    if sample_weight is None:
        return float(np.mean(values))
    weight = np.asarray(sample_weight, dtype=np.float64)
    used = weight > 0  # rows without weight do not count, not even with an infinite loss
    return float(weight[used] @ values[used] / weight[used].sum())
