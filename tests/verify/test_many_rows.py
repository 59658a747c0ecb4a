"""Fits of many rows, whose passes run in blocks and threads: the checker, which reads rows its own way, confirms them."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.linear_model import HuberRegressor, LogisticRegression, PoissonRegressor

rng = np.random.default_rng(11)
N, P = 40_000, 12
X = rng.normal(size=(N, P)) * 10.0 ** rng.uniform(-3, 3, P) + rng.normal(size=P) * 100
TRUTH = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=P) / 2
MODELS = {
    "two classes": (LogisticRegression(), (TRUTH + rng.logistic(size=N) > 0).astype(int)),
    "three classes": (LogisticRegression(), np.digitize(TRUTH + rng.logistic(size=N), [-1, 1])),
    "counts": (PoissonRegressor(), rng.poisson(np.exp(TRUTH / 4)).astype(float)),
    "outliers": (HuberRegressor(), TRUTH + rng.standard_t(2, size=N)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_fit_of_many_rows_is_confirmed_and_a_worse_one_refused(kind):
    model, y = MODELS[kind]
    model.fit(X, y)
    verdict = qed.verify(model, X, y)
    assert verdict.holds
    assert model.certificate_.gap < 1e-6 * model.certificate_.null_objective
    model.coef_ = model.coef_ * (1 + 1e-3)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)
