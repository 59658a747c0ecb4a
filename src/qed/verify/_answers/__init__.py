"""What fitted models answer, computed a second time from what they learnt.

A model inside another hands something on: rows, scores, labels. This package says for every class what that should be, from the
definition of the class and its verified numbers alone, in plain NumPy. ``agreed(model, method, X)`` then returns the answers: those
of the model, bit by bit, since a step behind may have looked at every bit of them (a tree may part two rows that differ by
rounding), but only after each has been compared with the definition, up to a rounding that is bounded here. A model whose code or
whose numbers answer anything else is rejected, and so is a class that is not in the table
(``verify/_families``, which says which definition belongs to which method).

::

    _agree       the one place where a model is asked anything
    _compare     numbers and labels, and how near they must be
    _linear      sums of columns times coefficients      _densities   logarithms of shares and densities
    _trees       leaves of trees, forests and boosting   _networks    layers
    _nearest     neighbours and donors                   _columns     columns moved, powered, ranked, chosen
    _bases       columns made of columns                 _entries     codes of entries, dates, gaps
    _texts       words and names                         _composites  models of models
    _embeddings  points of new rows                      _rounds      gaps filled by models, one after the other
    _found       factorisations, kernels, projections
"""

from qed.verify._answers._agree import agreed, answers_known

__all__ = ["agreed", "answers_known"]
