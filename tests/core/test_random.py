"""Random streams from what users pass."""

from __future__ import annotations

import numpy as np
import pytest

from qed.core import InvalidParameter, generator


def draws(random_state: object) -> list[int]:
    return generator(random_state).integers(0, 2**62, size=3).tolist()


def test_an_integer_fixes_the_stream() -> None:
    assert draws(7) == draws(7) == draws(np.int64(7))
    assert draws(7) != draws(8)
    assert draws(None) != draws(None)


def test_generators_advance() -> None:
    stream = np.random.default_rng(1)
    assert generator(stream) is stream
    old = np.random.RandomState(1)
    first, second = draws(old), draws(old)
    assert first != second
    again = np.random.RandomState(1)
    assert [draws(again), draws(again)] == [first, second]


def test_the_global_stream_is_neither_used_nor_accepted() -> None:
    np.random.seed(5)  # noqa: NPY002  (this test is about the old global stream)
    expected = np.random.RandomState(5).random(3)
    draws(None)
    draws(3)
    np.testing.assert_array_equal(np.random.random(3), expected)  # noqa: NPY002
    with pytest.raises(InvalidParameter, match="hidden state"):
        generator(np.random)
