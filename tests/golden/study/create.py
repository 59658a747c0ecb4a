"""Write the golden files of study models: once for each form of the file, on purpose, and never over an existing one.

Usage::

    python tests/golden/study/create.py first

It fits a number and a class on a small fixed table with every kind of column, and writes ``<version>-<word>-<target>.qed`` with a
``.json`` beside it: rows as a table of words, what the model said of them, and the hash of the rows it was fitted on.
``test_study_golden.py`` loads every one of them for ever.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from qed import study
from qed.core._version import __version__

HERE = Path(__file__).resolve().parent
NOTES = (
    "came late and was open",
    "a fine thing for the money",
    "broke on the second day of use",
    "as it was said to be",
)


def table(word: str, n: int = 60) -> dict[str, list[str]]:
    """Return a table of words without randomness: every kind of column, with gaps; "dressed" with signs and slashes."""
    rows = range(n)
    size = [round(20 + 15 * math.sin(i) + i / 4, 2) for i in rows]
    colour = [("red", "green", "blue")[i * 7 % 3] for i in rows]
    price = [
        round(3 * s + 10 * (c == "red") + 5 * math.sin(3 * i), 1)
        for i, (s, c) in enumerate(zip(size, colour, strict=True))
    ]
    plain = {
        "row": [str(i + 1000) for i in rows],
        "size_cm": ["" if i % 17 == 3 else str(s) for i, s in enumerate(size)],
        "colour": ["" if i % 13 == 5 else c for i, c in enumerate(colour)],
        "zip": [f"0{1000 + i * 11 % 4}" for i in rows],
        "new": [("yes", "no")[i * 5 % 2] for i in rows],
        "sold": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in rows],
        "note": [f"{NOTES[i % 4]} {i}" for i in rows],
        "price": [str(p) for p in price],
        "dear": [("no", "yes")[p > 70] for p in price],
    }
    if word != "dressed":
        return plain
    return plain | {
        "sold": [f"{1 + i % 28}/{1 + i % 12}/2024" for i in rows],
        "tax": [f"{5 + i % 7},5 %" for i in rows],
        "price": [f"${10 * p:,.2f}" for p in price],
    }


def create(word: str) -> list[Path]:
    """Fit, save and predict; return the paths of the new files."""
    made = []
    for target, other in (("price", "dear"), ("dear", "price")):
        path = HERE / f"{__version__}-{word}-{target}.qed"
        if path.exists():
            raise SystemExit(f"{path} exists. Golden files are never written again: that is what they are for.")
        found = study.fit(table(word), target, budget=20, drop=[other], command=f"golden {word}")
        rows = {name: column[::9] for name, column in table(word).items()}
        answer: dict[str, Any] = {"rows": rows, "predictions": found.model.predict(rows).tolist()}
        if target == "dear":
            answer["probabilities"] = found.model.predict_proba(rows).tolist()
        path.with_suffix(".json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
        found.model.save(path)
        made.append(path)
    return made


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(*create(sys.argv[1]), sep="\n")  # noqa: T201
