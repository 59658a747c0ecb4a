"""The certificate of models whose best parameters have a closed form."""

from __future__ import annotations

import math
from typing import ClassVar

from qed.certificates._certificate import Certificate
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("likelihood")
class LikelihoodCertificate(Certificate):
    """The parameters are those that the documented objective is best at, found by formula, up to rounding.

    Attributes
    ----------
    what : str
        The parameters, in words.
    rows : int
        Rows of positive weight that they were estimated from.
    log_likelihood : float
        Logarithm of the probability (or density) of rows and labels together at the parameters, per unit of weight. Minus
        infinity where a prior that was given rules out a label that occurs.
    rounding : float
        Bound on the relative error of the estimates: of means in standard deviations, of variances and shares in
        themselves.
    backward_error : float
        Size of the smallest known relative change of the estimates for which equations solved from them hold exactly; zero
        where none were solved.
    """

    MOST_ROUNDING: ClassVar[float] = 1e-6  # the largest rounding that can be stated and is believed

    what: str
    rows: int
    log_likelihood: float
    rounding: float
    backward_error: float = 0.0

    @property
    def reached(self) -> bool:
        """Nothing is approached by steps, so there is no tolerance that could be missed."""
        return True

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        how = "exactly" if self.rounding == 0 else f"up to a relative rounding of {self.rounding:.1e}"
        return f"{self.what} are the best ones for {self.rows} rows, {how}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        told = {
            "log-likelihood": f"{self.log_likelihood:.8g} a row",
            "rounding": f"{self.rounding:.1e}",
            "rows": str(self.rows),
        }
        if self.backward_error:
            told["backward error"] = f"{self.backward_error:.1e}"
        return told

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        sizes = 0 <= self.rounding < math.inf and 0 <= self.backward_error < math.inf
        if self.rows < 1 or not sizes or not self.log_likelihood < math.inf:
            msg = "the certificate holds a negative or undefined number where none makes sense"
            raise ModelFileError(msg)
