"""Lasso and elastic net for several targets that use the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from qed.convex.penalties import Group
from qed.core import KW_ONLY, NonNegative, NonNegativeInt, PositiveInt, Probability, Seed, param
from qed.core._shared_params import COPY_X, STRICT, VERBOSE
from qed.linear_model._sparse_regression import SparseRegression

if TYPE_CHECKING:
    from qed.convex._penalty import Penalty


class MultiTaskLasso(SparseRegression, single_output=False):
    r"""Multi-task lasso: least squares for several targets that selects the same columns for all of them.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, \|y_i - W^\top x_i - b\|_2^2 \Big/ \sum_i s_i + \alpha \sum_j \|W_j\|_2

    with :math:`W_j` the coefficients of column j, one for each target. The intercepts are not penalised.

    Certificate
    -----------
    DualityGapCertificate: no (W, b) lowers the objective by more than ``gap``.

    Cost
    ----
    Two passes over X to look at it, and one for each working set; O(n k^2) for the products of the k columns of the working
    set, O(k^2 m) a sweep for m targets.

    See Also
    --------
    Lasso : Each target by itself.
    MultiTaskElasticNet : With a squared penalty beside.

    Notes
    -----
    A weight counts as repetition; scikit-learn's model takes none.

    Examples
    --------
    >>> from qed.linear_model import MultiTaskLasso
    >>> MultiTaskLasso(alpha=0.1, tol=1e-9).fit([[0.0], [1.0], [2.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).coef_.round(4)
    array([[0.8939],
           [0.8939]])
    """

    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    _: KW_ONLY
    fit_intercept: bool = param(True, "Whether to fit intercepts; without them the data are taken about the origin.")
    copy_X: bool = COPY_X
    max_iter: PositiveInt | None = param(1000, "Most working sets; None for no limit.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercepts alone.")
    warm_start: bool = param(False, "Whether to start from the coefficients there are.")
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit columns; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    def _penalty(self) -> Penalty:
        return Group(float(self.alpha))


class MultiTaskElasticNet(SparseRegression, single_output=False):
    r"""Multi-task elastic net: least squares for several targets that selects the same columns for all of them, with an L2 penalty.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, \|y_i - W^\top x_i - b\|_2^2 \Big/ \sum_i s_i
        + \alpha \rho \sum_j \|W_j\|_2 + \frac{\alpha (1 - \rho)}{2} \sum_j \|W_j\|_2^2

    with :math:`W_j` the coefficients of column j, one for each target, and :math:`\rho` the ``l1_ratio``. The intercepts are
    not penalised.

    Certificate
    -----------
    DualityGapCertificate: no (W, b) lowers the objective by more than ``gap``.

    Cost
    ----
    That of `MultiTaskLasso`.

    See Also
    --------
    MultiTaskLasso : ``l1_ratio=1``.

    Notes
    -----
    A weight counts as repetition; scikit-learn's model takes none.

    Examples
    --------
    >>> from qed.linear_model import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1, tol=1e-9).fit([[0.0], [1.0], [2.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> model.coef_.round(4)
    array([[0.8809],
           [0.8809]])
    """

    alpha: NonNegative = param(1.0, "Strength of the whole penalty.")
    _: KW_ONLY
    l1_ratio: Probability = param(0.5, "Share of the lengths of rows: 1 is the multi-task lasso, 0 ridge.")
    fit_intercept: bool = param(True, "Whether to fit intercepts; without them the data are taken about the origin.")
    copy_X: bool = COPY_X
    max_iter: PositiveInt | None = param(1000, "Most working sets; None for no limit.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercepts alone.")
    warm_start: bool = param(False, "Whether to start from the coefficients there are.")
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit columns; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    def _penalty(self) -> Penalty:
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        return Group(alpha * ratio, None, alpha * (1.0 - ratio))
