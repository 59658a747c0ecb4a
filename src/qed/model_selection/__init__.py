"""Model selection: splitters, cross-validation, hyperparameter search and baselines.

One rule: **a model is judged on rows it has not seen, and what the folds have in common is computed once.**

::

    _splitter                             what a splitter is
    _folds, _leave_out, _random_splits    every row once; all but some; at random
    _choice_of_folds, _subset             what ``cv`` may be; the plain split in two; some rows of any table
    _judge, _cross_validate               one fold; all folds
    _permutation_test                     is a score better than chance
    _bootstrap                            how much an estimate depends on the rows drawn
    _task                                 what there is to learn
    _prequential                          predict, then see the label, then learn
    _settings, _search, _simplest         what to try; the best of it, or the simplest that is as good
    _halving                              many settings on few rows, fewer settings on more
    _threshold                            where the positive one of two classes begins
    _dummy, _lookup                       what every model is compared with: constants, and memory alone
    _shared                               work that folds and settings have in common
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
