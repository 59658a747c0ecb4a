"""Kernels of entries and levels against their twins, on every level, layout and number of threads."""

import itertools

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32
from tests.native.layouts import laid_out
from tests.reference import entries

RNG = np.random.default_rng(3)


def table(n, p, dtype, layout, gaps=0.1):
    X = RNG.normal(size=(n, p)) * np.arange(1, p + 1) + 5
    X[RNG.random(X.shape) < gaps] = np.nan
    return laid_out(X.astype(dtype), layout)


@pytest.mark.parametrize("weighted", [False, True])
def test_look(native, layout, dtype, weighted):
    for n, p in ((1, 1), (7, 300), (9000, 3)):
        _look(native, table(n, p, dtype, layout), weighted=weighted)


def _look(native, X, *, weighted):
    s = RNG.integers(0, 3, len(X)).astype(np.float64) if weighted else None
    got, terms = native.look(X, s)
    want = entries.look(X, s)
    np.testing.assert_array_equal(got[[0, 4, 5]], want[[0, 4, 5]])
    np.testing.assert_allclose(got[[1, 2]], want[[1, 2]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got[3], want[3], rtol=1e-9, atol=1e-9)
    assert terms > 0
    native.set_num_threads(1)
    np.testing.assert_array_equal(native.look(X, s)[0], got)
    native.set_num_threads(2)


@pytest.mark.parametrize(("divides", "clip"), [(True, None), (False, (-0.5, 0.75))])
def test_move(native, layout, dtype, divides, clip):
    X = table(3000, 5, dtype, layout)
    first, second = RNG.normal(size=5), RNG.uniform(1, 2, 5)
    out = np.empty_like(X)
    native.move(X, out, first, second, divides, clip)
    wide = X.astype(np.float64)
    want = (wide - first) / second if divides else wide * second + first
    want = want if clip is None else np.clip(want, *clip)
    np.testing.assert_allclose(out, want.astype(dtype), rtol=4 * float(np.finfo(dtype).eps))


def test_monomials(native, layout, dtype):
    X = table(700, 3, dtype, layout, gaps=0.0)
    out = np.empty((700, 10), dtype)
    runs = np.array([[4, 1, 3, 0], [7, 2, 2, 1], [9, 3, 1, 2]], dtype=np.int64)
    native.monomials(X, out, runs, 1)
    pairs = [X[:, i] * X[:, j] for i, j in itertools.combinations_with_replacement(range(3), 2)]
    np.testing.assert_array_equal(out, np.column_stack([np.ones(700, dtype), X, *pairs]))


def test_count_levels(native, layout, dtype):
    X = table(5000, 2, dtype, layout)
    for many in (0, 1, 7, 48, 49, 120):
        _count_levels(native, X, many)


def _count_levels(native, X, many):
    levels = [np.sort(RNG.normal(size=many) * 2 + 5), np.round(np.sort(RNG.normal(size=many) * 3 + 5), 1)]
    starts = np.array([0, many, 2 * many], dtype=np.int64)
    out = np.empty_like(X)
    native.count_levels(X, out, np.concatenate(levels), starts)
    np.testing.assert_array_equal(out, entries.count_levels(X.astype(np.float64), levels))
    native.set_num_threads(1)
    again = np.empty_like(X)
    native.count_levels(X, again, np.concatenate(levels), starts)
    np.testing.assert_array_equal(out, again)
    native.set_num_threads(2)


def test_follow_levels(native, layout, dtype):
    X = table(5000, 2, dtype, layout)
    for many in (1, 2, 300):
        _follow_levels(native, X, many)


def _follow_levels(native, X, many):
    levels = np.sort(np.round(RNG.normal(size=(2, many)) * 2 + 5, 2), axis=1)  # many are equal
    X[: min(many, 50), 0] = levels[0, :50]
    values = np.linspace(0, 1, many)
    out = np.empty_like(X)
    native.follow_levels(X, out, levels, values)
    want = entries.follow_levels(X.astype(np.float64), levels, values)
    np.testing.assert_allclose(out, want, atol=1e-6 if X.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("width", [1, 3, 8, 21])
def test_number_words(native, width):
    pool = [f"{number:0{width}d}"[-width:].encode() for number in range(200)]
    words = [pool[k] for k in RNG.integers(0, 200, 5000)]
    codes, firsts = native.number_words(np.frombuffer(b"".join(words), np.uint8).reshape(-1, width))
    want = entries.number_words(words)
    assert codes.tolist() == want[0]
    assert firsts.tolist() == want[1]


def test_hash_words(native):
    words = ["", "a", "ab", "abc", "abcd", "hello, world", "größe", "x" * 1000]
    coded = [word.encode() for word in words]
    ends = np.cumsum([len(word) for word in coded], dtype=np.int64)
    got = native.hash_words(np.frombuffer(b"".join(coded), np.uint8), ends)
    assert got.tolist() == [murmurhash3_32(word, 0) for word in coded]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("count_levels", (np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(1), np.array([0, 2])), "end within"),
        ("count_levels", (np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2), np.array([2, 0])), "rise"),
        ("count_levels", (np.zeros((2, 1)), np.zeros((2, 2)), np.zeros(1), np.array([0, 1])), "shape of X"),
        ("follow_levels", (np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 2)), np.zeros(2)), "a row for each column"),
        ("follow_levels", (np.zeros((2, 1)), np.zeros((2, 1), np.float32), np.zeros((1, 2)), np.zeros(2)), "type of X"),
    ],
)
def test_wrong_shapes_are_refused(native, name, arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        getattr(native, name)(*arguments)
