"""Which columns to keep: searches over sets of columns, judged by a score that is small for good sets.

One rule: **a search sees a set of columns and its score, never the model**, so that columns can be selected for any model that
can be judged. Scores may share work between sets; no search knows.

::

    _subsets     the score of a set by folds; forward, backward and exhaustive search
    _sequential  greedy steps as a transformer
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.feature_selection._sequential import SequentialFeatureSelector
from qed.feature_selection._subsets import (
    L1Selection,
    Selection,
    backward_elimination,
    exhaustive_search,
    forward_selection,
    l1_selection,
    subset_score,
)

__all__ = [
    "L1Selection",
    "Selection",
    "SequentialFeatureSelector",
    "backward_elimination",
    "exhaustive_search",
    "forward_selection",
    "l1_selection",
    "subset_score",
]
__getattr__ = lacking(__name__)
