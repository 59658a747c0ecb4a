"""The certificate of an embedding."""

from __future__ import annotations

from qed.certificates._certificate import Certificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("embedding")
class EmbeddingCertificate(Certificate):
    """How well the points of an embedding keep the neighbourhoods of the rows, and how far they are from rest.

    Attributes
    ----------
    what : str
        Name of the objective.
    objective : float
        Its value at the stored points.
    residual : float
        What is left of the forces on the points, relative to those that pull; of eigenvectors, the residual relative to the
        largest eigenvalue; of stress, how far one more step moves the points, relative to their size.
    trustworthiness : float
        One less the penalty for neighbours in the embedding that are no neighbours among the rows; 1 is best.
    continuity : float
        One less the penalty for neighbours among the rows that are none in the embedding; 1 is best.
    n_neighbors : int
        Size of the neighbourhoods that were compared.
    compared : int
        Rows whose neighbourhoods were compared, spread evenly over the table, each with all others.
    outcome : str
        ``"solved"``, ``"max_iter"``, ``"stopped"`` or ``"interrupted"``.
    fingerprint : Fingerprint
        The data this is about.
    """

    what: str
    objective: float
    residual: float
    trustworthiness: float
    continuity: float
    n_neighbors: int
    compared: int
    outcome: str
    fingerprint: Fingerprint

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        return (
            f"The {self.what} is {self.objective:.8g}; {self.n_neighbors} neighbours of {self.compared} rows are kept with"
            f" trustworthiness {self.trustworthiness:.4f} and continuity {self.continuity:.4f}."
        )

    @property
    def reached(self) -> bool:
        """Whether the method came to its end: at rest, or after all steps of its schedule."""
        return self.outcome == "solved"

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "trustworthiness": f"{self.trustworthiness:.6f}",
            "continuity": f"{self.continuity:.6f}",
            self.what: f"{self.objective:.8g}",
            "residual": f"{self.residual:.2e}",
            "data": data_in_words(self.fingerprint),
            "outcome": self.outcome,
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.residual, below=float("inf"))
        inside = all(-1e-9 <= share <= 1 + 1e-9 for share in (self.trustworthiness, self.continuity))
        if not (inside and abs(self.objective) < float("inf")) or self.n_neighbors < 1 or self.compared < 1:
            raise ModelFileError("the certificate holds a share outside of 0 and 1, or a count below one")
