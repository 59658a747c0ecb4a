"""Matrices with a structure to order: low rank, positive definite, sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, generator
from qed.datasets._shapes import require_count

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
        The seed.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The matrix.
    """
    require_count("make_low_rank_matrix", n_samples=n_samples, n_features=n_features, effective_rank=effective_rank)
    if not 0 <= tail_strength <= 1:
        raise InvalidParameter(f"make_low_rank_matrix: tail_strength must be in [0, 1], got {tail_strength!r}.")
    rng = generator(random_state)
    k = min(n_samples, n_features)
    left, right = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (n_samples, n_features))
    place = np.arange(k) / effective_rank
    values = (1 - tail_strength) * np.exp(-(place**2)) + tail_strength * np.exp(-0.1 * place)
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
        The seed.

    Returns
    -------
    X, y : ndarray
        Independent normal columns, and targets.
    """
    require_count("make_sparse_uncorrelated", n_samples=n_samples)
    if n_features < 4:
        raise InvalidParameter(f"make_sparse_uncorrelated: n_features must be at least four, got {n_features!r}.")
    rng = generator(random_state)
    X = rng.standard_normal((n_samples, n_features))
    return X, X[:, :4] @ [1.0, 2.0, -2.0, -1.5] + rng.standard_normal(n_samples)


def make_spd_matrix(n_dim: int, *, random_state: Any = None) -> Array:
    """Draw a symmetric positive definite matrix with eigenvalues between one and two.

    Parameters
    ----------
    n_dim : int
        Rows and columns.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    ndarray of shape (n_dim, n_dim)
        The matrix.
    """
    require_count("make_spd_matrix", n_dim=n_dim)
    rng = generator(random_state)
    basis = np.linalg.qr(rng.standard_normal((n_dim, n_dim)))[0]
    made = (basis * (1 + rng.random(n_dim))) @ basis.T
    return np.asarray((made + made.T) / 2)


def make_sparse_spd_matrix(
    n_dim: int = 1,
    *,
    alpha: float = 0.95,
    norm_diag: bool = False,
    smallest_coef: float = 0.1,
    largest_coef: float = 0.9,
    random_state: Any = None,
) -> Array:
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
        Range of the sizes of the triangle's entries.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    ndarray of shape (n_dim, n_dim)
        The matrix.
    """
    require_count("make_sparse_spd_matrix", n_dim=n_dim)
    rng = generator(random_state)
    sizes = rng.uniform(smallest_coef, largest_coef, (n_dim, n_dim)) * rng.choice([-1.0, 1.0], (n_dim, n_dim))
    triangle = np.tril(np.where(rng.random((n_dim, n_dim)) < alpha, 0.0, sizes), -1) - np.eye(n_dim)
    order = rng.permutation(n_dim)
    triangle = triangle[order][:, order]
    made = triangle.T @ triangle
    if norm_diag:
        scale = np.sqrt(np.diag(made))
        made = made / scale / scale[:, np.newaxis]
    return np.asarray(made)
