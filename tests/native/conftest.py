"""Layouts and levels that every kernel is tested over."""

from collections.abc import Iterator

import numpy as np
import pytest

from qed import _native

ALL_LEVELS = ["v2", "v3", "v4"] if "portable" not in _native.available_levels() else ["portable"]


@pytest.fixture(params=ALL_LEVELS)
def native(request) -> Iterator[object]:
    """One compiled level after the other; those the processor lacks are skipped in view."""
    if request.param not in _native.available_levels():
        pytest.skip(f"this processor cannot run level {request.param}")
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
