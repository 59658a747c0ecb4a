"""Soft k-means, checked: the objective at the stored centres, and one more step from there, in extended precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._ascents import require, require_none
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import AscentCertificate

Array = np.ndarray[Any, Any]


def check(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    require_none(model, certificate)
    centres = np.asarray(model.cluster_centers_).astype(EXTENDED)
    if centres.shape != (model.n_clusters, rows.p):
        refuse(model, f"its centres have shape {centres.shape}")
    unit = float(np.sum(seen.spread) / seen.weight) or 1.0
    farthest = max(
        float(np.max(np.sum((block.X - seen.mean.astype(rows.kind)) ** 2, axis=1))) for block in rows.blocks()
    )
    reach = farthest + float(np.max(np.abs(centres), initial=0)) ** 2
    rounding = 128 * (rows.p + 8) * DOUBLE * ((reach + 1 / model.beta) / unit + abs(certificate.objective))
    if not certificate.rounding <= rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    trace, slack = certificate.trace, 2 * certificate.rounding
    if not np.all(np.diff(trace) >= -slack) or not abs(float(trace[-1]) - certificate.objective) <= slack:
        refuse(model, "its objective fell between steps, or ended elsewhere than it states")
    if certificate.what != "negative soft inertia, in units of that of one centre,":
        refuse(model, "its objective is another")
    if len(trace) - 1 > model.max_iter or model.n_iter_ != len(trace) - 1:
        refuse(model, "it speaks of other steps than were taken")
    here, means, counts = _step(rows, centres, model.beta, unit)
    require(model, "its objective is another", here, certificate.objective, rounding)
    there, _, _ = _step(rows, means, model.beta, unit)
    gained = 0.0 if certificate.gain == 0 and abs(there - here) <= 16 * rounding else there - here
    require(model, "the next step gains something else", gained, certificate.gain, 2 * rounding)
    moved = float(np.sqrt(np.sum(counts @ (means - centres) ** 2) / seen.weight / unit))
    noise = 1e-9 + 1e3 * DOUBLE * float(np.sqrt((reach + np.sum(seen.spread)) / unit))
    moved = 0.0 if certificate.displacement == 0 and moved <= 3 * noise else moved
    require(model, "the next step moves differently", moved, certificate.displacement, 1e-7 * moved + noise)
    _require_labels(model, X, sample_weight, centres.astype(np.float64))
    return Verdict(
        certificate.statement,
        here,
        abs(here - certificate.objective),
        rounding,
        certificate.rounding,
        "objective value",
    )


def _step(rows: Rows, centres: Array, beta: float, unit: float) -> tuple[float, Array, Array]:
    """Return minus the objective per unit of weight and variance, means by shares, and what they weigh."""
    total = weight = EXTENDED(0)
    sums, counts = np.zeros(centres.shape, EXTENDED), np.zeros(len(centres), EXTENDED)
    for block in rows.blocks():
        powers = -EXTENDED(beta) * np.stack([np.sum((block.X - c) ** 2, axis=1) for c in centres], axis=1)
        top = powers.max(axis=1)
        shares = np.exp(powers - top[:, None])
        total = total + block.s @ (top + np.log(shares.sum(axis=1)))
        weight = weight + block.s.sum()
        shares = shares / shares.sum(axis=1)[:, None] * block.s[:, None]
        counts = counts + shares.sum(axis=0)
        sums = sums + np.stack([shares[:, j] @ (block.X - c) for j, c in enumerate(centres)])
    step = sums / np.where(counts > 0, counts, 1)[:, None]
    return float(total / beta / weight / unit), centres + step, counts


def _require_labels(model: Any, X: Any, sample_weight: Any, centres: Array) -> None:
    """Refuse labels that name another centre than the nearest, ties aside, and another inertia."""
    data = read_data(model, X, None, sample_weight)
    x, labels = np.asarray(data.X, np.float64), np.asarray(model.labels_)
    if labels.shape != (len(x),):
        refuse(model, "its labels are not those of these rows")
    inertia, size = 0.0, 0.0
    for first in range(0, len(x), 4096):
        some = slice(first, first + 4096)
        away = np.stack([np.sum((x[some] - c) ** 2, axis=1) for c in centres], axis=1)
        own = away[np.arange(len(away)), labels[some]]
        scale = away.max(axis=1) + np.sum(x[some] ** 2, axis=1) + np.max(np.sum(centres**2, axis=1))
        if not np.all(own - away.min(axis=1) <= 1e-12 * x.shape[1] * scale):
            refuse(model, "its labels do not name the nearest centres")
        s = np.ones(len(own)) if data.weight is None else data.weight[some]
        inertia, size = inertia + float(s @ own), size + float(s @ scale)
    require(model, "its inertia is another", model.inertia_, inertia, 1e-11 * (inertia + size))
