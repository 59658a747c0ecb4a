"""Any model: columns that are absent take their values from a background."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidParameter
from qed.core._events import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

Array = np.ndarray[Any, Any]
BLOCK_ROWS = 65_536  # rows that a model is asked about at once
FEWEST_PAIRS = 30  # permutations and their reverses before their variance is believed


class Sampled(NamedTuple):
    """Contributions of one row and their standard errors, both (players, outputs)."""

    values: Array
    errors: Array


class ModelGame:
    """The interventional game of a model: the mean output over a background whose columns of a coalition are those of a row.

    Parameters
    ----------
    predict : callable
        From rows to outputs of shape (n, k).
    rows, background : Table
        What is explained, and where absent columns come from.
    players : ndarray of int
        By column, whose it is.
    """

    def __init__(self, predict: Callable[[Any], Array], rows: Any, background: Any, players: Array) -> None:
        self.predict, self.rows, self.background, self.players = predict, rows, background, players
        self.n_players = int(players.max()) + 1
        self.base = np.asarray(predict(background.all())).mean(axis=0)

    def outputs(self, row: int, coalitions: Array) -> Array:
        """Return the mean outputs of coalitions, (m, players) of bool, as (m, k)."""
        many = len(self.background)
        step = max(1, BLOCK_ROWS // many)
        found = []
        for first in range(0, len(coalitions), step):
            part = coalitions[first : first + step]
            table = self.background.mixed(self.rows, row, part[:, self.players])
            found.append(np.asarray(self.predict(table)).reshape(len(part), many, -1).mean(axis=1))
        return np.concatenate(found)

    def enumerated(self, row: int) -> Array:
        """Return the Shapley values of one row, (players, k), from all coalitions."""
        n = self.n_players
        coalitions = all_coalitions(n)
        worth = self.outputs(row, coalitions)
        return shapley_of_table(worth, n)

    def sampled(self, row: int, random: Generator, pairs: int, tol: float | None, told: Array) -> Sampled:
        """Return means over permutations and their reverses; ``told`` is what the model says of the row."""
        n = self.n_players
        sums = squares = np.zeros((n, len(self.base)))
        count = 0
        while count < pairs:
            batch = min(pairs - count, 16)
            for order in [random.permutation(n) for _ in range(batch)]:
                own = (self._marginals(row, order, told) + self._marginals(row, order[::-1], told)) / 2
                sums, squares, count = sums + own, squares + own**2, count + 1
            if count >= FEWEST_PAIRS and tol is not None and (1.96 * _errors(sums, squares, count) <= tol).all():
                break
        return Sampled(sums / count, _errors(sums, squares, count))

    def _marginals(self, row: int, order: Array, told: Array) -> Array:
        """Return what each player adds when players come in an order."""
        n = self.n_players
        coalitions = np.zeros((n - 1, n), dtype=bool)
        for size in range(n - 1):
            coalitions[size:, order[size]] = True
        worth = np.concatenate([self.base[None], self.outputs(row, coalitions), told[None]]) if n > 1 else None
        steps: Array = (told - self.base)[None] if worth is None else np.diff(worth, axis=0)
        own = np.empty_like(steps)
        own[order] = steps
        return own


def _errors(sums: Array, squares: Array, count: int) -> Array:
    spread = np.maximum(squares / count - (sums / count) ** 2, 0.0)
    return np.asarray(np.sqrt(spread / max(count - 1, 1)))


def all_coalitions(n: int) -> Array:
    """Return all subsets of n players as rows of bool; row number b holds player j where bit j of b is set."""
    return np.asarray((np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1)


def shapley_of_table(worth: Array, n: int) -> Array:
    """Return Shapley values, (n, k), from what all coalitions are worth, (2^n, k), in the order of ``all_coalitions``."""
    numbers = np.arange(1 << n)
    sizes = np.array([int(number).bit_count() for number in numbers])
    weights = np.empty(n)
    for size in range(n):  # size! (n - size - 1)! / n!
        weights[size] = 1.0 / n if size == 0 else weights[size - 1] * size / (n - size)
    values = np.empty((n, *worth.shape[1:]))
    for j in range(n):
        without = numbers[(numbers >> j) & 1 == 0]
        gain = worth[without | (1 << j)] - worth[without]
        values[j] = np.tensordot(weights[sizes[without]], gain, axes=1)
    return values


def solve(
    game: ModelGame, told: Array, *, most: int, pairs: int, tol: float | None, random: Generator
) -> tuple[Sampled, str]:
    """Explain all rows, by all coalitions where there are at most ``most``, else by permutations."""
    n_rows = len(game.rows)
    exact = 2**game.n_players <= most
    values = np.zeros((n_rows, game.n_players, told.shape[1]))
    errors = np.zeros_like(values)
    with Progress("shapley_values", total=n_rows, verbose=0) as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for row in range(n_rows):
            if exact:
                values[row] = game.enumerated(row)
            else:
                values[row], errors[row] = game.sampled(row, random, pairs, tol, told[row])
            if progress.step() is not None:
                raise InvalidParameter("Explaining was stopped by a callback before all rows were explained.")
    return Sampled(values, errors), "enumeration" if exact else "permutations"


class ArrayTable:
    """Rows of an array, and mixtures of them with a background."""

    def __init__(self, X: Array) -> None:
        self.X = X

    def __len__(self) -> int:
        return len(self.X)

    def all(self) -> Array:
        """Return all rows."""
        return self.X

    def mixed(self, rows: ArrayTable, row: int, columns: Array) -> Array:
        """Return the background once for each line of ``columns``, with those columns of a row put in."""
        made = np.repeat(self.X[None], len(columns), axis=0)
        made = np.where(columns[:, None, :], rows.X[row], made)
        return made.reshape(-1, self.X.shape[1])


class FrameTable:
    """The same of a frame; columns keep their types."""

    def __init__(self, frame: Any) -> None:
        import narwhals as nw  # noqa: PLC0415  (frames come with it)

        self.frame = nw.from_native(frame, eager_only=True)

    def __len__(self) -> int:
        return len(self.frame)

    def all(self) -> Any:
        """Return all rows."""
        return self.frame.to_native()

    def mixed(self, rows: FrameTable, row: int, columns: Array) -> Any:
        """Return the background once for each line of ``columns``, with those columns of a row put in."""
        import narwhals as nw  # noqa: PLC0415

        many = len(self)
        both = nw.concat([self.frame, rows.frame[row : row + 1]])
        parts = []
        for j, name in enumerate(both.columns):
            places = np.where(columns[:, j, None], many, np.arange(many)).ravel()
            parts.append(both[places.tolist(), [name]])
        return nw.concat([_renumbered(part) for part in parts], how="horizontal").to_native()


def _renumbered(frame: Any) -> Any:
    import narwhals as nw  # noqa: PLC0415

    return nw.maybe_reset_index(frame)


def table_of(X: Any) -> Any:
    """Return rows of an array, a list or a frame as something that mixtures are made of."""
    if hasattr(X, "columns"):
        return FrameTable(X)
    return ArrayTable(np.asarray(X.toarray() if hasattr(X, "tocsr") else X))
