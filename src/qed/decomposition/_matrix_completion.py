r"""Matrix completion: the missing entries of a table of low rank."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.core import KW_ONLY, Array, InvalidData, NonNegative, NonNegativeInt, PositiveInt, Transformer, fitted, param
from qed.core._events import STOP, Progress
from qed.core._interruptible import interruptible
from qed.core._shared_params import VERBOSE
from qed.core._threads import one_blas_thread
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.decomposition._proof import product_rounding
from qed.designs._range import fingerprint, require_range

LOOK = 5  # steps between two looks at the gap, each of which costs about as much as a step
SAME = 1e-10  # share of the largest singular value below which a direction is rounding
AT_ONCE = 1 << 22  # numbers of a block of normal equations


class MatrixCompletion(Transformer, allow_nan=True):
    r"""Matrix completion: fills missing entries by a matrix of small nuclear norm that approximates the known entries.

    Objective
    ---------
    .. math:: \min_Z \tfrac12 \sum_{(i, j) \in \Omega} (x_{ij} - z_{ij})^2 + \alpha \|Z\|_*

    over all tables Z, with :math:`\Omega` the entries that are there and the nuclear norm, the sum of the singular values, which
    keeps the rank low. It is convex. With ``center`` the mean of what is there is subtracted from each column first.

    Certificate
    -----------
    DualityGapCertificate: no table lowers the objective by more than ``gap``, by a dual point: what is left of the entries that are
    there, shrunk until its largest singular value is at most alpha.

    Cost
    ----
    O(n p min(n, p)) a step, for eigenvectors of the smaller square of the table; one copy of the table and of what is missing.

    Notes
    -----
    Missing entries are NaN. A step fills them with what the last one found, and shrinks all singular values by alpha (soft-impute),
    with momentum that starts again where the objective would rise. Rows are completed by ridge regression of their entries on
    ``components_``: for rows of the fit that is Z itself, and new rows are completed in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import MatrixCompletion
    >>> X = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0])
    >>> X[1, 2] = np.nan
    >>> MatrixCompletion(alpha=0.01, center=False).fit_transform(X)[1].round(1)
    array([2., 4., 6.])
    """

    alpha: NonNegative = param(1.0, "Strength of the nuclear norm: the larger, the lower the rank.")
    _: KW_ONLY
    center: bool = param(True, "Whether to subtract the mean of what is there from each column first.")
    max_iter: PositiveInt = param(1000, "Most steps.")
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to the objective of a table of zeros.")
    verbose: NonNegativeInt = VERBOSE

    components_: Array = fitted(
        "Right singular vectors, times the roots of the singular values, shape (k, p).", shape="(n_components_, p)"
    )
    mean_: Array = fitted("What is subtracted from each column, shape (p,).", shape="(p,)")
    singular_values_: Array = fitted(
        "Singular values of the completed table, largest first, shape (k,).",
        shape="(n_components_,)",
        low=0,
        answers=False,
    )
    n_components_: int = fitted("Rank of the completed table.", low=0)
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)
    certificate_: DualityGapCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the completed table.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, with NaN where an entry is missing.
        """
        x = np.array(self._fit_data(X).X, dtype=np.float64, order="C")
        there = ~np.isnan(x)
        empty = np.flatnonzero(~there.any(axis=0))
        if len(empty):
            raise InvalidData(
                f"Column {empty[0]} has no entry that is there, so nothing can be said of it. Leave it out."
            )
        x[~there] = 0.0
        seen = fingerprint(np.hstack([x, there]), np.empty((len(x), 0)), None)
        require_range(ArraySource(x, None, None), fingerprint(x, np.empty((len(x), 0)), None), centred=False)
        self.mean_ = np.sum(x, axis=0) / np.sum(there, axis=0) if self.center else np.zeros(x.shape[1])
        x = np.where(there, x - self.mean_, 0.0)
        Z, outcome = self._descend(x, there)
        self._store(x, there, Z, outcome, seen)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _descend(self, x: Array, there: Array) -> tuple[Array, str]:
        """Shrink singular values again and again; return the table and how it ended."""
        alpha, null = float(self.alpha), float(np.sum(x * x)) / 2
        Z = ahead = np.zeros_like(x)
        weight, value, self.n_iter_ = 1.0, np.inf, 0
        try:
            with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress:
                for step in range(self.max_iter):
                    after, norm = _shrunk(np.where(there, x, ahead), alpha)
                    rest = np.where(there, x - after, 0.0)
                    new = float(np.sum(rest * rest)) / 2 + alpha * norm
                    self.n_iter_ = step + 1
                    if new > value and ahead is not Z:  # momentum overshot
                        ahead, weight = Z, 1.0
                        continue
                    following = (1 + np.sqrt(1 + 4 * weight**2)) / 2
                    ahead, Z, weight = after + (weight - 1) / following * (after - Z), after, following
                    still, value = new >= value, new
                    if still or (step % LOOK == LOOK - 1 and _gap(rest, Z, norm, alpha) <= self.tol / 2 * null):
                        return Z, "solved"
                    if progress.step(value) is STOP:
                        return Z, "stopped"
        except KeyboardInterrupt:
            return Z, "interrupted"
        return Z, "max_iter"

    def _store(self, x: Array, there: Array, Z: Array, outcome: str, seen: Any) -> None:
        """Keep the factor of the columns, complete the rows from it, and say how far the result can be from the best."""
        with one_blas_thread(Z.size):
            _, values, Vt = interruptible(
                lambda: np.linalg.svd(Z, full_matrices=False), work=14.0 * Z.size * min(Z.shape)
            )
        used = values > SAME * max(float(values[0]), np.finfo(np.float64).tiny)
        sign = np.where(Vt[np.arange(len(Vt)), np.argmax(np.abs(Vt), axis=1)] < 0, -1.0, 1.0)
        self.components_ = np.ascontiguousarray((np.sqrt(values) * sign)[used, None] * Vt[used])
        self.singular_values_, self.n_components_ = values[used], int(np.sum(used))
        own = self._completed(x, there)
        rest = np.where(there, x - own, 0.0)
        alpha, null = float(self.alpha), float(np.sum(x * x)) / 2
        with one_blas_thread(Z.size):
            norm = float(np.sum(np.linalg.svd(own, compute_uv=False)))
        objective = float(np.sum(rest * rest)) / 2 + alpha * norm
        rounding = 64 * product_rounding(sum(x.shape)) * max(null, objective)
        self.certificate_ = DualityGapCertificate(
            gap=_gap(rest, own, norm, alpha) + rounding,
            rounding=rounding,
            objective=objective,
            null_objective=null,
            tol=float(self.tol),
            radius=np.inf,
            outcome=outcome,
            fingerprint=seen,
        )

    def _completed(self, x: Array, there: Array) -> Array:
        """Return the ridge regression of what is there of each row on the components, for all columns."""
        B, (n, p) = self.components_, x.shape
        k = len(B)
        if not k:
            return np.zeros((n, p))
        squares = np.ascontiguousarray((B[:, None] * B).reshape(k * k, p).T)
        right = _kernels.product(x, np.ascontiguousarray(B.T))
        scores, step = np.empty((n, k)), max(1, AT_ONCE // (k * k))
        ridge = max(float(self.alpha), SAME * float(np.max(np.sum(B * B, axis=1)))) * np.eye(k)
        for first in range(0, n, step):
            some = slice(first, first + step)
            G = _kernels.product(there[some].astype(np.float64), squares).reshape(-1, k, k) + ridge
            scores[some] = np.linalg.solve(G, right[some, :, None])[:, :, 0]
        return _kernels.product(scores, B)

    def transform(self, X: Any) -> Any:
        """Return rows with their missing entries filled; entries that are there stay as they are.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, with NaN where an entry is missing.

        Returns
        -------
        ndarray of shape (n, p)
            In the type of X.
        """
        X = self._new_data(X)
        there = ~np.isnan(X)
        return np.where(there, X, self._expected(X).astype(X.dtype, copy=False))

    def reconstruct(self, X: Any) -> Array:
        """Return what the model expects of all entries of rows, those that are there included.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, with NaN where an entry is missing.

        Returns
        -------
        ndarray of shape (n, p)
            Doubles.
        """
        return self._expected(self._new_data(X))

    def _expected(self, X: Array) -> Array:
        x = np.asarray(X, dtype=np.float64)
        there = ~np.isnan(x)
        return self._completed(np.where(there, x - self.mean_, 0.0), there) + self.mean_


def _square(A: Array) -> Array:
    """Return the smaller of A'A and AA'."""
    return _kernels.adjoint(A, A) if A.shape[0] >= A.shape[1] else _kernels.product(A, np.ascontiguousarray(A.T))


def _shrunk(A: Array, alpha: float) -> tuple[Array, float]:
    """Return a table with all singular values less alpha, at least zero; and their sum."""
    G = _square(A)
    with one_blas_thread(G.size):
        squares, vectors = interruptible(np.linalg.eigh, G, work=9.0 * len(G) ** 3)
    values = np.sqrt(np.maximum(squares, 0.0))
    kept = values > max(alpha, SAME * float(values[-1]))
    V = np.ascontiguousarray(vectors[:, kept])
    less = V * (1 - alpha / values[kept])
    if A.shape[0] >= A.shape[1]:
        return _kernels.product(_kernels.product(A, less), np.ascontiguousarray(V.T)), float(
            np.sum(values[kept] - alpha)
        )
    return _kernels.product(less, _kernels.adjoint(V, A)), float(np.sum(values[kept] - alpha))


def _gap(rest: Array, Z: Array, norm: float, alpha: float) -> float:
    """Bound what other tables gain, by what is left of the entries that are there, shrunk to a dual point."""
    G = _square(rest)
    with one_blas_thread(G.size):
        most = np.sqrt(max(float(np.linalg.eigvalsh(G)[-1]), 0.0)) if G.any() else 0.0
    share = min(1.0, alpha / most) if most > 0 else 1.0
    return (1 - share) ** 2 * float(np.sum(rest * rest)) / 2 + max(alpha * norm - share * float(np.vdot(rest, Z)), 0.0)
