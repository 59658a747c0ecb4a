"""The one interface of `qed.convex` to native code: fixes layout, type and alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed import _native
from qed.data._kernels import csr_arrays
from qed.data._kernels import plain as _plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.convex._loss import Vector


Goal = tuple[float, int]
ONE_SCORE = ("logistic", "poisson", "squared", "squared_hinge")  # smooth losses that compiled sums over rows know
SUMMED = (*ONE_SCORE, "hinge")  # and those with kinks


def loss_value(name: str, t: Vector, y: Vector) -> Vector:
    """Return the loss of each row."""
    return np.asarray(_native.loss_value(name, _plain(t), _plain(y)))


def loss_slope(name: str, t: Vector, y: Vector) -> Vector:
    """Return the derivative of the loss of each row, of the shape of t."""
    return np.asarray(_native.loss_slope(name, _plain(t), _plain(y)))


def loss_value_and_slope(name: str, t: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Return both."""
    value, slope = _native.loss_value_and_slope(name, _plain(t), _plain(y))
    return value, slope


def loss_excess(name: str, t: Vector, y: Vector, u: Vector) -> Vector:
    """Return what separates scores and dual variables from equality, for each row."""
    return np.asarray(_native.loss_excess(name, _plain(t), _plain(y), _plain(u)))


def loss_mean(name: str, t: Vector, y: Vector, c: Vector) -> float:
    """Return the weighted sum of the losses of rows; t of length one is the score of all of them."""
    return float(_native.loss_mean(name, _plain(t), _plain(y), _plain(c)))


def scale_sides(
    name: str, rows: tuple[Vector, Vector, Vector], slope: Vector, factors: tuple[float, float]
) -> tuple[Vector, Vector]:
    """Return slopes whose signs are multiplied apart, and sums over them; ``rows`` are scores, targets and shares.

    The sums are those of c times positive entries, of negative ones without sign, of squares, of the excess, and of the
    squared change.
    """
    t, y, c = rows
    u, sums = _native.scale_sides(name, _plain(t), _plain(y), _plain(c), _plain(slope), *factors)
    return np.asarray(u), np.asarray(sums)


def side_sums(c: Vector, u: Vector) -> Vector:
    """Return sums of c u for each column of u, (3, k): of positive products, of negative ones without sign, of all.

    The last is off by a rounding of itself and ``(n * 2**-53)**2`` of the first two together.
    """
    return np.asarray(_native.side_sums(_plain(c), _plain(u)))


def dense_pass(
    name: str, X: Any, rows: tuple[Vector, Vector, Vector], at: tuple[Vector, float, Vector], **wanted: bool
) -> tuple[Any, ...]:
    """Return sums, rise, fall, bend and hessian in one read of a table.

    ``rows`` are targets, shares and a table to whose rows scores and, if there is a second one, slopes are written.
    """
    (y, c, out), (w, b, shift) = rows, at
    return tuple(_native.glm_pass(name, X, _plain(y), _plain(c), _plain(w), float(b), _plain(shift), out, **wanted))


def csr_pass(
    name: str, X: Any, rows: tuple[Vector, Vector, Vector], at: tuple[Vector, float, Vector], *, bend: bool
) -> tuple[Any, ...]:
    """Return the same for compressed rows, without a hessian."""
    (y, c, out), (w, b, shift) = rows, at
    point = _plain(w), float(b), _plain(shift)
    starts, indices, values = csr_arrays(X)
    return tuple(_native.csr_glm_pass(name, starts, indices, values, X.shape, _plain(y), _plain(c), *point, out, bend))


def mix_sides(
    name: str, rows: tuple[Vector, Vector, Vector], slope: Vector, given: tuple[Any, float], factors: tuple[float, ...]
) -> tuple[Vector, Vector]:
    """Return a mixture of slopes and dual variables given, and sums over it as `scale_sides` has them.

    ``factors`` multiply positive and negative slopes, then positive and negative variables.
    """
    t, y, c = rows
    u, sums = _native.mix_sides(name, _plain(t), _plain(y), _plain(c), _plain(slope), *given, factors)
    return np.asarray(u), np.asarray(sums)


