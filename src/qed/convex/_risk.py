"""The mean of a loss over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.convex._loss import Loss, Vector


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


def joint_risk(losses: Sequence[Loss], scores: Sequence[Any]) -> tuple[float, list[Vector]]:
    """Return the sum of the mean losses of several outputs, possibly of different kinds, and its slope by each of them.

    Parameters
    ----------
    losses : sequence of Loss
        One for each output, all of the same rows.
    scores : sequence of array-like of shape (n,) or (n, k)
        Scores of each output.

    Returns
    -------
    float, list of ndarray
        The sum, and for each output the derivative by its scores: an output has no part in the slopes of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Hinge, Squared, joint_risk
    >>> value, slopes = joint_risk([Squared(np.array([1.0, 3.0])), Hinge(np.array([1.0, -1.0]))], [[0.0, 3.0], [2.0, 0.0]])
    >>> value, [slope.tolist() for slope in slopes]
    (0.75, [[-0.5, 0.0], [0.0, 0.5]])
    """
    if len(losses) != len(scores):
        raise InvalidData(f"{len(losses)} losses need as many scores, got {len(scores)}.")
    table = [np.asarray(t, dtype=np.float64) for t in scores]
    if len({len(t) for t in table}) > 1:
        raise InvalidData(f"Outputs must have the same rows, got {[len(t) for t in table]}.")
    slopes = [loss.slope(t) / len(t) for loss, t in zip(losses, table, strict=True)]
    return sum(risk(loss, t) for loss, t in zip(losses, table, strict=True)), slopes
