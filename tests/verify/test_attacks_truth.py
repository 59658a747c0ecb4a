"""Certificates that were false, and honest models that were refused: one test for each, under the letter of the finding."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from tests.truth import least_squares

import qed
from qed.cluster import KMeans
from qed.convex import L2, Problem, Softmax
from qed.designs import design
from qed.linear_model import (
    BestSubsetRegressor,
    BoundedRegressor,
    ConstrainedLasso,
    ConstrainedRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    PowerRegressor,
    Ridge,
    SquareRootLasso,
)
from qed.naive_bayes import GaussianNB
from qed.neighbors import NearestNeighbors
from qed.svm import LinearSVC
from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(13)


def test_f1_poisson_trees_may_leave_a_side_without_events():
    X, y = [[0], [1], [2], [3]], [0, 0, 3, 3]
    model = DecisionTreeRegressor(max_depth=1, criterion="poisson").fit(X, y)
    assert model.tree_.threshold[0] == 1.5
    assert model.certificate_.objective == 0
    assert model.predict(X).tolist() == [0, 0, 3, 3]
    assert qed.verify(model, X, y).holds


def test_f5_trees_refuse_targets_and_weights_whose_powers_leave_float64():
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    for size in (1e100, 1e-100):
        with pytest.raises(qed.InvalidData, match="multiply y by a constant"):
            DecisionTreeRegressor(max_depth=1).fit(X, size * y)
    for size in (1e200, 1e-300):
        for model in (DecisionTreeClassifier(max_depth=1), DecisionTreeRegressor(max_depth=1)):
            with pytest.raises(qed.InvalidData, match="multiply them by a constant"):
                model.fit(X, y > 0, np.full(8, size))
    for size, weight in ((1e45, 1e45), (1e-45, 1e-45), (1e45, 1e-45), (1e-45, 1e45)):
        model = DecisionTreeRegressor(max_depth=2).fit(X, size * y, np.full(8, weight))
        same = DecisionTreeRegressor(max_depth=2).fit(X, y)
        np.testing.assert_array_equal(model.tree_.threshold, same.tree_.threshold)
        np.testing.assert_allclose(model.certificate_.lower, size**2 * same.certificate_.lower)
        assert qed.verify(model, X, size * y, np.full(8, weight)).holds


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
def test_a8_trees_of_weights_over_fourteen_orders_of_magnitude_are_accepted(criterion):
    make = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    for depth in (None, 1, 2, 4, None, None):
        n, s = 24, 10 ** rng.uniform(-7, 7, 24)
        X, y = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
        model = make(criterion=criterion, max_depth=depth).fit(X, y, s)
        assert qed.verify(model, X, y, s).holds


def test_f2_constant_columns_whose_squares_vanish_are_refused_without_an_intercept():
    for tiny in (1e-200, 1e-160):
        A = np.c_[np.full(6, tiny), np.arange(6.0)]
        for learn in (LinearRegression.fit, LinearRegression.partial_fit):
            with pytest.raises(qed.InvalidData, match=r"column 0 of X .* in every row"):
                learn(LinearRegression(fit_intercept=False), A, np.ones(6))
        with pytest.raises(qed.InvalidData, match="in every row"):
            LinearRegression(fit_intercept=False).fit(A[:1], [1.0])
        model = LinearRegression().fit(A, np.arange(6.0) ** 2)  # beside an intercept a constant says nothing
        assert qed.verify(model, A, np.arange(6.0) ** 2).holds
    assert LinearRegression(fit_intercept=False).fit(np.c_[np.zeros(6), np.arange(6.0)], np.ones(6)).rank_ == 1


def test_f3_a_row_that_is_left_alone_is_as_uncertain_as_what_was_cancelled():
    B, c = [[1e12], [2e12], [-1e12]], [0.1, 0.5, -0.8]
    model = LinearRegression().partial_fit([[1e5]], [-0.9]).partial_fit(B, c).forget(B, c)
    model.partial_fit([[-6e5]], [-0.76])
    assert model.certificate_.objective <= model.certificate_.gap  # two points: the optimum is zero
    assert model.rank_ == 1
    assert qed.verify(model, [[1e5], [-6e5]], [-0.9, -0.76]).holds
    model = LinearRegression().partial_fit([[1.0]], [-0.9]).partial_fit(B, c)
    with pytest.raises(qed.ForgetError, match="known to within"):
        model.forget(B, c)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 0.0])
def test_f4_a9_best_subsets_of_nearly_equal_columns_say_how_far_they_speak(apart):
    for _ in range(6):
        A = rng.normal(size=(6, 2))
        A[:, 1] = A[:, 0] * (1 + apart * rng.normal(size=6))
        y = rng.normal(size=6)
        model = BestSubsetRegressor(2).fit(A, y)
        certificate = model.certificate_
        assert np.isinf(certificate.radius) == (apart > 1e-3)
        assert qed.verify(model, A, y).holds
        Z, t = A - A.mean(axis=0), y - y.mean()
        if apart >= 1e-6:  # so much double precision can tell: no coefficients at all leave less
            along = np.linalg.svd(Z, full_matrices=False)[0].T @ t
            assert certificate.objective - certificate.gap <= t @ t - along @ along
        model.certificate_ = dataclasses.replace(certificate, radius=0.0)
        with pytest.raises(qed.CertificateError):
            qed.verify(model, A, y)
        if apart < 1e-3:
            model.certificate_ = dataclasses.replace(certificate, radius=np.inf)
            with pytest.raises(qed.CertificateError):
                qed.verify(model, A, y)


@pytest.mark.parametrize(
    ("power", "size"), [(60, 1e-3), (3, 1e-120), (2.5, 1e-120), (300, 1.0), (0.4, 1e-100), (7, 1e120)]
)
def test_f6_large_powers_neither_under_nor_overflow(power, size):
    for n in (40, 1600):  # by a scan, and by a tree
        Z = size * rng.normal(size=(n, 2))
        model = NearestNeighbors(n_neighbors=2, p=power).fit(Z)
        distances, ids = model.kneighbors()
        every = np.abs(Z[:60, None].astype(np.longdouble) - Z)
        top = np.where(every.max(axis=2) > 0, every.max(axis=2), 1)
        true = top * np.sum((every / top[..., None]) ** power, axis=2) ** (1 / np.longdouble(power))
        true[np.arange(len(true)), np.arange(len(true))] = np.inf
        np.testing.assert_array_equal(ids[:60], np.argsort(true, axis=1)[:, :2])
        np.testing.assert_allclose(distances[:60], np.sort(true, axis=1)[:, :2].astype(float), rtol=1e-13)
        assert qed.verify(model, Z).holds


def test_f7_a10_clusters_refuse_rows_without_squares():
    X = rng.normal(size=(12, 2))
    for size, weight in ((1e-160, 1e200), (1e-150, 1e250), (1e160, 1e-200)):
        with pytest.raises(qed.InvalidData, match="squares"):
            KMeans(3, random_state=0).fit(size * X, sample_weight=np.full(12, weight))
    for size, weight in ((1e-140, 1e100), (1e140, 1e-100)):
        model = KMeans(3, random_state=0).fit(size * X, sample_weight=np.full(12, weight))
        assert qed.verify(model, size * X, sample_weight=np.full(12, weight)).holds


def test_f8_a10_objectives_that_are_no_numbers_are_refused_by_the_fit():
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    with pytest.raises(qed.InvalidData, match="leaves float64"):
        LinearRegression().fit(1e-119 * X, 1e62 * y)
    for model in (Lasso(0.1), ElasticNet(0.1), Ridge(), LinearRegression()):
        for span in (100, 150, 155, 160, 200, 300):
            s = 10.0 ** np.linspace(-span, min(span, 140), 8)
            try:
                model.fit(X, y, s)
            except qed.InvalidData:
                continue
            assert np.isfinite([model.certificate_.objective, model.certificate_.gap]).all()
            assert qed.verify(model, X, y, s).holds


# -- found since by the fuzzer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "offset"), [(3.0, 3e7), (6.0, 3e7), (1.5, 1e9)])
def test_powers_of_errors_charge_the_rounding_of_the_intercept(power, offset):
    """Residuals are met exactly beside a centred intercept; the stored one is rounded, and its error is all that is left."""
    X = np.array([[offset + 0.01, 419.2, 1.217], [offset + 0.01, 417.2, 3.217], [offset + 2.01, 419.2, 3.217]])
    y, s = np.array([1.1133860342065005, 1.0597913088832178, 0.9608400978294717]), np.array([0.1, 2.4, 4.2])
    model = PowerRegressor(power, tol=0.01).fit(X, y, s)
    off = [
        abs(
            sum((Fraction(a) * Fraction(b) for a, b in zip(row, model.coef_, strict=True)), Fraction(model.intercept_))
            - t
        )
        for row, t in zip(X, map(Fraction, y), strict=True)
    ]
    true = sum(c * float(r) ** power / power for c, r in zip(s / s.sum(), off, strict=True))
    assert 0 < true <= model.certificate_.gap
    assert qed.verify(model, X, y, s).holds


@pytest.mark.parametrize("size", [1.0, 1e95, 1e-95])
def test_gaps_of_hard_margins_neither_vanish_nor_forget_rounding(size):
    X, y = size * np.array([[-9.1, 3.5, 6.8], [0.87, 0.44, -3.28], [4.0, 5.0, 1.0]]), [1, 0, 0]
    model = LinearSVC(loss="hinge", C=np.inf).fit(X, y)
    certificate = model.certificate_
    assert 0 < certificate.rounding <= certificate.gap <= 1e-6 * certificate.objective
    assert qed.verify(model, X, y).holds
    model.coef_ *= 1 + 1e-7  # the margins grow with the coefficients: no row is on the wrong side of its own
    model.intercept_ *= 1 + 1e-7
    with pytest.raises(qed.CertificateError, match="is not what these data give"):
        qed.verify(model, X, y)


@pytest.mark.filterwarnings("ignore:LinearSVC stopped")  # so far away float64 has no more digits
def test_hard_margins_far_from_the_origin_are_accepted():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]) + 1e9
    model = LinearSVC(loss="hinge", C=np.inf).fit(X, [0, 0, 1, 1])
    assert qed.verify(model, X, [0, 0, 1, 1]).holds


def test_tiny_limits_of_coefficients_have_a_multiplier():
    X, y = 1e90 * rng.normal(size=(9, 2)), rng.normal(size=9)
    for radius in (1e-96, 1e-99):
        model = ConstrainedRidge(radius).fit(X, y)
        np.testing.assert_allclose(np.linalg.norm(model.coef_), radius)
        assert qed.verify(model, X, y).holds


def test_several_classes_without_an_intercept_have_none():
    """Newton's step gave the empty column of the intercept what rounding left of nearly dependent columns."""
    for seed in range(12):
        draw = np.random.default_rng(seed)
        X = draw.normal(size=(50, 4)) * [1e-3, 1.0, 0.02, 100.0] + [1357.55, 1.5, -456.1, 0.0]
        y, s = draw.integers(0, 3, 50), 10.0 ** draw.uniform(-7, 7, 50)
        model = LogisticRegression(fit_intercept=False).fit(X, y, s)
        scores = X.astype(np.longdouble) @ model.coef_.T.astype(np.longdouble)
        loss = np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1)) + scores.max(1) - scores[np.arange(50), y]
        assert model.certificate_.objective == pytest.approx(float(s @ loss + (model.coef_**2).sum() / 2), rel=1e-6)
        assert qed.verify(model, X, y, s).holds
    problem = Problem(design(X), Softmax(y.astype(float), 3), L2(1.0), s / s.sum(), free_intercept=False)
    w, b = problem.null_point
    assert problem.certify(w, b + 5.0).objective == problem.certify(w, b).objective


