"""Naive Bayes with columns of several kinds: sums of parts, gaps, agreement with the models of one kind, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.core import CertificateError
from qed.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, PoissonNB

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 150)
G = rng.normal(size=(150, 2)) + Y[:, None]
B = (rng.random((150, 2)) < 0.2 + 0.25 * Y[:, None]).astype(float)
P = rng.poisson(1.0 + 2 * Y[:, None], (150, 2)).astype(float)
C = rng.integers(0, 3, (150, 2)).astype(float) + (Y[:, None] == 2)
S = rng.integers(1, 4, 150).astype(float)
ONE = [
    ("gaussian", GaussianNB, G),
    ("bernoulli", BernoulliNB, B),
    ("poisson", PoissonNB, P),
    ("categorical", CategoricalNB, C),
]


@pytest.mark.covers("GEN-12")
@pytest.mark.parametrize(("kind", "alone", "X"), ONE)
def test_columns_of_one_kind_are_the_model_of_that_kind(kind, alone, X):
    mixed, other = MixedNB(kind).fit(X, Y, S), alone().fit(X, Y, S)
    np.testing.assert_allclose(mixed.predict_joint_log_proba(X), other.predict_joint_log_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(mixed.predict(X), other.predict(X))
    qed.verify(mixed, X, Y, S)


@pytest.mark.covers("GEN-12")
def test_the_log_posterior_is_the_sum_of_the_parts():
    X = np.hstack([G, B, P, C])
    kinds = [kind for kind, _, _ in ONE for _ in range(2)]
    mixed = MixedNB(kinds).fit(X, Y)
    prior = np.log(np.bincount(Y) / len(Y))
    parts = [alone().fit(part, Y).predict_joint_log_proba(part) - prior for _, alone, part in ONE]
    np.testing.assert_allclose(mixed.predict_joint_log_proba(X), prior + sum(parts), rtol=1e-9)
    assert mixed.score(X, Y) > GaussianNB().fit(G, Y).score(G, Y)


@pytest.mark.covers("GEN-27", "DAT-16")
@pytest.mark.parametrize("gap", range(4))
def test_a_missing_entry_is_integrated_out(gap):
    """The answer is that of a model which was trained without the column."""
    X = np.column_stack([G[:, 0], B[:, 0], P[:, 0], C[:, 0]])
    kinds = ["gaussian", "bernoulli", "poisson", "categorical"]
    others = [j for j in range(4) if j != gap]
    without = MixedNB([kinds[j] for j in others], var_smoothing=0.0).fit(X[:, others], Y)
    asked = X.copy()
    asked[:, gap] = np.nan
    whole = MixedNB(kinds, var_smoothing=0.0).fit(X, Y)
    np.testing.assert_allclose(whole.predict_proba(asked), without.predict_proba(X[:, others]), atol=1e-10)


@pytest.mark.covers("GEN-27")
def test_gaps_of_the_fit_are_left_out_column_by_column():
    X = np.column_stack([G[:, 0], P[:, 0]])
    X[::3, 0] = np.nan
    model = MixedNB(["gaussian", "poisson"], var_smoothing=0.0).fit(X, Y)
    there = ~np.isnan(X[:, 0])
    alone = GaussianNB(var_smoothing=0.0).fit(X[there, :1], Y[there])
    np.testing.assert_allclose(
        model.parameters_[0], np.column_stack([alone.theta_[:, 0], alone.var_[:, 0]]), rtol=1e-10
    )
    np.testing.assert_allclose(model.parameters_[1][:, 0], PoissonNB().fit(P[:, :1], Y).rates_[:, 0], rtol=1e-12)
    qed.verify(model, X, Y)
    np.testing.assert_allclose(model.predict_proba([[np.nan, np.nan]])[0], model.class_prior_)
    model.parameters_[0][1, 0] += 1e-6
    with pytest.raises(CertificateError):
        qed.verify(model, X, Y)


def test_bad_input_is_refused_in_words():
    with pytest.raises(qed.InvalidParameter, match="one for each of 2 columns"):
        MixedNB(["gaussian"]).fit(G, Y)
    with pytest.raises(qed.InvalidData, match="Negative values in column 1"):
        MixedNB(["gaussian", "poisson"]).fit(G - 5, Y)
    with pytest.raises(qed.InvalidData, match="numbered from 0"):
        MixedNB("categorical").fit(C - 1, Y)
    with pytest.raises(qed.InvalidData, match="variance of column 0"):
        MixedNB(var_smoothing=0.0).fit([[1.0], [1.0], [2.0]], [0, 0, 1])
    with pytest.raises(qed.InvalidData, match="no entry in class 1"):
        MixedNB().fit([[1.0], [2.0], [np.nan]], [0, 0, 1])
    model = MixedNB("categorical").fit(C, Y)
    np.testing.assert_allclose(
        model.predict_proba([[99.0, 99.0]])[0], model.class_prior_
    )  # values that no row had say nothing
