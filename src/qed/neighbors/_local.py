"""Windows of local averages: how much a row counts at a distance, by the names that local regression knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array


LocalName = Literal["gaussian", "truncated_gaussian", "epanechnikov", "tricube", "quartic", "cosine", "triangle"]

_FORMULAS: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda u: np.exp(-0.5 * u * u),
    "truncated_gaussian": lambda u: np.exp(-0.5 * u * u),
    "epanechnikov": lambda u: 0.75 * (1 - u * u),
    "tricube": lambda u: 70 / 81 * (1 - u**3) ** 3,
    "quartic": lambda u: 15 / 16 * (1 - u * u) ** 2,
    "cosine": lambda u: np.pi / 4 * np.sin(np.pi / 2 * (1 - u)),
    "triangle": lambda u: 1 - u,
}


def localisation_kernel(u: Any, kernel: LocalName = "gaussian") -> Array:
    """Return how much rows count at a distance from a point, for local averages and local fits.

    Parameters
    ----------
    u : array-like
        Distances over the bandwidth; their signs do not matter.
    kernel : str
        "gaussian" and "truncated_gaussian" are exp(-u²/2), the second up to u = 1; the others are zero from u = 1 on and
        integrate to one over [-1, 1]: "epanechnikov" ¾(1 - u²), "tricube" 70/81 (1 - u³)³, "quartic" 15/16 (1 - u²)², "cosine"
        π/4 cos(πu/2), "triangle" 1 - u.

    Returns
    -------
    ndarray
        Weights >= 0, of the shape of u.

    Examples
    --------
    >>> from qed.neighbors import localisation_kernel
    >>> localisation_kernel([0.0, -0.5, 1.0], "epanechnikov").tolist()
    [0.75, 0.5625, 0.0]
    """
    if kernel not in _FORMULAS:
        raise InvalidParameter(f"kernel must be one of {', '.join(map(repr, _FORMULAS))}, got {kernel!r}.")
    size = np.abs(np.asarray(u, dtype=np.float64))
    if np.isnan(size).any():
        raise InvalidData("u contains NaN. Distances are numbers.")
    if kernel == "gaussian":
        return np.asarray(_FORMULAS[kernel](size))
    return np.where(size < 1, _FORMULAS[kernel](np.minimum(size, 1.0)), 0.0)
