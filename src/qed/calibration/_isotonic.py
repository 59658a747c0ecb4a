"""Isotonic regression: the best curve that never falls, or never rises."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from qed.calibration import _kernels
from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, InvalidData, InvalidParameter, Regressor, Transformer, fitted, param
from qed.core._tables import is_sparse
from qed.core._targets import as_target, weights

WHAT = "The best monotone curve"
EDGE = 1.96  # standard errors on either side of a correlation that hold it with 95 %


class IsotonicRegression(Regressor, Transformer, table=False):
    r"""Isotonic regression: least squares over all nondecreasing (or nonincreasing) functions of one column.

    Objective
    ---------
    .. math:: \min_f \sum_i s_i (y_i - f(x_i))^2 \quad \text{over } f \text{ monotone, } y_{\min} \le f \le y_{\max}

    Certificate
    -----------
    ExactCertificate: the curve is the only minimiser, up to rounding. ``qed.verify`` confirms the optimality conditions: each
    level is the weighted mean of its rows, and no part of a level is better off on its own.

    Cost
    ----
    A sort of the rows, then one pass: O(n log n) time, O(n) memory. A prediction searches the levels.

    See Also
    --------
    isotonic_regression : The same for numbers that are already in order.

    Notes
    -----
    A weight counts as repetition, also where ``increasing="auto"`` looks for the direction. Between two rows of the fit the curve
    is linear. ``X_thresholds_`` holds the ends of its levels.

    Examples
    --------
    >>> from qed.calibration import IsotonicRegression
    >>> IsotonicRegression().fit([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]).predict([2.0, 3.0, 3.5])
    array([2.5 , 2.5 , 3.75])
    """

    _: KW_ONLY
    y_min: float | None = param(None, "Lowest value of the curve; None for no bound.")
    y_max: float | None = param(None, "Highest value of the curve; None for no bound.")
    increasing: bool | Literal["auto"] = param(
        True, "Whether the curve rises (True) or falls (False); 'auto' takes the sign of Spearman's correlation."
    )
    out_of_bounds: Literal["nan", "clip", "raise"] = param(
        "nan", "Rows beyond those of the fit: predict NaN, predict what the nearest end has, or refuse them."
    )

    X_min_: float = fitted("Least x of the fit.", finite=True)
    X_max_: float = fitted("Largest x of the fit.", finite=True)
    X_thresholds_: Array = fitted("Ends of the levels of the curve.", shape="(t,)", order="strictly rising")
    y_thresholds_: Array = fitted("The curve there.", shape="(t,)")
    increasing_: bool = fitted("Whether the curve rises.")
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the curve.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, 1)
            One number a row.
        y : array-like of shape (n,)
            Targets.
        """
        data = self._fit_data(_column(X), y, sample_weight)
        _require_one(data.X)
        _require_bounds(self.y_min, self.y_max)
        rows = _sorted(data.X[:, 0], data.y, data.weight)
        is_rising = _is_rising(rows) if self.increasing == "auto" else bool(self.increasing)
        values = _monotone(rows, self.y_min, self.y_max, is_rising=is_rising)
        x = rows.x
        first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
        x, values = x[first], values[first]
        changes = values[1:] != values[:-1]
        ends = np.concatenate([[True], changes]) | np.concatenate([changes, [True]])
        self.X_thresholds_, self.y_thresholds_ = x[ends], values[ends]
        self.X_min_, self.X_max_ = float(x[0]), float(x[-1])
        self.increasing_ = is_rising
        self.certificate_ = ExactCertificate(WHAT, data.n_rows, 2.0**-52 * (64 + math.sqrt(data.n_rows)))
        return self

    def predict(self, X: Any) -> Array:
        """Return the curve at new rows.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, 1)
            One number a row.

        Returns
        -------
        ndarray of shape (n,)
            The curve there, float32 where X is.
        """
        rows = self._new_data(_column(X))
        _require_one(rows)
        x = rows[:, 0]
        values = np.interp(x, self.X_thresholds_, self.y_thresholds_)
        if self.out_of_bounds != "clip":
            outside = (x < self.X_min_) | (x > self.X_max_)
            if self.out_of_bounds == "nan":
                values[outside] = np.nan
            elif outside.any():
                raise InvalidData(
                    f"{np.count_nonzero(outside)} rows of X, {x[outside][0]:.6g} among them, are outside the range of the fit,"
                    f" {self.X_min_:.6g} to {self.X_max_:.6g}. Say out_of_bounds='clip' to give them the values of its ends."
                )
        return np.asarray(values, dtype=x.dtype)

    def transform(self, X: Any) -> Any:
        """Return the curve at new rows, as ``predict`` does.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, 1)
            One number a row.

        Returns
        -------
        ndarray of shape (n,)
            The curve there.
        """
        return self.predict(X)

    def _n_features_out(self) -> int:
        return 1


