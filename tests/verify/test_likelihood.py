"""Models with a likelihood: true certificates are confirmed, changed models and other data are not."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import qed
from qed.data import ArraySource
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 90)
COUNTS = rng.poisson(0.8, size=(90, 4)).astype(float)
ROWS = rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4)) + Y[:, None] + [0, 100, -5, 0]
S = np.round(rng.integers(0, 3, 90) * rng.random(90), 2)
MODELS = [
    (GaussianNB(), ROWS),
    (GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=0.1), ROWS),
    (LinearDiscriminantAnalysis(store_covariance=True), ROWS),
    (LinearDiscriminantAnalysis("lsqr", "auto"), ROWS),
    (LinearDiscriminantAnalysis("eigen", 0.2, priors=[0.2, 0.3, 0.5]), ROWS),
    (QuadraticDiscriminantAnalysis(reg_param=0.1, store_covariance=True), ROWS),
    (QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"), ROWS),
    (MultinomialNB(), COUNTS),
    (MultinomialNB(alpha=0.0, fit_prior=False), scipy.sparse.csr_array(COUNTS)),
    (ComplementNB(), COUNTS),
    (ComplementNB(norm=True), scipy.sparse.csc_array(COUNTS)),
    (BernoulliNB(binarize=1.0, class_prior=[0.2, 0.3, 0.5]), COUNTS),
    (CategoricalNB(alpha=0.5), COUNTS),
]
UNCHECKED = {"moments_", "certificate_", "n_features_in_", "classes_"}


def changed_models(model):
    """Yield the model with one of its numbers moved by a hundred-thousandth, for every array it stores."""
    for name, value in model.__dict__.items():
        if not name.endswith("_") or name in UNCHECKED:
            continue
        for number in range(len(value) if isinstance(value, list) else 1):
            other = copy.deepcopy(model)
            array = getattr(other, name)
            array = np.atleast_1d(array[number] if isinstance(array, list) else array)
            size = np.where(np.isfinite(array), np.abs(array), 0)
            at = np.unravel_index(int(size.argmax()), array.shape)
            array[at] *= 2 if array.dtype.kind == "i" else 1 + 1e-5
            if not isinstance(value, list | np.ndarray):
                setattr(other, name, float(array[0]))
            yield name, other


@pytest.mark.parametrize("weights", [None, S], ids=["plain", "weighted"])
@pytest.mark.parametrize(("model", "rows"), MODELS, ids=lambda value: str(value)[:60] if hasattr(value, "fit") else "")
def test_true_certificates_hold_and_changed_models_are_rejected(model, rows, weights):
    fit = qed.clone(model).fit(rows, Y, weights)
    verdict = qed.verify(fit, rows, Y, weights)
    assert verdict.objective == pytest.approx(fit.certificate_.log_likelihood, rel=1e-9)
    names = set()
    for name, other in changed_models(fit):
        names.add(name)
        with pytest.raises(qed.CertificateError):
            qed.verify(other, rows, Y, weights)
    assert len(names) >= 4
    boast = copy.deepcopy(fit)
    boast.certificate_ = replace(fit.certificate_, log_likelihood=fit.certificate_.log_likelihood + 1e-4)
    with pytest.raises(qed.CertificateError, match="log-likelihood"):
        qed.verify(boast, rows, Y, weights)
    loose = copy.deepcopy(fit)
    loose.certificate_ = replace(fit.certificate_, rounding=1.0)
    name, other = next(changed_models(loose))
    with pytest.raises(qed.CertificateError):
        qed.verify(other, rows, Y, weights)


@pytest.mark.parametrize(
    "model", [GaussianNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), BernoulliNB()], ids=str
)
def test_other_data_are_rejected_and_sources_are_read(model):
    fit = model.fit(ROWS, Y)
    for rows, labels in ((ROWS[1:], Y[1:]), (ROWS, np.roll(Y, 1)), (np.where(ROWS[3] == ROWS, -ROWS, ROWS), Y)):
        with pytest.raises(qed.CertificateError):
            qed.verify(fit, rows, labels)
    with pytest.raises(qed.CertificateError, match="not among its classes"):
        qed.verify(fit, ROWS, Y + 1)
    order = rng.permutation(90)
    assert qed.verify(fit, ROWS[order], Y[order]).holds
    assert qed.verify(fit, ArraySource(ROWS, Y, chunk_rows=20)).holds
    stream = qed.clone(model).partial_fit(ROWS[:50], Y[:50], [0, 1, 2]).partial_fit(ROWS[50:], Y[50:])
    assert qed.verify(stream.forget(ROWS[:10], Y[:10]), ROWS[10:], Y[10:]).holds
