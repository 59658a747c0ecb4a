"""Online learners, checked: are the rows those of the certificate, is every row where it says, can so many mistakes have been made.

Lengths of rows and distances from the plane are computed again in extended precision. Of the mistakes themselves nothing is
left but their number, which cannot be counted again. It must be one that these rows and this plane allow: not above the bound
of the theorem nor above the rows shown, and enough for the length of the coefficients, whose square every mistake raises by at
most that of its row (twice that where two classes move). Where planes vote, the rows that moved them are stored: those must be
rows of the data with the sign of their label, add up to the last plane, and leave as many votes as there were rows without a
mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._rows import EXTENDED, Rows, read
from qed.verify._same_data import look, require_same_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.core._certificates import MistakesCertificate

__all__ = ["check"]


def check(model: Any, certificate: MistakesCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute margins and lengths; raise CertificateError when they are not those of the certificate."""
    name = type(model).__name__
    if certificate.fingerprint is None:
        msg = f"{name} learnt from a stream that nobody kept: its mistakes were counted, and cannot be counted again."
        raise CertificateError(msg)
    rows = read(model, X, y, sample_weight)
    require_same_data(certificate.fingerprint, look(rows), rows.p)
    w, b = np.asarray(model.coef_, EXTENDED), np.asarray(model.intercept_, EXTENDED)
    if w.shape != (len(certificate.margins), rows.p) or b.shape != (len(w),) or not np.isfinite(w).all():
        raise CertificateError(f"{name} has coefficients that do not fit these rows: they were changed after the fit.")
    one = EXTENDED(1.0 if model.fit_intercept else 0.0)
    longest = EXTENDED(0)
    least = np.full(len(w), np.inf, EXTENDED)
    moves: dict[bytes, set[Any]] = {}
    weights = _label_weights(model, rows)
    count, heaviest = 0, EXTENDED(0)
    for block in rows.blocks():
        X_block = np.asarray(block.X, EXTENDED)
        longest = max(longest, np.max(np.sum(X_block**2, axis=1)) + one**2)
        codes = block.y[:, 0].astype(int)
        count, heaviest = count + len(codes), max(heaviest, np.max(block.s * weights[codes]))
        own = np.arange(len(w)) if len(w) > 1 else np.ones(1)
        signs = np.where(codes[:, None] == own, 1, -1)
        least = np.minimum(least, np.min(signs * (X_block @ w.T + b), axis=0))
        if "votes_" in model.__dict__:
            for row, step in zip(_moves(X_block, signs, one), block.s * weights[codes], strict=True):
                moves.setdefault(row.tobytes(), set()).add(step)
    if "votes_" in model.__dict__:
        _require_votes(model, certificate, moves)
    length = np.sqrt(np.sum(w**2, axis=1) + (b * one) ** 2)
    margins = np.divide(least, length, out=np.zeros_like(least), where=length > 0)
    radius = np.sqrt(longest)
    slack = 1e-9 * (radius + np.abs(margins).max())
    if not (abs(radius - certificate.radius) <= slack and np.all(np.abs(margins - certificate.margins) <= slack)):
        msg = (
            f"{name} claims margins {np.round(certificate.margins, 6)} and rows up to {certificate.radius:.6g} long; these rows"
            f" give {np.round(margins.astype(float), 6)} and {float(radius):.6g}. The model was changed, or the data are others."
        )
        raise CertificateError(msg)
    if np.isfinite(certificate.bound):
        most = float(np.sum((radius / margins) ** 2)) if np.all(margins > 0) else np.inf
        if not abs(certificate.bound - most) <= 1e-6 * most:
            msg = f"{name} claims that mistakes are at most {certificate.bound:.6g}; the theorem gives {most:.6g}."
            raise CertificateError(msg)
    if not getattr(model, "warm_start", False):
        _require_possible(model, certificate, float(np.sum(length**2)), float(radius * heaviest) ** 2, count)
    return Verdict(
        certificate.statement,
        float(margins.min()),
        float(np.max(np.abs(margins - certificate.margins))),
        float(slack),
        0.0,
        "least margin",
    )


def _require_possible(model: Any, certificate: MistakesCertificate, square: float, row: float, count: int) -> None:
    """Refuse a number of mistakes that cannot have led from zero to coefficients whose squares sum to ``square``."""
    step = float(getattr(model, "eta0", 1.0)) ** 2 * row
    least = square / (2.0 * step) if step > 0 else 0.0
    most = min(certificate.bound, certificate.rounds * len(certificate.margins))
    shown = model.n_iter_ * count
    if not (least * (1 - 1e-6) <= certificate.mistakes <= most * (1 + 1e-9) and certificate.rounds <= shown):
        raise CertificateError(
            f"{type(model).__name__} claims {certificate.mistakes} mistakes in {certificate.rounds} rounds; {model.n_iter_} passes"
            f" over these rows are {shown} rounds, and its coefficients take at least {least:.3g} and allow at most {most:.6g}"
            " mistakes. The certificate was changed after the fit."
        )


def _moves(X: Any, signs: Any, one: Any) -> Any:
    """Return what each row adds to a plane that has it wrong; plus zero, so that no zero has a sign."""
    return (signs * np.hstack([X, np.full((len(X), 1), one)])).astype(np.float64) + 0.0


def _label_weights(model: Any, rows: Rows) -> Any:
    """Return what the rows of each label count by, beside their own weights."""
    given, labels = getattr(model, "class_weight", None), model.classes_.tolist()
    if not isinstance(given, str):
        return np.array([(given or {}).get(label, 1.0) for label in labels], EXTENDED)
    sums = np.zeros(len(labels), EXTENDED)
    for block in rows.blocks():
        np.add.at(sums, block.y[:, 0].astype(int), block.s)
    return sums.sum() / (len(labels) * sums)


def _require_votes(model: Any, certificate: MistakesCertificate, moves: dict[bytes, set[Any]]) -> None:
    """Refuse planes and votes that no course over these rows leaves."""
    wrong, votes = np.asarray(model.mistakes_, dtype=np.float64) + 0.0, np.asarray(model.votes_)
    plane = np.append(model.coef_[0], model.intercept_)
    factor = np.asarray(model.__dict__.get("steps_", np.ones(len(wrong))), dtype=np.float64)
    if wrong.ndim != 2 or factor.shape != (len(wrong),):
        wrong, factor = np.zeros((0, 0)), np.zeros(0)  # which fit no certificate
    steps = wrong * factor[:, None]
    fits = steps.shape == (certificate.mistakes, len(plane)) and votes.shape == (len(steps) + 1,)
    if (
        not fits
        or votes.dtype.kind not in "iu"
        or np.any(votes < 0)
        or votes.sum() != certificate.rounds - certificate.mistakes
        or not np.all(np.abs(steps.sum(axis=0) - plane) <= 1e-9 * (np.abs(steps).sum(axis=0) + np.abs(plane)))
        or not all(_is_move(moves.get(row.tobytes(), set()), step) for row, step in zip(wrong, factor, strict=True))
    ):
        raise CertificateError(
            f"The mistakes and votes of this {type(model).__name__} are not those of a course over these rows: they were changed"
            " after the fit, or the data are others."
        )


def _is_move(known: set[Any], step: float) -> bool:
    return any(abs(one - step) <= 1e-12 * one for one in known)
