"""Losses of the checker, by definition: value, slope, curvature, and what Fenchel and Young leave over.

Every function takes scores ``t`` (n, k), dual variables ``u`` (n, k) and targets ``y`` (n, m) in extended precision. What is left
over of ``ℓ(t) + ℓ*(u) >= t u`` is summed from its three terms as they stand, in variables from which offsets are gone, with the
size of the terms beside it: that bounds its rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]
HALF, ONE = EXTENDED(0.5), EXTENDED(1)
ALMOST = ONE - np.finfo(EXTENDED).epsneg  # the largest number below one
CERTAIN = EXTENDED(1e4)  # a score whose loss is far below all rounding


class Loss(Protocol):
    """A loss of one row, or of all rows through a scale they share."""

    @property
    def has_curvature(self) -> bool:
        """Whether Newton steps make sense."""
        ...

    @property
    def self_concordance(self) -> float:
        """Largest third derivative in units of the second."""
        ...

    def value(self, t: Array, y: Array, scale: Any) -> Array:
        """Return the loss of each row."""
        ...

    def slope(self, t: Array, y: Array, scale: Any) -> Array:
        """Return the derivative by each score."""
        ...

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:
        """Return the second derivatives, (n, k, k)."""
        ...

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return value + conjugate - t u for each row, and the size of the terms."""
        ...

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return a dual point near u in the domain of the conjugate, with ``Σ q u = 0`` if asked."""
        ...

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the best score (k,) that is the same for all rows; None where it has no closed form."""
        ...


def shrunk_sides(u: Array, q: Array) -> Array:
    """Scale the heavier sign of each column down until both weigh the same."""
    u = np.array(u)
    for column in range(u.shape[1]):
        for _ in range(2):
            mass = q * u[:, column]
            up, down = mass[mass > 0].sum(), -mass[mass < 0].sum()
            if up > down:
                u[u[:, column] > 0, column] *= down / up
            elif down > up:
                u[u[:, column] < 0, column] *= up / down
    return u


@dataclass(frozen=True)
class Squared:
    """``(t - y)² / 2``, summed over targets."""

    has_curvature: bool = True
    self_concordance: float = 0.0

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return half the squares."""
        return np.asarray(HALF * np.sum((t - y) ** 2, axis=1))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the residuals."""
        return t - y

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the identity."""
        return np.broadcast_to(np.eye(t.shape[1]), (len(t), t.shape[1], t.shape[1]))

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:  # noqa: ARG002
        """Return ``(r² + u²) / 2 - r u``."""
        r = t - y
        squares, product = HALF * (r * r + u * u), r * u
        return np.sum(squares - product, axis=1), np.sum(squares + np.abs(product), axis=1)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:  # noqa: ARG002
        """Return u less its mean."""
        for _ in range(2 if balance else 0):
            u = u - q @ u / q.sum()
        return u

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the mean."""
        return np.asarray(y[0] + q @ (y - y[0]) / q.sum())


