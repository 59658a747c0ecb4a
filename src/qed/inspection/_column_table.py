"""Rows whose columns can be replaced one by one: arrays and frames."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class ColumnTable:
    """A table, and copies of it with some columns replaced.

    Parameters
    ----------
    X : array-like or frame
        The rows.
    """

    def __init__(self, X: Any) -> None:
        self.is_frame = hasattr(X, "columns")
        if self.is_frame:
            import narwhals as nw  # noqa: PLC0415  (frames come with it)

            self.frame = nw.from_native(X, eager_only=True)
            self.names = [str(name) for name in self.frame.columns]
        else:
            self.X = np.asarray(X.toarray() if hasattr(X, "tocsr") else X)
            if self.X.dtype.kind in "iub":
                self.X = self.X.astype(np.float64)
            self.names = [f"x{j}" for j in range(self.X.shape[1])] if self.X.ndim == 2 else []

    def __len__(self) -> int:
        return len(self.frame) if self.is_frame else len(self.X)

    def column(self, j: int) -> Array:
        """Return the values of a column."""
        return np.asarray(self.frame[self.frame.columns[j]].to_numpy() if self.is_frame else self.X[:, j])

    def rows(self, places: Array) -> ColumnTable:
        """Return the rows of given numbers."""
        return ColumnTable(self.frame[places.tolist(), :].to_native() if self.is_frame else self.X[places])

    def native(self) -> Any:
        """Return the table as it came."""
        return self.frame.to_native() if self.is_frame else self.X

    def reordered(self, j: int, places: Array) -> Any:
        """Return the table with the rows of one column in another order."""
        if not self.is_frame:
            made = self.X.copy()
            made[:, j] = self.X[places, j]
            return made
        name = self.frame.columns[j]
        moved = self.frame[name][places.tolist()]
        return self._with(name, moved)

    def filled(self, columns: dict[int, Any]) -> Any:
        """Return the table once for each of some values, one below the other, with that value in all rows of its columns."""
        many = len(next(iter(columns.values())))
        places = np.tile(np.arange(len(self)), many)
        values = {j: np.repeat(np.asarray(given), len(self)) for j, given in columns.items()}
        if not self.is_frame:
            made = self.X[places]
            for j, column in values.items():
                made[:, j] = column
            return made
        import narwhals as nw  # noqa: PLC0415

        frame = nw.maybe_reset_index(self.frame[places.tolist(), :])
        for j, column in values.items():
            name = frame.columns[j]
            own = nw.new_series(name, column, backend=frame.implementation).cast(frame.schema[name])
            frame = frame.with_columns(own.alias(name))
        return frame.to_native()

    def _with(self, name: str, values: Any) -> Any:
        import narwhals as nw  # noqa: PLC0415

        frame = nw.maybe_reset_index(self.frame)
        return frame.with_columns(nw.maybe_reset_index(values).alias(name)).to_native()
