"""Regression with automatic relevance determination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import KW_ONLY, Array, NonNegative, fitted, param
from qed.linear_model._bayesian_ridge import EvidenceRegressor, first_alpha
from qed.linear_model._evidence import LEAST, GramDesign, Rows, certify, climb, evaluate

if TYPE_CHECKING:
    from qed.core._events import Progress


class ARDRegression(EvidenceRegressor):
    r"""Automatic relevance determination (sparse Bayesian regression): each coefficient has a prior variance of its own.

    Objective
    ---------
    .. math:: \max_{\alpha, \lambda} \log N\!\left(y \mid b, \; X \operatorname{diag}(\lambda)^{-1} X^\top + \alpha^{-1} I\right)
              + \log \Gamma(\alpha \mid a_1, a_2) + \sum_j \log \Gamma(\lambda_j \mid l_1, l_2)

    over the columns that are kept: the evidence of a prior :math:`w_j \sim N(0, \lambda_j^{-1})` with a precision of its own for
    each coefficient, and gamma priors of the precisions, up to constants. A column whose precision reaches ``threshold_lambda`` is
    left out for good. A sample weight repeats a row.

    Certificate
    -----------
    AscentCertificate: the evidence after each step since a column was left out last, none of which lowered it, and what one more
    step would add.

    Cost
    ----
    One pass over the rows, O(n p^2); O(k^3) a step for k columns that are kept. Memory beyond X: 64 p^2 bytes.

    See Also
    --------
    BayesianRidge : One precision for all coefficients.

    Notes
    -----
    Parameters and attributes have scikit-learn's names; ``fit`` takes sample weights as well. Steps are found from products of
    columns that are formed once, and never lower the evidence of the columns that are kept. The objective has many maxima.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import ARDRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = ARDRegression().fit(X, 2 * X[:, 0] + 0.1 * X[:, 1] ** 2)
    >>> (abs(model.coef_) > 0.1).tolist()
    [True, False, False]
    """

    _: KW_ONLY
    threshold_lambda: NonNegative = param(
        1e4, "Precision at which a coefficient is set to zero, and its column left out."
    )

    lambda_: Array = fitted(
        "Precisions of the coefficients, ``threshold_lambda`` of those that were left out; shape (p,).",
        shape="(p,)",
        above=0,
    )

    def _is_pruning(self, precision: Array) -> bool:
        return bool(np.any(precision >= self.threshold_lambda))

    def _kept(self) -> Any:
        return np.flatnonzero(self.lambda_ < self.threshold_lambda)

    def _learn(self, rows: Rows, progress: Progress) -> str:
        p, hyper = len(rows.c), self._hyper(shared=False)
        whole = GramDesign(rows.G, rows.c, rows.yy, rows.weight)
        precision, alpha = np.ones(p), first_alpha(rows)
        kept, steps, scores = np.flatnonzero(precision < self.threshold_lambda), 0, []
        while True:
            design = whole.columns(kept)
            start = evaluate(design, alpha, precision[kept], hyper)
            climbed, taken = climb(design, start, hyper, self, progress, self.max_iter - steps)
            steps, alpha = steps + taken, climbed.point.alpha
            scores.extend(climbed.trace)
            precision[kept] = climbed.point.precision
            left = kept[precision[kept] < self.threshold_lambda]
            if len(left) == len(kept):
                break
            kept = left  # what was pruned at the last step is left out as well
            if climbed.outcome != "pruned":
                design = whole.columns(kept)
                at = evaluate(design, alpha, precision[kept], hyper)
                climbed = climbed._replace(point=at, trace=[at.value])
                break
        coef = np.zeros(p)
        coef[kept] = climbed.point.posterior.mean
        self._store(rows, climbed, coef, scores, steps)
        self.lambda_ = np.full(p, max(float(self.threshold_lambda), LEAST))
        self.lambda_[kept] = precision[kept]
        self.sigma_ = design.covariance(alpha, precision[kept])[0]
        self.certificate_ = certify(design, climbed, hyper, self, rows)
        return climbed.outcome
