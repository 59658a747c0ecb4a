"""Probabilistic principal components."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import Array, InvalidParameter, NonNegativeInt, fitted, param
from qed.data._kernels import UNIT
from qed.decomposition._latent import LEAST_NOISE, LatentNormal, Spread


class ProbabilisticPCA(LatentNormal):
    r"""Probabilistic PCA: a Gaussian latent variable model with noise of the same variance in all directions.

    Objective
    ---------
    .. math:: \max_{L, \sigma^2} \frac{1}{n} \sum_i \log N\!\left( x_i \mid \mu, L^\top L + \sigma^2 I \right)

    the log-likelihood of a row. With eigenpairs :math:`(\lambda_i, v_i)` of the covariance (divisor n) the best parameters are
    :math:`\sigma^2 = \frac{1}{p - k} \sum_{i > k} \lambda_i` and :math:`l_i = \sqrt{\lambda_i - \sigma^2}\, v_i` (Tipping and
    Bishop 1999).

    Certificate
    -----------
    LikelihoodCertificate: no loadings and no noise are more likely, up to rounding.

    Cost
    ----
    O(np min(n, p) + min(n, p)^3); O(min(n, p)^2) memory beyond a centred copy of X.

    Notes
    -----
    ``transform`` returns posterior means, which are shrunken principal components: hidden variables are zero before a row is seen.
    As the noise goes to zero they become the whitened coordinates of ``PCA``. Noise is kept above 1e-8 of the mean variance, where
    rows lie in fewer dimensions than they have columns. The largest entry of each row of loadings is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import ProbabilisticPCA
    >>> X = np.array([[-3.0, -1.0], [-1.0, -2.0], [1.0, 2.0], [3.0, 1.0]])
    >>> model = ProbabilisticPCA(1).fit(X)
    >>> model.noise_variance_
    0.9549...
    >>> model.posterior(X).covariance.round(3)
    array([[0.146]])
    """

    n_components: NonNegativeInt = param(1, "How many hidden variables.")

    noise_variance_: float = fitted("Variance of the noise.", above=0)
    explained_variance_: Array = fitted(
        "Eigenvalues of the covariance with divisor n along the loadings, shape (k,).",
        shape="(c,)",
        low=0,
        answers=False,
    )
    certificate_: LikelihoodCertificate = fitted("What is proven about the fit.")

    def _noise(self) -> Array:
        return np.full(len(self.mean_), self.noise_variance_)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find loadings and noise."""
        spread = Spread.of(self._fit_data(X).X)
        p, k = len(spread.variance), int(self.n_components)
        if k > p:
            raise InvalidParameter(f"n_components={k} must be at most the number of columns, {p}.")
        unit = float(np.mean(spread.variance)) or 1.0
        values, _ = spread.leading(np.full(p, unit), k)
        rest = max(float(np.sum(spread.variance)) - unit * float(np.sum(values)), 0.0)
        noise = max(rest / (p - k) if k < p else 0.0, LEAST_NOISE * unit)
        self.components_, likelihood = spread.most_likely(np.full(p, noise), k)
        self.noise_variance_ = float(noise)
        self.explained_variance_ = unit * values
        self.mean_ = spread.seen.mean.copy()
        self.certificate_ = LikelihoodCertificate(
            what="Loadings and the variance of the noise",
            rows=spread.seen.rows,
            log_likelihood=likelihood,
            rounding=64 * (p + 8) * UNIT * (1 + float(np.sum(spread.variance)) / noise),
        )
        return self
