"""Averages of models: weights that are best for what each member said of rows it had not seen.

For squared errors the weights solve a least-squares problem on the simplex; for probabilities they are those of a mixture, found by
expectation-maximisation. Both problems are convex. The loss of a blend is honest: weights for a fold come from the other folds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]

LEAST_WEIGHT = 0.05  # below, a member costs a fit and changes next to nothing
MOST_MEMBERS = 5
MAX_ROUNDS = 300


def squares_weights(answers: Array, y: Array) -> Array:
    """Return the weights, none negative and one in sum, whose average of answers has the least squared error.

    Parameters
    ----------
    answers : ndarray of shape (n, members)
        What each member says of each row.
    y : ndarray of shape (n,)
        The truth.
    """
    errors = answers - y[:, np.newaxis]
    gram = errors.T @ errors / len(y)
    weights = np.zeros(len(gram))
    weights[np.argmin(np.diag(gram))] = 1.0
    for _ in range(MAX_ROUNDS):  # move weight from the worst member that has some to the best one, as far as it pays
        slope = gram @ weights
        to = int(np.argmin(slope))
        given = np.where(weights > 0, slope, -np.inf)
        away = int(np.argmax(given))
        curve = gram[to, to] + gram[away, away] - 2 * gram[to, away]
        drop = slope[away] - slope[to]
        if drop <= 1e-12 * max(abs(gram[to, to]), 1e-300) or curve <= 0:
            break
        step = min(weights[away], drop / curve)
        weights[to] += step
        weights[away] -= step
    return weights


def mixture_weights(shares: Array) -> Array:
    """Return the weights whose mixture gives what happened the greatest likelihood.

    Parameters
    ----------
    shares : ndarray of shape (n, members)
        The probability that each member gave to what happened.
    """
    weights = np.full(shares.shape[1], 1 / shares.shape[1])
    for _ in range(MAX_ROUNDS):
        mixed = shares @ weights
        new = weights * (shares / mixed[:, np.newaxis]).mean(axis=0)
        if np.abs(new - weights).max() < 1e-6:
            break
        weights = new
    return np.asarray(new / new.sum())


def weights_of(answers: Array, y: Array, *, is_number: bool) -> Array:
    """Weigh members, and leave out those that hardly count."""
    kept = np.arange(answers.shape[1])
    while True:
        some = answers[:, kept]
        found = squares_weights(some, y) if is_number else mixture_weights(some)
        few = found < LEAST_WEIGHT
        if few.all():  # of many that are alike, none weighs much
            few[np.argsort(-found, kind="stable")[:MOST_MEMBERS]] = False
        if len(kept) - few.sum() > MOST_MEMBERS:
            few = found < np.sort(found)[-MOST_MEMBERS]
        if not few.any():
            break
        kept = kept[~few]
    weights = np.zeros(answers.shape[1])
    weights[kept] = found
    return weights


def honest_losses(answers: Array, y: Array, folds: Sequence[Array], floor: float, *, is_number: bool) -> Array:
    """Return the loss of every row under weights that come from the other folds."""
    losses = np.empty(len(y))
    for test in folds:
        others = np.ones(len(y), bool)
        others[test] = False
        weights = weights_of(answers[others], y[others], is_number=is_number)
        said = answers[test] @ weights
        losses[test] = (said - y[test]) ** 2 if is_number else -np.log(np.maximum(said, floor))
    return losses
