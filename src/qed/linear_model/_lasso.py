"""The lasso."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from qed.convex.penalties import ElasticNet as ElasticNetPenalty
from qed.core import KW_ONLY, Matrix, NonNegative, NonNegativeInt, PositiveInt, Seed, param
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._sparse_regression import SparseRegression

if TYPE_CHECKING:
    from qed.convex._penalty import Penalty


class Lasso(SparseRegression):
    r"""Lasso: least squares with L1 regularisation, which sets coefficients to zero.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, (y_i - x_i^\top w - b)^2 \Big/ \sum_i s_i + \alpha \|w\|_1

    Several targets are several such problems, their objectives added up. The intercept is not penalised.

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``.

    Cost
    ----
    Two passes over X to look at it, and one for each working set, three or four as a rule; O(n k^2) or O(n k) a sweep for
    the k columns of the working set, about twice as many as there are coefficients that are not zero. Memory beyond X:
    those k columns and O(n + p).

    See Also
    --------
    ElasticNet : With a squared penalty beside the absolute one.
    LassoCV : Chooses the strength by folds.
    MultiTaskLasso : Several targets that use the same columns.

    Notes
    -----
    A weight counts as repetition. The penalty depends on the units of the columns: standardise first if they differ.

    Examples
    --------
    >>> from qed.linear_model import Lasso
    >>> model = Lasso(alpha=0.1, tol=1e-9).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[1.0, 1.0]]).round(6)
    array([1.])
    """

    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    precompute: bool | Matrix = param(
        False,
        "Whether scikit-learn would use products of columns, or those products. Here the predicted cost decides, and they are"
        " made from X.",
        kind="hint",
    )
    copy_X: bool = COPY_X
    max_iter: PositiveInt | None = param(1000, "Most working sets; None for no limit.")
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
        return ElasticNetPenalty(float(self.alpha), 0.0, self.positive)
