"""Greedy choice of columns: scikit-learn's choices, shared work that is the same as single fits, its proof."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.feature_selection import SequentialFeatureSelector as Theirs
from sklearn.linear_model import LinearRegression as TheirLinear
from sklearn.neighbors import KNeighborsClassifier

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.feature_selection import SequentialFeatureSelector, forward_selection, subset_score
from qed.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from qed.model_selection import KFold

rng = np.random.default_rng(5)
X = rng.normal(size=(60, 7)) @ (np.eye(7) + 0.4) + 3.0
Y = X[:, [1, 4, 5]] @ [1.0, -2.0, 0.5] + rng.normal(size=60)
LABELS = np.where(np.median(Y) < Y, "high", "low")


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_features_to_select": 2, "cv": 3},
        {"n_features_to_select": 0.6, "scoring": "neg_mean_absolute_error"},
        {"tol": 1e-3},
        {"cv": KFold(4, shuffle=True, random_state=0)},
    ],
    ids=str,
)
def test_chooses_what_scikit_learn_chooses(direction, options):
    if direction == "backward" and "tol" in options:
        options = {"tol": -0.01}
    ours = SequentialFeatureSelector(LinearRegression(), direction=direction, **options).fit(X, Y)
    theirs = Theirs(TheirLinear(), direction=direction, **options).fit(X, Y)
    np.testing.assert_array_equal(ours.get_support(), theirs.get_support())
    assert ours.n_features_to_select_ == theirs.n_features_to_select_
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    assert qed.verify(ours, X, Y).holds


@pytest.mark.covers("SEL-18")
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(3.0, fit_intercept=False)], ids=repr)
def test_shared_work_gives_the_scores_of_single_fits(model):
    score = subset_score(model, X, Y, cv=4)
    found = SequentialFeatureSelector(model, n_features_to_select=4, cv=4).fit(X, Y)
    alone = forward_selection(score, 7, max_columns=4)
    assert tuple(sorted(found.order_[: len(alone.columns)])) == alone.columns
    np.testing.assert_allclose(found.scores_[: len(alone.path)], [-value for _, value in alone.path], rtol=1e-9)


def test_dependent_columns_are_fitted_one_by_one():
    twice = np.column_stack([X, X[:, 1], 1e-9 * X[:, 4]])
    ours = SequentialFeatureSelector(LinearRegression(), n_features_to_select=4).fit(twice, Y)
    score = -subset_score(LinearRegression(), twice, Y, cv=5)(tuple(np.flatnonzero(ours.support_)))
    assert ours.scores_[-1] == pytest.approx(score, rel=1e-7)


def test_classifiers_weights_sparse_rows_and_other_libraries():
    few = {"n_features_to_select": 2, "cv": 3}
    theirs = Theirs(KNeighborsClassifier(), **few).fit(X, LABELS)
    ours = SequentialFeatureSelector(KNeighborsClassifier(), n_jobs=2, **few).fit(X, LABELS)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert qed.verify(SequentialFeatureSelector(LogisticRegression(), **few).fit(X, LABELS), X, LABELS).holds
    dense = SequentialFeatureSelector(Ridge(), **few).fit(X, Y)
    sparse = SequentialFeatureSelector(Ridge(), **few).fit(scipy.sparse.csr_array(X), Y)
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    assert scipy.sparse.issparse(sparse.transform(scipy.sparse.csr_array(X)))
    s = rng.integers(1, 4, size=60).astype(float)
    weighted = SequentialFeatureSelector(Ridge(), **few).fit(X, Y, sample_weight=s)
    assert qed.verify(weighted, X, Y, s).holds
    lasso = SequentialFeatureSelector(Lasso(0.1), **few).fit(X, Y)
    assert lasso.support_.sum() == 2


def test_names_and_the_way_back():
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = SequentialFeatureSelector(Ridge(), n_features_to_select=3).fit(frame, Y)
    names = model.get_feature_names_out().tolist()
    assert names == [name for name, keep in zip("abcdefg", model.support_, strict=True) if keep]
    back = model.inverse_transform(model.transform(frame))
    np.testing.assert_array_equal(back, np.where(model.support_, X, 0.0))
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == names
    with pytest.raises(InvalidData, match="keeps 3 columns"):
        model.inverse_transform(X)


def test_refusals():
    with pytest.raises(InvalidParameter, match=r"must be a model with fit, got <class"):
        SequentialFeatureSelector(LinearRegression).fit(X, Y)
    with pytest.raises(InvalidParameter, match="must be < n_features, got 7 for 7 columns"):
        SequentialFeatureSelector(Ridge(), n_features_to_select=7).fit(X, Y)
    with pytest.raises(InvalidParameter, match="tol must be positive when doing forward selection"):
        SequentialFeatureSelector(Ridge(), tol=-1.0).fit(X, Y)
    with pytest.raises(InvalidParameter, match="takes one score"):
        SequentialFeatureSelector(Ridge(), scoring=["r2", "neg_max_error"]).fit(X, Y)
    with pytest.raises(InvalidData, match="a minimum of 2 is required"):
        SequentialFeatureSelector(Ridge()).fit(X[:, :1], Y)


def test_changed_steps_are_refused():
    model = SequentialFeatureSelector(Ridge(), n_features_to_select=2).fit(X, Y)
    model.support_ = model.support_[::-1].copy()
    with pytest.raises(CertificateError, match="other columns than its steps"):
        qed.verify(model, X, Y)
    model = SequentialFeatureSelector(Ridge(), n_features_to_select=2).fit(X, Y)
    other = int(np.flatnonzero(~model.support_)[0])
    model.order_ = np.array([model.order_[0], other])
    model.support_ = np.isin(np.arange(7), model.order_)
    with pytest.raises(CertificateError, match="states a score of"):
        qed.verify(model, X, Y)
    score = -subset_score(Ridge(), X, Y, cv=5)(tuple(sorted(model.order_)))
    model.scores_ = np.array([model.scores_[0], score])
    with pytest.raises(CertificateError, match=rf"took column {other}, which scores"):
        qed.verify(model, X, Y)
