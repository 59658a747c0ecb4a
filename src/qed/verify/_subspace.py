"""Directions of largest variance, checked: what they explain and what the best ones would, summed again from the rows.

The scatter of the columns, or of the rows where those are fewer, is summed in blocks; the sum of its largest eigenvalues is
what the best directions explain. Beyond ``MAX_GRAM_SIDE`` of both it is not formed: then a search of its own, by powers of the
matrix from another random start, looks for directions that would refute the claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import SubspaceCertificate


MAX_GRAM_SIDE = 4000  # rows or columns whose square is formed
POWER_ROUNDS = 12  # of a search by powers
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Scatter:
    """The rows about their mean, weighted."""

    rows: Rows
    mean: Array  # doubles
    count: int
    unit: float  # what rows are divided by: the root of their total, so that no square leaves doubles

    def blocks(self) -> Any:
        for block in self.rows.blocks():
            yield (block.X - self.mean) * (np.sqrt(block.s)[:, None] / self.unit)

    def times(self, V: Array) -> Array:
        """Return the scatter times columns, summed in extended precision."""
        wide = V.astype(self.rows.kind)
        total = np.zeros(V.shape, EXTENDED)
        for x in self.blocks():
            total = total + x.T @ (x @ wide)
        return total

    def best(self, k: int) -> float:
        """Return what the best k directions explain; what a search finds where the matrix is too large."""
        if min(self.count, self.rows.p) > MAX_GRAM_SIDE:
            return self._searched(k)
        if self.rows.p <= self.count:
            square: Any = 0.0
            for x in self.blocks():
                square = square + (x.T @ x).astype(np.float64)
        else:
            every = np.vstack([x.astype(np.float64) for x in self.blocks()])
            square = every @ every.T
        values = np.linalg.eigvalsh(square)
        return float(np.sum(np.sort(values)[::-1][:k]))

    def _searched(self, k: int) -> float:
        V = np.linalg.qr(np.random.default_rng(20).standard_normal((self.rows.p, k + 8)))[0]
        for _ in range(POWER_ROUNDS):
            V = np.linalg.qr(self.times(V).astype(np.float64))[0]
        inside = V.T @ self.times(V).astype(np.float64)
        return float(np.sum(np.sort(np.linalg.eigvalsh((inside + inside.T) / 2))[::-1][:k]))


def check(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    _require_numbers(model, certificate)
    rows = read(model, X, None, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    free, total = float(seen.weight - 1), float(np.sum(seen.spread))
    V = np.asarray(model.components_, dtype=np.float64)
    values = np.asarray(model.explained_variance_, dtype=np.float64) * free
    _require_shapes(model, V, values, rows.p)
    _require_signs(model, V)
    slack = rows.rounding(seen.rows) + 64 * (rows.p + seen.rows) ** 0.5 * DOUBLE
    rounding_error = slack * total + (rows.p + 16) * DOUBLE * total
    _require_mean(model, seen)
    counted = abs(float(model.n_samples_) - float(seen.weight)) / float(seen.weight)
    _require(model, "its number of rows is not that of these", counted, (seen.rows + 16) * DOUBLE)
    skew = _skew(model, certificate, V)
    _require_what(model, certificate, "variance")
    scatter = _Scatter(rows, seen.mean.astype(np.float64), seen.rows, (total if total > 0 else 1.0) ** 0.5)
    verdict = _compared(model, certificate, scatter, _Pairs(V, values, skew, total, rounding_error, free))
    _require_rest(model, values, total, free, seen.rows, float(seen.weight))
    return verdict


def check_truncated(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Do the same for directions of the largest sum of squares about zero."""
    rows = read(model, X, None, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    _require_what(model, certificate, "sum of squares")
    V, values = np.asarray(model.components_), np.asarray(model.singular_values_) ** 2
    _require_signs(model, V)
    total = float(np.sum(seen.spread + seen.weight * seen.mean**2))
    slack = rows.rounding(seen.rows) + 64 * (rows.p + seen.rows) ** 0.5 * DOUBLE
    rounding_error = slack * total + (rows.p + 16) * DOUBLE * total
    skew = _skew(model, certificate, V)
    scatter = _Scatter(rows, np.zeros(rows.p), seen.rows, (total if total > 0 else 1.0) ** 0.5)
    verdict = _compared(model, certificate, scatter, _Pairs(V, values, skew, total, rounding_error, 1.0))
    count, mean, squares = EXTENDED(seen.rows), EXTENDED(0), EXTENDED(0)
    for block in rows.blocks():
        z = (block.X - seen.mean.astype(rows.kind)) @ V.T.astype(rows.kind)
        mean, squares = mean + z.sum(axis=0), squares + (z * z).sum(axis=0)
    variances = (squares / count - (mean / count) ** 2).astype(np.float64)
    whole = float(np.sum(seen.spread)) / seen.rows
    off = float(np.max(np.abs(model.explained_variance_ - variances), initial=0.0))
    _require(model, "the variances of its coordinates are others", off, 1e-9 * (total / seen.rows))
    ratio = np.asarray(model.explained_variance_ratio_)
    ratio = ratio * whole - model.explained_variance_ if whole > 0 else ratio  # without variance there are no shares
    _require(model, "the shares of the variance are others", float(np.max(np.abs(ratio), initial=0.0)), 1e-9 * whole)
    return verdict


@dataclass(frozen=True)
class _Pairs:
    """Directions, their sums of squares, how far from orthonormal they are; the total, its rounding, what all is divided by."""

    V: Array
    values: Array
    skew: float
    total: float
    rounding_error: float
    free: float


def _skew(model: Any, certificate: SubspaceCertificate, V: Array) -> float:
    skew = float(np.linalg.norm((V.astype(EXTENDED) @ V.T.astype(EXTENDED) - np.eye(len(V))).astype(np.float64)))
    _require(model, "its directions are not orthonormal", skew, certificate.orthogonality + 1e-14)
    return skew


def _compared(model: Any, certificate: SubspaceCertificate, scatter: _Scatter, pairs: _Pairs) -> Verdict:
    """Hold pairs against the scatter: that they are pairs, what they leave out, and what the best directions would."""
    V, free, total = pairs.V, pairs.free, pairs.total
    whole = total if total > 0 else 1.0
    moved = scatter.times(V.T)  # in shares of the total
    captured = whole * float(np.sum(V.T * moved)) / (1 + pairs.skew)
    off = float(np.linalg.norm((moved - V.T * (pairs.values / whole)).astype(np.float64)))
    allowed = certificate.backward_error + 1e-15 + pairs.rounding_error / whole
    _require(model, "its directions and variances are no pairs of the covariance", off, allowed)
    distance = max(whole * scatter.best(len(V)) - captured, 0.0) / free
    if not (np.isfinite(pairs.rounding_error) and distance <= certificate.gap + pairs.rounding_error / free):
        msg = (
            f"The certificate of this {type(model).__name__} is false: it claims that no directions explain more by over "
            f"{certificate.gap:.3g}, and some explain {distance:.3g} more. The model was changed after the fit. Fit again."
        )
        raise CertificateError(msg)
    left = max(total - captured, 0.0) / free
    near = certificate.gap + 1e-9 * total / free
    _require(model, "it leaves out another part than stated", abs(left - certificate.objective), near)
    _require(model, "the total is another", abs(total / free - certificate.null_objective), 1e-9 * total / free)
    return Verdict(certificate.statement, left, distance, pairs.rounding_error / free, certificate.gap)


def _require_what(model: Any, certificate: SubspaceCertificate, what: str) -> None:
    if certificate.what != what:
        raise CertificateError(
            f"The certificate of this {type(model).__name__} speaks of the {certificate.what!s:.40}, and its class of the {what}."
        )


ARRAYS = {"components_": 2, "explained_variance_": 1, "explained_variance_ratio_": 1, "singular_values_": 1, "mean_": 1}
BOUNDS = ("gap", "rounding", "objective", "null_objective", "variance_error", "backward_error", "orthogonality")


def _require_numbers(model: Any, certificate: SubspaceCertificate) -> None:
    """Refuse what is not even a number where one belongs."""
    for name, dimensions in ARRAYS.items():
        stored: Any = getattr(model, name, None)
        good = isinstance(stored, np.ndarray) and stored.dtype.kind == "f" and stored.ndim == dimensions
        if not good or not np.isfinite(stored).all():
            raise CertificateError(
                f"This {type(model).__name__} stores no numbers as {name}. It was changed after the fit."
            )
    good = isinstance(model.noise_variance_, float) and type(model.n_components_) is int
    for name in BOUNDS:
        value = getattr(certificate, name)
        good = good and isinstance(value, float) and 0 <= value < np.inf
    if not good or not isinstance(certificate.confidence, float) or not 0 <= certificate.confidence <= 1:
        raise CertificateError(
            f"The certificate of this {type(model).__name__} holds what is no number, or one that no fit has. It was changed."
        )


def _require_signs(model: Any, V: Array) -> None:
    """Hold each direction to its sign: the largest entry is positive; of entries as large up to rounding, some one is."""
    size = np.abs(V)
    largest = size >= (1 - 1e-9) * np.max(size, axis=1, initial=0.0, keepdims=True)
    if not ((V > 0) & largest).any(axis=1).all():
        raise CertificateError(
            f"This {type(model).__name__} stores a direction whose largest entry is negative. It was changed after the fit."
        )


def _require(model: Any, words: str, found: float, allowed: float) -> None:
    if not found <= allowed:
        refuse(model, f"{words} (off by {found:.3g}, {allowed:.2g} is within rounding)")


def _require_shapes(model: Any, V: Array, values: Array, p: int) -> None:
    k = model.n_components_
    others = (model.explained_variance_ratio_, model.singular_values_)
    if V.shape != (k, p) or values.shape != (k,) or any(np.shape(one) != (k,) for one in others):
        raise CertificateError(
            f"This {type(model).__name__} holds directions of shape {V.shape} for {k} components of {p} columns. It was changed"
            " after the fit."
        )


def _require_mean(model: Any, seen: Any) -> None:
    stored = np.asarray(model.mean_, dtype=EXTENDED)
    deviation = np.sqrt(seen.spread / seen.weight) + np.abs(seen.mean)
    if stored.shape != seen.mean.shape or not np.all(np.abs(stored - seen.mean) <= 1e-9 * deviation):
        raise CertificateError(f"The means of this {type(model).__name__} are not those of the rows. It was changed.")


def _require_rest(model: Any, values: Array, total: float, free: float, count: int, weight: float) -> None:
    """Hold what follows from the variances against them."""
    whole = total if total > 0 else 1.0
    k = len(values)
    ratio = float(np.max(np.abs(model.explained_variance_ratio_ - values / whole), initial=0.0))
    _require(model, "the shares of the variance are not those of the variances", ratio, 1e-9)
    length = float(np.max(np.abs(np.asarray(model.singular_values_) ** 2 - values), initial=0.0))
    _require(model, "singular values do not go with the variances", length, 1e-9 * whole)
    limit = min(len(model.mean_), max(count, int(weight)))
    noise = max(total - float(np.sum(values)), 0.0) / free / (limit - k) if k < limit else 0.0
    _require(model, "the variance of the noise is another", abs(model.noise_variance_ - noise), 1e-9 * whole / free)
