r"""Bayesian regression by evidence: hyper-parameters that make the targets most probable, coefficients integrated out.

With noise precision :math:`\alpha` and prior precisions :math:`\lambda` the posterior of the coefficients is Gaussian, of precision
:math:`A = \operatorname{diag} \lambda + \alpha X^\top X` and mean :math:`m = \alpha A^{-1} X^\top y`. Everything follows from the
products of the columns, which are formed once. A step is that of MacKay; where it would lower the evidence, that of expectation
and maximisation, which cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import AscentCertificate
from qed.core import InvalidData
from qed.core._events import STOP, Progress
from qed.core._validation import is_source, learn_columns, require_fit_source, require_source_target
from qed.data import ArraySource, Moments, fold
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint_of, require_range
from qed.linear_model._learn import require_products

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST, MOST = 1e-300, 1e300  # precisions whose logarithms and squares are numbers
LOG_TWO_PI = float(np.log(2 * np.pi))


class Rows(NamedTuple):
    """What regression needs to know of the rows: products of centred columns, and where they were centred."""

    G: Array  # (p, p)
    c: Array  # (p,) products with the target
    yy: float
    weight: float
    mean_x: Array
    mean_y: float
    moments: Moments


def read_rows(model: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> Rows:
    """Read a table or a source into products of columns, about their means where there is an intercept."""
    source: Any
    if is_source(X):
        require_fit_source(model, X, y, sample_weight)
        model._validate_params()  # noqa: SLF001
        require_source_target(model, X)
        schema = X.schema
        if schema.n_targets != 1:
            raise InvalidData(f"{type(model).__name__} takes one target, and the source names {schema.n_targets}.")
        learn_columns(model, schema.n_features, schema.names, reset=reset)
        source = X
        require_products(schema.n_features + 1, "Choose fewer features=.")
        moments = fold(source, Moments.of, name=type(model).__name__, verbose=model.verbose)
    else:
        data = model._fit_data(X, y, sample_weight, finite=False, reset=reset)  # noqa: SLF001
        source = ArraySource(data.X, data.y, data.weight)
        require_products(data.X.shape[1] + 1, "Choose fewer columns.")
        try:
            moments = fold(source, Moments.of, name=type(model).__name__)
        except InvalidData:
            data.raise_if_not_finite()  # says so with the name of the column
            raise
    if moments.rows == 0:
        raise InvalidData(f"{type(model).__name__} has no row of positive weight to learn from.")
    require_range(source, fingerprint_of(moments), centred=model.fit_intercept)
    return rows_of(moments, intercept=model.fit_intercept)


def rows_of(moments: Moments, *, intercept: bool) -> Rows:
    """Return what a statistic says, about the means or about the origin."""
    about = moments if intercept else moments.about_origin()
    return Rows(
        about.XX, about.XY[:, 0], float(about.YY[0, 0]), moments.weight, about.mean_x, float(about.mean_y[0]), moments
    )


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the coefficients at given precisions, in some orthonormal coordinates.

    Attributes
    ----------
    mean, variance : ndarray of shape (k,)
        Of each coefficient.
    squares : float
        Sum of squared residuals at the mean.
    log_det : float
        Logarithm of the determinant of the posterior precision.
    condition : float
        Bound on its condition number, coefficients in units of its diagonal.
    """

    mean: Array
    variance: Array
    squares: float
    log_det: float
    condition: float


