"""Classes by least squares with a chosen strength: scikit-learn's choices, exact leave-one-out, its proof."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifierCV as Theirs
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import KFold

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.linear_model import RidgeClassifier, RidgeClassifierCV

ALPHAS = np.geomspace(1e-3, 1e3, 7)
rng = np.random.default_rng(2)
X, CODES = load_iris(return_X_y=True)
X = X + 0.3 * rng.normal(size=X.shape)
LABELS = np.array(["one", "three", "two"])[CODES]
TWO = CODES > 0
MACRO = make_scorer(f1_score, average="macro")


@pytest.mark.parametrize("labels", [LABELS, TWO], ids=["three", "two"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"scoring": "accuracy"},
        {"scoring": MACRO, "fit_intercept": False},
        {"cv": 4},
        {"cv": KFold(3, shuffle=True, random_state=0), "scoring": MACRO},
    ],
    ids=str,
)
def test_chooses_what_scikit_learn_chooses(labels, options):
    if labels is TWO and options.get("scoring") is MACRO and "cv" not in options:
        labels = CODES  # scikit-learn hands its scorer a single class for two
    ours, theirs = RidgeClassifierCV(ALPHAS, **options).fit(X, labels), Theirs(ALPHAS, **options).fit(X, labels)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert qed.verify(ours, X, labels).holds


@pytest.mark.parametrize("shape", [(30, 3), (12, 40)])
def test_leave_one_out_is_what_refitting_gives(shape):
    rows = rng.normal(size=shape)
    labels = np.arange(shape[0]) % 3
    s = rng.integers(1, 3, shape[0]).astype(float)
    heavy = {0: 2.0, 1: 1.0, 2: 0.5}
    model = RidgeClassifierCV([0.1, 3.0], class_weight=heavy, store_cv_results=True).fit(rows, labels, s)
    signs = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    for i in (0, 7, shape[0] - 1):
        less = s.copy()
        less[i] = 0  # whole, whatever its weight
        for k, alpha in enumerate((0.1, 3.0)):
            refit = RidgeClassifier(alpha, class_weight=heavy).fit(rows, labels, less)
            error = (signs[i] - refit.decision_function(rows[[i]])[0]) ** 2
            np.testing.assert_allclose(model.cv_results_[i, :, k], error, rtol=1e-7)


def test_sparse_rows_repetition_and_refusals():
    times = rng.integers(1, 4, len(X))
    weighted = RidgeClassifierCV([1.0]).fit(X, LABELS, times)
    repeated = RidgeClassifierCV([1.0]).fit(np.repeat(X, times, axis=0), np.repeat(LABELS, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-10)
    sparse = RidgeClassifierCV(ALPHAS, cv=3).fit(scipy.sparse.csr_array(X), LABELS)
    assert sparse.alpha_ == RidgeClassifierCV(ALPHAS, cv=3).fit(X, LABELS).alpha_
    with pytest.raises(InvalidParameter, match=r"RidgeClassifierCV.scoring must be None, a function"):
        RidgeClassifierCV(scoring="roc").fit(X, LABELS)
    with pytest.raises(InvalidParameter, match=r"RidgeClassifierCV.alphas must be"):
        RidgeClassifierCV([0.0, 1.0]).fit(X, LABELS)
    with pytest.raises(InvalidParameter, match=r"RidgeClassifierCV: cv!=None and store_cv_results"):
        RidgeClassifierCV(cv=3, store_cv_results=True).fit(X, LABELS)


def test_a_changed_model_is_refused():
    model = RidgeClassifierCV().fit(X, LABELS)
    model.coef_ = 1.001 * model.coef_
    with pytest.raises(CertificateError, match="not those of the fit inside"):
        qed.verify(model, X, LABELS)
    model = RidgeClassifierCV().fit(X, LABELS)
    model.ridge_.alpha = 2 * model.ridge_.alpha
    with pytest.raises(CertificateError):
        qed.verify(model, X, LABELS)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stream_gives_the_model_of_all_rows(n_classes):
    random = np.random.default_rng(1)
    rows = random.normal(size=(120, 4))
    labels = np.array(["a", "b", "c"])[np.digitize(rows[:, 0] + random.normal(size=120), [-0.5, 0.5][: n_classes - 1])]
    order = np.argsort(labels, kind="stable")  # the first stretches hold one label each
    streamed = RidgeClassifier(class_weight={"a": 2.0})
    for part in np.split(order, 12):
        streamed.partial_fit(rows[part], labels[part], classes=np.unique(labels))
    whole = RidgeClassifier(class_weight={"a": 2.0}).fit(rows, labels)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-10)
    assert qed.verify(streamed, rows, labels).holds
    with pytest.raises(InvalidData, match="'z'"):
        streamed.partial_fit(rows[:2], ["a", "z"])
    with pytest.raises(InvalidParameter, match="classes must be passed"):
        RidgeClassifier().partial_fit(rows, labels)
    with pytest.raises(InvalidParameter, match="balanced"):
        RidgeClassifier(class_weight="balanced").partial_fit(rows, labels, classes=["a", "b", "c"])
