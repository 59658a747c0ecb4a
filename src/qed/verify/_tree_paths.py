"""Contributions of columns to predictions of trees, leaf by leaf, from the conditions along the paths to them.

A leaf is reached when every player on its path meets all of its own conditions. Against a row z of a background, players whose
conditions x meets and z does not can only help to reach it, those whose conditions z meets and x does not can only prevent it, and
where neither meets a player's conditions nobody reaches it: so the Shapley values of one leaf, one x and one z have a closed form.
Without a background the share of the rows of the fit stands for z, and coalitions are counted by their sizes. All of it is summed
in extended precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
Path = dict[int, tuple[float, tuple[tuple[int, bool], ...]]]  # by player: share of the rows of the fit, and conditions
BLOCK_ENTRIES = 2_000_000  # numbers that are held at once
UNIT = 2.0**-53


class Nodes(NamedTuple):
    """Nodes of all trees, and what their leaves add."""

    feature: Array
    threshold: Array
    missing_left: Array
    sets: dict[int, Array]
    starts: Array
    values: Array  # by node, zeros above leaves
    weight: Array  # by node
    groups: int
    constant: Array


class Paths(NamedTuple):
    """Leaves below a split; the conditions of one player on the path to one leaf are a slot, and stand together."""

    nodes: Nodes
    conditions: Array  # the node of each
    goes_left: Array
    slots: Array  # where the conditions of each begin
    player: Array  # of each slot
    share: Array  # of each slot: the part of the rows of the fit that meet it
    leaves: Array  # where the slots of each begin
    sizes: Array  # how many slots each leaf has
    values: Array  # (leaves, outputs), extended
    constant: Array  # what no column changes
    base: Array  # the mean over the rows of the fit
    rounding: float  # what an honest computation rounds by, at most


def read(model: Any, owners: Array, n_players: int) -> Paths:
    """Read the leaves of a tree, a forest or boosted trees."""
    nodes = _nodes(model)
    width, count = nodes.values.shape[1], len(nodes.starts) - 1
    outputs = nodes.groups * width
    constant = np.broadcast_to(nodes.constant, (outputs,)).astype(np.longdouble)
    base, magnitude = constant.copy(), float(np.abs(constant).max())
    conditions: list[tuple[int, bool]] = []
    slots: list[int] = []
    players, shares, leaves, sizes, values = [], [], [], [], []
    for number in range(count):
        root, last = int(nodes.starts[number]), int(nodes.starts[number + 1])
        place = slice(number % nodes.groups * width, (number % nodes.groups + 1) * width)
        cover, right = _covers(nodes, root, last)
        own = nodes.values[root:last]
        magnitude += float(np.abs(own).max())
        base[place] += (nodes.weight[root:last, None].astype(np.longdouble) * own).sum(axis=0) / cover[0]
        if last - root == 1:
            constant[place] += own[0]
            continue
        for leaf, path in _walk(nodes, root, cover, right, owners):
            leaves.append(len(slots))
            sizes.append(len(path))
            full = np.zeros(outputs, dtype=np.longdouble)
            full[place] = nodes.values[leaf]
            values.append(full)
            for player, (share, own_conditions) in path.items():
                slots.append(len(conditions))
                players.append(player)
                shares.append(share)
                conditions.extend(own_conditions)
    leaf_count = int((nodes.feature < 0).sum())
    depth = int(np.ceil(np.log2(leaf_count + 1))) + max(len(owners), n_players)
    found = np.array(conditions, dtype=np.int64).reshape(-1, 2)
    return Paths(
        nodes,
        found[:, 0],
        found[:, 1] != 0,
        np.array(slots, dtype=np.intp),
        np.array(players, dtype=np.intp),
        np.array(shares, dtype=np.longdouble),
        np.array(leaves, dtype=np.intp),
        np.array(sizes, dtype=np.intp),
        np.array(values, dtype=np.longdouble).reshape(-1, outputs),
        constant,
        base,
        8 * UNIT * (4 * depth + count) * magnitude,
    )


def _walk(nodes: Nodes, root: int, cover: Array, right: Array, owners: Array) -> Iterator[tuple[int, Path]]:
    """Yield the leaves of a tree, each with the players on its path."""
    stack: list[tuple[int, Path]] = [(root, {})]
    while stack:
        node, path = stack.pop()
        if nodes.feature[node] < 0:
            yield node, path
            continue
        player = int(owners[nodes.feature[node]])
        share, before = path.get(player, (1.0, ()))
        for child, is_left in ((node + 1, True), (int(right[node - root]), False)):
            part = share * float(cover[child - root] / cover[node - root])
            stack.append((child, {**path, player: (part, (*before, (node, is_left)))}))


def met(paths: Paths, X: Array) -> Array:
    """Return by row and slot whether the row meets its conditions."""
    nodes = paths.nodes
    inner = np.flatnonzero(nodes.feature >= 0)
    numbers = np.asarray(X, dtype=np.float64)[:, nodes.feature[inner]]
    missing = np.broadcast_to(nodes.missing_left[inner], numbers.shape)
    left = np.zeros((len(X), len(nodes.feature)), dtype=bool)
    left[:, inner] = np.where(np.isnan(numbers), missing, numbers <= nodes.threshold[inner])
    for node, words in nodes.sets.items():
        value = np.asarray(X[:, nodes.feature[node]], dtype=np.float64)
        inside = (value >= 0) & (value < 256)
        code = np.where(inside, value, 0).astype(np.int64)
        bit = (code % 32).astype(np.uint32)
        known = inside & ((words[8 + code // 32] >> bit) & 1 == 1)
        left[:, node] = np.where(known, (words[code // 32] >> bit) & 1 == 1, nodes.missing_left[node])
    if not len(paths.slots):
        return np.zeros((len(X), 0), dtype=bool)
    agrees = left[:, paths.conditions] == paths.goes_left
    return np.asarray(np.logical_and.reduceat(agrees, paths.slots, axis=1))


def outputs(paths: Paths, X: Array) -> Array:
    """Return what the trees add up to, for each row."""
    found = np.tile(paths.constant, (len(X), 1))
    if len(paths.leaves):
        step = max(1, BLOCK_ENTRIES // len(paths.conditions))
        for first in range(0, len(X), step):
            reached = np.logical_and.reduceat(met(paths, X[first : first + step]), paths.leaves, axis=1)
            found[first : first + step] += reached.astype(np.longdouble) @ paths.values
    return found


def against(paths: Paths, X: Array, background: Array, n_players: int) -> Array:
    """Return the contributions to the rows of X against a background, (n, players, outputs)."""
    if not len(paths.slots):
        return np.zeros((len(X), n_players, paths.values.shape[1]))
    total = np.zeros((len(X), len(paths.slots)), dtype=np.longdouble)
    of_leaf = np.repeat(np.arange(len(paths.leaves)), paths.sizes)
    table = _weights(int(paths.sizes.max()))
    rows = met(paths, X)
    step = min(4096, max(1, BLOCK_ENTRIES // len(paths.conditions)))
    for first in range(0, len(background), step):
        by_others = met(paths, background[first : first + step])
        for number, own in enumerate(rows):
            apart = own != by_others
            possible = np.logical_and.reduceat(own | by_others, paths.leaves, axis=1)
            helping = np.add.reduceat(apart & own, paths.leaves, axis=1, dtype=np.int64)
            preventing = np.add.reduceat(apart & ~own, paths.leaves, axis=1, dtype=np.int64)
            for side, weight in ((own, table[helping, preventing]), (~own, -table[preventing, helping])):
                slots = np.flatnonzero(side)
                weights = np.where(possible, weight, 0.0)[:, of_leaf[slots]]
                total[number, slots] += np.einsum("ij,ij->j", weights, apart[:, slots])
    return np.stack([_by_player(paths, one / len(background), of_leaf, n_players) for one in total])


def _weights(most: int) -> Array:
    """Return (a - 1)! b! / (a + b)! for a and b up to a number; zero where there is no a."""
    a = np.arange(1, most + 1, dtype=np.longdouble)
    table = np.zeros((most + 1, most + 1))
    weight = 1 / a
    table[1:, 0] = weight
    for b in range(1, most + 1):
        weight = weight * b / (a + b)
        table[1:, b] = weight
    return table


def by_shares(paths: Paths, x: Array, n_players: int) -> Array:
    """Return the contributions to one row where shares of the fit stand for a background, (players, outputs)."""
    if not len(paths.slots):
        return np.zeros((n_players, paths.values.shape[1]))
    own = met(paths, x[None])[0].astype(np.longdouble)
    gains = np.zeros(len(paths.slots), dtype=np.longdouble)
    for m in np.unique(paths.sizes):
        places = paths.leaves[paths.sizes == m][:, None] + np.arange(m)
        o, z = own[places], paths.share[places]
        weights = np.array([1 / (int(m) * math.comb(int(m) - 1, s)) for s in range(m)], dtype=np.longdouble)
        for j in range(m):
            sizes = np.zeros((len(places), m), dtype=np.longdouble)  # coalitions of the others, by size
            sizes[:, 0] = 1
            for k in range(m):
                if k != j:
                    sizes[:, 1:] = sizes[:, 1:] * z[:, k, None] + sizes[:, :-1] * o[:, k, None]
                    sizes[:, 0] *= z[:, k]
            gains[places[:, j]] = (o[:, j] - z[:, j]) * (sizes @ weights)
    return _by_player(paths, gains, np.repeat(np.arange(len(paths.leaves)), paths.sizes), n_players)


def _by_player(paths: Paths, gains: Array, of_leaf: Array, n_players: int) -> Array:
    total = np.zeros((n_players, paths.values.shape[1]), dtype=np.longdouble)
    np.add.at(total, paths.player, gains[:, None] * paths.values[of_leaf])
    return total.astype(np.float64)


def _nodes(model: Any) -> Nodes:
    """Read the nodes of a tree, a forest or boosted trees; values are what a leaf adds to the output."""
    if "tree_" in vars(model):
        return _single_nodes(model)
    trees = model.trees_
    feature = np.asarray(trees.feature, dtype=np.int64)
    inner = feature >= 0
    threshold, left = np.zeros(len(feature)), np.zeros(len(feature), dtype=bool)
    threshold[inner] = trees.threshold
    left[inner] = np.unpackbits(trees.missing_left, count=int(inner.sum())) != 0
    places = np.flatnonzero(inner)
    sets = {int(places[number]): np.asarray(words) for number, words in zip(trees.by_set, trees.sets, strict=True)}
    own = np.asarray(trees.value, dtype=np.float64)
    weight, k, constant = np.asarray(trees.weight, dtype=np.float64), 1, np.zeros(1)
    if "baseline_" in vars(model):
        k, constant = int(model.n_trees_per_iteration_), np.asarray(model.baseline_, dtype=np.float64)
    else:
        if "classes_" in vars(model):
            weight = own.sum(axis=1)
            own = own / weight[:, None]
            own = own[:, 1:] if own.shape[1] == 2 else own
        own = own / len(trees.sizes)
    values, weights = np.zeros((len(feature), own.shape[1])), np.zeros(len(feature))
    values[~inner], weights[~inner] = own, weight
    starts = np.concatenate([[0], np.cumsum(trees.sizes)])
    return Nodes(feature, threshold, left, sets, starts, values, weights, k, constant)


def _single_nodes(model: Any) -> Nodes:
    tree = model.tree_
    own = np.asarray(tree.value, dtype=np.float64).reshape(len(tree.feature), -1)
    if "classes_" in vars(model) and own.shape[1] == 2:
        own = own[:, 1:]
    inner = np.asarray(tree.children_left) >= 0
    feature = np.where(inner, tree.feature, -1).astype(np.int64)
    weight = np.where(inner, 0.0, tree.weighted_n_node_samples)
    left = np.asarray(tree.missing_go_to_left) != 0
    values = np.where(inner[:, None], 0.0, own)
    sets = {int(node): np.asarray(words) for node, words in zip(tree.by_set, tree.sets, strict=True)}
    return Nodes(feature, tree.threshold, left, sets, np.array([0, len(feature)]), values, weight, 1, np.zeros(1))


def _covers(nodes: Nodes, root: int, last: int) -> tuple[Array, Array]:
    """Return the weight at each node of a tree and its right child; a left child follows its parent."""
    count = last - root
    cover, right, end = np.zeros(count), np.full(count, -1), np.zeros(count, dtype=np.int64)
    for node in range(count - 1, -1, -1):
        if nodes.feature[root + node] < 0:
            cover[node], end[node] = nodes.weight[root + node], node + 1
            continue
        other = end[node + 1]
        right[node], end[node] = root + other, end[other]
        cover[node] = cover[node + 1] + cover[other]
    return cover, right
