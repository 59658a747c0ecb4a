"""From the input of ``fit`` to stored attributes: which way to solve, what to keep, what to say.

The way is chosen by predicted cost, from shapes alone:

========================  ==============================================  =====================================
what came                 way                                             passes over the rows
========================  ==============================================  =====================================
dense, rows > columns     products of columns, ``_solve``                 one; two or three if ill-conditioned
dense, rows <= columns    products of rows, ``_dual``                     three
sparse, or very many      conjugate gradients, ``_conjugate_gradients``   two a step; if the steps would cost more
                                                                          than products of columns, those instead
========================  ==============================================  =====================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import Fingerprint, LeastSquaresCertificate
from qed.core import InvalidData, InvalidParameter
from qed.core._errors import tell_unreached
from qed.core._events import Progress
from qed.core._memory import available_memory, require_memory
from qed.core._threads import limited_threads, one_blas_thread
from qed.core._validation import is_source, learn_columns, require_fit_source, require_source_target
from qed.data import ArraySource, Interrupted, Moments, Stopped, fold
from qed.designs._range import fingerprint, fingerprint_of, require_finite_objective, require_range, with_rounding
from qed.linear_model._conjugate_gradients import Products, from_products, from_wide_products
from qed.linear_model._dual import Wide, from_rows
from qed.linear_model._quadratic import Penalty
from qed.linear_model._range import require_prior
from qed.linear_model._solve import Fit, from_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core import FitData
    from qed.data import Source

    Array = NDArray[np.float64]


SMALL_SQUARE = 128  # columns whose products cost next to nothing
PART_ROWS = 1 << 17  # of a table that is read in parts: merging costs what a thousand rows or so cost
PART_WORK = 1.5e10  # multiplications in a part, about half a second
LARGEST_SQUARE = 10_000  # columns (or rows) beyond which a few hundred products cost less than one factorisation


@dataclass(frozen=True, eq=False)
class Settings:
    """What a model asks of its fit."""

    intercept: bool
    tol: float
    max_iter: int | None
    strict: bool
    verbose: int
    alpha: Any = 0.0  # a number, or one for each target
    prior: Any = None  # None, or an array (p,) or (m, p)
    threads: int | None = None  # None means the current setting

    def single(self, dtype: Any) -> float | None:
        """Return the tolerance within which coefficients are rounded to float32, as rows are; None for rows in float64."""
        return float(self.tol) if dtype == np.float32 else None

    def penalty(self, p: int, m: int) -> Penalty:
        """Translate public parameters to one strength and one centre for each target."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.shape not in ((), (1,), (m,)):
            msg = (
                f"alpha has {alpha.size} penalty strengths and y has {m} targets. "
                "Number of targets and number of penalties do not correspond: give one for all, or one each."
            )
            raise InvalidParameter(msg)
        prior = np.zeros((p, m))
        if self.prior is not None:
            given = np.atleast_2d(np.asarray(self.prior, dtype=np.float64))
            if given.shape not in ((1, p), (m, p)):
                msg = f"prior has shape {np.shape(self.prior)}; with {p} columns and {m} targets it needs ({p},) or ({m}, {p})."
                raise InvalidParameter(msg)
            prior[:] = given.T
        return Penalty(np.full(m, alpha), prior)


def learn(model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings) -> None:
    """Fit ``model`` on arrays, frames, sparse containers or a source of chunks, and store what was learnt."""
    if settings.threads is not None:
        model._validate_params()  # noqa: SLF001  (the door does so too, and too late for this one)
    with limited_threads(settings.threads):
        if is_source(X):
            _learn_source(model, X, y, sample_weight, settings)
        else:
            _learn_table(model, X, y, sample_weight, settings)


def _learn_table(model: Any, X: Any, y: Any, sample_weight: Any, settings: Settings) -> None:
    start = model.__dict__.get("coef_")
    data = model._fit_data(X, y, sample_weight, finite=False)  # noqa: SLF001
    learn_rows(model, data, settings, start=start if data.warm else None)


def learn_rows(model: Any, data: FitData, settings: Settings, *, start: Any = None) -> None:
    """Fit ``model`` on validated rows, whether or not they were seen to be finite."""
    y = data.y.reshape(data.n_rows, -1)
    flat = data.y.ndim == 1
    is_dense = isinstance(data.X, np.ndarray)
    n_used = data.n_rows if data.weight is None else int(np.count_nonzero(data.weight))
    square = is_square_affordable(data.X, n_used)
    if square and (is_dense or data.X.shape[1] <= SMALL_SQUARE):
        try:
            _from_source(
                model, ArraySource(data.X, y, data.weight), settings, flat=flat, parts=_parts(data.X, y, data.weight)
            )
        except InvalidData:
            data.raise_if_not_finite()  # says so with the name of the column
            raise
        return
    data.raise_if_not_finite()
    with one_blas_thread():
        _learn_by_rows(model, data, y, settings, n_used=n_used, square=square, start=start)


