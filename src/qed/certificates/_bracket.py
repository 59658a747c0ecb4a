"""The certificate of one parameter a column, enclosed between slopes of opposite signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import Certificate, require_nonnegative
from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("bracket")
class BracketCertificate(Certificate):
    """The best value of one parameter for each column, enclosed.

    The objective of each column is convex in its parameter. Where its slope is negative at one end of an interval and
    positive at the other, the optimum lies between, and the objective at any value between is above the optimum by at most
    the size of the slope there times the width.

    Attributes
    ----------
    what : str
        What was chosen.
    rows : int
        From how many rows.
    low, high : ndarray of shape (p,)
        The ends of the intervals; NaN for columns without a choice.
    gap : float
        How much lower the objective of any column could be, per row.
    tol : float
        What was asked for.
    """

    what: str
    rows: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gap: float
    tol: float

    @property
    def reached(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= self.tol

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        return f"{self.what} of {self.rows} rows: no other value lowers a column's objective by more than {self.gap:.1e} a row."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        with np.errstate(invalid="ignore"):
            width = float(np.nanmax(self.high - self.low)) if np.isfinite(self.low).any() else 0.0
        return {"gap": f"{self.gap:.1e}", "widest interval": f"{width:.1e}", "rows": str(self.rows)}

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        sound = (
            self.low.ndim == 1 and self.low.shape == self.high.shape and self.low.dtype == self.high.dtype == np.float64
        )
        if not sound or not (np.isnan(self.low) | (self.low <= self.high)).all():
            raise ModelFileError("the certificate holds intervals whose ends are no numbers in order")
        require_nonnegative(self.rows, self.gap, below=np.inf)
        if not self.tol > 0:
            raise ModelFileError("the certificate holds a tolerance that is not positive")
