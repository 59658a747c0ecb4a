"""Kernels between all pairs of rows: products in a space of features that is never written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidParameter
from qed.metrics._pairwise import _read, by_function, cosine_similarity, euclidean_distances, manhattan_distances

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array


def linear_kernel(X: Any, Y: Any = None, dense_output: bool = True) -> Array:  # noqa: ARG001
    """Return the products of rows of X with those of Y."""
    rows, others = _read(X, Y)
    return np.asarray(rows @ others.T)


def polynomial_kernel(X: Any, Y: Any = None, degree: float = 3, gamma: float | None = None, coef0: float = 1) -> Array:
    """Return ``(gamma x'y + coef0) ** degree``; gamma is one over the number of columns by default."""
    rows, others = _read(X, Y)
    return np.asarray((_rate(gamma, rows) * (rows @ others.T) + coef0) ** degree)


def sigmoid_kernel(X: Any, Y: Any = None, gamma: float | None = None, coef0: float = 1) -> Array:
    """Return ``tanh(gamma x'y + coef0)``, which is a kernel for some choices of gamma and coef0 only."""
    rows, others = _read(X, Y)
    return np.asarray(np.tanh(_rate(gamma, rows) * (rows @ others.T) + coef0))


def rbf_kernel(X: Any, Y: Any = None, gamma: float | None = None) -> Array:
    """Return ``exp(-gamma |x - y|^2)``, the Gaussian kernel; gamma is one over the number of columns by default.

    Examples
    --------
    >>> from qed.metrics.pairwise import rbf_kernel
    >>> rbf_kernel([[0.0], [1.0]], gamma=1.0).round(4).tolist()
    [[1.0, 0.3679], [0.3679, 1.0]]
    """
    found = euclidean_distances(X, Y, squared=True)
    found *= -_rate(gamma, X)
    return np.asarray(np.exp(found, out=found))


def laplacian_kernel(X: Any, Y: Any = None, gamma: float | None = None) -> Array:
    """Return ``exp(-gamma |x - y|_1)``."""
    found = manhattan_distances(X, Y)
    found *= -_rate(gamma, X)
    return np.asarray(np.exp(found, out=found))


def _rate(gamma: float | None, rows: Any) -> float:
    return 1.0 / np.shape(rows)[1] if gamma is None else float(gamma)


KERNELS: dict[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
    "cosine": (cosine_similarity, ()),
    "laplacian": (laplacian_kernel, ("gamma",)),
    "linear": (linear_kernel, ()),
    "poly": (polynomial_kernel, ("gamma", "degree", "coef0")),
    "polynomial": (polynomial_kernel, ("gamma", "degree", "coef0")),
    "rbf": (rbf_kernel, ("gamma",)),
    "sigmoid": (sigmoid_kernel, ("gamma", "coef0")),
}


def pairwise_kernels(
    X: Any, Y: Any = None, metric: Any = "linear", *, filter_params: bool = False, n_jobs: Any = None, **kwds: Any
) -> Array:
    """Return the kernel between the rows of X and those of Y.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p), or a kernel of shape (n, n) if the metric is "precomputed"
        Rows.
    Y : array-like or sparse of shape (m, p), optional
        Other rows; those of X by default.
    metric : str or callable
        "linear", "poly" or "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "precomputed"; or a function of two rows.
    filter_params : bool
        Whether to leave out parameters that the kernel does not have, instead of raising an error.
    n_jobs : int, optional
        Not needed: products of matrices use the threads there are.
    **kwds : object
        Parameters of the kernel: gamma, degree, coef0; or those of a function.

    Returns
    -------
    ndarray of shape (n, m)
        The kernel.

    Examples
    --------
    >>> from qed.metrics import pairwise_kernels
    >>> pairwise_kernels([[1.0, 2.0]], [[3.0, 4.0]], metric="linear").tolist()
    [[11.0]]
    """
    del n_jobs
    if callable(metric):
        return by_function("kernel", metric, *_read(X, Y), kwds)
    if metric == "precomputed":
        return np.asarray(X)
    if metric not in KERNELS:
        raise InvalidParameter(
            f"Unknown kernel {metric!r}. Valid kernels are {sorted([*KERNELS, 'precomputed'])}, or a function of two rows."
        )
    function, names = KERNELS[metric]
    extra = sorted(set(kwds) - set(names))
    if extra and not filter_params:
        raise InvalidParameter(f"The kernel {metric!r} takes {list(names)}, got {extra}.")
    return function(X, Y, **{name: value for name, value in kwds.items() if name in names})
