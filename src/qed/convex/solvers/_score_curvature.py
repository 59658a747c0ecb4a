"""An approximate inverse of the second derivatives by the coefficients of several scores, cheap to make and to apply.

With probabilities p of the classes, the second derivatives are the sum over rows of ``(diag p - p p') ⊗ a a'``. Two parts of
it are kept. The product of both means, ``Λ ⊗ G``, is exact while probabilities do not depend on the row. What they depend on
is scores alone: if columns were normal, Stein's identity would say that all the rest happens in the span of the coefficients
themselves, which is as small as the number of classes. There the second derivatives are written down as they are, from
scores that are known already. Columns are rarely normal, but a step is only a guess, and the next one corrects it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qed.convex._kernels import cholesky, gram, solve_cholesky

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.convex._problem import Problem


FEWEST, EACH = 500, 80  # rows of a sample whose scores are looked at: at least, and for each pair of classes
MOST = 600  # coefficients in the span of scores, for all classes together, whose second derivatives are written down
EFFORT = 3e8  # multiplications that factors for each direction of the classes are worth
WEAK = 1e-3  # strength of the penalty, beside the curvature of the loss, that may be the same for all directions
FLAT = 1e-12  # variance of a score, relative to the largest, below which it is taken for a constant


@dataclass(frozen=True, eq=False)
class ClassCurvature:
    """The approximate inverse at a point.

    Attributes
    ----------
    problem : Problem
        Of one score for each class.
    turn : ndarray of shape (k, k - 1)
        Directions of the classes, orthogonal to a common change of all.
    level : ndarray of shape (k - 1,)
        Mean curvatures along them.
    inverse : ndarray of shape (1 or k - 1, p, p)
        Inverses of the weighted Gram matrix and the penalty, one for all directions or one for each.
    together : ndarray of shape (p,)
        Inverse curvature of a common change, which the penalty alone bends.
    span : ndarray of shape (p + 1, r)
        Coefficients and intercepts whose second derivatives are known.
    change : ndarray of shape ((k - 1) r, (k - 1) r)
        What to add to the inverse there.
    """

    problem: Problem
    turn: Vector
    level: Vector
    inverse: Vector
    together: Vector
    span: Vector
    change: Vector

    @classmethod
    def of(cls, problem: Problem, w: Vector, t: Vector, gram_matrix: Vector) -> ClassCurvature | None:
        """Look at a point; None where rounding leaves nothing positive definite.

        ``gram_matrix`` is that of the columns, shares as weights, of all rows or of a sample; ``t`` are scores of all rows.
        """
        n, k = t.shape
        p = len(w)
        rows = slice(None, None, max(1, n // max(FEWEST, min(EACH * k * k, n // 10))))
        t = np.ascontiguousarray(t[rows].T)  # a row for each class: products and sums over classes are of whole vectors
        share = problem.share[rows] / problem.share[rows].sum()
        chance = _probabilities(t)
        level, turn = _directions(np.diag(chance @ share) - (chance * share) @ chance.T)
        strength = np.asarray(problem.penalty.curvature(w), dtype=np.float64)
        strength = strength if strength.ndim == 1 else strength[:, 0]
        size = np.sqrt(np.where(gram_matrix.diagonal() > 0, gram_matrix.diagonal(), 1.0))
        is_weak = float(np.max(strength / size**2, initial=0.0)) < WEAK * float(level.min())
        typical = level.mean(keepdims=True) if is_weak or len(level) * p**3 > EFFORT else level
        inverse = _inverses(gram_matrix / np.multiply.outer(size, size), strength / size**2, typical)
        if inverse is None:
            return None
        inverse /= np.multiply.outer(size, size)
        together = np.where(strength > 0, 1.0 / np.where(strength > 0, strength, 1.0), 0.0)
        if problem.free_intercept:
            t -= (t @ share)[:, np.newaxis]
        span, scores = _span(w @ turn, turn.T @ t, share)
        if not problem.free_intercept:
            span, scores = span[:, :-1], scores[:-1]
        change = np.zeros((0, 0))
        if 0 < span.shape[1] * len(level) <= MOST:
            first = _mean_curvature(span, gram_matrix, strength, level, typical)
            change = _change(_curvature(scores, chance, turn, share) + _penalised(span, strength, len(level)), first)
        return cls(problem, turn, level, inverse, together, span, change)

    def __call__(self, g: Vector) -> Vector:
        """Return the approximate inverse times a gradient, (p + 1, k), the intercepts last."""
        turned = g @ self.turn
        d = np.empty_like(turned)
        if len(self.inverse) == 1:
            d[:-1] = (self.inverse[0] @ turned[:-1]) * (self.level.mean() / self.level)
        else:
            d[:-1] = np.matmul(self.inverse, turned[:-1].T[:, :, np.newaxis])[:, :, 0].T
        d[-1] = turned[-1] / self.level
        if self.change.size:
            inside = self.change @ (turned.T @ self.span).ravel()
            d += self.span @ inside.reshape(len(self.level), -1).T
        if not self.problem.free_intercept:
            d[-1] = 0.0
        out = d @ self.turn.T
        out[:-1] += (self.together * g[:-1].mean(axis=1))[:, np.newaxis]
        return np.asarray(out)


def _probabilities(t: Vector) -> Vector:
    """Return the probabilities of scores, a row for each class."""
    e = np.exp(t - t.max(axis=0))
    e /= e.sum(axis=0)
    return np.asarray(e)


def _directions(spread: Vector) -> tuple[Vector, Vector]:
    """Return curvatures and directions of classes that are orthogonal to a common change."""
    k = len(spread)
    values, vectors = np.linalg.eigh(spread + np.trace(spread) / k)  # a common change has the curvature of all together
    alike = np.abs(vectors.sum(axis=0)).argmax()
    turn = np.delete(vectors, alike, axis=1)
    turn, _ = np.linalg.qr(turn - turn.mean(axis=0))
    level = np.einsum("ij,ik,kj->j", turn, spread, turn)
    return np.maximum(level, 1e-9 * max(float(values.max()), 1e-300)), turn


def _inverses(scaled: Vector, strength: Vector, level: Vector) -> Vector | None:
    """Return the inverses of the Gram matrix times each level, with the penalty."""
    p = len(scaled)
    out = np.empty((len(level), p, p))
    for number, bend in enumerate(level):
        matrix = bend * scaled
        matrix[np.diag_indices(p)] += strength + 1e-10 * bend
        factor = cholesky(matrix)
        if factor is None:
            return None
        out[number] = solve_cholesky(factor, np.eye(p))
    return out


def _span(w: Vector, scores: Vector, share: Vector) -> tuple[Vector, Vector]:
    """Return coefficients whose scores are uncorrelated and of variance one, intercepts last, and those scores, a row each."""
    values, vectors = np.linalg.eigh((scores * share) @ scores.T)
    keep = values > max(FLAT * float(values.max(initial=0.0)), 1e-20)
    to = vectors[:, keep] / np.sqrt(values[keep])
    r = to.shape[1]
    span = np.zeros((len(w) + 1, r + 1))
    span[:-1, :r] = w @ to
    span[-1, r] = 1.0
    return span, np.concatenate([to.T @ scores, np.ones((1, len(share)))])


def _penalised(span: Vector, strength: Vector, directions: int) -> Vector:
    """Return the penalty's curvature in the span, the same for every direction of the classes."""
    one = span[:-1].T @ (strength[:, np.newaxis] * span[:-1])
    return np.asarray(np.kron(np.eye(directions), one), dtype=np.float64)


