"""The one table of the checker: which function verifies which class, which certificates its fits carry, and what it answers.

``_<family>.py`` holds ``ENTRIES`` of the package ``qed.<family>``, one for each of its estimators, by class name; ``_entry.py``
says what an entry is. A module is loaded when a model of its family is first met. What is not in the table is rejected.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qed.verify._families._entry import Entry

_FAMILIES = frozenset(module.name for module in iter_modules(__path__)) - {"_entry"}


@cache
def entries(package: str) -> dict[str, Entry]:
    """Return the entries of a package, as ``qed.tree``, by class name; none of a package that has no module here."""
    home, _, family = package.rpartition(".")
    if home != "qed" or f"_{family}" not in _FAMILIES:
        return {}
    found: dict[str, Entry] = import_module(f"{__name__}._{family}").ENTRIES
    return found


def entry_named(name: str) -> Entry | None:
    """Return the entry of a class by its public name, as ``qed.tree.DecisionTreeClassifier``."""
    package, _, leaf = name.rpartition(".")
    return entries(package).get(leaf)


def all_entries() -> dict[str, Entry]:
    """Return all entries, by public name."""
    packages = [f"qed{family.replace('_', '.', 1)}" for family in sorted(_FAMILIES)]
    return {f"{package}.{name}": entry for package in packages for name, entry in entries(package).items()}
