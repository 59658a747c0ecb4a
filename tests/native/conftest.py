"""Layouts and levels that every kernel is tested over."""

from collections.abc import Iterator

import numpy as np
import pytest

from qed import _native


@pytest.fixture(params=_native.available_levels())
def native(request) -> Iterator[object]:
    """One compiled level after the other; a line at the end of a run names those that are not here."""
    module = _native.load_level(request.param)
    before = module.get_num_threads()
    module.set_num_threads(2)
    yield module
    module.set_num_threads(before)


@pytest.fixture(params=["C", "F", "sliced", "reversed"])
def layout(request) -> str:
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request) -> type:
    return request.param
