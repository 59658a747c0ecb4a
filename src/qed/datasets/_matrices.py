"""Matrices with a structure to order: low rank, positive definite, sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter
from qed.datasets._shapes import require_count
from qed.datasets._stream import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def make_low_rank_matrix(
    n_samples: int = 100,
    n_features: int = 100,
    *,
    effective_rank: int = 10,
    tail_strength: float = 0.5,
    random_state: Any = None,
) -> Array:
    """Draw a matrix whose singular values fall off in a bell, with a tail.

    Parameters
    ----------
    n_samples, n_features : int
        Its shape.
    effective_rank : int
        About how many singular vectors explain most of it.
    tail_strength : float in [0, 1]
        Weight of the tail.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The matrix.
    """
    require_count("make_low_rank_matrix", n_samples=n_samples, n_features=n_features, effective_rank=effective_rank)
    if not 0 <= tail_strength <= 1:
        raise InvalidParameter(f"make_low_rank_matrix: tail_strength must be in [0, 1], got {tail_strength!r}.")
    rng = stream(random_state)
    k = min(n_samples, n_features)
    from scipy.linalg import qr  # noqa: PLC0415  (SciPy costs a fifth of a second)

    left, right = (qr(rng.standard_normal((size, k)), mode="economic")[0] for size in (n_samples, n_features))
    place = np.arange(k) / effective_rank
    values = (1 - tail_strength) * np.exp(-(place**2)) + tail_strength * np.exp(-0.1 * np.arange(k) / effective_rank)
    return np.asarray((left * values) @ right.T)


def make_sparse_uncorrelated(
    n_samples: int = 100, n_features: int = 10, *, random_state: Any = None
) -> tuple[Array, Array]:
    """Draw a regression problem of which four columns matter: ``x0 + 2 x1 - 2 x2 - 1.5 x3``, and unit noise.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X; at least four columns.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X, y : ndarray
        Independent normal columns, and targets.
    """
    require_count("make_sparse_uncorrelated", n_samples=n_samples)
    if n_features < 4:
        raise InvalidParameter(f"make_sparse_uncorrelated: n_features must be at least four, got {n_features!r}.")
    rng = stream(random_state)
    X = rng.normal(size=(n_samples, n_features))
    return X, rng.normal(X[:, 0] + 2 * X[:, 1] - 2 * X[:, 2] - 1.5 * X[:, 3], np.ones(n_samples))


def make_spd_matrix(n_dim: int, *, random_state: Any = None) -> Array:
    """Draw a symmetric positive definite matrix: random directions around a matrix of ones with more on its diagonal.

    Parameters
    ----------
    n_dim : int
        Rows and columns.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    ndarray of shape (n_dim, n_dim)
        The matrix.
    """
    require_count("make_spd_matrix", n_dim=n_dim)
    rng = stream(random_state)
    from scipy.linalg import svd  # noqa: PLC0415

    drawn = rng.random((n_dim, n_dim))
    left, _, right = svd(drawn.T @ drawn)
    return np.asarray(left @ (1.0 + np.diag(rng.random(n_dim))) @ right)


def make_sparse_spd_matrix(
    n_dim: int = 1,
    *,
    alpha: float = 0.95,
    norm_diag: bool = False,
    smallest_coef: float = 0.1,
    largest_coef: float = 0.9,
    sparse_format: str | None = None,
    random_state: Any = None,
) -> Any:
    """Draw a symmetric positive definite matrix most of whose entries are zero: a sparse triangle times its transpose.

    Parameters
    ----------
    n_dim : int
        Rows and columns.
    alpha : float in [0, 1]
        Probability that an entry of the triangle is zero.
    norm_diag : bool
        Whether the diagonal is made one.
    smallest_coef, largest_coef : float
        Range of the triangle's entries.
    sparse_format : str or None
        Form of a sparse result ("csc", "csr", ...); None for an array.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    ndarray of shape (n_dim, n_dim)
        The matrix.
    """
    require_count("make_sparse_spd_matrix", n_dim=n_dim)
    rng = stream(random_state)
    from scipy import sparse  # noqa: PLC0415

    drawn = sparse.random_array(
        (n_dim, n_dim),
        density=1 - alpha,
        random_state=rng,
        data_sampler=lambda size: rng.uniform(smallest_coef, largest_coef, size),
    )
    order = rng.permutation(n_dim)
    triangle = sparse.tril(drawn, k=-1, format="csc")[order].T[order] - sparse.eye_array(n_dim)
    made = triangle.T @ triangle
    if norm_diag:
        scale = sparse.diags_array(1.0 / np.sqrt(made.diagonal()))
        made = scale @ made @ scale
    return made.toarray() if sparse_format is None else made.asformat(sparse_format)


def make_sparse_coded_signal(
    n_samples: int, *, n_components: int, n_features: int, n_nonzero_coefs: int, random_state: Any = None
) -> tuple[Array, Array, Array]:
    """Draw signals that are sums of a few columns of a dictionary.

    Parameters
    ----------
    n_samples : int
        Signals.
    n_components : int
        Atoms of the dictionary.
    n_features : int
        Length of a signal.
    n_nonzero_coefs : int
        Atoms in each signal.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    data : ndarray of shape (n_samples, n_features)
        Signals.
    dictionary : ndarray of shape (n_components, n_features)
        Atoms of unit length.
    code : ndarray of shape (n_samples, n_components)
        How much of each atom is in a signal. Axes of length one are dropped, of all three.
    """
    owner = "make_sparse_coded_signal"
    require_count(owner, n_samples=n_samples, n_components=n_components, n_features=n_features)
    if not 0 <= n_nonzero_coefs <= n_components:
        raise InvalidParameter(f"{owner}: n_nonzero_coefs must be from 0 to n_components, got {n_nonzero_coefs!r}.")
    rng = stream(random_state)
    atoms = rng.standard_normal((n_features, n_components))
    atoms /= np.sqrt(np.sum(atoms**2, axis=0))
    code = np.zeros((n_components, n_samples))
    for signal in range(n_samples):
        order = np.arange(n_components)
        rng.shuffle(order)
        code[order[:n_nonzero_coefs], signal] = rng.standard_normal(n_nonzero_coefs)
    made = tuple(np.squeeze(one.T) for one in (atoms @ code, atoms, code))
    return made[0], made[1], made[2]
