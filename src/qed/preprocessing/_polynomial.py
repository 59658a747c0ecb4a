"""All products of columns up to a degree."""

from __future__ import annotations

from itertools import chain, combinations, combinations_with_replacement
from typing import Any, Literal, Self

import numpy as np

from qed.core import KW_ONLY, ExactCertificate, InvalidParameter, Transformer, fitted, param
from qed.core._roles import _input_names
from qed.core._tables import is_sparse
from qed.preprocessing import _kernels

Array = np.ndarray[Any, Any]

__all__ = ["PolynomialFeatures"]


class PolynomialFeatures(Transformer, sparse=True):
    r"""All monomials of the columns up to a degree.

    Objective
    ---------
    .. math:: \phi(x) = \left( \prod_j x_j^{k_j} : \; \underline{d} \le \sum_j k_j \le d \right)

    Certificate
    -----------
    ExactCertificate: nothing is learnt but the number of columns; each entry is a product of at most d - 1 roundings.

    Cost
    ----
    One product for each entry of the result, whose C(p + d, d) columns are written once.

    Notes
    -----
    Dimension p and degree d are separate: p = d = 2 gives the six columns 1, a, b, a², ab, b². With ``interaction_only`` no column
    is multiplied by itself.

    Examples
    --------
    >>> from qed.preprocessing import PolynomialFeatures
    >>> expansion = PolynomialFeatures(2).fit([[2.0, 3.0]])
    >>> expansion.transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    >>> expansion.get_feature_names_out(["a", "b"]).tolist()
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    """

    degree: Any = param(2, "Highest degree; or a pair of lowest and highest.")
    _: KW_ONLY
    interaction_only: bool = param(False, "Whether every column occurs at most once in a product.")
    include_bias: bool = param(True, "Whether there is a column of ones.")
    order: Literal["C", "F"] = param("C", "Memory order of a dense result.")

    n_output_features_: int = fitted("Columns that come out.")
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the number of columns.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.
        y : None
            Not looked at.

        Returns
        -------
        self
            Fitted.
        """
        self._validate_params()
        low, high = self._degrees()
        data = self._fit_data(X)
        p = data.X.shape[1]
        self.n_output_features_ = sum(1 for _ in self._monomials(p, low, high))
        self.certificate_ = ExactCertificate(f"monomials of {p} columns", data.n_rows, max(high - 1, 0) * 2.0**-53)
        return self

    def _degrees(self) -> tuple[int, int]:
        given = self.degree
        pair = (0, given) if isinstance(given, int | np.integer) and not isinstance(given, bool) else given
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise InvalidParameter(
                f"PolynomialFeatures.degree must be a non-negative int or tuple (min_degree, max_degree), got {given}."
            )
        low, high = pair
        whole = all(isinstance(end, int | np.integer) and end >= 0 for end in (low, high))
        if not whole or low > high:
            raise InvalidParameter(
                "degree=(min_degree, max_degree) must be non-negative integers that fulfil min_degree <= max_degree, got"
                f" {given}."
            )
        if high == 0 and not self.include_bias:
            raise InvalidParameter(
                "Setting degree to zero and include_bias to False would result in an empty output array."
            )
        return int(low), int(high)

    def _monomials(self, p: int, low: int, high: int) -> Any:
        pick = combinations if self.interaction_only else combinations_with_replacement
        listed = chain.from_iterable(pick(range(p), degree) for degree in range(max(1, low), high + 1))
        return chain([()], listed) if self.include_bias else listed

    @property
    def powers_(self) -> Array:
        """Exponent of each column in each monomial, (columns that come out, p)."""
        self._check_is_fitted()
        p = int(self.__dict__["n_features_in_"])
        low, high = self._degrees()
        return np.vstack([np.bincount(one, minlength=p) for one in self._monomials(p, low, high)])

    def transform(self, X: Any) -> Any:
        """Multiply columns.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.

        Returns
        -------
        ndarray, sparse container or frame
            Monomials by degree, then in the order of the columns.
        """
        X = self._new_data(X)
        low, high = self._degrees()
        if is_sparse(X):
            return self._sparse(X, low, high)
        first = int(self.include_bias)
        if high == 0:
            return np.ones((len(X), 1), X.dtype)
        runs, starts = _runs(X.shape[1], high, first, interaction_only=self.interaction_only)
        out = _kernels.monomials(X, runs, first, starts[-1])
        if low > 1:
            kept = out[:, starts[low - 1] :]
            out = np.hstack([out[:, :first], kept]) if first else np.ascontiguousarray(kept)
        return np.asfortranarray(out) if self.order == "F" else out

    def _sparse(self, X: Any, low: int, high: int) -> Any:
        from scipy import sparse  # noqa: PLC0415

        n, p = X.shape
        if high == 0:
            return sparse.csr_matrix(np.ones((n, 1), X.dtype)).asformat(X.format)
        first = int(self.include_bias)
        runs, starts = _runs(p, high, first, interaction_only=self.interaction_only)
        if starts[-1] >= 2**31:
            raise InvalidParameter(
                f"{starts[-1]} monomials are more than a sparse matrix can number. Lower the degree."
            )
        offsets = np.zeros((high - 1, p), np.int64)
        for target, source, _, factor in runs.tolist():
            degree = int(np.searchsorted(starts, target, side="right"))  # starts[d - 1] is where degree d begins
            offsets[degree - 2, factor] = target - source
        rows = X.tocsr()
        rows.sort_indices()
        entries = np.diff(rows.indptr).astype(np.int64)
        counts = np.full(n, first, np.int64)
        low = max(low, 1)
        for degree in range(low, high + 1):
            counts += _choices(entries, degree, distinct=self.interaction_only)
        ends = np.concatenate([[0], np.cumsum(counts)])
        columns, values = _kernels.sparse_monomials(
            rows, offsets, (low, high), ends, distinct=self.interaction_only, ones=self.include_bias
        )
        if low > 1:  # the degrees that are left out leave their places to the others
            columns = np.where(columns >= starts[low - 1], columns - (starts[low - 1] - first), columns)
        made = sparse.csr_matrix((values, columns, ends), shape=(n, self.n_output_features_))
        return made.asformat(X.format)

    def _n_features_out(self) -> int:
        return self.n_output_features_

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: products and powers of names.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns that go in.

        Returns
        -------
        ndarray of str
            The names.
        """
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        names = []
        for row in self.powers_:
            used = np.flatnonzero(row)
            words = [inside[j] if row[j] == 1 else f"{inside[j]}^{row[j]}" for j in used]
            names.append(" ".join(words) if words else "1")
        return np.asarray(names, dtype=object)


