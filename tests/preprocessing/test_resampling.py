"""Classes made equal, and images as rows."""

import numpy as np
import pytest

from qed.core import InvalidData, InvalidParameter
from qed.preprocessing import balanced_draws, downsample, images_to_rows, rows_to_images, upsample

RNG = np.random.default_rng(0)
X = RNG.normal(size=(110, 3))
Y = np.array(["many"] * 100 + ["few"] * 10)


@pytest.mark.covers("MET-02")
def test_the_majority_is_thinned_out():
    rows, labels = downsample(X, Y, random_state=0)
    assert sorted(labels.tolist()) == ["few"] * 10 + ["many"] * 10
    kept = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    assert len(set(kept)) == 20  # a subset, nothing twice
    assert kept == sorted(kept)
    np.testing.assert_array_equal(Y[kept], labels)
    np.testing.assert_array_equal(downsample(X, Y, random_state=0)[0], rows)
    assert not np.array_equal(downsample(X, Y, random_state=1)[0], rows)


@pytest.mark.covers("MET-03")
def test_the_minority_is_copied():
    rows, labels = upsample(X, Y, random_state=0)
    assert len(rows) == 2 * 100
    assert np.count_nonzero(labels == "few") == np.count_nonzero(labels == "many") == 100
    np.testing.assert_array_equal(rows[:110], X)
    few = {tuple(row) for row in X[100:]}
    assert {tuple(row) for row in rows[110:]} == few  # exact copies
    moved, again = upsample(X, Y, noise=0.1, random_state=0)
    np.testing.assert_array_equal(moved[:110], X)
    np.testing.assert_array_equal(labels, again)
    step = (moved[110:] - rows[110:]) / X.std(axis=0)
    assert 0.08 < step.std() < 0.12
    odd, labels = upsample(X[:13], [0] * 10 + [1] * 3, random_state=0)
    times = [int((odd == row).all(axis=1).sum()) for row in X[10:13]]
    assert sorted(times) == [3, 3, 4]
    with pytest.raises(InvalidParameter, match="noise"):
        upsample(X, Y, noise=-1.0)
    with pytest.raises(InvalidData, match="One label for each row"):
        downsample(X, Y[:5])


@pytest.mark.covers("MET-06")
def test_draws_that_favour_the_minority_stay_unbiased():
    y = np.array([0] * 97 + [1] * 3)
    gradients = RNG.normal(size=100) + 5 * y
    drawn = balanced_draws(y, 200_000, random_state=0)
    assert np.mean(y[drawn.indices]) == pytest.approx(0.5, abs=0.01)
    weighted = drawn.weights * gradients[drawn.indices]
    error = weighted.std() / np.sqrt(len(weighted))
    assert abs(weighted.mean() - gradients.mean()) < 5 * error
    assert abs(gradients[drawn.indices].mean() - gradients.mean()) > 50 * error  # without weights it is another mean
    expectation = sum(  # exactly, over all rows: probability 1 / (k n_c) times weight times gradient
        gradients[y == c].sum() / (2 * np.sum(y == c)) * (np.sum(y == c) * 2 / 100) for c in (0, 1)
    )
    assert expectation == pytest.approx(gradients.mean())
    steps, trials = 20, 20_000
    uniform = np.random.default_rng(1).integers(0, 100, (trials, steps))
    missed = np.mean(~(y[uniform] == 1).any(axis=1))
    assert missed == pytest.approx((1 - 3 / 100) ** steps, abs=0.02)
    balanced = balanced_draws(y, trials * steps, random_state=2).indices.reshape(trials, steps)
    assert np.mean(~(y[balanced] == 1).any(axis=1)) == pytest.approx(0.5**steps, abs=1e-3)
    with pytest.raises(InvalidParameter, match="size"):
        balanced_draws(y, -1)


@pytest.mark.covers("DAT-12")
def test_images_go_there_and_back():
    images = RNG.integers(0, 256, (7, 28, 28)).astype(np.uint8)
    rows = images_to_rows(images)
    assert rows.shape == (7, 784)
    assert rows[3, 28 * 5 + 2] == images[3, 5, 2]
    np.testing.assert_array_equal(rows_to_images(rows, (28, 28)), images)
    colours = RNG.random((2, 4, 5, 3))
    np.testing.assert_array_equal(rows_to_images(images_to_rows(colours), (4, 5, 3)), colours)
    with pytest.raises(InvalidData, match="height"):
        images_to_rows(rows)
    with pytest.raises(InvalidData, match="784"):
        rows_to_images(rows[:, :-1], (28, 28))
