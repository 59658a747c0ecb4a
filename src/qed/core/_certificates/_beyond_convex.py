"""Certificates of objectives that are not convex: the best subset, and points that nothing near betters."""

from __future__ import annotations

from qed.core._certificates._certificate import GapCertificate
from qed.core._certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("subset-search")
class SubsetCertificate(GapCertificate):
    """How far a subset of columns can be from the best one.

    Attributes
    ----------
    gap : float
        Upper bound on objective minus that of the best subset, its own rounding included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error.
    objective : float
        Sum of squares with these columns, and their price.
    null_objective : float
        Sum of squares of the intercept alone.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    nodes : int
        Sets of columns that the search looked at; 0 if it did not search and the bound is that of all columns together or of
        how nearly they are orthogonal.
    outcome : str
        ``"solved"``, ``"max_nodes"``, ``"stopped"``, ``"interrupted"`` or ``"not searched"``.
    fingerprint : Fingerprint
        The data this is about.
    radius : float
        Length of the coefficients, in columns of unit length, up to which the claim holds: infinite unless columns are so nearly
        dependent that rounding decides what larger ones explain.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    tol: float
    nodes: int
    outcome: str
    fingerprint: Fingerprint
    radius: float = float("inf")

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        within = "" if self.radius == float("inf") else f", with coefficients within {self.radius:.3g},"
        return (
            f"No other subset of columns{within} lowers the objective {self.objective:.8g} by more than {self.gap:.2g}."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        remark = "" if self.reached else ", tolerance not reached"
        return {
            "gap": f"{self.gap:.3e} ({self.relative_gap:.1e} of the null model's objective, tol {self.tol:.0e})",
            "sets looked at": str(self.nodes),
            "data": f"{self.fingerprint.rows} rows of weight {self.fingerprint.weight:.8g}",
            "outcome": self.outcome + remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.gap, self.rounding, self.objective, self.null_objective, self.tol, self.nodes, self.radius)
        if not all(number >= 0 for number in numbers):
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)


@record("stationary")
class StationaryCertificate(GapCertificate):
    """How low an objective that is not convex can be near a fit.

    Attributes
    ----------
    gap : float
        No coefficients within ``radius`` lower the objective by more than this, rounding included; with a radius of zero, no
        step of the method lowers it by more.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error.
    radius : float
        How far predictions of the rows of the fit may differ from those of the model, each of them: within it the objective
        is convex along every line through the coefficients. Zero where it is not convex at the coefficients themselves.
    objective : float
        Objective at the fitted coefficients.
    null_objective : float
        Objective of the starting point that is always there: the weighted median alone.
    curvature : float
        Least curvature of the objective, as a share of that of least squares on the same rows; positive at a strict minimum.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    outcome : str
        ``"solved"``, ``"interrupted"``, ``"stopped"``, ``"stalled"`` or ``"max_iter"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    gap: float
    rounding: float
    radius: float
    objective: float
    null_objective: float
    curvature: float
    tol: float
    outcome: str
    fingerprint: Fingerprint

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        if self.radius > 0:
            return (
                f"No coefficients whose predictions differ by at most {self.radius:.3g} lower the objective {self.objective:.8g}"
                f" by more than {self.gap:.2g}; further away nothing is claimed."
            )
        return f"No reweighted fit lowers the objective {self.objective:.8g} by more than {self.gap:.2g}; no minimum is claimed."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        remark = "" if self.reached else ", tolerance not reached"
        return {
            "gap": f"{self.gap:.3e} (tol {self.tol:.0e} of {self.null_objective:.4g})",
            "radius, in units of y": f"{self.radius:.3e}",
            "least curvature": f"{self.curvature:.3g} of that of least squares",
            "data": f"{self.fingerprint.rows} rows of weight {self.fingerprint.weight:.8g}",
            "outcome": self.outcome + remark,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.gap, self.rounding, self.radius, self.objective, self.null_objective, self.tol)
        if not all(number >= 0 for number in numbers) or not self.curvature <= 1 + 1e-9:
            msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
            raise ModelFileError(msg)
