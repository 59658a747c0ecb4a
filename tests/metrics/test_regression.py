"""Scores of numbers agree with scikit-learn, for every option; refusals say what came and what to do."""

import numpy as np
import pytest
import sklearn.metrics as theirs
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.rows import numbered, same_answer

from qed import metrics as ours
from qed.core import InvalidData, InvalidParameter, UndefinedMetricWarning

MEANS = ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "mean_pinball_loss"]
combinations = st.sampled_from(["raw_values", "uniform_average", "shares"])
alphas = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])


def tolerance(y):
    return {"rtol": 2e-4, "atol": 1e-5} if y.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-12}


def shares(y, how):
    return np.arange(1.0, y.shape[1] + 1) if how == "shares" and y.ndim == 2 else how.replace("shares", "raw_values")


@given(rows=numbered(least=1), how=combinations)
def test_mean_errors(rows, how):
    y, t, s = rows
    for name in [*MEANS, "median_absolute_error"]:
        options = {"sample_weight": s, "multioutput": shares(y, how)}
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, **options, **tolerance(y))


@given(rows=numbered(), how=combinations, alpha=alphas)
def test_quantile_scores(rows, how, alpha):
    y, t, s = (None if part is None else part.astype(np.float64) for part in rows)
    options = {"sample_weight": s, "multioutput": shares(y, how)}
    same_answer(ours.mean_pinball_loss, theirs.mean_pinball_loss, y, t, alpha=alpha, **options)
    if 0 < alpha < 1:  # at the ends every value on one side is a quantile
        same_answer(ours.d2_pinball_score, theirs.d2_pinball_score, y, t, alpha=alpha, **options)
    same_answer(ours.d2_absolute_error_score, theirs.d2_absolute_error_score, y, t, **options)


@given(rows=numbered(positive=True), how=combinations)
def test_errors_of_positive_numbers(rows, how):
    y, t, s = rows
    options = {"sample_weight": s, "multioutput": shares(y, how)}
    for name in ("mean_absolute_percentage_error", "mean_squared_log_error", "root_mean_squared_log_error"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, **options, **tolerance(y))


@given(
    rows=numbered(), how=st.sampled_from(["raw_values", "uniform_average", "variance_weighted"]), force=st.booleans()
)
def test_explained(rows, how, force):
    y, t, s = rows
    # scikit-learn's two passes lose digits to the offset; ours keep them, so the comparison allows for its loss.
    slack = {"rtol": 1e-6, "atol": 1e-6} if y.dtype == np.float64 else {"rtol": 2e-3, "atol": 2e-3}
    spread = np.ptp(y.reshape(len(y), -1)[s > 0 if s is not None else slice(None)], axis=0)
    if (spread > 1e-3).all():
        options = {"sample_weight": s, "multioutput": how, "force_finite": force}
        same_answer(ours.r2_score, theirs.r2_score, y, t, **options, **slack)
        same_answer(ours.explained_variance_score, theirs.explained_variance_score, y, t, **options, **slack)


@pytest.mark.parametrize("force", [True, False])
def test_constant_targets(force):
    y = np.array([0.1, 0.1, 0.1, 0.1])
    for t in (y, y + np.array([0.0, 1.0, 0.0, 0.0])):
        got = ours.r2_score(y, t, force_finite=force)
        want = (1.0 if t is y else 0.0) if force else (np.nan if t is y else -np.inf)
        assert got == want or np.isnan([got, want]).all()
        whole = np.array([2.0] * 4)
        same_answer(ours.r2_score, theirs.r2_score, whole, whole + (t - y), force_finite=force)


@given(rows=numbered(positive=True, most_outputs=1), power=st.sampled_from([-1, -0.5, 0, 1, 1.5, 2, 3]))
def test_deviances(rows, power):
    y, t, s = (None if part is None else part.astype(np.float64) for part in rows)
    for name in ("mean_poisson_deviance", "mean_gamma_deviance"):
        same_answer(getattr(ours, name), getattr(theirs, name), y, t, sample_weight=s)
    same_answer(ours.mean_tweedie_deviance, theirs.mean_tweedie_deviance, y, t, sample_weight=s, power=power)
    kept = y if s is None else y[s > 0]
    if np.ptp(kept) > 1e-3:
        options = {"sample_weight": s, "power": power, "rtol": 1e-6, "atol": 1e-6}
        same_answer(ours.d2_tweedie_score, theirs.d2_tweedie_score, y, t, **options)


@given(rows=numbered(most_outputs=1, least=1))
def test_largest_error(rows):
    y, t, _ = rows
    same_answer(ours.max_error, theirs.max_error, y, t, **tolerance(y))


