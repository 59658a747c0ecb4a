"""Cost-complexity pruning: the subtrees that are best for a penalty on the number of leaves.

For every price there is a smallest subtree that minimises impurity plus price times leaves, and these subtrees are nested. The
node below which the least impurity is saved for each leaf is the next to become a leaf.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.tree._structure import DecisionTree

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]


class PruningPath(NamedTuple):
    """Cost-complexity pruning path: the values of ``ccp_alpha`` at which a tree loses leaves, and the impurity of what is left.

    Attributes
    ----------
    ccp_alphas : ndarray of shape (k,)
        Prices of a leaf, rising from 0, the whole tree; at the last one only the root is left.
    impurities : ndarray of shape (k,)
        Mean impurity of the leaves of the subtree for each price.
    """

    ccp_alphas: Array
    impurities: Array


class _Step(NamedTuple):
    node: int
    alpha: float
    impurity: float


def _weakest_links(tree: DecisionTree) -> Iterator[_Step]:
    """Yield nodes in the order in which they become leaves, with the price and the impurity that is then left."""
    left, right, parents = tree.children_left.tolist(), tree.children_right.tolist(), tree.parents.tolist()
    own = (tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]).tolist()
    below, leaves = list(own), [1] * len(own)
    for node in np.argsort(-tree.depths, kind="stable").tolist():
        if left[node] >= 0:
            below[node] = below[left[node]] + below[right[node]]
            leaves[node] = leaves[left[node]] + leaves[right[node]]

    def price(node: int) -> float:
        return float(max(own[node] - below[node], 0.0) / (leaves[node] - 1))

    inner = [node for node in range(len(own)) if left[node] >= 0]
    prices = {node: price(node) for node in inner}
    heap = [(alpha, node) for node, alpha in prices.items()]
    heapify(heap)
    while heap:
        alpha, node = heappop(heap)
        if prices.get(node) != alpha:  # it has changed since, or has gone
            continue
        stack = [node]
        while stack:  # what hangs below is no candidate any more
            gone = stack.pop()
            if prices.pop(gone, None) is not None:
                stack += [left[gone], right[gone]]
        saved, fewer = own[node] - below[node], leaves[node] - 1
        above = node
        while above >= 0:
            below[above] += saved
            leaves[above] -= fewer
            if above != node:
                prices[above] = price(above)
                heappush(heap, (prices[above], above))
            above = parents[above]
        yield _Step(node, alpha, below[0])


def pruning_path(tree: DecisionTree) -> PruningPath:
    """Return all prices at which the tree changes."""
    leaf = tree.children_left < 0
    weight = tree.weighted_n_node_samples
    steps = list(_weakest_links(tree))
    alphas = np.maximum.accumulate([0.0, *(step.alpha for step in steps)])  # they rise, but for rounding
    start = float(weight[leaf] @ tree.impurity[leaf] / weight[0])
    return PruningPath(alphas, np.array([start, *(step.impurity for step in steps)]))


def pruned(tree: DecisionTree, alpha: float) -> DecisionTree:
    """Return the smallest subtree that minimises impurity plus ``alpha`` times leaves."""
    cut = set()
    for step in _weakest_links(tree):
        if step.alpha > alpha:
            break
        cut.add(step.node)
    if not cut:
        return tree
    kept: list[int] = []
    left: list[int] = []
    right: list[int] = []
    stack = [(0, -1, False)]
    while stack:
        node, parent, is_right = stack.pop()
        here = len(kept)
        kept.append(node)
        left.append(-1)
        right.append(-1)
        if parent >= 0:
            (right if is_right else left)[parent] = here
        if tree.children_left[node] >= 0 and node not in cut:
            stack.append((int(tree.children_right[node]), here, True))
            stack.append((int(tree.children_left[node]), here, False))
    children_left = np.array(left, dtype=np.int64)
    leaf = children_left < 0
    asks = ~leaf & np.isin(kept, tree.by_set)
    return DecisionTree(
        n_features=tree.n_features,
        children_left=children_left,
        children_right=np.array(right, dtype=np.int64),
        feature=np.where(leaf, -2, tree.feature[kept]),
        threshold=np.where(leaf, -2.0, tree.threshold[kept]),
        missing_go_to_left=np.where(leaf, 0, tree.missing_go_to_left[kept]).astype(np.uint8),
        impurity=tree.impurity[kept],
        n_node_samples=tree.n_node_samples[kept],
        weighted_n_node_samples=tree.weighted_n_node_samples[kept],
        value=tree.value[kept],
        by_set=np.flatnonzero(asks),
        sets=tree.sets[np.searchsorted(tree.by_set, np.array(kept)[asks])],
    )
