"""An instance of every model of qed: those that hold other models are given some."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qed
from qed.linear_model import LinearRegression, LogisticRegression, Ridge
from qed.naive_bayes import GaussianNB
from qed.preprocessing import MinMaxScaler, StandardScaler

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["every_model", "fit_arguments", "instance", "lacks", "skip_if_it_lacks"]


def _two_classifiers() -> list[Any]:
    return [("weak", LogisticRegression(C=0.1)), ("strong", LogisticRegression())]


SMALL = {"alpha": [0.1, 1.0]}
PATHS = ("ElasticNetCV", "LassoCV", "MultiTaskElasticNetCV", "MultiTaskLassoCV")
HOLDING: dict[str, Callable[[Any], Any]] = {
    "BestSubsetRegressor": lambda kind: kind(2),  # larger sets of many columns take long to search
    "SequentialFeatureSelector": lambda kind: kind(Ridge(), cv=2),
    "RFE": lambda kind: kind(Ridge()),
    "RFECV": lambda kind: kind(Ridge(), cv=2),
    "SelectFromModel": lambda kind: kind(Ridge()),
    "SelectKBest": lambda kind: kind(k=1),  # more than there are columns are warned about
    "SelectPercentile": lambda kind: kind(percentile=60),  # a tenth of few columns is none
    # random labels leave no column below a small level, which is warned about
    **dict.fromkeys(("SelectFdr", "SelectFpr", "SelectFwe"), lambda kind: kind(alpha=1.0)),
    "GenericUnivariateSelect": lambda kind: kind(mode="k_best", param=1),
    "ColumnTransformer": lambda kind: kind([("scale", StandardScaler(), [0])], remainder="passthrough"),
    "IterativeImputer": lambda kind: kind(tol=1.0, random_state=0),  # rounds that do not converge are warned about
    "KBinsDiscretizer": lambda kind: kind(strategy="uniform"),  # quantiles of few rows are warned about
    "FeatureUnion": lambda kind: kind([("scale", StandardScaler()), ("range", MinMaxScaler())]),
    "QuadraticDiscriminantAnalysis": lambda kind: kind(
        reg_param=0.1
    ),  # a few rows of many columns have no full covariance
    "QuantileTransformer": lambda kind: kind(n_quantiles=5),  # more than there are rows is warned about
    "TargetEncoder": lambda kind: kind(random_state=0),
    # with scores two of its checks ask a model of several targets for labels of one; scikit-learn's own fails them too
    "CalibratedClassifierCV": lambda kind: kind(LogisticRegression(), cv=2),
    "ClassifierChain": lambda kind: kind(GaussianNB()),
    "RegressorChain": lambda kind: kind(Ridge()),
    "MultiOutputClassifier": lambda kind: kind(LogisticRegression()),
    "MultiOutputRegressor": lambda kind: kind(Ridge()),
    "OneVsOneClassifier": lambda kind: kind(LogisticRegression()),
    "OneVsRestClassifier": lambda kind: kind(LogisticRegression()),
    "OutputCodeClassifier": lambda kind: kind(LogisticRegression(), code_size=3.0, random_state=0),
    "Pipeline": lambda kind: kind([("scale", StandardScaler()), ("ridge", Ridge())]),
    "StackingClassifier": lambda kind: kind(_two_classifiers(), LogisticRegression(), cv=2),
    "StackingRegressor": lambda kind: kind([("ridge", Ridge()), ("plain", LinearRegression())], Ridge(), cv=2),
    "TransformedTargetRegressor": lambda kind: kind(Ridge(), transformer=StandardScaler()),
    "VotingClassifier": lambda kind: kind(_two_classifiers()),
    "VotingRegressor": lambda kind: kind([("ridge", Ridge()), ("plain", LinearRegression())]),
    **dict.fromkeys(PATHS, lambda kind: kind(alphas=10, cv=3)),  # as few as scikit-learn gives its own in its checks
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), lambda kind: kind(max_iter=100)),
    # as few trees as scikit-learn gives its own in its checks
    **dict.fromkeys(
        ("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"),
        lambda kind: kind(5, random_state=0),
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        lambda kind: kind(max_iter=5, min_samples_leaf=5, random_state=0),
    ),
    **dict.fromkeys(
        (
            "AdaBoostClassifier",
            "AdaBoostRegressor",
            "BaggingClassifier",
            "BaggingRegressor",
            "IsolationForest",
            "RandomTreesEmbedding",
        ),
        lambda kind: kind(n_estimators=5, random_state=0),
    ),
    **dict.fromkeys(
        ("GradientBoostingClassifier", "GradientBoostingRegressor"), lambda kind: kind(n_estimators=5, random_state=0)
    ),
    **dict.fromkeys(
        ("GaussianRandomProjection", "SparseRandomProjection", "HadamardProjection"),
        lambda kind: kind(2, random_state=0),  # the lemma asks for more than there are columns
    ),
    # as many components as columns leave nothing to approximate
    **dict.fromkeys(("NMF", "MiniBatchNMF"), lambda kind: kind(2, random_state=0)),
    "DictionaryLearning": lambda kind: kind(2, max_iter=100, random_state=0),
    "FastICA": lambda kind: kind(random_state=0),
    **dict.fromkeys(("ExtraTreeClassifier", "ExtraTreeRegressor"), lambda kind: kind(random_state=0)),
    **dict.fromkeys(
        ("OptimalTreeClassifier", "OptimalTreeRegressor"), lambda kind: kind(max_depth=2, max_visits=10**7)
    ),
    # seeded, and as many clusters as few rows can have
    **dict.fromkeys(
        ("BisectingKMeans", "KMedoids", "KernelKMeans", "MiniBatchKMeans", "SoftKMeans", "SpectralClustering"),
        lambda kind: kind(3, random_state=0),
    ),
    # tables of the checks have few columns
    **dict.fromkeys(("SpectralBiclustering",), lambda kind: kind((3, 1), n_components=1, n_best=1, random_state=0)),
    # one target has one direction
    **dict.fromkeys(("CCA", "PLSCanonical", "PLSRegression", "PLSSVD"), lambda kind: kind(n_components=1)),
    "SpectralCoclustering": lambda kind: kind(2, random_state=0),
    "AffinityPropagation": lambda kind: kind(damping=0.9, max_iter=1000, random_state=0),
    "Birch": lambda kind: kind(threshold=0.1, n_clusters=2),
    # few rows have few neighbours; as few steps as scikit-learn gives its own in its checks
    "TSNE": lambda kind: kind(perplexity=2, max_iter=100, random_state=0),
    "UMAP": lambda kind: kind(n_neighbors=5, n_epochs=20, random_state=0),
    "LocallyLinearEmbedding": lambda kind: kind(n_neighbors=3, n_components=1),
    # graphs that fall apart are warned about
    "Isomap": lambda kind: kind(n_neighbors=None, radius=1e9, n_components=1),
    "SpectralEmbedding": lambda kind: kind(n_components=1, affinity="rbf", gamma=1e-3),
    "GraphicalLasso": lambda kind: kind(alpha=0.2, max_iter=500),  # of few rows and many columns it takes long
    "KernelPCA": lambda kind: kind(2, fit_inverse_transform=True),
    "GraphicalLassoCV": lambda kind: kind(cv=2, alphas=2, n_refinements=1),
    "LogisticRegressionCV": lambda kind: kind(Cs=3, cv=3),
    "GridSearchCV": lambda kind: kind(Ridge(), SMALL, cv=2, error_score="raise"),
    "FixedThresholdClassifier": lambda kind: kind(LogisticRegression()),
    # scikit-learn's checks ask that labels follow the sign of decision_function, which is what another threshold changes
    "TunedThresholdClassifierCV": lambda kind: kind(LogisticRegression(), cv=3, thresholds=[0.5]),
    "HalvingGridSearchCV": lambda kind: kind(
        Ridge(), SMALL, cv=2, random_state=0, min_resources=5, error_score="raise"
    ),
    "HalvingRandomSearchCV": lambda kind: kind(
        Ridge(), SMALL, cv=2, random_state=0, min_resources=5, n_candidates=2, error_score="raise"
    ),
    "RandomizedSearchCV": lambda kind: kind(Ridge(), SMALL, cv=2, n_iter=2, random_state=0, error_score="raise"),
}


def lacks(package: str) -> str | None:
    """Say what the models of a package cannot be fitted without and is not installed; None if nothing is missing."""
    if package.startswith("qed.neural_network") and find_spec("torch") is None:
        return 'PyTorch is not installed, and networks learn with it: pip install "qed[neural]"'
    return None


def skip_if_it_lacks(package: str) -> None:
    """Skip a test that fits models of a package which lacks something."""
    reason = lacks(package)
    if reason is not None:
        pytest.skip(reason)


def instance(kind: Any) -> Any:
    """Return an unfitted model of a class."""
    return HOLDING.get(kind.__name__, lambda kind: kind())(kind)


def fit_arguments(model: Any) -> tuple[Any, ...]:
    """Return data that a model can be fitted on: a table and a target, or whatever stands for them."""
    traits = model._traits()
    if not traits.table and traits.target:
        return np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 5.0])  # a column alone
    if not traits.table:
        if traits.mappings:
            return ([{"a": 1.0, "b": "word"}, {"a": 2.0}],)
        if traits.labels_only:
            return (["yes", "no", "yes"],)
        return (["one text", "and one more"] if traits.strings else [["a"], ["a", "b"]],)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + rng.normal(size=30)
    target = y if traits.target == "number" else y > 0
    target = np.exp(target) if traits.positive_target else target
    X = np.round(2 * np.abs(X)) if traits.positive_only else X  # counts
    return X, target if traits.single_output else np.column_stack(
        [target, -target if traits.target == "number" else ~target]
    )


def every_model() -> list[Any]:
    """Return one unfitted model of every public class."""
    return [instance(kind) for _, kind in qed.all_estimators()]
