"""Values of games with too many coalitions to evaluate: sampled, with standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import InvalidParameter, generator
from qed.inspection._games import shapley_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.inspection._games import CoalitionGame

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class SampledValue:
    """Estimates of a value.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (n_players,)
        Estimates, and how far they scatter around the truth.
    n_samples : int
        Coalitions (or orders) drawn.
    """

    values: Array
    standard_errors: Array
    n_samples: int


def sampled_value(
    game: CoalitionGame,
    n_samples: int,
    *,
    p: Sequence[float] | None = None,
    method: Literal["marginal", "permutation", "least_squares"] = "permutation",
    random_state: Any = None,
) -> SampledValue:
    """Estimate a value of a game from some of its coalitions.

    Parameters
    ----------
    game : CoalitionGame
        Of any number of players.
    n_samples : int
        For "marginal", coalitions a player (2 n evaluations each); for "permutation", pairs of an order and its reverse (up to 2 n
        evaluations each); for "least_squares", pairs of a coalition and its complement, which all players share.
    p : sequence of length n_players, optional
        Weights of a probabilistic value, for "marginal"; those of Shapley by default.
    method : {"marginal", "permutation", "least_squares"}
        "marginal" draws the size of a coalition with probability ``comb(n - 1, s) * p[s]``, then a coalition of that size;
        "permutation" and "least_squares" estimate the Shapley value, and their values add up to what all players are worth.
    random_state : None, int or Generator
        Seed.

    Returns
    -------
    SampledValue
        Estimates with standard errors; zero where all coalitions were evaluated.
    """
    if not isinstance(n_samples, int | np.integer) or n_samples < 2:
        raise InvalidParameter(f"n_samples must be a whole number of at least 2, got {n_samples!r:.80}.")
    if p is not None and method != "marginal":
        raise InvalidParameter(f"p is for method='marginal'; method={method!r:.80} estimates the Shapley value.")
    random = generator(random_state)
    if method == "marginal":
        return _marginal(game, int(n_samples), p, random)
    if method == "permutation":
        return _permutation(game, int(n_samples), random)
    if method == "least_squares":
        return _least_squares(game, int(n_samples), random)
    raise InvalidParameter(f"method must be 'marginal', 'permutation' or 'least_squares', got {method!r:.80}.")


def _marginal(game: CoalitionGame, m: int, p: Sequence[float] | None, random: Any) -> SampledValue:
    n = game.n_players
    weights = np.array(shapley_weights(n) if p is None else list(p), dtype=np.float64)
    law = weights * [math.comb(n - 1, s) for s in range(n)] if len(weights) == n else np.zeros(n)
    if not abs(law.sum() - 1) <= 1e-9 or not (weights >= 0).all():
        raise InvalidParameter(f"p must hold {n} weights of at least zero with sum(comb({n - 1}, s) * p[s]) = 1.")
    draws = np.empty((n, m))
    for j in range(n):
        others = np.delete(np.arange(n), j)
        sizes = random.choice(n, size=m, p=law / law.sum())
        numbers = [sum(1 << int(one) for one in random.permutation(others)[:size]) for size in sizes]
        with_j = game.of_bits([number | 1 << j for number in numbers])
        draws[j] = np.array(with_j, dtype=np.float64) - np.array(game.of_bits(numbers), dtype=np.float64)
    return SampledValue(draws.mean(axis=1), draws.std(axis=1, ddof=1) / math.sqrt(m), m)


def _permutation(game: CoalitionGame, m: int, random: Any) -> SampledValue:
    n = game.n_players
    draws = np.empty((m, n))
    for number in range(m):
        order = random.permutation(n)
        draws[number] = (_along(game, order) + _along(game, order[::-1])) / 2
    return SampledValue(draws.mean(axis=0), draws.std(axis=0, ddof=1) / math.sqrt(m), m)


def _along(game: CoalitionGame, order: Array) -> Array:
    numbers = np.cumsum([1 << int(player) for player in order], dtype=object).tolist()
    worth = np.array([0, *game.of_bits(numbers)], dtype=np.float64)
    own = np.empty(len(order))
    own[order] = np.diff(worth)
    return own


def _least_squares(game: CoalitionGame, m: int, random: Any) -> SampledValue:
    """Solve the least squares of the Shapley kernel over coalitions drawn by it, each with its complement.

    Values that add up to the worth of all: the last one is eliminated. Standard errors follow from the spread of residuals
    (the sandwich formula); where the draws cover all coalitions, these are weighted as the kernel has it, and the solution is
    exact.
    """
    n = game.n_players
    full = (1 << n) - 1
    whole = float(game.of_bits([full])[0])
    if n == 1:
        return SampledValue(np.array([whole]), np.zeros(1), m)
    if 2 * m >= full - 1:
        numbers = list(range(1, full))
        often = np.array([1 / (math.comb(n - 2, number.bit_count() - 1)) for number in numbers])
        values, _ = _solve(game, numbers, often, whole)
        return SampledValue(values, np.zeros(n), m)
    law = np.array([1 / (s * (n - s)) for s in range(1, n)])  # comb(n, s) times the kernel, up to a factor
    sizes = 1 + random.choice(n - 1, size=m, p=law / law.sum())
    drawn = [sum(1 << int(one) for one in random.permutation(n)[:size]) for size in sizes]
    numbers = [number for one in drawn for number in (one, full & ~one)]
    values, errors = _solve(game, numbers, np.ones(len(numbers)), whole)
    return SampledValue(values, errors, m)


def _solve(game: CoalitionGame, numbers: list[int], often: Array, whole: float) -> tuple[Array, Array]:
    n = game.n_players
    Z = np.array([[number >> j & 1 for j in range(n)] for number in numbers], dtype=np.float64)
    u = np.array(game.of_bits(numbers), dtype=np.float64)
    A, b = Z[:, :-1] - Z[:, -1:], u - whole * Z[:, -1]
    root = np.sqrt(often)[:, None]
    inverse = np.linalg.pinv((root * A).T @ (root * A))
    free = inverse @ (A.T @ (often * b))
    values = np.append(free, whole - free.sum())
    # a coalition and its complement are drawn together: their scores are added before they are squared
    scores = (often * (b - A @ free))[:, None] * A
    scores = scores.reshape(-1, 2, n - 1).sum(axis=1) if len(scores) % 2 == 0 else scores
    spread = inverse @ (scores.T @ scores) @ inverse * (len(scores) / max(len(scores) - n + 1, 1))
    last = np.ones(n - 1)
    return values, np.sqrt(np.maximum(np.append(np.diag(spread), last @ spread @ last), 0.0))
