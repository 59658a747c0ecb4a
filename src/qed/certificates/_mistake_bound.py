"""The certificate of learners that see one row at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import Certificate
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("mistakes")
class MistakeBoundCertificate(Certificate):
    """How often an online learner was wrong before it learnt, and how often it can have been.

    With rows of length at most R and a hyperplane that has them all on the right side at a distance of at least γ, a perceptron
    that starts from zero makes at most (R/γ)² mistakes, in any order and however often the rows come back.

    Attributes
    ----------
    rounds : int
        Rows shown, in all passes together.
    mistakes : int
        Rows that were on the wrong side, or on the hyperplane, when they were shown; summed over the problems of several classes.
    radius : float
        R: the largest length of a row, with a one in place of the intercept. NaN for rows that were not kept.
    margins : ndarray of shape (k,)
        γ of each problem: the least signed distance of a row from the hyperplane found. Not positive where it does not separate.
    bound : float
        The sum of (R/γ)², infinite where no hyperplane was found or the theorem does not apply.
    fingerprint : Fingerprint or None
        The rows of ``fit``; None for a stream.
    """

    rounds: int
    mistakes: int
    radius: float
    margins: NDArray[np.float64]
    bound: float
    fingerprint: Fingerprint | None = None

    @property
    def reached(self) -> bool:
        """Whether a hyperplane was found that has every row on its right side."""
        return bool(len(self.margins)) and bool((self.margins > 0).all())

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        made = f"{self.mistakes} mistakes in {self.rounds} rounds"
        if self.fingerprint is None:
            return f"{made}, each prediction made before its label was seen."
        if not self.reached:
            return f"{made}; the last coefficients do not separate the classes."
        most = f", and no order of the rows can cause more than {self.bound:.4g}" if np.isfinite(self.bound) else ""
        return f"{made}{most}; every row lies on its side, at a distance of {self.margins.min(initial=np.inf):.3g} at least."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        told = {"mistakes": f"{self.mistakes} of {self.rounds}"}
        if self.fingerprint is not None and self.margins.size:
            told |= {
                "largest row": f"{self.radius:.6g}",
                "margin": f"{self.margins.min(initial=np.inf):.6g}",
                "bound": f"{self.bound:.6g}",
            }
        return told

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        shape = self.margins.ndim == 1 and not np.isnan(self.margins).any()
        if not shape or not 0 <= self.mistakes <= self.rounds * max(len(self.margins), 1) or not self.bound >= 0:
            msg = "the certificate counts mistakes that cannot have been made"
            raise ModelFileError(msg)
