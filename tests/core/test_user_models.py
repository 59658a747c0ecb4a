"""Estimators that users write for scikit-learn's protocol, with qed's base class, mixins and checks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.utils
import sklearn.utils.validation

from qed.base import (
    BaseEstimator,
    BiclusterMixin,
    ClassifierMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from qed.core import InvalidParameter
from qed.exceptions import ConvergenceWarning, NotFittedError
from qed.linear_model import Ridge
from qed.model_selection import GridSearchCV, cross_val_score
from qed.pipeline import make_pipeline
from qed.utils import resample, shuffle
from qed.utils.validation import (
    as_float_array,
    check_array,
    check_is_fitted,
    check_random_state,
    check_symmetric,
    check_X_y,
    column_or_1d,
    indexable,
    validate_data,
)


class Nearest(ClassifierMixin, BaseEstimator):
    """The class of the nearest mean."""

    def __init__(self, power=2.0, inner=None):
        self.power = power
        self.inner = inner

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        far = (np.abs(X[:, None] - self.means_) ** self.power).sum(axis=2)
        return self.classes_[far.argmin(axis=1)]


class Centred(TransformerMixin, BaseEstimator):
    """Columns less their means."""

    def fit(self, X, y=None):
        self.mean_ = check_array(X).mean(axis=0)
        return self

    def transform(self, X):
        return check_array(X) - self.mean_


class Mean(RegressorMixin, BaseEstimator):
    """The mean of the target."""

    def fit(self, X, y):
        _, y = check_X_y(X, y, y_numeric=True)
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0, "yes", "no")


def test_a_classifier_in_pipelines_searches_and_folds():
    X, y = _rows()
    model = make_pipeline(Centred(), Nearest())
    assert cross_val_score(model, X, y).mean() > 0.85
    search = GridSearchCV(model, {"nearest__power": [1.0, 2.0]}, cv=3).fit(X, y)
    assert search.best_params_["nearest__power"] in (1.0, 2.0)
    assert is_classifier(Nearest())
    assert is_regressor(Mean())
    assert not is_classifier(Mean())
    assert is_regressor(Ridge())


def test_parameters_copies_and_words():
    model = Nearest(power=3.0, inner=Ridge(alpha=2.0))
    copy = clone(model)
    assert copy.get_params()["inner__alpha"] == 2.0
    assert copy.set_params(inner__alpha=5.0).inner.alpha == 5.0
    assert model.inner.alpha == 2.0
    assert repr(Nearest(power=3.0)) == "Nearest(power=3.0)"
    with pytest.raises(ValueError, match="Invalid parameter 'speed'"):
        model.set_params(speed=1)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Nearest().predict([[1.0]])


def test_scores_are_those_of_the_roles():
    X, y = _rows()
    assert Nearest().fit(X, y).score(X, y) == np.mean(Nearest().fit(X, y).predict(X) == y)
    assert Mean().fit(X, X[:, 0]).score(X, X[:, 0]) == pytest.approx(0.0)


def test_columns_are_remembered_and_compared():
    X, y = _rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = Nearest().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[np.nan]], "NaN"),
        ([1.0, 2.0], "Expected 2D"),
        (np.zeros((0, 2)), "0 sample"),
        (sp.csr_array(np.eye(2)), "Sparse"),
    ],
)
def test_arrays_are_refused_in_scikit_learns_words(value, words):
    with pytest.raises((ValueError, TypeError), match=words):
        check_array(value)
    with pytest.raises((ValueError, TypeError), match=words):
        sklearn.utils.check_array(value)


def test_arrays_that_are_accepted():
    assert check_array([[1, 2]]).dtype.kind == "i"
    assert check_array([[1, 2]], dtype=np.float32).dtype == np.float32
    assert check_array(sp.csc_array(np.eye(2)), accept_sparse="csr").format == "csr"
    assert check_array([[np.nan]], ensure_all_finite="allow-nan").shape == (1, 1)
    assert column_or_1d([[1], [2]]).tolist() == [1, 2]
    rows = np.eye(2)
    assert check_array(rows) is rows
    assert not np.shares_memory(check_array(rows, copy=True), rows)


def test_draws_are_those_of_scikit_learn():
    X, y = _rows()
    for ours, theirs in ((shuffle, sklearn.utils.shuffle), (resample, sklearn.utils.resample)):
        for found, known in zip(ours(X, y, random_state=4), theirs(X, y, random_state=4), strict=True):
            np.testing.assert_array_equal(found, known)
    assert check_random_state(3).randint(1000) == sklearn.utils.check_random_state(3).randint(1000)


def test_warnings_have_scikit_learns_names():
    assert issubclass(ConvergenceWarning, UserWarning)


def test_biclusters_and_several_columns_of_targets():
    class Blocks(BiclusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.rows_ = np.array([[True, False, True], [False, True, False]])
            self.columns_ = np.array([[True, False], [False, True]])
            return self

    table = np.arange(6).reshape(3, 2)
    model = Blocks()
    with pytest.raises(NotFittedError):
        model.get_indices(0)
    model.fit(table)
    assert model.get_shape(0) == (2, 1)
    assert model.get_submatrix(0, table).tolist() == [[0], [4]]
    with pytest.raises(InvalidParameter, match="number of a bicluster"):
        model.get_indices(2)

    class Columns(MultiOutputMixin, RegressorMixin, BaseEstimator):
        pass

    assert Columns().__sklearn_tags__().target_tags.multi_output
    assert not Blocks().__sklearn_tags__().target_tags.multi_output


def test_what_is_not_there_says_so():
    with pytest.raises(ImportError, match="not in qed, use sklearn"):
        from qed.utils import murmurhash3_32  # noqa: F401, PLC0415


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "bool", "float16", "float32", "float64"])
def test_floats_have_the_type_that_scikit_learn_gives_them(kind):
    X = np.arange(6).reshape(2, 3).astype(kind)
    np.testing.assert_array_equal(as_float_array(X), X)
    assert as_float_array(X).dtype == sklearn.utils.validation.as_float_array(X).dtype
    if X.dtype.kind == "f" and X.dtype.itemsize > 2:
        assert as_float_array(X, copy=False) is X
        assert as_float_array(X) is not X
    with pytest.raises(ValueError, match="NaN"):
        as_float_array([[np.nan]])


def test_symmetric_arrays_and_tables_whose_rows_can_be_picked():
    square = np.arange(9.0).reshape(3, 3)
    with pytest.warns(UserWarning, match="not symmetric"):
        np.testing.assert_array_equal(check_symmetric(square), (square + square.T) / 2)
    with pytest.warns(UserWarning, match="not symmetric"):
        assert check_symmetric(sp.csc_array(square)).format == "csc"
    assert check_symmetric(np.eye(3)) is not None
    with pytest.raises(ValueError, match="must be symmetric"):
        check_symmetric(square, raise_exception=True)
    with pytest.raises(ValueError, match="square"):
        check_symmetric(square[:2])
    names, nothing, by_rows, drawn = indexable(["a", "b"], None, sp.coo_array(np.eye(2)), range(2))
    assert (names, nothing, by_rows.format) == (["a", "b"], None, "csr")
    assert drawn[1] == 1
    with pytest.raises(ValueError, match="inconsistent"):
        indexable([1, 2], np.ones(3))