@pytest.mark.parametrize("offset", [1e9, 1e11])
def test_targets_far_from_zero_are_accepted(offset):
    """Errors are differences of large numbers: what float64 leaves of them is no change of the model."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(30, 3))
    y = offset + X @ [1.0, -2.0, 0.5] + 0.5 * draw.normal(size=30)
    for model in (
        SquareRootLasso(0.1),
        HuberRegressor(),
        Lasso(0.1),
        PowerRegressor(3.0),
        ConstrainedLasso(1.0),
        BoundedRegressor(),
    ):
        assert qed.verify(model.fit(X, y), X, y).holds


@pytest.mark.parametrize(
    "model",
    [
        BoundedRegressor(fit_intercept=False),
        LogisticRegression(C=np.inf, fit_intercept=False),
        LassoCV(fit_intercept=False, cv=2),
    ],
)
def test_f2_constant_columns_whose_squares_vanish_are_refused_by_every_model(model):
    A = np.c_[np.full(6, 1e-200), [1.0, -1.0, 2.0, -1.0, -2.0, 1.0]]
    y = np.array([0, 1, 1, 0, 1, 0])
    with pytest.raises(qed.InvalidData, match="in every row"):
        model.fit(A, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_f3_an_objective_that_is_forgotten_down_to_rounding_is_not_known():
    judged = list(least_squares.cases(900001307))
    assert any(one.what == "objective" and "forgetting" in one.model for one in judged)
    assert not [one for one in judged if one.is_false]


def test_naive_bayes_refuses_weights_that_make_squares_vanish():
    X, y = 1e-125 * rng.normal(size=(12, 3)), np.arange(12) % 2
    with pytest.raises(qed.InvalidData, match="underflows"):
        GaussianNB().fit(X, y, np.full(12, 1e-145))
    assert qed.verify(GaussianNB().fit(X, y), X, y).holds
