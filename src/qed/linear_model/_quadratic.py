"""Least squares as a quadratic function of the coefficients, with a bound on what rounding did to it.

Centring removes the intercept: the best ``b`` for given ``w`` is ``mean_y - mean_x @ w``, and what is left is

    P(w) = Σ_t  yy_t - 2 c_t·w_t + w_t·S w_t + alpha_t ‖w_t - prior_t‖²

with ``S`` the scatter of the features, ``c`` their cross-products with the targets and ``yy`` the scatter of the targets.
Without intercept the same letters are taken about the origin. A model whose intercept is not the best one pays
``weight · (mean_y - mean_x @ w - b)²`` on top, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Moments

    Array = NDArray[np.float64]

__all__ = ["UNIT", "Columns", "Penalty", "Quadratic"]

UNIT = 2.0**-53  # rounding of one float64 operation


@dataclass(frozen=True, eq=False)
class Penalty:
    """``Σ_t alpha_t ‖w_t - prior_t‖²``: one strength and one centre for every target."""

    alpha: Array  # (m,)
    prior: Array  # (p, m)

    def value(self, w: Array) -> Array:
        """Return the penalty of each target, shape (m,)."""
        return np.asarray(self.alpha * np.einsum("pm,pm->m", w - self.prior, w - self.prior))

    def groups(self) -> list[tuple[float, NDArray[np.intp]]]:
        """Return the targets that share one strength, and with it one factorisation."""
        if len(self.alpha) == 1:
            return [(float(self.alpha[0]), np.zeros(1, dtype=np.intp))]
        return [(float(alpha), np.flatnonzero(self.alpha == alpha)) for alpha in np.unique(self.alpha)]


@dataclass(frozen=True, eq=False)
class Columns:
    """Sizes of the columns of a design, centred or not: what scaling, rank decisions and rounding bounds need.

    ``length`` bounds the lengths that ever entered the sums: ``|error(S_ij)| <= rounding * length_i * length_j``.
    """

    spread: Array  # (p,), diagonal of S
    length: Array  # (p,)
    size: Array  # (p,) typical size of the values themselves, offset included
    rounding: float
    weight: float
    is_centred: bool

    @property
    def own_rounding(self) -> Array:
        """Length that the rounding of its own values can give a constant column; what is shorter carries no information."""
        return np.asarray(4 * UNIT * np.sqrt(self.weight) * self.size * self.is_centred)

    @property
    def has_spread(self) -> NDArray[np.bool_]:
        """Which columns differ from a constant by more than the rounding of their own values."""
        noise = 4 * self.rounding * self.length**2
        return np.asarray(self.spread > np.maximum(noise, self.own_rounding**2))

    def unit(self, alpha: float) -> Array:
        """Return what brings each column of ``S + alpha I`` to unit length; zero where nothing holds a column."""
        live = (self.has_spread | (alpha > 0)) & (self.spread + alpha > 0)
        return np.where(live, 1 / np.sqrt(np.where(live, self.spread + alpha, 1.0)), 0.0)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The statistic of a least-squares problem, centred or not, and the size of its rounding errors."""

    S: Array  # (p, p)
    c: Array  # (p, m)
    yy: Array  # (m,)
    columns: Columns
    target_length: Array  # (m,)
    mean_rounding: float  # means are off by at most this times length / sqrt(weight)
    mean_x: Array  # (p,), zero without intercept
    mean_x_low: Array  # (p,), what rounding took off it
    mean_y: Array  # (m,), zero without intercept

    @classmethod
    def of(cls, moments: Moments, *, intercept: bool) -> Quadratic:
        """Take features, targets and their products from one statistic."""
        p = moments.n_features
        size = np.sqrt(moments.mean[:p] ** 2 + moments.scatter.diagonal()[:p] / moments.weight)
        about = moments if intercept else moments.about_origin()
        length = np.sqrt(about.peak)
        spread = about.scatter.diagonal()
        return cls(
            S=about.XX,
            c=about.XY,
            yy=spread[p:],
            columns=Columns(spread[:p], length[:p], size, about.rounding, about.weight, intercept),
            target_length=length[p:],
            mean_rounding=about.mean_rounding,
            mean_x=about.mean_x,
            mean_x_low=about.mean_low[:p],
            mean_y=about.mean_y,
        )

    def intercept(self, w: Array) -> Array:
        """Return the best intercept for the coefficients, shape (m,)."""
        return self.mean_y - self.mean_x @ w

    def reach(self, w: Array) -> Array:
        """Return the length that predictions and targets can have at most, shape (m,): the yardstick of rounding."""
        return self.columns.length @ np.abs(w) + self.target_length

    def span(self, w: Array) -> Array:
        """Return how far, in columns of unit length, the origin and the targets are from ``w``: the yardstick of radii."""
        return np.asarray(np.linalg.norm(self.columns.length[:, None] * w, axis=0) + self.target_length)

    def gradient(self, w: Array, penalty: Penalty) -> tuple[Array, Array]:
        """Return half the downhill gradient at ``w`` and a bound on its rounding, both of shape (p, m)."""
        step = w - penalty.prior
        g = self.c - self.S @ w - penalty.alpha * step
        slack = (self.columns.rounding + (len(w) + 4) * UNIT) * np.multiply.outer(self.columns.length, self.reach(w))
        return g, slack + 4 * UNIT * penalty.alpha * np.abs(step)

    def residual_squares(self, w: Array) -> tuple[Array, Array]:
        """Return the weighted sum of squared residuals of each target and a bound on its rounding, shape (m,)."""
        squares = self.yy - np.einsum("pm,pm->m", w, 2 * self.c - self.S @ w)
        return np.maximum(squares, 0.0), (self.columns.rounding + (len(w) + 4) * UNIT) * self.reach(w) ** 2

    def offset_cost(self, w: Array, b: Array) -> tuple[Array, Array]:
        """Return what an intercept other than the best one costs, and a bound on its rounding, shape (m,)."""
        if not self.columns.is_centred:
            return np.zeros_like(b), np.zeros_like(b)
        off = np.abs(self.intercept(w) - b)
        doubt = (len(w) + 4) * UNIT * (np.abs(self.mean_y) + np.abs(self.mean_x) @ np.abs(w) + np.abs(b))
        doubt = doubt + self.mean_rounding * self.reach(w) / np.sqrt(self.columns.weight)
        return self.columns.weight * off**2, self.columns.weight * (2 * off * doubt + doubt**2)

    def null_objective(self, penalty: Penalty) -> float:
        """Return the objective of the null model: coefficients at their prior, best intercept."""
        squares = self.residual_squares(penalty.prior)[0] if np.any(penalty.prior) else self.yy
        return float(squares.sum())
