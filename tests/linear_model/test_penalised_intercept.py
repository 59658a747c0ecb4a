"""liblinear's intercept, the penalised coefficient of a constant column, against liblinear itself."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.linear_model import LogisticRegression as Theirs

from qed import verify
from qed.core import CertificateError, InvalidParameter
from qed.linear_model import LogisticRegression, LogisticRegressionCV

rng = np.random.default_rng(3)
X = rng.standard_normal((300, 6)) + np.array([0, 1, 0, -2, 0, 0.5])
y = (rng.random(300) < 1 / (1 + np.exp(-(X @ [1.0, -0.5, 0, 0, 2, 0] - 2.0)))).astype(int)
s = rng.random(300) + 0.5


def objective(model, X, y, C, ratio, scaling, weight=1.0):
    t = X @ model.coef_[0] + model.intercept_[0]
    v = np.append(model.coef_[0], model.intercept_[0] / scaling)
    return C * np.sum(weight * np.logaddexp(0, -(2 * y - 1) * t)) + ratio * np.abs(v).sum() + (1 - ratio) / 2 * v @ v


@pytest.mark.parametrize("scaling", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("C", [0.02, 1.0])
@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_agrees_with_liblinear(ratio, C, scaling):
    ours = LogisticRegression(solver="liblinear", C=C, l1_ratio=ratio, intercept_scaling=scaling, tol=1e-12).fit(X, y)
    theirs = Theirs(
        solver="liblinear", C=C, l1_ratio=ratio, intercept_scaling=scaling, tol=1e-12, max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5)
    mine = objective(ours, X, y, C, ratio, scaling)
    assert ours.certificate_.objective == pytest.approx(mine, rel=1e-12)
    assert mine <= objective(theirs, X, y, C, ratio, scaling) + ours.certificate_.gap
    assert ours.certificate_.reached
    verify(ours, X, y)


@pytest.mark.parametrize("kind", [np.asarray, csr_array, csc_array, lambda a: np.asarray(a, dtype=np.float32)])
def test_weights_and_containers(kind):
    data = kind(np.round(X, 2))
    model = LogisticRegression(solver="liblinear", intercept_scaling=0.3, class_weight="balanced").fit(data, y, s)
    verify(model, data, y, s)
    theirs = Theirs(solver="liblinear", intercept_scaling=0.3, class_weight="balanced", tol=1e-10, max_iter=10_000)
    theirs.fit(np.round(X, 2), y, s)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=2e-3)


def test_the_checker_knows_which_intercept_is_penalised():
    model = LogisticRegression(solver="liblinear", C=0.02).fit(X, y)
    assert abs(model.intercept_[0]) < 0.7 * abs(LogisticRegression(C=0.02).fit(X, y).intercept_[0])
    verify(model, X, y)
    with pytest.raises(CertificateError):
        verify(model.set_params(solver="lbfgs"), X, y)
    with pytest.raises(CertificateError):
        verify(model.set_params(solver="liblinear", intercept_scaling=3.0), X, y)


def test_no_penalty_and_no_intercept_leave_nothing_to_penalise():
    bare = LogisticRegression(C=np.inf).fit(X, y)
    same = LogisticRegression(C=np.inf, solver="liblinear", intercept_scaling=5.0).fit(X, y)
    np.testing.assert_array_equal(bare.intercept_, same.intercept_)
    verify(same, X, y)
    without = LogisticRegression(solver="liblinear", fit_intercept=False).fit(X, y)
    assert without.intercept_[0] == 0.0
    verify(without, X, y)


def test_warm_start_continues_from_the_penalised_intercept():
    model = LogisticRegression(solver="liblinear", intercept_scaling=4.0, warm_start=True, tol=1e-10).fit(X, y)
    first = model.intercept_.copy()
    assert model.fit(X, y).n_iter_[0] == 1
    np.testing.assert_allclose(model.intercept_, first, rtol=1e-6)


def test_chosen_by_folds():
    model = LogisticRegressionCV(solver="liblinear", intercept_scaling=2.0, Cs=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    whole = LogisticRegression(solver="liblinear", intercept_scaling=2.0, C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-6)
    assert model.coefs_paths_.shape == (3, 1, 3, 1, 7)
    verify(model, X, y)
    with pytest.raises(InvalidParameter, match="multiclass"):
        LogisticRegressionCV(solver="liblinear").fit(X, np.arange(300) % 3)
