"""Gaps filled in rounds: agreement with scikit-learn, a slow definition, drawn fillings, and what the checker refuses."""

import warnings

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.experimental.enable_iterative_imputer
import sklearn.impute as theirs
import sklearn.linear_model

import qed
from qed.core import CertificateError, ConvergenceWarning, InvalidParameter
from qed.ensemble import RandomForestRegressor
from qed.experimental import enable_iterative_imputer  # noqa: F401  (the line that scripts have)
from qed.impute import IterativeImputer
from qed.linear_model import ARDRegression, LinearRegression, Ridge

RNG = np.random.default_rng(0)
WHOLE = RNG.normal(size=(120, 2)) @ RNG.normal(size=(2, 5)) + 0.1 * RNG.normal(size=(120, 5)) + 3
X = np.where(RNG.random(WHOLE.shape) < 0.2, np.nan, WHOLE)
X[:, 3] = WHOLE[:, 3]  # a column without gaps
HOLES = np.column_stack([X, np.full(len(X), np.nan)])
OPTIONS = [
    {},
    {"max_iter": 30},
    {"imputation_order": "roman", "initial_strategy": "median"},
    {"imputation_order": "arabic", "skip_complete": True},
    {"imputation_order": "descending", "add_indicator": True},
    {"min_value": [1, 2, 1, 2, 1, 0], "max_value": 4.5},
    {"initial_strategy": "constant", "fill_value": 2.5, "keep_empty_features": True},
    {"max_iter": 0},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OPTIONS)
def test_filled_tables_are_scikit_learns(options):
    # with a regressor of one exact answer both take the same rounds to the last digits
    a = IterativeImputer(LinearRegression(), **options).fit(HOLES)
    b = theirs.IterativeImputer(sklearn.linear_model.LinearRegression(), **options)
    b.fit(HOLES.copy())  # it may write into what it is given
    assert a.n_iter_ == b.n_iter_
    for rows in (HOLES, HOLES[:30] + 0.1, HOLES[:1], np.nan_to_num(HOLES)):
        left, right = a.transform(rows), b.transform(rows.copy())
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-8)
    assert len(a.get_feature_names_out()) == left.shape[1]
    assert qed.verify(a, HOLES).holds


@pytest.mark.filterwarnings("ignore")
def test_the_default_regressor_fills_as_scikit_learns():
    a, b = IterativeImputer().fit_transform(X), theirs.IterativeImputer().fit_transform(X)
    gaps = np.isnan(X)
    # both stop the ascent of the evidence within 1e-3 of its rest, at slightly different precisions
    np.testing.assert_allclose(a, b, rtol=1e-3)
    np.testing.assert_array_equal(a[~gaps], X[~gaps])
    off = np.abs(a - WHOLE)[gaps].mean()
    assert off < 0.3 * np.abs(np.nanmean(X, axis=0) - WHOLE)[gaps].mean()  # far nearer than means


def test_rounds_are_those_of_the_definition():
    model = IterativeImputer(Ridge(), max_iter=2, imputation_order="roman", tol=0.0)
    with pytest.warns(ConvergenceWarning, match="2 rounds"):
        filled = model.fit_transform(X)
    own, gaps = np.where(np.isnan(X), np.nanmean(X, axis=0), X), np.isnan(X)
    for _ in range(2):
        for j in range(5):
            others = [k for k in range(5) if k != j]
            known = ~gaps[:, j]
            A = own[known][:, others]
            centre, mean = A.mean(axis=0), own[known, j].mean()
            w = np.linalg.solve((A - centre).T @ (A - centre) + np.eye(4), (A - centre).T @ (own[known, j] - mean))
            own[gaps[:, j], j] = (own[gaps[:, j]][:, others] - centre) @ w + mean
    np.testing.assert_allclose(filled, own, rtol=1e-9)
    assert [one.feat_idx for one in model.imputation_sequence_] == [0, 1, 2, 3, 4] * 2
    assert model.imputation_sequence_[1].neighbor_feat_idx.tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize("kind", [None, ARDRegression()])