def isotonic_regression(
    y: Any,
    *,
    sample_weight: Any = None,
    y_min: float | None = None,
    y_max: float | None = None,
    increasing: bool = True,
) -> Array:
    """Return the numbers nearest to ``y`` that never fall, by least squares.

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers, in their order.
    sample_weight : array-like of shape (n,), optional
        How much each counts; one that counts nothing gets the value of the one before it.
    y_min, y_max : float, optional
        Bounds of the result.
    increasing : bool
        False for numbers that never rise.

    Returns
    -------
    ndarray of shape (n,)
        The result, float32 where ``y`` is.
    """
    target = _numbers(y, "y")
    _require_bounds(y_min, y_max)
    s = weights(sample_weight, len(target))
    used = np.ones(len(target), bool) if s is None else s > 0
    rows = _Rows(
        np.flatnonzero(used).astype(np.float64), target[used].astype(np.float64), None if s is None else s[used]
    )
    values = _monotone(rows, y_min, y_max, is_rising=bool(increasing))
    before = np.maximum(np.cumsum(used) - 1, 0)
    return np.asarray(values[before], dtype=target.dtype if target.dtype.kind == "f" else np.float64)


def check_increasing(x: Any, y: Any) -> bool:
    """Tell by Spearman's correlation whether ``y`` rises with ``x``.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Numbers.

    Returns
    -------
    bool
        Whether the correlation is zero or more. A warning says where its 95 % interval, by Fisher's transformation, spans zero.
    """
    column, target = _numbers(x, "x"), _numbers(y, "y")
    if len(column) != len(target):
        raise InvalidData(f"x has {len(column)} numbers and y has {len(target)}. Pass as many of each.")
    return _is_rising(_sorted(column, target, None))


class _Rows(NamedTuple):
    """Rows that count, by rising x."""

    x: Array
    y: Array
    s: Array | None


def _column(X: Any) -> Any:
    """Return numbers in one dimension as a table of one column, anything else as it is."""
    if is_sparse(X) or hasattr(X, "columns"):
        return X
    array = as_target(X, "X")
    return array.reshape(-1, 1) if array.ndim == 1 else X


def _require_one(table: Any) -> None:
    if table.shape[1] != 1:
        raise InvalidData(
            f"Isotonic regression input X should be a 1d array or 2d array with 1 feature, got {table.shape[1]} features. Choose"
            " the column that the curve follows."
        )


def _require_bounds(low: float | None, high: float | None) -> None:
    if low is not None and high is not None and not low <= high:
        raise InvalidParameter(f"y_min must not exceed y_max, got y_min={low!r} and y_max={high!r}.")


def _numbers(values: Any, what: str) -> Array:
    array = as_target(values, what)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or not len(array) or not np.isfinite(array).all():
        raise InvalidData(f"{what} must hold finite numbers in one dimension, at least one; got shape {array.shape}.")
    return array


def _sorted(x: Array, y: Array, s: Array | None) -> _Rows:
    x, y = x.astype(np.float64) + 0.0, y.astype(np.float64)  # -0.0 becomes 0.0
    if s is not None and not (s > 0).all():
        used = s > 0
        x, y, s = x[used], y[used], s[used]
    order = np.argsort(x, kind="stable")
    return _Rows(x[order], y[order], None if s is None else s[order])


def _monotone(rows: _Rows, low: float | None, high: float | None, *, is_rising: bool) -> Array:
    """Return the best monotone values of the rows; bounds cut them off, and what is left is best within the bounds."""
    values = _kernels.rising(rows.x, rows.y, rows.s) if is_rising else -_kernels.rising(rows.x, -rows.y, rows.s)
    return values if low is None and high is None else np.clip(values, low, high)


def _is_rising(rows: _Rows) -> bool:
    """Tell the sign of Spearman's correlation, and warn where it may be the other."""
    s = np.ones(len(rows.x)) if rows.s is None else rows.s
    first, second = _ranks(rows.x, s), _ranks(rows.y, s)
    spread = math.sqrt(float(s @ first**2) * float(s @ second**2))
    if spread == 0:
        return True  # a constant rises as well as it falls
    correlation = float(s @ (first * second)) / spread
    total = float(s.sum())
    if abs(correlation) < 1 and total > 3:
        middle, error = math.atanh(correlation), EDGE / math.sqrt(total - 3)
        if abs(middle) < error:
            low, high = math.tanh(middle - error), math.tanh(middle + error)
            warnings.warn(
                f"Confidence interval of the Spearman correlation coefficient spans zero ({low:.3f} to {high:.3f})."
                " Determination of ``increasing`` may be suspect.",
                stacklevel=3,
            )
    return correlation >= 0


def _ranks(values: Array, s: Array) -> Array:
    """Return ranks about their mean, the middle one for equal values, where a weight counts as repetition."""
    _, place = np.unique(values, return_inverse=True)
    weight = np.bincount(place, s)
    ranks = (np.cumsum(weight) - weight / 2)[place]
    return np.asarray(ranks - s @ ranks / s.sum())