def mixed_pass(
    name: str, X: Any, rows: tuple[Vector, Vector, Vector], at: tuple[Vector, float, Vector], given: tuple[Any, float]
) -> tuple[Vector, Vector]:
    """Return sums and products of slopes and of dual variables given, by their signs, in one read of a table.

    ``rows`` are targets, shares and a table to whose two rows scores and slopes are written.
    """
    (y, c, out), (w, b, shift) = rows, at
    point: Any = (_plain(y), _plain(c), *given, _plain(w), float(b), _plain(shift), out)
    if isinstance(X, np.ndarray):
        sums, products = _native.mixed_pass(name, X, *point)
    else:
        X = X.tocsr()
        sums, products = _native.csr_mixed_pass(name, *csr_arrays(X), X.shape, *point)
    return np.asarray(sums), np.asarray(products)


def softmax_pass(
    X: Any, rows: tuple[Vector, Vector, Vector], at: tuple[Vector, Vector, Vector]
) -> tuple[Vector, Vector]:
    """Return sums and the gradient by coefficients and intercepts in one read of a table.

    ``rows`` are targets, shares and a table that scores are written to.
    """
    (y, c, out), (w, b, shift) = rows, at
    sums, gradient = _native.softmax_pass(X, _plain(y), _plain(c), _plain(w), _plain(b), _plain(shift), out)
    return np.asarray(sums), np.asarray(gradient)


def targets_pass(
    X: Any, rows: tuple[Vector, Vector, Vector], at: tuple[Vector, Vector, Vector]
) -> tuple[Vector, Vector]:
    """Return the same for half the squared distances of scores from targets."""
    (y, c, out), (w, b, shift) = rows, at
    sums, gradient = _native.targets_pass(X, _plain(y), _plain(c), _plain(w), _plain(b), _plain(shift), out)
    return np.asarray(sums), np.asarray(gradient)


def softmax_curvature(X: Any, p: Vector, c: Vector, shift: Vector, v: Vector) -> Vector:
    """Return second derivatives times v, (p + 1, k), in one read of a table; ``p`` are the probabilities of the classes."""
    return np.asarray(_native.softmax_curvature(X, _plain(p), _plain(c), _plain(shift), _plain(v)))


def softmax_hessian(X: Any, p: Vector, c: Vector) -> Vector:
    """Return all second derivatives by coefficients of the columns of X, (k q, k q), class after class."""
    return np.asarray(_native.softmax_hessian(X, _plain(p), _plain(c)))


def curvature_product(X: Any, weight: Vector, shift: Vector, v: Vector) -> Vector:
    """Return ``[X - shift | 1]' diag(weight) [X - shift | 1] v`` in one read of a table."""
    return np.asarray(_native.curvature_product(X, _plain(weight), _plain(shift), _plain(v)))


def csr_curvature_product(X: Any, weight: Vector, shift: Vector, v: Vector) -> Vector:
    """Return the same for compressed rows."""
    return np.asarray(_native.csr_curvature_product(*csr_arrays(X), X.shape, _plain(weight), _plain(shift), _plain(v)))


def longest_square(X: Any, shift: Vector, scale: Vector) -> float:
    """Return the largest sum of squares of a row of ``(X - shift) * scale``."""
    return float(_native.longest_square(X, _plain(shift), _plain(scale)))


def cholesky(A: Vector) -> Vector | None:
    """Return the lower factor of A; None if a pivot is not positive."""
    L, bad = _native.cholesky(_plain(A))
    return None if bad >= 0 else np.asarray(L)


