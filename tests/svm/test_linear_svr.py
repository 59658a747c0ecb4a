"""LinearSVR: the optimum of liblinear's objective, with a proof."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVR as Theirs

import qed
from qed import CertificateError
from qed.svm import LinearSVR

rng = np.random.default_rng(1)
X = rng.normal(size=(150, 4))
y = X @ [1.0, 0.0, -2.0, 0.5] + 1.0 + rng.standard_t(3, 150)
weights = rng.integers(0, 3, 150)


def objective(model, s=None):
    s = np.ones(150) if s is None else s
    far = np.maximum(np.abs(y - X @ model.coef_ - model.intercept_) - model.epsilon, 0)
    power = 2 if model.loss.startswith("squared") else 1
    level = model.intercept_ / model.intercept_scaling
    return 0.5 * (np.sum(model.coef_**2) + level**2) + model.C * np.sum(s * far**power)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 0.5, "C": 0.1},
        {"epsilon": 0.3, "loss": "squared_epsilon_insensitive"},
        {"fit_intercept": False, "epsilon": 1.0},
        {"intercept_scaling": 10.0},
    ],
)
def test_reaches_the_objective_of_liblinear_and_proves_it(options):
    ours = LinearSVR(tol=1e-8, **options).fit(X, y)
    theirs = Theirs(tol=1e-9, max_iter=1_000_000, random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert ours.certificate_.reached
    assert ours.certificate_.objective == pytest.approx(objective(ours), rel=1e-9)
    assert qed.verify(ours, X, y).holds
    ours.coef_ = 1.05 * ours.coef_
    with pytest.raises(CertificateError):
        qed.verify(ours, X, y)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_a_weight_is_a_repetition_and_layouts_agree(loss):
    weighed = LinearSVR(epsilon=0.2, loss=loss, tol=1e-10).fit(X, y, weights)
    repeated = LinearSVR(epsilon=0.2, loss=loss, tol=1e-10).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    sparse = LinearSVR(epsilon=0.2, loss=loss, tol=1e-10).fit(csr_array(X), y, weights)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-5)
    np.testing.assert_allclose(weighed.coef_, sparse.coef_, atol=1e-5)
    assert weighed.certificate_.objective == pytest.approx(objective(weighed, weights), rel=1e-9)
    assert qed.verify(weighed, X, y, weights).holds
