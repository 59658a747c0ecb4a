"""The certificate of convex fits: a dual point below, the fitted one above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed.certificates._certificate import GapCertificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record("duality-gap")
class DualityGapCertificate(GapCertificate):
    """How far a convex fit can be from the best one, by a dual point.

    Attributes
    ----------
    gap : float
        Upper bound on objective minus optimum, in the units of the documented objective, its own rounding included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error rather than distance from the optimum.
    objective : float
        Objective at the fitted coefficients, in the units of the documentation.
    null_objective : float
        Objective of the null model: the best intercept alone, no coefficients.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    radius : float
        The statement holds against all coefficients closer than this to the fitted ones, each measured by the root mean
        square of its column. ``inf`` means all there are.
    outcome : str
        ``"solved"``, ``"interrupted"``, ``"stopped"``, ``"stalled"`` or ``"max_iter"``.
    fingerprint : Fingerprint
        The data this is about.
    dual : ndarray or None
        Dual variables of the rows of the fit, in their order, for losses with non-differentiable points, whose slope does not
        tell them. They can expose labels.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    tol: float
    radius: float
    outcome: str
    fingerprint: Fingerprint
    dual: NDArray[np.float64] | None = None

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        where = "No coefficients lower" if np.isinf(self.radius) else f"No coefficients within {self.radius:.3g} lower"
        return f"{where} the objective {self.objective:.8g} by more than {self.gap:.2g}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "gap": self._gap_in_words(),
            "rounding in gap": f"{self.rounding:.3e}",
            "data": data_in_words(self.fingerprint),
            "outcome": self._outcome_in_words(),
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.gap, self.rounding, self.objective, self.null_objective, self.tol, self.radius)
        if self.dual is not None and not (self.dual.ndim in (1, 2) and np.isfinite(self.dual).all()):
            msg = "the certificate holds dual variables that are not finite numbers, one for each row"
            raise ModelFileError(msg)
