"""Convexity put to the test: samples can refute it and never prove it; eigenvalues prove it for quadratics.

Every test compares two sides of an inequality that convex functions obey, and calls a violation real only if it exceeds what
rounding can do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, generator
from qed.optimize._evaluate import Evaluator

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.optimize._function import Vector


ROUNDING = 1e-9  # relative violations below this are rounding
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class ConvexityReport:
    """What was found out about convexity.

    Attributes
    ----------
    verdict : {"proved", "not refuted", "refuted"}
        Proved only by eigenvalues of a quadratic. Not refuted means that every sample obeyed every inequality: no proof.
    tests : dict of str to bool
        Whether each test was passed; a test that does not apply is absent.
    words : str
        The verdict in a sentence.
    witness : tuple of ndarray
        Points that refute; empty otherwise.
    """

    verdict: str
    tests: dict[str, bool]
    words: str
    witness: tuple[Vector, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        """Whether convexity was not refuted."""
        return self.verdict != "refuted"


def check_convexity(function: Any, points: Any, *, n_pairs: int = 200, random_state: Any = 0) -> ConvexityReport:
    """Try to refute that a function is convex on the hull of some points.

    Tests, as far as the function allows: chords lie above (pairs), Jensen's inequality (several points with random weights,
    and the expectation over all points), hyperplanes lie below (gradients), no negative eigenvalue (curvatures). At
    non-differentiable points the two derivative tests do not apply: say ``is_smooth=False``, or leave out points where there is
    no derivative.

    Parameters
    ----------
    function : Function, Problem or callable
        What is judged.
    points : array-like of shape (n, p) or (n,)
        Where; a vector is n points on a line.
    n_pairs : int
        Random chords and random means.
    random_state : None, int or Generator
        Which.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.optimize import check_convexity
    >>> grid = np.linspace(-2.0, 2.0, 21)
    >>> check_convexity(lambda w: w[0] ** 2, grid).verdict, check_convexity(lambda w: -(w[0] ** 2), grid).verdict
    ('not refuted', 'refuted')
    """
    evaluate = Evaluator(function, "check_convexity", ())
    points = np.asarray(points, dtype=np.float64)
    points = points[:, np.newaxis] if points.ndim == 1 else points
    if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():
        raise InvalidData(f"check_convexity needs at least two finite points, got an array of shape {points.shape}.")
    f = evaluate.function
    if f.is_quadratic and f.curvature is not None:
        return _by_eigenvalues(evaluate, points[0])
    stream = generator(random_state)
    values = np.array([evaluate.value(w) for w in points])
    tests: dict[str, bool] = {}
    witness: tuple[Vector, ...] = ()
    trials = [("chord", _chord), ("jensen", _jensen)]
    trials += [("first order", _first_order)] if f.gradient is not None and f.is_smooth else []
    trials += [("curvature", _curvature)] if f.curvature is not None and f.is_smooth else []
    for name, trial in trials:
        found = trial(evaluate, points, values, n_pairs, stream)
        tests[name] = found is None
        witness = witness or (found or ())
    failed = [name for name, passed in tests.items() if not passed]
    if failed:
        with np.printoptions(precision=4, threshold=6):
            where = ", ".join(str(w) for w in witness)
        return ConvexityReport("refuted", tests, f"refuted by {', '.join(failed)}, at {where}", witness)
    words = f"{len(points)} points and {n_pairs} chords and means obey {', '.join(tests)}; samples are no proof"
    return ConvexityReport("not refuted", tests, words)


def check_convex_set(
    contains: Callable[[Vector], bool], points: Any, *, n_pairs: int = 500, random_state: Any = 0
) -> ConvexityReport:
    """Try to refute that a set is convex: between two of its points lie points of the set alone.

    Parameters
    ----------
    contains : callable
        Says whether a point belongs to the set; ``region.contains`` for sets of this package.
    points : array-like of shape (n, p)
        Points to begin with; those outside the set are left out.
    n_pairs : int
        Segments.
    random_state : None, int or Generator
        Which segments, and where on them.
    """
    points = np.atleast_2d(np.asarray(points, dtype=np.float64))
    inside = points[[bool(contains(w)) for w in points]]
    if len(inside) < 2:
        raise InvalidData(f"check_convex_set needs two points inside the set; {len(inside)} of {len(points)} are.")
    stream = generator(random_state)
    for _ in range(n_pairs):
        a, b = inside[stream.choice(len(inside), size=2, replace=False)]
        for share in (0.5, stream.random()):
            between = (1 - share) * a + share * b
            if not contains(between):
                with np.printoptions(precision=4, threshold=6):
                    words = f"refuted: {between} lies between {a} and {b}, and outside the set"
                return ConvexityReport("refuted", {"segment": False}, words, (a, b, between))
    words = f"{n_pairs} segments between points of the set stay inside; samples are no proof"
    return ConvexityReport("not refuted", {"segment": True}, words)


def _by_eigenvalues(evaluate: Evaluator, w: Vector) -> ConvexityReport:
    """Judge a quadratic by its smallest eigenvalue."""
    H = evaluate.curvature(w)
    eigenvalues, axes = np.linalg.eigh(0.5 * (H + H.T))
    least, rounding_error = float(eigenvalues[0]), 4 * len(H) * UNIT * float(np.max(np.abs(eigenvalues)))
    if least < -rounding_error:
        words = f"refuted: the smallest eigenvalue of the quadratic is {least:.3g}"
        return ConvexityReport("refuted", {"eigenvalues": False}, words, (axes[:, 0],))
    if least > rounding_error or rounding_error == 0:
        words = f"proved: the smallest eigenvalue of the quadratic is {least:.3g}, more than its rounding {rounding_error:.1g}"
        return ConvexityReport("proved", {"eigenvalues": True}, words)
    words = f"not refuted: the smallest eigenvalue of the quadratic is zero up to its rounding {rounding_error:.1g}"
    return ConvexityReport("not refuted", {"eigenvalues": True}, words)


def _chord(evaluate: Evaluator, points: Vector, values: Vector, n: int, stream: Any) -> tuple[Vector, ...] | None:
    """Compare the function between two points with the chord above; the midpoint first."""
    for _ in range(n):
        i, j = stream.choice(len(points), size=2, replace=False)
        for share in (0.5, float(stream.random())):
            between = (1 - share) * points[i] + share * points[j]
            above = (1 - share) * values[i] + share * values[j]
            if _exceeds(evaluate.value(between), above, values[[i, j]]):
                return points[i], points[j]
    return None


def _jensen(evaluate: Evaluator, points: Vector, values: Vector, n: int, stream: Any) -> tuple[Vector, ...] | None:
    """Compare the function at a mean with the mean of the function: random weights, then the expectation over all points."""
    weights = [stream.dirichlet(np.ones(len(points))) for _ in range(max(1, n // 4))]
    for c in [*weights, np.full(len(points), 1.0 / len(points))]:
        if _exceeds(evaluate.value(c @ points), float(c @ values), values):
            return (np.asarray(c @ points),)
    return None


def _first_order(evaluate: Evaluator, points: Vector, values: Vector, n: int, stream: Any) -> tuple[Vector, ...] | None:
    """Compare the function with its tangent planes."""
    slopes = [evaluate.gradient(w) for w in points]
    for _ in range(n):
        i, j = stream.choice(len(points), size=2, replace=False)
        below = values[i] + float(slopes[i] @ (points[j] - points[i]))
        if _exceeds(below, values[j], values[[i, j]]):
            return points[i], points[j]
    return None


def _curvature(evaluate: Evaluator, points: Vector, values: Vector, n: int, stream: Any) -> tuple[Vector, ...] | None:  # noqa: ARG001
    """Look for a negative eigenvalue of the second derivatives."""
    for w in points:
        H = evaluate.curvature(w)
        eigenvalues = np.linalg.eigvalsh(0.5 * (H + H.T))
        if eigenvalues[0] < -ROUNDING * max(float(np.max(np.abs(eigenvalues))), 1e-300):
            return (w,)
    return None


def _exceeds(low: float, high: float, scale: Vector) -> bool:
    """Say whether what should be lower is higher, by more than rounding."""
    return low > high + ROUNDING * (1e-300 + float(np.max(np.abs(scale))) + abs(high))
