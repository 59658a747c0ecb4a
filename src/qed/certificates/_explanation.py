"""What is proved about the contributions of columns to predictions."""

from __future__ import annotations

from qed.certificates._certificate import Certificate
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("explanation-certificate")
class ExplanationCertificate(Certificate):
    """Contributions add up to prediction minus base value; they are exact, or have a standard error.

    Attributes
    ----------
    game : str
        Which game is played: "path-dependent", "interventional", "log-odds".
    method : str
        How it was solved: "trees", "linear", "naive Bayes", "enumeration" or "permutations".
    residual : float
        Largest absolute difference of a row's contributions from prediction minus base value.
    rounding : float
        How large it may be by rounding alone.
    standard_error : float
        Largest standard error of a contribution; zero where nothing was sampled.
    rows, players, background_rows : int
        Rows explained; columns, or groups of them; rows of the background, zero without one.
    """

    game: str
    method: str
    residual: float
    rounding: float
    standard_error: float
    rows: int
    players: int
    background_rows: int

    @property
    def reached(self) -> bool:
        """Whether contributions add up, but for rounding."""
        return self.residual <= self.rounding

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        exact = self.standard_error == 0
        how = "exact up to rounding" if exact else f"with standard errors up to {self.standard_error:.3g}"
        return (
            f"The contributions of {self.players} columns to {self.rows} predictions are the Shapley values of the"
            f" {self.game} game,"
            f" {how}, and add up to prediction minus base value within {self.residual:.1e}."
        )

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement."""
        shown = {
            "game": f"{self.game}, by {self.method}",
            "residual": f"{self.residual:.1e} (rounding allows {self.rounding:.1e})",
        }
        if self.standard_error > 0:
            shown["standard error"] = f"{self.standard_error:.3g} at most"
        if self.background_rows:
            shown["background"] = f"{self.background_rows} rows"
        return shown

    def check(self) -> None:
        """Refuse numbers that no explanation produces."""
        numbers = (self.residual, self.rounding, self.standard_error, self.rows, self.players, self.background_rows)
        if not all(number >= 0 for number in numbers) or self.players < 1 or not self.rounding < float("inf"):
            msg = "the certificate of the explanation holds numbers that no explanation produces"
            raise ModelFileError(msg)