def test_drawn_fillings_keep_the_spread_and_the_limits(kind):
    low, high = 0.0, 6.0
    draws = []
    for seed in range(20):
        model = IterativeImputer(
            kind, sample_posterior=True, max_iter=3, random_state=seed, min_value=low, max_value=high
        )
        draws.append(model.fit_transform(X))
        np.testing.assert_array_equal(model.transform(X), draws[-1])  # the same numbers for the same rows
    assert qed.verify(model, X).holds
    gaps = np.isnan(X)
    filled = np.array([one[gaps] for one in draws])
    assert filled.min() >= low
    assert filled.max() <= high
    spread = filled.std(axis=0).mean()
    assert 0.05 < spread < 0.3  # the noise of the columns is 0.1, and predictors are themselves uncertain
    model.seed_ += 1
    with pytest.raises(CertificateError):
        qed.verify(model, X)


@pytest.mark.filterwarnings("ignore")
def test_nearest_columns_and_random_orders_follow_the_seed():
    options = {"n_nearest_features": 2, "imputation_order": "random", "max_iter": 3}
    a, b, c = (IterativeImputer(random_state=seed, **options).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.transform(X), b.transform(X))
    assert not np.array_equal(a.columns_, c.columns_)
    assert a.neighbors_.shape == (15, 2)
    assert qed.verify(a, X).holds
    a.neighbors_[0, 0] = next(j for j in range(5) if j not in {*a.neighbors_[0].tolist(), int(a.columns_[0])})
    with pytest.raises(CertificateError):
        qed.verify(a, X)


@pytest.mark.filterwarnings("ignore")
def test_any_regressor_fills():
    model = IterativeImputer(RandomForestRegressor(5, random_state=0), max_iter=2, tol=1.0).fit(X)
    assert qed.verify(model, X).holds
    assert not np.isnan(model.transform(X)).any()
    foreign = IterativeImputer(sklearn.ensemble.ExtraTreesRegressor(3, random_state=0), max_iter=2).fit(X)
    assert not np.isnan(foreign.transform(X)).any()
    with pytest.raises(CertificateError, match="carries no certificate"):
        qed.verify(foreign, X)


@pytest.mark.filterwarnings("ignore")
def test_changed_imputers_are_refused():
    def model():
        return IterativeImputer(max_iter=3, add_indicator=True).fit(X)

    def drop_round(one):
        one.estimators_, one.columns_, one.neighbors_ = one.estimators_[:5], one.columns_[:5], one.neighbors_[:5]

    def swap(one):
        one.estimators_[0], one.estimators_[1] = one.estimators_[1], one.estimators_[0]

    def first(one):
        one.initial_imputer_.statistics_[0] += 0.01

    def coefficients(one):
        one.estimators_[7].coef_ = one.estimators_[7].coef_ + 1e-3

    def marks(one):
        one.indicator_ = None

    for change in (drop_round, swap, first, coefficients, marks):
        changed = model()
        change(changed)
        with pytest.raises(CertificateError):
            qed.verify(changed, X)


def test_bad_parameters_are_named():
    for options, words in [
        ({"min_value": 2, "max_value": 1}, "min_value >= max_value"),
        ({"min_value": [0, 1]}, r"shape \(5,\)"),
        ({"max_value": "large"}, "max_value should be a number"),
        ({"missing_values": "gap"}, "missing_values should be a number"),
        ({"estimator": Ridge}, "must be an instance"),
    ]:
        with pytest.raises(InvalidParameter, match=words):
            IterativeImputer(**options).fit(X)


def test_edges_as_in_scikit_learn():
    one_column = X[:, :1]
    a, b = (kind().fit_transform(one_column) for kind in (IterativeImputer, theirs.IterativeImputer))
    np.testing.assert_allclose(a, b)
    np.testing.assert_array_equal(IterativeImputer().fit_transform(WHOLE), WHOLE)
    marked = np.where(np.isnan(X), -1, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # means of either kind of gap round differently
        filled = IterativeImputer(missing_values=-1).fit_transform(marked)
        np.testing.assert_allclose(filled, IterativeImputer().fit_transform(X), rtol=1e-9)
        single = IterativeImputer().fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32


def test_an_interrupted_fit_is_kept():
    def stop(event):
        return qed.STOP if event.source == "IterativeImputer" and event.step == 2 else None

    with qed.listen(stop):
        model = IterativeImputer(tol=0.0).fit(X)
    assert model.n_iter_ == 2
    assert qed.verify(model, X).holds
