"""Decision trees: nested questions about single columns, asked from the root down to a leaf.

One rule: **a tree is arrays, one entry for each node**; growing makes them, pruning cuts them, and everything else reads them.

::

    _classifier, _regressor  the two models; _tree_model, what they share; _extra, with drawn thresholds
    _grow                    from parameters and rows to a tree and its certificate
    _prune                   subtrees that are best for a price of leaves
    _impurity                how mixed labels are, and what a split takes off
    _structure               the arrays, and what follows from them
    _export_text, _plot      a tree as text, and as a figure
"""

from __future__ import annotations

from qed.core._missing import lacking
from qed.tree._classifier import DecisionTreeClassifier
from qed.tree._export_text import export_text
from qed.tree._extra import ExtraTreeClassifier, ExtraTreeRegressor
from qed.tree._impurity import impurity, split_score
from qed.tree._plot import plot_tree
from qed.tree._prune import PruningPath
from qed.tree._regressor import DecisionTreeRegressor
from qed.tree._structure import DecisionTree

__all__ = [
    "DecisionTree",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "PruningPath",
    "export_text",
    "impurity",
    "plot_tree",
    "split_score",
]
__getattr__ = lacking(__name__)
