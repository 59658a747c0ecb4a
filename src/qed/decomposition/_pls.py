r"""Partial least squares and canonical correlation: two tables, described by pairs of directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import SubspaceCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegative,
    PositiveInt,
    Regressor,
    Transformer,
    _targets,
    fitted,
    param,
)
from qed.decomposition import _kernels
from qed.decomposition._two_tables import TwoTables, correlated, covarying

if TYPE_CHECKING:
    from qed.decomposition._two_tables import Pairs

COVARIANCES = "squared covariance of both tables, of each pair that before it left"
CORRELATIONS = "squared canonical correlations"

N_COMPONENTS = param(2, "How many pairs of directions.")
SCALE = param(True, "Whether to divide columns of X and y by their standard deviations, with divisor n - 1.")
MAX_ITER = param(500, "Most power iterations of scikit-learn; here pairs are exact.", kind="hint")
COPY = param(True, "Whether the given arrays must stay as they are; they always do.", kind="hint")


def certificate(tables: TwoTables, found: Pairs, what: str, tol: float) -> SubspaceCertificate:
    """State what is known of pairs."""
    return SubspaceCertificate(
        gap=found.gap,
        rounding=found.gap,
        objective=found.left,
        null_objective=found.total,
        variance_error=found.gap,
        backward_error=found.residual,
        orthogonality=found.orthogonality,
        confidence=1.0,
        tol=tol,
        outcome="solved",
        fingerprint=tables.seen,
        what=what,
    )


class CrossDecomposition(Regressor, Transformer, multi_output=True, min_samples=2, poor_score=True):
    """What models of two tables share: scores of both, rows from scores, and predictions of one table by the other."""

    if TYPE_CHECKING:
        n_components: int
        scale: bool
        tol: float

    x_weights_: Array = fitted(
        "Weights of the columns of X, one column for each pair, shape (p, c).", shape="(p, n_components)"
    )
    y_weights_: Array = fitted("Weights of the targets, shape (m, c).", shape="(m, n_components)")
    x_loadings_: Array = fitted(
        "What a unit of each score of X explains of its columns, shape (p, c).", shape="(p, n_components)"
    )
    y_loadings_: Array = fitted(
        "What a unit of each score explains of the targets, shape (m, c).", shape="(m, n_components)"
    )
    x_rotations_: Array = fitted("Map from standardised rows to scores, shape (p, c).", shape="(p, n_components)")
    y_rotations_: Array = fitted("Map from standardised targets to scores, shape (m, c).", shape="(m, n_components)")
    coef_: Array = fitted("Coefficients of the centred columns, shape (m, p).", shape="(m, p)")
    intercept_: Array = fitted("Mean of each target: what centred columns are added to, shape (m,).", shape="(m,)")
    x_mean_: Array = fitted("Mean of each column, shape (p,).", shape="(p,)")
    x_std_: Array = fitted("What each column is divided by, shape (p,).", shape="(p,)", above=0)
    y_std_: Array = fitted("What each target is divided by, shape (m,).", shape="(m,)", above=0)
    one_target_: bool = fitted("Whether y was one number for each row, as predictions then are.")
    n_iter_: list[int] = fitted("Solves of each pair: one, exact.", low=1, length="n_components", answers=False)
    certificate_: SubspaceCertificate = fitted("What is proven about the fit.")

    def _most(self, n: int, p: int, q: int) -> int:
        """Return how many pairs there can be."""
        return min(n, p, q)

    def _find(self, tables: TwoTables) -> tuple[Pairs, str]:
        """Return the pairs, and what they leave little of."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Find pairs of directions.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Targets: the second table.
        """
        data = self._fit_data(X, y)
        tables = TwoTables.of(data.X, data.y, scale=self.scale)
        k = int(self.n_components)
        tables.require_components(k, self._most(data.n_rows, len(tables.X.mean), len(tables.Y.mean)))
        found, what = self._find(tables)
        self.x_weights_, self.y_weights_ = found.x_weights, found.y_weights
        self.x_loadings_, self.y_loadings_ = found.x_loadings, found.y_loadings
        self.x_rotations_, self.y_rotations_ = found.x_rotations, found.y_rotations
        self.x_mean_, self.x_std_ = tables.X.mean.copy(), tables.X.scale
        self.intercept_, self.y_std_ = tables.Y.mean.copy(), tables.Y.scale
        joined = _kernels.product(found.x_rotations, np.ascontiguousarray(found.y_loadings.T))
        self.coef_ = np.ascontiguousarray((joined * self.y_std_).T / self.x_std_)
        self.one_target_ = data.y.ndim == 1
        self.n_iter_ = [1] * k
        self.certificate_ = certificate(tables, found, what, float(self.tol))
        return self

    def _n_features_out(self) -> int:
        return int(self.x_rotations_.shape[1])

    def _targets_of(self, y: Any, n: int) -> Array:
        given = _targets.read_numbers(y, n, self._traits(), type(self).__name__).reshape(n, -1)
        if given.shape[1] != len(self.intercept_):
            raise InvalidData(
                f"y has {given.shape[1]} targets, and {type(self).__name__} was fitted with {len(self.intercept_)}."
            )
        return np.asarray(given, dtype=np.float64)

    def transform(self, X: Any, y: Any = None, copy: bool = True) -> Any:  # noqa: ARG002
        """Return scores of rows, and of targets where these are given.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m), optional
            Targets.
        copy : bool
            Not looked at: nothing that is given is written over.

        Returns
        -------
        ndarray of shape (n, c), or a pair of them
            In the type of X; those of targets as doubles.
        """
        X = self._new_data(X)
        scores = _kernels.mapped(X, self.x_rotations_ / self.x_std_[:, None], None, self.x_mean_)
        if y is None:
            return scores
        own = (self._targets_of(y, X.shape[0]) - self.intercept_) / self.y_std_
        return scores, _kernels.mapped(own, self.y_rotations_)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]
        """Find pairs of directions, and return the scores of rows and targets.

        Returns
        -------
        pair of ndarray of shape (n, c)
            Scores of rows and of targets.
        """
        return self.fit(X, y).transform(X, y)

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Return rows from their scores, and targets from theirs where these are given.

        Parameters
        ----------
        X : array-like of shape (n, c)
            Scores of rows.
        y : array-like of shape (n, c), optional
            Scores of targets.

        Returns
        -------
        ndarray of shape (n, p), or a pair with one of shape (n, m)
            In the type of the scores.
        """
        self._check_is_fitted()
        rows = self._back(X, self.x_loadings_, self.x_std_, self.x_mean_)
        return rows if y is None else (rows, self._back(y, self.y_loadings_, self.y_std_, self.intercept_))

    def _back(self, given: Any, loadings: Array, deviation: Array, mean: Array) -> Array:
        scores = np.asarray(given)
        scores = scores if scores.dtype in (np.float32, np.float64) else scores.astype(np.float64)
        if scores.ndim != 2 or scores.shape[1] != loadings.shape[1]:
            raise InvalidData(
                f"{type(self).__name__} has {loadings.shape[1]} components, got scores of shape {scores.shape}."
            )
        return _kernels.mapped(scores, np.ascontiguousarray((loadings * deviation[:, None]).T), mean)

    def predict(self, X: Any, copy: bool = True) -> Array:  # noqa: ARG002
        """Predict targets.

        Parameters
        ----------
        copy : bool
            Not looked at: nothing that is given is written over.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            In the type of X.
        """
        told = _kernels.mapped(self._new_data(X), np.ascontiguousarray(self.coef_.T), self.intercept_, self.x_mean_)
        return told[:, 0] if self.one_target_ else told


