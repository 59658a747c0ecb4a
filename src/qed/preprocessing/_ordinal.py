"""Categories as numbers in their order."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import (
    KW_ONLY,
    Fraction,
    InvalidData,
    InvalidDataType,
    InvalidParameter,
    PositiveInt,
    Transformer,
    fitted,
    param,
)
from qed.core._mixed import new_table
from qed.core._params import DType  # noqa: TC001  (what parameters may hold)
from qed.preprocessing._categories import counted_table, is_nan, places, refuse_unknown
from qed.preprocessing._one_hot import are_places, learnt_categories
from qed.preprocessing._rare import grouping, rare_ones

Array = np.ndarray[Any, Any]


def _why_no_number(value: Any) -> str:
    return "" if value is None or isinstance(value, int | float | np.number) else "should be a number"


class OrdinalEncoder(Transformer, chunks=True, allow_nan=True, categorical=True, keeps_dtype=False):
    r"""Ordinal encoding: each category as its number in the order of the categories.

    Objective
    ---------
    .. math:: z_{ij} = \#\{c \in C_j : c < x_{ij}\}

    Certificate
    -----------
    ExactCertificate: the categories are exactly the values that occur.

    Cost
    ----
    One pass over the entries, hashed. ``fit_transform`` reads once.

    Examples
    --------
    >>> from qed.preprocessing import OrdinalEncoder
    >>> OrdinalEncoder(categories=[["low", "high"]]).fit_transform([["high"], ["low"]])
    array([[1.],
           [0.]])
    """

    _: KW_ONLY
    categories: Any = param("auto", "Categories of each column, in order; 'auto' for those that occur.")
    dtype: DType = param(np.float64, "Type of the result.")
    handle_unknown: Literal["error", "use_encoded_value"] = param(
        "error", "What becomes of values that the fit has not seen."
    )
    unknown_value: Any = param(
        None, "Number for them, with ``handle_unknown='use_encoded_value'``.", in_files=_why_no_number
    )
    encoded_missing_value: Any = param(np.nan, "Number for NaN.", in_files=_why_no_number)
    min_frequency: PositiveInt | Fraction | None = param(
        None, "Rows, or share of rows, below which a category is rare."
    )
    max_categories: PositiveInt | None = param(None, "Most categories of a column, all rare ones together being one.")

    categories_: list[Array] = fitted(
        "Categories of each column, in order.", length="p", dtype="label", shape="(*,)", finite=False, nan=True
    )
    rare_: list[Array | None] = fitted(
        "Places of the rare categories of each column; None where no one is rare.",
        length="p",
        dtype="int",
        shape="(*,)",
        check=are_places,
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the categories of each column.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or a source from ``qed.scan``
            Rows of words, numbers or gaps.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Learn the categories and encode the same rows, in one pass.

        Returns
        -------
        ndarray or frame
            Numbers.
        """
        return self._encoded(self._learn(X))

    def _learn(self, X: Any) -> list[Array]:
        self._validate_params()
        self._require_values()
        seen = counted_table(self, X)
        self.categories_, codes, counts = learnt_categories(
            seen, self.categories, refuse=self.handle_unknown == "error"
        )
        self.rare_ = [None] * len(counts)
        if self._groups:
            self.rare_ = [
                rare_ones(count[: self._plain(j)], seen.table.n_rows, self.min_frequency, self.max_categories)
                for j, count in enumerate(counts)
            ]
        self._require_apart()
        self.certificate_ = ExactCertificate(f"categories of {len(codes)} columns", seen.table.n_rows, 0.0)
        return codes

    @property
    def _groups(self) -> bool:
        return self.min_frequency is not None or self.max_categories is not None

    @property
    def infrequent_categories_(self) -> list[Any]:
        """The rare categories of each column; None where no one is rare."""
        if not self._groups:
            raise AttributeError("infrequent_categories_ is there with min_frequency or max_categories.")
        self._check_is_fitted()
        pairs = zip(self.categories_, self.rare_, strict=True)
        return [None if rare is None else known[rare] for known, rare in pairs]

    def _plain(self, j: int) -> int:
        """Return how many categories of a column are no gaps."""
        known = self.categories_[j]
        return len(known) - (1 if len(known) and is_nan(known[-1]) else 0)

    def _require_values(self) -> None:
        value, used = self.unknown_value, self.handle_unknown == "use_encoded_value"
        if used and not (is_nan(value) or (isinstance(value, Integral) and not isinstance(value, bool))):
            raise InvalidDataType(
                f"unknown_value should be an integer or np.nan when handle_unknown is 'use_encoded_value', got {value}."
            )
        if used and is_nan(value) and np.dtype(self.dtype).kind != "f":
            raise InvalidParameter(
                f"When unknown_value is np.nan, the dtype parameter should be a float dtype. Got {self.dtype}."
            )
        if not used and value is not None:
            raise InvalidDataType(
                f"unknown_value should only be set when handle_unknown is 'use_encoded_value', got {value}."
            )

    def _require_apart(self) -> None:
        """Refuse numbers for gaps and unknown values that stand for a category already."""
        value, missing = self.unknown_value, self.encoded_missing_value
        taken = []
        for j in range(len(self.categories_)):
            rare = self.rare_[j]  # which share one code
            n_codes = self._plain(j) - (0 if rare is None else max(len(rare) - 1, 0))
            has_gap = self._plain(j) < len(self.categories_[j])
            if has_gap and is_nan(missing) and np.dtype(self.dtype).kind in "iu":
                raise InvalidParameter(
                    f"There are missing values in features [{j}]. For OrdinalEncoder to encode missing values with dtype:"
                    f" {self.dtype}, set encoded_missing_value to a non-nan value, or set dtype to a float"
                )
            if has_gap and not is_nan(missing) and 0 <= missing < n_codes:
                taken.append(j)
            if value is not None and not is_nan(value) and 0 <= value < n_codes:
                raise InvalidParameter(
                    f"The used value for unknown_value {value} is one of the values already used for encoding the seen"
                    " categories."
                )
        if taken:
            raise InvalidParameter(
                f"encoded_missing_value ({missing}) is already used to encode a known category in features: {taken}"
            )

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Returns
        -------
        ndarray or frame
            Numbers.
        """
        table = new_table(self, X)
        codes = []
        for j, column in enumerate(table.columns):
            place, unknown = places(column, self.categories_[j])
            if self.handle_unknown == "error":
                refuse_unknown(unknown, j, "transform")
            codes.append(place)
        return self._encoded(codes)

    def _encoded(self, codes: list[Array]) -> Array:
        out = np.empty((len(codes[0]), len(codes)), self.dtype)
        for j, place in enumerate(codes):
            out[:, j] = self._numbers(j)[place]
        return out

    def _numbers(self, j: int) -> Array:
        """Return the number of each category of a column, the number of unknown values last."""
        plain, rare = self._plain(j), self.rare_[j]
        numbers: list[Any] = grouping(plain, rare).tolist()
        numbers += [self.encoded_missing_value] * (len(self.categories_[j]) - plain)
        unknown = 0 if self.unknown_value is None else self.unknown_value
        return np.array([*numbers, unknown], dtype=self.dtype)

    def inverse_transform(self, X: Any) -> Any:
        """Give the categories back; None for the number of unknown values.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Numbers.

        Returns
        -------
        ndarray of shape (n, p)
            Categories; ``"infrequent_sklearn"`` for the rare ones together.
        """
        self._check_is_fitted()
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.categories_):
            raise InvalidData(
                "Shape of the passed X data is not correct. Expected"
                f" {len(self.categories_)} columns, got {X.shape[-1] if X.ndim else 0}."
            )
        columns = [self._decoded(X[:, j], j) for j in range(X.shape[1])]
        out = np.empty(X.shape, np.result_type(*[column.dtype for column in columns]))
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def _decoded(self, numbers: Array, j: int) -> Array:
        known, plain, rare = self.categories_[j], self._plain(j), self.rare_[j]
        if rare is not None:
            kept = np.delete(np.arange(plain), rare)
            names = np.append(known[kept].astype(object), np.array(["infrequent_sklearn"], dtype=object))
        else:
            names = known[:plain]
        missing, unknown = self.encoded_missing_value, self.unknown_value
        gap = np.isnan(numbers) if is_nan(missing) else numbers == missing
        gap = gap & (plain < len(known))
        strange = np.zeros(len(numbers), bool)
        if self.handle_unknown == "use_encoded_value":
            strange = (np.isnan(numbers) if is_nan(unknown) else numbers == unknown) & ~gap
        fine = ~gap & ~strange
        at = np.where(fine, np.nan_to_num(numbers), 0).astype(np.intp)
        found = np.empty(len(numbers), known.dtype) if len(names) == 0 else names[np.clip(at, 0, len(names) - 1)]
        if gap.any():
            found[gap] = known[-1]
        if self.handle_unknown == "use_encoded_value":
            found = found.astype(object)
            found[strange] = None
        return found
