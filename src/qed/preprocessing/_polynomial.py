"""All products of columns up to a degree."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, InvalidData, InvalidParameter, Transformer, fitted, param
from qed.core._memory import require_memory
from qed.core._roles import _input_names, require_few_names
from qed.core._tables import csr, is_sparse
from qed.preprocessing import _kernels

Array = np.ndarray[Any, Any]


HIGHEST_DEGREE = 4096  # of native code, which multiplies factor by factor
MOST_COLUMNS = 2**63
MOST_FACTORS = 2**26  # that names are written from: about two seconds


def _is_their_number(model: Any, number: int) -> str:
    wanted = model._count(model.n_features_in_)  # noqa: SLF001
    return "" if number == wanted else f"should be {wanted}, and is {number}"


class PolynomialFeatures(Transformer, sparse=True):
    r"""Polynomial and interaction features up to a degree.

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

    n_output_features_: int = fitted("Columns that come out.", check=_is_their_number)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the number of columns."""
        self._validate_params()
        high = self._degrees()[1]
        data = self._fit_data(X)
        p = data.X.shape[1]
        self.n_output_features_ = self._count(p)
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
        if high > HIGHEST_DEGREE:
            raise InvalidParameter(f"PolynomialFeatures.degree must be at most {HIGHEST_DEGREE}, got {high}.")
        if high == 0 and not self.include_bias:
            raise InvalidParameter(
                "Setting degree to zero and include_bias to False would result in an empty output array."
            )
        return int(low), int(high)

    def _count(self, p: int, low: int | None = None) -> int:
        """Return how many monomials of p columns there are, by formula; from another lowest degree on if one is given."""
        lowest, high = self._degrees()
        low = max(lowest if low is None else low, 1)
        count = int(self.include_bias)
        if self.interaction_only:
            for degree in range(low, min(high, p) + 1):
                count += comb(p, degree)
                if count >= MOST_COLUMNS:
                    break
        elif high:  # the sum over d of C(p + d - 1, d), which telescopes
            count += comb(p + high, high) - comb(p + low - 1, low - 1)
        if count >= MOST_COLUMNS:
            raise InvalidParameter(
                f"Monomials of {p} columns up to degree {high} are more than 2**63, more than can be numbered. Lower the degree, or"
                " choose columns first."
            )
        return count

    def _require_unchanged(self) -> None:
        """Refuse to go on with other parameters than those of the fit."""
        now = self._count(int(self.__dict__["n_features_in_"]))
        if now != self.n_output_features_:
            raise InvalidParameter(
                f"This PolynomialFeatures was fitted with parameters that give {self.n_output_features_} columns, and those that"
                f" it has now give {now}. Call fit again."
            )

    def _monomials(self, p: int, low: int, high: int) -> Any:
        pick = combinations if self.interaction_only else combinations_with_replacement
        listed = chain.from_iterable(pick(range(p), degree) for degree in range(max(1, low), high + 1))
        return chain([()], listed) if self.include_bias else listed

    @property
    def powers_(self) -> Array:
        """Exponent of each column in each monomial, (columns that come out, p)."""
        self._check_is_fitted()
        self._require_unchanged()
        p = int(self.__dict__["n_features_in_"])
        low, high = self._degrees()
        size = 8 * self.n_output_features_
        require_memory(size * p, f"The table of {self.n_output_features_} x {p} exponents", "Lower the degree.")
        require_memory(size * high, f"The list of {self.n_output_features_} monomials", "Lower the degree.")
        powers = np.zeros((self.n_output_features_, p), np.int64)
        for row, one in zip(powers, self._monomials(p, low, high), strict=True):
            np.add.at(row, list(one), 1)
        return powers

    def transform(self, X: Any) -> Any:
        """Multiply columns.

        Returns
        -------
        ndarray, sparse container or frame
            Monomials by degree, then in the order of the columns.
        """
        X = self._new_data(X)
        self._require_unchanged()
        n, p = X.shape
        low, high = self._degrees()
        low, high = max(low, 1), min(high, p) if self.interaction_only else high
        if high < low:  # no product: a column of ones, or nothing
            only = np.ones((n, self.n_output_features_), X.dtype)
            return type(X)(only) if is_sparse(X) else only
        return self._sparse(X, low, high) if is_sparse(X) else self._dense(X, low, high)

    def _dense(self, X: Array, low: int, high: int) -> Array:
        n, p = X.shape
        width = self._count(p, low=1)  # products are built on those of lower degrees
        what = f"The table of {n} x {width} monomials"
        require_memory(n * width * X.dtype.itemsize, what, "Lower the degree, or pass fewer rows at once.")
        first = int(self.include_bias)
        runs, starts = _runs(p, high, first, interaction_only=self.interaction_only)
        out = _kernels.monomials(X, runs, first, starts[-1])
        if low > 1:
            kept = out[:, starts[low - 1] :]
            out = np.hstack([out[:, :first], kept]) if first else np.ascontiguousarray(kept)
        return np.asfortranarray(out) if self.order == "F" else out

    def _sparse(self, X: Any, low: int, high: int) -> Any:
        n, p = X.shape
        width = self._count(p, low=1)
        if width >= 2**31:
            raise InvalidParameter(f"{width} monomials are more than a sparse matrix can number. Lower the degree.")
        first = int(self.include_bias)
        runs, starts = _runs(p, high, first, interaction_only=self.interaction_only)
        offsets = np.zeros((high - 1, p), np.int64)
        for target, source, _, factor in runs.tolist():
            degree = int(np.searchsorted(starts, target, side="right"))  # starts[d - 1] is where degree d begins
            offsets[degree - 2, factor] = target - source
        rows = X.tocsr()
        rows.sort_indices()
        entries, of = np.unique(np.diff(rows.indptr), return_inverse=True)
        each = [first + _choices(int(size), low, high, distinct=self.interaction_only) for size in entries]
        total = sum(number * int(times) for number, times in zip(each, np.bincount(of), strict=True))
        what = f"The sparse table of {total} products"
        require_memory(total * (X.dtype.itemsize + 4), what, "Lower the degree, or pass fewer rows at once.")
        ends = np.concatenate([[0], np.cumsum(np.array(each, np.int64)[of])])
        columns, values = _kernels.sparse_monomials(
            rows, offsets, (low, high), ends, distinct=self.interaction_only, ones=self.include_bias
        )
        if low > 1:  # the degrees that are left out leave their places to the others
            columns = np.where(columns >= starts[low - 1], columns - (starts[low - 1] - first), columns)
        return csr(values, columns, ends, (n, self.n_output_features_)).asformat(X.format)

    def _n_features_out(self) -> int:
        return self.n_output_features_

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: products and powers of names."""
        self._check_is_fitted()
        self._require_unchanged()
        inside = _input_names(self, input_features)
        require_few_names(self.n_output_features_, "PolynomialFeatures")
        low, high = self._degrees()
        if self.n_output_features_ * high > MOST_FACTORS:
            raise InvalidData(
                f"Names of {self.n_output_features_} monomials of up to {high} factors are too long to write. Lower the degree."
            )
        names = []
        for one in self._monomials(len(inside), low, high):
            powers = Counter(one)
            words: list[Any] = [inside[j] if power == 1 else f"{inside[j]}^{power}" for j, power in powers.items()]
            names.append(" ".join(words) if words else "1")
        return np.asarray(names, dtype=object)


def _choices(entries: int, low: int, high: int, *, distinct: bool) -> int:
    """Return how many products of `low` to `high` factors can be picked from so many entries."""
    if distinct:
        return sum(comb(entries, degree) for degree in range(low, min(high, entries) + 1))
    return comb(entries + high, high) - comb(entries + low - 1, low - 1)


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