def solve_cholesky(L: Vector, g: Vector) -> Vector:
    """Return ``(L L')⁻¹ g`` for a vector or a matrix g."""
    columns = _plain(g if g.ndim == 2 else g[:, np.newaxis])
    solved = np.asarray(_native.solve_lower_t(L, _plain(_native.solve_lower(L, columns))))
    return solved if g.ndim == 2 else solved[:, 0]


def group_value(w: Vector, groups: tuple[Any, Vector, float]) -> float:
    """Return the penalty of lengths; ``groups`` are numbers of the groups of coefficients (or None), strengths and a ridge."""
    return _native.group_value(_plain(w), *groups)


def group_shrink(z: Vector, rounding_error: Vector, groups: tuple[Any, Vector, float]) -> float:
    """Return the largest factor <= 1 that brings each group, longer by that of rounding_error, to its strength."""
    return _native.group_shrink(_plain(z), _plain(rounding_error), *groups[:2])


def group_excess(
    w: Vector, z: Vector, rounding_error: Vector, groups: tuple[Any, Vector, float]
) -> tuple[float, float]:
    """Return penalty plus conjugate less w z, and how much the rounding of z may add."""
    return _native.group_excess(_plain(w), _plain(z), _plain(rounding_error), *groups)


def sweep_products(
    Q: Vector, groups: tuple[Any, Vector, Vector, float], visits: Any, points: Vector, states: Vector
) -> None:
    """Fill rows of points and gradients, each by a sweep from the one before; ``groups`` are starts, bends, strengths, ridge."""
    _native.sweep_products(_plain(Q), groups, visits, points, states)


def sweep_columns(
    blocks: list[Vector], groups: tuple[Any, Vector, Vector, float], visits: Any, points: Vector, states: Vector
) -> None:
    """Do the same along columns in Fortran order, one block a group; states are residuals."""
    _native.sweep_columns(blocks, groups, visits, points, states)


