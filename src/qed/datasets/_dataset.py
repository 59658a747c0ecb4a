"""The record that a loader returns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready to learn from, with its story.

    Fields are read as attributes or, as scikit-learn's Bunch allows, as keys: ``d.data`` and ``d["data"]`` are the
    same object.

    Parameters
    ----------
    data : ndarray or pandas.DataFrame of shape (n_samples, n_features)
        The inputs.
    target : ndarray or pandas.Series of shape (n_samples,)
        What is to be predicted.
    feature_names : tuple of str
        One name per column of `data`.
    target_name : str
        Name and unit of the target.
    DESCR : str
        Where the table comes from, what its columns mean, under which terms it is shared.
    frame : pandas.DataFrame or None
        Inputs and target side by side; None unless a frame was asked for.
    target_names : ndarray or None
        The classes, in the order of their numbers; None where the target is a number.
    """

    data: NDArray[np.float64] | Any
    target: NDArray[np.float64] | Any
    feature_names: tuple[str, ...]
    target_name: str
    DESCR: str
    frame: Any = None
    target_names: Any = None

    def keys(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(field.name for field in fields(self))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __getitem__(self, key: str) -> Any:
        if key not in self.keys():
            raise KeyError(f"A dataset has no field {key!r}. It has: {', '.join(self.keys())}.")
        return getattr(self, key)

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        return f"Dataset({rows} rows, {columns} features, target {self.target_name!r})"


def framed(dataset: Dataset, column: str | None = None) -> Dataset:
    """Return the same dataset with pandas objects in `data`, `target` and `frame`, where the target has its name or another."""
    try:
        import pandas as pd  # noqa: PLC0415  (optional: loaded only by those who ask for a frame)
    except ImportError as missing:
        raise ImportError(
            "as_frame=True needs pandas. Install it with `pip install pandas`, or leave as_frame=False."
        ) from missing
    data = pd.DataFrame(dataset.data, columns=list(dataset.feature_names))
    name = dataset.target_name if column is None else column
    target = pd.Series(dataset.target, name=name)
    frame = data.assign(**{name: target})
    return replace(dataset, data=data, target=target, frame=frame)
