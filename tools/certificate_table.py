"""Write the table of what each estimator certifies, from the estimators themselves.

Usage: ``python tools/certificate_table.py --write``; without the flag it only says whether the table is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import qed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "certificate_table.md"
INSIDE = "that of the model inside"
HEAD = """# What each estimator certifies

Written by `tools/certificate_table.py` from the estimators themselves. `Uncertified` may be returned only by estimators
whose row says so.

| estimator | certificate | statement |
|---|---|---|
"""


def rows() -> dict[str, tuple[str, str]]:
    """Return, for each estimator, the type of its certificate and the first sentence about it."""
    found = {}
    for name, cls in qed.all_estimators():
        declared = cls._results.get("certificate_")
        kind = INSIDE if declared is None else declared.written
        lines = (cls.__doc__ or "").split("Certificate\n-----------\n", 1)[-1].split("\n\n", 1)[0]
        words = " ".join(lines.split()).removeprefix(f"{kind}").lstrip(": ")
        found[name] = (kind, words.split(". ")[0].rstrip(".") + ".")
    return found


def page() -> str:
    """Return the whole page."""
    # one literal a type: a bar ends the cell of a table, inside a literal too
    lines = ((name, kind.replace(" | ", "` or `"), words) for name, (kind, words) in rows().items())
    return HEAD + "".join(f"| `{name}` | `{kinds}` | {words} |\n" for name, kinds, words in lines)


def main() -> int:
    """Write the page, or compare it."""
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"{PAGE.name} is not what the estimators say. Run: python tools/certificate_table.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
