"""Which columns: by name, number, slice, mask, or a function of the table; and picking them."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._records import record


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns, if they are all words."""
    columns = getattr(X, "columns", None)
    if columns is None and type(X).__module__.startswith("pyarrow"):
        columns = X.column_names
    names = None if columns is None or callable(columns) else list(getattr(X, "column_names", columns))
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return [str(name) for name in names]


def chosen_columns(wanted: Any, X: Any, names: list[str] | None, n_columns: int) -> list[Any]:
    """Settle which columns are meant: names where the table has names, numbers otherwise."""
    if callable(wanted):
        wanted = wanted(X)
    if isinstance(wanted, str):
        wanted = [wanted]
    if isinstance(wanted, slice):
        wanted = _sliced(wanted, names, n_columns)
    if isinstance(wanted, int | np.integer):
        wanted = [wanted]
    listed = np.asarray(wanted) if not isinstance(wanted, list | tuple) else list(wanted)
    if len(listed) and all(isinstance(one, bool | np.bool_) for one in listed):
        if len(listed) != n_columns:
            raise InvalidParameter(f"A mask of columns has {len(listed)} entries, and the table {n_columns} columns.")
        listed = [j for j, chosen in enumerate(listed) if chosen]
    return [_settled(one, names, n_columns) for one in listed]


def _sliced(wanted: slice, names: list[str] | None, n_columns: int) -> list[Any]:
    def position(end: Any, *, last: bool) -> Any:
        if not isinstance(end, str):
            return end
        if names is None or end not in names:
            raise InvalidParameter(f"There is no column {end!r} to slice by.")
        return names.index(end) + (1 if last else 0)

    return list(
        range(n_columns)[slice(position(wanted.start, last=False), position(wanted.stop, last=True), wanted.step)]
    )


def _settled(one: Any, names: list[str] | None, n_columns: int) -> Any:
    if isinstance(one, str):
        if names is None:
            raise InvalidParameter(
                f"Specifying the columns using strings is only supported for dataframes; got {one!r} for a table without names."
            )
        if one not in names:
            raise InvalidParameter(
                f"A given column is not a column of the dataframe: {one!r}. There are {', '.join(names[:20])}."
            )
        return one
    if not isinstance(one, int | np.integer):
        raise InvalidParameter(
            "No valid specification of the columns. Only a scalar, list or slice of all integers or all strings, or boolean mask is"
            f" allowed; got {one!r}."
        )
    at = int(one) + n_columns if one < 0 else int(one)
    if not 0 <= at < n_columns:
        raise InvalidParameter(f"all features must be in [0, {n_columns - 1}] or [-{n_columns}, 0]; got {one}.")
    return at


def some_columns(X: Any, columns: list[Any]) -> Any:
    """Pick columns from a table, in its own type, by name or number."""
    if not columns or not isinstance(columns[0], str):
        if hasattr(X, "iloc"):
            return X.iloc[:, columns]
        if hasattr(X, "column_names"):
            return X.select([X.column_names[at] for at in columns])
        picked = list(columns)
        if isinstance(X, np.ndarray) and picked and picked == list(range(picked[0], picked[0] + len(picked))):
            return X[:, picked[0] : picked[-1] + 1]  # neighbours are not copied
        return X[:, picked]
    names = column_names(X)
    if names is None:
        raise InvalidData(
            "The fit saw a table with names of columns, and this one has none. Pass a frame with the same names."
        )
    return X.select(columns) if hasattr(X, "select") else X[columns]


@record("column-selector")
class make_column_selector:  # noqa: N801  scikit-learn's name
    """A function of the table that picks columns by pattern and type.

    Parameters
    ----------
    pattern : str, optional
        Regular expression that the name must contain.
    dtype_include, dtype_exclude : type, str or list of such, optional
        As in ``pandas.DataFrame.select_dtypes``; for polars and Arrow ``"number"``, ``"object"``, ``"category"``, ``"bool"`` and
        ``"datetime"``.
    """

    pattern: str | None = None
    dtype_include: Any = None
    dtype_exclude: Any = None

    def __call__(self, df: Any) -> list[str]:
        """Return the names of the columns that fit."""
        names = column_names(df)
        if names is None:
            raise InvalidData("make_column_selector can only be applied to dataframes with names.")
        if self.dtype_include is not None or self.dtype_exclude is not None:
            if hasattr(df, "select_dtypes"):
                names = list(df.iloc[:1].select_dtypes(include=self.dtype_include, exclude=self.dtype_exclude).columns)
            else:
                names = [name for name in names if self._fits(df, name)]
        return names if self.pattern is None else [name for name in names if re.search(self.pattern, name)]

    def _fits(self, df: Any, name: str) -> bool:
        import narwhals as nw  # noqa: PLC0415

        kind = _kind(nw.from_native(df, eager_only=True).schema[name])
        included = self.dtype_include is None or kind in _kinds(self.dtype_include)
        return included and (self.dtype_exclude is None or kind not in _kinds(self.dtype_exclude))


def _kinds(asked: Any) -> set[str]:
    listed = asked if isinstance(asked, list | tuple | set) else [asked]
    words = {one if isinstance(one, str) else getattr(one, "__name__", str(one)) for one in listed}
    same = {
        "float64": "number",
        "int64": "number",
        "float": "number",
        "int": "number",
        "str": "object",
        "string": "object",
    }
    return {same.get(word, word) for word in words}


def _kind(dtype: Any) -> str:
    nw = sys.modules["narwhals"]
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, nw.Boolean):
        return "bool"
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return "category"
    if dtype.is_temporal():
        return "datetime"
    return "object"
