"""What every certificate can do, and what those share that bound a distance from an optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING


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
