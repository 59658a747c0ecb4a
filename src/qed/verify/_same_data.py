"""Whether rows are those that a certificate is about: their moments, summed again and compared with its fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._rows import EXTENDED, Rows

if TYPE_CHECKING:
    from qed.certificates import Fingerprint


Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ColumnSummary:
    """What one pass tells: sizes, means and spreads of all columns, targets last."""

    rows: int
    weight: Any
    mean: Array  # (q,) extended
    spread: Array  # (q,) extended
    names: Any = None  # of the columns, where they are known


def summarize_columns(rows: Rows) -> ColumnSummary:
    """Find weight, means and spreads: each block about its own mean, so that neither offsets nor heavy rows cancel."""
    count, weight = 0, EXTENDED(0)
    mean = spread = np.zeros(rows.p + rows.m, EXTENDED)
    for block in rows.blocks():
        z = np.hstack([block.X, block.y])
        own = np.sum(block.s)
        centre = z[0] + block.s @ (z - z[0]) / own
        centre = centre + block.s @ (z - centre) / own
        step, total = centre - mean, weight + own
        spread = spread + block.s @ (z - centre) ** 2 + step**2 * (weight * own / total)
        count, weight, mean = count + len(z), total, mean + step * (own / total)
    if not count:
        msg = "There is no row of positive weight to verify on. Pass the rows of the fit."
        raise CertificateError(msg)
    return ColumnSummary(count, weight, mean, spread, rows.names)


def _tolerances(stated: Fingerprint, seen: ColumnSummary) -> tuple[Any, Array, Array]:
    """Return how far weight, means and spreads may be from those stated.

    A fingerprint states its own rounding, which forgetting rows may have made large. It is believed up to a millionth of
    what it is about (``forget`` refuses beyond that), so that nobody can state one that fits all data. Of a single row that
    is left, a value may be zero: it is compared with the others.
    """
    size, deviation = np.abs(seen.mean), np.sqrt(seen.spread / seen.weight)
    squares = seen.weight * seen.mean**2
    weight = 1e-9 * seen.weight + min(stated.weight_rounding, 1e-6 * seen.weight)
    spread = 1e-9 * (seen.spread + 1e-6 * squares)
    if stated.mean_rounding is None or stated.spread_rounding is None:  # from a file that does not say
        return weight, np.asarray(1e-9 * (deviation + 1e-3 * size)), np.asarray(spread)
    most = 1e-6 * (deviation + size) + 1e-9 * np.max(deviation + size, initial=0)
    mean = 1e-9 * (deviation + 1e-6 * size) + np.minimum(stated.mean_rounding, most)
    spread = spread + np.minimum(stated.spread_rounding, 1e-6 * (seen.spread + 1e-3 * squares))
    return weight, np.asarray(mean), np.asarray(spread)


def difference(print_: Fingerprint, seen: ColumnSummary, p: int) -> str | None:
    """Say in words how rows differ from a fingerprint, None if they do not.

    The tolerance is far above rounding and far below any change worth making.
    """
    same = print_.rows == seen.rows and print_.mean.shape == seen.mean.shape
    column = -1
    if same:
        weight, mean, spread = _tolerances(print_, seen)
        near = (np.abs(print_.mean - seen.mean) <= mean) & (np.abs(print_.spread - seen.spread) <= spread)
        off = np.flatnonzero(~near)  # NaN is near nothing
        column = int(off[0]) if len(off) else -1
        same = column < 0 and abs(print_.weight - seen.weight) <= weight
    if same:
        return None
    where = ""
    if column >= 0:
        called = f"column {column}" if seen.names is None or column >= p else f"column {str(seen.names[column])!r}"
        where = f" They differ in {called if column < p else f'target {column - p}'}."
    return (
        f"These are not the data of the certificate: it is about {print_.rows} rows of weight {print_.weight:.10g}, these are "
        f"{seen.rows} of weight {float(seen.weight):.10g}.{where} Pass the rows, targets and weights of the fit."
    )


def require_same_moments(model: Any, print_: Fingerprint, rows: Rows, seen: ColumnSummary) -> None:
    """Compare the means and products that a model keeps, for more rows to come or for standard errors, with those of the rows."""
    kept = model.moments_
    _, mean, spread = _tolerances(print_, seen)
    scatter = np.zeros((len(seen.mean), len(seen.mean)), EXTENDED)
    for block in rows.blocks():
        z = np.hstack([block.X, block.y]) - seen.mean.astype(rows.kind)
        scatter = scatter + (block.s[:, None] * z).T @ z
    squares = np.diag(scatter)
    near = np.sqrt(np.multiply.outer(spread + 1e-9 * squares, spread + 1e-9 * squares))
    same = (
        kept.n_targets == rows.m
        and kept.rows == seen.rows
        and abs(EXTENDED(kept.weight) + kept.weight_low - seen.weight) <= 1e-6 * seen.weight
        and np.all(np.abs(kept.mean.astype(EXTENDED) + kept.mean_low - seen.mean) <= 2 * mean)
        and np.all(np.abs(kept.scatter.astype(EXTENDED) + kept.scatter_low - scatter) <= near)
    )
    if not same:
        raise CertificateError(
            f"This {type(model).__name__} keeps other means and products (moments_) than those of the data. It was changed after"
            " the fit. Fit again, or load the model from its file."
        )


def require_same_data(print_: Fingerprint, seen: ColumnSummary, p: int) -> None:
    """Refuse rows that differ from a fingerprint."""
    words = difference(print_, seen, p)
    if words is not None:
        raise CertificateError(words)
