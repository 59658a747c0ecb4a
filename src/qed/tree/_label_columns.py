"""Several columns of labels: one tree for all of them.

The Gini impurity of a column is the sum of the variances of its indicators, one for each label. So the mean impurity of all
columns is the squared error of all indicators side by side, up to a factor, and the engine for several numbers grows the tree.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.tree._kernels import Targets

if TYPE_CHECKING:
    from qed.tree._structure import DecisionTree


Array = np.ndarray[Any, Any]


class LabelColumns(NamedTuple):
    """The number of each label within its column, shape (n, m), the labels of each column, and weights or None."""

    codes: Array
    widths: list[int]
    s: Array | None

    @property
    def unit(self) -> float:
        """The mean impurity of the columns, for a mean squared error of one."""
        return sum(self.widths) / len(self.widths)

    def targets(self) -> Targets:
        """Return the indicators of all columns side by side."""
        table = np.concatenate([np.eye(k)[codes] for k, codes in zip(self.widths, self.codes.T, strict=True)], axis=1)
        return Targets("squared_error", table.shape[1], table.reshape(-1), self.s)

    def shared(self, tree: DecisionTree, X: Any) -> DecisionTree:
        """Return the tree with the shares of the labels and the mean impurity of the columns in each node, by counting.

        Counts add up without rounding where weights are whole numbers: labels that are equally frequent have equal shares.
        """
        leaves, n_nodes = tree.apply(X), tree.node_count
        value = np.zeros((n_nodes, len(self.widths), max(self.widths)))
        impurity = np.zeros(n_nodes)
        levels = [np.flatnonzero(tree.depths == depth) for depth in range(tree.max_depth, 0, -1)]
        for c, (k, codes) in enumerate(zip(self.widths, self.codes.T, strict=True)):
            counts = np.bincount(leaves * k + codes, self.s, minlength=n_nodes * k).reshape(n_nodes, k).astype(float)
            for nodes in levels:  # the deepest first
                np.add.at(counts, tree.parents[nodes], counts[nodes])
            share = counts / counts.sum(axis=1, keepdims=True)
            others = np.zeros_like(share)  # never by subtraction from one
            others[:, 1:] += np.cumsum(share[:, :-1], axis=1)
            others[:, :-1] += np.cumsum(share[:, :0:-1], axis=1)[:, ::-1]
            value[:, c, :k] = share
            impurity += (share * others).sum(axis=1) / len(self.widths)
        return dataclasses.replace(tree, value=value, impurity=impurity)
