"""Where each weight of a network stands in one long vector, and what the weights are before anything is learnt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.core import Array


class Parameters(NamedTuple):
    """One vector, an array or a tensor, and its parts, which share its memory."""

    flat: Any
    weights: list[Any]
    intercepts: list[Any]


@dataclass(frozen=True)
class Layout:
    """A network of layers, all of its parameters in one vector: the weights of every layer first, then the intercepts.

    Attributes
    ----------
    sizes : tuple of int
        Columns of X, units of each hidden layer, outputs.
    """

    sizes: tuple[int, ...]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The shape of the weights of each layer."""
        return list(pairwise(self.sizes))

    @property
    def n_weights(self) -> int:
        """How many weights there are, intercepts not counted."""
        return sum(below * above for below, above in self.shapes)

    @property
    def n_parameters(self) -> int:
        """How many numbers are learnt."""
        return self.n_weights + sum(self.sizes[1:])

    def parts(self, flat: Any) -> Parameters:
        """Cut a vector into the weights and intercepts of each layer."""
        weights, intercepts, first = [], [], 0
        for shape in self.shapes:
            last = first + math.prod(shape)
            weights.append(flat[first:last].reshape(shape))
            first = last
        for size in self.sizes[1:]:
            intercepts.append(flat[first : first + size])
            first += size
        return Parameters(flat, weights, intercepts)

    def packed(self, weights: Sequence[Array], intercepts: Sequence[Array], dtype: Any) -> Array:
        """Return one vector of all parameters."""
        return np.concatenate([np.ravel(part) for part in (*weights, *intercepts)]).astype(dtype)


def drawn(layout: Layout, activation: str, rng: np.random.Generator, dtype: Any) -> Array:
    """Draw the parameters to begin with: uniform, with a variance of 2 / (units below + units above), for sigmoids a third of it.

    Signals then neither grow nor vanish from layer to layer, forwards and backwards. Equal numbers would keep the units of a
    layer equal in every step, since equal units have equal gradients.
    """
    flat = np.empty(layout.n_parameters, dtype)
    for weights, intercepts in zip(*layout.parts(flat)[1:], strict=True):
        most = math.sqrt((2.0 if activation == "logistic" else 6.0) / sum(weights.shape))
        weights[...] = rng.uniform(-most, most, weights.shape)
        intercepts[...] = rng.uniform(-most, most, intercepts.shape)
    return flat
