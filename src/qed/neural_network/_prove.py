"""What is proved about a network: its objective and gradient on all rows, in double precision, and a check of the gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import Fingerprint, NetworkCertificate
from qed.data import ColumnMoments
from qed.neural_network._course import refuse_overflow
from qed.neural_network._gradients import Gradients, Rows
from qed.neural_network._heads import HEADS

if TYPE_CHECKING:
    from qed.core import Array
    from qed.neural_network._course import Task, Trail


UNIT = 2.0**-53
STEP = 1e-6  # of a difference: short enough to cross few kinks, long enough for the digits that are left


class Effort(NamedTuple):
    """How much of a gradient is checked: random directions, and rows, evenly spread, on which differences are taken."""

    directions: int = 2
    rows: int = 256


def fingerprint(X: Any, truth: Array, weight: Array | None) -> Fingerprint:
    """Recognise rows by the moments of their columns, targets last."""
    columns = [ColumnMoments.of(X, weight), ColumnMoments.of(np.asarray(truth, dtype=np.float64), weight)]
    mean, spread = (np.concatenate([getattr(one, name) for one in columns]) for name in ("mean", "scatter"))
    rows, total = len(truth), float(len(truth))
    if weight is not None:
        rows, total = int(np.count_nonzero(weight)), float(weight.sum())
    rounding = max(one.rounding for one in columns) + 16 * UNIT
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused in words
        square = spread / total + mean**2
    return Fingerprint(
        rows,
        total,
        mean,
        spread,
        weight_rounding=(len(truth) + 16) * UNIT * total,
        mean_rounding=rounding * np.sqrt(square),
        spread_rounding=rounding * total * square,
    )


def prove(
    torch: Any, task: Task, flat: Array, *, trail: Trail, tol: float, seen: Fingerprint, effort: Effort
) -> NetworkCertificate:
    """Return the certificate of parameters."""
    rows, layout = task.rows, task.layout
    share = np.full(rows.n, 1 / rows.n) if rows.weight is None else rows.weight[:, 0] / rows.weight.sum()
    null = HEADS[task.end].null_loss(rows.truth.astype(np.float64), share)
    theta = np.array(flat, dtype=np.float64)
    length = STEP * max(1.0, float(np.linalg.norm(theta)))
    ways = _directions(len(theta), effort.directions)
    places = [theta, *(theta + sign * length * way for way in ways for sign in (1, -1))]
    if rows.n <= effort.rows:
        some, found = rows, _evaluated(torch, task, rows, places)
        whole = found[0]
    else:
        some = rows.some(np.linspace(0, rows.n - 1, effort.rows).astype(np.intp))
        whole, found = _evaluated(torch, task, rows, [theta])[0], _evaluated(torch, task, some, places)
    objective, gradient, size = whole
    largest = float(np.abs(gradient).max())
    if not (math.isfinite(objective) and math.isfinite(largest * largest)):
        refuse_overflow(task.owner)
    terms = sum(layout.sizes) + min(rows.n, 1024) + rows.n // 1024 + 64
    difference, bound = _compared(found, ways, length, terms * UNIT, float(np.linalg.norm(theta)))
    return NetworkCertificate(
        gradient=float(np.linalg.norm(gradient)),
        largest=largest,
        rounding=terms * UNIT * size,
        objective=max(objective, 0.0),
        null_objective=null,
        difference=difference,
        bound=bound,
        directions=effort.directions,
        checked=some.n,
        tol=float(tol),
        passes=trail.passes,
        outcome="solved" if trail.outcome == "stalled" and largest <= tol else trail.outcome,
        fingerprint=seen,
    )


def _evaluated(torch: Any, task: Task, rows: Rows, places: list[Array]) -> list[tuple[float, Array, float]]:
    """Return objective, gradient and the size of what was summed, at each of some places."""
    total, n_weights, found = rows.n * rows.mean_weight, task.layout.n_weights, []
    out = task.layout.parts(torch.empty(task.layout.n_parameters, dtype=torch.float64))
    with (
        Gradients(
            torch, task.layout, task.activation, task.end, rows, most=rows.n, dtype=torch.float64, measures=True
        ) as at,
        torch.inference_mode(),
    ):
        for k, place in enumerate(places):
            at.measures = k == 0  # the size of what is summed is about the same at all of them
            loss, size = at.at(task.layout.parts(torch.from_numpy(place)), (0, rows.n), 1 / total, out)
            weights, gradient = place[:n_weights], out.flat.numpy().copy()
            gradient[:n_weights] += task.decay * weights
            square = float(weights @ weights)
            size += task.decay * math.sqrt(square)
            found.append((loss / total + 0.5 * task.decay * square, gradient, size))
    return found


def _directions(n: int, count: int) -> list[Array]:
    """Draw directions of length one, always the same ones."""
    drawn = np.random.default_rng(0).standard_normal((count, n))
    return list(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _compared(
    found: list[tuple[float, Array, float]], ways: list[Array], length: float, unit: float, far: float
) -> tuple[float, float]:
    """Compare central differences with slopes; return the distance in the worst direction and what it may be there.

    A difference is the mean of the slopes between its two points. Where the slope rises or falls all the way, also over the kinks
    of a rectifier, that mean lies between those at the ends.
    """
    (_, gradient, size), worst, allowed = found[0], -math.inf, 0.0
    for way, (up, above, _), (down, below, _) in zip(ways, found[1::2], found[2::2], strict=True):
        slopes = [float(one @ way) for one in (gradient, above, below)]
        # values round like the sums they are made of: like a change of every parameter by a share of itself
        bound = max(slopes) - min(slopes) + unit * (max(up, down) + size * far) / length
        error = abs((up - down) / (2 * length) - slopes[0])
        if error - bound > worst - allowed:
            worst, allowed = error, bound
    return worst, allowed
