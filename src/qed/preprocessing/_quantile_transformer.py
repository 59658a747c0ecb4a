"""Columns by their ranks: uniform, or normal."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._shared_params import COPY
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.data._selected import count_rows, gathered
from qed.preprocessing import _kernels
from qed.preprocessing._columns import finite_rows, require_rows

EDGE = 1e-7  # probabilities nearer to zero or one than this are cut off before the normal quantile is taken


class QuantileTransformer(Transformer, sparse=True, chunks=True, allow_nan=True):
    r"""Quantile transformation of columns to a uniform or normal distribution.

    Objective
    ---------
    .. math:: z_{ij} = \hat F_j(x_{ij}), \quad \text{or} \quad z_{ij} = \Phi^{-1}(\hat F_j(x_{ij}))

    with :math:`\hat F_j` the distribution function of the column, linear between its quantiles; where many entries are equal, the
    middle of its step.

    Certificate
    -----------
    ExactCertificate: the quantiles are those of the rows; with ``subsample`` of those that were drawn.

    Cost
    ----
    A sort of each column to fit, a search for each entry to transform; O(quantiles) a column beyond the result.

    Notes
    -----
    NaN is left out and stays NaN. Entries outside the range of the fit get the rank of its ends. Of sparse tables zeros stay zeros,
    and other entries must be positive unless zeros that are not stored are left out of the ranks (``ignore_implicit_zeros``).

    Examples
    --------
    >>> from qed.preprocessing import QuantileTransformer
    >>> QuantileTransformer(n_quantiles=3).fit_transform([[1.0], [10.0], [1000.0]])
    array([[0. ],
           [0.5],
           [1. ]])
    """

    _: KW_ONLY
    n_quantiles: PositiveInt = param(1000, "Number of quantiles; at most the number of rows.")
    output_distribution: Literal["uniform", "normal"] = param("uniform", "Distribution of the result.")
    ignore_implicit_zeros: bool = param(False, "Whether zeros that a sparse table does not store are left out.")
    subsample: PositiveInt | None = param(10_000, "Rows to draw, without replacement, if there are more; None for all.")
    random_state: Seed = param(None, "Where the drawn rows come from.")
    copy: bool = COPY

    n_quantiles_: int = fitted("Number of quantiles that were taken.", low=1)
    quantiles_: Array = fitted(
        "Quantiles of each column, (quantiles, p).", shape="(n_quantiles_, p)", nan=True, order="rising"
    )
    references_: Array = fitted(
        "Shares of the rows below each quantile.", shape="(n_quantiles_,)", low=0, high=1, order="rising"
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the quantiles of each column.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p), or a source from ``qed.scan``
            Rows; NaN means missing. Of a source the rows that ``subsample`` draws are gathered.
        """
        data = self._fit_data(X, None, None)
        table, n = data.X, count_rows(data.X) if is_source(data.X) else data.n_rows
        if self.subsample is not None and self.n_quantiles > self.subsample:
            raise InvalidParameter(
                f"The number of quantiles cannot be greater than the number of samples used. Got {self.n_quantiles} quantiles and"
                f" {self.subsample} samples."
            )
        if self.n_quantiles > n:
            warnings.warn(
                f"n_quantiles ({self.n_quantiles}) is greater than the total number of samples ({n}). n_quantiles is set to"
                " n_samples.",
                stacklevel=2,
            )
        if self.ignore_implicit_zeros and not is_sparse(table):
            warnings.warn(
                "'ignore_implicit_zeros' takes effect only with sparse matrix. This parameter has no effect.",
                stacklevel=2,
            )
        self.n_quantiles_ = max(1, min(self.n_quantiles, n))
        self.references_ = np.linspace(0, 1, self.n_quantiles_)
        rng = generator(self.random_state)
        if is_source(table):
            table = self._drawn(table, n, rng)
        self.quantiles_ = self._of_sparse(table, rng) if is_sparse(table) else self._of_dense(table, rng)
        used = n if self.subsample is None else min(n, self.subsample)
        self.certificate_ = ExactCertificate(f"quantiles of {table.shape[1]} columns", used, 8 * 2.0**-53)
        return self

    def _drawn(self, source: Any, n: int, rng: Any) -> Any:
        """Gather the rows of a source that quantiles are taken of: those that would be drawn in memory."""
        require_rows(n, type(self).__name__)
        if self.subsample is None:
            raise InvalidParameter("QuantileTransformer draws rows of a source: give subsample, the number of them.")
        wanted = np.arange(n) if n <= self.subsample else np.sort(rng.choice(n, self.subsample, replace=False))
        return finite_rows(self, gathered(source, wanted)[0])

    def _of_dense(self, table: Array, rng: Any) -> Array:
        if self.subsample is not None and len(table) > self.subsample:
            table = table[np.sort(rng.choice(len(table), self.subsample, replace=False))]
        return np.stack([self._quantiles(table[:, j]) for j in range(table.shape[1])], axis=1)

    def _quantiles(self, column: Array) -> Array:
        """Return the quantiles of the entries that are there, linear between neighbours."""
        values = np.sort(column)  # NaN last
        values = values[: len(values) - int(np.count_nonzero(np.isnan(values)))].astype(np.float64)
        if not len(values):
            return np.full(self.n_quantiles_, np.nan)
        place = self.references_ * (len(values) - 1)
        below = np.minimum(np.floor(place).astype(np.intp), len(values) - 1)
        above = np.minimum(below + 1, len(values) - 1)
        part = place - below
        low, high = values[below], values[above]
        # From the nearer neighbour, so that neither end is missed and the quantiles never fall.
        between = np.where(part < 0.5, low + part * (high - low), high - (1 - part) * (high - low))
        return np.asarray(np.maximum.accumulate(between))

    def _of_sparse(self, table: Any, rng: Any) -> Array:
        self._require_positive(table)
        columns, n = table.tocsc(), table.shape[0]
        found = []
        for j in range(table.shape[1]):
            stored = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
            length = len(stored) if self.ignore_implicit_zeros else n
            if self.subsample is not None and len(stored) > self.subsample:
                share = self.subsample if self.ignore_implicit_zeros else self.subsample * len(stored) // n
                stored, length = rng.choice(stored, share, replace=False), self.subsample
            column = np.zeros(length, table.dtype)
            column[: len(stored)] = stored
            found.append(self._quantiles(column) if length else np.zeros(self.n_quantiles_))
        return np.stack(found, axis=1)

    def _require_positive(self, table: Any) -> None:
        if is_sparse(table) and not self.ignore_implicit_zeros and (table.data < 0).any():
            raise InvalidData(
                "QuantileTransformer only accepts non-negative sparse matrices: zeros that are not stored must stay the least. Say"
                " ignore_implicit_zeros=True, or pass a dense array."
            )

    def transform(self, X: Any) -> Any:
        """Give each entry its rank.

        Returns
        -------
        ndarray, CSC container or frame
            The rows, in the type of X.
        """
        X = self._new_data(X)
        self._require_positive(X)
        return self._changed(X, self._ranks)

    def inverse_transform(self, X: Any) -> Any:
        """Give back entries of these ranks.

        Parameters
        ----------
        X : array-like or sparse container of shape (n, p)
            Ranks, as ``transform`` gives them.

        Returns
        -------
        ndarray or CSC container
            Rows.
        """
        return self._changed(self._new_data(X), self._values)

    def _changed(self, X: Any, change: Any) -> Any:
        """Change a dense table, or what a sparse one stores, column by column."""
        if not is_sparse(X):
            return change(X, self.quantiles_.T, in_place=not self.copy)
        columns = X.tocsc(copy=True)
        for j in range(X.shape[1]):
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            stored = columns.data[part][:, np.newaxis]
            columns.data[part] = change(stored, self.quantiles_.T[j : j + 1], in_place=False)[:, 0]
        return columns

    def _ranks(self, X: Array, quantiles: Array, *, in_place: bool) -> Array:
        """Return ranks; of equal quantiles the middle of their step."""
        is_normal = self.output_distribution == "normal"
        shift = EDGE if is_normal else 0.0
        low, high = quantiles[:, 0], quantiles[:, -1]
        with np.errstate(invalid="ignore"):
            top = X + shift > high if is_normal else high == X
            bottom = X - shift < low if is_normal else low == X
        ranks = _kernels.followed(X, np.where(np.isnan(quantiles), 0.0, quantiles), self.references_, in_place=in_place)
        ranks[top] = 1.0
        ranks[bottom] = 0.0
        ranks[:, np.isnan(low)] = np.nan
        if not is_normal:
            return ranks
        from scipy.special import ndtri  # noqa: PLC0415

        edge = EDGE - np.spacing(1.0)  # what scikit-learn cuts at, so that the inverse meets the same ends
        ndtri(ranks, out=ranks)
        return np.clip(ranks, ndtri(edge), ndtri(1 - edge), out=ranks)

    def _values(self, ranks: Array, quantiles: Array, *, in_place: bool) -> Array:
        is_normal = self.output_distribution == "normal"
        if is_normal:
            from scipy.special import ndtr  # noqa: PLC0415

            ranks = ndtr(ranks)
        out = ranks if in_place and ranks.flags.writeable else np.empty_like(ranks, subok=False)
        for j, own in enumerate(quantiles):
            column = np.ascontiguousarray(ranks[:, j], dtype=np.float64)
            value = np.interp(column, self.references_, own)
            if is_normal:
                with np.errstate(invalid="ignore"):
                    value[column + EDGE > 1], value[column - EDGE < 0] = own[-1], own[0]
            out[:, j] = value
        return out


def quantile_transform(
    X: Any,
    *,
    axis: int = 0,
    n_quantiles: int = 1000,
    output_distribution: Literal["uniform", "normal"] = "uniform",
    ignore_implicit_zeros: bool = False,
    subsample: int | None = 100_000,
    random_state: Any = None,
    copy: bool = True,
) -> Any:
    """Give each entry of a table its rank in its column (or with ``axis=1`` its row) once, without a model to keep.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        The table.
    axis : {0, 1}
        Whether ranks are taken within columns or within rows.
    n_quantiles, output_distribution, ignore_implicit_zeros, subsample, random_state, copy : object
        As for `QuantileTransformer`.

    Returns
    -------
    ndarray or sparse container
        The ranks.
    """
    model = QuantileTransformer(
        n_quantiles=n_quantiles,
        output_distribution=output_distribution,
        ignore_implicit_zeros=ignore_implicit_zeros,
        subsample=subsample,
        random_state=random_state,
        copy=copy,
    )
    if axis == 0:
        return model.fit_transform(X)
    if axis == 1:
        return model.fit_transform(X.T if is_sparse(X) else np.asarray(X).T).T
    raise InvalidParameter(f"quantile_transform: axis should be either equal to 0 or 1. Got axis={axis!r}.")
