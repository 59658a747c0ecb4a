"""Columns that are sorted once give the same trees."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from qed.tree import _kernels


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sorted_once_or_for_each_tree(sparse, weighted):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 4)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    s = rng.integers(0, 3, 300).astype(float) if weighted else None
    rows = csr_matrix(X) if sparse else X
    table = _kernels.sort_table(rows)
    for seed in range(3):
        targets = _kernels.Targets("squared_error", 1, rng.normal(size=300), s)
        limits = _kernels.Limits(5, 2, 3, 0.0, 0.0, 0, 3)
        one = _kernels.grow(rows, targets, limits, is_random=False, seed=seed)
        other = _kernels.grow_sorted(table, targets, limits, seed=seed)
        assert all(np.array_equal(a, b) for a, b in zip(one[:-1], other[:-1], strict=True))
