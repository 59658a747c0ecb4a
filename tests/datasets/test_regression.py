"""Generated problems have the rank, condition, coefficients and noise that were ordered."""

import numpy as np
import pytest

from qed.core import InvalidParameter
from qed.datasets import make_regression


def test_without_noise_the_law_is_exact():
    X, y, w = make_regression(50, 8, n_informative=3, bias=2.5, coef=True, random_state=1)
    assert X.shape == (50, 8)
    assert y.shape == (50,)
    assert np.count_nonzero(w) == 3
    np.testing.assert_allclose(y, X @ w + 2.5, rtol=1e-12)


@pytest.mark.parametrize("shape", [(60, 10), (10, 60)])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
def test_condition_number_is_the_one_ordered(shape, condition):
    X, _ = make_regression(*shape, condition=condition, random_state=2)
    assert np.linalg.cond(X) == pytest.approx(condition, rel=1e-6)


def test_noise_has_the_ordered_size():
    X, y, w = make_regression(20_000, 4, noise=3.0, coef=True, random_state=3)
    spread = np.std(y - X @ w)
    # the standard error of a standard deviation is sigma / sqrt(2 n): five of them
    assert abs(spread - 3.0) < 5 * 3.0 / np.sqrt(2 * 20_000)


def test_effective_rank_concentrates_the_spectrum():
    X, _ = make_regression(200, 50, effective_rank=5, tail_strength=0.0, random_state=4)
    values = np.linalg.svd(X, compute_uv=False)
    assert (values[:10] ** 2).sum() > 0.99 * (values**2).sum()


def test_same_seed_same_bits_and_several_targets():
    first = make_regression(30, 5, n_targets=2, noise=1.0, random_state=5)
    again = make_regression(30, 5, n_targets=2, noise=1.0, random_state=5)
    other = make_regression(30, 5, n_targets=2, noise=1.0, random_state=6)
    assert first[1].shape == (30, 2)
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])


def test_shuffle_off_puts_the_useful_columns_first():
    _, _, w = make_regression(20, 6, n_informative=2, shuffle=False, coef=True, random_state=0)
    assert np.flatnonzero(w).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_samples": 0}, "n_samples must be an integer >= 1, got 0"),
        ({"condition": 0.5}, "condition must be a real number >= 1"),
        ({"condition": 10.0, "effective_rank": 3}, "not both"),
    ],
)
def test_bad_orders_are_refused_in_words(arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        make_regression(**arguments)