def _choices(entries: Array, degree: int, *, distinct: bool) -> Array:
    """Return in how many ways so many factors can be picked from the entries of each row."""
    top = entries if distinct else entries + degree - 1
    ways = np.ones_like(entries)
    for k in range(degree):
        ways = ways * np.maximum(top - k, 0) // (k + 1)
    return ways


def _runs(p: int, degree: int, first: int, *, interaction_only: bool) -> tuple[Array, list[int]]:
    """Return the runs of products: (target, source, length, factor); and where each degree begins, the end last.

    A monomial of degree k that begins with column j is column j times a monomial of degree k - 1 that begins with column j or a
    later one, and those stand together.
    """
    starts, begins = (
        [first, first + p],
        np.arange(first, first + p + 1),
    )  # begins[j]: where monomials with first column j start
    runs: list[tuple[int, int, int, int]] = []
    for _ in range(2, degree + 1):
        at, end, here = starts[-1], starts[-1], []
        for j in range(p):
            source = begins[j + 1] if interaction_only else begins[j]
            length = starts[-1] - source
            here.append(at)
            if length > 0:
                runs.append((at, int(source), int(length), j))
            at += length
            end = at
        starts.append(int(end))
        begins = np.array([*here, end])
    return np.array(runs, dtype=np.int64).reshape(-1, 4), [int(one) for one in starts]
