"""Principal components in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (read from the annotation)
from typing import Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import SubspaceCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    Seed,
    Traits,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._memory import require_memory
from qed.core._threads import one_blas_thread
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.decomposition._learn import VALUES_CONVERGED
from qed.decomposition._proof import product_rounding
from qed.decomposition._solve import Components, Search, from_columns, from_similarities
from qed.designs._range import fingerprint, require_range
from qed.metrics import pairwise_kernels

WORST_CONDITION = 1e12  # rounding then adds a ten-thousandth of what the regression leaves over to the rows given back
FORMED = 500  # rows up to which all pairs of a kernel are found


def _have_its_rows(model: Any, rows: Any) -> str:
    return "" if len(rows) == len(model.kernel_means_) else f"should be of {len(model.kernel_means_)} rows"


class KernelPCA(Transformer, min_samples=2):
    r"""Kernel PCA: principal components in the feature space of a kernel.

    Objective
    ---------
    .. math:: \max_{A^\top \tilde K A = I_k} \operatorname{tr} A^\top \tilde K \tilde K A, \qquad \tilde K = J K J, \;
        J = I - \tfrac{1}{n} 1 1^\top

    The best columns of A are eigenvectors v of the centred kernel divided by the square roots of their eigenvalues
    :math:`\lambda`; the scores of the rows are :math:`\sqrt{\lambda} \, v`, and those of a new row are its centred kernel values
    times A.

    Certificate
    -----------
    SubspaceCertificate: no k directions of the feature space leave out less of the sum of squares of the rows, about their
    mean there, by more than this.

    Cost
    ----
    O(n^2 p) for the kernel; O(n^2) a product for few components, O(n^3) for all. A kernel that is not known to be positive
    semidefinite takes a Cholesky factor as well, n^3 / 3. Memory of 16 n^2 bytes, 24 n^2 with that factor, refused beforehand
    where they do not fit. A new row costs O(n p).

    Notes
    -----
    ``eigen_solver`` is a hint: few components of many rows are found by products with the kernel until they have converged, all
    of them by a dense solver. The largest entry of each eigenvector is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import KernelPCA
    >>> angle = np.linspace(0, 6, 40)
    >>> rings = np.vstack([r * np.column_stack([np.cos(angle), np.sin(angle)]) for r in (1.0, 3.0)])
    >>> scores = KernelPCA(2, kernel="rbf", gamma=0.5).fit_transform(rings)
    >>> scores.shape
    (80, 2)
    """

    n_components: PositiveInt | None = param(None, "How many components; None for all with an eigenvalue above zero.")
    _: KW_ONLY
    kernel: Literal["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed"] | Callable[..., Any] = (
        param("linear", "Kernel: a name, a function of two rows, or 'precomputed' where X is the kernel itself.")
    )
    gamma: NonNegative | None = param(
        None, "Rate of rbf, poly, sigmoid and laplacian; None means one over the columns."
    )
    degree: NonNegative = param(3, "Degree of poly.")
    coef0: Annotated[float, Number()] = param(1, "Constant of poly and sigmoid.")
    kernel_params: dict[str, Any] | None = param(None, "Further arguments of a kernel that is a function.")
    alpha: Positive = param(1.0, "Penalty strength of the regression that gives rows back from scores.")
    fit_inverse_transform: bool = param(
        False, "Whether to learn ``inverse_transform``: rows as a regression on scores."
    )
    eigen_solver: Literal["auto", "dense", "arpack", "randomized"] = param(
        "auto", "Solver asked for; see Notes.", kind="hint"
    )
    tol: NonNegative = param(
        0.0, "Residual at which products stop, relative to the largest eigenvalue; 0 means at eight digits."
    )
    max_iter: PositiveInt | None = param(None, "Most steps of scikit-learn's iterative solver.", kind="hint")
    iterated_power: NonNegativeInt | Literal["auto"] = param(
        "auto", "Products that scikit-learn's randomised solver takes.", kind="hint"
    )
    remove_zero_eig: bool = param(False, "Whether components without variance are left out; those of None always are.")
    random_state: Seed = param(None, "Seed of random vectors; no component depends on it beyond the certificate.")
    copy_X: bool = param(True, "Whether ``X_fit_`` is a copy of X; it always is.", kind="hint")
    n_jobs: Annotated[int, Number(whole=True)] | None = param(None, "Threads that scikit-learn takes.", kind="hint")

    eigenvalues_: Array = fitted("Eigenvalues of the centred kernel, largest first, shape (k,).", shape="(c,)", low=0)
    eigenvectors_: Array = fitted("Its eigenvectors, shape (n, k).", shape="(n, c)")
    X_fit_: Array = fitted("The rows of the fit, or their kernel.", shape="(n, p)", check=_have_its_rows)
    kernel_means_: Array = fitted("Mean of the kernel over the rows, for each row, shape (n,).", shape="(n,)")
    kernel_mean_: float = fitted("Mean of these.")
    gamma_: float = fitted("Rate that was used.", low=0)
    dual_coef_: Array = fitted("Coefficients of the regression that gives rows back.", shape="(n, p)", optional=True)
    X_transformed_fit_: Array = fitted("Scores of the rows, for that regression.", shape="(n, c)", optional=True)
    solver_used_: str = fitted("What components were found from: 'columns' or 'krylov'.", answers=False)
    certificate_: SubspaceCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return super()._traits()._replace(pairwise=self.kernel == "precomputed")

    def _kernel(self, rows: Array, others: Array | None) -> Array:
        if callable(self.kernel):
            options = self.kernel_params or {}
        else:
            options = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        K = pairwise_kernels(rows, others, metric=self.kernel, filter_params=True, **options)
        if not np.isfinite(K).all():
            raise InvalidData(
                "The kernel holds NaN or infinity. Scale the columns, or choose a smaller gamma or degree."
            )
        return np.asarray(K, dtype=np.float64)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the components.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or the kernel of shape (n, n)
            Rows, at least two.
        """
        data = self._fit_data(X)
        rows = np.array(data.X, dtype=np.float64)
        n = len(rows)
        seen = fingerprint(data.X, np.empty((n, 0)), None)
        require_range(ArraySource(data.X, None, None), seen)
        copies = 2 if self._is_inner_product() else 3  # with its Cholesky factor
        require_memory(
            8 * copies * n * n,
            f"The kernel of {n} x {n} numbers",
            "Fit a sample of the rows, and transform the others.",
        )
        self.gamma_ = 1.0 / rows.shape[1] if self.gamma is None else float(self.gamma)
        K = rows if self.kernel == "precomputed" else self._kernel(rows, None)
        self.X_fit_ = rows
        self.kernel_means_ = np.mean(K, axis=0)
        self.kernel_mean_ = float(np.mean(self.kernel_means_))
        found = self._search(K)
        self._store(found, seen)
        if self.fit_inverse_transform:
            self._learn_inverse(rows)
        else:
            self.__dict__.pop("dual_coef_", None)
            self.__dict__.pop("X_transformed_fit_", None)
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _search(self, K: Array) -> Components:
        n = len(K)
        k = n if self.n_components is None else min(self.n_components, n)
        total = float(np.trace(K)) - n * self.kernel_mean_
        with Progress(type(self).__name__) as progress, one_blas_thread():
            search = Search(
                known=k,
                choose=len,
                rng=lambda: generator(self.random_state),
                progress=progress,
                tol=self.tol or VALUES_CONVERGED,
            )
            rounding = 8 * product_rounding(n) * float(np.sum(np.abs(np.diag(K))))
            if n > FORMED and 4 * k < n:

                def apply(Q: Array) -> Array:
                    Q = Q - np.mean(Q, axis=0)
                    image = _kernels.product(K, Q)
                    return np.asarray(image - np.mean(image, axis=0))

                found = from_similarities(apply, n, max(total, 0.0), search)
                if found.least < -_negligible(total, rounding):
                    raise _negative(found.least, total)
                if not self._is_inner_product():  # the least of leading pairs is only above the least of all
                    _require_positive(self._centred(K), max(total, 0.0), rounding)
                return found
            centred = self._centred(K)
            _require_positive(centred, max(total, 0.0), rounding)
            return from_columns(centred, rounding, search)

    def _is_inner_product(self) -> bool:
        """Tell whether the kernel is known to be positive semidefinite for any rows, so that no factor has to show it."""
        if self.kernel == "poly":  # a sum of powers of the linear kernel, with coefficients >= 0
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return self.kernel in ("linear", "rbf", "cosine", "laplacian")

    def _centred(self, K: Array) -> Array:
        centred = K - self.kernel_means_
        centred -= self.kernel_means_[:, None]
        centred += self.kernel_mean_
        return np.asarray(centred)

    def _store(self, found: Components, seen: Any) -> None:
        noise = 64 * len(found.components[0]) * np.finfo(np.float64).eps * max(float(found.values[0]), 0.0)
        kept = len(found.values)
        if self.n_components is None or self.remove_zero_eig:
            kept = max(int(np.count_nonzero(found.values > noise)), 1)
        values = np.where(found.values > noise, found.values, 0.0)[:kept]
        proof = found.proof
        self.eigenvalues_ = values
        self.eigenvectors_ = np.ascontiguousarray(found.components[:kept].T)
        self.solver_used_ = found.solver
        rest = max(found.total - float(np.sum(values)), 0.0)
        slack = float(np.sum(found.values) - np.sum(values)) + len(values) * noise
        self.certificate_ = SubspaceCertificate(
            gap=proof.gap + slack,
            rounding=proof.rounding + slack,
            objective=rest if rest > slack + proof.rounding + 1e-9 * found.total else 0.0,
            null_objective=found.total,
            variance_error=proof.error + noise,
            backward_error=proof.residual + noise / found.total if found.total > 0 else 0.0,
            orthogonality=proof.orthogonality,
            confidence=proof.confidence,
            tol=float(self.tol),
            outcome=found.outcome,
            fingerprint=seen,
            what="sum of squares in feature space",
        )

    def _learn_inverse(self, rows: Array) -> None:
        if self.kernel == "precomputed":
            raise InvalidData("Cannot fit_inverse_transform with a precomputed kernel: there are no rows to give back.")
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        K = self._kernel(scores, None)
        if np.linalg.norm(K) > WORST_CONDITION * self.alpha:
            raise InvalidData(
                f"The regression that gives rows back is too ill-conditioned: the kernel of the scores has a norm of"
                f" {np.linalg.norm(K):.3g}, and alpha={self.alpha:g}. Scale the columns, or raise alpha, or lower gamma."
            )
        K.flat[:: len(K) + 1] += self.alpha
        with one_blas_thread():
            self.dual_coef_ = np.linalg.solve(K, rows)
        self.X_transformed_fit_ = scores

    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def transform(self, X: Any) -> Any:
        """Return the scores of rows along the components.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), or the kernel between rows and those of the fit, (m, n)
            Rows.

        Returns
        -------
        ndarray of shape (m, k)
            In the type of X.
        """
        X = self._new_data(X)
        rows = np.asarray(X, dtype=np.float64)
        K = rows if self.kernel == "precomputed" else self._kernel(rows, self.X_fit_)
        K = K - self.kernel_means_ - np.mean(K, axis=1, keepdims=True) + self.kernel_mean_
        is_positive = self.eigenvalues_ > 0
        scale = np.where(is_positive, 1 / np.sqrt(np.where(is_positive, self.eigenvalues_, 1.0)), 0.0)
        return _kernels.product(K, self.eigenvectors_ * scale).astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows whose scores are near the given ones, by a ridge regression on the scores of the fit (pre-images).

        Parameters
        ----------
        X : array-like of shape (m, k)
            Scores.

        Returns
        -------
        ndarray of shape (m, p)
            Rows.
        """
        self._check_is_fitted()
        if not self.fit_inverse_transform:
            raise InvalidData(
                "The fit_inverse_transform parameter was not set to True when instantiating, so this KernelPCA has not learnt to"
                " give rows back. Set it, and fit again."
            )
        scores = np.asarray(X, dtype=np.float64)
        if scores.ndim != 2 or scores.shape[1] != len(self.eigenvalues_):
            raise InvalidData(f"KernelPCA has {len(self.eigenvalues_)} components, got scores of shape {scores.shape}.")
        return _kernels.product(self._kernel(scores, self.X_transformed_fit_), self.dual_coef_)


def _negligible(total: float, rounding: float) -> float:
    """Return how far below zero an eigenvalue may be: centring cancels where rows are far from the origin of feature space."""
    return 1e-7 * max(total, 0.0) + rounding + 1e-300


def _require_positive(centred: Array, total: float, rounding: float) -> None:
    allowed = _negligible(total, rounding)
    diagonal = centred.diagonal().copy()
    np.fill_diagonal(centred, diagonal + allowed)  # in place: another n by n numbers might not fit
    factorises = _kernels.factorises(centred)
    np.fill_diagonal(centred, diagonal)
    if factorises:
        return
    least = float(np.min(np.linalg.eigvalsh(centred)))
    if least < -allowed:
        raise _negative(least, total)


def _negative(least: float, total: float) -> InvalidData:
    return InvalidData(
        f"The kernel has significant negative eigenvalues ({least:.3g} of a total of {total:.3g}): it is no inner product."
        " Choose another kernel, or other parameters."
    )
