"""Parameters that nobody means: refused in words, or taken for what they say."""

import numpy as np
import pytest

import qed
from qed import InvalidData, InvalidParameter
from qed.compose import OneVsOneClassifier, OutputCodeClassifier, TransformedTargetRegressor
from qed.linear_model import (
    BoundedRegressor,
    ConstrainedRidge,
    ElasticNetCV,
    GroupLasso,
    HuberRegressor,
    Lasso,
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskElasticNet,
    PowerRegressor,
    RidgeCV,
    SGDClassifier,
)
from qed.svm import LinearSVC, LinearSVR

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
y = X @ [1.0, 2.0, -1.0] + 0.3 * rng.standard_normal(30)
TWO = (y > 0).astype(int)
THREE = np.digitize(y, [-1.0, 1.0])


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (Lasso(max_iter=np.array([1.0, 2.0])), y),
        (LassoCV(alphas=10**30), y),
        (ElasticNetCV(l1_ratio=()), y),
        (RidgeCV(scoring=["r2"], cv=3), y),
        (GroupLasso(weights="heavy"), y),
        (HuberRegressor(epsilon=10**30), y),
        (PowerRegressor(10**30), y),
        (BoundedRegressor(threshold=1e300), y),
        (ConstrainedRidge(1e300), y),
        (ConstrainedRidge(1e-300), y),
        (TransformedTargetRegressor(Lasso(), transformer=3.0), y),
        (LinearSVR(intercept_scaling=1e300), y),
        (LinearSVC(intercept_scaling=1e300), TWO),
        (OneVsOneClassifier(LinearSVC(intercept_scaling=1e300)), THREE),
        (LogisticRegression(solver="liblinear", intercept_scaling=1e300), TWO),
        (LogisticRegressionCV(scoring={}), TWO),
        (LogisticRegression(tol=10**30), TWO),
        (SGDClassifier(batch_size=10**30), TWO),
        (OutputCodeClassifier(LinearSVC(), code_size=1e300), THREE),
    ],
    ids=lambda one: str(one)[:60] if not isinstance(one, np.ndarray) else "",
)
def test_what_no_number_is_is_refused(model, target):
    with pytest.raises(InvalidParameter):
        model.fit(X, target)


def test_a_knee_that_no_error_reaches_is_none():
    far, farther = HuberRegressor(epsilon=1e9).fit(X, y), HuberRegressor(epsilon=1e300).fit(X, y)
    assert farther.scale_ == pytest.approx(far.scale_)
    assert qed.verify(farther, X, y).holds


def test_a_penalty_next_to_nothing_has_a_true_certificate():
    model = MultiTaskElasticNet(1e-300).fit(X, np.column_stack([y, -y]))
    assert np.isfinite(model.certificate_.gap)
    assert qed.verify(model, X, np.column_stack([y, -y])).holds


def test_groups_larger_than_the_table_are_one_group():
    model = GroupLasso(0.1, groups=10**9).fit(X, y)
    np.testing.assert_array_equal(model.coef_, GroupLasso(0.1, groups=3).fit(X, y).coef_)
    assert qed.verify(model, X, y).holds


@pytest.mark.parametrize("p", [20.0, 60.0])
@pytest.mark.parametrize("size", [1.0, 1e-2])
def test_high_powers_come_close_to_the_largest_error(p, size):
    least = np.abs(size * y - PowerRegressor(np.inf).fit(X, size * y).predict(X)).max()
    model = PowerRegressor(p).fit(X, size * y)
    errors = np.abs(size * y - model.predict(X))
    assert model.certificate_.gap <= 1e-6 * model.certificate_.objective
    assert least * (1 - 1e-9) <= errors.max() <= least * len(y) ** (1 / p)
    assert qed.verify(model, X, size * y).holds


@pytest.mark.parametrize(("p", "size"), [(300.0, 1.0), (60.0, 1e4), (60.0, 1e-3)])
def test_powers_that_leave_the_range_of_numbers_are_refused(p, size):
    with pytest.raises(InvalidData, match="range"):
        PowerRegressor(p).fit(X, size * y)
