"""Least squares as a quadratic function of the coefficients, with a bound on what rounding did to it.

Centring removes the intercept: the best ``b`` for given ``w`` is ``mean_y - mean_x @ w``, and what is left is

    P(w) = Σ_t  yy_t - 2 c_t·w_t + w_t·S w_t + alpha_t ‖w_t - prior_t‖²

with ``S`` the scatter of the features, ``c`` their cross-products with the targets and ``yy`` the scatter of the targets.
Without intercept the same letters are taken about the origin. A model whose intercept is not the best one pays
``weight · (mean_y - mean_x @ w - b)²`` on top, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qed.core._once import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.data import Moments

    Array = NDArray[np.float64]
    Targets = slice | NDArray[np.intp]


UNIT = 2.0**-53  # rounding of one float64 operation


def lengths(columns: Array) -> Array:
    """Return the Euclidean length of each column."""
    return np.asarray(np.sqrt(np.einsum("pm,pm->m", columns, columns)))


@dataclass(frozen=True, eq=False)
class Penalty:
    """``Σ_t alpha_t ‖w_t - prior_t‖²``: one strength and one centre for every target."""

    alpha: Array  # (m,)
    prior: Array  # (p, m)

    def pull(self, w: Array) -> Array:
        """Return half the gradient at ``w``, shape (p, m)."""
        return self.alpha * (w - self.prior)

    def value(self, w: Array) -> Array:
        """Return the penalty of each target, shape (m,)."""
        step = w - self.prior
        with np.errstate(over="ignore", invalid="ignore"):  # an objective that leaves float64 is refused
            return np.asarray(self.alpha * np.einsum("pm,pm->m", step, step))

    def groups(self) -> list[tuple[float, Targets]]:
        """Return the targets that share one strength, and with it one factorisation."""
        if len(self.alpha) == 1:
            return [(float(self.alpha[0]), slice(None))]
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

    @cached_property
    def own_rounding(self) -> Array:
        """Length that the rounding of its own values can give a constant column; what is shorter carries no information."""
        return (4 * UNIT * math.sqrt(self.weight) * self.is_centred) * self.size

    @cached_property
    def has_spread(self) -> NDArray[np.bool_]:
        """Which columns differ from a constant by more than the rounding of their own values."""
        noise = (4 * self.rounding) * self.length**2
        return np.asarray(self.spread > np.maximum(noise, self.own_rounding**2))

    @cached_property
    def plain_unit(self) -> Array:
        """What brings each column of ``S`` to unit length."""
        return self.unit(0.0)

    def unit(self, alpha: float) -> Array:
        """Return what brings each column of ``S + alpha I`` to unit length; zero where nothing holds a column."""
        squares = self.spread + alpha
        live = squares > 0 if alpha > 0 else self.has_spread & (squares > 0)
        if live.all():
            return np.asarray(1 / np.sqrt(squares))
        return np.where(live, 1 / np.sqrt(np.where(live, squares, 1.0)), 0.0)


class Place(NamedTuple):
    """Coefficients, and what several bounds ask of them."""

    w: Array  # (p, m)
    image: Array  # (p, m), S w
    reach: Array  # (m,), the length that predictions and targets can have at most: the yardstick of rounding


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

    def at(self, w: Array) -> Place:
        """Look at coefficients."""
        return Place(w, self.S @ w, self.reach(w))

    def span(self, w: Array) -> Array:
        """Return how far, in columns of unit length, the origin and the targets are from ``w``: the yardstick of radii."""
        return lengths(self.columns.length[:, None] * w) + self.target_length

    def gradient(self, at: Place, penalty: Penalty) -> tuple[Array, Array]:
        """Return half the downhill gradient and a bound on its rounding, both of shape (p, m)."""
        pull = penalty.pull(at.w)
        slack = np.multiply.outer(self.columns.length, self._relative(at) * at.reach)
        return self.c - at.image - pull, slack + (4 * UNIT) * np.abs(pull)

    def residual_squares(self, at: Place) -> tuple[Array, Array]:
        """Return the weighted sum of squared residuals of each target and a bound on its rounding, shape (m,)."""
        squares = self.yy - np.einsum("pm,pm->m", at.w, 2 * self.c - at.image)
        return np.maximum(squares, 0.0), self._relative(at) * at.reach**2

    def _relative(self, at: Place) -> float:
        """Bound the rounding of a product of the statistic with coefficients, relative to their reach."""
        return self.columns.rounding + (len(at.w) + 4) * UNIT

    def offset_cost(self, at: Place, b: Array) -> tuple[Array, Array]:
        """Return what an intercept other than the best one costs, and a bound on its rounding, shape (m,)."""
        if not self.columns.is_centred:
            return np.zeros_like(b), np.zeros_like(b)
        off, weight = np.abs(self.intercept(at.w) - b), self.columns.weight
        sizes = np.abs(self.mean_y) + np.abs(self.mean_x) @ np.abs(at.w) + np.abs(b)
        rounding_error = (len(at.w) + 4) * UNIT * sizes + (self.mean_rounding / math.sqrt(weight)) * at.reach
        return weight * off**2, weight * ((2 * off + rounding_error) * rounding_error)

    def null_objective(self, penalty: Penalty) -> float:
        """Return the objective of the null model: coefficients at their prior, best intercept."""
        squares = self.residual_squares(self.at(penalty.prior))[0] if penalty.prior.any() else self.yy
        return float(squares.sum())
