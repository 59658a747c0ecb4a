"""The best sequence of labels, by dynamic programming."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData


def best_sequence(scores: Any, transitions: Any) -> tuple[np.ndarray[Any, Any], float]:
    """Return the sequence of labels with the largest score: of each label at its place, and of each two that follow.

    Parameters
    ----------
    scores : array-like of shape (length, k)
        Score of each label at each place.
    transitions : array-like of shape (k, k) or (length - 1, k, k)
        Score of a label (row) followed by another (column), the same at all places or one table for each.

    Returns
    -------
    ndarray of int of shape (length,), float
        The labels, of equally good sequences one, and their score.

    Notes
    -----
    Viterbi's recursion, O(length k^2): the best score of sequences that end in each label follows from those one place before.

    Examples
    --------
    >>> from qed.linear_model import best_sequence
    >>> best_sequence([[1.0, 0.0], [0.0, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    (array([0, 0, 0]), 4.0)
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidData(
            f"best_sequence.scores must have a row for each place and a column for each label, got {table.shape}."
        )
    length, k = table.shape
    moves = np.asarray(transitions, dtype=np.float64)
    if moves.shape not in ((k, k), (length - 1, k, k)):
        raise InvalidData(
            f"best_sequence.transitions must have shape {(k, k)} or {(length - 1, k, k)} for {k} labels, got {moves.shape}."
        )
    if np.isnan(table).any() or np.isnan(moves).any():
        raise InvalidData("best_sequence: scores and transitions must be numbers, got NaN.")
    moves = np.broadcast_to(moves, (max(length - 1, 0), k, k))
    best, came_from = table[0], np.zeros((length, k), dtype=np.intp)
    for place in range(1, length):
        ways = best[:, np.newaxis] + moves[place - 1]
        came_from[place] = ways.argmax(axis=0)
        best = ways.max(axis=0) + table[place]
    labels = np.empty(length, dtype=np.intp)
    labels[-1] = int(best.argmax())
    for place in range(length - 1, 0, -1):
        labels[place - 1] = came_from[place, labels[place]]
    return labels, float(best.max())