def _learn_by_rows(
    model: Any, data: FitData, y: Array, settings: Settings, *, n_used: int, square: bool, start: Any
) -> None:
    """Fit ``model`` by products of rows or by products alone; if the latter would take too long, as tall ones are."""
    flat = data.y.ndim == 1
    X, weight = data.X, data.weight
    if weight is not None and n_used < data.n_rows:
        used = np.flatnonzero(weight)
        X, y, weight = X[used], y[used], weight[used]
    y = y.astype(np.float64)
    if isinstance(X, np.ndarray) and n_used <= LARGEST_SQUARE:
        learn_wide(model, Wide.of(X, y, weight, intercept=settings.intercept), None, settings, flat=flat)
        return
    # Products alone take a few steps where columns are far from dependent; where they are not, factorising is cheaper.
    budget = max(50.0, _direct_cost(X) / _step_cost(X)) if square and settings.max_iter is None else np.inf
    if not _iterate(model, X, y, weight, settings, start=start, flat=flat, budget=budget):
        _from_source(model, ArraySource(X, y, weight), settings, flat=flat)


def learn_wide(model: Any, wide: Wide, products: Array | None, settings: Settings, *, flat: bool) -> None:
    """Fit ``model`` on fewer rows than columns, all of positive weight, by the products of rows."""
    with one_blas_thread():
        seen = fingerprint(wide.X, wide.plain_y, wide.weight)
        require_range(ArraySource(wide.X, wide.plain_y, wide.weight), seen, centred=settings.intercept)
        penalty = settings.penalty(wide.X.shape[1], wide.y.shape[1])
        require_prior(penalty, seen)
        fit = from_rows(wide, penalty, products, single=settings.single(wide.X.dtype))
    _store(model, fit, settings, seen, flat=flat)


def _direct_cost(X: Any) -> float:
    """Predict the nanoseconds for the products of sparse columns: scattered updates, then a blocked factorisation."""
    n, p = X.shape
    return float(40.0 * float(X.nnz) ** 2 / max(n, 1) + p**3 / 30 + 100.0 * p * p)


def _step_cost(X: Any) -> float:
    """Predict the nanoseconds for one step of conjugate gradients: two products and some vectors."""
    return float(4.0 * X.nnz + 10.0 * sum(X.shape) + 1e5)


