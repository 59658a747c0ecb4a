"""Several columns of labels: one tree for all of them.

The Gini impurity of a column is the sum of the variances of its indicators, one for each label. So the mean impurity of all
columns is the squared error of all indicators side by side, up to a factor, and the engine for several numbers grows the tree.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._class_weights import class_weights
from qed.tree._kernels import Targets

if TYPE_CHECKING:
    from qed.tree._structure import DecisionTree


Array = np.ndarray[Any, Any]


def label_factors(owner: str, given: Any, classes: list[Array], codes: Array, weight: Array | None) -> Array | None:
    """Return the product of the weights of a row's labels, a column of ``codes`` for each list of labels; None for ones."""
    m = len(classes)
    if m > 1 and isinstance(given, dict):
        raise InvalidParameter(
            f"For multi-output, class_weight should be a list of dicts, one for each of the {m} columns of y: {owner} got one"
            " dict."
        )
    if isinstance(given, list) and (m == 1 or len(given) != m or not all(isinstance(one, dict) for one in given)):
        raise InvalidParameter(
            f"For multi-output, number of elements in class_weight should match number of outputs: {owner}.class_weight takes"
            f" a list of dicts for several columns of y. y has {m}, and class_weight is {given!r:.200}."
        )
    product = None
    for c, labels in enumerate(classes):
        own = given[c] if isinstance(given, list) else given
        factor = class_weights(owner, own, labels, codes[:, c], weight, may_vanish=True)
        if factor is not None:
            product = factor[codes[:, c]] if product is None else product * factor[codes[:, c]]
    return product


def require_gini(criterion: str, m: int, instead: str) -> None:
    """Refuse other impurities for several columns of labels."""
    if criterion != "gini":
        raise InvalidData(
            f"{criterion} is for one column of labels, and y has {m}. Use criterion='gini', or {instead} for each"
            " column (MultiOutputClassifier)."
        )


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
        leaves, n_nodes, width = tree.apply(X), tree.node_count, sum(self.widths)
        starts = np.cumsum([0, *self.widths[:-1]])
        at = (leaves * width)[:, None] + starts + self.codes
        s = None if self.s is None else np.repeat(self.s, len(self.widths))
        counts = np.bincount(at.reshape(-1), s, minlength=n_nodes * width).reshape(n_nodes, width).astype(np.float64)
        inner = np.flatnonzero(tree.children_left >= 0)
        inner = inner[np.argsort(-tree.depths[inner], kind="stable")]  # the deepest first
        for nodes in np.split(inner, np.flatnonzero(np.diff(tree.depths[inner])) + 1):
            counts[nodes] = counts[tree.children_left[nodes]] + counts[tree.children_right[nodes]]
        return self._as_shares(tree, counts)

    def _as_shares(self, tree: DecisionTree, counts: Array) -> DecisionTree:
        value = np.zeros((tree.node_count, len(self.widths), max(self.widths)))
        impurity = np.zeros(tree.node_count)
        blocks = np.split(counts, np.cumsum(self.widths[:-1]), axis=1)
        for c, (k, own) in enumerate(zip(self.widths, blocks, strict=True)):
            share = own / own.sum(axis=1, keepdims=True)
            value[:, c, :k] = share
            pairs = share[:, 1:] * np.cumsum(share[:, :-1], axis=1)  # each two labels once; nothing is subtracted
            impurity += 2 * pairs.sum(axis=1) / len(self.widths)
        return dataclasses.replace(tree, value=value, impurity=impurity)
