"""Principal components of rows that come in batches."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from qed.core import KW_ONLY, Array, PositiveInt, generator, param
from qed.core._shared_params import COPY_X
from qed.core._validation import is_source
from qed.data import ArraySource
from qed.decomposition._learn import learn, learn_source, merge
from qed.decomposition._principal import PrincipalComponents


class IncrementalPCA(PrincipalComponents):
    r"""Incremental PCA: principal components of rows that come in batches; the same model as PCA of all rows.

    Objective
    ---------
    .. math:: \min_{V V^\top = I_k} \frac{1}{n - 1} \sum_i \left\| (x_i - \mu) - V^\top V (x_i - \mu) \right\|^2

    over all rows seen so far, :math:`\mu` being their mean. Means and products of columns are kept and merged, so nothing is lost
    between batches: their order and size do not matter.

    Certificate
    -----------
    SubspaceCertificate: no k directions leave out less of the variance of all rows by more than this.

    Cost
    ----
    O(b p^2) a batch of b rows, O(p^3) for the directions; memory 48 p^2 bytes, however many rows come.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import PCA, IncrementalPCA
    >>> X = np.random.default_rng(0).normal(size=(300, 4)) * [3.0, 2.0, 1.0, 0.5]
    >>> batches = IncrementalPCA(2, batch_size=50).fit(X)
    >>> bool(np.allclose(batches.components_, PCA(2).fit(X).components_))
    True
    """

    # what the solver of principal components asks of every model
    svd_solver: ClassVar[str] = "covariance_eigh"
    tol: ClassVar[float] = 1e-4
    n_oversamples: ClassVar[int] = 10
    iterated_power: ClassVar[str] = "auto"

    n_components: PositiveInt | None = param(None, "How many components to keep; None for all.")
    _: KW_ONLY
    whiten: bool = param(False, "Whether to divide coordinates by their deviations, so that their variances are one.")
    copy: bool = COPY_X
    batch_size: PositiveInt | None = param(
        None, "Rows that ``fit`` takes at a time; None for five times the columns. The model does not depend on it."
    )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the directions, batch by batch."""
        rng = partial(generator, 0)
        if is_source(X):
            learn(self, X, None, rng)
            return self
        data = self._fit_data(X)
        rows = self.batch_size or 5 * data.X.shape[1]
        learn_source(self, ArraySource(data.X, None, None, chunk_rows=rows), rng)
        return self

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> Self:  # noqa: ARG002
        """Take further rows in: the result is that of a fit to all rows seen so far.

        Parameters
        ----------
        check_input : bool
            Input is always validated; here because scikit-learn has it.
        """
        known = self._statistic() if self.__sklearn_is_fitted__() else None
        merge(self, X, None, partial(generator, 0), known)
        return self

    @property
    def n_samples_seen_(self) -> int | float:
        """Rows seen so far."""
        self._check_is_fitted()
        return self.n_samples_

    @property
    def batch_size_(self) -> int:
        """Rows that ``fit`` takes at a time."""
        self._check_is_fitted()
        return int(self.batch_size or 5 * len(self.mean_))

    @property
    def var_(self) -> Array:
        """Variance of each column over all rows seen, with divisor n, shape (p,)."""
        return np.asarray(self._statistic().scatter.diagonal() / self.n_samples_)
