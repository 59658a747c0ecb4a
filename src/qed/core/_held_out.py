"""What held-out rows prove about new ones: exact binomial statements, free of any assumption on the model or the noise.

The rows must be drawn like the new ones and must not have been seen by the fit. Then the number of new errors below the
k-th largest held-out error, or the number of held-out mistakes, follows a binomial distribution, whatever the model is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.core._certificates import HeldOutCertificate
from qed.core._errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from qed.core._params import Array


def error_quantile(errors: Array, delta: float, coverage: float) -> HeldOutCertificate:
    """Bound a quantile of the absolute error of new rows by an order statistic of the held-out ones.

    With k of n errors above ``bound``, the chance that the share of new errors above it exceeds ``1 - coverage`` is at most
    the binomial probability of seeing at most k; the largest such k with probability at most ``delta`` gives the bound.
    """
    _require_probability("delta", delta)
    _require_probability("coverage", coverage)
    errors = np.sort(np.abs(np.asarray(errors, dtype=np.float64)).ravel())
    n = len(errors)
    if n == 0:
        raise InvalidData("certify needs held-out rows, got none. Keep some rows out of fit.")
    from scipy.special import bdtr  # noqa: PLC0415  (SciPy costs a fifth of a second, and only bounds need it)

    above = np.arange(n)
    allowed = np.flatnonzero(bdtr(above, n, 1 - coverage) <= delta)
    bound = float(errors[n - 1 - allowed[-1]]) if len(allowed) else float("inf")
    observed = float(np.quantile(errors, coverage))
    return HeldOutCertificate("error quantile", observed, bound, float(coverage), float(delta), n)


def error_rate(mistakes: Array, delta: float) -> HeldOutCertificate:
    """Bound the error rate on new rows by the exact binomial (Clopper-Pearson) upper limit."""
    _require_probability("delta", delta)
    mistakes = np.asarray(mistakes, dtype=bool).ravel()
    n, k = len(mistakes), int(np.count_nonzero(mistakes))
    if n == 0:
        raise InvalidData("certify needs held-out rows, got none. Keep some rows out of fit.")
    from scipy.special import betaincinv  # noqa: PLC0415

    bound = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - delta))
    return HeldOutCertificate("error rate", k / n, bound, 1.0, float(delta), n)


def _require_probability(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise InvalidParameter(f"{name} must be a number strictly between 0 and 1, got {value!r}.")
