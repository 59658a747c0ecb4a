"""The certificate of centres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import GapCertificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING_OF_MEANS = (
    2.0**-50
)  # of the null inertia: centres at rest are as far as this from the means of their rows, with tol=0


@record("clusters")
class ClustersCertificate(GapCertificate):
    """How far centres of k clusters can be from the best ones.

    Attributes
    ----------
    objective : float
        Inertia: the weighted sum of squared distances of rows to their nearest centre.
    bound : float
        No k centres have a lower inertia than this, rounding taken off; 0 where nothing is known.
    rounding : float
        Bound on the rounding of the objective and of the bound.
    null_objective : float
        Inertia of a single centre, the mean.
    drift : float
        Root of the weighted sum of squared distances of centres from the means of their rows: 0 for a fixed point.
    trace : ndarray of shape (m,)
        The inertia after each step that moved the centres to the means of their rows; it never rises.
    evaluations : int
        Distances of rows to centres that were computed in these steps.
    tol : float
        Shift of centres, squared and relative to the mean variance of columns, that was small enough; ``reached`` compares the
        drift with as large a share of the sum over all columns and rows.
    outcome : str
        ``"solved"``, ``"max_iter"``, ``"stopped"`` or ``"interrupted"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    objective: float
    bound: float
    rounding: float
    null_objective: float
    drift: float
    trace: NDArray[np.float64]
    evaluations: int
    tol: float
    outcome: str
    fingerprint: Fingerprint

    @property
    def gap(self) -> float:  # type: ignore[override]
        """How much lower the inertia of other centres could be, rounding included."""
        return max(self.objective - self.bound, 0.0) + self.rounding

    @property
    def ratio(self) -> float:
        """The inertia is at most so many times that of the best centres; infinite where nothing is known."""
        above = self.objective + self.rounding
        return above / self.bound if self.bound > 0 else (1.0 if above <= 2 * self.rounding else float("inf"))

    @property
    def reached(self) -> bool:
        """Whether the fit ended by itself, and the means of the rows as centres lower the inertia by no more than tol."""
        return self.outcome == "solved" and self.drift**2 <= (self.tol + ROUNDING_OF_MEANS) * self.null_objective

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        return (
            f"The inertia {self.objective:.8g} is at most {self.ratio:.4g} times that of the best centres, which is at least"
            f" {self.bound:.8g}."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "ratio": f"{self.ratio:.4g}",
            "bound": f"{self.bound:.8g} ({self.null_objective:.8g} with one centre)",
            "rounding": f"{self.rounding:.1e}",
            "drift from the means": f"{self.drift:.1e}",
            "steps": f"{len(self.trace)}, {self.evaluations} distances",
            "data": data_in_words(self.fingerprint),
            "outcome": self.outcome,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.objective, self.bound, self.rounding, self.null_objective, self.drift, self.tol)
        require_nonnegative(*numbers, self.evaluations, below=np.inf)
        if self.trace.ndim != 1 or not np.isfinite(self.trace).all():
            raise ModelFileError("the certificate holds a trace that is no list of numbers")
