"""The certificate of answers that look at every row of the fit and leave none out."""

from __future__ import annotations

from qed.certificates._certificate import Certificate, data_in_words, require_nonnegative
from qed.certificates._fingerprint import Fingerprint  # noqa: TC001  (read from the annotation)
from qed.core._records import record


@record("search")
class SearchCertificate(Certificate):
    """Answers are functions of all rows of the fit, up to rounding: what a search passes by cannot change them.

    Attributes
    ----------
    what : str
        What is answered.
    rounding : float
        Bound on the rounding of a distance relative to itself; of a logarithm, relative to one and itself.
    fingerprint : Fingerprint
        The data this is about.
    """

    what: str
    rounding: float
    fingerprint: Fingerprint

    @property
    def reached(self) -> bool:
        """Nothing is approximated, so the tolerance is always reached."""
        return True

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        rows = self.fingerprint.rows
        return f"{self.what}, over all {rows} rows and none left out, up to a relative rounding of {self.rounding:.1e}."

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        return {
            "rounding": f"{self.rounding:.1e}",
            "data": data_in_words(self.fingerprint),
        }

    def check(self) -> None:
        """Refuse numbers that no fit produces."""
        require_nonnegative(self.rounding, below=1)
