"""Isotonic regression: laws first, then examples, then scikit-learn's answers."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import isotonic as theirs
from tests.reference.isotonic import pooled

import qed
from qed.calibration import IsotonicRegression, check_increasing, isotonic_regression
from qed.calibration._kernels import rising

SETTINGS = (
    {},
    {"increasing": False, "y_min": -0.5},
    {"y_min": -0.2, "y_max": 0.2},
    {"y_max": 0.1, "out_of_bounds": "clip"},
    {"increasing": "auto", "out_of_bounds": "clip"},
)


def rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    x = rng.integers(0, 12, n).astype(float) if seed % 2 else rng.normal(size=n)
    y = rng.normal(size=n) + (seed % 3 - 1) * 0.3 * x
    weight = [None, rng.integers(1, 4, n).astype(float), 10.0 ** rng.uniform(-7, 7, n)][seed % 3]
    return x, y, weight


@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_gives_the_largest_of_the_smallest_means(seed):
    x, y, s = rows(seed)
    order = np.argsort(x, kind="stable")
    x, y, s = x[order], y[order], None if s is None else s[order]
    np.testing.assert_allclose(rising(x, y, s), pooled(x, y, s), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("seed", range(12))
def test_weights_count_as_repetition(seed, settings):
    x, y, _ = rows(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(x))
    weight[0] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = IsotonicRegression(**settings).fit(x, y, weight)
        repeated = IsotonicRegression(**settings).fit(np.repeat(x, weight), np.repeat(y, weight))
    assert weighted.increasing_ == repeated.increasing_
    at = np.linspace(x.min(), x.max(), 50)
    np.testing.assert_allclose(weighted.predict(at), repeated.predict(at), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_scikit_learn_and_are_confirmed(seed, settings):
    x, y, weight = rows(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IsotonicRegression(**settings).fit(x, y, weight)
        other = theirs.IsotonicRegression(**settings).fit(x, y, weight)
    assert qed.verify(model, x, y, weight).holds
    if settings.get("increasing") == "auto" and weight is not None:  # theirs leaves weights out of the correlation
        other = theirs.IsotonicRegression(**settings | {"increasing": model.increasing_}).fit(x, y, weight)
    assert model.increasing_ == other.increasing_
    at = np.linspace(x.min() - 1, x.max() + 1, 77)
    np.testing.assert_allclose(model.predict(at), other.predict(at), rtol=1e-6, atol=1e-9)


def test_a_worse_curve_is_refused():
    x, y = np.arange(6.0), np.array([1.0, 3.0, 2.0, 4.0, 6.0, 5.0])
    for change in (
        lambda m: m.y_thresholds_.__setitem__(slice(1, 3), 2.5 + 1e-9),
        lambda m: setattr(m, "y_thresholds_", np.full_like(m.y_thresholds_, 3.5)),
        lambda m: setattr(m, "increasing_", False),
        lambda m: setattr(m, "X_max_", 9.0),
        lambda m: setattr(m, "y_max", 4.0),
        lambda m: m.X_thresholds_.__setitem__(1, 0.5),
    ):
        model = IsotonicRegression().fit(x, y)
        assert qed.verify(model, x, y).holds
        change(model)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, x, y)
    # one level for everything has the right mean, and its parts would rather be apart
    model = IsotonicRegression().fit(x, y)
    model.X_thresholds_, model.y_thresholds_ = x[[0, -1]], np.full(2, y.mean())
    with pytest.raises(qed.CertificateError, match="another monotone curve is better"):
        qed.verify(model, x, y)


def test_rows_outside_are_nan_clipped_or_refused():
    x, y = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]
    assert np.isnan(IsotonicRegression().fit(x, y).predict([0.0, 4.0])).all()
    assert IsotonicRegression(out_of_bounds="clip").fit(x, y).predict([0.0, 4.0]).tolist() == [1.0, 3.0]
    with pytest.raises(qed.InvalidData, match="outside the range of the fit"):
        IsotonicRegression(out_of_bounds="raise").fit(x, y).predict([0.0])


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series, pl.Series, lambda x: np.asarray(x)[:, None]])
def test_a_column_comes_in_any_container(container):
    x, y = container([3.0, 1.0, 2.0]), [3.0, 1.0, 1.0]
    model = IsotonicRegression().fit(x, y)
    assert qed.verify(model, x, y).holds
    assert model.predict(x).tolist() == model.fit_transform(x, y).tolist() == y


def test_float32_stays_and_a_frame_comes_out():
    frame = pd.DataFrame({"a": np.array([1.0, 2.0, 3.0], np.float32)}, index=[5, 6, 7])
    model = IsotonicRegression().fit(frame, [1.0, 2.0, 3.0])
    assert model.predict(frame).dtype == np.float32
    out = model.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == ["isotonicregression0"]
    assert list(out.index) == [5, 6, 7]


def test_huge_targets_do_not_overflow():
    model = IsotonicRegression().fit([1.0, 2.0, 3.0], [1e308, -1.7e308, 3.0])
    np.testing.assert_allclose(model.y_thresholds_[0], -3.5e307)
    assert qed.verify(model, [1.0, 2.0, 3.0], [1e308, -1.7e308, 3.0]).holds


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: IsotonicRegression().fit(np.ones((3, 2)), [1, 2, 3]), "2d array with 1 feature"),
        (lambda: IsotonicRegression().fit([1.0, np.nan], [1, 2]), "NaN"),
        (lambda: IsotonicRegression(y_min=2.0, y_max=1.0).fit([1.0, 2.0], [1, 2]), "must not exceed"),
        (lambda: IsotonicRegression(increasing="up").fit([1.0, 2.0], [1, 2]), "increasing"),
        (lambda: isotonic_regression([1.0, np.inf]), "finite numbers"),
        (lambda: isotonic_regression([[1.0], [2.0]]), "one dimension"),
        (lambda: check_increasing([1.0], [1.0, 2.0]), "as many of each"),
    ],
)
def test_refusals_say_why(call, words):
    with pytest.raises(qed.QedError, match=words):
        call()


def test_numbers_in_order():
    y = np.array([4.0, 1.0, 2.0, 8.0, 7.0])
    for settings in ({}, {"increasing": False}, {"y_min": 2.5, "y_max": 6.0}, {"sample_weight": [1, 2, 3, 4, 5]}):
        np.testing.assert_allclose(isotonic_regression(y, **settings), theirs.isotonic_regression(y, **settings))
    np.testing.assert_allclose(isotonic_regression([1.0, 9.0, 3.0], sample_weight=[1, 0, 1]), [1.0, 1.0, 3.0])


def test_the_direction_is_that_of_the_ranks():
    assert check_increasing(range(4), [1, 5, 6, 9])
    assert not check_increasing(range(9), [9, 7, 8, 5, 4, 4, 3, 1, 0])
    with pytest.warns(UserWarning, match="spans zero"):
        check_increasing([1, 2, 3, 4, 5], [1, 3, 2, 1, 3])
