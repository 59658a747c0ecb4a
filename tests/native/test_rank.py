"""The ranking kernel against its twin, on every level, layout and number of threads."""

import numpy as np
import pytest
from tests.reference.ranking import ranked


def scores_of(random, n, kind, dtype):
    x = random.normal(size=n)
    if kind == "ties":
        x = np.round(x, 1)
    elif kind == "scales":
        x = x * 10.0 ** random.integers(-30, 30, n)
    elif kind == "zeros":
        x = np.where(random.random(n) < 0.5, 0.0, -0.0)
    elif kind == "extremes":
        top = np.finfo(dtype).max
        x = random.choice([top, -top, np.finfo(dtype).tiny / 2, 0.0, 1.0], n)
    return x.astype(dtype)


@pytest.mark.parametrize("kind", ["smooth", "ties", "scales", "zeros", "extremes"])
@pytest.mark.parametrize("n", [0, 1, 2, 191, 193, 3000, 70_000, 140_000])
def test_agrees_with_its_twin(native, dtype, n, kind):
    random = np.random.default_rng(n)
    scores = scores_of(random, n, kind, dtype)
    positive = (random.random(n) < 0.3).astype(np.uint8)
    for s in (None, random.integers(1, 5, n).astype(np.float64)):
        count, *arrays = native.ranked(scores, positive, s)
        want = ranked(scores, positive, s)
        assert count == len(want[0])
        for got, expected in zip(arrays, want, strict=True):
            np.testing.assert_array_equal(got[:count], expected)
        assert arrays[0].dtype == dtype


@pytest.mark.parametrize("step", [-1, 3])
def test_strides(native, dtype, step):
    random = np.random.default_rng(0)
    whole = np.round(random.normal(size=9000), 1).astype(dtype)
    scores = whole[::step]
    positive = (random.random(len(scores)) < 0.5).astype(np.uint8)
    count, distinct, *_ = native.ranked(scores, positive, None)
    np.testing.assert_array_equal(distinct[:count], ranked(scores, positive, None)[0])


def test_threads_change_no_bit(native):
    random = np.random.default_rng(0)
    n = 200_000
    scores = np.round(random.normal(size=n), 3)
    positive, s = (random.random(n) < 0.5).astype(np.uint8), random.random(n)
    answers = []
    for threads in (1, 2, 5):
        native.set_num_threads(threads)
        count, *arrays = native.ranked(scores, positive, s)
        answers.append([array[:count].tobytes() for array in arrays])
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_noticed(native, dtype, bad):
    scores = np.arange(5, dtype=dtype)
    scores[3] = bad
    assert native.ranked(scores, np.zeros(5, np.uint8), None) is None


def test_types_and_lengths_are_checked(native):
    scores, positive = np.arange(4.0), np.zeros(4, np.uint8)
    with pytest.raises(TypeError, match="uint8"):
        native.ranked(scores, np.zeros(4), None)
    with pytest.raises(ValueError, match="one entry a score"):
        native.ranked(scores, positive[:3], None)
    with pytest.raises(ValueError, match="length 4"):
        native.ranked(scores, positive, np.ones(3))
    with pytest.raises(ValueError, match="one column"):
        native.ranked(np.ones((4, 2)), positive, None)
