"""The finite check, with the compiled code and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qed.core import _kernels

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = np.random.default_rng(0).normal(size=(700, 300))
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": lambda X: X,
    "F": np.asfortranarray,
    "transposed": lambda X: X.T,
    "backwards": lambda X: X[::-1, ::-1],
    "every third column": lambda X: X[:, 2::3],
    "a column": lambda X: np.ravel(X)[299::300],
    "one dimension": np.ravel,
    "float32": lambda X: X.astype(np.float32),
    "small": lambda X: X[-3:, -3:],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("finite", [_kernels.all_finite, _kernels._all_finite_in_blocks])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_all_finite(layout: Callable[[np.ndarray], np.ndarray], finite: Callable[..., bool], bad: float) -> None:
    assert finite(layout(LARGE)) is True
    spoiled = LARGE.copy()
    spoiled[-1, -1] = bad
    assert finite(layout(spoiled)) is False


def test_level_and_threads_can_be_asked() -> None:
    assert isinstance(_kernels.native_level(), str)
    assert _kernels.num_threads() >= 1


@pytest.mark.parametrize("size", [0, 5, 100_000])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_all_within(size: int, dtype: type) -> None:
    indices = (np.arange(size) % 100).astype(dtype)
    assert _kernels.all_within(indices, 100)
    assert _kernels.all_within(indices[::2], 100)
    if size:
        assert not _kernels.all_within(indices, int(indices.max()))
        indices[-1] = -1
        assert not _kernels.all_within(indices, 100)