@dataclass(frozen=True)
class Logistic:
    """``log(1 + exp(t))`` for the label 0, ``log(1 + exp(-t))`` for the label 1."""

    has_curvature: bool = True
    self_concordance: float = 1.0

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return minus the log-likelihood."""
        return np.logaddexp(EXTENDED(0), np.where(y > 0, -t, t))[:, 0]

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the probability that is given to the wrong label, with its sign."""
        wrong = np.exp(-np.logaddexp(EXTENDED(0), np.where(y > 0, t, -t)))
        return np.where(y > 0, -wrong, wrong)

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the variance."""
        both = np.exp(-np.logaddexp(EXTENDED(0), t) - np.logaddexp(EXTENDED(0), -t))
        return np.asarray(both[:, :, None])

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:  # noqa: ARG002
        """Return the entropies of the coin and the score, crossed."""
        wrong = np.abs(u)
        m = np.where(y > 0, t, -t)
        terms = (
            np.logaddexp(EXTENDED(0), -m),
            _x_log_x(wrong) + (ONE - wrong) * np.log1p(-np.minimum(wrong, ALMOST)),  # one less next to nothing rounds
            wrong * m,
        )
        return _added(terms)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return u within its half of [-1, 1], the heavier half shrunk."""
        u = np.where(y > 0, np.clip(u, -1, 0), np.clip(u, 0, 1))
        return shrunk_sides(u, q) if balance else u

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the log-odds; of a single label, which has none, a score that leaves no loss."""
        up, whole = q @ (y > 0), q.sum()
        if not np.all((up > 0) & (up < whole)):
            return np.asarray(np.where(up > 0, CERTAIN, -CERTAIN))
        return np.asarray(np.log(up) - np.log(whole - up))


@dataclass(frozen=True)
class Softmax:
    """``log Σ exp(t) - t_y`` for labels 0 … k - 1.

    A heavy row may be almost certain of its label. So nothing is taken from a probability near one: what a label lacks of it is
    the sum of the other probabilities, here and in dual points, whose entry at the label is minus the sum of the others.
    """

    has_curvature: bool = True
    self_concordance: float = float(np.sqrt(2.0))

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return minus the log-likelihood."""
        return np.asarray(-self._logs(t)[np.arange(len(t)), y[:, 0].astype(int)])

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the probabilities less the label."""
        return self._less_label(np.exp(self._logs(t)), self._is_label(t, y))

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return ``diag(p) - p p'``, whose rows sum to zero."""
        p = np.exp(self._logs(t)).astype(np.float64)
        out = -p[:, :, None] * p[:, None, :]
        index = np.arange(t.shape[1])
        out[:, index, index] = 0.0
        out[:, index, index] = -out.sum(axis=2)
        return np.asarray(out)

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:  # noqa: ARG002
        """Return ``Σ v log v - Σ v log p`` for the rows of probabilities v, which are u and one more at the label."""
        is_label = self._is_label(t, y)
        others = np.where(is_label, 0, np.maximum(u, 0))
        lack = np.minimum(-np.where(is_label, u, 0), ONE)  # what the label lacks of one
        v, logs = np.where(is_label, ONE - lack, others), self._logs(t)
        own = np.where(is_label, v * np.log1p(-np.minimum(lack, ALMOST)), _x_log_x(others))
        return np.sum(own - v * logs, axis=1), np.sum(np.abs(own) + np.abs(v * logs), axis=1)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return rows of probabilities less the label, transported until each class weighs what its labels weigh."""
        is_label = self._is_label(u, y)
        others = np.where(is_label, 0, np.maximum(u, 0))
        others = others / np.maximum(others.sum(axis=1, keepdims=True), 1)
        u = self._less_label(others, is_label)
        for _ in range(2 if balance else 0):
            v, over = u + is_label, q @ u  # what each class weighs beyond its labels
            share = np.where(over > 0, over / np.where(over > 0, q @ v, 1), 0)
            lack = np.maximum(-over, 0)
            if not lack.sum() > 0:
                break
            short = v @ share  # of each row, for the classes that lack it
            others = np.where(is_label, 0, u * (1 - share) + np.multiply.outer(short, lack / lack.sum()))
            u = self._less_label(others, is_label)
        return u

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the logarithms of the frequencies; a class without a row is next to impossible."""
        k = int(y.max()) + 1
        share = np.array([q[y[:, 0] == label].sum() for label in range(k)])
        return np.where(share > 0, np.log(np.where(share > 0, share, 1)), -CERTAIN)

    @staticmethod
    def _logs(t: Array) -> Array:
        """Return the logarithms of the probabilities; that of the largest is a sum of the others."""
        top = t - t.max(axis=1, keepdims=True)
        others = np.exp(top)
        others[np.arange(len(t)), np.argmax(t, axis=1)] = 0
        return np.asarray(top - np.log1p(np.sum(others, axis=1, keepdims=True)))

    @staticmethod
    def _less_label(p: Array, is_label: Array) -> Array:
        """Return p with minus the sum of the others at the label."""
        others = np.where(is_label, 0, p)
        return np.where(is_label, -np.sum(others, axis=1, keepdims=True), others)

    @staticmethod
    def _is_label(t: Array, y: Array) -> Array:
        return np.asarray(np.arange(t.shape[1]) == y)


@dataclass(frozen=True)
class Poisson:
    """Half the deviance of counts with mean ``exp(t)``."""

    has_curvature: bool = True
    self_concordance: float = 1.0

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return ``exp(t) - y t + y log y - y``."""
        return np.asarray((np.exp(t) - y * t + _x_log_x(y) - y)[:, 0])

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return mean less count."""
        return np.asarray(np.exp(t) - y)

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the mean."""
        return np.asarray(np.exp(t)[:, :, None])

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:  # noqa: ARG002
        """Return ``v log v - v - v t + exp(t)`` with ``v = y + u``."""
        v, mean = np.maximum(y + u, 0), np.exp(t)
        terms = (_x_log_x(v), -v, -v * t, mean)
        return _added(terms)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:
        """Return u, at least -y, the heavier sign shrunk."""
        u = np.maximum(u, -y)
        return shrunk_sides(u, q) if balance else u

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the logarithm of the mean."""
        mean = q @ y / q.sum()
        return np.log(mean) if np.all(mean > 0) else None


