"""Decision trees: nested questions about single columns, asked from the root down to a leaf.

One rule: **a tree is arrays, one entry for each node**; growing makes them, pruning cuts them, and everything else reads them.

::

    _classifier, _regressor  the two models; _tree_model, what they share; _extra, with drawn thresholds
    _grow                    from parameters and rows to a tree and its certificate
    _multiway                a branch for each value of a discrete attribute
    _optimal                 trees of small depth that leave least, by branch and bound
    _prune                   subtrees that are best for a penalty on the number of leaves
    _impurity                how mixed labels are, and what a split takes off
    _structure               the arrays, and what follows from them
    _export_text, _export_graphviz, _plot   a tree as text, for Graphviz, and as a figure
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
