"""The one door from `qed.convex` to native code: fixes layout, type and length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed import _native
from qed.data._kernels import csr_arrays

if TYPE_CHECKING:
    from qed.convex._loss import Vector

__all__ = ["AscentLosses", "AscentRows", "dual_ascent", "scaled_spread"]


class AscentLosses(NamedTuple):
    """Conjugates ``bend u²/2 + kink u + width |u|`` from low to high; of a logistic loss the labels stand in place of kinks."""

    kink: Vector
    low: Vector
    high: Vector
    bend: float
    width: float


class AscentRows(NamedTuple):
    """Weights, squared lengths of the centred rows, products with the centre, its square, the penalty, the intercept's give."""

    weight: Vector
    squares: Vector
    along: Vector
    centre_square: float
    alpha: float
    give: float


def scaled_spread(r: Vector, c: Vector, knee: float, guess: float) -> tuple[float, float]:
    """Return the best scale of residuals, and their spread there."""
    return _native.scaled_spread(np.ascontiguousarray(r), np.ascontiguousarray(c), float(knee), float(guess))


def dual_ascent(
    table: Any,
    losses: AscentLosses,
    rows: AscentRows,
    state: tuple[Vector, Vector, Any, Vector],
    counts: tuple[int, int, int],
    *,
    logistic: bool,
) -> tuple[int, int]:
    """Make passes over rows of an array with contiguous rows, or of a table compressed by rows; ``state`` is written to.

    ``state`` is dual variables, coefficients, order of rows and seven numbers; ``counts`` are active rows, seed and passes.
    Returns how many rows stay active, and the next seed.
    """
    u, w, order, numbers = state
    active, seed, passes = counts
    if isinstance(table, np.ndarray):
        return _native.dual_ascent(table, logistic, losses, rows, u, w, order, active, numbers, seed, passes)
    return _native.csr_dual_ascent(
        csr_arrays(table), table.shape, logistic, losses, rows, u, w, order, active, numbers, seed, passes
    )
