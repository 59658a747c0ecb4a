"""Models of hidden normal variables, checked: loadings against the covariance of the rows, and the likelihood by its definition.

The covariance is summed again, in extended precision where the table is small. Loadings must be the leading eigenvectors of the
covariance in units of the noise, of the lengths that their eigenvalues prescribe; the likelihood is that of a normal density whose
covariance is factored here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._ascents import require, require_none
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, read
from qed.verify._same_data import ColumnSummary, require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import AscentCertificate, LikelihoodCertificate

Array = np.ndarray[Any, Any]
LEAST_NOISE = 1e-8


@dataclass(frozen=True)
class _Covariance:
    """What the rows say: the pass over them, and their covariance with divisor n."""

    seen: ColumnSummary
    S: Array

    @property
    def size(self) -> Array:
        """The variance of each column; of columns without any, that of the others, or one."""
        own, mean = np.diag(self.S), float(np.mean(np.diag(self.S)))
        return np.where(own > 0, own, mean if mean > 0 else 1.0)


def check_analysis(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Check factors: best loadings for the noise, the likelihood, and what one more step does."""
    found = _covariance(model, X)
    require_same_data(certificate.fingerprint, found.seen, len(found.S))
    require_none(model, certificate)
    noise, L = np.asarray(model.noise_variance_), np.asarray(model.components_)
    rounding = _rounding(found, noise, certificate.objective)
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    if not np.all(noise >= (1 - 1e-9) * LEAST_NOISE * found.size):
        refuse(model, "its noise is below the least that a fit allows")
    asked = len(noise) if model.n_components is None else model.n_components
    if len(L) != asked:
        refuse(model, f"it has {len(L)} factors, and {asked} were asked for")
    likelihood = _likelihood(model, found.S, L, noise)
    _require_leading(model, found.S, _canonical(model, L, noise), noise)
    _require_trace(model, certificate, found.seen.rows)
    require(model, "its log-likelihood is another", likelihood, certificate.objective, 2 * rounding)
    after = np.maximum(np.diag(found.S) - np.sum(L * L, axis=0), LEAST_NOISE * found.size)
    gained = _best(found.S, after, len(L)) - likelihood
    gained = 0.0 if certificate.gain == 0 and abs(gained) <= 24 * rounding else gained
    far = _rounding(found, after, certificate.objective)
    require(model, "the next step gains something else", gained, certificate.gain, 4 * rounding + 2 * far)
    moved = float(np.max(np.abs(after - noise) / found.size))
    near = 1e-9 + 8 * rounding  # squares of loadings round like the eigenvalues that they come from
    require(model, "the next step moves the noise differently", moved, certificate.displacement, near)
    off = abs(likelihood - certificate.objective)
    return Verdict(certificate.statement, likelihood, off, rounding, certificate.rounding, measure="log-likelihood")


def check_probabilistic(
    model: Any,
    certificate: LikelihoodCertificate,
    X: Any,
    y: Any,  # noqa: ARG001
    sample_weight: Any,  # noqa: ARG001
) -> Verdict:
    """Check probabilistic principal components: nothing is more likely."""
    found = _covariance(model, X)
    p, L, sigma = len(found.S), np.asarray(model.components_), float(model.noise_variance_)
    k = len(L)
    if certificate.rows != found.seen.rows or k != model.n_components or certificate.backward_error != 0:
        refuse(model, f"it is about {certificate.rows} rows and {k} hidden variables, and these are others")
    if certificate.what != "Loadings and the variance of the noise":
        refuse(model, "it speaks of other parameters")
    values = np.sort(np.linalg.eigvalsh(found.S))[::-1]
    unit = float(np.mean(np.diag(found.S))) or 1.0
    best = max(float(np.sum(np.maximum(values[k:], 0.0))) / (p - k) if k < p else 0.0, LEAST_NOISE * unit)
    near = 64 * (p + 8) * DOUBLE * p * unit
    require(model, "the variance of the noise is not the mean of what is left out", sigma, best, near)
    require(
        model,
        "eigenvalues are others",
        0.0,
        float(np.max(np.abs(model.explained_variance_ - values[:k]), initial=0)),
        near,
    )
    noise = np.full(p, sigma)
    rounding = _rounding(found, noise, 0.0)
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    likelihood = _likelihood(model, found.S, L, noise)
    _require_leading(model, found.S, L / np.sqrt(noise), noise)
    allowed = 2 * rounding + 64 * (p + 8) * DOUBLE * abs(likelihood)
    require(model, "its log-likelihood is another", likelihood, certificate.log_likelihood, allowed)
    off = max(_best(found.S, np.full(p, best), k) - likelihood, 0.0)
    require(model, "other parameters are more likely", off, 0.0, 2 * allowed)
    return Verdict(certificate.statement, likelihood, off, rounding, certificate.rounding, measure="log-likelihood")


def _covariance(model: Any, X: Any) -> _Covariance:
    rows = read(model, X, None, None)
    seen = summarize_columns(rows)
    stored = np.asarray(model.mean_, dtype=EXTENDED)
    deviation = np.sqrt(seen.spread / seen.weight)
    if not np.all(np.abs(stored - seen.mean) <= 1e-9 * deviation + 1e-12 * np.abs(seen.mean)):
        refuse(model, "its means are not those of the rows")
    total = np.zeros((rows.p, rows.p), EXTENDED)
    for block in rows.blocks():
        z = block.X - seen.mean.astype(rows.kind)
        total = total + z.T @ z
    return _Covariance(seen, (total / seen.rows).astype(np.float64))


