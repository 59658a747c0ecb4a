"""What scikit-learn has and qed has not, and the message about it: "not in qed, use sklearn.X".

``sklearn_names.txt`` lists scikit-learn's public names, package by package (``tools/sklearn_names.py`` writes it). It is
read when a name was not found, so that nobody else pays for it, and scikit-learn is never loaded.

Python asks for a missing name in two ways, and swallows the words of one of them: ``qed.svm`` and
``qed.linear_model.Lars`` ask the package (`missing`); ``from qed.linear_model import Lars`` then asks the import system for a
module of that name (`MissingFinder`), and shows the error of that one.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from qed.core import _aliases


def missing(package: str, name: str) -> AttributeError:
    """Return the error for a name that a package has not.

    Parameters
    ----------
    package : str
        Full name of a package of qed, or ``"qed"``.
    name : str
        The name that was asked for.

    Returns
    -------
    AttributeError
        Saying what to use, if scikit-learn has it.
    """
    theirs = _theirs(package, name)
    if theirs is None:
        return AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
    return AttributeError(_advice(package, name, theirs), name=name)


class MissingFinder:
    """The last finder of the import system: it finds nothing, and says where scikit-learn has it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        """Raise with advice for a package or a name that scikit-learn has; return None for everything else."""
        package, _, name = fullname.rpartition(".")
        if package.partition(".")[0] != "qed" or name.startswith("_"):
            return
        theirs = _theirs(package, name)
        if theirs is None:
            return
        if package == "qed" and name in _names():
            # Without a name: "from qed import svm" hides a ModuleNotFoundError that bears the name it asked for.
            raise ModuleNotFoundError(_advice(package, name, theirs))
        raise ImportError(_advice(package, name, theirs), name=fullname)


def install() -> None:
    """Put one finder behind all others."""
    if not any(isinstance(finder, MissingFinder) for finder in sys.meta_path):
        sys.meta_path.append(MissingFinder())


def _advice(package: str, name: str, theirs: str) -> str:
    return f"{package} has no {name}; not in qed, use {theirs}."


def _theirs(package: str, name: str) -> str | None:
    """Return where scikit-learn has what a package of ours has not, None if nowhere."""
    if name.startswith("_"):
        return None
    if package == "qed":
        return f"sklearn.{name}" if name in _names() or name in _names()[""] else None
    # a package of ours may hold what scikit-learn spreads over several
    for theirs in (package, *_aliases.names_of(package)):
        home = theirs.removeprefix("qed.")
        if name in _names().get(home, ()) or f"{home}.{name}" in _names():
            return f"sklearn.{home}.{name}"
    return None


@cache
def _names() -> dict[str, frozenset[str]]:
    from pathlib import Path  # noqa: PLC0415  (only where a name is missing)

    lines = Path(__file__).with_name("sklearn_names.txt").read_text(encoding="ascii").splitlines()[1:]
    parts = (line.partition(":") for line in lines)
    return {package: frozenset(names.split()) for package, _, names in parts}
