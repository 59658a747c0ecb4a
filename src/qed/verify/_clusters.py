"""Centres, checked: inertia, labels, means and the bound on all other centres, summed again from the rows.

Distances are differences squared, never products. The bound is what the best k - 1 directions leave out of the scatter, by
eigenvalues found here; where the scatter is too large to be formed, a certificate may claim no bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.core._validation import is_source
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read, read_data
from qed.verify._same_data import ColumnSummary, require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.certificates import ClustersCertificate


MAX_GRAM_SIDE = 2000  # rows or columns whose square is formed
Array = np.ndarray[Any, Any]


def check(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    centres = np.asarray(model.cluster_centers_, dtype=np.float64)
    is_whole = certificate.outcome in ("solved", "max_iter")
    k = model.n_clusters if is_whole or len(centres) > model.n_clusters else len(centres)
    if centres.ndim != 2 or centres.shape != (k, rows.p) or not np.isfinite(centres).all():
        raise CertificateError(
            f"The centres of this {type(model).__name__} have shape {centres.shape}. They were changed."
        )
    total = float(np.sum(seen.spread))
    stored = DOUBLE * float(np.linalg.norm(np.abs(centres).max(axis=0))) * float(seen.weight) ** 0.5
    near = 1e-10 * total + 8 * stored * (stored + certificate.drift)
    tree = _Tree.of(model, centres, rows.p) if "tree_centers_" in type(model)._results else None  # noqa: SLF001
    inertia, drift = _measured(rows, centres, tree)
    _require(model, "the inertia of its centres is another", abs(inertia - certificate.objective), near)
    _require(model, "the inertia it stores is another", abs(inertia - vars(model).get("inertia_", np.nan)), near)
    _require(
        model, "its centres are not where its rows have left them", abs(drift - certificate.drift), 1e-7 * total**0.5
    )
    _require(model, "the total is another", abs(total - certificate.null_objective), near)
    _require_labels(model, X, sample_weight, centres, seen, tree)
    bound, rounding_error = _least(rows, seen, len(centres))
    _require(model, "no such bound on the inertia is known", certificate.bound - bound, rounding_error)
    _require(model, "it states more rounding than sums have", certificate.rounding, 16 * (near + rounding_error))
    steps = certificate.trace
    rising = float(np.max(np.diff(steps), initial=0.0)) if len(steps) else 0.0
    _require(model, "its inertia increased between iterations", rising, near)
    if len(steps) and certificate.outcome in ("solved", "max_iter"):
        _require(model, "it ended above where it had been", inertia - float(steps[-1]), near)
    return Verdict(certificate.statement, inertia, inertia - bound, rounding_error, certificate.gap)


def _require(model: Any, words: str, found: float, allowed: float) -> None:
    if not found <= allowed:
        refuse(model, f"{words} (off by {found:.3g}, {allowed:.2g} is within rounding)")


def _distances(x: Array, centres: Array) -> Array:
    """Return squared distances, (n, k), one centre at a time."""
    return np.stack([np.sum((x - c) ** 2, axis=1) for c in centres], axis=1)


def _measured(rows: Rows, centres: Array, tree: _Tree | None) -> tuple[float, float]:
    """Return the inertia, and the root of the weighted squares of the distances of centres to the means of their rows."""
    inertia, weights = EXTENDED(0), np.zeros(len(centres), EXTENDED)
    sums = np.zeros(centres.shape, EXTENDED)
    for block in rows.blocks():
        away = _distances(block.X, centres)
        label = np.argmin(away, axis=1) if tree is None else tree.leaves(block.X)
        inertia = inertia + np.sum(block.s * away[np.arange(len(label)), label])
        for j in np.unique(label):
            own = label == j
            weights[j] += np.sum(block.s[own])
            sums[j] += block.s[own] @ (block.X[own] - centres[j])
    off = np.sum(sums**2, axis=1) / np.where(weights > 0, weights, 1)
    if tree is not None:  # all nodes have means, not leaves alone
        return float(inertia), tree.drift(weights, sums)
    return float(inertia), float(np.sqrt(np.sum(off)))


def _require_labels(
    model: Any, X: Any, sample_weight: Any, centres: Array, seen: ColumnSummary, tree: _Tree | None
) -> None:
    """Refuse labels that name another centre than the nearest, ties aside."""
    labels = np.asarray(vars(model).get("labels_", ()))
    reach = float(np.max(np.abs(seen.mean), initial=0.0)) + float(np.sqrt(np.sum(seen.spread)))
    wrong = labels.ndim != 1 or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(centres)
    done = 0
    for x in _all_rows(model, X, sample_weight):
        some = labels[done : done + len(x)]
        done += len(x)
        wrong = wrong or len(some) != len(x)
        if wrong:
            break
        away = _distances(x, centres)
        size = np.sqrt(away.max(axis=1)) + reach
        over = away[np.arange(len(x)), some] - away.min(axis=1) if tree is None else tree.excess(x, some)
        wrong = wrong or not np.all(over <= 1e-12 * len(seen.mean) * size * size)
    if wrong or done != len(labels):
        raise CertificateError(
            f"The labels of this {type(model).__name__} do not name the nearest centres. The model was changed. Fit again."
        )


def _all_rows(model: Any, X: Any, sample_weight: Any) -> Iterator[Array]:
    """Go through all rows in blocks, those of weight zero included."""
    tables = (chunk.X for chunk in X.chunks()) if is_source(X) else (read_data(model, X, None, sample_weight).X,)
    for table in tables:
        rows = table if isinstance(table, np.ndarray) else table.tocsr()
        for first in range(0, rows.shape[0], 4096):
            x = rows[first : first + 4096]
            yield np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)


class _Tree:
    """Centres that rows go down by, each time to the nearer of two."""

    def __init__(self, centres: Array, children: Array) -> None:
        self.centres, self.children = centres, children

    @classmethod
    def of(cls, model: Any, leaves: Array, p: int) -> _Tree:
        """Read the tree of a model; raise where its leaves are not the centres, each once."""
        centres, children = np.asarray(model.tree_centers_, np.float64), np.asarray(model.tree_children_)
        inner = np.flatnonzero(children[:, 0] >= 0) if children.ndim == 2 else np.zeros(0, int)
        outer = np.setdiff1d(np.arange(len(children)), inner)
        wanted = np.arange(1, len(children))
        fits = (
            centres.shape == (2 * len(leaves) - 1, p)
            and children.shape == (len(centres), 2)
            and np.array_equal(np.sort(children[inner].ravel()), wanted)  # each node but the root is a child, once
            and np.all(children[inner] > inner[:, None])
            and np.array_equal(np.sort(children[outer, 1]), np.arange(len(leaves)))
            and np.array_equal(centres[outer], leaves[children[outer, 1]])
        )
        if not fits:
            raise CertificateError(
                f"The tree of this {type(model).__name__} is no tree of its centres. The model was changed. Fit again."
            )
        return cls(centres, children)

    def _nearer(self, x: Array) -> tuple[Array, Array]:
        """Return for all nodes by how much the second child is nearer, and the leaf that each row comes to."""
        away = _distances(x, self.centres)
        at = np.zeros(len(x), np.intp)
        gains = np.zeros(away.shape)
        for node, (a, b) in enumerate(self.children):  # children come after their parents
            if a >= 0:
                gains[:, node] = away[:, a] - away[:, b]
                here = at == node
                at[here] = np.where(gains[here, node] > 0, b, a)
        return gains, self.children[at, 1]

    def drift(self, weights: Array, sums: Array) -> float:
        """Return the root of the weighted squared distances of nodes from their means; sums are those about the leaves."""
        off = EXTENDED(0)
        below: list[set[int]] = [set() for _ in self.children]
        leaf = {int(b): node for node, (a, b) in enumerate(self.children) if a < 0}
        for node in range(len(self.children) - 1, -1, -1):
            a, b = map(int, self.children[node])
            below[node] = {b} if a < 0 else below[a] | below[b]
            weight = sum(weights[one] for one in below[node])
            centre = self.centres[node]
            away = sum(sums[one] + weights[one] * (self.centres[leaf[one]] - centre) for one in below[node])
            off = off + (np.sum(np.asarray(away) ** 2) / weight if weight > 0 else 0)
        return float(np.sqrt(off))

    def leaves(self, x: Array) -> Array:
        """Return the label of each row."""
        return self._nearer(x)[1]

    def excess(self, x: Array, labels: Array) -> Array:
        """Return by how much the worst choice on the way to a label is worse than the other."""
        gains = self._nearer(x)[0]
        worst = np.zeros(len(x))
        parent = {
            int(child): (node, side)
            for node, pair in enumerate(self.children)
            if pair[0] >= 0
            for side, child in enumerate(pair)
        }
        for label in np.unique(labels):
            own = labels == label
            node = int(np.flatnonzero((self.children[:, 0] < 0) & (self.children[:, 1] == label))[0])
            while node:
                node, side = parent[node]
                worst[own] = np.maximum(worst[own], -gains[own, node] if side else gains[own, node])
        return worst


def _least(rows: Rows, seen: ColumnSummary, k: int) -> tuple[float, float]:
    """Return what the best k - 1 directions leave out, and a bound on its rounding."""
    total, side = float(np.sum(seen.spread)), min(seen.rows, rows.p)
    if side > MAX_GRAM_SIDE or k - 1 >= side:
        return 0.0, 0.0
    mean, unit = seen.mean.astype(np.float64), total**0.5 if total > 0 else 1.0
    blocks = ((block.X - mean) * (np.sqrt(block.s)[:, None] / unit) for block in rows.blocks())
    if rows.p <= seen.rows:
        square: Any = 0.0
        for x in blocks:
            square = square + (x.T @ x).astype(np.float64)
    else:
        every = np.vstack([x.astype(np.float64) for x in blocks])
        square = every @ every.T
    values = np.sort(np.linalg.eigvalsh(square))[::-1]
    rounding_error = (rows.rounding(seen.rows) + 64 * side * DOUBLE) * total
    return max(float(np.sum(values[k - 1 :])) * total, 0.0), rounding_error
