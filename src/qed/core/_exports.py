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
    homes = listed_names(f"{init.removesuffix('.py')}.pyi")

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            raise missing(package, name)
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[package]), *homes})

    return __getattr__, __dir__, sorted(homes)


def listed_names(stub: str) -> dict[str, str]:
    """Return the names that a stub imports under their own name, each with its module."""
    with open(stub, encoding="utf-8") as lines:  # noqa: PTH123  (pathlib would cost more than everything else here)
        tree = ast.parse(lines.read())
    imports = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
    return {name.name: one.module or "" for one in imports for name in one.names if name.asname == name.name}
