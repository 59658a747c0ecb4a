"""What a model of trees is made of, as its Shapley values see it: nodes, covers, and what each leaf adds to which output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from qed.ensemble._tree_ensemble import TreeEnsemble
    from qed.tree._structure import DecisionTree

Array = np.ndarray[Any, Any]
BLOCK_ROWS = 4096  # rows whose leaves are looked up together


class TreeGame(NamedTuple):
    """A sum of trees.

    Attributes
    ----------
    trees : TreeEnsemble
        The nodes.
    weight : ndarray of shape (n_leaves,)
        Weight of the rows of the fit that ended in each leaf.
    values : ndarray of shape (n_leaves, width)
        What each leaf adds.
    groups : int
        Tree number t adds to outputs ``t % groups * width`` and following.
    constant : ndarray of shape (groups * width,)
        What is added to the trees.
    method : str
        The method of the model that returns this sum.
    """

    trees: TreeEnsemble
    weight: Array
    values: Array
    groups: int
    constant: Array
    method: str

    @property
    def tree_of_leaf(self) -> Array:
        """The number of the tree of each leaf."""
        return np.asarray(np.repeat(np.arange(len(self.trees)), self.trees.sizes)[self.trees.feature < 0])

    @property
    def base(self) -> Array:
        """The mean over the rows of the fit, (outputs,): each leaf by its share of the weight of its tree."""
        tree = self.tree_of_leaf
        share = self.weight / np.bincount(tree, self.weight)[tree]
        total = np.zeros((self.groups, self.values.shape[1]))
        np.add.at(total, tree % self.groups, share[:, None] * self.values)
        return np.asarray(total.reshape(-1) + self.constant)

    @property
    def magnitude(self) -> float:
        """The sum over the trees of the largest value of a leaf: what rounding is relative to."""
        largest = np.zeros(len(self.trees))
        np.maximum.at(largest, self.tree_of_leaf, np.abs(self.values).max(axis=1))
        return float(largest.sum() + np.abs(self.constant).max())

    def predict(self, X: Array) -> Array:
        """Return the sums of rows, (n, outputs)."""
        from qed.ensemble._kernels import leaves_of  # noqa: PLC0415

        found = np.empty((len(X), self.groups * self.values.shape[1]))
        for first in range(0, len(X), BLOCK_ROWS):
            leaves = leaves_of(self.trees.packed, X[first : first + BLOCK_ROWS])
            own = self.values[leaves].reshape(len(leaves), -1, self.groups * self.values.shape[1])
            found[first : first + BLOCK_ROWS] = own.sum(axis=1)
        return np.asarray(found + self.constant)


def tree_game(model: Any) -> TreeGame | None:
    """Return the trees of a fitted model; None if it is none of them."""
    from qed.ensemble._boosting import BoostedSum  # noqa: PLC0415  (who explains trees has them loaded)
    from qed.ensemble._forest_model import ForestModel  # noqa: PLC0415
    from qed.tree._structure import DecisionTree  # noqa: PLC0415
    from qed.tree._tree_model import TreeModel  # noqa: PLC0415

    if isinstance(model, ForestModel):
        return _forest_game(model)
    if isinstance(model, BoostedSum):
        return _boosted_game(model)
    return (
        _single_game(model)
        if isinstance(model, TreeModel) and isinstance(model.__dict__["tree_"], DecisionTree)
        else None
    )


def _forest_game(model: Any) -> TreeGame | None:
    trees = model.trees_
    is_class = "classes_" in model.__dict__
    if is_class and model.n_outputs_ > 1:
        return None
    values = _one_or_all(trees.shares) if is_class else trees.numbers
    weight = trees.numbers.sum(axis=1) if is_class else trees.weight
    values = values / len(trees)
    method = "predict_proba" if is_class else "predict"
    return TreeGame(trees, weight, values, 1, np.zeros(values.shape[1]), method)


def _boosted_game(model: Any) -> TreeGame | None:
    trees = model.trees_
    if "init_" in model.__dict__:
        return None
    method = "decision_function" if "classes_" in model.__dict__ else "predict"
    if method == "predict" and model.loss in ("gamma", "poisson"):
        method = "log of predict"
    k = model.n_trees_per_iteration_
    return TreeGame(trees, trees.weight, trees.numbers, k, np.asarray(model.baseline_), method)


def _single_game(model: Any) -> TreeGame | None:
    tree: DecisionTree = model.tree_
    is_class = "classes_" in model.__dict__
    if is_class and tree.n_outputs > 1:
        return None
    trees = as_ensemble(tree)
    values = _one_or_all(tree.value[tree.feature < 0][:, 0]) if is_class else trees.numbers
    method = "predict_proba" if is_class else "predict"
    return TreeGame(trees, trees.weight, values, 1, np.zeros(values.shape[1]), method)


def _one_or_all(shares: Array) -> Array:
    """Return the share of the second class of two; of more, or of one alone, those of all."""
    return np.ascontiguousarray(shares[:, 1:] if shares.shape[1] == 2 else shares)


def as_ensemble(tree: DecisionTree) -> TreeEnsemble:
    """Return a single tree as an ensemble of one."""
    from qed.ensemble._tree_ensemble import TreeEnsemble  # noqa: PLC0415

    inner = tree.children_left >= 0
    return TreeEnsemble(
        n_features=tree.n_features,
        sizes=np.array([tree.node_count]),
        feature=np.where(inner, tree.feature, -1),
        threshold=tree.threshold[inner],
        missing_left=np.packbits(tree.missing_go_to_left[inner] != 0),
        value=tree.value[~inner].reshape(int((~inner).sum()), -1),
        weight=tree.weighted_n_node_samples[~inner],
        by_set=(np.cumsum(inner) - 1)[tree.by_set],
        sets=tree.sets,
    )