def test_counts_of_zero_have_a_deviance():
    y, t = np.array([0.0, 0.0, 3.0]), np.array([0.5, 1.0, 2.0])
    same_answer(ours.mean_poisson_deviance, theirs.mean_poisson_deviance, y, t)
    same_answer(ours.d2_tweedie_score, theirs.d2_tweedie_score, y, t, power=1)


@pytest.mark.parametrize("name", ["r2_score", "d2_pinball_score", "d2_absolute_error_score", "d2_tweedie_score"])
def test_one_row_explains_nothing(name):
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert np.isnan(getattr(ours, name)([1.0], [2.0]))


def test_large_offsets_cost_no_digits():
    y = np.arange(1000.0) + 1e9
    t = y + np.where(np.arange(1000) % 2, 1.0, -1.0)
    assert ours.r2_score(y, t) == pytest.approx(1 - 1000 / (1000 * (1000**2 - 1) / 12), rel=1e-13)


REFUSED = [
    (([1.0, 2.0], [1.0]), "inconsistent numbers of samples"),
    (([], []), "empty"),
    (([1.0, np.nan], [1.0, 2.0]), "y_true contains NaN. It stands in row 1"),
    (([1.0, 2.0], [np.inf, 2.0]), "y_pred contains infinity"),
    (([[1.0, 2.0]], [[1.0]]), "different number of output"),
    ((["a", "b"], ["a", "b"]), "strings"),
    (([1.0, 1e200], [1.0, -1e200]), "range of float64"),
]


@pytest.mark.parametrize(("rows", "words"), REFUSED)
def test_what_is_refused_and_how(rows, words):
    with pytest.raises(InvalidData, match=words):
        ours.mean_squared_error(*rows)


def test_options_are_checked():
    y = np.array([[1.0, 2.0], [2.0, 3.0]])
    with pytest.raises(InvalidParameter, match="multioutput"):
        ours.mean_squared_error(y, y, multioutput="variance_weighted")
    with pytest.raises(InvalidData, match="equally many custom weights"):
        ours.mean_squared_error(y, y, multioutput=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidData, match="Custom weights are useful only"):
        ours.mean_squared_error([1.0], [1.0], multioutput=[1.0])
    with pytest.raises(InvalidParameter, match="alpha"):
        ours.mean_pinball_loss([1.0], [1.0], alpha=2)
    with pytest.raises(InvalidParameter, match="power"):
        ours.mean_tweedie_deviance([1.0], [1.0], power=0.5)
    with pytest.raises(InvalidData, match="strictly positive y_pred; the least y_pred is 0"):
        ours.mean_poisson_deviance([1.0], [0.0])
    with pytest.raises(InvalidData, match="less than or equal to -1"):
        ours.mean_squared_log_error([1.0], [-1.0])
    with pytest.raises(InvalidData, match="Multioutput not supported"):
        ours.max_error(y, y)
    with pytest.raises(InvalidData, match="non-zero"):
        ours.mean_squared_error([1.0], [1.0], sample_weight=[0.0])


def test_containers_are_all_the_same():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y, t = [3, -1, 2, 7], [2.5, 0.0, 2.0, 8.0]
    for make in (np.array, tuple, pandas.Series, polars.Series):
        assert ours.mean_squared_error(make(y), make(t)) == 0.5625
    frame = pandas.DataFrame({"a": y, "b": t})
    np.testing.assert_allclose(ours.mean_absolute_error(frame, frame + 1, multioutput="raw_values"), [1.0, 1.0])
    assert ours.mean_squared_error([True, False], [1, 1]) == 0.5


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint64])
def test_whole_numbers_are_scored_as_the_floats_they_are(dtype):
    rng = np.random.default_rng(0)
    y, t = (rng.integers(1, 100, 200).astype(dtype) for _ in range(2))
    for name in ("mean_squared_error", "median_absolute_error", "max_error", "r2_score", "mean_poisson_deviance"):
        score = getattr(ours, name)
        assert score(y, t) == pytest.approx(score(y.astype(float), t.astype(float)), rel=1e-14), name
        assert score(y, t) == pytest.approx(getattr(theirs, name)(y.astype(float), t.astype(float)), rel=1e-12), name


@pytest.mark.parametrize("n", [4999, 5000])
def test_the_median_of_errors_that_are_often_equal(n):
    errors = np.random.default_rng(1).integers(0, 5, n)
    assert ours.median_absolute_error(errors, np.zeros(n)) == np.median(errors)
