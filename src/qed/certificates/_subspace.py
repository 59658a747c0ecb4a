"""The certificate of directions of largest variance."""

from __future__ import annotations

from qed.certificates._certificate import GapCertificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("subspace")
class SubspaceCertificate(GapCertificate):
    """How far k directions can be from the best ones to describe a table by.

    Attributes
    ----------
    gap : float
        Upper bound on the variance left out by these directions, minus what the best k directions leave out; its own rounding
        included.
    rounding : float
        The part of ``gap`` that is a bound on floating-point error.
    objective : float
        Variance left out: total minus explained.
    null_objective : float
        Total variance, which no direction at all leaves out.
    variance_error : float
        Bound on the error of each explained variance, as an eigenvalue of the covariance.
    backward_error : float
        Residual of the pairs of variance and direction, relative to the total variance: the covariance has them exactly after a
        change of this size.
    orthogonality : float
        How far the products of the directions are from those of an orthonormal set, in the Frobenius norm.
    confidence : float
        Probability that the bound holds over the random numbers of the fit; 1 where it holds whatever they are.
    tol : float
        Tolerance asked for, relative to ``null_objective``.
    outcome : str
        ``"solved"``, ``"max_iter"``, ``"stopped"`` or ``"interrupted"``.
    fingerprint : Fingerprint
        The data this is about.
    what : str
        What directions leave out: the variance, or the sum of squares about zero.
    """

    gap: float
    rounding: float
    objective: float
    null_objective: float
    variance_error: float
    backward_error: float
    orthogonality: float
    confidence: float
    tol: float
    outcome: str
    fingerprint: Fingerprint
    what: str = "variance"

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        sure = "" if self.confidence == 1 else f" (confidence {self.confidence:.6g})"
        return (
            f"No directions, as many as these, leave out less than {self.objective:.8g} of the {self.what} by more than"
            f" {self.gap:.2g}{sure}."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "gap": self._gap_in_words(f"the total {self.what}"),
            "rounding in gap": f"{self.rounding:.3e}",
            "error of a variance": f"{self.variance_error:.1e}",
            "backward error": f"{self.backward_error:.1e}",
            "orthogonality": f"{self.orthogonality:.1e}",
            "data": data_in_words(self.fingerprint),
            "outcome": self._outcome_in_words(),
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        numbers = (self.gap, self.rounding, self.objective, self.null_objective, self.variance_error)
        require_nonnegative(*numbers, self.backward_error, self.orthogonality, self.tol, below=float("inf"))
        if not 0 < self.confidence <= 1:
            raise ModelFileError("the certificate holds a confidence that is no probability")
