"""The certificate of fits that climb an objective with many maxima."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import Certificate, data_in_words
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("ascent")
class AscentCertificate(Certificate):
    """Where an ascent ended: the objective after each step, none of which lowered it, and what one more step would add.

    The objective has many maxima, and nothing is said of others. A fit at rest satisfies the equations of a stationary point up to
    ``displacement``.

    Attributes
    ----------
    what : str
        The objective, in words, such as "log-likelihood".
    objective : float
        Its value at the fitted parameters, per unit of weight of the rows.
    rounding : float
        Bound on the rounding of the objective.
    trace : ndarray of shape (m,)
        The objective at the start and after each step; it never falls by more than rounding.
    gain : float
        What one more step adds to the objective; of mixtures zero where that is at most sixteen times ``rounding``, and hidden.
    displacement : float
        How far that step moves the parameters, in units of their own spread.
    tol : float
        Gain of a step that was small enough to stop.
    outcome : str
        ``"solved"``, ``"max_iter"``, ``"stopped"`` or ``"interrupted"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    what: str
    objective: float
    rounding: float
    trace: NDArray[np.float64]
    gain: float
    displacement: float
    tol: float
    outcome: str
    fingerprint: Fingerprint

    @property
    def reached(self) -> bool:
        """Whether the ascent came to rest: one more step adds less than ``tol``, rounding aside."""
        return self.gain - self.rounding <= self.tol

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        steps = len(self.trace) - 1
        return (
            f"The {self.what} is {self.objective:.8g} a row after {steps} step{'' if steps == 1 else 's'}, none of which"
            f" lowered it; one more adds {max(self.gain, 0.0):.2g}."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "objective": f"{self.objective:.8g} a row, from {self.trace[0]:.8g}",
            "gain of the next step": f"{self.gain:.2g} ({self.tol:.1g} was small enough)",
            "displacement": f"{self.displacement:.1e}",
            "rounding": f"{self.rounding:.1e}",
            "steps": str(len(self.trace) - 1),
            "data": data_in_words(self.fingerprint),
            "outcome": self.outcome,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        sizes = (self.rounding, self.displacement, self.tol)
        if not all(0 <= size < math.inf for size in sizes) or not math.isfinite(self.objective + self.gain):
            msg = "the certificate holds a negative or undefined number where none makes sense"
            raise ModelFileError(msg)
        if self.trace.ndim != 1 or not len(self.trace) or not np.isfinite(self.trace).all():
            raise ModelFileError("the certificate holds a trace that is no list of numbers")
