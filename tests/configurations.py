"""Models in many configurations, each with rows to fit it on: what the batteries of the checker go through.

Every public class is in by itself, with its default instance and with every layout, target and weight that its traits allow;
``GIVEN`` adds parameters that lead through other code, and models of models.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from tests.instances import instance, lacks

import qed
from qed import (
    calibration,
    cluster,
    compose,
    covariance,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    linear_model,
    manifold,
    mixture,
    model_selection,
    naive_bayes,
    neighbors,
    preprocessing,
    svm,
    tree,
)
from qed.model_selection._candidate import Candidate
from qed.study._recipes import candidates, pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Configuration", "Data", "configurations"]

L, P, C, E, M, T, NB = linear_model, preprocessing, compose, ensemble, model_selection, tree, naive_bayes
LAYOUTS = ("array", "fortran", "float32", "csr", "csc", "pandas", "polars")
WORDS = ("ant", "bee", "cat", "dog", "emu")


class Data(NamedTuple):
    """Rows of a fit, and further rows of the same kind."""

    X: Any
    y: Any
    weight: Any
    fresh: Any


@dataclass(frozen=True)
class Configuration:
    """An unfitted model, and what it is fitted on.

    Attributes
    ----------
    make : callable
        Makes the unfitted model.
    rows : str
        What X holds: numbers, counts, gaps, words, dates, texts, labels, sets, dicts, pairs, column (of numbers, alone);
        empty for what the traits of the model ask for.
    target : str
        What y holds: number, several, positive, two, three, integers, indicator, columns (of labels); empty for what the traits
        ask for.
    layout : str
        One of ``LAYOUTS``.
    weight : str
        Weights of the rows: empty for none, counts, wide (over 14 orders of magnitude).
    options : dict
        Further arguments of ``fit``, by name; each is called with the weights.
    """

    make: Callable[[], Any]
    rows: str = ""
    target: str = ""
    layout: str = "array"
    weight: str = ""
    options: dict[str, Callable[[Any], Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The model, and what differs from plain rows of numbers."""
        told = " ".join(filter(None, (self.rows, self.target, self.layout.replace("array", ""), self.weight)))
        shown = " ".join(repr(self.make()).split())
        return f"{shown:.150} [{told}]" if told else f"{shown:.150}"

    @property
    def kind(self) -> str:
        """The name of the class."""
        return type(self.make()).__name__

    def data(self, seed: int, n: int = 40, *, scale: float = 1.0) -> Data:
        """Return rows of a seed; ``scale`` is the spread of columns and offsets in orders of magnitude."""
        rng = np.random.default_rng(seed)
        model = self.make()
        traits = model._traits()
        rows = self.rows or _asked_rows(traits)
        if rows in ("texts", "labels", "sets", "dicts", "pairs"):
            return Data(_loose(rng, n, rows), None, None, _loose(rng, n, rows))
        X, score = _table(rng, 2 * n, rows, scale)
        y = _target(rng, score, self.target or _asked_target(model, traits))
        X = laid_out(X, self.layout)
        weight = _weights(rng, n, self.weight)
        return Data(cut(X, slice(0, n)), None if y is None else y[:n], weight, cut(X, slice(n, 2 * n)))

    def fitted(self, data: Data) -> Any:
        """Return a model fitted on rows; what a fit warns about is no matter here."""
        model = self.make()
        options = {name: given(data.weight) for name, given in self.options.items()}
        if data.weight is not None and not options:
            options["sample_weight"] = data.weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if data.y is None:
                return model.fit(data.X, **options)
            return model.fit(data.X, data.y, **options)


def _asked_rows(traits: Any) -> str:
    if not traits.table and traits.target:
        return "column"
    if not traits.table:
        if traits.mappings:
            return "dicts"
        return "labels" if traits.labels_only else "texts" if traits.strings else "sets"
    return "words" if traits.categorical and traits.transforms else "counts" if traits.positive_only else "numbers"


def _asked_target(model: Any, traits: Any) -> str:
    if not traits.single_output:
        return "several" if traits.target == "number" else "indicator"
    if traits.target == "number" or isinstance(model, feature_selection.SequentialFeatureSelector):
        return "positive" if traits.positive_target else "number"
    looks = traits.target or hasattr(model, "score_func")
    return "two" if looks else ""


