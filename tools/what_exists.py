"""The page "qed or scikit-learn: what exists", from the code; ``docs/conf.py`` writes it at every build.

Public names of scikit-learn come from the list that error messages use; whether qed has one is asked of qed itself.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "src" / "qed" / "core" / "sklearn_names.txt"
HEAD = """# qed or scikit-learn: what exists

Replace `from sklearn.` by `from qed.`: names that are in qed are there under the same path. Asking for one of the others raises an
error that names scikit-learn's. This page is written from the code when the site is built.

"""


def page() -> str:
    """Return the page as text."""
    lines, have, all_names = [], 0, 0
    for line in NAMES.read_text(encoding="ascii").splitlines()[1:]:
        package, _, listed = line.partition(":")
        names = listed.split()
        if not package or not names:
            continue
        found = [name for name in names if _has(package, name)]
        missing = [name for name in names if name not in found]
        have, all_names = have + len(found), all_names + len(names)
        lines += [f"## {package}\n", f"In qed: {_listed(found)}\n", f"Use scikit-learn for: {_listed(missing)}\n"]
    return f"{HEAD}{have} of {all_names} names of scikit-learn are in qed.\n\n{chr(10).join(lines)}"


def _has(package: str, name: str) -> bool:
    try:
        return hasattr(import_module(f"qed.{package}"), name)
    except ImportError:
        return False


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names, key=str.lower)) or "—"


if __name__ == "__main__":
    print(page())
