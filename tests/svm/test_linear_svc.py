"""LinearSVC: the optimum of liblinear's objectives, with a proof; hard margins, and what proves that there is none."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import load_iris, load_wine
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Theirs

import qed
from qed import CertificateError, InvalidData, InvalidParameter, ToleranceNotReached
from qed.core._events import STOP, listen
from qed.svm import LinearSVC

X3, y3 = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
X2 = rng.normal(size=(120, 4)) + 0.5
y2 = np.where(X2 @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=120) > 0, "yes", "no")
weights = rng.integers(0, 4, 120)


def objective(model, X, y, s=None):
    """The documented objective, written down once more."""
    s = np.ones(len(X)) if s is None else np.asarray(s, dtype=float)
    classes = np.unique(y)
    w = np.atleast_2d(model.coef_)
    b = np.broadcast_to(model.intercept_, (len(w),))
    t = X @ w.T + b
    factor = dict.fromkeys(classes, 1.0)
    if isinstance(model.class_weight, dict):
        factor |= model.class_weight
    elif model.class_weight == "balanced":
        factor = {label: s.sum() / (len(classes) * s[y == label].sum()) for label in classes}
    f = np.array([factor[label] for label in y])
    level = b / model.intercept_scaling
    size = 0.5 * (np.sum(w**2) + np.sum(level**2)) if model.penalty == "l2" else np.abs(w).sum() + np.abs(level).sum()
    power = 2 if model.loss == "squared_hinge" and model.multi_class == "ovr" else 1
    if len(classes) == 2:
        signs = np.where(y == classes[1], 1.0, -1.0)
        size = size / 2 if model.multi_class == "crammer_singer" else size
        return size + model.C * np.sum(s * f * np.maximum(1 - signs * t[:, 0], 0) ** power)
    if model.multi_class == "crammer_singer":
        own = y[:, None] == classes
        ahead = np.max(t + ~own, axis=1) - t[own]
        return size + model.C * np.sum(s * f * ahead)
    total = size
    for k, label in enumerate(classes):
        own = y == label
        lack = np.maximum(1 - np.where(own, 1, -1) * t[:, k], 0) ** power
        total += model.C * np.sum(s * np.where(own, f, 1.0) * lack)
    return total


CASES = {
    "default": {},
    "hinge": {"loss": "hinge"},
    "l1": {"penalty": "l1", "dual": False},
    "joint": {"multi_class": "crammer_singer", "C": 0.1},
    "balanced": {"loss": "hinge", "class_weight": "balanced", "C": 0.1},
    "no intercept": {"fit_intercept": False, "C": 3.0},
    "scaled": {"intercept_scaling": 5.0},
}


@pytest.mark.parametrize("data", ["two", "three"])
@pytest.mark.parametrize("case", CASES)
def test_reaches_the_objective_of_liblinear_and_proves_it(case, data):
    X, y = (X2, y2) if data == "two" else (X3, y3)
    ours = LinearSVC(tol=1e-7, **CASES[case]).fit(X, y)
    theirs = Theirs(tol=1e-6, max_iter=20_000, random_state=0, **CASES[case])
    with warnings.catch_warnings():  # liblinear may stop before its tolerance; the objectives are compared below
        warnings.simplefilter("ignore")
        theirs.fit(X, y)
    proof = ours.certificate_
    assert proof.reached
    assert proof.objective == pytest.approx(objective(ours, X, y), rel=1e-9)
    stand_in = LinearSVC(**CASES[case])
    stand_in.coef_, stand_in.intercept_ = theirs.coef_, np.asarray(theirs.intercept_)
    assert proof.objective <= objective(stand_in, X, y) + proof.gap
    assert proof.objective >= objective(stand_in, X, y) - 1e-2 * proof.objective
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape
    assert qed.verify(ours, X, y).holds
    ours.coef_ = 1.02 * ours.coef_ + 0.01
    with pytest.raises(CertificateError):
        qed.verify(ours, X, y)


@pytest.mark.parametrize("case", ["l1 hinge", "joint weighted", "ovr weighted"])
def test_agrees_with_an_interior_point_method_from_outside(case):
    X, y = X3[::3] - X3.mean(axis=0), y3[::3]
    options = {
        "l1 hinge": {"penalty": "l1", "loss": "hinge", "C": 0.5},
        "joint weighted": {"multi_class": "crammer_singer", "class_weight": {1: 3.0}},
        "ovr weighted": {"loss": "hinge", "class_weight": {0: 0.5, 2: 4.0}, "C": 0.2},
    }[case]
    model = LinearSVC(tol=1e-7, **options).fit(X, y)
    W, b = cp.Variable((4, 3)), cp.Variable((1, 3))
    t = X @ W + np.ones((len(X), 1)) @ b
    f = np.array([options.get("class_weight", {}).get(label, 1.0) for label in y])
    own = (y[:, None] == np.arange(3)).astype(float)
    if case == "joint weighted":
        lack = cp.max(t + (1 - own), axis=1) - cp.sum(cp.multiply(own, t), axis=1)
        loss = cp.sum(cp.multiply(f, lack))
    else:
        loss = cp.sum(cp.multiply(np.where(own > 0, f[:, None], 1.0), cp.pos(1 - cp.multiply(2 * own - 1, t))))
    both = cp.vstack([W, b])
    size = cp.sum(cp.abs(both)) if "penalty" in options else cp.sum_squares(both) / 2
    best = cp.Problem(cp.Minimize(size + options.get("C", 1.0) * loss)).solve(solver=cp.CLARABEL)
    assert model.certificate_.objective == pytest.approx(best, rel=1e-6)
    assert model.certificate_.objective - model.certificate_.gap <= best * (1 + 1e-8)
    assert qed.verify(model, X, y).holds


@pytest.mark.parametrize("options", [{}, {"loss": "hinge"}, {"penalty": "l1"}])
def test_a_weight_is_a_repetition_and_layouts_agree(options):
    weighed = LinearSVC(tol=1e-10, **options).fit(X2, y2, weights)
    repeated = LinearSVC(tol=1e-10, **options).fit(np.repeat(X2, weights, axis=0), np.repeat(y2, weights))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-5)
    assert qed.verify(weighed, X2, y2, weights).holds
    sparse = LinearSVC(tol=1e-10, **options).fit(csr_array(X2), y2, weights)
    np.testing.assert_allclose(weighed.coef_, sparse.coef_, atol=1e-5)


def test_many_rows_take_the_same_road_to_the_same_optimum():
    X = rng.normal(size=(3000, 30))
    y = X[:, 0] + 0.5 * rng.normal(size=3000) > 0
    many = LinearSVC(tol=1e-9).fit(X, y)
    few = Theirs(tol=1e-8, dual=False).fit(X, y)
    np.testing.assert_allclose(many.coef_, few.coef_, atol=1e-5)
    assert many.coef_.dtype == np.float64
    assert many.decision_function(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("intercept", [True, False])
def test_the_widest_margin_is_that_of_a_hard_machine(intercept):
    rows = (X3 - [5.2, 3.2, 2.4, 0.7])[y3 < 2]
    labels = y3[y3 < 2]
    model = LinearSVC(C=np.inf, fit_intercept=intercept, tol=1e-9).fit(rows, labels)
    signs = np.where(labels == 1, 1.0, -1.0)
    margins = signs * model.decision_function(rows)
    assert margins.min() >= 1 - 1e-9
    w, b = cp.Variable(4), cp.Variable()
    planes = cp.multiply(signs, rows @ w + (b if intercept else 0.0)) >= 1
    best = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [planes]).solve(solver=cp.CLARABEL)
    assert model.certificate_.objective == pytest.approx(best, rel=1e-6)
    assert qed.verify(model, rows, labels).holds
    for change in (1.001, 0.999):  # a narrower margin than claimed, and one that rows fall short of
        changed = LinearSVC(C=np.inf, fit_intercept=intercept).fit(rows, labels)
        changed.coef_, changed.intercept_ = change * model.coef_, change * model.intercept_
        with pytest.raises(CertificateError):
            qed.verify(changed, rows, labels)
    if intercept:
        theirs = SVC(C=1e10, kernel="linear").fit(rows, labels)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-2)


def test_rows_that_no_plane_separates_have_no_hard_margin_and_the_error_proves_it():
    with pytest.raises(InvalidData, match="No hyperplane separates") as caught:
        LinearSVC(C=np.inf).fit(X3, y3)
    proof = caught.value.separation
    assert not proof.separable
    assert proof.holds(X3, y3 == 1)
    for options in ({"penalty": "l1"}, {"class_weight": "balanced"}, {"intercept_scaling": 2.0}):
        with pytest.raises(InvalidParameter, match="left at its default with C=inf"):
            LinearSVC(C=np.inf, **options).fit(X2, y2)
    several = LinearSVC(C=np.inf).fit([[0.0, 3.0], [3.0, 0.0], [-3.0, -3.0]], ["a", "b", "c"])
    assert several.predict([[0.0, 9.0], [9.0, 0.0], [-9.0, -9.0]]).tolist() == ["a", "b", "c"]


def test_what_cannot_be_is_refused_in_words():
    with pytest.raises(InvalidParameter, match="crammer_singer"):
        LinearSVC("l1", multi_class="crammer_singer").fit(X3, y3)
    with pytest.raises(ToleranceNotReached, match="relative gap"):
        LinearSVC(loss="hinge", tol=1e-12, max_iter=1, strict=True).fit(X3, y3)


def test_a_listener_ends_the_fit_and_what_there_is_can_be_verified():
    with listen(lambda _: STOP):
        model = LinearSVC(loss="hinge", tol=1e-9).fit(X3, y3)
    assert model.certificate_.outcome == "stopped"
    assert not model.certificate_.reached
    assert qed.verify(model, X3, y3).holds


def test_absolute_values_of_sparse_and_dense_tables_have_the_same_planes():
    random = np.random.default_rng(8)
    table = np.where(random.random((80, 30)) < 0.2, random.normal(size=(80, 30)), 0.0)
    label = table[:, 0] - table[:, 1] + 0.3 * random.normal(size=80) > 0
    dense = LinearSVC("l1", C=0.5, tol=1e-9).fit(table, label)
    assert 0 < np.count_nonzero(dense.coef_) < 30
    for form in (csr_array, csc_array):
        sparse = LinearSVC("l1", C=0.5, tol=1e-9).fit(form(table), label)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-4)
        np.testing.assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-4)
        assert sparse.certificate_.reached
        assert qed.verify(sparse, form(table), label).holds


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_several_classes_at_once_are_solved_on_any_scale(scale, C):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)) * scale
    y = np.digitize(X[:, 0] / scale + 0.5 * random.normal(size=40), [-0.5, 0.5])
    model = LinearSVC(multi_class="crammer_singer", C=C).fit(X, y)
    assert model.certificate_.reached
    assert qed.verify(model, X, y).holds


def test_several_classes_at_once_on_columns_of_different_sizes():
    wine = load_wine()
    dense = LinearSVC(multi_class="crammer_singer").fit(wine.data, wine.target)
    assert dense.certificate_.reached
    assert dense.score(wine.data, wine.target) > 0.97
    assert qed.verify(dense, wine.data, wine.target).holds
    sparse = LinearSVC(multi_class="crammer_singer").fit(csr_array(wine.data), wine.target)
    assert sparse.certificate_.objective == pytest.approx(dense.certificate_.objective, rel=1e-5)
