"""Columns as sums of smooth bumps: B-splines."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, InvalidData, InvalidParameter, NonNegativeInt, Transformer, fitted, param
from qed.core._roles import _input_names
from qed.preprocessing._quantiles import weighted_percentile

Array = np.ndarray[Any, Any]


def _go_with_the_degree(model: Any, knots: Array) -> str:
    least = 2 * model.degree + 2
    return (
        ""
        if len(knots) >= least
        else f"should be at least {least} a column for degree {model.degree}, and are {len(knots)}"
    )


def _is_their_number(model: Any, number: int) -> str:
    base = len(model.knots_) - 2 * model.degree
    each = (base - 1 if model.extrapolation == "periodic" else base + model.degree - 1) - (not model.include_bias)
    return "" if number == each * model.n_features_in_ else f"should be {each * model.n_features_in_}, and is {number}"


class SplineTransformer(Transformer):
    r"""Each column as a B-spline basis, with which a linear model is a smooth curve.

    Objective
    ---------
    .. math:: \phi(x_j) = (B_{1,d}(x_j), \ldots, B_{k + d - 1, d}(x_j))

    Certificate
    -----------
    ExactCertificate: the knots are a function of the rows; the splines add up to one between the outer knots.

    Cost
    ----
    O(n p (k + d)) numbers, of which d + 1 for each entry are not zero.

    Examples
    --------
    >>> from qed.preprocessing import SplineTransformer
    >>> SplineTransformer(n_knots=2, degree=1).fit_transform([[0.0], [0.25], [1.0]])
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.  , 1.  ]])
    """

    n_knots: NonNegativeInt = param(5, "Number of knots, at least two.")
    degree: NonNegativeInt = param(3, "Degree of the polynomials between knots.")
    _: KW_ONLY
    knots: Any = param("uniform", "Where knots lie: 'uniform', 'quantile', or an array of shape (knots, p).")
    extrapolation: Literal["error", "constant", "linear", "continue", "periodic"] = param(
        "constant", "What happens outside the outer knots."
    )
    include_bias: bool = param(True, "Whether the last spline of each column is kept; together they add up to one.")
    order: Literal["C", "F"] = param("C", "Memory order of a dense result.")
    handle_missing: Literal["error", "zeros"] = param("error", "Whether NaN raises, or turns every spline off.")
    sparse_output: bool = param(False, "Whether the result is a SciPy CSR container.")

    knots_: Array = fitted(
        "Knots of each column with those outside, (knots + 2 degree, p).",
        shape="(*, p)",
        nan=True,
        check=_go_with_the_degree,
    )
    n_features_out_: int = fitted("Columns that come out.", check=_is_their_number)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Place the knots.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            How often each row counts, for knots at quantiles; rows of weight zero are left out.
        """
        data = self._fit_data(X, None, sample_weight)
        base = self._base(data.X, data.weight)
        periodic = self.extrapolation == "periodic"
        if periodic and len(base) <= self.degree:
            raise InvalidParameter(
                f"Periodic splines require degree < n_knots. Got n_knots={len(base)} and degree={self.degree}."
            )
        self.knots_ = _periodic(base, self.degree) if periodic else _extended(base, self.degree)
        splines = len(base) - 1 if periodic else len(base) + self.degree - 1
        self.n_features_out_ = data.X.shape[1] * (splines - (0 if self.include_bias else 1))
        self.certificate_ = ExactCertificate(f"knots of {data.X.shape[1]} columns", data.n_rows, 8 * 2.0**-53)
        return self

    def _base(self, X: Array, weight: Array | None) -> Array:
        if not isinstance(self.knots, str):
            base = np.asarray(self.knots, dtype=np.float64)
            if base.ndim != 2 or len(base) < 2:
                raise InvalidParameter("Number of knots, knots.shape[0], must be >= 2.")
            if base.shape[1] != X.shape[1]:
                raise InvalidParameter("knots.shape[1] == n_features is violated.")
            if not (np.diff(base, axis=0) > 0).all():
                raise InvalidParameter("knots must be sorted without duplicates.")
            return base
        if self.knots not in ("uniform", "quantile") or self.n_knots < 2:
            raise InvalidParameter(
                f"SplineTransformer: knots must be 'uniform', 'quantile' or an array, and n_knots at least 2; got"
                f" {self.knots!r} and {self.n_knots}."
            )
        if self.knots == "quantile":
            levels = np.linspace(0, 100, self.n_knots)
            if weight is None:
                quantiles: Array = np.nanpercentile(X.astype(np.float64, copy=False), levels, axis=0)
                return quantiles
            return np.array([weighted_percentile(X[:, j], weight, levels) for j in range(X.shape[1])]).T
        rows = X if weight is None else X[weight > 0]
        low, high = (end(rows, axis=0).astype(np.float64) for end in (np.nanmin, np.nanmax))  # steps are of doubles
        return np.linspace(low, high, self.n_knots)

    def _traits(self) -> Any:
        return super()._traits()._replace(allow_nan=self.handle_missing == "zeros")

    @property
    def bsplines_(self) -> list[Any]:
        """The splines of each column, as SciPy's ``BSpline``."""
        self._check_is_fitted()
        return [self._spline(j) for j in range(self.knots_.shape[1])]

    def _spline(self, j: int) -> Any:
        from scipy.interpolate import BSpline  # noqa: PLC0415

        periodic = self.extrapolation == "periodic"
        count = len(self.knots_) - 2 * self.degree - 1 if periodic else len(self.knots_) - self.degree - 1
        weights = np.eye(count)
        if periodic:
            weights = np.concatenate([weights, weights[: self.degree]])
        goes_on = self.extrapolation in ("periodic", "continue")
        return BSpline.construct_fast(self.knots_[:, j].copy(), weights, self.degree, extrapolate=goes_on)

    def transform(self, X: Any) -> Any:
        """Evaluate the splines.

        Returns
        -------
        ndarray, CSR container or frame
            The splines of each column, column after column.
        """
        X = self._new_data(X)
        blocks = []
        for j in range(X.shape[1]):
            block = self._block(np.asarray(X[:, j], dtype=np.float64), self._spline(j))
            blocks.append(block if self.include_bias else block[:, :-1])
        out = np.hstack(blocks).astype(X.dtype, copy=False)
        if self.sparse_output:
            from scipy import sparse  # noqa: PLC0415

            return sparse.csr_matrix(out)
        return np.asfortranarray(out) if self.order == "F" else out

    def _block(self, x: Array, spline: Any) -> Array:
        degree = self.degree
        low, high = spline.t[degree], spline.t[-degree - 1]
        gaps = np.isnan(x)
        if gaps.any():
            x = np.where(gaps, low, x)
        block = self._evaluated(x, spline, low, high)
        block[gaps] = 0.0
        return block

    def _evaluated(self, x: Array, spline: Any, low: float, high: float) -> Array:
        if self.extrapolation == "periodic":
            # A constant column has no period: all its knots are one point, and every row lies there.
            return np.asarray(spline(low + (x - low) % (high - low) if high > low else np.full(len(x), low)))
        if self.extrapolation == "continue":
            return np.asarray(spline(x))
        below, above = x < low, x > high
        if self.extrapolation == "error" and (below.any() or above.any()):
            raise InvalidData("X contains values beyond the limits of the knots.")
        block = np.asarray(spline(np.clip(x, low, high)))
        if self.extrapolation == "linear":
            degree = self.degree + 1 if self.degree <= 1 else self.degree  # the splines that are not flat there
            slopes = spline(np.array([low, high]), nu=1)
            block[below, :degree] += np.multiply.outer(x[below] - low, slopes[0, :degree])
            block[above, -degree:] += np.multiply.outer(x[above] - high, slopes[1, -degree:])
        return block

    def _n_features_out(self) -> int:
        return self.n_features_out_

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: ``<name>_sp_<number>``."""
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        each = self.n_features_out_ // len(inside)
        return np.asarray([f"{name}_sp_{k}" for name in inside for k in range(each)], dtype=object)


def _extended(base: Array, degree: int) -> Array:
    """Put as many knots outside as the degree, at the distances of the outer two."""
    first, last = base[1] - base[0], base[-1] - base[-2]
    steps = np.arange(degree, 0, -1)[:, np.newaxis]
    return np.concatenate([base[0] - steps * first, base, base[-1] + steps[::-1] * last])


def _periodic(base: Array, degree: int) -> Array:
    period = base[-1] - base[0]
    return np.concatenate([base[-(degree + 1) : -1] - period, base, base[1 : degree + 1] + period])
