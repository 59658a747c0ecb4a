"""Models of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tests.instances import lacks

from qed import (
    calibration,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    linear_model,
    model_selection,
    naive_bayes,
    neighbors,
    svm,
    tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable

L, E, M, T, NB = linear_model, ensemble, model_selection, tree, naive_bayes


def linear(add: Callable[..., None]) -> None:  # noqa: PLR0912  a list
    for kind in (L.LinearRegression, L.Ridge):
        for how in ({"target": "several"}, {"weight": "wide"}, {"layout": "csr"}, {"layout": "float32"}):
            add(lambda kind=kind: kind(), **how)
        add(lambda kind=kind: kind(fit_intercept=False), layout="pandas", weight="counts")
    add(lambda: L.Ridge([0.5, 2.0]), target="several")
    add(lambda: L.RidgeCV((0.1, 1.0, 10.0)), weight="counts")
    add(lambda: L.RidgeCV((0.1, 1.0), cv=3), target="several")
    for kind in (L.RidgeClassifier, L.RidgeClassifierCV):
        for how in ({"target": "three"}, {"target": "integers", "weight": "counts"}, {"layout": "pandas"}):
            add(lambda kind=kind: kind(), **how)
        add(lambda kind=kind: kind(class_weight="balanced"), target="three")
    for kind in (L.Lasso, L.ElasticNet):
        for how in ({"weight": "wide"}, {"layout": "csr"}, {"layout": "float32"}, {"layout": "polars"}):
            add(lambda kind=kind: kind(0.1), **how)
        add(lambda kind=kind: kind(0.05, positive=True))
    for options in ({"C": 0.3}, {"l1_ratio": 1.0, "solver": "saga"}, {"fit_intercept": False}, {"C": np.inf}):
        for target in ("two", "three"):
            add(lambda options=options: L.LogisticRegression(**options), target=target)
    add(lambda: L.LogisticRegression(class_weight="balanced"), target="integers", weight="counts")
    add(L.LogisticRegression, layout="csr", weight="wide")
    add(L.LogisticRegression, layout="float32", target="three")
    add(lambda: L.LogisticRegressionCV(Cs=3, cv=3), target="three")
    for kind in (L.SGDClassifier, L.Perceptron):
        add(lambda kind=kind: kind(random_state=0), target="three")
        add(lambda kind=kind: kind(random_state=0), weight="counts")
        add(lambda kind=kind: kind(random_state=0), layout="csr")
        add(lambda kind=kind: kind(random_state=0), layout="float32")
    for loss in ("log_loss", "modified_huber", "squared_hinge"):
        add(lambda loss=loss: L.SGDClassifier(loss=loss, random_state=0), target="three")
    add(lambda: L.SGDClassifier(penalty="elasticnet", class_weight="balanced", random_state=0), target="integers")
    for loss in ("squared_error", "huber", "epsilon_insensitive"):
        add(lambda loss=loss: L.SGDRegressor(loss=loss, random_state=0), weight="counts")
        add(lambda loss=loss: L.SGDRegressor(loss=loss, random_state=0), layout="float32")
    add(lambda: L.VotedPerceptron(random_state=0), weight="counts")
    add(L.OrdinalRegressor, target="three")
    add(lambda: L.OrdinalRegressor(order=["top", "low", "middle"]), target="three")
    for power in (1.0, 1.5, 4.0, np.inf):
        add(lambda power=power: L.PowerRegressor(power))
    for kind in (L.HuberRegressor, L.BoundedRegressor, L.QuantileRegressor, L.SquareRootLasso, svm.LinearSVR):
        add(lambda kind=kind: kind(), weight="counts")
        add(lambda kind=kind: kind(), layout="float32")
    add(lambda: L.GroupLasso(groups=[0, 0, 1, 1], alpha=0.1), weight="counts")
    add(lambda: L.PoissonRegressor(alpha=0.1), weight="counts", layout="csr")
    add(lambda: L.BestSubsetRegressor(2), weight="counts")
    for loss in ("hinge", "squared_hinge"):
        for target in ("two", "three"):
            add(lambda loss=loss: svm.LinearSVC(loss=loss), target=target)
    for kind in (L.BayesianRidge, L.ARDRegression):
        add(lambda kind=kind: kind(method="em", compute_score=True), weight="counts")
        add(lambda kind=kind: kind(fit_intercept=False), layout="csr")
    add(lambda: L.ARDRegression(threshold_lambda=3.0))
    add(lambda: L.BayesianLinearRegression(noise_variance=None), weight="counts")
    add(lambda: L.BayesianLinearRegression(np.diag([1.0, 2, 3, 4]), prior_mean=[1, 0, 0, -1], fit_intercept=False))
    add(L.ThresholdClassifier, weight="counts")
    add(lambda: L.RandomLinearClassifier(random_state=0), target="two")


def curves(add: Callable[..., None]) -> None:
    curve = calibration.IsotonicRegression
    for weight in ("", "counts", "wide"):
        add(lambda: curve(increasing="auto", out_of_bounds="clip"), weight=weight)
        add(lambda: curve(y_min=-0.5, y_max=0.8, out_of_bounds="clip"), weight=weight)
    add(lambda: curve(increasing=False, y_max=0.5), layout="float32")
    add(lambda: curve(y_min=0.25), layout="pandas")
    calibrated = calibration.CalibratedClassifierCV
    for method in ("sigmoid", "isotonic", "temperature"):
        for target in ("two", "three"):
            add(lambda method=method: calibrated(L.LogisticRegression(), method=method, cv=3), target=target)
        add(lambda method=method: calibrated(method=method, ensemble=False, cv=2), weight="counts")


def forests(add: Callable[..., None]) -> None:
    for kind in (E.RandomForestClassifier, E.ExtraTreesClassifier, E.RandomForestRegressor, E.ExtraTreesRegressor):
        is_class = "Classifier" in kind.__name__
        add(
            lambda kind=kind: kind(4, bootstrap=True, oob_score=True, random_state=1),
            target="three" if is_class else "several",
        )
        add(lambda kind=kind: kind(3, max_depth=3, max_features=2, random_state=1), weight="counts", rows="gaps")
        add(lambda kind=kind: kind(3, max_leaf_nodes=4, max_samples=None, random_state=1), weight="wide")
        other = {"class_weight": "balanced"} if is_class else {"criterion": "absolute_error"}
        add(lambda kind=kind, other=other: kind(2, min_samples_leaf=2, random_state=1, **other), layout="float32")
    add(lambda: E.RandomForestClassifier(3, criterion="entropy", class_weight="balanced_subsample", random_state=1))
    add(lambda: E.RandomForestRegressor(3, criterion="poisson", max_samples=0.5, random_state=1), target="positive")

    def boosted(kind: Any, **given: Any) -> Callable[[], Any]:
        return lambda: kind(**{"max_iter": 3, "min_samples_leaf": 3, "random_state": 1} | given)

    C, R = E.HistGradientBoostingClassifier, E.HistGradientBoostingRegressor
    add(boosted(C), target="three", weight="counts")
    add(boosted(C, class_weight="balanced", early_stopping=True, validation_fraction=0.3), target="integers")
    add(boosted(C, loss="exponential", max_leaf_nodes=4), target="two", rows="gaps")
    for loss in ("absolute_error", "huber"):
        add(boosted(R, loss=loss, l2_regularization=0.5), weight="counts")
    add(boosted(R, loss="quantile", quantile=0.8, max_depth=2))
    for loss in ("poisson", "gamma"):
        add(boosted(R, loss=loss), target="positive")
    add(boosted(R, early_stopping=True, validation_fraction=0.3, max_features=0.5), layout="pandas")
    exactly_boosted(add)


def exactly_boosted(add: Callable[..., None]) -> None:
    def boosted(kind: Any, **given: Any) -> Callable[[], Any]:
        return lambda: kind(**{"n_estimators": 3, "min_samples_leaf": 2, "random_state": 1} | given)

    C, R = E.GradientBoostingClassifier, E.GradientBoostingRegressor
    add(boosted(C), target="three", weight="counts")
    add(boosted(C, loss="exponential", max_leaf_nodes=4, subsample=0.7), target="two", rows="gaps")
    add(boosted(C, init="zero", n_iter_no_change=2, validation_fraction=0.3), target="integers", layout="csr")
    for loss in ("absolute_error", "huber", "quantile"):
        add(boosted(R, loss=loss, alpha=0.8), weight="counts")
    add(boosted(R, ccp_alpha=0.01, max_features=2, max_depth=None), layout="float32")
    add(boosted(R, subsample=0.6, loss="huber"), layout="pandas")


def copies(add: Callable[..., None]) -> None:
    add(lambda: E.AdaBoostClassifier(n_estimators=4, random_state=1), target="two", weight="counts")
    add(lambda: E.AdaBoostClassifier(L.LogisticRegression(), n_estimators=3, learning_rate=0.5), target="three")
    for loss in ("linear", "square", "exponential"):
        add(lambda loss=loss: E.AdaBoostRegressor(n_estimators=3, loss=loss, random_state=1), weight="counts")
    add(lambda: E.AdaBoostRegressor(L.Ridge(), n_estimators=3, random_state=1), layout="float32")
    add(lambda: E.BaggingClassifier(n_estimators=4, oob_score=True, random_state=1), target="three", weight="counts")
    add(
        lambda: E.BaggingClassifier(L.LogisticRegression(), max_features=0.6, bootstrap=False, max_samples=0.8),
        target="two",
    )
    add(lambda: E.BaggingRegressor(n_estimators=4, oob_score=True, bootstrap_features=True, random_state=1))
    add(lambda: E.BaggingRegressor(L.Ridge(), n_estimators=3, max_samples=9, random_state=1), layout="pandas")
    add(lambda: E.IsolationForest(n_estimators=4, contamination=0.2, max_features=2, random_state=1), weight="counts")
    add(lambda: E.IsolationForest(n_estimators=4, max_samples=0.6, bootstrap=True, random_state=1), layout="float32")
    add(lambda: E.RandomTreesEmbedding(n_estimators=4, max_depth=3, random_state=1), weight="counts")


def others(add: Callable[..., None]) -> None:
    for kind in (NB.GaussianNB, discriminant_analysis.LinearDiscriminantAnalysis):
        for how in ({"target": "three"}, {"weight": "counts"}, {"target": "integers", "layout": "float32"}):
            add(lambda kind=kind: kind(), **how)
    add(lambda: discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1), target="three", weight="counts")
    add(lambda: discriminant_analysis.LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.2), target="three")
    add(lambda: discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr"), target="three")
    for kind in (NB.MultinomialNB, NB.ComplementNB, NB.BernoulliNB, NB.CategoricalNB):
        add(lambda kind=kind: kind(alpha=0.5), rows="counts", target="three")
        add(lambda kind=kind: kind(), rows="counts", weight="counts")
    add(NB.MultinomialNB, rows="counts", layout="csr")
    for kind in (T.DecisionTreeClassifier, T.DecisionTreeRegressor):
        target = "three" if kind is T.DecisionTreeClassifier else "several"
        add(lambda kind=kind: kind(max_depth=3, random_state=0), target=target)
        add(lambda kind=kind: kind(max_depth=2, random_state=0), weight="counts")
        add(lambda kind=kind: kind(min_samples_leaf=3, random_state=0), layout="float32")
        add(lambda kind=kind: kind(max_leaf_nodes=5, random_state=0), weight="wide")
    add(lambda: T.DecisionTreeClassifier(criterion="entropy", max_depth=3, random_state=0), target="integers")
    add(lambda: T.DecisionTreeClassifier(class_weight="balanced", max_depth=3), target="columns", rows="gaps")
    add(lambda: T.DecisionTreeClassifier(max_depth=2), target="columns", weight="counts")
    add(lambda: T.ExtraTreeClassifier(max_depth=3, random_state=0), target="columns", weight="wide")
    add(lambda: T.DecisionTreeRegressor(criterion="absolute_error", max_depth=2, random_state=0))
    add(lambda: T.DecisionTreeRegressor(max_depth=3, monotonic_cst={"c0": 1}), layout="pandas")
    add(lambda: T.DecisionTreeRegressor(criterion="poisson", max_depth=2, random_state=0), target="positive")
    for criterion in ("entropy", "gain_ratio", "gini"):
        add(lambda criterion=criterion: T.MultiwayTreeClassifier(criterion=criterion), rows="words", target="three")
    add(lambda: T.MultiwayTreeClassifier(max_depth=2), rows="counts", weight="counts")
    for depth in (1, 2, 3):
        add(lambda depth=depth: T.OptimalTreeClassifier(max_depth=depth, max_visits=10**6), target="three")
    add(lambda: T.OptimalTreeClassifier(criterion="gini", max_depth=2), rows="gaps", weight="counts")
    add(lambda: T.OptimalTreeRegressor(max_depth=2), target="several", weight="wide")
    add(lambda: T.OptimalTreeRegressor(max_depth=2, max_visits=1000), layout="float32")
    curves(add)
    forests(add)
    copies(add)
    add(lambda: neighbors.KNeighborsClassifier(3, weights="distance"), target="three")
    add(lambda: neighbors.KNeighborsClassifier(3, metric="manhattan"), layout="pandas")
    add(lambda: neighbors.KNeighborsRegressor(3, p=3), target="several")
    add(lambda: neighbors.KNeighborsRegressor(4, algorithm="brute"), layout="float32")
    add(lambda: neighbors.NearestNeighbors(n_neighbors=3, metric="chebyshev"))
    add(lambda: neighbors.KernelDensity(bandwidth=0.7, kernel="epanechnikov"), weight="counts")
    add(lambda: decomposition.PCA(2))
    add(lambda: decomposition.PCA(0.9, whiten=True), weight="counts")
    add(lambda: M.DummyClassifier(strategy="most_frequent"), target="three", weight="counts")
    add(lambda: M.DummyClassifier(strategy="constant", constant="yes"))
    add(lambda: M.DummyRegressor(strategy="median"), target="several")
    add(lambda: M.DummyRegressor(strategy="quantile", quantile=0.3), weight="counts")
    add(M.LookupClassifier, rows="rounded", target="three")
    add(lambda: feature_selection.SequentialFeatureSelector(L.Ridge(), cv=2, direction="backward"), target="number")
    if lacks("qed.neural_network") is None:
        from qed.neural_network import MLPClassifier, MLPRegressor  # noqa: PLC0415  needs PyTorch

        add(lambda: MLPClassifier((4,), max_iter=30, random_state=0), target="three")
        add(lambda: MLPClassifier((3, 3), activation="tanh", max_iter=30, random_state=0), weight="counts")
        add(lambda: MLPRegressor(hidden_layer_sizes=(4,), max_iter=30, random_state=0), target="several")
