"""What every certificate can do, and what those share that bound a distance from an optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.core._errors import ModelFileError

if TYPE_CHECKING:
    from qed.certificates._fingerprint import Fingerprint


class Certificate:
    """What every certificate can do: say its statement, list its numbers, and print both."""

    __slots__ = ()

    @property
    def statement(self) -> str:
        """The claim, as one sentence that a theorem backs."""
        raise NotImplementedError

    @property
    def reached(self) -> bool:
        """Whether the claim is as tight as the tolerance asked for."""
        raise NotImplementedError

    def numbers(self) -> dict[str, str]:
        """Return the numbers behind the statement, by name, ready to print."""
        raise NotImplementedError

    def __str__(self) -> str:
        numbers = self.numbers()
        width = max(map(len, numbers), default=0)
        lines = [f"{type(self).__name__}: {self.statement}"]
        lines += [f"  {name:<{width}}  {value}" for name, value in numbers.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from qed.core._escape import escaped  # noqa: PLC0415  (notebooks only)

        cells = "".join(
            f"<tr><th style='text-align:left'>{escaped(name)}</th><td>{escaped(value)}</td></tr>"
            for name, value in self.numbers().items()
        )
        title = escaped(type(self).__name__)
        return (
            f"<div class='qed-certificate'><p><b>{title}</b>: {escaped(self.statement)}</p><table>{cells}</table></div>"
        )


class GapCertificate(Certificate):
    """What certificates share that bound how far an objective is from its optimum."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of every record that is one
        gap: float
        rounding: float
        null_objective: float
        tol: float
        outcome: str

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the null model's objective: what ``tol`` is compared with."""
        if self.null_objective > 0:
            return self.gap / self.null_objective
        return 0.0 if self.gap <= self.rounding else float("inf")

    @property
    def reached(self) -> bool:
        """Whether the gap, as far as it is more than rounding, is within ``tol`` of the null model's objective."""
        return self.gap - self.rounding <= self.tol * self.null_objective

    def _gap_in_words(self, whole: str = "the null model's objective") -> str:
        return f"{self.gap:.3e} ({self.relative_gap:.1e} of {whole}, tol {self.tol:.0e})"

    def _outcome_in_words(self) -> str:
        return self.outcome if self.reached else f"{self.outcome}, tolerance not reached"


def data_in_words(fingerprint: Fingerprint) -> str:
    """Return how much data a certificate is about, as it is printed."""
    return f"{fingerprint.rows} rows of weight {fingerprint.weight:.8g}"


def require_nonnegative(*numbers: float, below: float | None = None) -> None:
    """Raise `ModelFileError` unless every number is zero or more, and less than `below` where that is given."""
    if not all(number >= 0 and (below is None or number < below) for number in numbers):
        msg = "the certificate holds a negative or undefined number where only nonnegative ones make sense"
        raise ModelFileError(msg)
