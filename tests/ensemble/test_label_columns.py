"""Several columns of labels: one forest for all of them."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as Theirs

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.ensemble import ExtraTreesClassifier, RandomForestClassifier

KINDS = [RandomForestClassifier, ExtraTreesClassifier]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    words = np.array(["low", "mid", "top"])[np.digitize(X[:, 1] + X[:, 2], [-1, 1])]
    return X, np.column_stack([np.where(X[:, 0] > 0, "yes", "no"), words]).astype(object)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_have_a_column_for_each_of_y(kind):
    X, Y = table()
    model = kind(20, random_state=0).fit(X, Y)
    assert [own.tolist() for own in model.classes_] == [["no", "yes"], ["low", "mid", "top"]]
    assert (model.n_outputs_, model.n_classes_) == (2, [2, 3])
    shares = model.predict_proba(X)
    assert [own.shape for own in shares] == [(300, 2), (300, 3)]
    assert all(np.allclose(own.sum(axis=1), 1) for own in shares)
    told = np.column_stack([labels[own.argmax(axis=1)] for labels, own in zip(model.classes_, shares, strict=True)])
    assert np.array_equal(model.predict(X), told)
    assert model.score(X, Y) > 0.9
    assert [own.shape for own in model.predict_log_proba(X)] == [(300, 2), (300, 3)]


def test_as_accurate_as_scikit_learn():
    X, Y = table(600)
    Xt, Yt = table(3000, seed=1)
    ours = (RandomForestClassifier(40, random_state=0).fit(X, Y).predict(Xt) == Yt).mean()
    theirs = (Theirs(40, random_state=0).fit(X, Y).predict(Xt) == Yt).mean()
    assert ours > theirs - 0.02  # two deviations of 6000 labels, and as much for the seeds


def test_two_equal_columns_grow_the_forest_of_one():
    X, Y = table()
    one = RandomForestClassifier(10, random_state=0).fit(X, Y[:, 1])
    two = RandomForestClassifier(10, random_state=0).fit(X, Y[:, [1, 1]])
    assert np.allclose(two.predict_proba(X)[0], one.predict_proba(X))
    assert np.allclose(two.tree_importances_, one.tree_importances_)
    assert two.certificate_.error == pytest.approx(one.certificate_.error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, "balanced", [{"yes": 2.0}, {"mid": 0.5}]])
def test_certificates_are_verified_and_changes_are_refused(kind, weight, tmp_path):
    X, Y = table(150)
    model = kind(6, random_state=1, bootstrap=True, oob_score=True, class_weight=weight).fit(X, Y)
    qed.verify(model, X, Y)
    model.save(tmp_path / "model.qed")
    loaded = qed.load(tmp_path / "model.qed")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    qed.verify(loaded, X, Y)
    value = loaded.trees_.value.astype(np.float64)
    value[0, :2] = value[0, 1::-1] + [1.0, 0.0]
    object.__setattr__(loaded.trees_, "value", value)
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, Y)
    loaded = qed.load(tmp_path / "model.qed")
    loaded.oob_decision_function_[np.isfinite(loaded.oob_decision_function_)] *= 0.9
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, Y)
    loaded = qed.load(tmp_path / "model.qed")
    loaded.oob_score_ -= 0.01
    with pytest.raises(CertificateError):
        qed.verify(loaded, X, Y)


def test_whole_weights_of_all_rows_are_repetitions():
    X, Y = table(80)
    s = np.random.default_rng(0).integers(0, 3, size=80)
    weighted = ExtraTreesClassifier(5, random_state=0).fit(X, Y, sample_weight=s)
    assert all(own.dtype.kind == "u" for own in [weighted.trees_.value])  # leaves hold whole weights, exactly
    qed.verify(weighted, X, Y, s)


def test_what_is_for_one_column_is_said():
    X, Y = table(40)
    with pytest.raises(InvalidData, match="entropy is for one column of labels, and y has 2"):
        RandomForestClassifier(criterion="entropy").fit(X, Y)
    with pytest.raises(InvalidParameter, match="balanced_subsample"):
        RandomForestClassifier(class_weight="balanced_subsample").fit(X, Y)
    with pytest.raises(InvalidParameter, match="list of dicts"):
        RandomForestClassifier(class_weight={"yes": 2}).fit(X, Y)


def test_more_trees_on_the_same_columns():
    X, Y = table(100)
    whole = ExtraTreesClassifier(8, random_state=0).fit(X, Y)
    part = ExtraTreesClassifier(3, random_state=0, warm_start=True).fit(X, Y)
    part.set_params(n_estimators=8).fit(X, Y)
    assert np.array_equal(part.predict_proba(X)[1], whole.predict_proba(X)[1])
    qed.verify(part, X, Y)
