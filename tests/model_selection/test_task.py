"""Tasks, told from targets."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.model_selection import task_of


@pytest.mark.covers("FND-01")
@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([-1, 1, 1], "binary"),
        ([True, False], "binary"),
        (["a", "b", "c"], "multiclass"),
        ([3, 1, 2, 1], "multiclass"),
        ([0.5, 1.0], "regression"),
        (np.array([[0.5, 1.0], [2.0, 3.0]]), "vector regression"),
        (np.array([[0, 1], [1, 1]]), "multilabel"),
        ([["N", "V"], ["N", "V", "N"]], "structured"),
        ([["N", "V"], ["V", "N"]], "structured"),
    ],
)
def test_what_there_is_to_learn(y, task):
    assert task_of(y) == task


@pytest.mark.covers("FND-01")
def test_grades_are_told_apart_from_names_by_saying_so():
    assert task_of([1, 2, 3, 2], ordered=True) == "ordinal"
    assert task_of([1, 2, 3, 2]) == "multiclass"
    with pytest.raises(qed.InvalidData, match="Grades"):
        task_of(["low", "high"], ordered=True)
    with pytest.raises(qed.InvalidData, match="one target a row"):
        task_of([])
