"""Mixtures, checked: the objective at the stored parameters, and one more step of expectation and maximisation from there.

Rows are whitened by forward substitution with a Cholesky factor that is found here, component by component. The step that follows
from the stored parameters must gain and move as much as the certificate states: from a changed parameter it does otherwise.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.verify._ascents import Decomposed, decomposed, require, require_decomposition, require_none
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, Rows, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.certificates import AscentCertificate

Array = np.ndarray[Any, Any]
RELATIVE_TOLERANCE = 1e-7  # relative, of how far a step moves


class Parameters(NamedTuple):
    """Weights, means, and whole covariances of all components, in extended precision."""

    weights: Array
    means: Array
    covariances: Array  # (k, p, p)


class EmStep(NamedTuple):
    """What one pass over the rows found."""

    objective: float
    following: Parameters


def check(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute what the certificate claims; raise CertificateError when it is not so."""
    rows = read(model, X, None, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    what = "log-likelihood" if model.algorithm == "soft" else "log-likelihood of the most probable components"
    stored = read_components(model, model.n_components)
    return judge(model, certificate, what, stored, partial(_step, model, rows), partial(_compare, model, rows))


def check_classes(model: Any, certificate: AscentCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Do the same for mixtures of classes: a row with a label belongs to the components of its class alone."""
    rows = read(model, X, y, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    labels, known = rows.classes.tolist(), model.classes_.tolist()
    if [label for label in labels if model.unlabeled is None or label != model.unlabeled] != known:
        refuse(model, "its classes are not those of the labels")
    counts = np.broadcast_to(np.asarray(model.n_components, dtype=np.int64), (len(known),))
    owner = np.asarray(model.component_classes_)
    if owner.tolist() != [label for label, count in enumerate(counts) for _ in range(count)]:
        refuse(model, "its components belong to other classes than n_components says")
    # by number of a label, as targets are read: which components may have produced the row
    table = np.stack([owner == known.index(label) if label in known else owner >= 0 for label in labels])
    stored = read_components(model, len(owner))
    what = "log-likelihood of rows and known labels"
    step, compare = partial(_step, model, rows, possible=table), partial(_compare, model, rows, possible=table)
    return judge(model, certificate, what, stored, step, compare)


def judge(
    model: Any,
    certificate: AscentCertificate,
    what: str,
    stored: Parameters,
    step: Callable[[Parameters], EmStep],
    compare: Callable[[Parameters, Parameters], Decomposed] | None,
) -> Verdict:
    """Hold the certificate of Gaussian components against the objective at these, and against one more step.

    ``compare`` takes a likelihood apart by stored and following parameters; None where the objective is no likelihood.
    """
    p = stored.means.shape[1]
    condition, rounding, moved_rows = rounding_of(model, stored, certificate, p)
    if not certificate.rounding <= 2 * rounding:
        refuse(model, f"a rounding of {certificate.rounding:.3g} is stated, and sums round by {rounding:.3g} at most")
    require_ascent(model, certificate, what)
    here = step(stored)
    require(model, "its objective is another", here.objective, certificate.objective, rounding)
    found = None if compare is None else compare(stored, here.following)
    _require_gain(model, certificate, stored, here, found, step)
    noise = (
        64 * (p + 8) * DOUBLE * condition**2
        + 1e-9
        + 8 * moved_rows
        + 8 * DOUBLE * float(np.sqrt(np.sum(1 / np.maximum(stored.weights, np.finfo(float).tiny))))
    )
    moved = displacement(stored, here.following)
    moved = (
        0.0 if certificate.displacement == 0 and moved <= 5 * noise else moved
    )  # sums of rounded numbers move by less
    allowed = RELATIVE_TOLERANCE * certificate.displacement + noise
    require(model, "the next step moves differently", moved, certificate.displacement, allowed)
    off = abs(here.objective - certificate.objective)
    return Verdict(
        certificate.statement, here.objective, off, rounding, certificate.rounding, measure="objective value"
    )


def _require_gain(
    model: Any,
    certificate: AscentCertificate,
    stored: Parameters,
    here: EmStep,
    found: Decomposed | None,
    step: Callable[[Parameters], EmStep],
) -> None:
    """Hold what the next step gains, and the parts of a likelihood, against what was found.

    A fit finds its parts from sums of products, so that flat components lose twice their digits. It finds the step with that error
    too. The gain of a maximisation feels the square of it, which is nothing. The objective after the step feels it by its gradient:
    that of the divergence f which a maximisation leaves, at most a multiple of the root of f; of other objectives, any.
    """
    p = stored.means.shape[1]
    condition, rounding, _ = rounding_of(model, stored, certificate, p)
    flat, beyond, _ = rounding_of(model, here.following, certificate, p)
    objective = step(here.following).objective if found is None else found.next_objective
    both = 2 * (rounding + beyond)
    of_step = 64 * (p + 8) * DOUBLE * (1 + abs(objective)) * flat**2
    if found is None:
        require_none(model, certificate)
    else:
        of_sums, of_next_sums = 8 * p * DOUBLE * condition**2, 8 * p * DOUBLE * (condition**2 + flat**2)
        of_divergence = of_step * min(1.0, math.sqrt(max(found.next_divergence, 0.0)))
        near = (4 * rounding + of_sums, both + of_next_sums, both + of_next_sums + of_divergence)
        require_decomposition(model, certificate, found, near)
        of_step = of_step if getattr(model, "algorithm", "soft") == "hard" else of_divergence
    gained = objective - here.objective
    require(model, "the next step gains something else", gained, certificate.gain, both + of_step)


def read_components(model: Any, k: int) -> Parameters:
    """Read the parameters, and hold precisions and weights against them."""
    p, kind = model.n_features_in_, model.covariance_type
    shape = {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,)}[kind]
    stored = np.asarray(model.covariances_, dtype=np.float64)
    if stored.shape != shape or model.weights_.shape != (k,) or model.means_.shape != (k, p):
        refuse(model, "its parameters have other shapes than its structure gives them")
    if not abs(float(np.sum(model.weights_)) - 1) <= 1e-12 * k or not np.all(model.weights_ >= 0):
        refuse(model, "its weights do not sum to one")
    whole = whole_matrices(stored, kind, k, p)
    if not np.array_equal(whole, np.swapaxes(whole, -1, -2)) and not np.allclose(
        whole, np.swapaxes(whole, -1, -2), rtol=1e-12, atol=0
    ):
        refuse(model, "a covariance is not symmetric")
    roots = whole_matrices(np.asarray(model.precisions_cholesky_, dtype=np.float64), kind, k, p)
    inverses = whole_matrices(np.asarray(model.precisions_, dtype=np.float64), kind, k, p)
    if not np.array_equal(np.triu(roots), roots) or not np.all(np.diagonal(roots, axis1=-2, axis2=-1) > 0):
        refuse(model, "a factor of its precisions is not upper triangular")
    # products of matrices and their inverses are as far from one as their condition makes them
    size = np.linalg.norm(whole, axis=(-2, -1)) * np.linalg.norm(inverses, axis=(-2, -1))
    off = np.linalg.norm(whole @ inverses - np.eye(p), axis=(-2, -1))
    other = np.linalg.norm(roots @ np.swapaxes(roots, -1, -2) - inverses, axis=(-2, -1))
    if not np.all(off <= 64 * p * DOUBLE * size) or not np.all(
        other <= 64 * p * DOUBLE * np.linalg.norm(inverses, axis=(-2, -1))
    ):
        refuse(model, "its precisions are not the inverses of its covariances")
    return Parameters(model.weights_.astype(EXTENDED), model.means_.astype(EXTENDED), whole.astype(EXTENDED))


def whole_matrices(stored: Array, kind: str, k: int, p: int) -> Array:
    """Return k matrices, whatever the structure."""
    if kind == "full":
        return stored
    if kind == "tied":
        return np.broadcast_to(stored, (k, p, p))
    variances = stored if kind == "diag" else np.broadcast_to(stored[:, None], (k, p))
    return np.asarray(variances[:, :, None] * np.eye(p))


def condition_of(model: Any, at: Parameters) -> float:
    """Return how flat components are, columns in units of their deviations."""
    if model.covariance_type in ("diag", "spherical"):
        return 1.0
    factors = np.stack([cholesky(model, one).astype(np.float64) for one in at.covariances])
    units = np.sqrt(np.diagonal(at.covariances, axis1=-2, axis2=-1)).astype(np.float64)
    inverses = np.linalg.inv(factors) * units[:, None, :]
    return float(
        np.max(np.linalg.norm(factors / units[:, :, None], axis=(-2, -1)) * np.linalg.norm(inverses, axis=(-2, -1)))
    )


def rounding_of(model: Any, stored: Parameters, certificate: AscentCertificate, p: int) -> tuple[float, float, float]:
    """Return how flat components are, and bounds on the rounding of the objective and of whitened rows in double precision."""
    condition = condition_of(model, stored)
    least = min(float(np.min(np.diagonal(cholesky(model, one)))) for one in stored.covariances)
    size = 1.0 + p + float(np.max(np.abs(certificate.trace))) + p * (1 + abs(np.log(least)) + abs(np.log(condition)))
    # rows are rounded where the mean of all is taken off, and means where they are stored: a narrow component far away feels it
    apart = np.abs(stored.means - stored.weights @ stored.means) + np.abs(stored.means) / 2
    far = max(
        float(np.linalg.norm(np.abs(np.linalg.inv(cholesky(model, one).astype(np.float64))) @ away.astype(np.float64)))
        for one, away in zip(stored.covariances, apart, strict=True)
    )
    moved = 2 * DOUBLE * far
    of_factors = 2 * p * DOUBLE * condition**2
    of_distances = 2 * moved * (1 + float(np.sqrt(p))) + moved**2
    rounding = 64 * (p + 8) * DOUBLE * condition * size + of_factors + of_distances
    return condition, rounding, moved


def require_ascent(model: Any, certificate: AscentCertificate, what: str) -> None:
    """Refuse a trace that falls, and a model that tells of another ascent than its certificate."""
    trace, slack = certificate.trace, 2 * certificate.rounding
    if not np.all(np.diff(trace) >= -slack) or not abs(float(trace[-1]) - certificate.objective) <= slack:
        refuse(model, "its objective fell between steps, or ended elsewhere than it states")
    if certificate.what != what:
        refuse(model, f"its objective is the {what}")
    if certificate.tol != model.tol or len(trace) - 1 > model.max_iter:
        refuse(model, "it speaks of another tolerance or of more steps than were allowed")
    if (
        certificate.outcome == "solved"
        and not float(trace[-1] - trace[-2] if len(trace) > 1 else 0.0) <= certificate.tol + slack
    ):
        refuse(model, "it says that the ascent came to rest, and its last step gained more than the tolerance")
    same = (
        model.lower_bounds_ == trace.tolist()
        and model.lower_bound_ == certificate.objective
        and model.n_iter_ == len(trace) - 1
        and model.converged_ is certificate.reached
    )
    if not same:
        refuse(model, "the model and its certificate tell of different ascents")


def cholesky(model: Any, matrix: Array) -> Array:
    """Return the lower factor, column by column, in extended precision."""
    p = len(matrix)
    lower = np.zeros((p, p), EXTENDED)
    for j in range(p):
        left = matrix[j:, j] - lower[j:, :j] @ lower[j, :j]
        if not left[0] > 0:
            refuse(model, "a covariance is not positive definite")
        lower[j:, j] = left / np.sqrt(left[0])
    return lower


class Components(NamedTuple):
    """Components as rows meet them: levels (k,), Cholesky factors and means; and the logarithm of their prior density."""

    levels: Array
    factors: list[Array]
    means: Array
    log_prior: Any = EXTENDED(0)

    def joint(self, X: Array, codes: Array | None, possible: Array | None) -> Array:
        """Return joint log-densities of rows and components, (n, k); ``possible`` are components by number of label."""
        squares = [
            np.sum(solved(one, (X - mean).T) ** 2, axis=0) for one, mean in zip(self.factors, self.means, strict=True)
        ]
        logs = self.levels - 0.5 * np.stack(squares, axis=1)
        return logs if possible is None or codes is None else np.where(possible[codes], logs, -np.inf)


def _prior(model: Any, p: int) -> tuple[Array, float]:
    """Return the scale of an inverse-Wishart prior, and for how many rows it counts; zeros where there is none."""
    if getattr(model, "covariance_prior", None) is None:
        return np.zeros(p), 0.0
    degrees = p if model.degrees_of_freedom_prior is None else model.degrees_of_freedom_prior
    return np.broadcast_to(np.asarray(model.covariance_prior, dtype=np.float64), (p,)), float(degrees + p + 1)


def _components(model: Any, at: Parameters) -> Components:
    k, p = at.means.shape
    scale, extra = _prior(model, p)
    factors = [cholesky(model, one) for one in at.covariances]
    logs_of = [np.sum(np.log(np.diagonal(one))) for one in factors]
    traces = [solved(one, np.eye(p, dtype=EXTENDED)) ** 2 for one in factors]
    distinct = range(1 if model.covariance_type == "tied" else k)
    log_prior = sum((-extra * logs_of[j] - 0.5 * np.sum(traces[j] @ scale) for j in distinct), start=EXTENDED(0))
    with np.errstate(divide="ignore"):
        levels = np.log(at.weights) - np.array(logs_of) - 0.5 * p * np.log(2 * np.pi * EXTENDED(1))
    levels = levels - 0.5 * EXTENDED(model.reg_covar) * np.array([np.sum(one) for one in traces])
    return Components(levels, factors, at.means, log_prior)


def _step(model: Any, rows: Rows, at: Parameters, possible: Array | None = None) -> EmStep:
    """Find the objective, and the parameters that one step leads to."""
    components = _components(model, at)
    found = sums(model, rows, components, possible)
    objective = float((found.total + components.log_prior) / found.weight)
    return EmStep(objective, _following(model, at, found))


def _compare(
    model: Any, rows: Rows, at: Parameters, following: Parameters, possible: Array | None = None
) -> Decomposed:
    """Take the likelihood apart by the responsibilities of components, there and after the step that follows."""
    here, beyond = _components(model, at), _components(model, following)

    def joint(of: Components, block: Any) -> Array:
        return of.joint(block.X, _codes(block, possible), possible)

    blocks = ((block.s, joint(here, block), joint(beyond, block)) for block in rows.blocks())
    is_hard = getattr(model, "algorithm", "soft") == "hard"
    return decomposed(blocks, (here.log_prior, beyond.log_prior), is_hard=is_hard)


def _codes(block: Any, possible: Array | None) -> Array | None:
    return None if possible is None else block.y[:, 0].astype(np.int64)


class Sums(NamedTuple):
    """Sums over the rows, by responsibilities: log-densities, weights, and moments about the means of the components."""

    total: Any
    weight: Any
    n: Array  # (k,)
    firsts: Array  # (k, p)
    squares: Array  # (k, p, p)


def sums(model: Any, rows: Rows, components: Components, possible: Array | None = None) -> Sums:
    """Go through the rows once."""
    means = components.means
    k, p = means.shape
    total = weight = EXTENDED(0)
    n, firsts, squares = np.zeros(k, EXTENDED), np.zeros((k, p), EXTENDED), np.zeros((k, p, p), EXTENDED)
    for block in rows.blocks():
        logs = components.joint(block.X, _codes(block, possible), possible)
        top = logs.max(axis=1)
        if getattr(model, "algorithm", "soft") == "hard":
            shares = np.zeros_like(logs)
            shares[np.arange(len(logs)), np.argmax(logs, axis=1)] = 1
            total = total + block.s @ top
        else:
            shares = np.exp(logs - top[:, None])
            of_rows = shares.sum(axis=1)
            shares = shares / of_rows[:, None]
            total = total + block.s @ (top + np.log(of_rows))
        weight = weight + block.s.sum()
        for j in range(k):
            own, away = shares[:, j] * block.s, block.X - means[j]
            n[j] += own.sum()
            firsts[j] += own @ away
            squares[j] += (own[:, None] * away).T @ away
    return Sums(total, weight, n, firsts, squares)


def solved(lower: Array, right: Array) -> Array:
    """Solve lower z = right by forward substitution."""
    z = np.array(right, dtype=np.result_type(lower, right))
    for i in range(len(lower)):
        z[i] = (z[i] - lower[i, :i] @ z[:i]) / lower[i, i]
    return z


def _following(model: Any, at: Parameters, found: Sums) -> Parameters:
    n, firsts, squares = found.n, found.firsts, found.squares
    kind, (k, p) = model.covariance_type, at.means.shape
    floor, (scale, extra) = EXTENDED(model.reg_covar), _prior(model, p)
    used, safe = n > 0, np.where(n > 0, n, EXTENDED(1))
    step = firsts / safe[:, None]
    scatter = squares - n[:, None, None] * step[:, :, None] * step[:, None, :]
    unit = np.eye(p)
    if kind == "tied":
        one = (scatter.sum(axis=0) + np.diag(scale) + n.sum() * floor * unit) / (n.sum() + extra)
        return Parameters(n / n.sum(), at.means + step, np.broadcast_to(one, (k, p, p)))
    covariances = (scatter + np.diag(scale) + (safe * floor)[:, None, None] * unit) / (safe + extra)[:, None, None]
    if kind in ("diag", "spherical"):
        variances = np.diagonal(covariances, axis1=-2, axis2=-1)
        if kind == "spherical":
            variances = np.broadcast_to(variances.mean(axis=1, keepdims=True), (k, p))
        covariances = variances[:, :, None] * unit
    return Parameters(n / n.sum(), at.means + step, np.where(used[:, None, None], covariances, at.covariances))


def displacement(before: Parameters, after: Parameters) -> float:
    """Root of the squared changes of weights, of whitened means and of whitened covariances."""
    total = np.sum((after.weights - before.weights) ** 2 / np.maximum(before.weights, np.finfo(float).tiny))
    for j, weight in enumerate(before.weights):
        inverse = np.linalg.inv(np.linalg.cholesky(before.covariances[j].astype(np.float64)))
        z = inverse @ (after.means[j] - before.means[j]).astype(np.float64)
        change = inverse @ after.covariances[j].astype(np.float64) @ inverse.T - np.eye(len(z))
        total = total + weight * (z @ z + 0.5 * np.sum(change**2))
    return float(np.sqrt(total))
