"""The quoting of names in reference pages leaves examples and formulas as they are."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import pytest
from docutils.core import publish_doctree

import qed

HERE = Path(__file__).parents[2] / "docs" / "quoting.py"
SPEC = importlib.util.spec_from_file_location("quoting", HERE)
quoting = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(quoting)


def _docstrings():
    for name, kind in qed.all_estimators():
        yield name, inspect.getdoc(kind)
        for method, function in vars(kind).items():
            if not method.startswith("_") and getattr(function, "__doc__", None):
                yield f"{name}.{method}", inspect.cleandoc(function.__doc__)


def test_examples_and_formulas_of_every_docstring_stay_as_they_are():
    looked_at = 0
    for name, text in _docstrings():
        lines = text.splitlines()
        for before, after in zip(lines, quoting.quoted(lines), strict=True):
            if before.lstrip().startswith((">>>", "...", ".. math::")) or "\\" in before or ":math:" in before:
                looked_at += 1
                assert after == before, name
    assert looked_at > 300


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The model stores coef_ after fit.", "The model stores ``coef_`` after fit."),
        ("``coef_`` and :math:`w_j` and `coef_` stay", "``coef_`` and :math:`w_j` and `coef_` stay"),
        (">>> model.coef_", ">>> model.coef_"),
        (":returns: *array (n, n_iter_)* -- of n_iter_", ":returns: *array (n, n_iter_)* -- of ``n_iter_``"),
        ("a_ * b_ * c_, and *args: d_", "``a_`` * ``b_`` * ``c_``, and *args: ``d_``"),
    ],
)
def test_what_is_quoted(before, after):
    assert quoting.quoted([before]) == [after]


def test_blocks_end_where_the_indent_does():
    lines = [".. math::", "", "    w_ = a_", "", "then coef_", "", ">>> a.b_", "[c_]", "", "and d_"]
    assert quoting.quoted(lines) == [*lines[:4], "then ``coef_``", "", ">>> a.b_", "[c_]", "", "and ``d_``"]


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("``coef_``, :math:`w` and\n\n::\n\n    a shell's `word`\n", 0),
        ("*shape (n, ``n_iter_``)*", 1),
        (">>> model.``coef_``", 1),
        (":math:`a` and ` b", 1),
        (".. math:: ``w_``", 1),
    ],
)
def test_a_backtick_that_readers_would_see_is_found(page, count):
    assert len(quoting.stray(publish_doctree(page))) == count
