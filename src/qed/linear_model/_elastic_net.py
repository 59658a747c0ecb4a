"""The elastic net."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from qed.convex.penalties import ElasticNet as ElasticNetPenalty
from qed.core import KW_ONLY, Matrix, NonNegative, NonNegativeInt, PositiveInt, Probability, Seed, param
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._sparse_regression import SparseRegression

if TYPE_CHECKING:
    from qed.convex._penalty import Penalty


class ElasticNet(SparseRegression):
    r"""Elastic net: least squares with L1 and L2 regularisation; sparse, and correlated columns share coefficients.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, (y_i - x_i^\top w - b)^2 \Big/ \sum_i s_i
        + \alpha \rho \|w\|_1 + \frac{\alpha (1 - \rho)}{2} \|w\|_2^2

    with :math:`\rho` the ``l1_ratio``. Several targets are several such problems, their objectives added up. The intercept is
    not penalised.

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``.

    Cost
    ----
    That of `Lasso`: some passes over X, and O(n k^2) or O(n k) a sweep for a working set of k columns.

    See Also
    --------
    Lasso : ``l1_ratio=1``.
    Ridge : ``l1_ratio=0``, solved directly.
    ElasticNetCV : Chooses strength and ratio by folds.

    Notes
    -----
    A weight counts as repetition. Two equal columns get equal coefficients, which the lasso does not promise.

    Examples
    --------
    >>> from qed.linear_model import ElasticNet
    >>> ElasticNet(alpha=2.0, l1_ratio=0.25, fit_intercept=False, tol=1e-9).fit([[1.0], [2.0]], [1.0, 2.0]).coef_.round(6)
    array([0.5])
    """

    alpha: NonNegative = param(1.0, "Strength of the whole penalty.")
    _: KW_ONLY
    l1_ratio: Probability = param(0.5, "Share of the absolute values: 1 is the lasso, 0 ridge.")
    fit_intercept: bool = FIT_INTERCEPT
    precompute: bool | Matrix = param(
        False,
        "Whether scikit-learn would use products of columns, or those products. Here the predicted cost decides, and they are"
        " made from X.",
        kind="hint",
    )
    max_iter: PositiveInt | None = param(1000, "Most working sets; None for no limit.")
    copy_X: bool = COPY_X
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    warm_start: bool = param(False, "Whether to start from the coefficients there are.")
    positive: bool = param(False, "Whether coefficients must be nonnegative.")
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit coefficients; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    def _penalty(self) -> Penalty:
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        return ElasticNetPenalty(alpha * ratio, alpha * (1.0 - ratio), self.positive)
