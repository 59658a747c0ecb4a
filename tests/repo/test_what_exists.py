"""The page that says which names of scikit-learn qed has asks qed itself."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("what_exists", Path(__file__).parents[2] / "tools" / "what_exists.py")
what_exists = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(what_exists)


def test_the_page_tells_both_kinds_apart():
    page = what_exists.page()
    sections = {part.partition("\n")[0]: part.partition("Use scikit-learn for:") for part in page.split("\n## ")[1:]}
    have, _, lacking = sections["feature_selection"]
    assert "`SelectKBest`" in have
    assert "`SelectKBest`" not in lacking
    assert "`SelectorMixin`" in lacking
