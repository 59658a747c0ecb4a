"""Calibrated classifiers: scikit-learn's answers, then what is verified, refused and drawn from them."""

import numpy as np
import pandas as pd
import pytest
from sklearn import calibration as theirs
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB

import qed
from qed.calibration import CalibratedClassifierCV
from qed.linear_model import LogisticRegression, Ridge
from qed.metrics import log_loss
from qed.model_selection import ShuffleSplit
from qed.naive_bayes import GaussianNB

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
SCORE = X[:, 0] + rng.normal(size=150)
TWO, THREE = np.where(SCORE > 0, "yes", "no"), np.digitize(SCORE, [0, 1])
WEIGHT = rng.integers(1, 4, 150).astype(float)


@pytest.mark.parametrize("ensemble", [True, False, "auto"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_probabilities_are_those_of_scikit_learn_and_are_confirmed(y, method, ensemble, weight):
    settings = {"method": method, "ensemble": ensemble, "cv": 3}
    model = CalibratedClassifierCV(GaussianNB(), **settings).fit(X, y, weight)
    other = theirs.CalibratedClassifierCV(TheirGaussianNB(), **settings).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert (model.predict(X) == other.predict(X)).all()
    assert qed.verify(model, X, y, weight).holds


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_a_model_that_is_too_sure_becomes_less_so(method):
    repeated = np.repeat(X[:, :1], 6, axis=1)
    plain, half = GaussianNB().fit(repeated[:100], TWO[:100]), slice(100, 150)
    model = CalibratedClassifierCV(GaussianNB(), method=method, ensemble=False).fit(repeated[:100], TWO[:100])
    losses = [log_loss(TWO[half], np.clip(one.predict_proba(repeated[half]), 0.01, 0.99)) for one in (plain, model)]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("ensemble", [True, False])
def test_changed_parts_are_refused(ensemble):
    def calibrated(method):
        return CalibratedClassifierCV(LogisticRegression(), method=method, cv=2, ensemble=ensemble).fit(X, TWO)

    for method, change in (
        ("isotonic", lambda m: m.calibrators_[0][0].y_thresholds_.__imul__(0.9)),
        ("isotonic", lambda m: setattr(m, "method", "sigmoid")),
        ("sigmoid", lambda m: m.calibrators_[0][0].coef_.__imul__(1.01)),
        ("sigmoid", lambda m: m.estimators_[0].coef_.__imul__(1.01)),
        ("sigmoid", lambda m: setattr(m, "ensemble", not ensemble)),
        ("sigmoid", lambda m: setattr(m, "folds_", 1 - m.folds_)),
        ("temperature", lambda m: m.temperatures_.__imul__(1.001)),
        ("temperature", lambda m: m.certificate_.parts["temperature of classifier 0"].low.__imul__(1.001)),
        ("temperature", lambda m: m.certificate_.parts.pop("temperature of classifier 0")),
        ("temperature", lambda m: m.estimators_[0].coef_.__imul__(1.01)),
    ):
        model = calibrated(method)
        change(model)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, X, TWO)


def test_a_temperature_minimises_the_log_loss_of_rows_left_out():
    model = CalibratedClassifierCV(
        LogisticRegression(C=1e-3, fit_intercept=False), method="temperature", ensemble=False
    )
    model.fit(X, THREE)
    scores = np.empty((150, 3))
    for number, inner in enumerate(model.fold_estimators_):
        scores[model.folds_ == number] = inner.decision_function(X[model.folds_ == number])

    def loss(temperature):
        up = np.exp(scores / temperature)
        return -np.log(up[np.arange(150), THREE] / up.sum(axis=1)).mean()

    grid = model.temperatures_[0] * np.array([0.9, 0.99, 1.01, 1.1])
    assert loss(model.temperatures_[0]) < min(map(loss, grid))
    assert model.temperatures_[0] < 0.2  # a strong penalty made the scores too small
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, np.roll(THREE, 1))


def test_a_temperature_stays_in_its_range():
    sure = np.where(TWO == "yes", 1.0, -1.0)[:, None] * 50 + X[:, :1]  # separable: every score could be larger
    model = CalibratedClassifierCV(LogisticRegression(), method="temperature", cv=2).fit(sure, TWO)
    np.testing.assert_allclose(model.temperatures_, np.exp(-10.0))
    assert qed.verify(model, sure, TWO).holds
    swapped = np.where(
        np.arange(150) % 2, TWO, np.where(TWO == "yes", "no", "yes")
    )  # scores that say nothing, or the opposite
    noise = CalibratedClassifierCV(GaussianNB(), method="temperature", cv=2).fit(X, swapped)
    assert qed.verify(noise, X, swapped).holds


def test_a_frozen_classifier_is_calibrated_as_it_is():
    frozen = GaussianNB().fit(X[:75], TWO[:75])
    model = CalibratedClassifierCV(FrozenEstimator(frozen)).fit(X[75:], TWO[75:])
    other = theirs.CalibratedClassifierCV(FrozenEstimator(TheirGaussianNB().fit(X[:75], TWO[:75]))).fit(
        X[75:], TWO[75:]
    )
    assert len(model.estimators_) == 1
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    with pytest.raises(qed.InvalidData, match="same labels"):
        CalibratedClassifierCV(FrozenEstimator(frozen)).fit(X, SCORE > 0.5)


def test_folds_that_do_not_share_out_the_rows():
    folds = ShuffleSplit(3, random_state=0)
    model = CalibratedClassifierCV(GaussianNB(), cv=folds).fit(X, TWO)
    assert len(model.estimators_) == 3
    with pytest.raises(qed.CertificateError, match="which row was in which fold"):
        qed.verify(model, X, TWO)
    with pytest.raises(qed.InvalidData, match="exactly once"):
        CalibratedClassifierCV(GaussianNB(), cv=folds, ensemble=False).fit(X, TWO)


def test_frames_and_files(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = CalibratedClassifierCV(cv=3).fit(frame, TWO)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert qed.verify(model, frame, TWO).holds
    model.save(tmp_path / "model.qed")
    np.testing.assert_array_equal(qed.load(tmp_path / "model.qed").predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize(
    ("settings", "y", "words"),
    [
        ({"method": "other"}, TWO, "method"),
        ({"estimator": Ridge()}, TWO, "decision_function or predict_proba"),
        ({}, np.zeros(150, int), "one class"),
        ({}, np.where(np.arange(150) == 3, 1, 0), "class|fold"),
    ],
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_refusals_say_why(settings, y, words):
    with pytest.raises((qed.QedError, ValueError), match=words):
        CalibratedClassifierCV(**{"estimator": GaussianNB(), **settings}).fit(X, y)
