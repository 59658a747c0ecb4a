"""The certificate of least squares."""

from __future__ import annotations

import numpy as np

from qed.certificates._certificate import GapCertificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._records import record


@record("least-squares")
class LeastSquaresCertificate(GapCertificate):
    """How far a least-squares fit can be from the best one.

    Attributes
    ----------
    gap : float
        Upper bound on objective minus optimum, in the units of the documented objective, its own rounding included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error rather than distance from the optimum.
    objective : float
        Objective at the fitted coefficients, summed over targets.
    null_objective : float
        Objective of the null model: the intercept alone, coefficients at their prior.
    backward_error : float
        Size of the smallest known relative change of the data for which the coefficients are exactly optimal.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    radius : float
        The statement holds against all coefficients closer than this to the fitted ones, each measured in units of the
        target: times the length of its column, offset included. ``inf`` means all there are.
    condition : float
        Estimated condition number of the design, columns scaled to unit length.
    rank : int
        Directions in which the objective is curved by more than rounding, so that the fit is determined along them. Without a
        penalty the numerical rank of the design (centred if there is an intercept), and after conjugate gradients, which
        never see it, an upper bound on that; with a penalty the number of columns, unless it is lost in rounding.
    outcome : str
        ``"solved"``, ``"interrupted"``, ``"stopped"`` or ``"max_iter"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    backward_error: float
    tol: float
    radius: float
    condition: float
    rank: int
    outcome: str
    fingerprint: Fingerprint

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        where = "No coefficients lower" if np.isinf(self.radius) else f"No coefficients within {self.radius:.3g} lower"
        return f"{where} the objective {self.objective:.8g} by more than {self.gap:.2g}."

    @property
    def _remark(self) -> str:
        if not self.reached:
            return ", tolerance not reached"
        return "" if self.gap <= self.tol * self.null_objective else ", as close as rounding allows"

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "gap": self._gap_in_words(),
            "rounding in gap": f"{self.rounding:.3e}",
            "backward error": f"{self.backward_error:.1e}",
            "condition, rank": f"{self.condition:.2e}, {self.rank}",
            "data": data_in_words(self.fingerprint),
            "outcome": self.outcome + self._remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.gap, self.rounding, self.backward_error, self.tol, self.radius, self.condition)
        require_nonnegative(self.null_objective, self.rank)
