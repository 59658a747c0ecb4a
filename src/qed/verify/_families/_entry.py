"""What the checker knows of one class: its check, the kinds of certificate of its fits, and what its models answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.certificates import Certificate
    from qed.verify._answers._compare import Rule
    from qed.verify._part import Part, Stated
    from qed.verify._verdict import Verdict

    Check = Callable[[Any, Any, Any, Any, Any], Verdict]
    Parts = Callable[[Any, Any, Any, Any], Iterator[Part | Stated]]
    Models = Callable[[Any, Any, Any, Any], Iterator[Part]]


@dataclass(frozen=True)
class Entry:
    """How the models of one class are verified.

    Attributes
    ----------
    checks : dict of certificate class to function
        The check of each kind of certificate that a fit of the class may carry.
    answers : dict of method name to rule
        What ``predict``, ``transform`` and their kin should return, for models that stand behind this one.
    parts : function or None
        Of a model of models: yields its parts, each with the rows, targets and weights that reached it.
    inner : function or None
        Yields in the same way models whose answers a check builds on: they are verified before it.
    is_search : bool
        Whether what it carries is the certificate of its one part.
    claims_nothing : str
        Why the class learns nothing that could be checked; its fits carry Uncertified.
    """

    checks: dict[type[Certificate], Check] = field(default_factory=dict)
    answers: dict[str, Rule] = field(default_factory=dict)
    parts: Parts | None = None
    inner: Models | None = None
    is_search: bool = False
    claims_nothing: str = ""


def by(
    kind: type[Certificate], check: Check, answers: dict[str, Rule] | None = None, inner: Models | None = None
) -> Entry:
    """Return the entry of a class whose fits carry one kind of certificate."""
    return Entry({kind: check}, answers or {}, inner=inner)


def of(parts: Parts, answers: dict[str, Rule]) -> Entry:
    """Return the entry of a model of models."""
    return Entry({}, answers, parts)
