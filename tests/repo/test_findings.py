"""Every finding of the adversarial review has a test that is named after its letter: V, F, A, M, C, R and D, with their numbers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# Changed models accepted, false certificates, honest models refused, files, use, memory, differences from scikit-learn.
FINDINGS = {"V": 12, "F": 8, "A": 11, "M": 6, "C": 4, "R": 3, "D": 6}


def cited() -> dict[str, list[str]]:
    """Return the tests that cite each letter in their names, such as ``test_f4_a9_best_subsets``, and that judge something."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_attacks*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                judges = any(
                    isinstance(inner, ast.Assert | ast.With) or "refused" in ast.dump(inner) for inner in ast.walk(node)
                )
                for letter in re.findall(r"(?:^test|_and|(?<=\d))_([vfamcrd]\d+)(?=_)", node.name) if judges else ():
                    found.setdefault(letter.upper(), []).append(node.name)
    return found


@pytest.mark.parametrize("finding", [f"{letter}{n}" for letter, most in FINDINGS.items() for n in range(1, most + 1)])
def test_every_finding_has_a_test_of_its_letter(finding):
    assert cited().get(finding)


def test_no_test_cites_a_finding_that_there_is_not():
    known = {f"{letter}{n}" for letter, most in FINDINGS.items() for n in range(1, most + 1)}
    assert set(cited()) == known
