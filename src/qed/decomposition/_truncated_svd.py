"""The largest singular values of a table, without centring it."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import SubspaceCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._tables import is_sparse
from qed.data import ArraySource
from qed.decomposition import _kernels
from qed.decomposition._learn import SIDE, SQUARE, VALUES_CONVERGED
from qed.decomposition._proof import product_rounding
from qed.decomposition._rows import Rows
from qed.decomposition._solve import Components, Search, from_columns, from_products, from_rows
from qed.designs._range import fingerprint, require_range


class TruncatedSVD(Transformer, sparse=True):
    r"""Truncated singular value decomposition (SVD, latent semantic analysis): PCA without centring, for sparse tables.

    Also known as latent semantic analysis, of tables of word counts. Sparse tables stay sparse.

    Objective
    ---------
    .. math:: \min_{V V^\top = I_k} \sum_i \left\| x_i - V^\top V x_i \right\|^2

    the sum of squares that k orthonormal directions leave out. The best ones are the right singular vectors of the largest
    singular values, and what they leave out is the sum of the squares of the others (Eckart and Young).

    Certificate
    -----------
    SubspaceCertificate: no k directions leave out less of the sum of squares by more than this.

    Cost
    ----
    O(nnz(X)) for each of some dozen blocks of vectors; O((n + p) k) beyond X. Sparse rows are read once for both products of a
    block of eight vectors. Of tables with at most 500 rows or columns all
    singular values are found, from their products.

    Notes
    -----
    scikit-learn's default takes a fixed number of steps and stops short of the best directions; here steps go on until the
    singular values have converged. The largest entry of each direction is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import TruncatedSVD
    >>> X = np.outer([1.0, 2.0, 2.0], [3.0, 4.0]) + [[0.0, 0.1], [0.0, 0.0], [0.1, 0.0]]
    >>> TruncatedSVD(1).fit(X).components_.round(3)
    array([[0.602, 0.799]])
    """

    n_components: PositiveInt = param(2, "How many components to keep.")
    _: KW_ONLY
    algorithm: Literal["randomized", "arpack"] = param(
        "randomized", "How the directions are found; both give the same ones. See ``solver_used_``.", kind="hint"
    )
    n_iter: NonNegativeInt = param(
        5, "Steps that scikit-learn's randomised solver takes; here they go on until convergence.", kind="hint"
    )
    n_oversamples: PositiveInt = param(
        10, "Vectors beyond the components in scikit-learn's randomised solver.", kind="hint"
    )
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = param(
        "auto", "How scikit-learn keeps the vectors of a block apart; here they are made orthonormal.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the random vectors; no component depends on it beyond the certificate.")
    tol: NonNegative = param(
        0.0,
        "Residual at which steps stop, relative to the largest squared singular value; 0 means when singular values are right"
        " to about eight digits.",
    )

    components_: Array = fitted("Directions, largest singular value first, shape (k, p).", shape="(n_components, p)")
    singular_values_: Array = fitted("The singular values, shape (k,).", shape="(n_components,)", low=0)
    explained_variance_: Array = fitted(
        "Variance of the coordinates of the rows, shape (k,).", shape="(n_components,)", low=0
    )
    explained_variance_ratio_: Array = fitted(
        "The same as shares of the total variance, shape (k,).", shape="(n_components,)", low=0
    )
    solver_used_: str = fitted("What the directions were found from: 'columns', 'rows' or 'krylov'.", answers=False)
    certificate_: SubspaceCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the directions."""
        self._learn(self._fit_data(X).X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Find the directions, and return the coordinates of the rows along them.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        table = self._fit_data(X).X
        return self._learn(table).astype(table.dtype, copy=False)

    def _learn(self, X: Any) -> Array:
        n, p = X.shape
        if self.n_components > p:
            raise InvalidParameter(f"n_components({self.n_components}) must be <= n_features({p}).")
        seen = fingerprint(X, np.empty((n, 0)), None)
        require_range(ArraySource(X, None, None), seen, centred=False)
        squares = seen.spread + n * seen.mean**2
        found = self._search(X, squares)
        scores = Rows.of(X, None, np.zeros(p)).forward(found.components.T)
        variances = np.var(scores, axis=0)
        whole = float(np.sum(seen.spread)) / n
        proof = found.proof
        self.components_ = found.components
        self.singular_values_ = np.sqrt(found.values)
        self.explained_variance_ = variances
        self.explained_variance_ratio_ = variances / whole if whole > 0 else np.zeros_like(variances)
        self.solver_used_ = found.solver
        self.certificate_ = SubspaceCertificate(
            gap=proof.gap,
            rounding=proof.rounding,
            objective=max(found.total - proof.captured, 0.0),
            null_objective=found.total,
            variance_error=proof.error,
            backward_error=proof.residual,
            orthogonality=proof.orthogonality,
            confidence=proof.confidence,
            tol=float(self.tol),
            outcome=found.outcome,
            fingerprint=seen,
            what="sum of squares",
        )
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        return scores

    def _search(self, X: Any, squares: Array) -> Components:
        n, p = X.shape
        rows, total = Rows.of(X, None, np.zeros(p)), float(np.sum(squares))
        with Progress(type(self).__name__) as progress:
            search = Search(
                known=self.n_components,
                choose=len,
                rng=lambda: generator(self.random_state),
                progress=progress,
                tol=self.tol or VALUES_CONVERGED,
            )
            sparse = is_sparse(X)
            if p <= n and (p <= SIDE or (sparse and p <= SQUARE)):
                return from_columns(rows.plain.gram(), product_rounding(n) * total, search)
            if n < p and n <= SIDE and not sparse:
                return from_rows(rows, squares, search, full=False)
            return from_products(rows, squares, search)

    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Any:
        """Return the coordinates of rows along the directions.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        return _kernels.mapped(self._new_data(X), self.components_.T)

    def inverse_transform(self, X: Any) -> Array:
        """Return rows from their coordinates: the nearest ones within the directions.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Coordinates, as ``transform`` gives them.

        Returns
        -------
        ndarray of shape (n, p)
            Rows, in the type of the coordinates.
        """
        self._check_is_fitted()
        given = np.asarray(X)
        given = given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
        if given.ndim != 2 or given.shape[1] != len(self.components_):
            raise InvalidData(
                f"TruncatedSVD has {len(self.components_)} components, got coordinates of shape {given.shape}."
            )
        return _kernels.mapped(given, self.components_)
