"""What the roles add: scores, fit_predict, fit_transform, names of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import toys
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import accuracy_score, r2_score

from qed.core import Classifier, InvalidData, Regressor

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 3))


class Says(Regressor, multi_output=True):
    """Predicts what it was told."""

    def predict(self, X: Any) -> Any:
        return self.said

    said: Any = None


def numbers(shape: Any) -> Any:
    return hnp.arrays(np.float64, shape, elements=st.floats(-100, 100, width=32))


@given(st.data(), st.integers(2, 6), st.integers(1, 3))
def test_score_is_sklearns_r2(data: Any, n: int, m: int) -> None:
    truth, said = data.draw(numbers((n, m))), data.draw(numbers((n, m)))
    weight = data.draw(st.none() | hnp.arrays(np.int64, n, elements=st.integers(1, 5)))
    model = Says()
    model.said = said
    expected = r2_score(truth, said, sample_weight=weight)
    np.testing.assert_allclose(model.score(None, truth, weight), expected, rtol=1e-9, atol=1e-9)


def test_score_of_one_target_and_one_row() -> None:
    model = Says()
    model.said = np.array([1.0, 2.0, 4.0])
    assert model.score(None, [1, 2, 3]) == pytest.approx(r2_score([1, 2, 3], model.said))
    model.said = np.array([1.0])
    assert np.isnan(model.score(None, [1.0]))
    model.said = np.ones((2, 2))
    with pytest.raises(InvalidData, match="y has 3 targets, and the model predicts 2"):
        model.score(None, np.ones((2, 3)))


def test_accuracy() -> None:
    y = np.array(list("ab"))[np.arange(30) % 2]
    s = RNG.integers(1, 5, size=30)
    model = toys.CentroidClassifier().fit(X, y)
    assert model.score(X, y) == accuracy_score(y, model.predict(X))
    assert model.score(X, y, s) == pytest.approx(accuracy_score(y, model.predict(X), sample_weight=s))
    assert model.score(X, y[:, None]) == model.score(X, y)
    assert isinstance(model.score(X, y), float)

    class Several(Classifier, multi_output=True):
        def predict(self, X: Any) -> Any:
            return np.array([[0, 1], [1, 1]])

    assert Several().score(None, np.array([[0, 1], [1, 0]])) == 0.5


def test_groups_and_outliers() -> None:
    groups = toys.Groups(n_clusters=2)
    np.testing.assert_array_equal(groups.fit_predict(X), groups.labels_)
    weighted = toys.Groups(n_clusters=2).fit_predict(X, sample_weight=np.ones(30))
    np.testing.assert_array_equal(weighted, groups.labels_)
    assert set(toys.FarFromMean().fit_predict(X)) == {-1, 1}


def test_two_roles_in_one() -> None:
    groups = toys.Groups(n_clusters=2).set_output(transform="pandas")
    assert groups.fit_transform(X).columns.tolist() == ["groups0", "groups1"]
    assert groups._declared_traits.role == "clusterer"
    assert groups._declared_traits.transforms


def test_names_of_columns() -> None:
    model = toys.Centre().fit(X)
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert model.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    with pytest.raises(InvalidData, match="input_features should have length equal"):
        model.get_feature_names_out(["a"])
    with pytest.raises(ValueError, match="not fitted"):
        toys.Centre().get_feature_names_out()
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)


def test_transform_keeps_float32() -> None:
    assert toys.Centre().fit_transform(X.astype(np.float32)).dtype == np.float32


def test_a_transform_of_several_parts_wraps_the_first() -> None:
    class Pair(toys.Centre):
        def transform(self, X: Any) -> Any:
            return self._new_data(X), "more"

    first, second = Pair().set_output(transform="pandas").fit_transform(X)
    assert first.shape == X.shape
    assert second == "more"


def test_sparse_output_refuses_frames() -> None:
    from scipy import sparse  # noqa: PLC0415

    class Sparse(toys.Centre):
        def transform(self, X: Any) -> Any:
            return sparse.csr_array(self._new_data(X))

    assert sparse.issparse(Sparse().fit_transform(X))
    with pytest.raises(InvalidData, match="outputs a scipy sparse matrix"):
        Sparse().set_output(transform="pandas").fit_transform(X)
