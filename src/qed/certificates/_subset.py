"""The certificate of the best subset of columns."""

from __future__ import annotations

from qed.certificates._certificate import GapCertificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
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
        return {
            "gap": self._gap_in_words(),
            "sets looked at": str(self.nodes),
            "data": data_in_words(self.fingerprint),
            "outcome": self._outcome_in_words(),
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(
            self.gap, self.rounding, self.objective, self.null_objective, self.tol, self.nodes, self.radius
        )