@dataclass(frozen=True, eq=False)
class GramDesign:
    """Products of columns, with the target and among themselves."""

    G: Array
    c: Array
    yy: float
    weight: float

    def covariance(self, alpha: float, precision: Array) -> tuple[Array, float, float]:
        """Return the posterior covariance, the log-determinant of its inverse, and a bound on its condition number."""
        A = alpha * self.G
        A.flat[:: len(A) + 1] += precision
        unit = np.sqrt(np.diagonal(A))
        A /= np.outer(unit, unit)
        try:
            lower = np.linalg.cholesky(A)
            inverse = np.linalg.inv(lower)
            log_det = 2 * float(np.log(np.diagonal(lower)).sum())
            covariance = inverse.T @ inverse
        except np.linalg.LinAlgError:  # singular to rounding: no direction is known better than rounding lets it be
            values, vectors = np.linalg.eigh(A)
            values = np.maximum(values, len(A) * np.finfo(float).eps * values[-1])
            covariance, log_det = (vectors / values) @ vectors.T, float(np.log(values).sum())
        condition = float(np.trace(covariance)) * max(len(A), 1)
        return covariance / np.outer(unit, unit), log_det + 2 * float(np.log(unit).sum()), max(condition, 1.0)

    def posterior(self, alpha: float, precision: Array) -> Posterior:
        """Return the posterior at a noise precision and prior precisions."""
        covariance, log_det, condition = self.covariance(alpha, precision)
        mean = alpha * (covariance @ self.c)
        squares = self.yy - 2 * float(mean @ self.c) + float(mean @ (self.G @ mean))
        return Posterior(mean, np.diagonal(covariance).copy(), max(squares, 0.0), log_det, condition)

    def columns(self, kept: Any) -> GramDesign:
        """Return the design of some of the columns."""
        return GramDesign(self.G[np.ix_(kept, kept)], self.c[kept], self.yy, self.weight)


@dataclass(frozen=True, eq=False)
class SpectralDesign:
    """Products of columns, seen along their eigenvectors: there posteriors with one precision for all are diagonal."""

    values: Array
    products: Array  # of the directions with the target
    yy: float
    weight: float

    def posterior(self, alpha: float, precision: Array) -> Posterior:
        """Return the posterior at a noise precision and prior precisions, all equal."""
        A = precision + alpha * self.values
        z = alpha * self.products
        squares = self.yy - float(np.sum(self.products * z * (A + precision) / A**2))
        return Posterior(z / A, 1 / A, max(squares, 0.0), float(np.log(A).sum()), float(A.max() / A.min()))


Design = GramDesign | SpectralDesign


class Hyper(NamedTuple):
    """Gamma priors of the precisions (shapes and rates), and whether all coefficients share one precision."""

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: float
    shared: bool


class Point(NamedTuple):
    """Precisions, the posterior there, and the objective."""

    alpha: float
    precision: Array  # (k,), all equal where they are shared
    posterior: Posterior
    value: float


def evaluate(design: Design, alpha: float, precision: Array, hyper: Hyper) -> Point:
    """Return the logarithm of the evidence, and of the priors of the precisions, with the posterior."""
    found = design.posterior(alpha, precision)
    fit = alpha * found.squares + float(precision @ found.mean**2)
    value = 0.5 * (float(np.log(precision).sum()) + design.weight * (np.log(alpha) - LOG_TWO_PI) - fit - found.log_det)
    own = precision[:1] if hyper.shared else precision
    value += hyper.alpha_1 * np.log(alpha) - hyper.alpha_2 * alpha
    value += float(np.sum(hyper.lambda_1 * np.log(own) - hyper.lambda_2 * own))
    return Point(alpha, precision, found, float(value))


