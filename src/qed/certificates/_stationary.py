"""The certificate of points that nothing near betters, of objectives that are not convex."""

from __future__ import annotations

from qed.certificates._certificate import GapCertificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record


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
    step : str
        What a step of the method is, where the radius is zero.
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
    step: str = "reweighted fit"

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        if self.radius > 0:
            return (
                f"No coefficients whose predictions differ by at most {self.radius:.3g} lower the objective {self.objective:.8g}"
                f" by more than {self.gap:.2g}; further away nothing is claimed."
            )
        return f"No {self.step} lowers the objective {self.objective:.8g} by more than {self.gap:.2g}; no minimum is claimed."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        told = {"gap": f"{self.gap:.3e} (tol {self.tol:.0e} of {self.null_objective:.4g})"}
        if self.step == "reweighted fit":
            told["radius, in units of y"] = f"{self.radius:.3e}"
            told["least curvature"] = f"{self.curvature:.3g} of that of least squares"
        return told | {"data": data_in_words(self.fingerprint), "outcome": self._outcome_in_words()}

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.gap, self.rounding, self.radius, self.objective, self.null_objective, self.tol)
        if not self.curvature <= 1 + 1e-9:
            raise ModelFileError("the certificate states more curvature than that of least squares, which bounds it")
