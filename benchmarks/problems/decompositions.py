"""Tables described by directions without centring, in the space of a kernel, and by nonnegative parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of

if TYPE_CHECKING:
    from collections.abc import Callable


def normal(rng: np.random.Generator, n: int, p: int) -> Data:
    """Independent normal columns, some of them longer."""
    return Data(rng.standard_normal((n, p)) * np.linspace(3, 1, p), np.zeros(n))


def singular(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """What singular directions leave out of the sum of squares, as a share of it."""
    svd = model_of(library, "decomposition", "TruncatedSVD")
    return lambda X, _: float(1 - np.sum(svd(**params).fit(X).singular_values_ ** 2) / np.sum(X * X))


def unexplained(data: Data, params: dict[str, Any]) -> Any:
    """The least share that so many directions can leave out."""
    values = np.linalg.eigvalsh(data.X.T @ data.X)
    return [np.sum(values[: -params["n_components"]]) / np.sum(values)]


def kernel_directions(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float]:
    """The sum of the leading eigenvalues of a centred kernel, negative: less is better."""
    pca = model_of(library, "decomposition", "KernelPCA")
    return lambda X, _: -float(np.sum(pca(**params).fit(X).eigenvalues_))


def leading(data: Data, params: dict[str, Any]) -> Any:
    """The same from all eigenvalues."""
    squares = np.sum(data.X**2, axis=1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * data.X @ data.X.T, 0.0) / data.X.shape[1])
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    return [-np.sum(np.linalg.eigvalsh(K)[-params["n_components"] :])]


PROBLEMS = (
    Problem("svd-tall", "TruncatedSVD 20000×200", (20_000, 200), normal, "TruncatedSVD", measure="workflow",
            run=singular, expected=unexplained, params={"n_components": 10, "random_state": 0}),
    Problem("svd-square", "TruncatedSVD 2000×2000", (2_000, 2_000), normal, "TruncatedSVD", measure="workflow",
            run=singular, expected=unexplained, params={"n_components": 20, "random_state": 0}),
    Problem("kernel-pca", "KernelPCA 3000×50, rbf", (3_000, 50), normal, "KernelPCA", measure="workflow",
            run=kernel_directions, expected=leading,
            params={"n_components": 10, "kernel": "rbf", "random_state": 0}),
)  # fmt: skip