def _numbers(penalty: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return vectors as contiguous float64, and the ridge as a number."""
    return (*(_plain(one) for one in penalty[:-1]), float(penalty[-1]))


def gram(A: Vector) -> Vector:
    """Return A'A."""
    return np.asarray(_native.gram(A, None, None, transpose=False))


def cross(A: Vector, B: Vector) -> Vector:
    """Return A'B."""
    return np.asarray(_native.rmatmul(A, B, None))


def descend_gram(
    Q: Vector, q: Vector, constant: float, penalty: tuple[Any, ...], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """Minimise ``w'Qw/2 - q'w + constant`` plus a non-smooth penalty; return w, Qw - q, sweeps and gap."""
    quadratic = (Q, np.ascontiguousarray(q), float(constant))
    return _native.descend_gram(quadratic, _numbers(penalty), goal, np.ascontiguousarray(w))


def face_factor() -> Any:
    """Return an empty factor, which descents on one (growing) Gram matrix keep from one to the next."""
    return _native.FaceFactor()


def descend_grams(
    problems: Sequence[tuple[Any, Any, Goal, tuple[Vector, Vector | None], Any]],
) -> list[tuple[Vector, Vector, int, float]]:
    """Minimise several such problems in threads; each is a quadratic (Q, q, constant), a penalty, a goal, a start, a factor.

    A start is coefficients, and their gradient Qw - q where it is known.
    """
    return _native.descend_grams(
        [
            (
                (Q, np.ascontiguousarray(q), float(constant)),
                _numbers(penalty),
                goal,
                (np.ascontiguousarray(w), None if g is None else np.ascontiguousarray(g)),
                factor,
            )
            for (Q, q, constant), penalty, goal, (w, g), factor in problems
        ]
    )


def room(rows: int, columns: int) -> Vector:
    """Return an array that is not filled, with contiguous rows: what is never written to costs nothing."""
    return np.asarray(_native.room(rows, columns))


def extend_products(folds: list[tuple[Vector, Vector, Vector]]) -> None:
    """Write products of fresh columns; each fold is all columns, the last ones times weights, and where products stand."""
    _native.extend_products([(columns, np.asfortranarray(weighted), room) for columns, weighted, room in folds])


def fold_residuals(folds: list[tuple[Vector, Vector, Vector, Any, int]], out: Vector) -> None:
    """Write targets less ``columns @ w`` to columns of ``out``; a fold is columns, w, targets, places of rows, a place."""
    _native.fold_residuals(folds, out)


def descend_targets(
    Q: Vector, q: Vector, constant: float, penalty: tuple[Any, ...], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """Minimise the same over w of several columns, every entry penalised by itself."""
    quadratic = (Q, np.ascontiguousarray(q), float(constant))
    return _native.descend_targets(quadratic, _numbers(penalty), goal, np.ascontiguousarray(w))


def descend_rows(
    Q: Vector, q: Vector, constant: float, penalty: tuple[Any, ...], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """Minimise the same over w of several columns, rows penalised by their lengths."""
    quadratic = (Q, np.ascontiguousarray(q), float(constant))
    return _native.descend_rows(quadratic, _numbers(penalty), goal, np.ascontiguousarray(w))


def descend_columns(
    A: Vector, penalty: tuple[Any, ...], goal: Goal, w: Vector, residual: Vector
) -> tuple[Vector, Vector, Vector, int, float]:
    """Minimise half the squared residual plus a non-smooth penalty; return w, residual, gradient, sweeps and gap."""
    return _native.descend_columns(A, _numbers(penalty), goal, np.ascontiguousarray(w), np.ascontiguousarray(residual))


def descend_sparse(
    A: tuple[Any, Any, Any],
    centring: tuple[Vector, Vector],
    penalty: tuple[Any, ...],
    goal: Goal,
    w: Vector,
    residual: Vector,
) -> tuple[Vector, Vector, Vector, int, float]:
    """Minimise the same for compressed columns less root times their centre."""
    centre, root = (np.ascontiguousarray(one) for one in centring)
    return _native.descend_sparse_columns(
        A, (centre, root), _numbers(penalty), goal, np.ascontiguousarray(w), np.ascontiguousarray(residual)
    )


class Curved(NamedTuple):
    """Where a descent on a curved loss stands; ``is_over`` says that no further step is possible."""

    w: Vector
    b: float
    t: Vector
    slope: Vector
    gradient: Vector
    u: Vector | None
    gap: float
    rounds: int
    is_over: bool


def descend_curved(
    name: str,
    rows: tuple[Vector, Vector],
    A: Any,
    penalty: tuple[Any, ...],
    goal: tuple[float, int, float],
    start: tuple[Vector, float | None],
    pace: Vector,
) -> Curved:
    """Minimise the mean of a loss plus a non-smooth penalty over a table compressed by columns.

    ``rows`` are targets and shares, ``goal`` is a gap, a number of rounds and one of visits of entries; a start without an
    intercept (None) stays without. ``pace`` are five numbers that one call hands to the next, zeros at first.
    """
    y, c = rows
    w, b = start
    found = _native.descend_curved(
        name,
        (_plain(y), _plain(c)),
        csr_arrays(A),
        _numbers(penalty),
        b is not None,
        goal,
        (_plain(w), 0.0 if b is None else float(b)),
        pace,
    )
    return Curved(*found)


class Narrow(NamedTuple):
    """Where Newton's method on few columns stands; ``is_over`` says that no further step is possible."""

    w: Vector
    b: float
    t: Vector
    slope: Vector
    gradient: Vector
    loss: float
    gap: float
    rounds: int
    is_over: bool


def descend_narrow(
    loss: tuple[str, Any],
    c: Vector,
    table: tuple[Any, Vector | None],
    penalty: tuple[Any, ...],
    goal: Goal,
    start: tuple[Vector, float | None],
) -> Narrow:
    """Minimise the mean of a loss plus a non-smooth penalty over an array of few columns, less a centre.

    ``loss`` is a name with targets, or any name with `AscentLosses`; a start without an intercept (None) stays without.
    """
    X, centre = table
    w, b = start
    found = _native.descend_narrow(
        *loss,
        _plain(c),
        X,
        None if centre is None else _plain(centre),
        _numbers(penalty),
        b is not None,
        goal,
        (_plain(w), 0.0 if b is None else float(b)),
    )
    return Narrow(*found)


def compressed_product(starts: Any, rows: Any, values: Vector, n: int, w: Vector) -> Vector:
    """Return A w for compressed columns of n rows."""
    shape = (len(starts) - 1, n)
    return np.asarray(_native.csr_rmatmul(starts, rows, values, shape, np.ascontiguousarray(w)))


def compressed_adjoint(starts: Any, rows: Any, values: Vector, n: int, r: Vector) -> Vector:
    """Return A'r for compressed columns of n rows."""
    shape = (len(starts) - 1, n)
    return np.asarray(_native.csr_matmul(starts, rows, values, shape, np.ascontiguousarray(r), None))


class AscentLosses(NamedTuple):
    """Conjugates ``bend u²/2 + kink u + width |u|`` from low to high; a logistic loss has labels in place of breakpoints."""

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


class Followed(NamedTuple):
    """Coefficients, dual variables, what a further call starts from, the gap, the steps made, and whether no step is left."""

    w: Vector
    u: Vector
    anchor: Vector
    bend: float
    gap: float
    rounds: int
    is_over: bool


def follow_multipliers(
    losses: AscentLosses, c: Vector, X: Any, ridge: float, goal: Goal, start: tuple[Vector, Vector, float]
) -> Followed:
    """Minimise the mean of a loss made of straight pieces plus a ridge; a start is coefficients, anchors and a bend."""
    w, anchor, bend = start
    found = _native.follow_multipliers(losses, _plain(c), X, ridge, goal, (_plain(w), _plain(anchor), bend))
    return Followed(*found)


def scaled_spread(r: Vector, c: Vector, knee: float, guess: float) -> tuple[float, float]:
    """Return the best scale of residuals, and their spread there."""
    return _native.scaled_spread(np.ascontiguousarray(r), np.ascontiguousarray(c), float(knee), float(guess))


def follow_path(
    table: tuple[Vector, int, Any],
    lists: tuple[Vector, Vector, Vector, Vector],
    columns: tuple[Vector, Vector, Vector],
    spread: float,
    goal: tuple[float, int],
    state: tuple[Vector, Vector, Vector, Vector],
    *,
    has_intercept: bool,
) -> tuple[float, int, bool]:
    """Go along a central path; ``table`` is the array with the intercept's column, copies of its rows, and kinked columns.

    ``lists`` are weights, breakpoints, low and high ends, ``columns`` are curvatures, pull and sizes, ``state`` is written to:
    coefficients, distances above and below breakpoints, dual variables. Returns the distance, the steps made, and if none is left.
    """
    X, copies, kinked = table
    lists, columns = (tuple(_plain(one) for one in part) for part in (lists, columns))  # type: ignore[assignment]
    return _native.follow_path(X, copies, kinked, lists, columns, has_intercept, float(spread), goal, state)


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


def class_ascent(
    table: Any,
    rows: tuple[Vector, Vector, Vector, float],
    state: tuple[Vector, Vector, Any, Vector],
    counts: tuple[int, int, int],
) -> tuple[int, int]:
    """Make passes for the hinge of several classes; ``rows`` are labels, weights, squared lengths and the strength.

    ``state`` is dual variables (n, k), coefficients (k, p), order of rows and three numbers, all written to; ``counts`` are
    active rows, seed and passes. Returns how many rows stay active, and the next seed.
    """
    if isinstance(table, np.ndarray):
        return _native.class_ascent(table, rows, *state[:3], counts[0], state[3], *counts[1:])
    return _native.csr_class_ascent(csr_arrays(table), table.shape, rows, *state[:3], counts[0], state[3], *counts[1:])
