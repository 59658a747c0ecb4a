"""Comparisons of the checker are written so that a number that is none fails them: what is allowed is said, under ``not``."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qed
from qed.linear_model import Lasso, LogisticRegression
from qed.neighbors import KernelDensity, KNeighborsClassifier, NearestNeighbors

CHECKER = Path(qed.__file__).parent / "verify"
ORDERED = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
# What comparisons of measured numbers mention; counts, places and options are whole numbers, or were compared before.
MEASURED = re.compile(r"\b(near|slack|tolerance|RELATIVE_TOLERANCE|RELATIVE|rounding|per_row)\b|\de-\d")
# A label with the most votes but for rounding; a leaf that was drawn again; a sign that is asked only of what is not nothing.
OPEN = {
    "votes.get(stored[row], 0) >= max(votes.values()) - slack",
    "lightest >= rows.limits.leaf_weight * (1 + RELATIVE)",
    "abs(product) > 1e-09 * spread",
    "often >= max(votes.values()) - slack",
    # What a path of losses shows is compared with what is stated about it.
    "np.diff(found_array) > 1e-12 * np.abs(found_array[:-1]) + size[1:]",
    "np.diff(found) > 1e-12 * np.abs(found[:-1]) + size[1:]",
    "np.diff(stated) > 1e-12 * np.abs(stated[:-1])",
    "gain > model.min_impurity_decrease * (1 + RELATIVE) + RELATIVE * grown.masses[few] / whole",
    "one < limit * (1 - 1e-09)",
}


def refuses(node: ast.AST) -> bool:
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    name = getattr(node.value.func, "id", "") if called else ""
    return isinstance(node, ast.Raise) or name.startswith("refuse")


def bare(node: ast.AST, *, negated: bool = False) -> list[str]:
    """List ordered comparisons of a condition that nothing negates."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return bare(node.operand, negated=not negated)
    own = isinstance(node, ast.Compare) and any(isinstance(one, ORDERED) for one in node.ops) and not negated
    found = [ast.unparse(node)] if own else []
    return found + [one for child in ast.iter_child_nodes(node) for one in bare(child, negated=negated)]


def judged(tree: ast.AST) -> list[ast.AST]:
    """List conditions that refuse, and what is assigned to the names that they take as they are."""
    found: list[ast.AST] = []
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        inside = list(ast.walk(function))
        tests = [node.test for node in inside if isinstance(node, ast.If) and any(map(refuses, node.body))]
        taken = {name for test in tests for name in plain(test)}
        values = [node for node in inside if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
        found += [*tests, *(node.value for node in values if node.targets[0].id in taken)]
    return found


def plain(node: ast.AST, *, negated: bool = False) -> set[str]:
    """Return names of a condition that nothing negates."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return plain(node.operand, negated=not negated)
    own = {node.id} if isinstance(node, ast.Name) and not negated else set()
    return own.union(*(plain(child, negated=negated) for child in ast.iter_child_nodes(node)))


@pytest.mark.parametrize("file", sorted(CHECKER.rglob("*.py")), ids=lambda file: file.relative_to(CHECKER).as_posix())
def test_what_is_allowed_is_said_and_all_else_refused(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [one for test in judged(tree) for one in bare(test) if MEASURED.search(one)]
    assert [one for one in found if one not in OPEN] == []


@pytest.mark.parametrize("model", [NearestNeighbors(), KNeighborsClassifier(weights="distance"), KernelDensity()])
def test_a_rounding_that_no_sum_has_is_not_believed(model):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model.fit(X, X[:, 0] > 0)
    assert qed.verify(model, X, X[:, 0] > 0 if hasattr(model, "classes_") else None).holds
    model.certificate_ = replace(model.certificate_, rounding=1e-6)
    with pytest.raises(qed.CertificateError, match="rounding"):
        qed.verify(model, X, X[:, 0] > 0 if hasattr(model, "classes_") else None)


def test_a_rounding_as_large_as_the_gap_hides_no_other_objective():
    X = np.random.default_rng(0).normal(size=(60, 8))
    y = X[:, 0] + np.random.default_rng(1).normal(size=60) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(max_iter=1).fit(X, y)
    assert qed.verify(model, X, y).holds
    stated = model.certificate_
    model.certificate_ = replace(stated, rounding=stated.gap, objective=stated.objective - stated.gap)
    with pytest.raises(qed.CertificateError, match="objective"):
        qed.verify(model, X, y)


@pytest.mark.parametrize("model", [Lasso(1e-16), LogisticRegression(l1_ratio=1.0, solver="saga", C=1e14), Lasso(0.1)])
def test_fits_whose_rounding_is_large_are_accepted(model):
    """A penalty next to nothing, or rows of large size, divide the rounding of products by little."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4)) * (1e8 if getattr(model, "alpha", 0) == 0.1 else 1)
    y = X @ rng.normal(size=4) + rng.normal(size=60)
    target = y > 0 if hasattr(model, "C") else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target)
    assert qed.verify(model, X, target).holds
