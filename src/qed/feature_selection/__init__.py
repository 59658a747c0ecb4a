"""Which columns to keep: searches over sets of columns, judged by a score that is small for good sets.

One rule: **a search sees a set of columns and its score, never the model**, so that columns can be selected for any model that
can be judged.

::

    _subsets     the score of a set by folds; forward, backward and exhaustive search
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.feature_selection._subsets import (
    Selection,
    backward_elimination,
    exhaustive_search,
    forward_selection,
    subset_score,
)

__all__ = ["Selection", "backward_elimination", "exhaustive_search", "forward_selection", "subset_score"]
__getattr__ = lacking(__name__)