def is_square_affordable(X: Any, n_used: int) -> bool:
    """Say whether the products of the columns are the way to go."""
    p = X.shape[1]
    if p > LARGEST_SQUARE or (p > 2048 and 6 * 8 * p * p > available_memory()):
        return False
    if isinstance(X, np.ndarray):
        return bool(n_used > p or p <= 64)  # with an intercept, p rows determine p - 1 columns
    return bool(p <= LARGEST_SQUARE // 2)


def _learn_source(model: Any, source: Source, y: Any, sample_weight: Any, settings: Settings) -> None:
    require_fit_source(model, source, y, sample_weight)
    model._validate_params()  # noqa: SLF001
    schema = source.schema
    require_source_target(model, source)
    require_products(schema.n_features + schema.n_targets, "Choose fewer features=.")
    learn_columns(model, schema.n_features, schema.names, reset=True)
    _from_source(model, source, settings, flat=schema.n_targets == 1)


def require_products(q: int, instead: str) -> None:
    """Refuse products of ``q`` columns that would not fit into memory: the statistic, twice while merging, and a factor."""
    require_memory(6 * 8 * q * q, f"The {q} x {q} matrix of products of columns and targets", instead)


def _parts(X: Any, y: Array, weight: Array | None) -> ArraySource | None:
    """Cut a large table for the first pass, by its shape alone, so that Ctrl-C finds whole parts of it; None for others."""
    n, q = X.shape[0], X.shape[1] + y.shape[1]
    if n < 2 * PART_ROWS or not isinstance(X, np.ndarray):
        return None
    count = int(n // max(PART_ROWS, PART_WORK / q**2))
    return ArraySource(X, y, weight, chunk_rows=-(-n // count)) if count > 1 else None


def _from_source(
    model: Any, source: Source, settings: Settings, *, flat: bool, parts: ArraySource | None = None
) -> None:
    """Fold the source into moments and solve; Ctrl-C or a callback leaves the model of the rows seen so far.

    ``parts`` are the same rows, cut for the first pass alone.
    """
    early: Interrupted | Stopped | None = None
    try:
        moments = fold(parts or source, Moments.of, name=type(model).__name__, verbose=settings.verbose)
    except (Interrupted, Stopped) as stopped:
        if stopped.statistic is None or stopped.statistic.rows == 0:
            raise
        early, moments = stopped, stopped.statistic
    else:
        try:
            relearn(model, moments, settings, flat=flat, source=source)
        except (Interrupted, Stopped) as stopped:
            early = stopped  # in a later pass: the statistic is whole, and solved without the rows
    if early is not None:
        is_interrupt = isinstance(early, KeyboardInterrupt)
        relearn(model, moments, settings, flat=flat, outcome="interrupted" if is_interrupt else "stopped")
        if is_interrupt:
            raise early


def relearn(
    model: Any,
    moments: Moments,
    settings: Settings,
    *,
    flat: bool,
    source: Source | None = None,
    outcome: str = "solved",
) -> None:
    """Solve from a statistic and store the model; ``source`` is there when its rows can be read again."""
    if moments.rows == 0:
        msg = f"{type(model).__name__} has no row of positive weight to learn from."
        raise InvalidData(msg)
    penalty = settings.penalty(moments.n_features, moments.n_targets)
    seen = fingerprint_of(moments)
    if source is not None:
        require_range(source, seen, centred=settings.intercept)
    if settings.prior is not None:
        require_prior(penalty, seen)
    with one_blas_thread(moments.scatter.size):
        single = None if source is None else settings.single(source.schema.dtype)
        fit = from_moments(moments, penalty, intercept=settings.intercept, source=source, single=single)
    _store(model, fit, settings, seen, flat=flat, outcome=outcome, moments=moments)


def _iterate(
    model: Any,
    X: Any,
    y: Array,
    weight: Array | None,
    settings: Settings,
    *,
    start: Any,
    flat: bool,
    budget: float,
) -> bool:
    """Solve by products alone; False, and nothing stored, when the tolerance is not met within ``budget`` steps."""
    n, p = X.shape
    penalty = settings.penalty(p, y.shape[1])
    limit = settings.max_iter or max(1000, 10 * min(n, p))
    steps = int(min(limit, budget))
    with Progress(type(model).__name__, steps, verbose=settings.verbose) as progress:
        options: dict[str, Any] = {
            "tol": settings.tol, "max_iter": steps, "progress": progress, "single": settings.single(X.dtype)
        }  # fmt: skip
        if n < p and start is None and np.all(penalty.alpha > 0):
            wide = Wide.of(X, y, weight, intercept=settings.intercept)
            seen = fingerprint(X, y, weight)
            require_range(ArraySource(X, y, weight), seen, centred=settings.intercept)
            require_prior(penalty, seen)
            fit, taken = from_wide_products(wide, penalty, **options)
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # refused in words right below
                problem = Products.of(X, y, weight, intercept=settings.intercept)
                # the intercept has means and lengths known already; targets were summed about their first row
                about = np.concatenate([np.zeros(p), y[0]])
                known = settings.intercept
                seen = with_rounding(problem.fingerprint(), n, about) if known else fingerprint(X, y, weight)
            require_range(ArraySource(X, y, weight), seen, centred=settings.intercept)
            require_prior(penalty, seen)
            if start is not None:
                start = np.atleast_2d(start).T
                start = start.astype(np.float64) if start.shape == penalty.prior.shape else None
            fit, taken = from_products(problem, penalty, start=start, **options)
    if fit.outcome == "max_iter" and steps < limit:
        return False
    fit = replace(fit, proof=replace(fit.proof, rank=_largest_rank(penalty, seen, intercept=settings.intercept)))
    _store(model, fit, settings, seen, flat=flat, outcome=fit.outcome, n_iter=max(taken, 1))
    if fit.outcome == "interrupted":
        raise KeyboardInterrupt
    return True


def _largest_rank(penalty: Penalty, seen: Fingerprint, *, intercept: bool) -> int:
    """Return how many directions a fit by products can have determined: all under a penalty, else as many as the rank allows."""
    p = len(penalty.prior)
    if np.all(penalty.alpha > 0):
        return p
    squares = seen.spread if intercept else seen.spread + seen.weight * seen.mean**2
    return min(seen.rows - intercept, int(np.count_nonzero(squares[:p])))


def _store(
    model: Any,
    fit: Fit,
    settings: Settings,
    seen: Fingerprint,
    *,
    flat: bool,
    outcome: str = "solved",
    n_iter: int = 1,
    moments: Moments | None = None,
) -> None:
    proof = fit.proof
    require_finite_objective(type(model).__name__, proof.objective, proof.null_objective, proof.gap)
    model.coef_ = np.ascontiguousarray(fit.w[:, 0] if flat else fit.w.T, dtype=fit.dtype)
    if settings.intercept:
        model.intercept_ = float(fit.b[0]) if flat else fit.b
    else:
        model.intercept_ = 0.0
    model.n_iter_ = n_iter
    model.rank_ = proof.rank
    model.solver_used_ = fit.solver
    model.squared_residuals_ = float(fit.squares[0]) if flat else fit.squares
    model.__dict__.pop("moments_", None)
    if moments is not None:
        model.moments_ = moments
    model.certificate_ = LeastSquaresCertificate(
        gap=proof.gap,
        rounding=proof.rounding,
        objective=proof.objective,
        null_objective=proof.null_objective,
        backward_error=proof.backward_error,
        tol=float(settings.tol),
        radius=proof.radius,
        condition=proof.condition,
        rank=proof.rank,
        outcome=outcome,
        fingerprint=seen,
    )
    if not model.certificate_.reached and (settings.strict or outcome == "max_iter"):
        more = "max_iter or tol" if outcome == "max_iter" else "tol"
        tell_unreached(
            f"{type(model).__name__} stopped at a relative gap of {model.certificate_.relative_gap:.2e}, above tol="
            f"{settings.tol:.1e}. The model so far is stored; raise {more}",
            strict=settings.strict,
        )