class PLSRegression(CrossDecomposition):
    r"""Partial least squares (PLS) regression: regression on a few directions of largest covariance with the targets.

    Objective
    ---------
    .. math:: \max_{\|w\| = \|v\| = 1} w^\top X_j^\top Y_j v, \qquad X_{j+1} = X_j - t p^\top, \quad Y_{j+1} = Y_j - t q^\top,
        \quad t = X_j w

    for one pair after the other, with p and q the least-squares coefficients of both tables on t. Both tables are centred, and
    divided by their standard deviations with ``scale``. Targets are then predicted from the scores.

    Certificate
    -----------
    SubspaceCertificate: no other pair of directions leaves out less of the squared covariances of what pairs before it left, by
    more than ``gap``, summed over pairs.

    Cost
    ----
    Two passes over X for each pair; O(n (k + m)) memory beyond X, which is not copied.

    See Also
    --------
    CCA : Pairs of largest correlation.
    PLSCanonical : Takes from y what its own scores explain.

    Notes
    -----
    Each pair is found exactly, by eigenvectors of the smaller square of the covariance; scikit-learn stops a power method at
    ``tol``. Where fewer pairs exist than asked for, because nothing is left that varies together, the last ones are zero. The
    largest weight of each column of ``x_weights_`` is positive.

    Examples
    --------
    >>> from qed.cross_decomposition import PLSRegression
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> PLSRegression(n_components=2).fit(X, y).predict(X).round(1)
    array([[ 0.3,  0.2],
           [ 0.6,  0.5],
           [ 6.5,  6.5],
           [11.8, 12. ]])
    """

    n_components: PositiveInt = N_COMPONENTS
    _: KW_ONLY
    scale: bool = SCALE
    max_iter: PositiveInt = MAX_ITER
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to all squared covariances.")
    copy: bool = COPY

    def _most(self, n: int, p: int, q: int) -> int:  # noqa: ARG002
        return min(n, p)

    def _find(self, tables: TwoTables) -> tuple[Pairs, str]:
        return covarying(tables, self.n_components, symmetric=False), COVARIANCES


