"""Gaussian components of rows that come in chunks: an expectation is a fold, and the ascent does not know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from qed.data import fold
from qed.mixture._gaussians import GaussianExpectation, GaussianFamily
from qed.mixture._kernels import Sums, gaussian_sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qed.data import Chunk, Source
    from qed.mixture._gaussians import Gaussians
    from qed.mixture._kernels import Components, Kind

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SourceFamily(GaussianFamily):
    """A family whose rows are read again for each expectation; `X` and `s` are a sample of them, which a start is chosen from."""

    source: Source | None = None
    total_weight: float = 0.0

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.total_weight

    def expect(self, parameters: Gaussians) -> GaussianExpectation:
        """Find responsibilities, and sum moments by them, chunk by chunk."""
        assert self.source is not None  # noqa: S101  (given by whoever makes a family of a source)
        of = partial(_sums, shift=self.shift, components=parameters.components(self.floor), kind=self.kind)
        sums = fold(self.source, of, name="GaussianMixture").sums
        objective = sums.likelihood
        if self.prior is not None:
            objective += self.prior.log_density(parameters)
        return GaussianExpectation(sums, parameters.means, parameters.covariances, objective / self.weight)


@dataclass(frozen=True, eq=False)
class FoldedSums:
    """Sums of some rows."""

    sums: Sums

    def merge(self, other: Self) -> Self:
        """Return the sums of both."""
        a, b = self.sums, other.sums
        added = Sums(a.likelihood + b.likelihood, a.weights + b.weights, a.firsts + b.firsts, a.squares + b.squares)
        return type(self)(added)


def _sums(chunk: Chunk, shift: Array, components: Components, kind: Kind) -> FoldedSums:
    X: Any = chunk.X
    return FoldedSums(gaussian_sums(X, shift, chunk.s, components, kind))
