"""Centres, checked: inertia, labels, means and the bound on all other centres, summed again from the rows.

Distances are differences squared, never products. The bound is what the best k - 1 directions leave out of the scatter, by
eigenvalues found here; where the scatter is too large to be formed, a certificate may claim no bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read, read_data
from qed.verify._same_data import Seen, look, require_same_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ClustersCertificate


LARGEST = 2000  # rows or columns whose square is formed
Array = np.ndarray[Any, Any]


def check(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    seen = look(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    centres = np.asarray(model.cluster_centers_, dtype=np.float64)
    if centres.ndim != 2 or centres.shape != (model.n_clusters, rows.p) or not np.isfinite(centres).all():
        raise CertificateError(
            f"The centres of this {type(model).__name__} have shape {centres.shape}. They were changed."
        )
    total = float(np.sum(seen.spread))
    stored = DOUBLE * float(np.linalg.norm(np.abs(centres).max(axis=0))) * float(seen.weight) ** 0.5
    near = 1e-10 * total + 8 * stored * (stored + certificate.drift)
    inertia, drift = _measured(rows, centres)
    _require(model, "the inertia of its centres is another", abs(inertia - certificate.objective), near)
    _require(model, "the inertia it stores is another", abs(inertia - model.inertia_), near)
    _require(
        model, "its centres are not where its rows have left them", abs(drift - certificate.drift), 1e-7 * total**0.5
    )
    _require(model, "the total is another", abs(total - certificate.null_objective), near)
    _require_labels(model, X, sample_weight, centres, seen)
    bound, doubt = _least(rows, seen, len(centres))
    _require(model, "no such bound on the inertia is known", certificate.bound - bound, doubt)
    steps = certificate.trace
    rising = float(np.max(np.diff(steps), initial=0.0)) if len(steps) else 0.0
    _require(model, "its inertia increased between iterations", rising, near)
    if len(steps) and certificate.outcome in ("solved", "max_iter"):
        _require(model, "it ended above where it had been", inertia - float(steps[-1]), near)
    return Verdict(certificate.statement, inertia, inertia - bound, doubt, certificate.gap)


def _require(model: Any, words: str, found: float, allowed: float) -> None:
    if not found <= allowed:
        raise CertificateError(
            f"The certificate of this {type(model).__name__} is false: {words} (off by {found:.3g}, {allowed:.2g} is within"
            " rounding). The model or the certificate was changed after the fit. Fit again."
        )


def _distances(x: Array, centres: Array) -> Array:
    """Return squared distances, (n, k), one centre at a time."""
    return np.stack([np.sum((x - c) ** 2, axis=1) for c in centres], axis=1)


def _measured(rows: Rows, centres: Array) -> tuple[float, float]:
    """Return the inertia, and the root of the weighted squares of the distances of centres to the means of their rows."""
    inertia, weights = EXTENDED(0), np.zeros(len(centres), EXTENDED)
    sums = np.zeros(centres.shape, EXTENDED)
    for block in rows.blocks():
        away = _distances(block.X, centres)
        label = np.argmin(away, axis=1)
        inertia = inertia + np.sum(block.s * away[np.arange(len(label)), label])
        for j in np.unique(label):
            own = label == j
            weights[j] += np.sum(block.s[own])
            sums[j] += block.s[own] @ (block.X[own] - centres[j])
    off = np.sum(sums**2, axis=1) / np.where(weights > 0, weights, 1)
    return float(inertia), float(np.sqrt(np.sum(off)))


def _require_labels(model: Any, X: Any, sample_weight: Any, centres: Array, seen: Seen) -> None:
    """Refuse labels that name another centre than the nearest, ties aside."""
    data = read_data(model, X, None, sample_weight)
    labels = np.asarray(model.labels_)
    table = data.X if isinstance(data.X, np.ndarray) else data.X.tocsr()
    reach = float(np.max(np.abs(seen.mean), initial=0.0)) + float(np.sqrt(np.sum(seen.spread)))
    wrong = labels.shape != (data.n_rows,) or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(centres)
    for first in range(0, 0 if wrong else data.n_rows, 4096):
        x = table[first : first + 4096]
        x = np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
        away = _distances(x, centres)
        own = away[np.arange(len(x)), labels[first : first + 4096]]
        size = np.sqrt(away.max(axis=1)) + reach
        wrong = wrong or bool(np.any(own - away.min(axis=1) > 1e-12 * len(seen.mean) * size * size))
    if wrong:
        raise CertificateError(
            f"The labels of this {type(model).__name__} do not name the nearest centres. The model was changed. Fit again."
        )


def _least(rows: Rows, seen: Seen, k: int) -> tuple[float, float]:
    """Return what the best k - 1 directions leave out, and a bound on its rounding."""
    total, side = float(np.sum(seen.spread)), min(seen.rows, rows.p)
    if side > LARGEST or k - 1 >= side:
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
    doubt = (rows.rounding(seen.rows) + 64 * side * DOUBLE) * total
    return max(float(np.sum(values[k - 1 :])) * total, 0.0), doubt
