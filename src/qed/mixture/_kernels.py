"""The interface of this package to compiled code: layout, type and length are fixed here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from qed import _native
from qed.data._kernels import plain, strided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Kind = Literal["soft", "hard", "given"]


class Components(NamedTuple):
    """Gaussians as a pass over rows needs them.

    Attributes
    ----------
    means : ndarray of shape (k, p)
        Means.
    whiten : ndarray of shape (k, p, p), (p, p) for all, or (k, p)
        Inverses of the lower Cholesky factors of covariances, or of standard deviations.
    levels : ndarray of shape (k,)
        What is added to minus half the squared lengths of whitened rows.
    shape : {"full", "tied", "diag"}
        Which of the three ``whiten`` is: a matrix for each component, one for all, or standard deviations.
    """

    means: Array
    whiten: Array
    levels: Array
    shape: Literal["full", "tied", "diag"]


class Sums(NamedTuple):
    """Sums over rows, weighted by responsibilities: differences from the means of the components, and their products."""

    likelihood: float
    weights: Array
    firsts: Array
    squares: Array  # (k, p, p), or (k, p) of components without correlations


def gaussian_sums(
    X: Any, shift: Array, s: Array | None, components: Components, kind: Kind = "soft", shares: Array | None = None
) -> Sums:
    """Sum moments over the rows; responsibilities that are ``given`` are read from ``shares``."""
    diagonal = components.shape == "diag"
    found = _native.mixture_pass(
        strided(X),
        plain(shift),
        s,
        _arrays(components, shift),
        diagonal,
        components.shape == "tied",
        kind,
        None,
        shares,
        True,
    )
    assert found is not None  # noqa: S101  (sums were asked for)
    likelihood, weights, firsts, squares = found
    k, p = components.means.shape
    return Sums(likelihood, weights, firsts, squares if diagonal else squares.reshape(k, p, p))


def gaussian_densities(X: Any, shift: Array, components: Components, *, shares: bool) -> tuple[Array, Array | None]:
    """Return the logarithm of the density of each row, and responsibilities where they are wanted."""
    n, k = X.shape[0], len(components.means)
    density, out = np.empty(n), np.empty((n, k)) if shares else None
    _native.mixture_pass(
        strided(X),
        plain(shift),
        None,
        _arrays(components, shift),
        components.shape == "diag",
        components.shape == "tied",
        "soft",
        density,
        out,
        False,
    )
    return density, out


def _arrays(components: Components, shift: Array) -> tuple[Array, Array, Array]:
    return plain(components.means - shift), plain(components.whiten), plain(components.levels)
