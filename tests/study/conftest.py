"""Tests of the whole way try few candidates: all linear ones and one of trees; one test fits all that are declared."""

from dataclasses import replace

import pytest

from qed.model_selection._candidate import declared_candidates
from qed.study import _recipes


def few_candidates(task):
    few = [one for one in declared_candidates(task) if not one.is_of_trees or one.detail == "4 leaves"]
    return [replace(one, refine=None) for one in few]


@pytest.fixture(autouse=True, scope="package")
def _few_candidates():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_recipes, "declared_candidates", few_candidates)
        yield