class PLSCanonical(CrossDecomposition):
    r"""Canonical partial least squares: pairs of directions of largest covariance, with each table deflated by its own scores.

    Objective
    ---------
    .. math:: \max_{\|w\| = \|v\| = 1} w^\top X_j^\top Y_j v, \qquad X_{j+1} = X_j - t p^\top, \quad Y_{j+1} = Y_j - u q^\top,
        \quad t = X_j w, \; u = Y_j v

    for one pair after the other, with p and q the least-squares coefficients of each table on its own scores. Both tables are
    centred, and divided by their standard deviations with ``scale``.

    Certificate
    -----------
    SubspaceCertificate: no other pair of directions leaves out less of the squared covariances of what pairs before it left, by
    more than ``gap``, summed over pairs.

    Cost
    ----
    Two passes over X for each pair; O(n (k + m)) memory beyond X, which is not copied.

    See Also
    --------
    PLSSVD : All pairs at once, without taking anything away between them.

    Notes
    -----
    Each pair is found exactly; ``algorithm`` chooses nothing. Where fewer pairs exist than asked for, the last ones are zero.

    Examples
    --------
    >>> from qed.cross_decomposition import PLSCanonical
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> scores, _ = PLSCanonical(n_components=2).fit_transform(X, y)
    >>> scores.round(2)
    array([[-1.4 , -0.12],
           [-1.2 ,  0.17],
           [ 0.56, -0.1 ],
           [ 2.03,  0.05]])
    """

    n_components: PositiveInt = N_COMPONENTS
    _: KW_ONLY
    scale: bool = SCALE
    algorithm: Literal["nipals", "svd"] = param("nipals", "How scikit-learn finds a pair; here exactly.", kind="hint")
    max_iter: PositiveInt = MAX_ITER
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to all squared covariances.")
    copy: bool = COPY

    def _find(self, tables: TwoTables) -> tuple[Pairs, str]:
        return covarying(tables, self.n_components, symmetric=True), COVARIANCES


class CCA(CrossDecomposition):
    r"""Canonical correlation analysis: pairs of directions along which two tables are most correlated.

    Objective
    ---------
    .. math:: \max_{a, b} \operatorname{corr}(X a, Y b)

    for one pair after the other, with scores uncorrelated to those of the pairs before. Both tables are centred, and divided by
    their standard deviations with ``scale``, which changes directions and not correlations.

    Certificate
    -----------
    SubspaceCertificate: no directions, as many as these, leave out less of the squared canonical correlations by more than ``gap``;
    each of ``correlations_`` is off by at most the stated error.

    Cost
    ----
    O(n (p + m)^2) for the triangular factor of both tables, whose singular vectors are all that is needed; O((p + m)^2) memory, or
    that of both tables where rows are fewer than columns.

    See Also
    --------
    PLSCanonical : Largest covariance instead of correlation; for more columns than rows.

    Notes
    -----
    Correlations are found by one decomposition (Björck and Golub), not by iterations. ``x_weights_`` are the directions made
    orthonormal in their order, as scikit-learn's are. Directions of a table that are rounding, below 2e-10 of the largest, are
    dropped; pairs beyond the rank of a table are zero.

    Examples
    --------
    >>> from qed.cross_decomposition import CCA
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [3.0, 5.0, 4.0]]
    >>> y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> CCA(n_components=1).fit(X, y).correlations_.round(3)
    array([1.])
    """

    n_components: PositiveInt = N_COMPONENTS
    _: KW_ONLY
    scale: bool = SCALE
    max_iter: PositiveInt = MAX_ITER
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to all squared correlations.")
    copy: bool = COPY

    correlations_: Array = fitted(
        "Canonical correlation of each pair, largest first, shape (c,).",
        shape="(n_components,)",
        low=0,
        high=1,
        answers=False,
    )

    def _find(self, tables: TwoTables) -> tuple[Pairs, str]:
        found, self.correlations_ = correlated(tables, self.n_components)
        return found, CORRELATIONS
