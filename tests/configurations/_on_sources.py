"""Models that fold their rows from a source, chunk by chunk; the source brings targets and weights, and is verified itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed import cluster, compose, decomposition, ensemble, linear_model, mixture, preprocessing, svm

if TYPE_CHECKING:
    from collections.abc import Callable


def on_sources(add: Callable[..., None]) -> None:
    L, P, D, E = linear_model, preprocessing, decomposition, ensemble
    for kind in (L.LinearRegression, L.Ridge, L.BayesianRidge, L.LogisticRegression, L.PoissonRegressor):
        add(kind, layout="source", weight="counts")
    add(lambda: L.RidgeCV(cv=3), layout="source")
    for kind in (L.Lasso, L.ElasticNet):
        add(lambda kind=kind: kind(0.1), layout="source")
    add(L.LogisticRegression, layout="source", target="three")
    add(lambda: L.HuberRegressor(max_iter=50), layout="source")
    add(svm.LinearSVR, layout="source")
    for kind in (P.StandardScaler, P.MinMaxScaler, P.RobustScaler, P.SimpleImputer, P.QuantileTransformer):
        add(kind, layout="source")
    for kind in (P.OneHotEncoder, P.OrdinalEncoder):
        add(kind, rows="counts", layout="source")
    add(lambda: P.KBinsDiscretizer(3, encode="ordinal"), layout="source")
    add(lambda: D.PCA(2), layout="source")
    add(lambda: cluster.KMeans(3, n_init=1, random_state=0), layout="source")
    add(lambda: mixture.GaussianMixture(2, random_state=0), layout="source")
    for kind in (E.HistGradientBoostingClassifier, E.HistGradientBoostingRegressor):
        add(lambda kind=kind: kind(max_iter=3, min_samples_leaf=2), layout="source")
    add(lambda: compose.Pipeline([("scale", P.StandardScaler()), ("model", L.Ridge())]), layout="source")
