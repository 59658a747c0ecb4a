"""Trees of bisecting k-means: what a model file may say of them."""

from __future__ import annotations

import numpy as np
import pytest

from qed.cluster import BisectingKMeans
from qed.core import ModelFileError
from qed.core._persistence import dumps, loads


@pytest.mark.parametrize("place", [(0, 0, 0), (0, 1, 0), (0, 0, 99), (-1, 1, 50)])
def test_a_tree_that_leads_back_or_outside_is_no_model(place):
    """A branch that leads back to its parent kept predict from ending."""
    model = BisectingKMeans(4, random_state=0).fit(np.random.default_rng(0).normal(size=(30, 3)))
    same = loads(dumps(model))
    assert np.array_equal(same.tree_children_, model.tree_children_)
    row, column, child = place
    same.tree_children_ = same.tree_children_.copy()
    same.tree_children_[row, column] = child
    with pytest.raises(ModelFileError, match="behind their parents"):
        dumps(same)
