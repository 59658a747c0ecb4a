"""Models of near rows: the last rows of a table are asked about, the others are fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = ("KNeighborsClassifier", "KNeighborsRegressor", "KernelDensity")


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


def expected(task: str, X: np.ndarray, y: np.ndarray, params: dict[str, Any], rows: Callable[[int], np.ndarray]) -> Any:
    """What some of the rows should be told, by definition."""
    m = asked(len(X), params["queries"])
    old, new = X[: len(X) - m], X[len(X) - m :]
    out = []
    for query in new[rows(m)]:
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
