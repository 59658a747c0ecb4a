"""Commands are tried with linear candidates: what is tried and chosen is tested elsewhere."""

from dataclasses import replace

import pytest

from qed.model_selection._candidate import declared_candidates
from qed.study import _recipes


def linear_candidates(task):
    return [replace(one, refine=None) for one in declared_candidates(task) if not one.is_of_trees]


@pytest.fixture(autouse=True, scope="package")
def _linear_candidates():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_recipes, "declared_candidates", linear_candidates)
        yield