def _mean_curvature(span: Vector, gram_matrix: Vector, strength: Vector, level: Vector, typical: Vector) -> Vector:
    """Return, for each direction, what the first part of the inverse takes for the curvature in the span."""
    inner = span[:-1].T @ gram_matrix @ span[:-1]
    bent = span[:-1].T @ (strength[:, np.newaxis] * span[:-1])
    inner += np.multiply.outer(span[-1], span[-1])
    share = np.ones_like(level) if len(typical) == len(level) else level / typical
    return np.asarray(level[:, np.newaxis, np.newaxis] * inner + share[:, np.newaxis, np.newaxis] * bent)


def _curvature(scores: Vector, chance: Vector, turn: Vector, share: Vector) -> Vector:
    """Return the second derivatives of the loss in the span, direction after direction."""
    r, m = scores.shape
    k, directions = turn.shape
    one, other = np.triu_indices(r)
    own = np.empty((r, r, k))  # one matrix for each class
    own[one, other] = own[other, one] = (scores[one] * scores[other]) @ (chance * share).T
    pairs = (turn[:, :, np.newaxis] * turn[:, np.newaxis, :]).reshape(k, directions * directions)
    whole = (own.reshape(r * r, k) @ pairs).reshape(r, r, directions, directions).transpose(2, 0, 3, 1)
    along = (turn.T @ chance) * np.sqrt(share)
    product = (along[:, np.newaxis, :] * scores[np.newaxis, :, :]).reshape(directions * r, m)
    return np.asarray(whole.reshape(directions * r, directions * r) - gram(product.T))


def _change(second: Vector, first: Vector) -> Vector:
    """Return the inverse of the second derivatives less that of what stood for them; nothing where either is singular."""
    size = len(second)
    directions, r, _ = first.shape
    scale = np.sqrt(np.maximum(second.diagonal(), 1e-300))
    scaled = second / np.multiply.outer(scale, scale)
    scaled[np.diag_indices(size)] += 1e-8
    factor = cholesky(scaled)
    if factor is None or factor.diagonal().min() < 1e-5:
        return np.zeros((0, 0))
    out = solve_cholesky(factor, np.eye(size)) / np.multiply.outer(scale, scale)
    for number in range(directions):
        part = cholesky(first[number])
        if part is None:
            return np.zeros((0, 0))
        at = slice(number * r, (number + 1) * r)
        out[at, at] -= solve_cholesky(part, np.eye(r))
    return out
