"""Discriminants at the ends of float64, of nearly dependent columns and of classes of few rows: proved, or refused at the fit."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.truth.judged import table, weights

import qed
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

MODELS = (
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr"),
    LinearDiscriminantAnalysis(solver="eigen"),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(tol=0.0),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
)
# models of these tables were rejected once
REJECTED = (4, 36, 39, 66, 77, 99, 106, 133, 145, 146, 158, 164, 188, 208, 239, 323, 689, 1119, 1244, 5257, 5652, 6326)


@pytest.mark.parametrize("seed", REJECTED)
def test_what_is_fitted_is_proved(seed):
    rng = np.random.default_rng([seed, 6])
    n, p = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    s = weights(rng, n)
    y = rng.integers(0, 2 + int(rng.random() < 0.3), n)
    y[:2] = [0, 1]
    X = table(rng, n, p)
    proved = 0
    for model in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X, y, sample_weight=s)
            except qed.InvalidData:
                continue
        proved += 1
        qed.verify(model, X, y, sample_weight=s)
        stated = model.certificate_
        model.certificate_ = replace(stated, log_likelihood=stated.log_likelihood + 10.0)
        with pytest.raises(qed.CertificateError, match="log-likelihood"):
            qed.verify(model, X, y, sample_weight=s)
    assert proved >= 2


@pytest.mark.parametrize("scale", [1.0, 1e25, 1e-30])
def test_two_rows_of_two_columns_have_no_density(scale):
    rng = np.random.default_rng(3)
    X, y = scale * rng.normal(size=(12, 2)), np.repeat([0, 1], [2, 10])
    with pytest.raises(qed.InvalidData, match="class 0 is not full rank"):
        QuadraticDiscriminantAnalysis(tol=0.0).fit(X, y)


def test_columns_that_rounding_alone_tells_apart():
    rng, said = np.random.default_rng(5), []
    for _ in range(8):
        x = rng.normal(size=(30, 2))
        X = np.hstack([x, x @ [[0.3], [0.7]]])
        with pytest.raises(qed.InvalidData, match="not full rank") as refused:
            QuadraticDiscriminantAnalysis(tol=0.0).fit(X, np.repeat([0, 1], 15))
        said.append("rounding alone makes" in str(refused.value))
    assert any(said)  # a variance above zero, which only rounding put there


def test_an_amount_of_shrinking_that_only_rounding_gives():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(12, 2)), np.repeat([0, 1], [2, 10])
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
    qed.verify(model.fit(X, y), X, y)
    with pytest.raises(qed.InvalidData, match="weights that count rows"):
        model.fit(X, y, sample_weight=np.full(12, 1e-100))


def test_the_likelihood_is_held_to_its_rounding():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)) + np.repeat([[0.0], [1.0]], 30, axis=0), np.repeat([0, 1], 30)
    for model in MODELS:
        stated = model.fit(X, y).certificate_
        model.certificate_ = replace(stated, log_likelihood=stated.log_likelihood + 1e-6)
        with pytest.raises(qed.CertificateError, match="log-likelihood"):
            qed.verify(model, X, y)
