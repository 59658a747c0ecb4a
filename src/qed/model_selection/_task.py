"""What there is to learn, told from the target."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.core import InvalidData
from qed.core._targets import as_target

Task = Literal["binary", "multiclass", "ordinal", "regression", "vector regression", "multilabel", "structured"]


def task_of(y: Any, *, ordered: bool = False) -> Task:
    """Tell the task from the target.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, m), or a list of sequences
        The target.
    ordered : bool
        Whether whole numbers are grades, of which one is more than another, rather than names.

    Returns
    -------
    {"binary", "multiclass", "ordinal", "regression", "vector regression", "multilabel", "structured"}
        Two labels; several; grades; numbers; rows of numbers; rows of zeros and ones; sequences of any length.

    Examples
    --------
    >>> from qed.model_selection import task_of
    >>> task_of([-1, 1, 1]), task_of(["a", "b", "c"]), task_of([0.5, 1.25])
    ('binary', 'multiclass', 'regression')
    """
    if isinstance(y, list | tuple) and y and all(isinstance(one, list | tuple | np.ndarray) for one in y):
        lengths = {len(one) for one in y}
        if len(lengths) > 1 or any(isinstance(entry, str) for one in y for entry in one):
            return "structured"
    target = as_target(y, "y")
    if target.ndim not in (1, 2) or not target.size:
        raise InvalidData(f"y must hold one target a row, or one column a target, got shape {target.shape}.")
    whole = target.dtype.kind in "iub" or (target.dtype.kind == "f" and bool((target == np.floor(target)).all()))
    if target.ndim == 2 and target.shape[1] > 1:
        return "multilabel" if whole and bool(np.isin(target, (0, 1)).all()) else "vector regression"
    if target.dtype.kind == "f" and not whole:
        return "regression"
    if ordered:
        if not whole:
            raise InvalidData("Grades are whole numbers; y holds words. Number them in their order first.")
        return "ordinal"
    return "binary" if len(np.unique(target.astype(str) if target.dtype.kind == "O" else target)) <= 2 else "multiclass"
