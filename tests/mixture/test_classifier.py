"""Classes that are mixtures: known special cases, unlabelled rows, chunks, weights, changed models, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed.core import CertificateError
from qed.data import ArraySource
from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.mixture import GaussianMixture, GaussianMixtureClassifier, choose_components
from qed.naive_bayes import GaussianNB

KINDS = ("full", "tied", "diag", "spherical")


def rows(seed=0, n=240, p=2, apart=3.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, p)) * (1 + 0.3 * y)[:, None] + apart * rng.standard_normal((3, p))[y], y


@pytest.mark.covers("GEN-26", "MIX-17", "MIX-22")
@pytest.mark.parametrize(
    ("kind", "same"),
    [
        ("full", QuadraticDiscriminantAnalysis()),
        ("tied", LinearDiscriminantAnalysis()),
        ("diag", GaussianNB(var_smoothing=0.0)),
    ],
)
def test_one_component_a_class_and_all_labels_is_discriminant_analysis_in_one_step(kind, same):
    X, y = rows()
    model = GaussianMixtureClassifier(covariance_type=kind, reg_covar=0.0).fit(X, y)
    same.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-10)
    if kind != "tied":
        np.testing.assert_allclose(model.score_samples(X), same.score_samples(X), rtol=1e-9)
    assert model.n_iter_ == 1
    assert model.certificate_.gain == 0


@pytest.mark.covers("MIX-17")
@pytest.mark.parametrize("kind", KINDS)
def test_without_labels_a_step_is_that_of_a_mixture(kind):
    """Two labelled rows of almost no weight, and all others without a label: EM as if there were no classes."""
    X, y = rows(1)
    y = np.where(y == 0, 0, 1)
    first = [int(np.argmax(y == 0)), int(np.argmax(y == 1))]
    known, weight = np.full(len(y), -1), np.ones(len(y))
    known[first] = y[first]
    weight[first] = 1e-9
    model = GaussianMixtureClassifier(covariance_type=kind, unlabeled=-1, max_iter=1, tol=0.0, reg_covar=0.5).fit(
        X, known, weight
    )
    k = {"full": (2, 2, 2), "tied": (2, 2), "diag": (2, 2), "spherical": (2,)}[kind]
    shares = np.full(k, 0.0)
    unit = np.eye(2) / 0.5
    precisions = {"full": np.stack([unit, unit]), "tied": unit, "diag": shares + 2.0, "spherical": shares + 2.0}[kind]
    free = GaussianMixture(
        2, covariance_type=kind, max_iter=1, tol=0.0, reg_covar=0.5, weights_init=[0.5, 0.5], means_init=X[first],
        precisions_init=precisions,
    ).fit(X, sample_weight=weight)  # fmt: skip
    np.testing.assert_allclose(model.means_, free.means_, atol=1e-6)
    np.testing.assert_allclose(model.covariances_, free.covariances_, atol=1e-6)


@pytest.mark.covers("MIX-17", "GEN-27")
def test_labelled_rows_keep_their_class_and_unlabelled_rows_help():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 600)
    X = rng.standard_normal((600, 2)) + 3.0 * y[:, None]
    known = np.where(np.arange(600) < 6, y, -1)
    both = GaussianMixtureClassifier(covariance_type="spherical", unlabeled=-1).fit(X, known)
    few = GaussianMixtureClassifier(covariance_type="spherical").fit(X[:6], y[:6])
    truth = 3.0 * np.array([[0, 0], [1, 1]])
    assert np.abs(both.means_ - truth).max() < 0.2 < np.abs(few.means_ - truth).max()
    assert both.score(X, y) >= few.score(X, y)
    # a labelled row far on the other side counts for its own class all the same
    X[0] = X[0] + 40.0 if y[0] == 0 else X[0] - 40.0
    moved = GaussianMixtureClassifier(covariance_type="spherical", unlabeled=-1).fit(X, known)
    assert moved.covariances_[y[0]] > 2 * both.covariances_[y[0]]


@pytest.mark.covers("GEN-26")
def test_a_class_in_two_pieces_needs_two_components():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-6, 1, 150), rng.normal(6, 1, 150), rng.normal(0, 1, 300)])[:, None]
    y = np.repeat(["outer", "inner"], [300, 300])
    one = GaussianMixtureClassifier(1, covariance_type="tied").fit(X, y)
    two = GaussianMixtureClassifier([1, 2], random_state=0).fit(X, y)
    assert two.score(X, y) > 0.99
    assert one.score(X, y) < 0.8
    np.testing.assert_array_equal(two.predict([[-6.0], [0.0], [6.0]]), ["outer", "inner", "outer"])
    apart = GaussianMixture(2, random_state=0).fit(X[:300])  # all labels known: each class is fitted by itself
    np.testing.assert_allclose(np.sort(two.means_[1:, 0]), np.sort(apart.means_[:, 0]), atol=1e-3)
    drawn, labels = two.sample(5000)
    assert np.mean(two.predict(drawn) == labels) > 0.98
    assert abs(np.mean(labels == "outer") - 0.5) < 0.05


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), k=st.integers(1, 3), share=st.floats(0.0, 0.8))
def test_no_step_lowers_the_objective_and_verify_agrees(seed, kind, k, share):
    X, y = rows(seed, n=80)
    y = np.where(np.random.default_rng(seed).random(80) < share, -1, y)
    y[:9] = np.repeat([0, 1, 2], 3)
    model = GaussianMixtureClassifier(k, covariance_type=kind, unlabeled=-1, tol=0.0, max_iter=12, random_state=0)
    certificate = model.fit(X, y).certificate_
    assert np.all(np.diff(certificate.trace) >= -2 * certificate.rounding)
    qed.verify(model, X, y)


def test_chunks_and_weights():
    X, y = rows(2)
    y = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    s = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    table = GaussianMixtureClassifier(unlabeled=-1).fit(X, y, s)
    source = ArraySource(X, y, s, chunk_rows=31)
    chunked = GaussianMixtureClassifier(unlabeled=-1).fit(source)
    again = GaussianMixtureClassifier(unlabeled=-1).fit(
        np.repeat(X, s.astype(int), axis=0), np.repeat(y, s.astype(int))
    )
    np.testing.assert_allclose(chunked.predict_proba(X), table.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(again.predict_proba(X), table.predict_proba(X), atol=1e-9)
    qed.verify(chunked, source)


def test_rows_far_away_are_compared():
    X, y = rows(3)
    model = GaussianMixtureClassifier(2, random_state=0).fit(X, y)
    shares = model.predict_proba([[1e200, -1e200], [-1e160, 3.0]])
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_changed_models_are_refused():
    X, y = rows(4)
    y = np.where(np.arange(len(y)) % 2 == 0, y, -1)
    model = GaussianMixtureClassifier(2, unlabeled=-1, random_state=0).fit(X, y)
    qed.verify(model, X, y)
    changes = {
        "means_": model.means_ + 0.01,
        "component_classes_": np.array([0, 0, 1, 1, 1, 2]),
        "classes_": model.classes_ + 1,
        "weights_": np.roll(model.weights_, 1),
    }
    for name, value in changes.items():
        kept = getattr(model, name)
        setattr(model, name, value)
        with pytest.raises(CertificateError):
            qed.verify(model, X, y)
        setattr(model, name, kept)
    model.unlabeled = None
    with pytest.raises(CertificateError):
        qed.verify(model, X, y)


def test_bad_input_is_refused_in_words():
    X, y = rows(6, n=20)
    with pytest.raises(qed.InvalidData, match="unknown"):
        GaussianMixtureClassifier(unlabeled=-1).fit(X, np.where(y == 0, 1, -1))
    with pytest.raises(qed.InvalidParameter, match="one for each of 3 classes"):
        GaussianMixtureClassifier([1, 2]).fit(X, y)
    with pytest.raises(qed.InvalidData, match="label more rows"):
        GaussianMixtureClassifier(2, unlabeled=-1).fit(X, np.where(np.arange(20) < 4, [0, 0, 1, 2] * 5, -1))


@pytest.mark.covers("MIX-21")
def test_the_number_of_components_is_chosen_on_rows_held_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) + np.array([[0, 0], [8, 0], [0, 8]])[rng.integers(0, 3, 300)]
    choice = choose_components(GaussianMixture(n_init=3, random_state=0), X, range(1, 6), cv=5)
    assert choice.best == choice.votes["bic"] == 3
    assert choice.best_model.n_components == 3
    assert np.all(np.diff(choice.train) > -1e-3)
    assert choice.bic[2] == pytest.approx(choice.models[2].bic(X))
    with pytest.raises(qed.InvalidParameter, match="rise"):
        choose_components(GaussianMixture(), X, [3, 2])
    with pytest.raises(qed.InvalidParameter, match="bic"):
        choose_components(GaussianNB(), X)
