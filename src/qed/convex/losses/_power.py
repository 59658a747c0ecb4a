"""A power of the absolute error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.convex._balance import centre
from qed.convex._centres import root
from qed.convex._loss import LossTraits, Vector
from qed.core import InvalidParameter

UNIT = 2.0**-53
NEAREST = 1e-12  # least error, in units of the range of the targets, whose curvature is told apart from that at zero
TERMS = 24  # of the binomial series; each is at most a tenth of the one before


@dataclass(frozen=True, eq=False)
class Power:
    """The error to a power, ``|t - y|**p / p`` with p > 1; between the median (p near 1) and the middle of the range (p large).

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets.
    p : float > 1
        The power; 2 is `Squared`.
    least : float, optional
        Errors below count as this one where curvature is asked for, which for p < 2 is infinite at zero; by default a
        very small part of the range of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.convex import Power
    >>> loss = Power(np.array([0.0, 0.0, 9.0]), p=3.0)
    >>> round(loss.constant(np.ones(3)), 12) == round(9 / (1 + 2**0.5), 12)
    True
    """

    y: Vector
    p: float = 2.0
    least: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a power that has no conjugate power, and settle which errors are told apart from zero."""
        if not 1.0 < self.p < np.inf:
            raise InvalidParameter(
                f"Power.p must be a finite number > 1, got {self.p!r}. It is the power of the error; for p = 1 take Absolute."
            )
        if not self.least > 0.0 and self.p < 2.0:
            object.__setattr__(self, "least", NEAREST * (float(np.ptp(self.y)) if len(self.y) else 0.0) or NEAREST)

    @property
    def traits(self) -> LossTraits:
        """Curvature without bound, at zero or far away, unless p is 2."""
        return LossTraits(1.0 if self.p == 2.0 else np.inf, np.inf, has_curvature=True, is_quadratic=self.p == 2.0)

    def value(self, t: Vector) -> Vector:
        """Return the loss of each row."""
        return np.asarray(np.abs(t - self.y) ** self.p / self.p)

    def slope(self, t: Vector) -> Vector:
        """Return ``sign(r) |r|**(p - 1)``."""
        r = t - self.y
        return np.asarray(np.sign(r) * np.abs(r) ** (self.p - 1.0))

    def curvature(self, t: Vector) -> Vector:
        """Return ``(p - 1) |r|**(p - 2)``; for p < 2, where it is infinite at zero, that of an error just above zero."""
        r = np.abs(t - self.y)
        if self.p < 2.0:  # rows that are met exactly would make second derivatives of all rows infinite
            r = np.maximum(r, self.least)
        return np.asarray((self.p - 1.0) * r ** (self.p - 2.0))

    def largest_curvature(self, t: Vector) -> float:
        """Bound the curvature at errors that rounding of scores and targets may have made smaller than they are."""
        rounding = 8 * UNIT * float(np.max(np.abs(t) + np.abs(self.y), initial=0.0))
        r = np.maximum(np.abs(t - self.y), self.least)
        least = float(np.min(r, initial=np.inf)) if self.p < 2.0 else float(np.max(r, initial=0.0)) + rounding
        return (self.p - 1.0) * least ** (self.p - 2.0) if len(r) else 0.0

    def slope_change(self, t: Vector, off: float) -> float:
        """Bound how much a slope changes where a score moves by ``off``: p < 2 has no curvature to bound it at zero, p > 2 more."""
        if self.p < 2.0:  # powers below one are Hölder continuous: those of both sides of zero differ most
            return float(2.0 ** (2.0 - self.p) * off ** (self.p - 1.0))
        return float((self.p - 1.0) * (np.max(np.abs(t - self.y), initial=0.0) + off) ** (self.p - 2.0) * off)

    def curvature_product(self, t: Vector, d: Vector) -> Vector:
        """Return the curvature times d."""
        return self.curvature(t) * d

    def conjugate(self, u: Vector) -> Vector:
        """Return ``|u|**q / q + u y`` with ``1/p + 1/q = 1``."""
        inverse = np.abs(u) ** (1.0 / (self.p - 1.0))  # the size of the error whose slope is u
        return np.asarray(np.abs(u) * (inverse * (self.p - 1.0) / self.p + np.sign(u) * self.y))

    def project(self, u: Vector) -> Vector:
        """Return u: any number will do."""
        return u

    def balanced(self, u: Vector, c: Vector) -> Vector:
        """Return u less its mean."""
        return centre(u, c)

    def excess(self, t: Vector, u: Vector) -> Vector:
        """Return ``|r|**p / p + |u|**q / q - r u`` as a power times a function of one ratio that is zero only at one."""
        r = t - self.y
        size, inverse = np.abs(r), np.abs(u) ** (1.0 / (self.p - 1.0))
        large = np.maximum(size, inverse)
        unit = np.where(large > 0, large, 1.0)
        ratio = np.where(large > 0, np.minimum(size, inverse) / unit, 1.0)
        gap = np.where(np.isfinite(large), np.abs(size - inverse) / np.where(np.isfinite(unit), unit, 1.0), 1.0)
        part = np.where(size > inverse, _above(ratio, gap, self.p), _below(ratio, gap, self.p))
        power = np.where(part > 0, large, 0.0) ** self.p  # no inf times zero where the two are equal
        apart = power_sum(size, inverse, self.p) + size * np.abs(u)
        return np.where(np.sign(r) * np.sign(u) > 0, part * power, apart)

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """Return the solution of ``x + step x**(p - 1) = |v - y|`` by Newton steps from above, which cannot overshoot."""
        r = v - self.y
        goal = np.abs(r)
        step = np.broadcast_to(np.asarray(step, dtype=np.float64), goal.shape)
        if self.p >= 2.0:
            x = _pull(goal, step, self.p - 1.0)
        else:  # the same equation for the pull q = step x**(p - 1), which is convex in q
            order = 1.0 / (self.p - 1.0)
            q = _pull(goal, step**-order, order)
            x = np.where(q <= 0.5 * goal, goal - q, (q / step) ** order)
        return np.asarray(self.y + np.sign(r) * np.minimum(x, goal))

    def constant(self, c: Vector) -> Any:
        """Return where the slopes balance."""
        low, high = float(self.y.min()), float(self.y.max())
        spread = high - low
        if not 0.0 < spread < np.inf:
            return 0.5 * low + 0.5 * high
        y, p = (self.y - low) / spread, self.p

        def sums(b: float, order: float) -> float:
            # in units of the largest error, whose power then neither overflows nor underflows
            r = b - y
            most = float(np.max(np.abs(r)))
            with np.errstate(divide="ignore", under="ignore"):
                part = (np.abs(r) / most) ** order
            return float(c @ (np.sign(r) * part)) if order == p - 1.0 else float((p - 1.0) / most * (c @ part))

        return low + spread * root(lambda b: sums(b, p - 1.0), lambda b: sums(b, p - 2.0), 0.0, 1.0)

    def take(self, rows: Any) -> Power:
        """Return the loss of some rows."""
        return Power(self.y[rows], self.p, self.least)


