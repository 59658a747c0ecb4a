r"""How much more variance any other directions can hold.

Write C for the exact scatter of the rows, V for k orthonormal directions with :math:`VCV^\top = \mathrm{diag}(\theta)`, R for
the part of :math:`CV^\top` outside their span and B for C on the rest of the space. For every :math:`\delta > 0`

.. math:: C \preceq \begin{pmatrix} \mathrm{diag}(\theta) + R^\top R / \delta & \\ & B + \delta I \end{pmatrix}

so the sum of the k largest eigenvalues of C, which is what the best k directions hold (Ky Fan), is at most :math:`\sum \theta
+ \|R\|^2 / \delta + \sum_j (\lambda_j(B) + \delta - \theta_{k+1-j})_+`. What remains is a ceiling on the eigenvalues of B.
Three are used: all eigenpairs of a matrix that was formed; a Cholesky factor of :math:`\beta I + V^\top \Theta V - C`, which
exists only if B is below :math:`\beta`; and, where C is never formed, Lanczos steps from a few random directions: by chance alone
these are small with a probability that is stated. The j-th eigenvalue of B is never above its trace divided by j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.data._kernels import UNIT
from qed.decomposition._kernels import PRODUCT_TERMS, factorises
from qed.designs._pairs import length, skewness

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


PROBES, STEPS = 8, 10  # random directions, and products with each at most: a ceiling within 20 % for ten thousand rows
DOUBT = 1e-6  # probability that all of them miss the largest eigenvalue


@dataclass(frozen=True)
class Proof:
    """What is known about k directions, in the units of the scatter."""

    gap: float
    rounding: float
    captured: float
    error: float  # of each value
    residual: float  # of the pairs, relative to the total
    orthogonality: float
    confidence: float

    def times(self, unit: float) -> Proof:
        """Return the same in other units."""
        sized = {name: unit * getattr(self, name) for name in ("gap", "rounding", "captured", "error")}
        return replace(self, **sized)


def product_rounding(n: int) -> float:
    """Bound the relative rounding of sums of n products: panels in order, then blocks of panels."""
    return (min(n, PRODUCT_TERMS) + n / 128 + 16) * UNIT


def excess(values: Array, residual: float, ceiling: float, rest: float) -> float:
    """Bound how much the k largest eigenvalues exceed the sum of k Ritz values, from the ceiling and the trace of the rest."""
    k = len(values)
    if k == 0:
        return 0.0
    tail = np.minimum(ceiling, rest / np.arange(1, k + 1))
    up = np.sort(values)

    def above(delta: float) -> float:
        return float(np.sum(np.maximum(tail + delta - up, 0.0)))

    if residual == 0:
        return above(0.0)
    room = max(up[0] - tail[0], 0.0)
    tried = [residual * 4.0**j for j in range(-6, 7)] + ([float(room)] if room > 0 else [])
    return min(residual**2 / delta + above(delta) for delta in tried)


def ceiling_by_factor(M: Array, values: Array, vectors: Array, following: float) -> float | None:
    """Prove a ceiling on the eigenvalues of M outside a span of leading vectors; None if there is none near their least value."""
    least, d = float(values[-1]), len(M)
    lifted = (vectors * values) @ vectors.T - M
    for level in ((least + following) / 2, least * (1 + 1e-9) + 1e-13 * float(values[0])):
        shifted = lifted + level * np.eye(d)
        if factorises((shifted + shifted.T) / 2):
            return level + (2 * d + 8) * UNIT * float(np.trace(shifted) + np.sum(values))
    return None


def ceiling_by_probes(apply: Callable[[Array], Array], side: int, rng: Generator, enough: float) -> float:
    """Bound the largest eigenvalue of a positive matrix of so many rows, wrongly with probability DOUBT.

    From a random direction, q steps of Lanczos find less than 1 - ε of it with a probability of at most
    1.648 √side exp(-√ε (2q - 1)) (Kuczyński and Woźniakowski 1992); several directions multiply their probabilities. Steps end
    early at a bound that is low ``enough``; the doubt is shared out among all steps, so that each may be the last.
    """
    now = rng.standard_normal((side, PROBES))
    now /= np.sqrt(np.sum(now * now, axis=0))
    before, step = np.zeros_like(now), np.zeros(PROBES)
    small = np.zeros((PROBES, STEPS, STEPS))
    ceiling = math.inf
    for j in range(STEPS):
        image = apply(now) - before * step
        small[:, j, j] = np.sum(now * image, axis=0)
        root = math.log(1.648 * math.sqrt(side) / (DOUBT / STEPS) ** (1 / PROBES)) / (2 * j + 1)
        if root < 1:
            largest = float(np.max(np.linalg.eigvalsh(small[:, : j + 1, : j + 1])))
            ceiling = min(ceiling, largest / (1 - root**2))
        if j + 1 == STEPS or ceiling <= enough:
            break
        image -= now * small[:, j, j]
        step = np.sqrt(np.sum(image * image, axis=0))
        small[:, j, j + 1] = small[:, j + 1, j] = step
        before, now = now, image / np.where(step > 0, step, 1.0)
    return ceiling


def prove(V: Array, values: Array, CV: Array, bound: dict[str, Any]) -> Proof:
    """Gather what is known about the rows of V, (k, p), with values and products C V', (p, k).

    ``bound`` holds ``slack`` and ``rounding``, by how much the k largest eigenvalues can exceed the sum of values and how much of
    that is rounding; ``error`` of a value; ``rounding_error``, a bound on the rounding of C; ``total``, its trace; ``confidence``;
    and ``exact``, whether nothing but rounding is between these directions and the best ones.
    """
    k, p = V.shape
    total, rounding_error = bound["total"], bound["rounding_error"]
    root = math.sqrt(max(k, 1))
    skew = skewness(V) + (p + 8) * UNIT * root
    explained = float(values.sum())
    captured = float(np.vdot(V, CV.T))
    off = length(CV - V.T * values) + root * rounding_error
    wobble = skew * abs(captured) + rounding_error + product_rounding(p) * total
    gap = max(explained - captured, 0.0) + bound["slack"] + wobble
    return Proof(
        gap=gap,
        rounding=gap if bound["exact"] else min(bound["rounding"] + wobble, gap),
        captured=min(explained, total),
        error=bound["error"],
        residual=off / total if total > 0 else 0.0,
        orthogonality=skew,
        confidence=bound["confidence"],
    )
