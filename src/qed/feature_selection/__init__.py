"""Feature selection: searches over subsets of columns, by a score that is small for good subsets.

One rule: **a search sees a set of columns and its score, never the model**, so that columns can be selected for any model that
can be judged. Scores may share work between sets; no search knows.

::

    _subsets     the score of a set by folds; forward, backward and exhaustive search
    _sequential  greedy steps as a transformer
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