def propose(design: Design, at: Point, hyper: Hyper, method: str) -> tuple[float, Array]:
    """Return the precisions of the next step: MacKay's fixed point, or those that maximise the expected joint density."""
    m, found = at.posterior.mean, at.posterior
    known = np.clip(1 - at.precision * found.variance, 0.0, 1.0)  # how far each coefficient is determined by the data
    if method == "em":
        tops, squares = np.ones(len(m)), m**2 + found.variance
        noise_top, noise = design.weight, found.squares + float(known.sum()) / at.alpha
    else:
        tops, squares = known, m**2
        noise_top, noise = design.weight - float(known.sum()), found.squares
    if hyper.shared:
        tops, squares = np.full(len(m), tops.sum()), np.full(len(m), squares.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = (tops + 2 * hyper.lambda_1) / (squares + 2 * hyper.lambda_2)
        alpha = (max(noise_top, 0.0) + 2 * hyper.alpha_1) / np.float64(noise + 2 * hyper.alpha_2)
    if not np.isfinite(alpha) or not np.isfinite(precision).all():
        raise InvalidData(
            "The evidence grows without limit: targets are explained exactly, or coefficients are zero. Set alpha_2 and lambda_2,"
            " the rates of the priors of the precisions, above zero."
        )
    return float(np.clip(alpha, LEAST, MOST)), np.clip(precision, LEAST, MOST)


def step(design: Design, at: Point, hyper: Hyper, method: str) -> Point:
    """Return the next point; one of the fixed-point method that lowered the objective gives way to one of EM."""
    after = evaluate(design, *propose(design, at, hyper, method), hyper)
    if method == "fixed-point" and not after.value >= at.value:
        after = evaluate(design, *propose(design, at, hyper, "em"), hyper)
    return after


def displacement(design: Design, at: Point, hyper: Hyper, method: str) -> float:
    """Return how far one step of the method moves precisions, as logarithms."""
    alpha, precision = propose(design, at, hyper, method)
    change = np.abs(np.log(precision / at.precision))
    return float(np.hypot(np.log(alpha / at.alpha), np.max(change, initial=0.0)))


def size_of(design: Design, at: Point, largest: float) -> float:
    """Return how large the terms of the objective are, per unit of weight: its rounding is a part of that."""
    spread = len(at.precision) * at.posterior.condition / design.weight
    return float(min(1 + largest + at.alpha * design.yy / design.weight + spread, MOST))


class Climbed(NamedTuple):
    """Where an ascent ended."""

    point: Point
    trace: list[float]
    outcome: str


def climb(
    design: Design, start: Point, hyper: Hyper, model: Any, progress: Progress, steps: int
) -> tuple[Climbed, int]:
    """Take steps until the coefficients rest and the evidence gains less than ``tol``; return also how many."""
    at, trace, outcome, taken = start, [start.value], "max_iter", 0
    try:
        while taken < steps:
            before, after = at, step(design, at, hyper, model.method)
            if not after.value >= at.value:  # neither kind of step gains more than rounding
                outcome = "stalled"
                break
            at, taken = after, taken + 1
            trace.append(at.value)
            moved = float(np.sum(np.abs(at.posterior.mean - before.posterior.mean)))
            if moved <= model.tol and at.value - before.value <= model.tol:
                outcome = "solved"
                break
            if progress.step(at.value) is STOP:
                outcome = "stopped"
                break
            if model._is_pruning(at.precision):  # noqa: SLF001  (the model says when its columns change)
                outcome = "pruned"
                break
    except KeyboardInterrupt:
        outcome = "interrupted"
    return Climbed(at, trace, outcome), taken


def certify(design: Design, climbed: Climbed, hyper: Hyper, model: Any, rows: Rows) -> AscentCertificate:
    """State the evidence after each step, and what one more step adds."""
    at, weight = climbed.point, rows.weight
    trace = np.array(climbed.trace) / weight
    largest = float(np.max(np.abs(trace)))
    unit = 64 * (len(at.precision) + 8) * UNIT + 8 * rows.moments.rounding
    beyond = step(design, at, hyper, model.method)
    gain, moved = (beyond.value - at.value) / weight, displacement(design, at, hyper, model.method)
    size, further = size_of(design, at, largest), size_of(design, beyond, largest)
    rounding = min(unit * (size + noise_of(design, at)), MOST)
    return AscentCertificate(
        what="log evidence",
        objective=float(trace[-1]),
        rounding=rounding,
        trace=trace,
        gain=gain if abs(gain) > 64 * rounding * max(further / size, 1.0) else 0.0,
        displacement=moved if moved > 512 * rounding else 0.0,
        tol=float(model.tol),
        outcome=climbed.outcome,
        fingerprint=fingerprint_of(rows.moments),
    )


def noise_of(design: Design, at: Point) -> float:
    """Return what rounding moves the next precisions by, as logarithms, in units of that rounding."""
    own = at.posterior.mean**2 + at.posterior.variance
    known = np.clip(1 - at.precision * at.posterior.variance, 1e-6, 1.0)
    size = min(float(np.max(np.sum(own) / np.maximum(own, LEAST), initial=1.0)), 1e6) / float(
        np.min(known, initial=1.0)
    )
    free = max(design.weight - float(known.sum()), 1e-6 * design.weight) / design.weight
    return float(size * at.posterior.condition / free * (1 + min(design.yy / (at.posterior.squares + LEAST), 1e15)))
