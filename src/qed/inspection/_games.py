"""Coalition games: what sets of players are worth together, and values that share it out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Array = np.ndarray[Any, Any]
MOST_PLAYERS = 20  # of games that are enumerated: a million coalitions


class CoalitionGame:
    """Players, and what each coalition of them is worth.

    Parameters
    ----------
    n_players : int
        Number of players, numbered from 0.
    value : callable
        From a coalition to what it is worth: a frozenset of players, or with ``vectorised=True`` an array of bool of shape
        (m, n_players) with a coalition in each row. Fractions stay fractions.
    vectorised : bool
        What ``value`` takes.
    zero : bool
        Whether to subtract what the empty coalition is worth. Otherwise it must be worth nothing.

    Attributes
    ----------
    calls : int
        Coalitions that ``value`` was asked about; each is asked about once.

    Examples
    --------
    >>> from qed.inspection import CoalitionGame, shapley_value
    >>> glove = CoalitionGame(3, lambda s: 1 if 0 in s and len(s) > 1 else 0)
    >>> [str(value) for value in shapley_value(glove)]
    ['2/3', '1/6', '1/6']
    """

    def __init__(
        self, n_players: int, value: Callable[[Any], Any], *, vectorised: bool = False, zero: bool = False
    ) -> None:
        if not isinstance(n_players, int | np.integer) or n_players < 1:
            raise InvalidParameter(f"n_players must be a whole number of at least 1, got {n_players!r:.80}.")
        self.n_players, self.vectorised, self.calls = int(n_players), vectorised, 0
        self._value = value
        self._known: dict[int, Any] = {}
        self._shift: Any = 0
        empty = self._ask([0])[0]
        if zero:
            self._shift = empty
        elif empty != 0:
            raise InvalidParameter(
                f"The empty coalition is worth {empty!r:.80}, and a game starts from nothing. Pass zero=True to subtract it."
            )

    def worth(self, coalition: Iterable[int]) -> Any:
        """Return what a coalition is worth.

        Parameters
        ----------
        coalition : iterable of int
            Numbers of its players.

        Returns
        -------
        number
            Its worth.
        """
        members = {int(player) for player in coalition}
        if not members <= set(range(self.n_players)):
            raise InvalidParameter(f"Players are numbered from 0 to {self.n_players - 1}, got {sorted(members)!r:.80}.")
        return self.of_bits([sum(1 << player for player in members)])[0]

    def of_bits(self, numbers: Sequence[int]) -> list[Any]:
        """Return what coalitions are worth, each asked about once.

        Parameters
        ----------
        numbers : sequence of int
            Coalitions as numbers whose bit j says that player j belongs.

        Returns
        -------
        list
            What they are worth.
        """
        fresh = [number for number in dict.fromkeys(numbers) if number not in self._known]
        if fresh:
            self._ask(fresh)
        return [self._known[number] - self._shift for number in numbers]

    def _ask(self, numbers: Sequence[int]) -> list[Any]:
        self.calls += len(numbers)
        if self.vectorised:
            members = np.array([[number >> j & 1 for j in range(self.n_players)] for number in numbers], dtype=bool)
            found = list(np.asarray(self._value(members)).reshape(len(numbers)))
        else:
            found = [self._value(frozenset(j for j in range(self.n_players) if number >> j & 1)) for number in numbers]
        self._known.update(zip(numbers, found, strict=True))
        return found

    def table(self) -> list[Any]:
        """Return what all coalitions are worth, in the order of their numbers.

        Returns
        -------
        list of length 2**n_players
            Worths.
        """
        if self.n_players > MOST_PLAYERS:
            raise InvalidParameter(
                f"{self.n_players} players form 2^{self.n_players} coalitions. Use sampled_value, which evaluates some of them."
            )
        return self.of_bits(range(1 << self.n_players))


def probabilistic_value(game: CoalitionGame, p: Sequence[Any]) -> Array:
    """Return the weighted mean of each player's marginal contributions.

    Parameters
    ----------
    game : CoalitionGame
        Of at most 20 players.
    p : sequence of length n_players
        Weight of a coalition of s other players. All coalitions together weigh one: ``sum(comb(n - 1, s) * p[s]) == 1``.

    Returns
    -------
    ndarray of shape (n_players,)
        ``sum(p[len(S)] * (u(S + j) - u(S)))`` over the coalitions S without player j; fractions where the game and p are.
    """
    n = game.n_players
    weights = list(p)
    total = sum(math.comb(n - 1, s) * weight for s, weight in enumerate(weights)) if len(weights) == n else None
    if total is None or not abs(total - 1) <= 1e-9 or not all(weight >= 0 for weight in weights):
        raise InvalidParameter(
            f"p must hold {n} weights of at least zero with sum(comb({n - 1}, s) * p[s]) = 1, got {weights!r:.80} with sum {total}."
        )
    table = game.table()
    return _as_array(
        [
            sum(
                weights[number.bit_count()] * (table[number | 1 << j] - table[number])
                for number in range(1 << n)
                if not number >> j & 1
            )
            for j in range(n)
        ]
    )


def shapley_weights(n: int) -> list[Fraction]:
    """Return ``s! (n - s - 1)! / n!`` for s from 0 to n - 1.

    Parameters
    ----------
    n : int
        Number of players.

    Returns
    -------
    list of Fraction
        Weights of a coalition of s other players.
    """
    return [Fraction(1, n * math.comb(n - 1, s)) for s in range(n)]


def shapley_value(game: CoalitionGame) -> Array:
    """Return the mean marginal contribution of each player when players come in random order.

    Parameters
    ----------
    game : CoalitionGame
        Of at most 20 players.

    Returns
    -------
    ndarray of shape (n_players,)
        The only value that is linear, symmetric, efficient and gives nothing to players that add nothing.
    """
    return probabilistic_value(game, _weights_like(game, shapley_weights(game.n_players)))


def banzhaf_value(game: CoalitionGame) -> Array:
    """Return the mean marginal contribution of each player to all coalitions of others alike.

    Parameters
    ----------
    game : CoalitionGame
        Of at most 20 players.

    Returns
    -------
    ndarray of shape (n_players,)
        Values; they need not add up to what all players are worth.
    """
    n = game.n_players
    return probabilistic_value(game, _weights_like(game, [Fraction(1, 2 ** (n - 1))] * n))


def leave_one_out_value(game: CoalitionGame) -> Array:
    """Return what all players lose when one leaves.

    Parameters
    ----------
    game : CoalitionGame
        Of any number of players.

    Returns
    -------
    ndarray of shape (n_players,)
        ``u(N) - u(N - j)``.
    """
    full = (1 << game.n_players) - 1
    worth = game.of_bits([full, *(full & ~(1 << j) for j in range(game.n_players))])
    return _as_array([worth[0] - one for one in worth[1:]])


def random_order_value(
    game: CoalitionGame, orders: Iterable[Sequence[int]], weights: Sequence[Any] | None = None
) -> Array:
    """Return the mean marginal contributions over given orders of the players.

    Parameters
    ----------
    game : CoalitionGame
        Of any number of players.
    orders : iterable of permutations
        Orders in which players come.
    weights : sequence, optional
        Probability of each order; equal ones by default. All orders alike give the Shapley value.

    Returns
    -------
    ndarray of shape (n_players,)
        Values, which add up to what all players are worth.
    """
    listed = [list(order) for order in orders]
    n = game.n_players
    if not listed or any(sorted(order) != list(range(n)) for order in listed):
        raise InvalidParameter(f"orders must be permutations of the numbers from 0 to {n - 1}, and at least one.")
    shares = list(weights) if weights is not None else _weights_like(game, [Fraction(1, len(listed))] * len(listed))
    if len(shares) != len(listed) or not abs(sum(shares) - 1) <= 1e-9 or not all(share >= 0 for share in shares):
        raise InvalidParameter("weights must be probabilities of the orders: at least zero, and of sum one.")
    total: list[Any] = [0] * n
    for order, share in zip(listed, shares, strict=True):
        number, before = 0, 0
        for player in order:
            number |= 1 << player
            now = game.of_bits([number])[0]
            total[player] += share * (now - before)
            before = now
    return _as_array(total)


def least_squares_value(game: CoalitionGame, p: Sequence[Any]) -> Array:
    """Return the additive game that is nearest to a game, among those that are worth as much in all.

    The squared distance from a coalition of s players has weight ``p[s] + p[s - 1]``. The result is the probabilistic value
    plus the same amount for every player.

    Parameters
    ----------
    game : CoalitionGame
        Of at most 20 players.
    p : sequence of length n_players
        Weights, as of `probabilistic_value`.

    Returns
    -------
    ndarray of shape (n_players,)
        Values, which add up to what all players are worth.
    """
    found = probabilistic_value(game, p)
    n = game.n_players
    rest = game.of_bits([(1 << n) - 1])[0] - sum(found.tolist())
    return _as_array(
        [value + (Fraction(rest, n) if isinstance(rest, int | Fraction) else rest / n) for value in found.tolist()]
    )


def shapley_kernel(n: int) -> list[Fraction]:
    """Return the weights of the least squares whose solution is the Shapley value.

    Parameters
    ----------
    n : int
        Number of players, at least 2.

    Returns
    -------
    list of Fraction
        ``1 / ((n - 1) comb(n - 2, s - 1))`` for coalitions of s = 1 to n - 1 players.
    """
    if n < 2:
        raise InvalidParameter(f"n must be at least 2, got {n!r:.80}.")
    return [Fraction(1, (n - 1) * math.comb(n - 2, s - 1)) for s in range(1, n)]


def weighted_voting_game(quota: float, weights: Sequence[float]) -> CoalitionGame:
    """Return the game in which a coalition is worth one if its votes reach the quota.

    Parameters
    ----------
    quota : number
        Votes that win; more than zero.
    weights : sequence of numbers
        Votes of each player.

    Returns
    -------
    CoalitionGame
        Its Shapley value is the voting power of Shapley and Shubik, its Banzhaf value that of Banzhaf.
    """
    if not quota > 0:
        raise InvalidParameter(f"quota must be above zero, got {quota!r:.80}: no votes would win.")
    votes = list(weights)
    return CoalitionGame(len(votes), lambda members: int(sum(votes[player] for player in members) >= quota))


def check_axioms(
    value: Callable[[CoalitionGame], Array], *, n_players: int = 3, n_games: int = 20, random_state: Any = 0
) -> dict[str, bool]:
    """Test on random games whether a value keeps the four axioms that single out Shapley's.

    Parameters
    ----------
    value : callable
        From a game to an array, as `shapley_value`.
    n_players, n_games : int
        Size and number of the games, whose worths are random fractions.
    random_state : None, int or Generator
        Seed of the games.

    Returns
    -------
    dict
        "linearity", "symmetry", "null player" and "efficiency", each with whether it held in every game.
    """
    from qed.core import generator  # noqa: PLC0415

    random = generator(random_state)
    n, full = n_players, (1 << n_players) - 1
    kept = {"linearity": True, "symmetry": True, "null player": True, "efficiency": True}

    def drawn() -> list[Fraction]:
        return [Fraction(0), *(Fraction(int(number), 7) for number in random.integers(-20, 20, full))]

    def solved(table: list[Any]) -> list[Any]:
        game = CoalitionGame(n, lambda members: table[sum(1 << player for player in members)])
        return list(value(game))

    def agree(first: Iterable[Any], second: Iterable[Any]) -> bool:
        return all(abs(a - b) <= 1e-12 for a, b in zip(first, second, strict=True))

    for _ in range(n_games):
        one, other = drawn(), drawn()
        factor = Fraction(int(random.integers(-5, 6)), 3)
        mixed = solved([a + factor * b for a, b in zip(one, other, strict=True)])
        found = solved(one)
        kept["linearity"] &= agree(mixed, [a + factor * b for a, b in zip(found, solved(other), strict=True)])
        order = [int(player) for player in random.permutation(n)]
        moved = [one[sum(1 << order[j] for j in range(n) if number >> j & 1)] for number in range(full + 1)]
        kept["symmetry"] &= agree(solved(moved), [found[order[j]] for j in range(n)])
        kept["null player"] &= agree(solved([one[number & ~1] for number in range(full + 1)])[:1], [0])
        kept["efficiency"] &= agree([sum(found)], [one[full]])
    return kept


def _weights_like(game: CoalitionGame, weights: list[Fraction]) -> list[Any]:
    """Return fractions for games of whole numbers and fractions, floats for others."""
    exact = all(isinstance(worth, int | Fraction) for worth in game.of_bits([(1 << game.n_players) - 1]))
    return list(weights) if exact else [float(weight) for weight in weights]


def _as_array(values: list[Any]) -> Array:
    exact = any(isinstance(value, Fraction) for value in values)
    return np.array(values, dtype=object if exact else np.float64)
