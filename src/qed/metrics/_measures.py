"""What a model costs to use: seconds, bytes, predictions a second."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core import InvalidParameter, clone


@dataclass(frozen=True)
class ModelMeasures:
    """What was measured.

    Attributes
    ----------
    fit_seconds : float
        Seconds of one fit, the shortest of the repeats.
    predict_seconds : float
        Seconds of one pass of ``predict`` over the rows, the shortest of the repeats.
    predictions : int
        How many predictions were made in all.
    parameters : int
        Numbers that the model learnt: the sizes of its fitted arrays of floats.
    parameter_bytes : int
        Their memory: each array's size times the bytes of one item.
    rows : int
        Rows of one pass.
    """

    fit_seconds: float
    predict_seconds: float
    predictions: int
    parameters: int
    parameter_bytes: int
    rows: int

    @property
    def predictions_per_second(self) -> float:
        """Speed of the fastest pass."""
        return self.rows / self.predict_seconds


def measure_model(model: Any, X: Any, y: Any, *, repeats: int = 3) -> ModelMeasures:
    """Fit copies of a model and predict with them, and say what that takes.

    Parameters
    ----------
    model : estimator
        Not changed: copies are fitted.
    X : array-like of n rows
        Rows.
    y : array-like of shape (n,)
        Targets.
    repeats : int
        Fits, and passes over the rows.

    Returns
    -------
    ModelMeasures
        Times depend on the machine and its mood; counts do not.

    Examples
    --------
    >>> from qed.linear_model import LinearRegression
    >>> from qed.metrics import measure_model
    >>> measure_model(LinearRegression(), [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [1.0, 2.0, 3.0]).predictions
    9
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int | np.integer) or repeats < 1:
        raise InvalidParameter(f"measure_model: repeats must be a whole number >= 1, got {repeats!r}.")
    fits, passes, n_rows, made = [], [], 0, 0
    fitted = model
    for _ in range(int(repeats)):
        fitted = clone(model)
        begin = time.perf_counter()
        fitted.fit(X, y)
        fits.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        n_rows = len(fitted.predict(X))
        passes.append(time.perf_counter() - begin)
        made += n_rows
    arrays = [
        np.asarray(value)
        for name, value in vars(fitted).items()
        if name.endswith("_") and isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"
    ]
    return ModelMeasures(
        max(min(fits), 1e-12),
        max(min(passes), 1e-12),
        made,
        sum(array.size for array in arrays),
        sum(array.nbytes for array in arrays),
        n_rows,
    )
