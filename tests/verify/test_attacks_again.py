"""Attacks on classes that came later: parts, parameters, certificates and labels are swapped; each is refused (V1, V2, V5, V10)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qed
from qed import (
    cluster,
    compose,
    decomposition,
    ensemble,
    feature_selection,
    linear_model,
    manifold,
    mixture,
    model_selection,
    preprocessing,
    tree,
)
from qed.calibration import CalibratedClassifierCV
from qed.core._persistence import dumps, loads
from qed.naive_bayes import GaussianNB

r = np.random.default_rng(1)
X = r.normal(size=(60, 4))
z = X @ r.normal(size=4) + 0.5 * r.normal(size=60)
y = z
y2 = np.where(z > 0, "yes", "no")
y3 = np.digitize(z, np.quantile(z, [1 / 3, 2 / 3]))
Xn = np.abs(X)


def turned(name):
    return lambda m: setattr(
        m, name, getattr(m, name)[::-1].copy() if isinstance(getattr(m, name), np.ndarray) else getattr(m, name)[::-1]
    )


def to(name, value):
    return lambda m: setattr(m, name, value)


def stated(**fields):
    return lambda m: setattr(m, "certificate_", replace(m.certificate_, **fields))


def scaled(find, name, factor):
    def change(m):
        part = find(m)
        setattr(part, name, factor * getattr(part, name))

    return change


def forest():
    return ensemble.RandomForestClassifier(n_estimators=8, random_state=0), X, y2


def bagging():
    return ensemble.BaggingClassifier(linear_model.LogisticRegression(), n_estimators=4, random_state=0), X, y2


def nested():
    inner = ensemble.BaggingRegressor(linear_model.Ridge(), n_estimators=2, random_state=1)
    steps = compose.Pipeline([("s", preprocessing.StandardScaler()), ("m", inner)])
    return ensemble.BaggingRegressor(steps, n_estimators=2, random_state=0), X, y


def search():
    steps = compose.Pipeline([("s", preprocessing.StandardScaler()), ("m", linear_model.Ridge())])
    return model_selection.GridSearchCV(steps, {"m__alpha": [0.1, 10.0]}), X, y


def stacking():
    parts = [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=2, random_state=0))]
    return ensemble.StackingRegressor(parts), X, y


def boosting():
    return ensemble.AdaBoostClassifier(n_estimators=5, random_state=0), X, y2


def histogram():
    return ensemble.HistGradientBoostingClassifier(max_iter=8, random_state=0, min_samples_leaf=5), X, y2


def gaussian():
    return mixture.GaussianMixture(2, random_state=0), X


def columns():
    parts = [("a", preprocessing.StandardScaler(), [0, 1]), ("b", preprocessing.MinMaxScaler(), [2, 3])]
    return compose.ColumnTransformer(parts), X


def last(pipeline):
    return pipeline.steps_[-1][1]


ATTACKS = {
    "more trees than asked for": (forest, to("n_estimators", 5)),
    "labels of a forest": (forest, to("classes_", np.array(["a", "b"]))),
    "depth of a forest": (forest, to("max_depth", 2)),
    "class weights of a forest": (forest, to("class_weight", "balanced")),
    "members in another order": (bagging, turned("estimators_")),
    "one member for all": (bagging, lambda m: setattr(m, "estimators_", [m.estimators_[0]] * 4)),
    "a member's certificate": (
        bagging,
        lambda m: setattr(m.estimators_[0], "certificate_", m.estimators_[1].certificate_),
    ),
    "a member's penalty": (bagging, lambda m: setattr(m.estimators_[0], "C", 100.0)),
    "coefficients three levels deep": (nested, scaled(lambda m: last(m.estimators_[0]).estimators_[1], "coef_", 2)),
    "a penalty three levels deep": (nested, lambda m: setattr(last(m.estimators_[0]).estimators_[1], "alpha", 7.0)),
    "pipelines in another order": (nested, turned("estimators_")),
    "the other parameters of a search": (search, lambda m: setattr(m, "best_index_", 1 - m.best_index_)),
    "the winner of a search": (search, scaled(lambda m: last(m.best_estimator_), "coef_", 1.01)),
    "the last model of a stack": (stacking, lambda m: turned("coef_")(m.final_estimator_)),
    "rows handed to the last model": (stacking, to("passthrough", True)),
    "weights of boosting": (boosting, turned("estimator_weights_")),
    "rate of boosting": (histogram, to("learning_rate", 0.2)),
    "classes of boosting": (histogram, turned("classes_")),
    "means of a mixture": (gaussian, turned("means_")),
    "hard assignments of a mixture": (gaussian, to("algorithm", "hard")),
    "displacement": (gaussian, stated(displacement=1e9)),
    "gain": (gaussian, stated(gain=1e9)),
    "rounding": (gaussian, stated(rounding=1.0)),
    "no decomposition": (gaussian, stated(decomposition=None)),
    "signs of components": (lambda: (decomposition.PCA(2), X), lambda m: setattr(m, "components_", -m.components_)),
    "order of components": (lambda: (decomposition.PCA(2), X), turned("components_")),
    "entries of factors": (
        lambda: (decomposition.NMF(2, init="nndsvda", random_state=0), Xn),
        lambda m: setattr(m, "components_", m.components_ + 1e-3),
    ),
    "bandwidth of a kernel": (lambda: (decomposition.KernelPCA(2, kernel="rbf"), X), to("gamma", 0.9)),
    "labels of clusters alone": (
        lambda: (cluster.KMeans(3, random_state=0), X),
        lambda m: setattr(m, "labels_", (m.labels_ + 1) % 3),
    ),
    "radius of neighbours": (lambda: (cluster.DBSCAN(eps=1.0), X), to("eps", 1.1)),
    "labels of merges": (
        lambda: (cluster.AgglomerativeClustering(3), X),
        lambda m: setattr(m, "labels_", np.roll(m.labels_, 1)),
    ),
    "an embedding turned over": (
        lambda: (manifold.Isomap(n_neighbors=10), X),
        lambda m: setattr(m, "embedding_", -m.embedding_),
    ),
    "points of an embedding": (
        lambda: (manifold.UMAP(n_neighbors=5, n_epochs=20, random_state=0), X),
        turned("embedding_"),
    ),
    "method of calibration": (lambda: (CalibratedClassifierCV(GaussianNB(), cv=3), X, y2), to("method", "isotonic")),
    "classes of calibration": (lambda: (CalibratedClassifierCV(GaussianNB(), cv=3), X, y2), turned("classes_")),
    "chosen columns": (
        lambda: (feature_selection.RFE(linear_model.Ridge(), n_features_to_select=2), X, y),
        lambda m: (turned("support_")(m), turned("ranking_")(m)),
    ),
    "parts in another order": (columns, turned("transformers_")),
    "one class for another": (
        lambda: (compose.OneVsRestClassifier(linear_model.LogisticRegression()), X, y3),
        lambda m: setattr(m, "estimators_", [m.estimators_[k] for k in (1, 0, 2)]),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_refused(name):
    make, change = ATTACKS[name]
    model, *data = make()
    model.fit(*data)
    qed.verify(model, *data)
    change(model)
    with pytest.raises(qed.CertificateError):
        qed.verify(model, *data)
    try:
        again = loads(dumps(model))
    except qed.ModelFileError:
        return  # not even a file holds it
    with pytest.raises(qed.CertificateError):
        qed.verify(again, *data)
