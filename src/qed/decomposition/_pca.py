"""Principal component analysis."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, Self

from qed.core import (
    KW_ONLY,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveInt,
    Seed,
    Traits,
    generator,
    param,
)
from qed.core._shared_params import COPY_X
from qed.decomposition._learn import learn, merge
from qed.decomposition._principal import PrincipalComponents


class PCA(PrincipalComponents):
    r"""Principal component analysis (PCA): directions of largest variance, and the coordinates of rows along them.

    Objective
    ---------
    .. math:: \min_{V V^\top = I_k} \frac{1}{\sum_i s_i - 1} \sum_i s_i \left\| (x_i - \mu) - V^\top V (x_i - \mu) \right\|^2

    the variance that k orthonormal directions leave out, :math:`\mu` being the mean. The best ones are eigenvectors of the
    covariance for its largest eigenvalues: what is left out is least where what is explained is most.

    Certificate
    -----------
    SubspaceCertificate: no k directions leave out less of the variance by more than this.

    Cost
    ----
    O(np min(n, p)) once, then O(min(n, p)^3), or O(k min(n, p)^2) for few components; by products alone O(npk) a pass. Memory
    beyond X: at most 48 p^2 bytes for a table that is tall, 32 n^2 for a wide one, O((n + p) k) by products alone.

    Notes
    -----
    A tall table is folded into the same statistic as for least squares, so that rows may come in chunks (``qed.scan``), by
    ``partial_fit``, and go by ``forget``: the model is that of all rows at once. The largest entry of each direction is positive.

    A weight counts a row so many times; variances are divided by the sum of weights less one.

    Examples
    --------
    >>> from qed.decomposition import PCA
    >>> X = [[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]]
    >>> model = PCA(1).fit(X)
    >>> model.components_.round(4)
    array([[0.8385, 0.5449]])
    >>> float(model.explained_variance_ratio_[0].round(4))
    0.9924
    """

    n_components: (
        NonNegativeInt | Annotated[float, Number(0, 1, open_low=True, open_high=True)] | Literal["mle"] | None
    ) = param(
        None,
        "How many components to keep: a number; a share of the variance, as a number between 0 and 1; 'mle' for the most probable"
        " number (Minka); None for all.",
    )
    _: KW_ONLY
    copy: bool = COPY_X
    whiten: bool = param(False, "Whether to divide coordinates by their deviations, so that their variances are one.")
    svd_solver: Literal["auto", "full", "covariance_eigh", "arpack", "randomized"] = param(
        "auto",
        "How components are found: 'full' by singular values, 'covariance_eigh' from products of columns, 'arpack' by products"
        " alone until rounding, 'randomized' by ``iterated_power`` of them; 'auto' takes the cheapest. Of small tables all find"
        " the same. See ``solver_used_``.",
    )
    tol: NonNegative = param(
        0.0, "Residual at which 'arpack' stops, relative to the largest variance; 0 means at rounding."
    )
    iterated_power: NonNegativeInt | Literal["auto"] = param(
        "auto", "Products of a block that 'randomized' takes; 'auto' means 7, or 4 for many components."
    )
    n_oversamples: PositiveInt = param(10, "Vectors in a block beyond the components.")
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = param(
        "auto", "How scikit-learn keeps the vectors of a block apart; here they are made orthonormal.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the random vectors; no component depends on it beyond the certificate.")

    def _traits(self) -> Traits:
        return super()._traits()._replace(sparse=self.svd_solver in ("auto", "arpack", "covariance_eigh"))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the directions."""
        learn(self, X, sample_weight, partial(generator, self.random_state))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Take further rows in: the result is that of a fit to all rows seen so far."""
        known = self._statistic() if self.__sklearn_is_fitted__() else None
        merge(self, X, sample_weight, partial(generator, self.random_state), known)
        return self

    def forget(self, X: Any, sample_weight: Any = None) -> Self:
        """Take rows out again that were taken in before.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows that are among those of the fit.
        sample_weight : array-like of shape (n,), optional
            Their weights in it.

        Returns
        -------
        self
            The model of the other rows. Where rounding would show, an error is raised.
        """
        self._check_is_fitted()
        merge(self, X, sample_weight, partial(generator, self.random_state), self._statistic(), takes_out=True)
        return self
