"""Partial least squares by one singular value decomposition."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import SubspaceCertificate  # noqa: TC001  (read from the annotation)
from qed.core import KW_ONLY, Array, InvalidData, PositiveInt, Transformer, _targets, fitted
from qed.core._interruptible import interruptible
from qed.core._threads import one_blas_thread
from qed.data._kernels import UNIT
from qed.decomposition import _kernels
from qed.decomposition._pls import COPY, N_COMPONENTS, SCALE, certificate
from qed.decomposition._two_tables import Pairs, TwoTables

COVARIANCE = "squared covariance of both tables"


class PLSSVD(Transformer, target="number", multi_output=True, min_samples=2):
    r"""Partial least squares by the singular value decomposition of the cross-covariance of two tables.

    Objective
    ---------
    .. math:: \max_{W^\top W = V^\top V = I} \sum_j (w_j^\top C v_j), \qquad C = X^\top Y / (n - 1)

    Both tables are centred, and divided by their standard deviations with ``scale``. The best directions are singular vectors of C.

    Certificate
    -----------
    SubspaceCertificate: no directions, as many as these, leave out less of the squared covariance of both tables by more than
    ``gap``; each of ``covariances_`` is a singular value within the stated error.

    Cost
    ----
    One pass over X, and O(p m min(p, m)) for the decomposition; O(nm + pm) memory beyond X.

    See Also
    --------
    PLSCanonical : Takes away what each pair explains before the next.

    Examples
    --------
    >>> from qed.cross_decomposition import PLSSVD
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> PLSSVD(n_components=2).fit(X, y).covariances_.round(3)
    array([2.276, 0.005])
    """

    n_components: PositiveInt = N_COMPONENTS
    _: KW_ONLY
    scale: bool = SCALE
    copy: bool = COPY

    x_weights_: Array = fitted("Left singular vectors, shape (p, c).", shape="(p, n_components)")
    y_weights_: Array = fitted("Right singular vectors, shape (m, c).", shape="(m, n_components)")
    covariances_: Array = fitted(
        "Covariance of each pair of scores, largest first, shape (c,).", shape="(n_components,)", low=0, answers=False
    )
    x_mean_: Array = fitted("Mean of each column, shape (p,).", shape="(p,)")
    x_std_: Array = fitted("What each column is divided by, shape (p,).", shape="(p,)", above=0)
    y_mean_: Array = fitted("Mean of each target, shape (m,).", shape="(m,)")
    y_std_: Array = fitted("What each target is divided by, shape (m,).", shape="(m,)", above=0)
    certificate_: SubspaceCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any) -> Self:
        """Find pairs of directions.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Targets: the second table.
        """
        data = self._fit_data(X, y)
        tables = TwoTables.of(data.X, data.y, scale=self.scale)
        n, k = data.n_rows, int(self.n_components)
        tables.require_components(k, min(*tables.X.values.shape, tables.Y.values.shape[1]))
        C = tables.X.adjoint(tables.Y.standardised()) / (n - 1)
        with one_blas_thread(C.size):
            U, values, Vt = interruptible(
                lambda: np.linalg.svd(C, full_matrices=False), work=14.0 * C.size * min(C.shape)
            )
            sign = np.where(U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])] < 0, -1.0, 1.0)
            W, V = np.ascontiguousarray((U * sign)[:, :k]), np.ascontiguousarray((Vt.T * sign)[:, :k])
            off = np.hypot(np.linalg.norm(C @ V - W * values[:k]), np.linalg.norm(C.T @ W - V * values[:k]))
            skew = float(np.hypot(np.linalg.norm(W.T @ W - np.eye(k)), np.linalg.norm(V.T @ V - np.eye(k))))
        size = float(np.prod(tables.lengths)) / (n - 1)
        rounding_error = (tables.rounding + (C.size + 8) * UNIT) * size
        total = float(np.sum(values**2))
        none = np.empty((0, 0))
        pairs = Pairs(
            W, V, none, none, none, none,
            left=float(np.sum(values[k:] ** 2)),
            total=total,
            gap=4 * rounding_error * np.sqrt(min(C.shape) * total),
            residual=float(off + rounding_error) / size if size > 0 else 0.0,
            orthogonality=skew + (sum(C.shape) + 8) * UNIT * k,
        )  # fmt: skip
        self.x_weights_, self.y_weights_, self.covariances_ = W, V, values[:k].copy()
        self.x_mean_, self.x_std_ = tables.X.mean.copy(), tables.X.scale
        self.y_mean_, self.y_std_ = tables.Y.mean.copy(), tables.Y.scale
        self.certificate_ = certificate(tables, pairs, COVARIANCE, 1e-4)
        return self

    def _n_features_out(self) -> int:
        return int(self.x_weights_.shape[1])

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return scores of rows, and of targets where these are given.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m), optional
            Targets.

        Returns
        -------
        ndarray of shape (n, c), or a pair of them
            In the type of X; those of targets as doubles.
        """
        X = self._new_data(X)
        scores = _kernels.mapped(X, self.x_weights_ / self.x_std_[:, None], None, self.x_mean_)
        if y is None:
            return scores
        n = X.shape[0]
        given = _targets.read_numbers(y, n, self._traits(), type(self).__name__).reshape(n, -1)
        if given.shape[1] != len(self.y_mean_):
            raise InvalidData(f"y has {given.shape[1]} targets, and PLSSVD was fitted with {len(self.y_mean_)}.")
        own = (np.asarray(given, dtype=np.float64) - self.y_mean_) / self.y_std_
        return scores, _kernels.mapped(own, self.y_weights_)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]
        """Find pairs of directions, and return the scores of rows and targets.

        Returns
        -------
        pair of ndarray of shape (n, c)
            Scores of rows and of targets.
        """
        return self.fit(X, y).transform(X, y)
