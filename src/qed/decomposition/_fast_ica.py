"""Independent component analysis."""

from __future__ import annotations

import warnings
from collections.abc import Callable  # noqa: TC003  (read from an annotation)
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import StationaryCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    Matrix,
    NonNegative,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.decomposition import _independent as steps
from qed.decomposition import _kernels
from qed.decomposition._latent import Spread
from qed.designs._range import fingerprint, require_range

if TYPE_CHECKING:
    from qed.certificates import Fingerprint

TURN = "rotation of the sources"
LEAST_VARIANCE = 1e-12  # of the largest: directions with less are rounding, and nothing to divide by


@dataclass(frozen=True, eq=False)
class _Sources:
    """What was found: whitening K (k, p), unmixing W (k, k) of white rows, their mean, and how it went."""

    K: Array | None
    W: Array
    Z: Array
    mean: Array | None
    fixed: steps.Fixed
    objective: float
    size: float
    seen: Fingerprint


class FastICA(Transformer, min_samples=2):
    r"""Independent component analysis (FastICA): separates mixed signals into non-Gaussian sources.

    Objective
    ---------
    .. math:: \operatorname{stat}_{W W^\top = I} \sum_i s_i E\, G(w_i^\top z), \qquad z = K (x - \mu)

    a stationary point of the mean contrast of the sources over white rows z, that is a solution of the equations :math:`s_i
    E[g(y_i) y_j] = s_j E[g(y_j) y_i]`, with :math:`g = G'` and :math:`s_i` the sign of :math:`E[g(y_i) y_i] - E[g'(y_i)]`
    (``algorithm="parallel"``), or :math:`E[g(y_i) y_j] = 0` for all later j (``"deflation"``). Mixtures are nearer to normal than
    what was mixed, so sources are found up to order, sign and size.

    Certificate
    -----------
    StationaryCertificate: the sum of the squares of what these equations lack. No rotation of the sources can lower it below zero,
    so that it bounds itself; ``null_objective`` is the sum of squares of all moments.

    Cost
    ----
    O(npk) to whiten and O(nk^2) a step; O(nk) memory beyond X. One pass over white rows computes all moments of a step.

    Notes
    -----
    Of many rows a random eighth is used first; steps on all rows begin where those end, and few are left to take. ``n_iter_``
    counts the passes over all rows. With ``algorithm="parallel"`` the sources with the largest contrast to a normal variable come
    first. The largest entry of each row of ``components_`` is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import FastICA
    >>> sources = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> X = sources @ [[1.0, 0.4], [0.3, 1.0]]
    >>> found = FastICA(random_state=0).fit_transform(X)
    >>> np.abs(np.corrcoef(found.T, sources.T)[:2, 2:]).round(1).max(axis=0)
    array([1., 1.])
    """

    n_components: PositiveInt | None = param(None, "How many sources; None for as many as rows or columns allow.")
    _: KW_ONLY
    algorithm: Literal["parallel", "deflation"] = param(
        "parallel", "Whether sources are found all at once, or one after the other."
    )
    whiten: Literal["arbitrary-variance", "unit-variance", False] = param(
        "unit-variance",
        "Whether sources have variance one, variance one over the number of rows ('arbitrary-variance'), or rows are white already"
        " and are not centred (False).",
    )
    fun: Literal["logcosh", "exp", "cube"] | Callable[..., Any] = param(
        "logcosh",
        "Slope g of the contrast: a name, or a function that returns g(x) and the mean of g'(x) along the last axis.",
    )
    fun_args: dict[str, Any] | None = param(None, "Arguments of ``fun``: 'alpha' between 1 and 2 for 'logcosh'.")
    max_iter: PositiveInt = param(200, "Most steps.")
    tol: NonNegative = param(1e-4, "Turn of a direction in a step, as one less its cosine, at which to stop.")
    w_init: Matrix | None = param(None, "Unmixing to begin with, shape (k, k); None for a random one.")
    whiten_solver: Literal["svd", "eigh"] = param(
        "svd", "How scikit-learn whitens; here by the smaller of two squares.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the start, and of the rows that are used first.")

    components_: Array = fitted("Unmixing of centred rows, shape (k, p).", shape="(c, p)")
    mixing_: Array = fitted("Pseudo-inverse of ``components_``, shape (p, k).", shape="(p, c)")
    mean_: Array = fitted("Mean of each column, shape (p,); only if ``whiten`` is set.", shape="(p,)", optional=True)
    whitening_: Array = fitted(
        "Map to white rows, shape (k, p); only if ``whiten`` is set.", shape="(c, p)", optional=True, answers=False
    )
    n_iter_: int = fitted("Passes over all rows.", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the sources."""
        self._learn(self._fit_data(X).X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Find the sources, and return those of the rows.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        table = self._fit_data(X).X
        self._learn(table)
        return _kernels.mapped(table, np.ascontiguousarray(self.components_.T), None, self.__dict__.get("mean_"))

    def _learn(self, X: Any) -> None:
        found = _search(self, X)
        n = len(found.Z)
        W = found.W if self.whiten == "unit-variance" or found.K is None else found.W / np.sqrt(n)
        self.components_ = W if found.K is None else _kernels.product(W, found.K)
        # the largest entry of each row is positive: nothing else tells a source from its opposite
        rows = np.arange(len(self.components_))
        largest = self.components_[rows, np.argmax(np.abs(self.components_), axis=1)]
        self.components_ = np.ascontiguousarray(self.components_ * np.where(largest < 0, -1.0, 1.0)[:, None])
        self.mixing_ = np.linalg.pinv(self.components_, rcond=1e-15)
        for name, value in (("mean_", found.mean), ("whitening_", found.K)):
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)
        self.n_iter_ = found.fixed.steps
        rounding = 64 * (len(W) + 8) * np.sqrt(n) * UNIT * found.size
        self.certificate_ = StationaryCertificate(
            gap=found.objective + rounding,
            rounding=rounding,
            radius=0.0,
            objective=found.objective,
            null_objective=found.size,
            curvature=0.0,
            tol=float(self.tol),
            outcome=found.fixed.outcome,
            fingerprint=found.seen,
            step=TURN,
        )
        if found.fixed.outcome == "interrupted":
            raise KeyboardInterrupt

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any, copy: bool = True) -> Any:  # noqa: ARG002  (scikit-learn's signature)
        """Return the sources of rows.

        Parameters
        ----------
        copy : bool
            Whether X may not be written over; it never is.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        return _kernels.mapped(X, np.ascontiguousarray(self.components_.T), None, self.__dict__.get("mean_"))

    def inverse_transform(self, X: Any, copy: bool = True) -> Array:  # noqa: ARG002
        """Return rows from their sources: mixed again.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Sources.
        copy : bool
            Whether X may not be written over; it never is.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the sources.
        """
        self._check_is_fitted()
        given = np.asarray(X)
        given = given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
        if given.ndim != 2 or given.shape[1] != len(self.components_):
            raise InvalidData(f"FastICA has {len(self.components_)} sources, got an array of shape {given.shape}.")
        return _kernels.mapped(given, np.ascontiguousarray(self.mixing_.T), self.__dict__.get("mean_"))


def _search(model: Any, X: Any) -> _Sources:
    contrast = steps.contrast_of(model.fun, model.fun_args)
    Z, K, mean, seen = _white(model, X)
    k, rng = Z.shape[1], generator(model.random_state)
    start = rng.standard_normal((k, k)) if model.w_init is None else np.array(model.w_init, dtype=np.float64)
    if start.shape != (k, k):
        raise InvalidParameter(f"w_init has invalid shape -- should be {(k, k)}, got {start.shape}.")
    rule = (int(model.max_iter), float(model.tol))
    with Progress(type(model).__name__) as progress:
        if model.algorithm == "parallel":
            fixed = steps.all_at_once(Z, start, contrast, rule, progress, rng)
        else:
            fixed = steps.one_by_one(Z, steps.orthonormal(start), contrast, rule, progress)
    W, now = fixed.W, steps.moments(Z, fixed.W, contrast)
    objective, size = steps.imbalance(now, W, model.algorithm)
    if model.algorithm == "parallel":
        W = W[_order(now, model.fun, contrast[2])]
    return _Sources(K, np.ascontiguousarray(W), Z, mean, fixed, objective, size, seen)


def _white(model: Any, X: Any) -> tuple[Array, Array | None, Array | None, Fingerprint]:
    """Return white rows, the map to them, the mean, and the rows' fingerprint."""
    n, p = X.shape
    if not model.whiten:
        if model.n_components is not None:
            warnings.warn("Ignoring n_components with whiten=False.", UserWarning, stacklevel=4)
        seen = fingerprint(X, np.empty((n, 0)), None)
        require_range(ArraySource(X, None, None), seen, centred=False)
        return np.ascontiguousarray(X, dtype=np.float64), None, None, seen
    most = min(n, p)
    k = most if model.n_components is None else int(model.n_components)
    if k > most:
        warnings.warn(f"n_components is too large: it will be set to {most}", UserWarning, stacklevel=4)
        k = most
    spread = Spread.of(X)
    unit = float(np.mean(spread.variance)) or 1.0
    values, V = spread.leading(np.full(p, unit), k)
    if not values[-1] > LEAST_VARIANCE * max(values[0], np.finfo(np.float64).tiny):
        rank = int(np.sum(values > LEAST_VARIANCE * values[0])) if values[0] > 0 else 0
        if rank == 0:
            raise InvalidData("FastICA found no variance in any column: all rows are the same, and nothing was mixed.")
        values, V = values[:rank], V[:rank]
    K = np.ascontiguousarray(V / np.sqrt(unit * values)[:, None])
    Z = _kernels.mapped(np.asarray(X, dtype=np.float64), np.ascontiguousarray(K.T), None, spread.seen.mean)
    return Z, K, spread.seen.mean.copy(), spread.seen


NORMAL: dict[str, float] = {  # E G(v) for a standard normal v; by quadrature where there is no formula
    "exp": -(0.5**0.5),
    "cube": 0.75,
}


def _order(now: steps.Moments, fun: Any, a: float) -> Any:
    """Return the order of sources by how far their contrast is from that of a normal variable, largest first."""
    if not isinstance(fun, str):
        return np.arange(len(now.values))
    return np.argsort(-np.abs(now.values - _of_normal(fun, a)), kind="stable")


@lru_cache(maxsize=8)  # the nodes of the quadrature would take a third of a small fit
def _of_normal(fun: str, a: float) -> float:
    if fun in NORMAL:
        return NORMAL[fun]
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    size = np.abs(a * nodes)
    values: Array = weights * (size + np.log1p(np.exp(-2 * size)) - np.log(2))
    return float(values.sum()) / float(weights.sum()) / a


def fastica(
    X: Any,
    n_components: int | None = None,
    *,
    algorithm: Literal["parallel", "deflation"] = "parallel",
    whiten: Literal["arbitrary-variance", "unit-variance", False] = "unit-variance",
    fun: Any = "logcosh",
    fun_args: dict[str, Any] | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: Any = None,
    whiten_solver: Literal["svd", "eigh"] = "svd",
    random_state: Any = None,
    return_X_mean: bool = False,
    compute_sources: bool = True,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """Independent component analysis: the function behind ``FastICA``.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    n_components, algorithm, whiten, fun, fun_args, max_iter, tol, w_init, whiten_solver, random_state : object
        As for `FastICA`.
    return_X_mean : bool
        Whether to return the mean of the columns as well.
    compute_sources : bool
        Whether to return the sources of the rows; None stands in their place otherwise.
    return_n_iter : bool
        Whether to return the number of passes over the rows as well.

    Returns
    -------
    K : ndarray of shape (k, p) or None
        Whitening; None if ``whiten`` is False.
    W : ndarray of shape (k, k)
        Unmixing of white rows: ``W @ K`` unmixes centred ones.
    S : ndarray of shape (n, k) or None
        Sources.
    X_mean : ndarray of shape (p,)
        If asked for.
    n_iter : int
        If asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import fastica
    >>> X = np.random.default_rng(0).uniform(size=(500, 2)) @ [[1.0, 0.5], [0.2, 1.0]]
    >>> K, W, S = fastica(X, random_state=0)
    >>> bool(np.allclose(S, (X - X.mean(axis=0)) @ (W @ K).T))
    True
    """
    model = FastICA(
        n_components, algorithm=algorithm, whiten=whiten, fun=fun, fun_args=fun_args, max_iter=max_iter, tol=tol,
        w_init=w_init, whiten_solver=whiten_solver, random_state=random_state,
    ).fit(X)  # fmt: skip
    K = model.__dict__.get("whitening_")
    W = model.components_ if K is None else np.linalg.lstsq(K.T, model.components_.T, rcond=None)[0].T
    told: list[Any] = [K, W, model.transform(X) if compute_sources else None]
    told += [model.__dict__.get("mean_")] if return_X_mean else []
    return tuple(told + ([model.n_iter_] if return_n_iter else []))
