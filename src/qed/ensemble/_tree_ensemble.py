"""Many trees as arrays: what prediction, explanation and the checker read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import ModelFileError
from qed.core._once import cached_property
from qed.core._records import expect, expect_array, record
from qed.ensemble import _kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray


Array = np.ndarray[Any, Any]


@record("tree-ensemble", slots=False)
class TreeEnsemble:
    """The nodes of all trees, one tree after the other, those of a tree in the order of a walk that goes left first.

    The left child of an inner node is the node behind it; the right child follows the whole of the left branch, and is found in
    ``children_right``. Numbers are stored in the smallest type that holds them exactly.

    Attributes
    ----------
    n_features : int
        Columns of the table that the trees were grown on.
    sizes : ndarray of int of shape (n_trees,)
        Nodes of each tree.
    feature : ndarray of int of shape (n_nodes,)
        Column that a node looks at; -1 for leaves.
    threshold : ndarray of shape (n_inner,)
        By inner node: rows whose value is at most this go left. Infinite where known values are parted from missing ones.
    missing_left : ndarray of uint8
        By inner node, a bit each (``numpy.packbits``): whether missing values go left.
    value : ndarray of shape (n_leaves, width)
        By leaf: weights of the classes, or what is predicted.
    weight : ndarray of shape (n_leaves,)
        By leaf: weight of the rows of the fit that ended there; empty where the values are the weights of the classes.
    by_set : ndarray of int of shape (k,)
        Numbers, among the inner nodes, of those that ask whether a category is in a set.
    sets : ndarray of uint32 of shape (k, 16)
        Eight words of bits, the categories that go left, and eight more, the categories that the node met; others go where
        missing values go.
    """

    n_features: int
    sizes: NDArray[np.integer[Any]]
    feature: NDArray[np.integer[Any]]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.uint8]
    value: NDArray[Any]
    weight: NDArray[Any]
    by_set: NDArray[np.integer[Any]]
    sets: NDArray[np.uint32]

    def __getstate__(self) -> dict[str, Any]:
        # what was computed from the nodes is computed again
        return {name: value for name, value in self.__dict__.items() if name in type(self).__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return len(self.value)

    @cached_property
    def starts(self) -> Array:
        """Number of the first node of each tree, and of all nodes."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])

    @cached_property
    def goes_left(self) -> Array:
        """Whether missing values go left, by inner node."""
        return np.unpackbits(self.missing_left, count=len(self.threshold))

    @cached_property
    def children_right(self) -> Array:
        """Number of the right child of each node; -1 for leaves."""
        inner = self.feature >= 0
        level = np.cumsum(np.where(inner, 1, -1))  # open branches behind each node
        count = len(level)
        shift = int(level.min(initial=0)) - 1
        keys = (level - shift) * (count + 1) + np.arange(count)
        order = np.argsort(keys)
        at = np.flatnonzero(inner)
        ends = np.searchsorted(keys[order], (level[at] - 1 - shift) * (count + 1) + at)
        right = np.full(count, -1, dtype=np.int64)
        right[at] = order[ends] + 1
        return right

    @cached_property
    def leaf_numbers(self) -> Array:
        """Number of each leaf among the leaves, by node; meaningless for inner nodes."""
        return np.cumsum(self.feature < 0) - 1

    @cached_property
    def inner_numbers(self) -> Array:
        """Number of each inner node among the inner ones, by node; meaningless for leaves."""
        return np.cumsum(self.feature >= 0) - 1

    @cached_property
    def packed(self) -> Any:
        """The nodes as native code follows them."""
        nodes = (self.sizes, self.feature, self.threshold, self.goes_left, self.by_set, self.sets)
        return _kernels.pack(self.n_features, self.value.shape[1], nodes)

    @cached_property
    def shares(self) -> Array:
        """Shares of the classes, by leaf."""
        weight = self.value.astype(np.float64)
        weight /= np.einsum("ij->i", weight)[:, None]  # a sum over two or three numbers is slow
        return np.asarray(weight)

    @cached_property
    def numbers(self) -> Array:
        """What is predicted, by leaf, in float64."""
        return np.ascontiguousarray(self.value, dtype=np.float64)

    def add_up(self, X: Any, values: Array, groups: int = 1, bags: Array | None = None) -> Array:
        """Add up values by leaf over the trees (those of each group apart), or over those whose bag lacks the row."""
        return _kernels.sum_leaves(self.packed, X, values, groups, bags)

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf of each row in each tree, among the nodes of that tree."""
        nodes = np.flatnonzero(self.feature < 0)[_kernels.leaves_of(self.packed, X)]
        return np.asarray(nodes - self.starts[:-1])

    def decision_path(self, X: Any) -> tuple[Any, Array]:
        """Return a sparse table of rows and nodes, one where a row passes, and the first node of each tree."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415  (who asks for paths needs it)

        inner = np.flatnonzero(self.feature >= 0)
        parents = np.full(len(self.feature), -1, dtype=np.int64)
        parents[inner + 1] = parents[self.children_right[inner]] = inner
        at = self.apply(X) + self.starts[:-1]
        n_rows = len(at)
        rows = np.broadcast_to(np.arange(n_rows)[:, None], at.shape).ravel()
        at = at.ravel()
        found_rows, found = [], []
        while len(at):
            found_rows.append(rows)
            found.append(at)
            at = parents[at]
            rows, at = rows[at >= 0], at[at >= 0]
        columns, lines = np.concatenate(found), np.concatenate(found_rows)
        shape = (n_rows, len(self.feature))
        table = csr_matrix((np.ones(len(columns), dtype=np.int64), (lines, columns)), shape=shape)
        return table, self.starts

    def check(self) -> None:
        """Refuse nodes that are no trees."""
        inner = len(self.threshold)
        expect(len(self.sizes) >= 1 and self.n_features >= 1, "the ensemble has no trees, or they look at no columns")
        expect_array(self.sizes, "the ensemble's sizes", kinds="iu", shape=(None,))
        expect_array(self.feature, "the ensemble's feature", kinds="i", shape=(None,))
        expect_array(self.threshold, "the ensemble's threshold", shape=(None,))
        expect_array(self.missing_left, "the ensemble's missing_left", kinds="u", shape=((inner + 7) // 8,))
        expect(self.missing_left.dtype == np.uint8, "the ensemble's missing_left is not of bytes")
        behind = np.unpackbits(self.missing_left)[inner:]
        expect(not behind.any(), "the ensemble's missing_left has bits behind those of its nodes")
        leaves = int(np.count_nonzero(self.feature < 0))
        expect_array(self.value, "the ensemble's value", kinds="uf", shape=(leaves, None), finite=True)
        expect(self.value.size > 0, "the ensemble's value has no entries")
        expect_array(self.weight, "the ensemble's weight", kinds="uf", shape=(None,), finite=True)
        expect(len(self.weight) in (0, leaves), "the ensemble has leaves without a weight")
        expect(bool((self.weight > 0).all()), "a leaf of the ensemble has no weight")
        expect_array(self.by_set, "the ensemble's by_set", kinds="iu", shape=(None,))
        expect_array(self.sets, "the ensemble's sets", kinds="u", shape=(len(self.by_set), 16))
        try:
            _ = self.packed
        except (ValueError, OverflowError, TypeError) as error:
            raise ModelFileError(f"the nodes of the ensemble are malformed: {error}") from None


def narrow(numbers: Array) -> Array:
    """Return the same numbers in the smallest type that holds them."""
    if numbers.dtype.kind == "f":
        if numbers.size and numbers.min() >= 0 and numbers.max() < 2**32 and (numbers == np.rint(numbers)).all():
            return numbers.astype(np.min_scalar_type(int(numbers.max())))
        small = numbers.astype(np.float32) if np.abs(numbers).max(initial=0) < 1e38 else numbers
        return small if (small == numbers).all() else numbers
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return numbers.astype(next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max))


def joined(parts: list[TreeEnsemble]) -> TreeEnsemble:
    """Return the trees of several ensembles over the same columns as one."""
    inner = np.cumsum([0, *(len(part.threshold) for part in parts)])
    return TreeEnsemble(
        n_features=parts[0].n_features,
        sizes=np.concatenate([part.sizes for part in parts]),
        feature=narrow(np.concatenate([part.feature for part in parts])),
        threshold=np.concatenate([part.threshold for part in parts]),
        missing_left=np.packbits(np.concatenate([part.goes_left for part in parts])),
        value=np.concatenate([part.value for part in parts]),
        weight=np.concatenate([part.weight for part in parts]),
        by_set=np.concatenate([part.by_set + shift for part, shift in zip(parts, inner, strict=False)]),
        sets=np.concatenate([part.sets for part in parts]),
    )
