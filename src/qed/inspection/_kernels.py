"""The package's one interface to compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed import _native

if TYPE_CHECKING:
    from qed.inspection._tree_game import TreeGame

Array = np.ndarray[Any, Any]


def tree_values(game: TreeGame, players: Array, n_players: int, X: Array, background: Array | None) -> Array:
    """Return the Shapley values of the rows of X, (n, players, outputs): path-dependent, or against a background."""
    trees = game.trees
    nodes = (
        np.ascontiguousarray(trees.sizes, dtype=np.int64),
        np.ascontiguousarray(trees.feature, dtype=np.int32),
        np.ascontiguousarray(trees.threshold, dtype=np.float64),
        np.ascontiguousarray(trees.goes_left, dtype=np.uint8),
        np.ascontiguousarray(trees.by_set, dtype=np.int64),
        np.ascontiguousarray(trees.sets, dtype=np.uint32).reshape(-1),
        np.ascontiguousarray(game.weight, dtype=np.float64),
        np.ascontiguousarray(game.values, dtype=np.float64).reshape(-1),
        np.ascontiguousarray(players, dtype=np.int32),
    )
    width = game.values.shape[1]
    found = _native.shapley_values(nodes, (game.groups, width, n_players), X, background)
    return found.reshape(len(X), n_players, game.groups * width)
