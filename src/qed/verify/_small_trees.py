"""What the best tree of a small depth leaves, by counting pairs of cuts.

Every cut of every column is a column of zeros and ones. Two cuts, one above the other, part the rows into four; the sums over all
four, for all pairs at once, come from one product of that table with itself. This compares all trees of depth two. Deeper ones are
compared root by root; a root whose cut lies between two that were compared leaves at least what the left side of the lower and the
right side of the upper one leave, because sides that grow leave no less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from qed.verify._cuts import Sample

Array = np.ndarray[Any, Any]
MOST_COMPARED, MOST_TABLE = 5e7, 1e7  # cuts to the power of the depth, and entries of the table of cuts
BLOCK_PAIRS = 1 << 20  # pairs of cuts at a time


class Cuts(NamedTuple):
    """Rows by cuts, true where a row goes left; where the cuts of each order begin; and sums that a row adds."""

    left: Array
    starts: list[int]
    sums: Array
    criterion: str

    def mass(self, sums: Array) -> Array:
        """Return weight times impurity for sums in the last axis."""
        if self.criterion == "squared_error":
            weight = np.where(sums[..., 0] > 0, sums[..., 0], 1.0)
            return np.asarray(np.maximum(sums[..., -1] - (sums[..., 1:-1] ** 2).sum(axis=-1) / weight, 0.0))
        total = sums.sum(axis=-1)
        if self.criterion == "misclassification":
            return np.asarray(total - sums.max(axis=-1))
        share = sums / np.where(total > 0, total, 1.0)[..., None]
        if self.criterion == "gini":
            return np.asarray(total * (1 - (share**2).sum(axis=-1)))
        return np.asarray(-(sums * np.log2(np.where(share > 0, share, 1.0))).sum(axis=-1))


def can_compare(X: Array, width: int, depth: int) -> bool:
    """Say whether all trees of a depth are few enough to be compared."""
    cuts = sum(_count_cuts(column) for column in X.T)
    return float(max(cuts, 1)) ** max(depth, 2) * width <= MOST_COMPARED and cuts * len(X) <= MOST_TABLE


def _count_cuts(column: Array) -> int:
    missing = bool(np.isnan(column).any())
    known = len(np.unique(column[~np.isnan(column)]))
    return 2 * known if missing and known else max(known - 1, 0)


def least_within(X: Array, sample: Sample, depth: int, bar: float) -> tuple[float, float]:
    """Return the least weight times impurity of trees of a depth, or the bar if all leave as much; and the unit of both.

    ``bar`` is in units of the criterion; numbers are divided by their largest distance from the mean, and the unit is its square.
    """
    if sample.criterion == "squared_error":
        apart = sample.target - np.average(sample.target, axis=0, weights=sample.s)
        scale = float(np.abs(apart).max()) or 1.0
        parts = [np.ones(len(apart)), *(apart / scale).T, ((apart / scale) ** 2).sum(axis=1)]
        unit = scale**2 / sample.target.shape[1]
    else:
        parts, unit = list(sample.target.T), 1.0
    sums = sample.s[:, None] * np.column_stack(parts)
    tables, starts = [], [0]
    for column in X.T:
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        low = column[:, None] <= values[None, : len(values) - (0 if missing.any() else 1)]
        tables.append(low)
        starts.append(starts[-1] + tables[-1].shape[1])
        if missing.any() and len(values):
            tables.append(missing[:, None] | (column[:, None] <= values[None, :-1]))
            starts.append(starts[-1] + tables[-1].shape[1])
    cuts = Cuts(np.concatenate(tables, axis=1), starts, sums, sample.criterion)
    return _least(cuts, np.ones(len(X), dtype=bool), depth, bar / unit), unit


def _least(cuts: Cuts, rows: Array, depth: int, bar: float) -> float:
    """Return the least of trees of a depth over some rows, or the bar if that is lower."""
    own = float(cuts.mass(cuts.sums[rows].sum(axis=0)))
    if depth == 0 or own <= 0:
        return min(own, bar)
    if depth <= 2:
        return min(own, bar, _least_of_pairs(cuts, rows, depth))
    best = min(own, bar)
    for first, stop in zip(cuts.starts[:-1], cuts.starts[1:], strict=True):
        counts = cuts.left[rows, first:stop].sum(axis=0)
        inner = first + np.flatnonzero((counts > 0) & (counts < rows.sum()))
        inner = inner[np.unique(counts[inner - first], return_index=True)[1]]  # cuts that part these rows alike are one
        open_cuts = [(0, len(inner) - 1, 0.0, 0.0)]
        while open_cuts:
            low, high, at_left, at_right = open_cuts.pop()
            if low > high or at_left + at_right >= best:
                continue
            middle = (low + high) // 2
            side = cuts.left[:, inner[middle]]
            left = _least(cuts, rows & side, depth - 1, best)
            right = _least(cuts, rows & ~side, depth - 1, best)
            best = min(best, left + right)
            open_cuts += [(low, middle - 1, at_left, right), (middle + 1, high, left, at_right)]
    return best


def _least_of_pairs(cuts: Cuts, rows: Array, depth: int) -> float:
    """Return the least of all trees of depth one or two with a root, infinity if no cut parts the rows."""
    table = cuts.left[rows]
    counts = table.sum(axis=0)
    table = table[:, (counts > 0) & (counts < len(table))].astype(np.float64)
    if not table.shape[1]:
        return np.inf
    sums = cuts.sums[rows]
    total, single = sums.sum(axis=0), table.T @ sums  # of all rows, and of the left side of each cut
    if depth == 1:
        return float((cuts.mass(single) + cuts.mass(total - single)).min())
    lefts, rights = cuts.mass(single), cuts.mass(total - single)
    best, size = np.inf, max(1, BLOCK_PAIRS // len(single))
    for start in range(0, len(single), size):
        roots = slice(start, start + size)
        both = np.stack([table[:, roots].T @ (own[:, None] * table) for own in sums.T], axis=-1)
        root, below = single[roots][:, None, :], single[None]
        left = (cuts.mass(both) + cuts.mass(_zeroed(root - both))).min(axis=1)
        right = (cuts.mass(_zeroed(below - both)) + cuts.mass(_zeroed(total - root - below + both))).min(axis=1)
        best = min(best, float((np.minimum(left, lefts[roots]) + np.minimum(right, rights[roots])).min()))
    return best


def _zeroed(sums: Array) -> Array:
    """Return differences of sums; the first one, a weight, is not negative but for rounding."""
    sums[..., 0] = np.maximum(sums[..., 0], 0.0)
    return sums
