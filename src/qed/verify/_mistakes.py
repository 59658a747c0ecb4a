"""Online learners, checked: are the rows those of the certificate, is every row where it says, can so many mistakes have been made.

Lengths of rows and distances from the hyperplane are computed again in extended precision. Of the mistakes themselves nothing is
left but their number, which cannot be counted again. It must be one that these rows and this hyperplane allow: not above the bound
of the theorem nor above the rows shown, and enough for the length of the coefficients, whose square every mistake raises by at
most that of its row (twice that where two classes move). Where hyperplanes vote, all passes are gone through again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._declared import declares
from qed.verify._rows import EXTENDED, Rows, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import MistakeBoundCertificate

ROWS_PER_LOOK = 256  # rows looked at together between two mistakes


def refuse_stream(model: Any, certificate: MistakeBoundCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Say that what was learnt from a stream cannot be verified."""
    raise CertificateError(
        f"{type(model).__name__} learnt from a stream that was not stored: its mistakes cannot be counted again."
    )


def check(model: Any, certificate: MistakeBoundCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute margins and lengths; raise CertificateError when they are not those of the certificate."""
    name = type(model).__name__
    if certificate.fingerprint is None:
        refuse_stream(model, certificate, X, y, sample_weight)
    assert certificate.fingerprint is not None  # noqa: S101  refused above
    rows = read(model, X, y, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    w, b = np.asarray(model.coef_, EXTENDED), np.asarray(model.intercept_, EXTENDED)
    if (
        w.shape != (len(certificate.margins), rows.p)
        or b.shape != (len(w),)
        or not (np.isfinite(w).all() and np.isfinite(b).all())
    ):
        raise CertificateError(f"{name} has coefficients that do not fit these rows: they were changed after the fit.")
    if len(w) != (1 if len(model.classes_) == 2 else len(model.classes_)):
        raise CertificateError(f"{name} has coefficients that do not fit its labels: they were changed after the fit.")
    one = EXTENDED(1.0 if model.fit_intercept else 0.0)
    longest = EXTENDED(0)
    least = np.full(len(w), np.inf, EXTENDED)
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
    if not np.isinf(certificate.bound):
        most = float(np.sum((radius / margins) ** 2)) if np.all(margins > 0) else np.inf
        if not abs(certificate.bound - most) <= 1e-6 * most:
            msg = f"{name} claims that mistakes are at most {certificate.bound:.6g}; the theorem gives {most:.6g}."
            raise CertificateError(msg)
    if not (declares(model, "warm_start") and model.warm_start):
        _require_possible(model, certificate, float(np.sum(length**2)), float(radius * heaviest) ** 2, count)
    return Verdict(
        certificate.statement,
        float(margins.min()),
        float(np.max(np.abs(margins - certificate.margins))),
        float(slack),
        0.0,
        "least margin",
    )


def _require_possible(model: Any, certificate: MistakeBoundCertificate, square: float, row: float, count: int) -> None:
    """Refuse a number of mistakes that cannot have led from zero to coefficients whose squares sum to ``square``."""
    step = float(model.eta0 if declares(model, "eta0") else 1.0) ** 2 * row
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
    given, labels = model.class_weight, model.classes_.tolist()
    if not isinstance(given, str):
        return np.array([(given or {}).get(label, 1.0) for label in labels], EXTENDED)
    sums = np.zeros(len(labels), EXTENDED)
    for block in rows.blocks():
        np.add.at(sums, block.y[:, 0].astype(int), block.s)
    return sums.sum() / (len(labels) * sums)


def check_votes(model: Any, certificate: MistakeBoundCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Check the last hyperplane, then go through the rows again, pass by pass, and count votes and mistakes."""
    verdict = check(model, certificate, X, y, sample_weight)
    if "seed_" not in vars(model):
        raise CertificateError(
            f"{type(model).__name__} comes from a file that does not say in which order the rows were shown. Fit again."
        )
    rows = read(model, X, y, sample_weight)
    weights = _label_weights(model, rows)
    blocks = [(np.asarray(block.X), block.y[:, 0].astype(int), block.s) for block in rows.blocks()]
    codes = np.concatenate([codes for _, codes, _ in blocks])
    step = np.concatenate([s for _, _, s in blocks]) * weights[codes]
    one = EXTENDED(1.0 if model.fit_intercept else 0.0)
    moves = _moves(np.vstack([x for x, _, _ in blocks]), np.where(codes == 1, 1, -1)[:, None], one)
    if not _is_course(model, certificate, moves, step.astype(np.float64)):
        raise CertificateError(
            f"The mistakes and votes of this {type(model).__name__} are not those of its passes over these rows: they were changed"
            " after the fit, or the rows are others or come in another order."
        )
    return verdict


def _is_course(model: Any, certificate: MistakeBoundCertificate, moves: Any, step: Any) -> bool:
    """Say whether the stored mistakes and votes are those of the passes; where rounding alone decides, those stored are taken."""
    wrong, votes = np.asarray(model.mistakes_, dtype=np.float64) + 0.0, np.asarray(model.votes_)
    factor = np.asarray(vars(model).get("steps_", np.ones(len(wrong))), dtype=np.float64)
    shapes = wrong.shape == (certificate.mistakes, moves.shape[1]) and factor.shape == (len(wrong),)
    if not shapes or votes.shape != (len(wrong) + 1,) or votes.dtype.kind not in "iu":
        return False
    if not model.n_iter_ <= model.max_iter or certificate.rounds != model.n_iter_ * len(moves):
        return False
    stream, n = np.random.default_rng(model.seed_), len(moves)
    plane, survived = np.zeros(moves.shape[1]), 0
    found: list[int] = []
    for _ in range(model.n_iter_):
        order, at = stream.permutation(n) if model.shuffle else np.arange(n), 0
        while at < n:
            some = order[at : at + ROWS_PER_LOOK]
            score, size = moves[some] @ plane, np.abs(moves[some]) @ np.abs(plane)
            near = np.abs(score) <= 2.0**-44 * size
            coming = len(found) < len(wrong)
            stored = (moves[some] == wrong[len(found)]).all(axis=1) if coming else np.zeros(len(some), dtype=bool)
            first = np.flatnonzero(np.where(near & (size > 0), stored, score <= 0))
            if not len(first):
                survived, at = survived + len(some), at + len(some)
                continue
            k = int(first[0])
            if not stored[k] or not abs(factor[len(found)] - step[some[k]]) <= 1e-12 * step[some[k]]:
                return False
            plane = plane + factor[len(found)] * wrong[len(found)]
            found.append(survived + k)
            survived, at = 0, at + k + 1
    last = np.append(model.coef_[0], model.intercept_)
    size = np.abs(wrong * factor[:, None]).sum(axis=0) + np.abs(last)
    return bool(
        np.array_equal(votes, [*found, survived])
        and len(found) == len(wrong)
        and np.all(np.abs(plane - last) <= 1e-9 * size)
    )
