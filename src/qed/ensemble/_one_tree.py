"""One tree of an ensemble, to be looked at: what ``estimators_`` lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._once import cached_property
from qed.tree._impurity import CLASS_CRITERIA, impurity
from qed.tree._structure import DecisionTree

if TYPE_CHECKING:
    from qed.ensemble._tree_ensemble import TreeEnsemble


Array = np.ndarray[Any, Any]


class EnsembleTree:
    """One tree of a fitted ensemble, for ``plot_tree``, ``export_graphviz`` and ``export_text``, and for its arrays.

    It predicts alone: shares of labels in a forest of labels, and otherwise the number that the ensemble adds up or averages.
    Attributes of the ensemble that name columns and labels (``feature_names_in_``, ``classes_``) are here too.
    """

    def __init__(self, ensemble: Any, number: int) -> None:
        self._ensemble = ensemble
        self._number = number
        self.n_features_in_ = ensemble.trees_.n_features
        for name in ("feature_names_in_", "categories_"):
            if name in ensemble.__dict__:
                setattr(self, name, ensemble.__dict__[name])
        if self._holds_labels():
            self.classes_ = ensemble.classes_

    def __repr__(self) -> str:
        return f"<tree {self._number} of {type(self._ensemble).__name__}>"

    def _holds_labels(self) -> bool:
        """Tell whether leaves hold weights of labels."""
        return "classes_" in self._ensemble.__dict__ and not len(self._ensemble.trees_.weight)

    @cached_property
    def tree_(self) -> DecisionTree:
        """The nodes, as arrays.

        An ensemble keeps what its leaves predict and weigh. The weight of an inner node is the sum, and its value the weighted
        mean, of the leaves below it; its number of rows is not known (0), nor is its impurity (NaN) unless leaves hold labels.
        """
        own = self._ensemble.__dict__
        criterion = {"log_loss": "entropy"}.get(own.get("criterion", ""), own.get("criterion", ""))
        tree = as_decision_tree(self._ensemble.trees_, self._number, is_class=self._holds_labels())
        if self._holds_labels() and criterion in CLASS_CRITERIA and not isinstance(self.classes_, list):
            tree.impurity[:] = impurity(tree.value[:, 0, :], criterion)
        return tree

    def get_depth(self) -> int:
        """Return the splits above the deepest leaf."""
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves

    def apply(self, X: Any) -> Array:
        """Return the node of the leaf that each row ends up in."""
        return self.tree_.apply(self._ensemble._new_data(X))  # noqa: SLF001  (the ensemble whose tree this is)

    def decision_path(self, X: Any) -> Any:
        """Return a sparse table of rows and nodes, one where a row passes."""
        return self.tree_.decision_path(self._ensemble._new_data(X))  # noqa: SLF001

    def predict(self, X: Any) -> Array:
        """Return the label, or the number, of the leaf of each row."""
        leaves = self.apply(X)
        if self._holds_labels() and not isinstance(self.classes_, list):
            return np.asarray(self.classes_[self.tree_.labels[leaves]])
        found = self.tree_.value[leaves].reshape(len(leaves), -1)
        return np.asarray(found[:, 0] if found.shape[1] == 1 else found)


def trees_of(ensemble: Any) -> list[EnsembleTree]:
    """Return the trees of a fitted ensemble, one by one."""
    ensemble._check_is_fitted()  # noqa: SLF001
    return [EnsembleTree(ensemble, number) for number in range(len(ensemble.trees_))]


def as_decision_tree(trees: TreeEnsemble, number: int, *, is_class: bool) -> DecisionTree:
    """Return one tree of an ensemble; values of inner nodes are means of their leaves."""
    first, stop = trees.starts[number : number + 2]
    feature = trees.feature[first:stop].astype(np.int64)
    is_leaf = feature < 0
    count = len(feature)
    right = np.where(is_leaf, -1, trees.children_right[first:stop] - first)
    weight, sums = np.zeros(count), np.zeros((count, trees.value.shape[1]))
    leaves = trees.leaf_numbers[first:stop][is_leaf]
    values = trees.value[leaves].astype(np.float64)
    weight[is_leaf] = values.sum(axis=1) if is_class else trees.weight[leaves]
    sums[is_leaf] = values if is_class else values * weight[is_leaf][:, None]
    for node in np.flatnonzero(~is_leaf)[::-1].tolist():  # children come after their parents
        weight[node] = weight[node + 1] + weight[right[node]]
        sums[node] = sums[node + 1] + sums[right[node]]
    value = sums / weight[:, None]
    value[is_leaf] = value[is_leaf] if is_class else values
    inner = trees.inner_numbers[first:stop]
    threshold, missing_left = np.full(count, -2.0), np.zeros(count, dtype=np.uint8)
    threshold[~is_leaf] = trees.threshold[inner[~is_leaf]]
    missing_left[~is_leaf] = trees.goes_left[inner[~is_leaf]]
    asks = np.flatnonzero(np.isin(trees.by_set, inner[~is_leaf]))
    return DecisionTree(
        n_features=trees.n_features,
        children_left=np.where(is_leaf, -1, np.arange(1, count + 1)),
        children_right=right,
        feature=np.where(is_leaf, -2, feature),
        threshold=threshold,
        missing_go_to_left=missing_left,
        impurity=np.full(count, np.nan),
        n_node_samples=np.zeros(count, dtype=np.int64),
        weighted_n_node_samples=weight,
        value=value[:, None, :] if is_class else value[:, :, None],
        by_set=np.flatnonzero(~is_leaf)[np.searchsorted(inner[~is_leaf], trees.by_set[asks])],
        sets=trees.sets[asks],
    )
