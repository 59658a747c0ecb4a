"""What held-out rows prove about new ones: exact binomial statements, free of any assumption on the model or the noise.

The rows must be drawn like the new ones and must not have been seen by the fit. Then the number of new errors below the
k-th largest held-out error, or the number of held-out mistakes, follows a binomial distribution, whatever the model is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import Certificate
from qed.core._errors import InvalidData, InvalidParameter
from qed.core._records import record

if TYPE_CHECKING:
    from qed.core._params import Array


@record("held-out")
class HeldOutCertificate(Certificate):
    """A bound on errors for rows like the held-out ones, true with confidence ``1 - delta`` over their draw.

    Attributes
    ----------
    kind : str
        ``"error quantile"`` (regression: a share ``coverage`` of absolute errors stays below ``bound``) or
        ``"error rate"`` (classification: the probability of an error stays below ``bound``).
    observed : float
        The same quantity on the held-out rows themselves.
    bound : float
        The upper bound.
    coverage : float
        Share of new rows the bound speaks of; 1 for an error rate.
    delta : float
        Probability that the bound is wrong.
    rows : int
        Held-out rows.
    """

    kind: str
    observed: float
    bound: float
    coverage: float
    delta: float
    rows: int

    @property
    def reached(self) -> bool:
        """Whether there were rows enough to say anything."""
        return bool(np.isfinite(self.bound))

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        sure = f"with confidence {1 - self.delta:.4g}"
        if not self.reached:
            return f"{self.rows} held-out rows are too few to bound {self.coverage:.3g} of new errors {sure}."
        if self.kind == "error rate":
            return f"On new rows the error rate is at most {self.bound:.4g}, {sure}."
        return f"On new rows at least {self.coverage:.3g} of absolute errors are at most {self.bound:.4g}, {sure}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {"observed": f"{self.observed:.6g}", "bound": f"{self.bound:.6g}", "held-out rows": str(self.rows)}


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
