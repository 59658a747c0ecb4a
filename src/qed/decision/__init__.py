"""Decision theory: the best action is the one with the smallest expected cost.

One rule: **probabilities come from models, costs from people, and the decision follows from both.**

::

    _costs     a table of costs; the best action for given probabilities, its threshold, the reject option
    _bayes     the best classifier there can be, where the joint distribution is known
    _outliers  rows that a density finds improbable
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
