"""Power transforms that make columns as normal as possible."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import BracketCertificate
from qed.core import KW_ONLY, Array, InvalidData, Transformer, fitted, param
from qed.core._params import needed_with
from qed.core._shared_params import COPY
from qed.preprocessing._columns import EPSILON
from qed.preprocessing._power_likelihood import Enclosed, best_power, box_cox, yeo_johnson
from qed.preprocessing._standard import StandardScaler

LIKELIHOOD_TOLERANCE = 1e-12  # nats a row: far below what any number of rows can tell apart


class PowerTransformer(Transformer, allow_nan=True):
    r"""Power transforms (Box-Cox, Yeo-Johnson) that make columns as Gaussian as possible.

    Objective
    ---------
    For each column the power that maximises the likelihood of a normal distribution of the transformed entries:

    .. math:: \min_\lambda \; \tfrac12 \log \operatorname{var}_i \psi_\lambda(x_i) - \lambda \, \operatorname{mean}_i
       \operatorname{sign}(x_i) \log(1 + |x_i|), \quad
       \psi_\lambda(x) = \begin{cases} ((1 + x)^\lambda - 1) / \lambda & x \ge 0 \\
       -((1 - x)^{2 - \lambda} - 1) / (2 - \lambda) & x < 0 \end{cases}

    (Yeo and Johnson), or with Box and Cox :math:`\psi_\lambda(x) = (x^\lambda - 1) / \lambda` for positive entries, and
    :math:`\log x` in place of the signed logarithm.

    Certificate
    -----------
    BracketCertificate: the objective is convex in the power, and slopes of opposite signs enclose the best one.

    Cost
    ----
    About a dozen passes over each column to fit, one to transform; O(n) beyond the result.

    Notes
    -----
    That the objective is convex follows from writing differences of transformed entries as sums of exponentials in the power: see
    `qed.preprocessing._power_likelihood`. Powers are kept where transformed entries neither overflow nor fall together in rounding
    (of numbers far from one, only a range of powers can tell them apart); the certificate is about that range. NaN is left out
    and stays NaN. Columns that do not vary are left as they are by Yeo and Johnson, and refused by Box and Cox.

    Examples
    --------
    >>> from qed.preprocessing import PowerTransformer
    >>> model = PowerTransformer().fit([[1.0, 2.0], [3.0, 2.0], [4.0, 5.0]])
    >>> model.lambdas_.round(3).tolist()
    [1.387, -3.101]
    >>> model.transform([[3.0, 2.0]]).round(3)
    array([[ 0.21 , -0.707]])
    """

    method: Literal["yeo-johnson", "box-cox"] = param(
        "yeo-johnson", "Which powers: of any number, or of positive ones."
    )
    _: KW_ONLY
    standardize: bool = param(True, "Whether transformed columns are scaled to mean zero and variance one.")
    copy: bool = COPY

    lambdas_: Array = fitted("The power of each column; one for columns that do not vary.", shape="(p,)", nan=True)
    scaler_: StandardScaler | None = fitted(
        "The scaler of the transformed columns; None without ``standardize``.", check=needed_with("standardize")
    )
    certificate_: BracketCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the power of each column."""
        self._learn(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Find the powers and transform the same rows.

        Parameters
        ----------
        X, y, sample_weight : object
            As for `fit`.

        Returns
        -------
        ndarray or frame
            The rows, in the type of X.
        """
        table = self._learn(X, sample_weight)
        powered = self._powered(table, table if self._may_write(table) else None)
        return powered if self.scaler_ is None else self.scaler_.transform(powered, copy=False)

    def _may_write(self, table: Array) -> bool:
        return not self.copy and bool(table.flags.writeable)

    def _learn(self, X: Any, sample_weight: Any) -> Array:
        data = self._fit_data(X, None, sample_weight)
        table: Array = data.X
        self._require_positive(table)
        most = 340.0 if table.dtype == np.float64 else 80.0  # squares of exp(most) are numbers still
        found = [self._column(table[:, j], data.weight, most, j) for j in range(table.shape[1])]
        self.lambdas_ = np.array([one.power for one in found])
        low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
        self.certificate_ = BracketCertificate(
            f"powers of {len(found)} columns",
            data.n_rows,
            low,
            high,
            max(one.gap for one in found),
            LIKELIHOOD_TOLERANCE,
        )
        self.scaler_ = None
        if self.standardize:
            scaler = StandardScaler(copy=False).set_output(transform="default")
            self.scaler_ = scaler.fit(self._powered(table), sample_weight=data.weight)
        return table

    def _column(self, column: Array, weight: Array | None, most: float, j: int) -> Enclosed:
        here = ~np.isnan(column) if weight is None else ~np.isnan(column) & (weight > 0)
        x = column[here].astype(np.float64)
        share = None if weight is None else weight[here] / weight[here].sum()
        if not len(x):
            if self.method == "box-cox":
                raise InvalidData(f"Column must not be all nan: column {j} has no entry to find a power from.")
            return Enclosed(1.0, np.nan, np.nan, 0.0)
        n, mean, variance = len(x), float(x.mean()), float(x.var())
        if variance <= n * EPSILON * variance + (n * mean * EPSILON) ** 2:  # what rounding alone can make
            if self.method == "box-cox":
                raise InvalidData(f"Data must not be constant: column {j} does not vary, and every power is as good.")
            return Enclosed(1.0, np.nan, np.nan, 0.0)
        return best_power((box_cox if self.method == "box-cox" else yeo_johnson)(x, share, most))

    def _require_positive(self, table: Array) -> None:
        if self.method == "box-cox" and np.fmin.reduce(table, axis=None, initial=np.inf) <= 0:
            raise InvalidData(
                "The Box-Cox transformation can only be applied to strictly positive data. Use method='yeo-johnson'."
            )

    def _powered(self, table: Array, out: Array | None = None) -> Array:
        out = np.empty_like(table, subok=False) if out is None else out
        power_of = _box_cox if self.method == "box-cox" else _yeo_johnson
        for j, power in enumerate(self.lambdas_.tolist()):
            out[:, j] = power_of(np.ascontiguousarray(table[:, j], dtype=np.float64), power)
        return out

    def transform(self, X: Any) -> Any:
        """Transform rows.

        Returns
        -------
        ndarray or frame
            The rows, in the type of X.
        """
        table = self._new_data(X)
        self._require_positive(table)
        powered = self._powered(table, table if self._may_write(table) else None)
        return powered if self.scaler_ is None else self.scaler_.transform(powered, copy=False)

    def inverse_transform(self, X: Any) -> Any:
        """Undo the transform.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Transformed rows.

        Returns
        -------
        ndarray
            The rows; NaN where no number has that image.
        """
        table = self._new_data(X)
        if self.scaler_ is not None:
            table = self.scaler_.inverse_transform(table, copy=True)
        out = np.empty_like(table, subok=False)
        inverse = _box_cox_inverse if self.method == "box-cox" else _yeo_johnson_inverse
        for j, power in enumerate(self.lambdas_.tolist()):
            column = np.ascontiguousarray(table[:, j], dtype=np.float64)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                out[:, j] = inverse(column, power)
            if np.isnan(out[:, j]).any() and np.isnan(out[:, j][~np.isnan(column)]).any():
                warnings.warn(
                    f"Some values in column {j} of the inverse-transformed data are NaN: no number has that image under the power"
                    f" {power:.6g}. Values as far out as these do not occur in what transform gives.",
                    stacklevel=2,
                )
        return out


def _grown(logs: Array, power: float) -> Array:
    """Return ``(exp(power logs) - 1) / power``."""
    return logs if power == 0 else np.expm1(power * logs) / power


def _shrunk(values: Array, power: float) -> Array:
    """Undo `_grown`."""
    return values if power == 0 else np.log1p(power * values) / power


def _box_cox(x: Array, power: float) -> Array:
    return _grown(np.log(x), power)


def _box_cox_inverse(z: Array, power: float) -> Array:
    return np.asarray(np.exp(_shrunk(z, power)))


def _yeo_johnson(x: Array, power: float) -> Array:
    if power == 1:
        return x
    lower = x < 0
    if not lower.any():
        return _grown(np.log1p(x), power)
    size = np.log1p(np.abs(x))
    with np.errstate(over="ignore"):  # of the power that is not taken
        return np.where(lower, -_grown(size, 2 - power), _grown(size, power))


def _yeo_johnson_inverse(z: Array, power: float) -> Array:
    if power == 1:
        return z
    return np.where(z < 0, -np.expm1(_shrunk(-z, 2 - power)), np.expm1(_shrunk(z, power)))


def power_transform(
    X: Any, method: Literal["yeo-johnson", "box-cox"] = "yeo-johnson", *, standardize: bool = True, copy: bool = True
) -> Any:
    """Transform columns by their best powers once, without a model to keep.

    Parameters
    ----------
    X : array-like or frame of shape (n, p)
        The table.
    method, standardize, copy : object
        As for `PowerTransformer`.

    Returns
    -------
    ndarray
        The transformed table.
    """
    return PowerTransformer(method, standardize=standardize, copy=copy).fit_transform(X)
