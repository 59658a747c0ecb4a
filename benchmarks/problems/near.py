"""Nearest rows and densities: fitted and asked, or fitted once and asked again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of, sample

if TYPE_CHECKING:
    from collections.abc import Callable


def cloud(rng: np.random.Generator, n: int, p: int) -> Data:
    """Gaussian rows, and three labels that follow the first column."""
    X = rng.standard_normal((n, p))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), [-0.5, 0.5])
    y[-3:] = y[:3] = [0, 1, 2]
    return Data(X, y)


def asked(n: int, queries: int) -> int:
    """How many rows are asked about, where the table may have been made smaller."""
    return min(queries, n // 2)


def workflow(kind: Any, *, queries: int, once: bool = False, **params: Any) -> Callable[[Any, Any], Any]:
    """Fit and ask; with `once` the fit belongs to the first call, and later ones ask the same model again."""
    kept: list[Any] = []

    def work(X: Any, y: Any) -> Any:
        at = len(X) - asked(len(X), queries)
        if not kept or not once:
            kept[:] = [kind(**params).fit(X[:at], y[:at])]
        model, new = kept[0], X[at:]
        for method in ("predict_proba", "predict", "score_samples"):
            if hasattr(model, method):
                return getattr(model, method)(new)
        raise AssertionError(kind)

    return work


def expected(task: str, data: Data, params: dict[str, Any]) -> Any:
    """What some of the rows should be told, by definition."""
    X, y = data.X, data.y
    m = asked(len(X), params["queries"])
    old, new = X[: len(X) - m], X[len(X) - m :]
    out = []
    for query in new[sample(m)]:
        squares = ((old - query) ** 2).sum(axis=1)
        if task == "KernelDensity":
            h, p = params["bandwidth"], X.shape[1]
            if params.get("kernel") == "tophat":
                assert p == 2, "the area of a disc"
                out.append(np.log(np.sum(squares < h * h) / (len(old) * np.pi * h * h)))
            else:
                least = squares.min()
                total = np.log(np.exp(-(squares - least) / (2 * h * h)).sum()) - least / (2 * h * h)
                out.append(total - np.log(len(old)) - p * (np.log(h) + np.log(2 * np.pi) / 2))
            continue
        votes = y[np.argsort(squares, kind="stable")[:5]]
        out.append(
            votes.mean() if task == "KNeighborsRegressor" else np.bincount(votes, minlength=int(y.max()) + 1) / 5
        )
    return np.array(out)


def near(
    name: str, title: str, shape: tuple[int, int], task: str = "KNeighborsClassifier", **params: object
) -> Problem:
    def run(library: str, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
        return workflow(model_of(library, "neighbors", task), **params)

    judge = partial(expected, task)
    return Problem(name, f"{task} {title}", shape, cloud, task, params, "workflow", run=run, expected=judge)


PROBLEMS = (
    near("near-small", "100×5, fit and 50 queries", (150, 5), queries=50),
    near("near-1000", "1000×20, fit and 1000 queries", (2000, 20), queries=1000),
    near("near-fit", "1e5×10, fit and one query", (100_001, 10), queries=1),
    near("near-10", "1e5×10, 1000 queries", (101_000, 10), queries=1000, once=True),
    near("near-3", "1e5×3, 1e4 queries", (110_000, 3), "KNeighborsRegressor", queries=10_000, once=True),
    near("near-100", "1e4×100, 1000 queries", (11_000, 100), queries=1000, once=True),
    near("near-one", "1e4×100, one query", (10_001, 100), queries=1, once=True),
    near("density-small", "100×2, fit and 100 points", (200, 2), "KernelDensity", queries=100, bandwidth=0.5),
    near("density", "1e4×2, 500 points", (10_500, 2), "KernelDensity", queries=500, bandwidth=0.3, once=True),
    near(
        "density-tophat",
        "1e5×2, tophat, 500 points",
        (100_500, 2),
        "KernelDensity",
        queries=500,
        bandwidth=0.5,
        kernel="tophat",
        once=True,
    ),
)