def _loose(rng: Any, n: int, rows: str) -> Any:
    words = np.array(WORDS)
    if rows == "texts":
        return [" ".join(rng.choice(words, int(rng.integers(1, 7)))) for _ in range(n - 1)] + [" ".join(WORDS)]
    if rows == "labels":
        return [*WORDS[:4], *rng.choice(words[:4], n - 4).tolist()]
    if rows in ("dicts", "pairs"):
        made = [_mapping(rng, words) for _ in range(n - 1)] + [dict.fromkeys(WORDS, 1.0) | {"legs": "ant"}]
        return made if rows == "dicts" else [[(name, 1.5) for name in row] for row in made]
    return [set(rng.choice(words, int(rng.integers(1, 4))).tolist()) for _ in range(n - 1)] + [set(WORDS)]


def _mapping(rng: Any, words: Any) -> dict[str, Any]:
    """Return names with numbers, and one with a word."""
    names = rng.choice(words, int(rng.integers(1, 4)), replace=False).tolist()
    return {**{name: float(rng.normal()) for name in names}, "legs": str(rng.choice(words))}


def _table(rng: Any, n: int, rows: str, scale: float) -> tuple[Any, Any]:
    """Return a table, and a number of each row that its target depends on."""
    base = rng.normal(size=(n, 4))
    score = base @ np.array([1.0, -1.5, 0.7, 0.3]) + 0.6 * rng.normal(size=n)
    if rows == "words":
        codes = np.clip(np.floor(base[:, :3] * 1.3 + 2), 0, 4).astype(int)
        codes[:5], codes[n // 2 : n // 2 + 5] = np.arange(5)[:, None], np.arange(5)[:, None]
        return np.array(WORDS, dtype=object)[codes], score
    if rows == "dates":
        days = np.datetime64("2020-01-01") + np.floor(base[:, :2] * 300).astype("timedelta64[D]")
        return days.astype(str).astype(object), score
    if rows == "counts":
        X = np.floor(2 * np.abs(base))
        X[0] = X[n // 2] = X.max(axis=0)  # every category occurs in both halves
        return X, score
    X = base * 10.0 ** rng.uniform(-scale, scale, 4) + rng.normal(size=4) * 10.0 ** rng.uniform(-scale, scale, 4)
    if rows == "gaps":
        X = np.where(rng.random(X.shape) < 0.15, np.nan, X)
        X[:, 3] = np.where(np.isnan(X[:, 3]), 0.5, X[:, 3])  # one column without gaps
    elif rows == "rounded":
        X = np.round(base)
    elif rows == "positive":
        X = np.exp(base / 2)
    elif rows == "column":
        X = X[:, :1]
    return X, score


def _target(rng: Any, score: Any, kind: str) -> Any:  # noqa: PLR0911  one line for each kind
    if kind == "number":
        return score
    if kind == "several":
        return np.column_stack([score, rng.normal(size=len(score)) - score])
    if kind == "positive":
        return np.floor(np.exp(score / 2))
    if kind == "integers":
        return np.digitize(score, [-1.0, 1.0]) * 2
    if kind == "two":
        return np.where(score > 0, "yes", "no")
    if kind == "three":
        return np.array(["low", "middle", "top"])[np.digitize(score, [-1.0, 1.0])]
    if kind == "columns":
        return np.column_stack([_target(rng, score, "three"), _target(rng, score + rng.normal(size=len(score)), "two")])
    if kind == "indicator":
        return np.column_stack([score > 0, score + rng.normal(size=len(score)) > 0.3]).astype(int)
    return None


def _weights(rng: Any, n: int, kind: str) -> Any:
    if not kind:
        return None
    return rng.integers(0, 4, n).astype(float) if kind == "counts" else 10.0 ** rng.uniform(-7, 7, n)


def laid_out(X: Any, layout: str) -> Any:
    """Return a table in another container."""
    names = [f"c{j}" for j in range(X.shape[1])]
    if layout == "pandas":
        return pd.DataFrame(X, columns=names)
    if layout == "polars":
        return pl.DataFrame({name: X[:, j].tolist() for j, name in enumerate(names)})
    if layout in ("csr", "csc"):
        X = np.where(np.abs(X - np.nanmean(X, axis=0)) < 0.5 * np.nanstd(X, axis=0), 0.0, X)
        return sp.csr_array(X) if layout == "csr" else sp.csc_matrix(X)
    if layout == "float32":
        return X.astype(np.float32)
    return np.asfortranarray(X) if layout == "fortran" else X


def cut(X: Any, rows: slice) -> Any:
    """Return some rows of any container."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows].reset_index(drop=True)
    return X.tocsr()[rows] if sp.issparse(X) and X.format != "csr" else X[rows]


def takes_weights(model: Any) -> bool:
    """Tell whether a model can be fitted with weights."""
    return "sample_weight" in inspect.signature(model.fit).parameters


def _two(kind: Any, *parts: Any, **options: Any) -> Callable[[], Any]:
    """Return a maker of a model of models, from those of its parts."""
    return lambda: kind([(f"m{k}", part()) for k, part in enumerate(parts)], **options)


def _given() -> dict[str, list[Configuration]]:
    """Return further configurations by class: parameters that lead through other code, and models of models."""
    rows: dict[str, list[Configuration]] = {}

    def add(make: Callable[[], Any], **how: Any) -> None:
        one = Configuration(make, **how)
        rows.setdefault(one.kind, []).append(one)

    _scalers(add)
    _encoders(add)
    _texts(add)
    _linear(add)
    _others(add)
    _embeddings(add)
    _factors(add)
    _pairs(add)
    _sparse_factors(add)
    _selectors(add)
    _composites(add)
    _studies(add)
    return rows


def _scalers(add: Callable[..., None]) -> None:
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


def _encoders(add: Callable[..., None]) -> None:
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


def _texts(add: Callable[..., None]) -> None:
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


def _linear(add: Callable[..., None]) -> None:  # noqa: PLR0912  a list
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
    for loss in ("log_loss", "modified_huber", "squared_hinge"):
        add(lambda loss=loss: L.SGDClassifier(loss=loss, random_state=0), target="three")
    add(lambda: L.SGDClassifier(penalty="elasticnet", class_weight="balanced", random_state=0), target="integers")
    for loss in ("squared_error", "huber", "epsilon_insensitive"):
        add(lambda loss=loss: L.SGDRegressor(loss=loss, random_state=0), weight="counts")
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


def _factors(add: Callable[..., None]) -> None:
    D = decomposition
    for loss in ("frobenius", "kullback-leibler", 1.5):
        for kind in (D.NMF, D.MiniBatchNMF):
            add(lambda kind=kind, loss=loss: kind(2, beta_loss=loss, max_iter=30, random_state=0))
            add(
                lambda kind=kind, loss=loss: kind(
                    3, beta_loss=loss, max_iter=9, alpha_W=0.02, l1_ratio=0.4, init="random", random_state=1
                )
            )
    for kernel in ("rbf", "poly", "cosine", "laplacian"):
        back = kernel != "poly"  # powers of scores make the regression that gives rows back ill-conditioned
        add(
            lambda kernel=kernel, back=back: D.KernelPCA(2, kernel=kernel, gamma=0.1, fit_inverse_transform=back),
            layout="float32",
        )
        add(lambda kernel=kernel: D.KernelPCA(kernel=kernel, gamma=0.05))
    add(lambda: D.NMF(2, init="nndsvdar", max_iter=30, random_state=0), layout="csr")
    for algorithm in ("lasso_cd", "omp", "threshold"):
        add(
            lambda algorithm=algorithm: D.DictionaryLearning(
                3, alpha=0.3, transform_algorithm=algorithm, random_state=0
            )
        )
    add(
        lambda: D.DictionaryLearning(2, positive_code=True, positive_dict=True, max_iter=5, random_state=0),
        layout="float32",
    )
    for rotation in (None, "varimax", "quartimax"):
        add(lambda rotation=rotation: D.FactorAnalysis(2, rotation=rotation))
    add(lambda: D.FactorAnalysis(1, tol=1e-9, noise_variance_init=[1, 2, 0.5, 1]), layout="float32")
    add(lambda: D.ProbabilisticPCA(2))
    add(lambda: D.ProbabilisticPCA(4), layout="pandas")
    for fun in ("logcosh", "exp", "cube"):
        for algorithm in ("parallel", "deflation"):
            add(lambda fun=fun, algorithm=algorithm: D.FastICA(3, fun=fun, algorithm=algorithm, random_state=0))
    add(lambda: D.FastICA(2, whiten="arbitrary-variance", fun_args={"alpha": 1.5}, random_state=0), layout="float32")
    add(lambda: D.FastICA(whiten=False, random_state=0))


def _sparse_factors(add: Callable[..., None]) -> None:
    D = decomposition
    atoms = np.eye(5, 4) + np.eye(5, 4, 1) + 0.1
    for algorithm in ("lasso_cd", "omp", "threshold"):
        add(lambda algorithm=algorithm: D.SparseCoder(atoms, transform_algorithm=algorithm, transform_alpha=0.2))
        add(
            lambda algorithm=algorithm: D.MiniBatchDictionaryLearning(
                3, alpha=0.3, batch_size=10, max_iter=5, transform_algorithm=algorithm, random_state=0
            )
        )
    add(
        lambda: D.SparseCoder(atoms, transform_algorithm="lasso_lars", positive_code=True, split_sign=True),
        layout="float32",
    )
    add(
        lambda: D.MiniBatchDictionaryLearning(2, positive_code=True, positive_dict=True, max_iter=3, random_state=0),
        layout="float32",
    )
    for kind in (D.SparsePCA, D.MiniBatchSparsePCA):
        add(lambda kind=kind: kind(2, alpha=0.5, random_state=0))
        add(lambda kind=kind: kind(3, alpha=2.0, ridge_alpha=0.5, max_iter=20, random_state=0), layout="float32")
    add(lambda: D.MatrixCompletion(alpha=0.5), rows="gaps")
    add(lambda: D.MatrixCompletion(alpha=2.0, center=False), rows="gaps", layout="float32")
    add(lambda: D.MatrixCompletion(alpha=0.3), layout="pandas")
    for method in ("batch", "online"):
        add(lambda method=method: D.LatentDirichletAllocation(2, learning_method=method, random_state=0))
        add(
            lambda method=method: D.LatentDirichletAllocation(
                3, learning_method=method, batch_size=15, doc_topic_prior=0.5, max_iter=3, random_state=0
            ),
            layout="csr",
        )


def _pairs(add: Callable[..., None]) -> None:
    D = decomposition
    for kind in (D.PLSRegression, D.PLSCanonical, D.CCA, D.PLSSVD):
        add(lambda kind=kind: kind(2), target="several")
        add(lambda kind=kind: kind(1, scale=False), layout="float32")
    add(lambda: D.PLSRegression(3), layout="pandas")


def _clusters(add: Callable[..., None]) -> None:
    add(lambda: cluster.KMeans(3, n_init=1, random_state=0))
    add(lambda: cluster.KMeans(2, n_init=2, random_state=0), weight="counts", layout="float32")
    for init in ("distance", "farthest", "random"):
        add(lambda init=init: cluster.KMeans(3, init=init, n_init=1, random_state=0))
    add(lambda: cluster.BisectingKMeans(4, bisecting_strategy="largest_cluster", random_state=0), weight="counts")
    add(lambda: cluster.MiniBatchKMeans(3, batch_size=10, random_state=0), layout="csr")
    add(lambda: cluster.SoftKMeans(2, beta=0.1, random_state=0), weight="counts")
    for kernel in ("linear", "poly", "cosine"):
        add(lambda kernel=kernel: cluster.KernelKMeans(3, kernel=kernel, degree=2, random_state=0))
    for linkage in ("single", "complete", "average", "weighted", "ward", "centroid", "median"):
        add(lambda linkage=linkage: cluster.AgglomerativeClustering(3, linkage=linkage))
    add(lambda: cluster.AgglomerativeClustering(None, distance_threshold=1.5, linkage="average", metric="manhattan"))
    add(lambda: cluster.AgglomerativeClustering(3, linkage="complete", metric="cosine"), layout="float32")
    add(lambda: cluster.DivisiveClustering(3, metric="chebyshev"), layout="pandas")
    add(lambda: cluster.FeatureAgglomeration(2, linkage="average", metric="correlation"))
    add(lambda: cluster.DBSCAN(1.0, min_samples=3), weight="counts")
    add(lambda: cluster.DBSCAN(0.8, min_samples=2, metric="cosine"), layout="float32")
    for options in ({}, {"cluster_method": "dbscan", "eps": 1.5}, {"metric": "manhattan", "max_eps": 2.0}):
        add(lambda options=options: cluster.OPTICS(min_samples=3, **options))
    for options in (
        {},
        {"cluster_selection_method": "leaf"},
        {"store_centers": "both"},
        {"allow_single_cluster": True},
    ):
        add(lambda options=options: cluster.HDBSCAN(3, min_samples=2, **options))
    add(cluster.MeanShift)
    add(lambda: cluster.MeanShift(bandwidth=1.5, cluster_all=False, bin_seeding=True), layout="float32")
    add(lambda: cluster.AffinityPropagation(damping=0.7, random_state=0))
    add(lambda: cluster.Birch(threshold=0.8, branching_factor=3))
    add(lambda: cluster.Birch(threshold=0.3, n_clusters=None), layout="csr")
    add(lambda: cluster.SpectralCoclustering(2, random_state=0))
    for method in ("bistochastic", "scale", "log"):
        add(
            lambda method=method: cluster.SpectralBiclustering(
                2, method=method, n_components=2, n_best=1, random_state=0
            )
        )
    add(lambda: cluster.KMedoids(3, metric="manhattan", random_state=0), weight="counts")
    for affinity in ("nearest_neighbors", "laplacian"):
        add(lambda affinity=affinity: cluster.SpectralClustering(2, affinity=affinity, random_state=0))


def _mixtures(add: Callable[..., None]) -> None:
    add(lambda: covariance.GraphicalLasso(0.1, assume_centered=True), weight="counts")
    add(lambda: covariance.LedoitWolf(store_precision=False, assume_centered=True))
    add(lambda: covariance.MinCovDet(support_fraction=0.8, random_state=0, store_precision=False))
    for kind in ("full", "tied", "diag", "spherical"):
        add(lambda kind=kind: mixture.GaussianMixture(2, covariance_type=kind, random_state=0))
    add(
        lambda: mixture.GaussianMixture(3, random_state=0, max_iter=3, init_params="k-means++"),
        weight="counts",
        layout="float32",
    )
    add(lambda: mixture.GaussianMixture(2, algorithm="hard", random_state=0, reg_covar=0.01))
    add(
        lambda: mixture.GaussianMixture(2, covariance_prior=0.5, degrees_of_freedom_prior=9, random_state=0),
        weight="wide",
    )
    for kind in (mixture.BernoulliMixture, mixture.CategoricalMixture, mixture.PoissonMixture):
        for start in ("kmeans", "random", "random_from_data"):
            add(
                lambda kind=kind, start=start: kind(2, init_params=start, random_state=0),
                rows="counts",
                weight="counts",
            )
        add(lambda kind=kind: kind(3, alpha=0.01, tol=1e-9, max_iter=500, random_state=0), rows="counts", weight="wide")
    for kind in ("full", "tied", "diag", "spherical"):
        add(lambda kind=kind: mixture.GaussianMixtureClassifier(2, covariance_type=kind, random_state=0), target="two")
    add(
        lambda: mixture.GaussianMixtureClassifier([1, 2], unlabeled="middle", random_state=0),
        target="three",
        weight="counts",
    )
    add(lambda: mixture.GaussianMixtureClassifier(unlabeled=4, reg_covar=0.1), target="integers", weight="wide")
    for kinds in ("gaussian", "poisson", ["gaussian", "bernoulli", "poisson", "categorical"]):
        add(lambda kinds=kinds: NB.MixedNB(kinds), rows="counts", target="three", weight="counts")
    add(NB.MixedNB, rows="gaps", target="two", layout="pandas")
    add(lambda: NB.MixedNB(priors=[0.3, 0.7], var_smoothing=0.1), rows="gaps", target="two", weight="wide")
    for layout in ("csr", "csc"):
        add(lambda: mixture.PoissonMixture(2, random_state=0), rows="counts", layout=layout)
        add(lambda: mixture.BernoulliMixture(2, binarize=1.0, random_state=0), rows="counts", layout=layout)
    add(lambda: mixture.CategoricalMixture(2, min_categories=9, random_state=0), rows="counts", layout="pandas")
    for kind in ("full", "tied", "diag", "spherical"):
        add(lambda kind=kind: mixture.BayesianGaussianMixture(3, covariance_type=kind, random_state=0))
    add(
        lambda: mixture.BayesianGaussianMixture(
            2, weight_concentration_prior_type="dirichlet_distribution", covariance_type="diag", random_state=0
        ),
        weight="counts",
        layout="float32",
    )


def _curves(add: Callable[..., None]) -> None:
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


def _forests(add: Callable[..., None]) -> None:
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
    _exactly_boosted(add)


def _exactly_boosted(add: Callable[..., None]) -> None:
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


def _copies(add: Callable[..., None]) -> None:
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


def _embeddings(add: Callable[..., None]) -> None:
    add(lambda: manifold.ClassicalMDS(2))
    add(lambda: manifold.MDS(2, max_iter=20))
    add(lambda: manifold.MDS(2, metric_mds=False, max_iter=10), layout="float32")
    add(lambda: manifold.Isomap(n_neighbors=4))
    add(lambda: manifold.LocallyLinearEmbedding(n_neighbors=4))
    add(lambda: manifold.LocallyLinearEmbedding(n_neighbors=8, method="modified"))
    add(lambda: manifold.LocallyLinearEmbedding(n_neighbors=8, method="ltsa"), layout="float32")
    add(lambda: manifold.SpectralEmbedding(2, n_neighbors=5))
    add(lambda: manifold.SpectralEmbedding(2, affinity="rbf"))
    add(lambda: manifold.TSNE(2, perplexity=4, max_iter=60, random_state=0))
    add(lambda: manifold.UMAP(2, n_neighbors=5, n_epochs=20, random_state=0))


def _others(add: Callable[..., None]) -> None:
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
    _curves(add)
    _forests(add)
    _copies(add)
    add(lambda: neighbors.KNeighborsClassifier(3, weights="distance"), target="three")
    add(lambda: neighbors.KNeighborsClassifier(3, metric="manhattan"), layout="pandas")
    add(lambda: neighbors.KNeighborsRegressor(3, p=3), target="several")
    add(lambda: neighbors.KNeighborsRegressor(4, algorithm="brute"), layout="float32")
    add(lambda: neighbors.NearestNeighbors(n_neighbors=3, metric="chebyshev"))
    add(lambda: neighbors.KernelDensity(bandwidth=0.7, kernel="epanechnikov"), weight="counts")
    _clusters(add)
    _mixtures(add)
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


def _selectors(add: Callable[..., None]) -> None:
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


def _studies(add: Callable[..., None]) -> None:
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


def _composites(add: Callable[..., None]) -> None:
    scaled = _two(C.Pipeline, P.StandardScaler, L.Ridge)
    add(scaled, weight="counts")
    add(scaled, layout="pandas")
    add(_two(C.Pipeline, lambda: P.TargetEncoder(random_state=0), L.Ridge), rows="words")
    add(_two(C.Pipeline, lambda: P.TargetEncoder(random_state=0), L.LogisticRegression), rows="words", target="three")
    add(_two(C.Pipeline, P.OneHotEncoder, L.LogisticRegression), rows="words", target="three", layout="pandas")
    add(_two(C.Pipeline, lambda: P.SimpleImputer(add_indicator=True), P.StandardScaler, L.Lasso), rows="gaps")
    add(_two(C.Pipeline, P.TfidfVectorizer, P.MaxAbsScaler))
    add(_two(C.Pipeline, lambda: decomposition.PCA(2), lambda: T.DecisionTreeClassifier(max_depth=2)), target="three")
    add(_two(C.Pipeline, lambda: P.FunctionTransformer(np.tanh), L.Ridge))
    add(scaled, weight="counts", options={"m1__sample_weight": lambda weight: weight})
    mixed = [("scale", P.StandardScaler(), [0, 2]), ("bins", P.KBinsDiscretizer(3, strategy="uniform"), [1])]
    add(lambda: C.ColumnTransformer(qed.clone(mixed), remainder="passthrough"))
    add(lambda: C.ColumnTransformer(qed.clone(mixed)), weight="counts")
    add(lambda: C.ColumnTransformer([("one", P.OneHotEncoder(), ["c0", "c2"])]), rows="words", layout="pandas")
    add(lambda: C.ColumnTransformer([("one", P.TargetEncoder(random_state=0), [0, 1])]), rows="words", target="number")
    add(_two(C.FeatureUnion, P.MinMaxScaler, lambda: decomposition.PCA(2)))
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
    add(_two(E.StackingRegressor, L.Ridge, L.Lasso, cv=3))
    add(_two(E.StackingClassifier, L.LogisticRegression, NB.GaussianNB, cv=3), target="three")
    for transformer in (P.StandardScaler, P.QuantileTransformer, P.PowerTransformer):
        add(lambda transformer=transformer: C.TransformedTargetRegressor(L.Ridge(), transformer=transformer()))
    add(lambda: C.TransformedTargetRegressor(L.Lasso(0.1), transformer=P.StandardScaler()), weight="counts")
    add(lambda: C.TransformedTargetRegressor(L.Ridge(), func=np.log1p, inverse_func=np.expm1), target="positive")
    add(lambda: C.TransformedTargetRegressor(L.Ridge(), transformer=P.StandardScaler()), target="several")
    classifiers = (L.LogisticRegression, NB.GaussianNB, lambda: T.DecisionTreeClassifier(max_depth=2))
    regressors = (L.Ridge, lambda: L.Lasso(0.1), lambda: T.DecisionTreeRegressor(max_depth=2))
    for target in ("two", "three", "integers"):
        add(_two(E.VotingClassifier, *classifiers, voting="soft"), target=target)
    add(_two(E.VotingClassifier, *classifiers), weight="counts")
    add(_two(E.VotingRegressor, *regressors, weights=[1.0, 2.0, 3.0]), weight="counts")
    add(_two(E.VotingRegressor, scaled, L.Lasso))
    add(_two(E.StackingClassifier, *classifiers, final_estimator=L.LogisticRegression(), cv=3), target="three")
    add(
        _two(E.StackingClassifier, *classifiers, final_estimator=L.LogisticRegression(), cv=3, passthrough=True),
        weight="counts",
    )
    add(_two(E.StackingRegressor, *regressors, final_estimator=L.Ridge(), cv=3), weight="counts")
    add(_two(E.StackingRegressor, scaled, L.Lasso, final_estimator=L.Ridge(), cv=3, passthrough=True))
    add(lambda: M.GridSearchCV(scaled(), {"m1__alpha": [0.1, 10.0]}, cv=3))
    add(lambda: M.GridSearchCV(L.LogisticRegression(), {"C": [0.1, 1.0]}, cv=3), target="three", weight="counts")
    add(_two(C.Pipeline, P.StandardScaler, lambda: M.GridSearchCV(L.Ridge(), {"alpha": [0.1, 1.0]}, cv=2)))
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


def configurations() -> list[Configuration]:
    """Return all configurations: every public class with its default instance, and those given above."""
    given, found = _given(), []
    for name, kind in qed.all_estimators():
        if lacks(kind.__module__) is None:
            found.append(Configuration(lambda kind=kind: instance(kind)))
        found += given.pop(name, [])
    if given:
        raise AssertionError(f"configurations of classes that qed does not have: {sorted(given)}")
    return found


def varied(one: Configuration, rng: Any) -> Configuration:
    """Return a configuration in another layout, with other weights or another target, as its traits allow."""
    model = one.make()
    traits = model._traits()
    if one.options:
        return one
    layout, weight, target = one.layout, one.weight, one.target
    rows = one.rows or _asked_rows(traits)
    if layout == "array" and rows in ("numbers", "rounded", "positive", "column"):
        allowed = [one for one in LAYOUTS if one[:2] != "cs" or traits.sparse]
        layout = str(rng.choice(allowed))
    if takes_weights(model) and (traits.table or traits.target):
        weight = str(rng.choice(["", "counts", "wide"]))
    if (
        traits.target == "label"
        and traits.multi_class
        and target in ("", "two", "three", "integers")
        and traits.single_output
    ):
        target = str(rng.choice(["two", "three", "integers"]))
    return replace(one, layout=layout, weight=weight, target=target)
