"""Certificates of models made of models, and of those that claim nothing."""

from __future__ import annotations

from typing import Any

from qed.certificates._certificate import Certificate
from qed.core._errors import ModelFileError
from qed.core._records import record


@record("parts")
class CompositeCertificate(Certificate):
    """A model of models proves what its parts prove.

    Attributes
    ----------
    parts : dict of str to Certificate
        The certificates of the parts, by name.
    """

    parts: dict[str, Any]

    @property
    def silent(self) -> list[str]:
        """The parts that claim nothing."""
        return [name for name, part in self.parts.items() if isinstance(part, Uncertified)]

    @property
    def reached(self) -> bool:
        """Whether every part that claims something reached its tolerance."""
        return all(part.reached for part in self.parts.values() if not isinstance(part, Uncertified))

    @property
    def statement(self) -> str:
        """The claim in one sentence."""
        if len(self.parts) == 1:
            return str(next(iter(self.parts.values())).statement)
        claims = f"Each of {len(self.parts)} parts has its own certificate"
        return f"{claims}; nothing is claimed of {', '.join(self.silent)}." if self.silent else f"{claims}."

    def numbers(self) -> dict[str, str]:
        """Return the statements of the parts."""
        return {name: f"{type(part).__name__}: {part.statement}" for name, part in self.parts.items()}

    def check(self) -> None:
        """Refuse parts that are no certificates."""
        if not all(isinstance(part, Certificate) for part in self.parts.values()):
            msg = "the certificate lists parts that are no certificates"
            raise ModelFileError(msg)


@record("uncertified")
class Uncertified(Certificate):
    """No claim is made.

    Attributes
    ----------
    reason : str
        Why nothing can be said.
    """

    reason: str

    @property
    def reached(self) -> bool:
        """Nothing was promised, so nothing is reached."""
        return False

    @property
    def statement(self) -> str:
        """The reason."""
        return f"nothing is claimed: {self.reason}."

    def numbers(self) -> dict[str, str]:
        """Return nothing: there are no numbers."""
        return {}


def composite_certificate(parts: list[tuple[str, Any]]) -> CompositeCertificate:
    """Gather the certificates of fitted parts; models of other libraries claim nothing."""

    def own(model: Any) -> Any:
        found = getattr(model, "certificate_", None)
        if isinstance(found, Certificate):
            return found
        return Uncertified(
            f"{type(model).__name__} of {type(model).__module__.partition('.')[0]} carries no certificate"
        )

    return CompositeCertificate(
        {name: own(model) for name, model in parts if not (model is None or isinstance(model, str))}
    )
