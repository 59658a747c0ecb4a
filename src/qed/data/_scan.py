"""`scan`: from whatever holds a table in parts to a source."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from qed.core._errors import InvalidData, InvalidParameter
from qed.data._frames import FrameSource, frame_layout
from qed.data._parquet import ParquetSource
from qed.data._parquet_files import find_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qed.data._sources import Source


def scan(
    data: Any,
    *,
    target: Any = None,
    features: Sequence[str] | None = None,
    weight: Any = None,
    schema: Mapping[str, str] | None = None,
    batch_rows: int | None = None,
) -> Source:
    """Look at data without reading them; a model's ``fit`` then reads them chunk by chunk, here or on a cluster.

    Columns of all files or partitions are compared here, so that a missing or mistyped one is known before any work. Partitions
    that Dask has yet to compute are compared when they are.

    Parameters
    ----------
    data : path, frame, dask.dataframe, dask.array, or several paths or frames
        Parquet files: paths, folders (all ``*.parquet`` below), globs such as ``"sales/*.parquet"``; also those of object stores
        that pyarrow knows, ``"s3://bucket/sales/*.parquet"``. Matches are sorted. Or frames of pandas, polars or Arrow, each a
        partition of one table. Or a collection of Dask.
    target : str or sequence of str, optional
        Column or columns to predict; beside a dask.array, a dask.array.
    features : sequence of str, optional
        Columns to learn from, in this order; by default all others. They hold numbers, or words, which encoders and histogram
        boosting take.
    weight : str, optional
        Column of sample weights; beside a dask.array, a dask.array.
    schema : mapping of str to {"float64", "float32"}, optional
        Columns of files to convert, for instance numbers written as text.
    batch_rows : int, optional
        Rows per chunk. By default as many as fit into 32 MiB, from 512 to 65,536.

    Returns
    -------
    Source
        It can be read again and again, pickled and sent elsewhere. A value that a feature lacks is NaN.

    Examples
    --------
    >>> import pandas as pd, qed
    >>> from qed.linear_model import LinearRegression
    >>> january, february = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 3.0]}), pd.DataFrame({"x": [2.0], "y": [5.0]})
    >>> LinearRegression().fit(qed.scan([january, february], target="y")).coef_
    array([2.])
    """
    if batch_rows is not None and (isinstance(batch_rows, bool) or not isinstance(batch_rows, int) or batch_rows < 1):
        raise InvalidParameter(f"scan's batch_rows must be an integer >= 1 or None, got {batch_rows!r}.")
    if _is_paths(data):
        return ParquetSource(
            find_files(data), target=target, features=features, weight=weight, schema=schema, batch_rows=batch_rows
        )
    if schema is not None:
        raise InvalidParameter("scan's schema is for files. Convert the columns of a frame before: frame.astype(...).")
    if "dask" in sys.modules:
        from qed.data.executors._dask import collection_source, is_collection  # noqa: PLC0415  (Dask is loaded)

        if is_collection(data):
            return collection_source(data, target=target, features=features, weight=weight, batch_rows=batch_rows)
    frames = list(data) if isinstance(data, list | tuple) else [data]
    if not frames:
        raise InvalidData(
            "scan got an empty list of paths or frames. Give files, a folder, a glob such as 'sales/*.parquet'."
        )
    layout = frame_layout(frames[0], target=target, features=features, weight=weight, batch_rows=batch_rows)
    return FrameSource(frames, layout)


def _is_paths(data: Any) -> bool:
    """Tell whether data are one or several paths; a generator of paths counts."""
    if isinstance(data, str | os.PathLike):
        return True
    if isinstance(data, list | tuple | set | frozenset):
        return bool(data) and all(isinstance(one, str | os.PathLike) for one in data)
    return hasattr(data, "__next__")