@dataclass(frozen=True)
class Pinball:
    """``τ (y - t)`` below the target, ``(1 - τ) (t - y)`` above it."""

    quantile: float
    has_curvature: bool = False
    self_concordance: float = float("inf")

    def value(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return the loss."""
        r = (t - y)[:, 0]
        return np.asarray(np.maximum((ONE - self.quantile) * r, -self.quantile * r))

    def slope(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return one end of the interval, and its middle at the non-differentiable point."""
        r = t - y
        ends = np.where(r > 0, ONE - self.quantile, -EXTENDED(self.quantile))
        return np.where(r == 0, HALF - self.quantile, ends)

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:  # noqa: ARG002
        """Return zeros."""
        return np.zeros((len(t), 1, 1))

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``ℓ(r) - r u``."""
        r = (t - y)[:, 0]
        whole = self.value(t, y, scale)
        return whole - r * u[:, 0], whole + np.abs(r * u[:, 0])

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:  # noqa: ARG002
        """Return u between the two slopes, the heavier sign shrunk."""
        u = np.clip(u, -EXTENDED(self.quantile), ONE - self.quantile)
        return shrunk_sides(u, q) if balance else u

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the weighted quantile."""
        order = np.argsort(y[:, 0])
        at = np.searchsorted(np.cumsum(q[order]), self.quantile * q.sum() * (1 - EXTENDED(1e-15)))
        return np.asarray(y[order[min(int(at), len(order) - 1)]])


@dataclass(frozen=True)
class Scaled:
    """``σ + σ h(r / σ)`` with ``h(x) = x²`` up to ε and ``2 ε |x| - ε²`` beyond, for a scale σ >= 0 that all rows share.

    As a function of the scores alone, the best σ taken, its dual points are those with ``|u| <= 2 ε`` and a mean of u²/4 of at
    most one, and there the conjugate is ``y u``. Without an ε it is twice the root of the mean square.
    """

    epsilon: float
    has_curvature: bool = True
    self_concordance: float = float("inf")

    def value(self, t: Array, y: Array, scale: Any) -> Array:
        """Return the loss at the scale."""
        r = np.abs(t - y)[:, 0]
        if not scale > 0:
            return np.asarray(2 * EXTENDED(self.epsilon) * r) if np.any(r > 0) else np.zeros_like(r)
        inner = np.minimum(r, EXTENDED(self.epsilon) * scale) if np.isfinite(self.epsilon) else r
        with np.errstate(invalid="ignore"):
            outer = np.where(r > inner, 2 * EXTENDED(self.epsilon) * (r - inner), 0)
        return np.asarray(scale + inner**2 / scale + outer)

    def slope(self, t: Array, y: Array, scale: Any) -> Array:
        """Return ``2 r / σ``, clipped."""
        if not scale > 0:
            return np.zeros_like(t)
        u = 2 * (t - y) / scale
        return np.asarray(np.clip(u, -2 * self.epsilon, 2 * self.epsilon) if np.isfinite(self.epsilon) else u)

    def curvature(self, t: Array, y: Array, scale: Any) -> Array:
        """Return ``2 / σ`` for rows within ε scales of their target."""
        inside = np.abs(t - y) <= self.epsilon * scale
        return np.asarray((2 * inside / max(float(scale), 1e-300)).astype(np.float64)[:, :, None])

    def left_over(self, t: Array, u: Array, y: Array, scale: Any) -> tuple[Array, Array]:
        """Return ``ℓ(r) - r u``."""
        product, whole = ((t - y) * u)[:, 0], self.value(t, y, scale)
        return whole - product, whole + np.abs(product)

    def repaired(self, u: Array, q: Array, y: Array, *, balance: bool) -> Array:  # noqa: ARG002
        """Return u clipped, balanced, and shrunk to a mean of u²/4 of at most one."""
        bound = 2 * EXTENDED(self.epsilon)
        if np.isfinite(self.epsilon):
            u = np.clip(u, -bound, bound)
            u = shrunk_sides(u, q) if balance else u
        else:
            for _ in range(2 if balance else 0):
                u = u - q @ u / q.sum()
        size = q @ u[:, 0] ** 2 / (4 * q.sum())
        return u / np.sqrt(size) * (1 - 8 * np.finfo(EXTENDED).eps) if size > 1 - EXTENDED(1e-18) else u

    def constant(self, q: Array, y: Array) -> Array | None:
        """Return the mean if there is no ε."""
        return None if np.isfinite(self.epsilon) else np.asarray(y[0] + q @ (y - y[0]) / q.sum())

    def best_scale(self, t: Array, y: Array, q: Array) -> Any:
        """Return the scale at which the weighted loss is least: a fixed point, found by bisection on a monotone function."""
        r = np.abs(t - y)[:, 0]
        if not np.isfinite(self.epsilon):
            return np.sqrt(q @ r**2 / q.sum())
        low, high = EXTENDED(0), np.sqrt(q @ r**2 / q.sum())
        for _ in range(200):
            middle = HALF * (low + high)
            # d/dσ of the loss: Σ q (1 - min(r/σ, ε)²), increasing in σ
            if middle in (low, high):
                break
            if q @ (1 - np.minimum(r / middle, self.epsilon) ** 2) < 0:
                low = middle
            else:
                high = middle
        return high


def _added(terms: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return the sum of columns, and of their sizes."""
    both = np.stack(terms)[:, :, 0]
    return np.sum(both, axis=0), np.sum(np.abs(both), axis=0)


def _x_log_x(x: Array) -> Array:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0)
