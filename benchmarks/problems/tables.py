"""Tables made ready, judged and searched: what stands around a model."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, sample

WORDS = np.array([f"category {number}" for number in range(50)])
VOCABULARY = np.array([f"word{number}" for number in range(20_000)])


def normal(rng: np.random.Generator, n: int, p: int, *, gaps: float = 0.0) -> Data:
    X = rng.standard_normal((n, p)) * np.arange(1, p + 1) + 1.0
    if gaps:
        X[rng.random((n, p)) < gaps] = np.nan
    return Data(X, np.nan_to_num(X) @ rng.standard_normal(p) + rng.standard_normal(n))


def skewed(rng: np.random.Generator, n: int, p: int) -> Data:
    return Data(rng.lognormal(size=(n, p)), np.zeros(n))


def words(rng: np.random.Generator, n: int, p: int) -> Data:
    places = rng.integers(0, len(WORDS), (n, p))
    return Data(WORDS[places], places[:, 0] + rng.standard_normal(n))


def labels(rng: np.random.Generator, n: int, p: int) -> Data:
    X = rng.standard_normal((n, p))
    return Data(X, (X @ rng.standard_normal(p) + rng.standard_normal(n) > 0).astype(np.int64))


def texts(rng: np.random.Generator, n: int, length: int) -> Data:
    """Texts whose words are as unequally frequent as in a language."""
    places = np.minimum(rng.zipf(1.3, (n, length)), len(VOCABULARY)) - 1
    return Data(np.array([[" ".join(row)] for row in VOCABULARY[places]]), np.zeros(n))


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **more: Any) -> Problem:
    return Problem(name, title, shape, make, task, measure="workflow", **more)


def in_rounds(library: Any, params: dict[str, Any]) -> Any:
    """Two rounds of chained equations by least squares, which both libraries solve exactly."""
    import_module(f"{library}.experimental.enable_iterative_imputer" if library == "sklearn" else library)
    imputer = import_module(f"{library}.impute").IterativeImputer
    regressor = import_module(f"{library}.linear_model").LinearRegression
    return lambda X, y: imputer(regressor(), **params).fit_transform(X)  # noqa: ARG005


def filled_in_rounds(data: Data, params: dict[str, Any]) -> Any:
    """Regress every column on the others, from few gaps to many, with NumPy alone."""
    gaps = np.isnan(data.X)
    filled = np.where(gaps, np.nanmean(data.X, axis=0), data.X)
    for _ in range(params["max_iter"]):
        for j in np.argsort(gaps.sum(axis=0), kind="stable"):
            A = np.column_stack([np.delete(filled, j, axis=1), np.ones(len(filled))])
            w = np.linalg.lstsq(A[~gaps[:, j]], filled[~gaps[:, j], j], rcond=None)[0]
            filled[gaps[:, j], j] = A[gaps[:, j]] @ w
    return filled[sample(len(filled))]


STRENGTHS = {"alphas": np.logspace(-3, 3, 20).tolist()}
PROBLEMS = (
    row("table-standard", "StandardScaler 1e6 × 100", (1_000_000, 100), normal, "StandardScaler"),
    row("table-minmax", "MinMaxScaler 1e6 × 20", (1_000_000, 20), normal, "MinMaxScaler"),
    row("table-impute", "SimpleImputer 1e6 × 20, 10 % gaps", (1_000_000, 20), partial(normal, gaps=0.1), "SimpleImputer"),
    row("table-neighbours", "KNNImputer 3000 × 20, 5 % gaps", (3_000, 20), partial(normal, gaps=0.05), "KNNImputer"),
    row("table-rounds", "IterativeImputer 20000 × 20, 5 % gaps, 2 rounds", (20_000, 20), partial(normal, gaps=0.05),
        "IterativeImputer", params={"max_iter": 2, "tol": 0.5}, run=in_rounds, expected=filled_in_rounds),
    row("table-poly", "PolynomialFeatures(2) 1e5 × 30", (100_000, 30), normal, "PolynomialFeatures"),
    row("table-bins", "KBinsDiscretizer 2e5 × 10, quantiles", (200_000, 10), normal, "KBinsDiscretizer",
        params={"n_bins": 10, "encode": "ordinal", "subsample": None}),
    row("table-power", "PowerTransformer 1e5 × 10", (100_000, 10), skewed, "PowerTransformer"),
    row("table-ranks", "QuantileTransformer 2e5 × 10", (200_000, 10), skewed, "QuantileTransformer",
        params={"subsample": None}),
    row("table-onehot", "OneHotEncoder 5e5 × 5 words", (500_000, 5), words, "OneHotEncoder", holder="objects"),
    row("table-onehot-polars", "OneHotEncoder 5e5 × 5 words in polars", (500_000, 5), words, "OneHotEncoder",
        holder="polars"),
    row("table-ordinal", "OrdinalEncoder 5e5 × 5 words", (500_000, 5), words, "OrdinalEncoder", holder="objects"),
    row("table-target", "TargetEncoder 5e5 × 5 words", (500_000, 5), words, "TargetEncoder", holder="objects",
        params={"random_state": 0}),
    row("table-text", "TfidfVectorizer 1e4 texts of 200 words", (10_000, 200), texts, "TfidfVectorizer", holder="texts"),
    row("table-dicts", "DictVectorizer 1e5 dicts of 5 words", (100_000, 5), words, "DictVectorizer", holder="dicts"),
    row("table-hashed", "FeatureHasher 1e5 dicts of 5 words", (100_000, 5), words, "FeatureHasher", holder="dicts",
        params={"n_features": 1024}),
    row("search-ridge", "GridSearchCV ridge, 20 strengths × 5 folds, 500 × 10", (500, 10), normal, "GridSearchCV",
        params=STRENGTHS),
    row("judge-logistic", "cross_validate logistic, 5 folds, 2000 × 20", (2_000, 20), labels, "cross_validate"),
    row("pipeline-ridge", "Pipeline scaler + ridge 2e5 × 30", (200_000, 30), normal, "Pipeline"),
)  # fmt: skip
