"""Models of models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import qed
from qed import (
    compose,
    decomposition,
    ensemble,
    linear_model,
    model_selection,
    naive_bayes,
    preprocessing,
    svm,
    tree,
)
from qed.model_selection._candidate import Candidate
from qed.study._recipes import candidates, pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

L, P, C, E, M, T, NB = linear_model, preprocessing, compose, ensemble, model_selection, tree, naive_bayes


def two(kind: Any, *parts: Any, **options: Any) -> Callable[[], Any]:
    """Return a maker of a model of models, from those of its parts."""
    return lambda: kind([(f"m{k}", part()) for k, part in enumerate(parts)], **options)


def studies(add: Callable[..., None]) -> None:
    """Add what ``qed fit`` fits: one candidate of each class behind the preparation that it asks for, and an average of two."""
    gaps, whole = (
        SimpleNamespace(kind="number", is_used=True, width=1, missing=missing, repeats=0, distinct=40, words=())
        for missing in (3, 0)
    )
    columns: Any = [gaps, gaps, whole, whole]
    for task, asked in (("regression", "number"), ("binary", "two"), ("multiclass", "three")):
        target: Any = SimpleNamespace(task=task, counts=False, is_positive=False)
        found = candidates(target, columns)
        parts = tuple((one, 0.5) for one in found[:2])
        kinds = {(type(one.make(40, 1.0)), one.preparation): one for one in reversed(found)}
        for one in [*kinds.values(), Candidate("average", "", lambda *_: None, parts=parts)]:
            add(
                lambda one=one, target=target: pipeline(one, columns, target, np.linspace(0.0, 1.0, 40), 10),
                rows="gaps",
                target=asked,
            )


def composites(add: Callable[..., None]) -> None:
    scaled = two(C.Pipeline, P.StandardScaler, L.Ridge)
    add(scaled, weight="counts")
    add(scaled, layout="pandas")
    add(two(C.Pipeline, lambda: P.TargetEncoder(random_state=0), L.Ridge), rows="words")
    add(two(C.Pipeline, lambda: P.TargetEncoder(random_state=0), L.LogisticRegression), rows="words", target="three")
    add(two(C.Pipeline, P.OneHotEncoder, L.LogisticRegression), rows="words", target="three", layout="pandas")
    add(two(C.Pipeline, lambda: P.SimpleImputer(add_indicator=True), P.StandardScaler, L.Lasso), rows="gaps")
    add(two(C.Pipeline, P.TfidfVectorizer, P.MaxAbsScaler))
    add(two(C.Pipeline, lambda: decomposition.PCA(2), lambda: T.DecisionTreeClassifier(max_depth=2)), target="three")
    add(two(C.Pipeline, lambda: P.FunctionTransformer(np.tanh), L.Ridge))
    add(scaled, weight="counts", options={"m1__sample_weight": lambda weight: weight})
    mixed = [("scale", P.StandardScaler(), [0, 2]), ("bins", P.KBinsDiscretizer(3, strategy="uniform"), [1])]
    add(lambda: C.ColumnTransformer(qed.clone(mixed), remainder="passthrough"))
    add(lambda: C.ColumnTransformer(qed.clone(mixed)), weight="counts")
    add(lambda: C.ColumnTransformer([("one", P.OneHotEncoder(), ["c0", "c2"])]), rows="words", layout="pandas")
    add(lambda: C.ColumnTransformer([("one", P.TargetEncoder(random_state=0), [0, 1])]), rows="words", target="number")
    add(two(C.FeatureUnion, P.MinMaxScaler, lambda: decomposition.PCA(2)))
    for part in (L.LogisticRegression, L.RidgeClassifier, svm.LinearSVC):
        for kind in (C.OneVsRestClassifier, C.OneVsOneClassifier):
            add(lambda kind=kind, part=part: kind(part()), target="three")
        add(lambda part=part: C.OutputCodeClassifier(part(), code_size=3.0, random_state=0), target="integers")
    add(lambda: C.OneVsRestClassifier(L.LogisticRegression()), target="three", weight="counts")
    add(lambda: C.OneVsRestClassifier(L.LogisticRegression()), target="indicator")
    add(lambda: C.MultiOutputRegressor(L.Lasso(0.1)), target="several", weight="counts")
    add(lambda: C.MultiOutputClassifier(L.LogisticRegression()), target="indicator")
    add(
        lambda: C.RegressorChain(L.Lasso(0.1), order=[1, 0]),
        target="several",
        weight="counts",
        options={"sample_weight": lambda w: w},
    )
    add(lambda: C.ClassifierChain(L.LogisticRegression(), chain_method="predict_proba"), target="indicator")
    add(two(E.StackingRegressor, L.Ridge, L.Lasso, cv=3))
    add(two(E.StackingClassifier, L.LogisticRegression, NB.GaussianNB, cv=3), target="three")
    for transformer in (P.StandardScaler, P.QuantileTransformer, P.PowerTransformer):
        add(lambda transformer=transformer: C.TransformedTargetRegressor(L.Ridge(), transformer=transformer()))
    add(lambda: C.TransformedTargetRegressor(L.Lasso(0.1), transformer=P.StandardScaler()), weight="counts")
    add(lambda: C.TransformedTargetRegressor(L.Ridge(), func=np.log1p, inverse_func=np.expm1), target="positive")
    add(lambda: C.TransformedTargetRegressor(L.Ridge(), transformer=P.StandardScaler()), target="several")
    classifiers = (L.LogisticRegression, NB.GaussianNB, lambda: T.DecisionTreeClassifier(max_depth=2))
    regressors = (L.Ridge, lambda: L.Lasso(0.1), lambda: T.DecisionTreeRegressor(max_depth=2))
    for target in ("two", "three", "integers"):
        add(two(E.VotingClassifier, *classifiers, voting="soft"), target=target)
    add(two(E.VotingClassifier, *classifiers), weight="counts")
    add(two(E.VotingRegressor, *regressors, weights=[1.0, 2.0, 3.0]), weight="counts")
    add(two(E.VotingRegressor, scaled, L.Lasso))
    add(two(E.StackingClassifier, *classifiers, final_estimator=L.LogisticRegression(), cv=3), target="three")
    add(
        two(E.StackingClassifier, *classifiers, final_estimator=L.LogisticRegression(), cv=3, passthrough=True),
        weight="counts",
    )
    add(two(E.StackingRegressor, *regressors, final_estimator=L.Ridge(), cv=3), weight="counts")
    add(two(E.StackingRegressor, scaled, L.Lasso, final_estimator=L.Ridge(), cv=3, passthrough=True))
    add(lambda: M.GridSearchCV(scaled(), {"m1__alpha": [0.1, 10.0]}, cv=3))
    add(lambda: M.GridSearchCV(L.LogisticRegression(), {"C": [0.1, 1.0]}, cv=3), target="three", weight="counts")
    add(two(C.Pipeline, P.StandardScaler, lambda: M.GridSearchCV(L.Ridge(), {"alpha": [0.1, 1.0]}, cv=2)))
    add(lambda: M.FixedThresholdClassifier(L.LogisticRegression(), threshold=0.2), target="two")
    add(
        lambda: M.TunedThresholdClassifierCV(L.LogisticRegression(), cv=3, scoring="accuracy"),
        target="two",
        weight="counts",
    )
    add(lambda: M.TunedThresholdClassifierCV(svm.LinearSVC(), cv=2, thresholds=9), target="two")
    add(lambda: M.HalvingGridSearchCV(L.Ridge(), {"alpha": [0.1, 1.0, 10.0, 50.0]}, factor=2, cv=2, random_state=0))
    add(
        lambda: M.HalvingRandomSearchCV(
            L.LogisticRegression(),
            {"C": [0.1, 1.0, 5.0]},
            resource="max_iter",
            max_resources=90,
            factor=2,
            cv=2,
            random_state=0,
        ),
        target="three",
    )
    add(lambda: M.RandomizedSearchCV(L.Lasso(), {"alpha": [0.1, 0.5]}, n_iter=2, cv=2, random_state=0))
