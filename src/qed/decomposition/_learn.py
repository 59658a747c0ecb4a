"""From rows to a fitted PCA: which way is cheapest, and what is stored."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import SubspaceCertificate
from qed.core import ForgetError, InvalidData
from qed.core._events import Progress
from qed.core._memory import available_memory, require_memory
from qed.core._tables import is_sparse
from qed.core._validation import is_source, learn_columns
from qed.data import ArraySource, Chunk, Interrupted, Moments, Stopped, fold
from qed.decomposition import _kernels
from qed.decomposition._choose import count, known_count
from qed.decomposition._rows import Rows
from qed.decomposition._solve import Components, Search, from_columns, from_products, from_rows
from qed.designs._range import fingerprint, fingerprint_of, require_merged_range, require_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from qed.certificates import Fingerprint
    from qed.core import Array, FitData
    from qed.data import Source


SIDE = 500  # of a table beyond which a few components are found by products alone
SQUARE = 2000  # columns of a sparse table whose products are formed
VALUES_CONVERGED = 1e-4  # residual at which 'auto' stops: values are right to about its square
PART_ROWS = 1 << 17  # of a table that is read in parts, so that Ctrl-C finds whole parts of it


def learn(model: Any, X: Any, sample_weight: Any, rng: Callable[[], Generator]) -> None:
    """Fit ``model`` on a table or a source."""
    if is_source(X):
        learn_source(model, _read_source(model, X, sample_weight, reset=True), rng)
        return
    data = model._fit_data(X, None, sample_weight, finite=False)  # noqa: SLF001
    n = data.n_rows if data.weight is None else int(np.count_nonzero(data.weight))
    p = data.X.shape[1]
    weight = float(n) if data.weight is None else float(data.weight.sum())
    k = known_count(model.n_components, _limit(n, weight, p), model.svd_solver, sparse=is_sparse(data.X))
    way = _way(data.X, n, k, model.svd_solver, model.n_oversamples)
    try:
        if way in ("columns", "full columns"):
            learn_source(
                model, _source(data), rng, factor=data if way == "full columns" else None, sparse=is_sparse(data.X)
            )
            return
        data.raise_if_not_finite()
    except InvalidData:
        data.raise_if_not_finite()  # says so with the name of the column
        raise
    _learn_rows(model, data, n, way, rng)


def merge(
    model: Any,
    X: Any,
    sample_weight: Any,
    rng: Callable[[], Generator],
    known: Moments | None,
    *,
    takes_out: bool = False,
) -> None:
    """Fit ``model`` on the rows of ``known`` together with these, or without them."""
    source: Any
    if is_source(X):
        source = _read_source(model, X, sample_weight, reset=known is None)
    else:
        data = model._fit_data(X, None, sample_weight, finite=False, reset=known is None)  # noqa: SLF001
        source = _source(data)
    _require_products(source.schema.n_features)
    moments = fold(source, _moments, name=type(model).__name__)
    if takes_out and known is not None:
        left = known.subtract(moments)
        if left.rows == 0:
            raise ForgetError(
                f"These are all the rows that {type(model).__name__} has learnt. A model of no rows is a new model: make one."
            )
        moments = left
    else:
        require_range(source, fingerprint_of(moments))
        if known is not None and known.rows and moments.rows:
            with np.errstate(over="ignore", invalid="ignore"):  # refused in words right below
                merged = known.merge(moments)
            require_merged_range(known, moments, merged)
            moments = merged
    _solve_columns(model, moments, rng)


def _limit(n: int, weight: float, p: int) -> int:
    """Return the most components there can be: a row of weight two is two rows."""
    return min(p, max(n, int(weight)))


def _way(X: Any, n: int, k: int | None, solver: str, extra: int) -> str:
    """Choose how components are found."""
    p = X.shape[1]
    side = min(n, p)
    squared = "columns" if n >= p else "rows"
    if solver == "covariance_eigh" or (is_sparse(X) and (p <= SQUARE or k is None)):  # a share needs all variances
        return "columns"
    if is_sparse(X) or (solver == "arpack" and side > SIDE):
        return "products"
    few = k is not None and 1 <= k < 0.8 * side and side > SIDE and 40 * (k + extra) < side
    large = k is not None and k >= 1 and side > 2 * SIDE and 48 * side * side > available_memory()
    if solver == "randomized" and side > SIDE:  # a smaller matrix is formed: its pairs are exact
        few = True
    if solver != "full" and (few or large):
        return "krylov"
    return f"full {squared}" if solver == "full" or (n < 2 * p and max(n, p) <= SIDE) else squared


def _source(data: FitData) -> ArraySource:
    n = data.n_rows
    cut = PART_ROWS if n >= 2 * PART_ROWS and isinstance(data.X, np.ndarray) else None
    return ArraySource(data.X, None, data.weight, chunk_rows=cut)


def _read_source(model: Any, source: Any, sample_weight: Any, *, reset: bool) -> Source:
    if sample_weight is not None:
        raise InvalidData(
            f"{type(model).__name__} got a source of chunks together with sample_weight. A source brings its own weights."
        )
    model._validate_params()  # noqa: SLF001
    schema = source.schema
    learn_columns(model, schema.n_features, schema.names, reset=reset)
    return source  # type: ignore[no-any-return]


def _require_products(p: int) -> None:
    require_memory(6 * 8 * p * p, f"The {p} x {p} matrix of products of columns", "Choose fewer columns.")


def _moments(chunk: Chunk) -> Moments:
    """Return the moments of the features; targets that a source names are not looked at."""
    return Moments.of(chunk if chunk.y is None else Chunk(chunk.X, None, chunk.s, chunk.origin))


def learn_source(
    model: Any, source: Source, rng: Callable[[], Generator], factor: FitData | None = None, *, sparse: bool = False
) -> None:
    """Fold rows into moments and solve; Ctrl-C or a callback leaves the model of the rows seen so far."""
    _require_products(source.schema.n_features)
    try:
        moments = fold(source, _moments, name=type(model).__name__)
    except (Interrupted, Stopped) as early:
        if early.statistic is None or early.statistic.rows < 2:
            raise
        is_interrupt = isinstance(early, KeyboardInterrupt)
        outcome = "interrupted" if is_interrupt else "stopped"
        _solve_columns(model, early.statistic, rng, outcome=outcome, sparse=sparse)
        if is_interrupt:
            raise
        return
    require_range(source, seen := fingerprint_of(moments))
    _solve_columns(model, moments, rng, factor, seen=seen, sparse=sparse)


def _solve_columns(
    model: Any,
    moments: Moments,
    rng: Callable[[], Generator],
    factor: FitData | None = None,
    *,
    seen: Fingerprint | None = None,
    outcome: str = "solved",
    sparse: bool = False,
) -> None:
    p = moments.n_features
    if moments.rows < 2:
        raise InvalidData(
            f"Found array with {moments.rows} sample(s) while a minimum of 2 is required by {type(model).__name__}:"
            " one row has no variance."
        )
    triangle = None
    if factor is not None:
        triangle = _kernels.triangle(*_used(factor), moments.mean)
    with Progress(type(model).__name__) as progress:
        search = _search(model, (moments.rows, moments.weight, p), rng, progress, sparse=sparse)
        search = replace(search, tol=0.0)  # of a matrix that was formed pairs are found to rounding
        found = from_columns(moments.XX, moments.rounding * float(np.sum(moments.peak)), search, triangle)
    model.moments_ = moments
    _store(model, found, seen or fingerprint_of(moments), outcome)


def _used(data: FitData) -> tuple[Any, Array | None]:
    """Return rows of positive weight, and their weights."""
    if data.weight is None or data.weight.all():
        return data.X, data.weight
    used = np.flatnonzero(data.weight)
    return data.X[used], data.weight[used]


def _learn_rows(model: Any, data: FitData, n: int, way: str, rng: Callable[[], Generator]) -> None:
    """Solve without the products of columns."""
    X, weight = _used(data)
    p = X.shape[1]
    seen = fingerprint(X, np.empty((n, 0)), weight)
    require_range(ArraySource(X, None, weight), seen)
    rows = Rows.of(X, weight, seen.mean)
    shift = 0.0 if seen.mean_rounding is None else seen.weight * float(np.sum(seen.mean_rounding**2))
    with Progress(type(model).__name__) as progress:
        power = way == "krylov" and model.svd_solver == "randomized"
        search = _search(model, (n, seen.weight, p), rng, progress, sparse=is_sparse(X), power=power)
        if way == "krylov" and model.svd_solver == "auto":
            search = replace(search, tol=VALUES_CONVERGED)
        if way in ("krylov", "products"):
            found = from_products(rows, seen.spread, search, shift=shift)
        else:
            require_memory(4 * 8 * n * n, f"The {n} x {n} matrix of products of rows", "Ask for few components.")
            found = from_rows(rows, seen.spread, replace(search, tol=0.0), full=way == "full rows", shift=shift)
    model.__dict__.pop("moments_", None)
    _store(model, found, seen, found.outcome)
    if found.outcome == "interrupted":
        raise KeyboardInterrupt


def _search(
    model: Any,
    size: tuple[int, float, int],
    rng: Callable[[], Generator],
    progress: Progress,
    *,
    sparse: bool = False,
    power: bool = False,
) -> Search:
    """Say what is looked for among rows of a number, a weight and a number of columns."""
    n, weight, p = size
    limit = _limit(n, weight, p)
    k = known_count(model.n_components, limit, model.svd_solver, sparse=sparse)
    asked = model.iterated_power
    times = (7 if k is not None and k < 0.1 * min(n, p) else 4) if asked == "auto" else int(asked)
    return Search(
        known=k,
        choose=partial(_chosen, model.n_components, limit, weight, p),
        rng=rng,
        progress=progress,
        oversamples=model.n_oversamples,
        power=times if power else None,
        tol=model.tol,
    )


def _chosen(rule: Any, limit: int, weight: float, p: int, values: Array) -> int:
    variances = values / max(weight - 1, np.finfo(np.float64).tiny)
    return count(rule, variances, limit, weight, p)


def _store(model: Any, found: Components, seen: Fingerprint, outcome: str) -> None:
    weight = seen.weight
    if not weight > 1:
        raise InvalidData(
            f"The weights add up to {weight:.6g}, and variances are divided by that less one: a weight counts rows. Multiply them"
            " so that they add up to the number of rows."
        )
    proof, free = found.proof, weight - 1
    limit = _limit(seen.rows, weight, found.components.shape[1])
    k = len(found.values)
    rest = max(found.total - float(np.sum(found.values)), 0.0)
    model.components_ = found.components
    model.explained_variance_ = found.values / free
    model.explained_variance_ratio_ = found.values / found.total if found.total > 0 else np.zeros(k)
    model.singular_values_ = np.sqrt(found.values)
    model.mean_ = seen.mean.copy()
    model.n_components_ = k
    model.n_samples_ = seen.rows if weight == seen.rows else weight
    model.noise_variance_ = rest / free / (limit - k) if k < limit else 0.0
    model.solver_used_ = found.solver
    model.certificate_ = SubspaceCertificate(
        gap=proof.gap / free,
        rounding=proof.rounding / free,
        objective=max(found.total - proof.captured, 0.0) / free,
        null_objective=found.total / free,
        variance_error=proof.error / free,
        backward_error=proof.residual,
        orthogonality=proof.orthogonality,
        confidence=proof.confidence,
        tol=float(model.tol),
        outcome=outcome,
        fingerprint=seen,
    )
