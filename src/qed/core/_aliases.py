"""Packages under a second name, so that ``from sklearn.`` becomes ``from qed.`` and nothing else changes.

scikit-learn spreads some families over more packages than qed does. The finder below makes
``import qed.<theirs>`` give the package of ours that holds the same models; it answers for the names of one
table and for nothing else.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class AliasFinder:
    """Finds a package of ours under scikit-learn's name: a finder and loader of the import system.

    Parameters
    ----------
    table : mapping of str to str
        Full names: theirs, and ours.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table
        self._specs: dict[str, Any] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Answer for the names in the table."""
        if fullname not in self.table:
            return None
        from importlib.machinery import ModuleSpec  # noqa: PLC0415  (for the first alias somebody imports)

        return ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Give the package of ours, or say which one of theirs to use."""
        ours = self.table[spec.name]
        try:
            module = import_module(ours)
        except ModuleNotFoundError as error:
            if error.name not in (
                ours,
                None,
            ):  # something else is missing; None is how qed.core._missing speaks of ours
                raise
            theirs = spec.name.replace("qed.", "sklearn.", 1)
            raise ModuleNotFoundError(f"{spec.name} is not in qed, use {theirs}.", name=spec.name) from None
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the package as it was under its own name: the import system has just written over its spec."""
        written = module.__spec__
        if written is not None:
            module.__spec__ = self._specs.pop(written.name, written)


def names_of(ours: str) -> list[str]:
    """Return the other names of a package, full ones."""
    tables = [finder.table for finder in sys.meta_path if isinstance(finder, AliasFinder)]
    return [theirs for table in tables for theirs, home in table.items() if home == ours]


def install(table: Mapping[str, str]) -> None:
    """Put one finder behind all others."""
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        sys.meta_path.append(AliasFinder(table))