def power_sum(size: Vector, inverse: Vector, p: float) -> Vector:
    """Return the loss of an error plus the conjugate of the slope at another, both of which are positive."""
    return np.asarray(size**p / p + inverse**p * (p - 1.0) / p)


def _below(x: Vector, gap: Vector, p: float) -> Vector:
    """Return ``x**p / p + (p - 1) / p - x`` for x up to one, ``gap = 1 - x``."""
    with np.errstate(divide="ignore"):
        far = (x * np.expm1((p - 1.0) * np.log(x)) + (p - 1.0) * gap) / p
    return np.where(gap * max(p, 1.0) < 0.1, _series(-gap, p), np.maximum(far, 0.0))


def _above(x: Vector, gap: Vector, p: float) -> Vector:
    """Return ``1 / p + x**p (p - 1) / p - x**(p - 1)`` for x up to one, the same for the other order of the two."""
    with np.errstate(divide="ignore", over="ignore"):
        power = (p - 1.0) * np.log(x)
        far = (-np.expm1(power) - (p - 1.0) * np.exp(power) * gap) / p
        near = gap / np.where(x > 0, x, 1.0)  # by how much the larger is larger, relative to the smaller
        series = _series(np.minimum(near, 1.0), p) * np.where(x > 0, x, 1.0) ** p
    return np.where(near * max(p, 1.0) < 0.1, np.where(x > 0, series, far), np.maximum(far, 0.0))


def _series(e: Vector, p: float) -> Vector:
    """Return ``((1 + e)**p - 1) / p - e`` for small e, by the binomial series from its square on."""
    total = np.zeros_like(e)
    for k in range(TERMS, 2, -1):
        total = (p - k + 1.0) / k * e * (1.0 + total)
    return np.asarray(0.5 * (p - 1.0) * e * e * (1.0 + total))


def _pull(goal: Vector, step: Vector, order: float) -> Vector:
    """Return the x >= 0 with ``x + step x**order = goal`` for order >= 1."""
    x = np.minimum(goal, (goal / step) ** (1.0 / order))
    for _ in range(500):
        power = step * x ** (order - 1.0)
        new = x - (x + power * x - goal) / (1.0 + order * power)
        new = np.clip(new, 0.0, x)
        if np.array_equal(new, x):
            break
        x = new
    return x
