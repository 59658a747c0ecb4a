"""A tree as arrays: one entry for each node, children by number."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import ModelFileError
from qed.core._once import cached_property
from qed.core._records import expect, expect_array, record
from qed.core._tables import csr
from qed.tree import _kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray


Array = np.ndarray[Any, Any]


@record("decision-tree", slots=False)
class DecisionTree:
    """The nodes of a fitted tree; node 0 is the root, and left children follow their parents.

    Attributes
    ----------
    n_features : int
        Columns of the table that the tree was grown on.
    children_left, children_right : ndarray of int of shape (n_nodes,)
        Numbers of the children; -1 for leaves.
    feature : ndarray of int of shape (n_nodes,)
        Column that a node looks at; -2 for leaves.
    threshold : ndarray of shape (n_nodes,)
        Rows whose value is at most this go left; -2 for leaves. Infinite where known values are parted from missing ones.
    missing_go_to_left : ndarray of uint8 of shape (n_nodes,)
        Whether rows whose value is missing go left.
    impurity : ndarray of shape (n_nodes,)
        The criterion, of the rows of the node.
    n_node_samples : ndarray of int of shape (n_nodes,)
        Rows of the fit that reach the node.
    weighted_n_node_samples : ndarray of shape (n_nodes,)
        Their weight.
    value : ndarray of shape (n_nodes, n_outputs, n_classes)
        Shares of the classes; or what is predicted, with one "class".
    by_set : ndarray of int of shape (k,)
        Nodes that ask whether a category is in a set, rising; their threshold is zero and means nothing.
    sets : ndarray of uint32 of shape (k, 16)
        Eight words of bits, the categories that go left, and eight more, the categories that the node met; others go where
        missing values go.
    """

    n_features: int
    children_left: NDArray[np.integer[Any]]
    children_right: NDArray[np.integer[Any]]
    feature: NDArray[np.integer[Any]]
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.integer[Any]]
    weighted_n_node_samples: NDArray[np.float64]
    value: NDArray[np.float64]
    by_set: NDArray[np.integer[Any]] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    sets: NDArray[np.uint32] = dataclasses.field(default_factory=lambda: np.empty((0, 16), dtype=np.uint32))

    def __getstate__(self) -> dict[str, Any]:
        # what was computed from the nodes is computed again
        return {name: value for name, value in self.__dict__.items() if name in type(self).__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.children_left)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.children_left < 0))

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return int(self.value.shape[1])

    @property
    def max_n_classes(self) -> int:
        """Number of classes; one for numbers."""
        return int(self.value.shape[2])

    @property
    def max_depth(self) -> int:
        """Splits above the deepest leaf."""
        return int(self.depths.max())

    @cached_property
    def depths(self) -> Array:
        """Splits above each node."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        level, depth = np.zeros(1, dtype=np.int64), 0
        while len(level):
            depths[level] = depth
            inner = level[self.children_left[level] >= 0]
            level, depth = np.concatenate([self.children_left[inner], self.children_right[inner]]), depth + 1
        return depths

    @cached_property
    def parents(self) -> Array:
        """Number of the node above each; -1 for the root."""
        parents = np.full(self.node_count, -1, dtype=np.int64)
        inner = np.flatnonzero(self.children_left >= 0)
        parents[self.children_left[inner]] = parents[self.children_right[inner]] = inner
        return parents

    @cached_property
    def labels(self) -> Array:
        """Number of the class with the largest share at each node; of equal ones the first."""
        return np.asarray(self.value[:, 0, :].argmax(axis=1))

    @cached_property
    def packed(self) -> Any:
        """The nodes as native code follows them."""
        nodes = (self.children_left, self.children_right, self.feature, self.threshold, self.missing_go_to_left)
        if len(self.by_set):
            return _kernels.pack_with_sets(self.n_features, nodes, self.by_set, self.sets)
        return _kernels.pack(self.n_features, nodes)

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf of each row of an array or a compressed container."""
        leaves = _kernels.leaves_of(self.packed, X)
        return np.flatnonzero(self.children_left < 0)[leaves[:, 0]] if len(self.by_set) else leaves

    def branches(self, node: int) -> list[tuple[int, int]]:
        """Return the children of a node, left and right, each with its number."""
        left = int(self.children_left[node])
        return [] if left < 0 else [(0, left), (1, int(self.children_right[node]))]

    def categories_left(self, node: int) -> tuple[list[int], list[int]] | None:
        """Return the categories that a node sends left, and the others that it met; None where it asks about a threshold."""
        place = int(np.searchsorted(self.by_set, node))
        if place >= len(self.by_set) or self.by_set[place] != node:
            return None
        bits = np.unpackbits(np.asarray(self.sets[place]).astype("<u4").view(np.uint8), bitorder="little")
        left, met = bits[:256].astype(bool), bits[256:].astype(bool)
        return np.flatnonzero(left & met).tolist(), np.flatnonzero(met & ~left).tolist()

    def predict(self, X: Any) -> Array:
        """Return the value of the leaf of each row, shape (n, n_classes) or (n, n_outputs, 1)."""
        found = self.value[self.apply(X)]
        return np.asarray(found[:, 0, :] if self.n_outputs == 1 else found)

    def decision_path(self, X: Any) -> Any:
        """Return a sparse table of rows and nodes: one where the row passes through the node."""
        leaves = self.apply(X)
        starts = np.concatenate([[0], np.cumsum(self.depths[leaves] + 1)])
        indices = np.empty(starts[-1], dtype=np.int64)
        at, rows, last = leaves, np.arange(len(leaves)), starts[1:] - 1
        while len(rows):
            indices[last[rows]] = at
            last = last - 1
            at = self.parents[at]
            rows, at = rows[at >= 0], at[at >= 0]
        shape = (len(leaves), self.node_count)
        return csr(np.ones(len(indices), dtype=np.int64), indices, starts, shape)

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """Return how much the splits on each column lower the impurity, as shares of the weight; summing to one if asked."""
        inner = np.flatnonzero(self.children_left >= 0)
        mass = self.weighted_n_node_samples * self.impurity
        gains = mass[inner] - mass[self.children_left[inner]] - mass[self.children_right[inner]]
        total = np.bincount(self.feature[inner], gains, minlength=self.n_features) / self.weighted_n_node_samples[0]
        total = np.maximum(total, 0.0)  # rounding
        return np.asarray(total / total.sum() if normalize and total.sum() > 0 else total)

    def _is_walk(self) -> bool:
        """Tell whether each right child follows the whole of the branch on its left."""
        open_: list[int] = []
        for node, left in enumerate(self.children_left.tolist()):
            if left >= 0:
                open_.append(node)
            elif open_:
                parent = open_.pop()
                if self.children_right[parent] != node + 1:
                    return False
        return not open_

    def check(self) -> None:
        """Refuse nodes that are no tree."""
        n = self.node_count
        expect(n >= 1, "the tree has no nodes")
        expect(self.n_features >= 1, "the tree looks at no columns")
        for name in ("children_left", "children_right", "feature", "n_node_samples"):
            expect_array(getattr(self, name), f"the tree's {name}", kinds="i", shape=(n,))
        for name in ("impurity", "weighted_n_node_samples"):
            expect_array(getattr(self, name), f"the tree's {name}", shape=(n,), finite=True)
        expect_array(self.threshold, "the tree's threshold", shape=(n,))
        expect_array(self.missing_go_to_left, "the tree's missing_go_to_left", kinds="u", shape=(n,))
        expect_array(self.value, "the tree's value", shape=(n, None, None), finite=True)
        expect(self.value.size > 0, "the tree's value has no entries")
        expect(bool((self.weighted_n_node_samples > 0).all()), "a node of the tree has no weight")
        expect_array(self.by_set, "the tree's by_set", kinds="iu", shape=(None,))
        expect_array(self.sets, "the tree's sets", kinds="u", shape=(len(self.by_set), 16))
        if len(self.by_set):
            inner = np.flatnonzero(self.children_left >= 0)
            expect(bool(np.isin(self.by_set, inner).all()), "a leaf of the tree asks about a set")
            expect(bool((np.diff(self.by_set) > 0).all()), "the tree's by_set does not rise")
            walk = np.array_equal(self.children_left[inner], inner + 1) and self._is_walk()
            expect(bool(walk), "the nodes of a tree with sets are not in the order of a walk that goes left first")
        try:
            _ = self.packed
        except (ValueError, OverflowError, TypeError) as error:
            raise ModelFileError(f"the children of the tree's nodes are malformed: {error}") from None