def _rounding(found: _Covariance, noise: Array, value: float) -> float:
    p = len(noise)
    return 64 * (p + 8) * DOUBLE * (1 + abs(value) + float(np.sum(np.diag(found.S) / noise)))


def _likelihood(model: Any, S: Array, L: Array, noise: Array) -> float:
    """Return the log-density of a row in the mean, from a factor of the covariance in units of the noise."""
    root = np.sqrt(noise)
    W = L / root
    try:
        factor = np.linalg.cholesky(np.eye(len(noise)) + W.T @ W)
    except np.linalg.LinAlgError:
        refuse(model, "its covariance is not positive definite")
    inner = np.linalg.solve(factor, S / np.outer(root, root))
    squares = float(np.trace(np.linalg.solve(factor, inner.T)))
    volume = 2 * float(np.sum(np.log(np.diag(factor)))) + float(np.sum(np.log(noise)))
    return float(-0.5 * (len(noise) * np.log(2 * np.pi) + volume + squares))


def _best(S: Array, noise: Array, k: int) -> float:
    """Return the largest log-likelihood of a row for given noise."""
    root = np.sqrt(noise)
    values = np.maximum(np.sort(np.linalg.eigvalsh(S / np.outer(root, root)))[::-1], 0.0)
    used = np.maximum(values[:k], 1.0)
    total = np.sum(np.log(used) + values[:k] / used) + np.sum(values[k:]) + np.sum(np.log(noise))
    return float(-0.5 * (len(noise) * np.log(2 * np.pi) + total))


def _require_leading(model: Any, S: Array, W: Array, noise: Array) -> None:
    """Hold loadings in units of the noise, W (k, p), to the leading eigenvectors of the covariance in these units."""
    k, p = W.shape
    root = np.sqrt(noise)
    M = S / np.outer(root, root)
    squares = np.sum(W * W, axis=1)
    near = 64 * (p + 8) * DOUBLE * max(float(np.trace(M)), 1.0)
    values = np.maximum(np.sort(np.linalg.eigvalsh(M))[::-1][:k], 1.0)
    if not np.all(np.abs(1 + squares - values) <= near):
        refuse(model, "its loadings have other lengths than the eigenvalues of the covariance prescribe")
    residual = float(np.linalg.norm(M @ W.T - W.T * (1 + squares)))
    if not residual <= near * (1 + float(np.sqrt(np.sum(squares)))):
        refuse(model, f"its loadings are no eigenvectors of the covariance (off by {residual:.3g})")
    _require_signs(model, W, squares > near)


def _require_signs(model: Any, W: Array, matter: Array) -> None:
    """Demand of those loadings that matter that their largest entry is positive; of nearly equal ones any."""
    size = np.abs(W)
    largest = size >= (1 - 1e-7) * np.max(size, axis=1, initial=0.0, keepdims=True)
    if not ((W > 0) & largest).any(axis=1)[matter].all():
        refuse(model, "the largest entry of a loading is negative")


def _canonical(model: Any, L: Array, noise: Array) -> Array:
    """Return loadings in units of the noise; rotated ones turned back, after holding them to the rotation that was asked for."""
    W = L / np.sqrt(noise)
    if model.rotation is None or len(W) < 2:
        return W
    values, turn = np.linalg.eigh(W @ W.T)
    back = turn[:, ::-1].T @ W
    back[np.maximum(values[::-1], 0) <= 1e-14 * max(float(values[-1]), 1.0)] = 0.0
    at = np.argmax(np.abs(back), axis=1)
    back = back * np.where(back[np.arange(len(back)), at] < 0, -1.0, 1.0)[:, None]
    anew = _rotated(back * np.sqrt(noise), model.rotation) / np.sqrt(noise)
    _require_signs(model, W, np.sum(W * W, axis=1) > 0)
    anew = anew * np.where(np.sum(anew * W, axis=1) < 0, -1.0, 1.0)[:, None]
    if not float(np.max(np.abs(anew - W))) <= 1e-5 * float(np.max(np.abs(W), initial=0.0)):
        refuse(model, f"its loadings are not turned by {model.rotation}")
    return back


def _rotated(L: Array, rule: str) -> Array:
    turn = np.eye(len(L))
    last = -1.0
    for _ in range(2000):
        B = turn.T @ L
        slope = B**3 - (B * np.mean(B**2, axis=1, keepdims=True) if rule == "varimax" else 0.0)
        U, sizes, Vt = np.linalg.svd(L @ slope.T)
        turn = U @ Vt
        if sizes.sum() <= last * (1 + 1e-13):
            break
        last = sizes.sum()
    return turn.T @ L


def _require_trace(model: Any, certificate: AscentCertificate, rows: int) -> None:
    trace, slack = certificate.trace, 2 * certificate.rounding
    if not np.all(np.diff(trace) >= -slack) or not abs(float(trace[-1]) - certificate.objective) <= slack:
        refuse(model, "its log-likelihood fell between steps, or ended elsewhere than it states")
    if certificate.what != "log-likelihood" or len(trace) - 1 > model.max_iter or model.n_iter_ != len(trace) - 1:
        refuse(model, "it speaks of another objective, or of other steps than were taken")
    if model.loglike_ != [rows * value for value in trace.tolist()]:
        refuse(model, "the model and its certificate tell of different ascents")
