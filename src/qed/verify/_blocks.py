"""Tables cut into columns and rows, and put together again."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame, if they are all words."""
    columns = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    if columns is None or callable(columns) or hasattr(X, "tocsr"):
        return None
    names = list(columns)
    return [str(name) for name in names] if all(isinstance(name, str) for name in names) else None


def picked(X: Any, columns: list[Any]) -> Any:
    if columns and isinstance(columns[0], str):
        return X.select(columns) if hasattr(X, "select") else X[columns]
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    if hasattr(X, "column_names"):
        return X.select([X.column_names[at] for at in columns])
    return X[:, columns]


def rows_of(X: Any, used: Array) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[used]
    if hasattr(X, "tocsr"):
        return X.tocsr()[used]
    if type(X).__module__.startswith("pyarrow"):
        return X.take(used)
    return X[used] if hasattr(X, "shape") else [X[int(one)] for one in used]


def side_by_side(model: Any, blocks: list[Any]) -> Any:
    weights = model.transformer_weights or {}
    names = [one[0] for one in vars(model)["transformers_"]]
    scaled = [b * weights.get(name, 1) for name, b in zip(names, blocks, strict=True) if b is not None]
    sparse = any(hasattr(block, "tocsr") for block in scaled)
    if sparse and vars(model).get("sparse_output_", True):
        from scipy import sparse as containers  # noqa: PLC0415

        return containers.hstack(scaled).tocsr()
    return np.hstack([block.toarray() if hasattr(block, "toarray") else np.asarray(block) for block in scaled])


def stacked(model: Any, said: list[Array], X: Any) -> Any:
    columns = []
    for one, method in zip(said, model.stack_method_, strict=True):
        block = one[:, np.newaxis] if one.ndim == 1 else one
        columns.append(block[:, 1:] if method == "predict_proba" and block.shape[1] == 2 else block)
    if not model.passthrough:
        return np.hstack(columns)
    if hasattr(X, "tocsr"):
        from scipy import sparse  # noqa: PLC0415

        return sparse.hstack([*columns, X]).tocsr()
    return np.hstack([*columns, X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)])
