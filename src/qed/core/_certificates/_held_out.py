"""The certificate of rows that the fit never saw."""

from __future__ import annotations

import numpy as np

from qed.core._certificates._certificate import Certificate
from qed.core._records import record


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
