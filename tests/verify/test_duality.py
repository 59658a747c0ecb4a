"""The checker of convex models: every objective of the documentation, true claims confirmed, false ones refused in words."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.verify.convex_models import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    MultiTaskElasticNet,
    PoissonRegressor,
    QuantileRegressor,
    SquareRootLasso,
)

import qed

rng = np.random.default_rng(5)
N = 60
X = rng.normal(size=(N, 5)) * [1.0, 3.0, 0.1, 1.0, 1.0] + [0.0, 5.0, 1.0, -2.0, 0.0]
signal = X @ [1.0, -0.3, 4.0, 0.0, 0.0]
noise = rng.standard_t(3, size=N)
s = rng.integers(0, 4, N).astype(float)
targets = {
    "number": signal + noise,
    "numbers": np.c_[signal, -signal] + rng.normal(size=(N, 2)),
    "count": rng.poisson(np.exp(0.2 * (signal - signal.mean()))).astype(float),
    "coin": np.where(signal - signal.mean() + rng.logistic(size=N) > 0, "yes", "no"),
    "class": np.digitize(signal + noise, [-1.5, 1.0]) * 10,
}
MODELS = [
    (Lasso(alpha=0.1), "number"),
    (Lasso(alpha=0.1, fit_intercept=False), "number"),
    (Lasso(alpha=0.05, positive=True), "number"),
    (Lasso(alpha=0.1), "numbers"),
    (ElasticNet(alpha=0.3, l1_ratio=0.4), "number"),
    (MultiTaskElasticNet(alpha=0.2, l1_ratio=1.0), "numbers"),
    (MultiTaskElasticNet(alpha=0.2, l1_ratio=0.5), "numbers"),
    (LogisticRegression(C=0.7), "coin"),
    (LogisticRegression(C=2.0, l1_ratio=1.0), "coin"),
    (LogisticRegression(C=1.0, l1_ratio=0.3, class_weight="balanced"), "coin"),
    (LogisticRegression(C=1.0, class_weight={"yes": 3.0}, fit_intercept=False), "coin"),
    (LogisticRegression(C=np.inf), "coin"),
    (LogisticRegression(C=0.5), "class"),
    (LogisticRegression(C=0.5, l1_ratio=1.0, fit_intercept=False), "class"),
    (PoissonRegressor(alpha=0.3), "count"),
    (PoissonRegressor(alpha=0.0), "count"),
    (HuberRegressor(), "number"),
    (HuberRegressor(epsilon=2.0, alpha=1.0, fit_intercept=False), "number"),
    (SquareRootLasso(alpha=0.1), "number"),
]
weights = pytest.mark.parametrize("weight", [None, s], ids=["unweighted", "weighted"])
models = pytest.mark.parametrize(("template", "kind"), MODELS, ids=[f"{m!r}-{k}" for m, k in MODELS])


def fitted_model(template, kind, weight):
    y = targets[kind]
    model = qed.clone(template).fit(X, y, weight)
    if getattr(model, "l1_ratio", 0.0) == 1.0 or isinstance(model, SquareRootLasso):
        model.with_zeros()
    model.settle(X, y, np.ones(N) if weight is None else weight)
    return model.claim(X, y, weight, 0.0)


def within(model, kind, weight, share=1e-7):
    """Give the model a claim that a solver of this accuracy can keep."""
    return model.claim(X, targets[kind], weight, share * model.certificate_.null_objective)


@models
@weights
def test_the_optimum_is_confirmed_and_anything_worse_refused(template, kind, weight):
    y = targets[kind]
    model = within(fitted_model(template, kind, weight), kind, weight)
    verdict = qed.verify(model, X, y, weight)
    assert verdict.rounding <= 1e-12 * model.certificate_.null_objective
    assert verdict.objective == pytest.approx(model.certificate_.objective, rel=1e-10)
    best, gap = model.objective(X, y, weight), model.certificate_.gap
    for j in range(5):
        worse = deepcopy(model)
        coef = np.array(model.coef_)
        step = 1e-6
        while True:
            worse.coef_ = coef.copy()
            worse.coef_[..., j] += step
            worse.settle(X, y, np.ones(N) if weight is None else weight)
            if worse.objective(X, y, weight) > best + 4 * gap + verdict.rounding:
                break
            step *= 2
        worse.claim(X, y, weight, gap)
        with pytest.raises(qed.CertificateError, match="is false"):
            qed.verify(worse, X, y, weight)


@pytest.mark.parametrize("level", [0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@weights
def test_quantiles_are_confirmed_by_their_dual_or_by_their_kinks(level, alpha, weight):
    y = targets["number"]
    ones = np.ones(N) if weight is None else weight
    model = QuantileRegressor(quantile=level, alpha=alpha).fit(X, y, weight).with_zeros()
    dual = model.dual(ones)
    model.claim(X, y, weight, 1e-7 * model.null(X, y, weight), dual=dual, radius=100.0 if alpha == 0 else np.inf)
    assert qed.verify(model, X, y, weight).holds
    junk = replace(model.certificate_, dual=rng.normal(size=len(dual)))
    model.certificate_ = junk  # what does not help is no reason to refuse what is true
    order = rng.permutation(N)
    assert qed.verify(model, X[order], y[order], None if weight is None else weight[order]).holds
    model.coef_[1] += 0.02
    model.claim(X, y, weight, 1e-7 * model.null(X, y, weight), dual=dual, radius=junk.radius)
    with pytest.raises(qed.CertificateError, match="is false"):
        qed.verify(model, X, y, weight)
