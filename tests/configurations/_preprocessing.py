"""Transformers and selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tests.configurations._configuration import WORDS

from qed import (
    feature_selection,
    linear_model,
    preprocessing,
    tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable

L, P, T = linear_model, preprocessing, tree


def scalers(add: Callable[..., None]) -> None:
    for layout in ("array", "float32", "pandas"):
        add(P.StandardScaler, rows="gaps", layout=layout)
        add(lambda: P.MinMaxScaler((-1, 3), clip=True), rows="gaps", layout=layout)
        add(lambda: P.RobustScaler(unit_variance=True, quantile_range=(10.0, 85.0)), rows="gaps", layout=layout)
        add(lambda: P.SplineTransformer(4, 2, knots="quantile"), layout=layout)
        add(lambda: P.SplineTransformer(extrapolation="linear", include_bias=False), layout=layout, weight="counts")
        add(P.PowerTransformer, layout=layout)
        add(lambda: P.QuantileTransformer(n_quantiles=10, output_distribution="normal"), rows="gaps", layout=layout)
        add(lambda: P.KBinsDiscretizer(3, strategy="uniform", encode="ordinal"), layout=layout)
        add(lambda: P.SimpleImputer(add_indicator=True), rows="gaps", layout=layout)
    for layout in ("csr", "csc"):
        add(lambda: P.StandardScaler(with_mean=False), layout=layout)
        add(lambda: P.StandardScaler(with_mean=False), layout=layout, weight="counts")
        add(lambda: P.MaxAbsScaler(clip=True), layout=layout)
        add(lambda: P.RobustScaler(with_centering=False), layout=layout)
        add(lambda: P.QuantileTransformer(n_quantiles=8), rows="counts", layout=layout)
        add(lambda: P.SimpleImputer(strategy="median"), rows="gaps", layout=layout)
        add(lambda: P.PolynomialFeatures(2), layout=layout)
        add(P.TfidfTransformer, rows="counts", layout=layout)
    for options in ({"with_std": False}, {"with_mean": False}, {"with_mean": False, "with_std": False}):
        add(lambda options=options: P.StandardScaler(**options))
    add(P.StandardScaler, weight="wide")
    add(P.StandardScaler, rows="rounded", weight="counts")
    for options in ({"with_centering": False}, {"with_scaling": False}):
        add(lambda options=options: P.RobustScaler(**options))
    add(lambda: P.PowerTransformer(standardize=False), weight="counts")
    add(lambda: P.PowerTransformer("box-cox"), rows="positive")
    for knots in ("uniform", "quantile"):
        add(lambda knots=knots: P.SplineTransformer(knots=knots, extrapolation="periodic"))
        add(lambda knots=knots: P.SplineTransformer(3, 1, knots=knots, extrapolation="continue"), weight="wide")
    add(lambda: P.SplineTransformer(knots=np.array([[-9.0] * 4, [0.0] * 4, [9.0] * 4])))
    for strategy in ("quantile", "uniform", "kmeans"):
        add(lambda strategy=strategy: P.KBinsDiscretizer(3, strategy=strategy))
        add(
            lambda strategy=strategy: P.KBinsDiscretizer([2, 3, 4, 3], strategy=strategy, encode="onehot-dense"),
            weight="counts",
        )
    add(lambda: P.KBinsDiscretizer(3, quantile_method="linear"))
    add(lambda: P.RadialBasis(3))
    add(lambda: P.RadialBasis(centers=[[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], width=2.0))
    add(lambda: P.PiecewiseBasis(2))
    add(lambda: P.PiecewiseBasis(knots=[[0.0], [0.0, 1.0], [1.0], [2.0]]))
    add(lambda: P.PolynomialFeatures((2, 3), interaction_only=True, include_bias=False))
    for strategy in ("mean", "median", "most_frequent", "constant"):
        add(lambda strategy=strategy: P.SimpleImputer(strategy=strategy), rows="gaps")
        add(lambda strategy=strategy: P.SimpleImputer(strategy=strategy, missing_values=1.0), rows="rounded")
    add(lambda: P.SimpleImputer(missing_values="bee", strategy="most_frequent", add_indicator=True), rows="words")
    add(lambda: P.SimpleImputer(missing_values="bee", strategy="constant", fill_value="yak"), rows="words")
    for options in (
        {},
        {"weights": "distance", "add_indicator": True},
        {"n_neighbors": 2, "keep_empty_features": True},
    ):
        for layout in ("array", "float32", "pandas"):
            add(lambda options=options: P.KNNImputer(**options), rows="gaps", layout=layout)
    add(lambda: P.KNNImputer(missing_values=1.0), rows="rounded")
    for options in (
        {"max_iter": 3},
        {
            "max_iter": 2,
            "add_indicator": True,
            "n_nearest_features": 2,
            "imputation_order": "random",
            "random_state": 3,
        },
        {"estimator": L.Ridge(), "max_iter": 2, "initial_strategy": "median", "min_value": -1.0, "skip_complete": True},
        {"sample_posterior": True, "max_iter": 2, "random_state": 0, "keep_empty_features": True, "max_value": 9.0},
    ):
        for layout in ("array", "float32", "pandas"):
            add(lambda options=options: P.IterativeImputer(**options), rows="gaps", layout=layout)
    add(P.MissingIndicator, rows="gaps")
    add(lambda: P.MissingIndicator(features="all"), rows="gaps", layout="pandas")
    add(lambda: P.MissingIndicator(missing_values=1.0, error_on_new=False), rows="rounded")
    add(lambda: P.Normalizer("l1"))
    add(lambda: P.Binarizer(threshold=0.5))
    add(lambda: P.DateFeatures(["year", "weekday", "days_since"], cyclic=True), rows="dates")
    add(lambda: P.FunctionTransformer(np.tanh))


def encoders(add: Callable[..., None]) -> None:
    listed = [list(WORDS[::-1])] * 3
    for kind in (P.OneHotEncoder, P.OrdinalEncoder):
        for layout in ("array", "pandas", "polars"):
            add(lambda kind=kind: kind(), rows="words", layout=layout)
            add(lambda kind=kind: kind(max_categories=3), rows="words", layout=layout)
        add(lambda kind=kind: kind(min_frequency=0.2), rows="words")
        add(lambda kind=kind: kind(categories=listed), rows="words")
        add(lambda kind=kind: kind(), rows="rounded")
    add(lambda: P.OneHotEncoder(drop="first", sparse_output=False), rows="words")
    add(lambda: P.OneHotEncoder(drop=["ant", "bee", "cat"], handle_unknown="ignore"), rows="words")
    add(lambda: P.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), rows="words")
    add(P.ThermometerEncoder, rows="words", layout="pandas")
    add(lambda: P.ThermometerEncoder(levels=listed), rows="words")
    add(lambda: P.FactoredEncoder(separator="e", handle_unknown="ignore"), rows="words")
    add(lambda: P.FactoredEncoder(factors={"a": "a", "e": "e"}), rows="words")
    for target in ("number", "two", "three"):
        add(lambda: P.TargetEncoder(random_state=0), rows="words", target=target)
        add(lambda: P.TargetEncoder(smooth=3.0, cv=3, random_state=0), rows="words", target=target, layout="pandas")
    add(lambda: P.LabelBinarizer(neg_label=-1, pos_label=2))
    add(lambda: P.MultiLabelBinarizer(classes=list(WORDS[::-1])))


def texts(add: Callable[..., None]) -> None:
    for kind in (P.CountVectorizer, P.TfidfVectorizer):
        add(lambda kind=kind: kind(min_df=2, ngram_range=(1, 2)))
        add(lambda kind=kind: kind(binary=True, max_features=3))
        add(lambda kind=kind: kind(analyzer="char_wb", ngram_range=(2, 2)))
        add(lambda kind=kind: kind(vocabulary=["emu", "ant", "bee"]))
    add(lambda: P.TfidfVectorizer(use_idf=False, sublinear_tf=True, norm="l1"))
    add(lambda: P.TfidfVectorizer(smooth_idf=False, dtype=np.float32))
    add(lambda: P.TfidfTransformer(use_idf=False), rows="counts")
    add(lambda: P.TfidfTransformer(smooth_idf=False, norm=None), rows="counts", layout="float32")
    add(lambda: P.HashingVectorizer(n_features=16))
    add(lambda: P.DictVectorizer(sparse=False, sort=False, separator=": "))
    add(lambda: P.DictVectorizer(dtype=np.float32))
    for kind, rows in (("dict", "dicts"), ("pair", "pairs"), ("string", "sets")):
        add(lambda kind=kind: P.FeatureHasher(16, input_type=kind), rows=rows)


def selectors(add: Callable[..., None]) -> None:
    F = feature_selection
    for score in (F.f_regression, F.r_regression, F.mutual_info_regression):
        add(lambda score=score: F.SelectKBest(score, k=2), target="number")
    for score in (F.f_classif, F.mutual_info_classif):
        add(lambda score=score: F.SelectPercentile(score, percentile=40), target="three")
    for layout in ("array", "csr"):
        add(lambda: F.SelectKBest(F.chi2, k=2), rows="counts", layout=layout)
        add(
            lambda: F.GenericUnivariateSelect(F.mutual_info_classif, mode="k_best", param=2),
            rows="counts",
            layout=layout,
        )
    add(lambda: F.SelectFdr(F.f_regression, alpha=0.2), target="number", layout="pandas")
    add(lambda: F.SelectFpr(alpha=0.2), layout="float32")
    add(lambda: F.SelectFwe(F.chi2, alpha=0.5), rows="counts")
    add(F.VarianceThreshold, rows="gaps")
    add(lambda: F.VarianceThreshold(0.3), rows="rounded", layout="csc")
    add(lambda: F.SelectFromModel(L.Lasso(0.1), threshold="0.5*mean"), target="number")
    add(lambda: F.SelectFromModel(L.LogisticRegression(), max_features=2), target="three", layout="pandas")
    add(lambda: F.SelectFromModel(T.DecisionTreeClassifier(max_depth=3)))
    add(lambda: F.RFE(L.LogisticRegression(), step=2), target="three")
    add(lambda: F.RFE(L.Lasso(0.01), n_features_to_select=0.5), layout="csr")
    add(lambda: F.RFECV(L.LogisticRegression(), cv=2, min_features_to_select=2))
