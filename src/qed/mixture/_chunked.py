"""Gaussian components of rows that come in chunks: an expectation is a fold, and the ascent does not know.

Where the class of a row is known, only the components of that class share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.data import fold
from qed.mixture._gaussians import GaussianExpectation, GaussianFamily
from qed.mixture._kernels import Components, Sums, gaussian_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Chunk, Source
    from qed.mixture._gaussians import Gaussians
    from qed.mixture._kernels import Kind

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Labels:
    """How targets are read as classes, and which components each class has.

    Attributes
    ----------
    classes : ndarray of shape (m,)
        Targets of the classes, rising.
    first : ndarray of shape (m + 1,)
        The components of class c are ``first[c]`` to ``first[c + 1] - 1``.
    unknown : float or None
        Target of rows whose class is not known.
    """

    classes: Array
    first: NDArray[np.int64]
    unknown: float | None

    def codes(self, y: Any) -> NDArray[np.int64]:
        """Return the number of the class of each row, -1 where it is not known."""
        codes = np.searchsorted(self.classes, y)
        return codes if self.unknown is None else np.where(y == self.unknown, -1, codes)


@dataclass(frozen=True, eq=False)
class SourceFamily(GaussianFamily):
    """A family whose rows are read again for each expectation; `X` and `s` are a sample of them, which a start is chosen from."""

    source: Source | None = None
    total_weight: float = 0.0
    labels: Labels | None = None

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.total_weight

    def expect(self, parameters: Gaussians) -> GaussianExpectation:
        """Find responsibilities, and sum moments by them, chunk by chunk."""
        assert self.source is not None  # noqa: S101  (given by whoever makes a family of a source)
        components = parameters.components(self.floor)
        of = partial(_sums, shift=self.shift, components=components, kind=self.kind, labels=self.labels)
        sums = fold(self.source, of, name="GaussianMixture").sums
        objective = sums.likelihood + self._log_prior(parameters)
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


def _sums(chunk: Chunk, shift: Array, components: Components, kind: Kind, labels: Labels | None = None) -> FoldedSums:
    X: Any = chunk.X
    if labels is None:
        return FoldedSums(gaussian_sums(X, shift, chunk.s, components, kind))
    target: Any = chunk.y
    codes, s = labels.codes(target[:, 0]), chunk.s
    if np.any(np.diff(codes) < 0):
        order = np.argsort(codes, kind="stable")
        X, codes, s = X[order], codes[order], None if s is None else s[order]
    k, p = components.means.shape
    total = Sums(0.0, np.zeros(k), np.zeros((k, p)), np.zeros((k, p) if components.shape == "diag" else (k, p, p)))
    likelihood = 0.0
    edges = np.searchsorted(codes, np.arange(-1, len(labels.classes) + 1))
    for label, (start, end) in enumerate(pairwise(edges), start=-1):
        if start == end:
            continue
        own = slice(0, k) if label < 0 else slice(int(labels.first[label]), int(labels.first[label + 1]))
        found = gaussian_sums(
            X[start:end], shift, None if s is None else s[start:end], some_components(components, own), kind
        )
        likelihood += found.likelihood
        for whole, part in zip(total[1:], found[1:], strict=True):
            whole[own] += part
    return FoldedSums(total._replace(likelihood=likelihood))


def some_components(components: Components, own: slice) -> Components:
    """Return some of the components."""
    whiten = components.whiten if components.shape == "tied" else components.whiten[own]
    return Components(components.means[own], whiten, components.levels[own], components.shape)
