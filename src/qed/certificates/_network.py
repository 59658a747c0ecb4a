"""The certificate of networks: how steep the objective is where learning ended, and that its gradient is one."""

from __future__ import annotations

from qed.certificates._certificate import Certificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._records import record


@record("network")
class NetworkCertificate(Certificate):
    """How steep an objective is at the parameters of a network.

    An objective that is not convex has no bound on how far its minimum is. What is known is its slope, that of the documented
    objective on all rows, and that backpropagation and differences of values agree about it.

    Attributes
    ----------
    gradient : float
        Length of the gradient: to first order, a step of length r lowers the objective by at most r times this.
    largest : float
        Largest slope along a single parameter; ``tol`` is compared with it.
    rounding : float
        Bound on the floating-point error of both.
    objective : float
        Objective at the fitted parameters, on all rows of the fit.
    null_objective : float
        Objective of the best constant prediction.
    difference : float
        Largest distance between a central difference of objectives and the slope by backpropagation, over some directions.
    bound : float
        What that distance may be: how much the slope itself changes between the two points of a difference, and rounding.
    directions, checked : int
        Random directions of the check, and rows that it looked at.
    tol : float
        Tolerance asked for.
    passes : int
        Passes over the rows, or quasi-Newton steps.
    outcome : str
        ``"solved"``, ``"stalled"`` (no more progress), ``"max_iter"``, ``"stopped"``, ``"interrupted"`` or ``"partial_fit"``.
    fingerprint : Fingerprint
        The data this is about; after ``partial_fit`` the rows of the last call.
    """

    gradient: float
    largest: float
    rounding: float
    objective: float
    null_objective: float
    difference: float
    bound: float
    directions: int
    checked: int
    tol: float
    passes: int
    outcome: str
    fingerprint: Fingerprint

    @property
    def confirmed(self) -> bool:
        """Whether differences of objectives agree with the gradient."""
        return self.difference <= self.bound

    @property
    def reached(self) -> bool:
        """Whether no parameter has a slope of more than ``tol``, as far as it is more than rounding."""
        return self.confirmed and self.largest - self.rounding <= self.tol

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        confirmed = "confirm" if self.confirmed else "do not confirm"
        return (
            f"The objective {self.objective:.8g} has a gradient of length {self.gradient:.3g}, which differences of objectives"
            f" {confirmed}; no minimum is claimed."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        remark = "" if self.reached else ", tolerance not reached"
        told = f"{self.objective / self.null_objective:.3g} of" if self.null_objective > 0 else "beside"
        return {
            "objective": f"{self.objective:.6g} ({told} that of the best constant)",
            "gradient": f"{self.gradient:.3e}, along one parameter at most {self.largest:.3e} (tol {self.tol:.0e})",
            "gradient check": f"{self.difference:.1e}, allowed {self.bound:.1e}, {self.directions} directions, {self.checked} rows",
            "data": data_in_words(self.fingerprint),
            "outcome": f"{self.outcome} after {self.passes} passes{remark}",
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.gradient, self.largest, self.rounding, self.objective, self.null_objective)
        require_nonnegative(self.difference, self.bound, self.tol, self.directions, self.checked, self.passes)
