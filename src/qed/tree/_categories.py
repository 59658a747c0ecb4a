"""Columns of categories for models of numbers: words and other values become their number among those of the fit.

Trees ask whether a category is in a set, so the order of the numbers means nothing to them. A value that the fit has not met
counts as missing. Words of a source are numbered in its chunks, by categories that one pass finds. Columns that hold whole numbers
from 0 to 254, and are named as categories, are numbered already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import Array, Estimator, FitData, InvalidData, InvalidParameter, fitted
from qed.core._arrays import floats
from qed.core._mixed import Column, MixedTable
from qed.core._mixed import read as read_columns
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.data._words import Coded, learn_words
from qed.preprocessing._categories import is_nan, numbered, places

MOST_CATEGORIES = 255  # of a column: sets are of 256 bits, and one is for what is missing
FEWER = "Join rare ones, or encode the column as numbers first (TargetEncoder)."


class CategoryColumns(Estimator):
    """A model of numbers that takes columns of categories, those that ``categorical_features`` names."""

    categories_: list[Array] = fitted(
        "Values of each column of categories, sorted, missing ones last; empty for columns that are numbers as they stand. Only"
        " where there are such columns.",
        length="p",
        dtype="label",
        shape="(*,)",
        nan=True,
        optional=True,
    )

    @property
    def is_categorical_(self) -> Array | None:
        """Whether each column holds categories; None if none does."""
        self._check_is_fitted()
        return self._category_mask()

    def _category_mask(self) -> Array | None:
        if "categories_" not in self.__dict__ and not self._names_categories():
            return None
        mask = self._named_categories(self.__dict__["n_features_in_"], self.__dict__.get("feature_names_in_"))
        for j, known in enumerate(self.__dict__.get("categories_", ())):
            mask[j] = mask[j] or len(known) > 0
        return mask if mask.any() else None

    def _fit_data(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, finite: bool = True, reset: bool = True
    ) -> FitData:
        data = super()._fit_data(X, y, sample_weight, finite=finite, reset=reset)
        if is_source(X) and X.schema.words:
            data = self._with_codes(data)
        if reset:
            self.__dict__.pop("categories_", None)
            if data.categories is not None:
                self.categories_ = data.categories
        return data

    def _takes_words(self) -> bool:
        """Tell whether sources may have columns of words: all of these become categories."""
        return True

    def _with_codes(self, data: FitData) -> FitData:
        """Replace the words of a source by their numbers among the categories that one pass finds."""
        schema, owner = data.X.schema, type(self).__name__
        is_given = self.__dict__["categorical_features"] is not None
        names = None if schema.names is None else np.asarray(schema.names, dtype=object)
        mask = self._named_categories(schema.n_features, names)
        for j in schema.words:
            if not is_given or (self._names_categories() and not mask[j]):
                raise InvalidData(
                    f"{_name_of(names, j, 'Column')} of the source holds words, and {owner}.categorical_features does not"
                    " name it. Name it there, say 'from_dtype', or leave it out: scan(..., features=[...])."
                )
        most, limit = self._most_categories()
        found = learn_words(data.X, name=owner, most=most, refusal=f"{limit} categories. {FEWER}")
        categories = [found.get(j, np.empty(0)) for j in range(schema.n_features)]
        return data._replace(X=Coded(data.X, found), categories=categories)

    def _read_table(self, X: Any, *, learns: bool) -> tuple[Any, Array | None, list[Array] | None]:
        """Read X as numbers; categories are numbered in the order of their values."""
        known, given = None if learns else self.__dict__.get("categories_"), self.__dict__["categorical_features"]
        is_named = self._names_categories()
        is_plain = isinstance(X, np.ndarray | list | tuple) or is_sparse(X)
        if is_sparse(X) and (is_named or known is not None):
            raise InvalidData("Categories need a dense table, and X is sparse. Use '.toarray()', or a frame.")
        if (known is None and not learns) or (is_plain and learns and not is_named) or given is None:
            return super()._read_table(X, learns=learns)
        table = read_columns(X, type(self).__name__)
        if known is not None:
            codes = [
                _numbers_of(column, own) if len(own) else None
                for column, own in zip(table.columns, known, strict=False)
            ]
            if len(table.columns) != len(known) or not any(len(own) for own in known):
                return super()._read_table(X, learns=learns)
            return _joined(table, codes), table.names, known
        mask = self._named_categories(len(table.columns), table.names)
        if not is_named:
            mask = _by_type(X)
        found = [self._learnt(table, j, by_type=not is_named) if mask[j] else None for j in range(len(mask))]
        if all(one is None for one in found):
            return super()._read_table(X, learns=learns)
        categories = [np.empty(0) if one is None else one[0] for one in found]
        return _joined(table, [None if one is None else one[1] for one in found]), table.names, categories

    def _learnt(self, table: MixedTable, j: int, *, by_type: bool) -> tuple[Array, Array] | None:
        """Return the categories of a column and their numbers in it; None for numbers that stand as they are."""
        column = table.columns[j]
        values, codes = numbered(column)
        is_known = np.array([one is not None and not is_nan(one) for one in values.tolist()], dtype=bool)
        count = int(is_known.sum())
        self._require_few(count, j, table.names)
        if not by_type and column.values is not None and column.values.dtype.kind in "fiub":
            numbers = values[is_known]
            if ((numbers >= 0) & (numbers < MOST_CATEGORIES) & (numbers == np.rint(numbers))).all():
                return None
        return values, np.where(codes < count, codes, np.nan)

    def _require_few(self, count: int, j: int, names: Array | None) -> None:
        most, limit = self._most_categories()
        if count > most:
            raise InvalidData(
                f"{_name_of(names, j, 'Categorical column')} has {count} categories, more than {limit}. {FEWER}"
            )

    def _most_categories(self) -> tuple[int, str]:
        """Return how many categories a column may have, and the same in words."""
        most = getattr(self, "max_bins", MOST_CATEGORIES)
        return most, f"max_bins={most}" if hasattr(self, "max_bins") else str(most)

    def _names_categories(self) -> bool:
        """Whether ``categorical_features`` names columns, rather than leaving them to their types."""
        given = self.__dict__["categorical_features"]
        return not (given is None or _is_by_type(given))

    def _named_categories(self, n_columns: int, names: Array | None) -> Array:
        """Return which columns ``categorical_features`` names."""
        mask = np.zeros(n_columns, dtype=bool)
        given, owner = self.__dict__["categorical_features"], type(self).__name__
        if not self._names_categories():
            return mask
        given = np.asarray(given)
        if given.dtype.kind in "UO" and given.size:
            if names is None:
                raise InvalidParameter(
                    f"{owner}.categorical_features names columns, and X has no names. Pass a frame, or indices."
                )
            listed = [str(name) for name in names]
            unknown = sorted({str(name) for name in given.tolist()} - set(listed))
            if unknown:
                raise InvalidParameter(
                    f"{owner}.categorical_features names the columns {unknown}, which X does not have."
                )
            mask[[listed.index(str(name)) for name in given.ravel().tolist()]] = True
            return mask
        if given.dtype.kind == "b":
            if given.shape != (n_columns,):
                raise InvalidParameter(
                    f"{owner}.categorical_features is a mask of {given.size} columns, and X has {n_columns}."
                )
            return given.astype(bool)
        if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n_columns):
            raise InvalidParameter(
                f"{owner}.categorical_features must be a mask, names, or indices from 0 to {n_columns - 1}, got"
                f" {given.tolist()!r:.80}."
            )
        mask[given.astype(np.int64).ravel()] = True
        return mask


def _name_of(names: Array | None, j: int, word: str) -> str:
    return f"{word} {j if names is None else repr(str(names[j]))}"


def _is_by_type(given: Any) -> bool:
    return isinstance(given, str) and given == "from_dtype"


def _by_type(X: Any) -> Array:
    """Return which columns of a frame hold words or categories."""
    import narwhals as nw  # noqa: PLC0415  (X is a frame)

    from qed.core import _frames  # noqa: PLC0415  (loads narwhals)

    frame = _frames._frame(X)  # noqa: SLF001
    if frame is None or isinstance(frame, nw.Series):
        return np.zeros(0, dtype=bool)
    return np.array(
        [isinstance(kind, nw.Categorical | nw.Enum | nw.String) for kind in frame.schema.values()], dtype=bool
    )


def _numbers_of(column: Column, known: Array) -> Array:
    """Return the place of each entry among the categories of the fit; NaN for missing and for unknown ones."""
    place, _ = places(column, known)
    is_known = np.array([one is not None and not is_nan(one) for one in known.tolist()], dtype=bool)
    return np.where((place >= 0) & (place < is_known.sum()), place, np.nan)


def _joined(table: MixedTable, codes: list[Array | None]) -> Array:
    """Put the numbers of categories and the columns of numbers side by side."""
    names = [f"column {j}" if table.names is None else f"column {str(table.names[j])!r}" for j in range(len(codes))]
    columns = [
        floats(column.dense, f"{name} of X") if own is None else own
        for column, own, name in zip(table.columns, codes, names, strict=True)
    ]
    plain = [column.dtype for column, own in zip(columns, codes, strict=True) if own is None]
    kind = np.result_type(*plain) if plain else np.dtype(np.float64)
    joined = np.empty((table.n_rows, len(columns)), dtype=kind, order="F")
    for j, column in enumerate(columns):
        joined[:, j] = column
    return joined
