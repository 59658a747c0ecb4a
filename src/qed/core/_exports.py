"""The public names of a package, written once: in its ``__init__.pyi``, one line for each module.

::

    from qed.tree._classifier import DecisionTreeClassifier as DecisionTreeClassifier

Type checkers and editors read that file as it is. At run time `exports` reads the same lines, and loads a module when one of its
names is first used, so that a model never pays for its neighbours.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qed.core._missing import missing

if TYPE_CHECKING:
    from collections.abc import Callable


def exports(package: str, init: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Its full name, ``__name__``.
    init : str
        Its ``__file__``; the names stand in the file beside it whose name ends in ``.pyi``.
    """
    homes = listed_names(Path(init).with_suffix(".pyi"))

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            raise missing(package, name)
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[package]), *homes})

    return __getattr__, __dir__, sorted(homes)


def listed_names(stub: Path) -> dict[str, str]:
    """Return the names that a stub imports under their own name, each with its module."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    lines = [line for line in tree.body if isinstance(line, ast.ImportFrom)]
    return {name.name: line.module or "" for line in lines for name in line.names if name.asname == name.name}
