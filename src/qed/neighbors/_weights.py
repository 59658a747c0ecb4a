"""How much each neighbour counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import InvalidData

if TYPE_CHECKING:
    from qed.core._params import Array


WeightsOption = Literal["uniform", "distance"] | Callable | None  # type: ignore[type-arg]


def why_no_weights(option: Any) -> str:
    """Say what is wrong with weights in a model file: words, or a function of numbers of NumPy."""
    good = option is None or isinstance(option, str | np.ufunc)
    return "" if good else "should be a word or a function of numbers of NumPy"


def weights_of(option: str | Callable[[Array], Array] | None, distances: Array) -> Array | None:
    """Return the weight of each neighbour, None for ones.

    By distance a neighbour counts by one over it; those at no distance at all count alone.
    """
    if option is None or option == "uniform":
        return None
    if callable(option):
        weights = np.asarray(option(distances), dtype=np.float64)
        if weights.shape != distances.shape or not np.isfinite(weights).all() or not (weights >= 0).all():
            raise InvalidData(
                f"weights is a function that must turn distances of shape {distances.shape} into finite weights >= 0 of the same"
                f" shape; it gave an array of shape {weights.shape} or other values."
            )
        if not weights.any(axis=1).all():
            raise InvalidData(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you are"
                " using a user-defined function."
            )
        return weights
    nearest = distances[:, :1]
    at_none = nearest == 0
    # relative to the nearest one: the ratio of two distances is finite where their inverses are not
    return np.where(at_none, distances == 0, np.where(at_none, 1.0, nearest) / np.where(distances == 0, 1.0, distances))
