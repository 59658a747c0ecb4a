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
    verified,
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
    verdict = verified(model, X, y, weight)
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
            verified(worse, X, y, weight)


@pytest.mark.parametrize("level", [0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@weights
def test_quantiles_are_confirmed_by_their_dual_or_by_their_kinks(level, alpha, weight):
    y = targets["number"]
    ones = np.ones(N) if weight is None else weight
    model = QuantileRegressor(quantile=level, alpha=alpha).fit(X, y, weight).with_zeros()
    dual = model.dual(ones)
    model.claim(X, y, weight, 1e-7 * model.null(X, y, weight), dual=dual, radius=100.0 if alpha == 0 else np.inf)
    assert verified(model, X, y, weight).holds
    junk = replace(model.certificate_, dual=rng.normal(size=len(dual)))
    model.certificate_ = junk  # what does not help is no reason to refuse what is true
    order = rng.permutation(N)
    assert verified(model, X[order], y[order], None if weight is None else weight[order]).holds
    model.coef_[1] += 0.02
    model.claim(X, y, weight, 1e-7 * model.null(X, y, weight), dual=dual, radius=junk.radius)
    with pytest.raises(qed.CertificateError, match="is false"):
        verified(model, X, y, weight)


@models
def test_rows_may_come_in_any_order_and_container(template, kind):
    model = within(fitted_model(template, kind, s), kind, s)
    order = rng.permutation(N)
    y = targets[kind]
    assert verified(model, X[order], y[order], s[order]).holds
    assert verified(model, sp.csc_array(X), y, s).holds
    assert verified(model, X.tolist(), y.tolist(), s).holds


@models
def test_large_tables_are_judged_alike(template, kind, monkeypatch):
    monkeypatch.setattr("qed.verify._rows.LARGE", 0)
    monkeypatch.setattr("qed.verify._rows.BLOCK_ROWS", 16)
    model = within(fitted_model(template, kind, s), kind, s)
    verdict = verified(model, X, targets[kind], s)
    assert verdict.rounding < 1e-9 * model.certificate_.null_objective
    model.coef_[..., 1] += 0.01
    model.settle(X, targets[kind], s)
    within(model, kind, s)
    with pytest.raises(qed.CertificateError, match="is false"):
        verified(model, X, targets[kind], s)


@models
def test_many_coefficients_are_solved_without_writing_equations_down(template, kind, monkeypatch):
    monkeypatch.setattr("qed.verify._search.MAX_DENSE_UNKNOWNS", 2)
    model = within(fitted_model(template, kind, s), kind, s, share=1e-5)
    assert verified(model, X, targets[kind], s).holds


def changed(model, **numbers):
    out = deepcopy(model)
    out.certificate_ = replace(out.certificate_, **numbers)
    return out


def lasso():
    return within(fitted_model(Lasso(alpha=0.1), "number", s), "number", s)


def test_other_parameters_are_refused():
    model = lasso()
    model.alpha = 0.11
    with pytest.raises(qed.CertificateError, match="states an objective"):
        verified(model, X, targets["number"], s)
    model.certificate_ = replace(model.certificate_, objective=model.objective(X, targets["number"], s))
    with pytest.raises(qed.CertificateError, match="is false"):
        verified(model, X, targets["number"], s)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"objective": 0.5}, "states an objective"),
        ({"null_objective": 1e9}, "null model"),
        ({"gap": 0.0, "rounding": 0.0}, "is false"),
    ],
)
def test_a_claim_with_other_numbers_is_refused(numbers, words):
    model = lasso()
    model.coef_[0] += 1e-4
    model.certificate_ = replace(model.certificate_, objective=model.objective(X, targets["number"], s))
    with pytest.raises(qed.CertificateError, match=words):
        verified(changed(model, **numbers), X, targets["number"], s)


@pytest.mark.parametrize(
    "other",
    [
        (X + 1e-6, targets["number"], s),
        (X, np.where(np.arange(N) == 5, targets["number"] + 1e-4, targets["number"]), np.maximum(s, 1)),
        (X, targets["number"], None),
        (X[:-1], targets["number"][:-1], s[:-1]),
    ],
    ids=["shifted columns", "one target", "no weights", "a row missing"],
)
def test_other_data_are_recognised(other):
    with pytest.raises(qed.CertificateError, match="not the data of the certificate"):
        verified(lasso(), *other)


def test_other_labels_are_recognised():
    model = within(fitted_model(LogisticRegression(), "coin", None), "coin", None)
    swapped = np.where(targets["coin"] == "yes", "no", "yes")
    with pytest.raises(
        qed.CertificateError
    ):  # as many of each as before: the moments may agree, the objective does not
        verified(model, X, swapped)
    with pytest.raises(qed.CertificateError, match="was fitted to the classes"):
        verified(model, X, np.where(targets["coin"] == "yes", "yes", "maybe"))


def test_coefficients_of_another_shape_or_kind_are_refused():
    model = lasso()
    model.coef_ = np.vstack([model.coef_, model.coef_])
    with pytest.raises(qed.CertificateError, match="have shape"):
        verified(model, X, targets["number"], s)
    model.coef_ = np.full(5, np.nan)
    with pytest.raises(qed.CertificateError, match="not finite"):
        verified(model, X, targets["number"], s)
    positive = within(fitted_model(Lasso(alpha=0.05, positive=True), "number", None), "number", None)
    positive.coef_[0] = -1.0
    with pytest.raises(qed.CertificateError, match="domain"):
        verified(positive, X, targets["number"])


def test_an_objective_that_is_not_in_the_table_cannot_be_confirmed():
    model = lasso()

    class Unheard(HuberRegressor.__mro__[1]):
        """Nobody knows what it minimises."""

    other = Unheard()
    other.__dict__.update(model.__dict__)
    with pytest.raises(qed.CertificateError, match="has no objective for Unheard"):
        verified(other, X, targets["number"], s)


def test_junk_in_place_of_a_dual_point_cannot_confirm_what_is_false():
    y = targets["number"]
    model = QuantileRegressor(quantile=0.5, alpha=0.02).fit(X, y)
    model.coef_ = model.coef_ + 0.05
    for junk in (np.full(N, 1e300), rng.normal(size=N), np.zeros(N), np.zeros(3), rng.normal(size=(N, 1)) * 1e-9):
        model.claim(X, y, None, 1e-6, dual=junk)
        with pytest.raises(qed.CertificateError, match="is false"):
            verified(model, X, y)


def test_a_square_root_lasso_that_meets_every_target_is_confirmed():
    wide = rng.normal(size=(8, 30))
    y = wide[:, 0] - wide[:, 3]
    model = SquareRootLasso(alpha=0.01, fit_intercept=False).fit(wide, y)
    used = np.abs(model.coef_) > 1e-6
    model.coef_ = np.where(used, model.coef_, 0.0)
    model.coef_[used] = np.linalg.lstsq(wide[:, used], y, rcond=None)[0]
    model.claim(wide, y, None, 1e-7 * model.null(wide, y, None))
    assert verified(model, wide, y).holds


def test_a_claim_within_a_radius_is_judged_within_it():
    twins = np.hstack([X[:, :2], X[:, :1]])
    y = targets["number"]
    model = Lasso(alpha=0.0).fit(twins, y)
    model.claim(twins, y, None, 1e-9 * model.null(twins, y, None), radius=100.0)
    assert verified(model, twins, y).holds
    model.claim(twins, y, None, 1e-9 * model.null(twins, y, None), radius=np.inf)
    with pytest.raises(qed.CertificateError, match="is false"):  # dependent columns: nothing is known of far away
        verified(model, twins, y)
