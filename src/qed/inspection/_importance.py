"""How much worse a model's score is when a column tells it nothing."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, generator
from qed.core._events import Progress
from qed.core._once import cached_property
from qed.inspection._column_table import ColumnTable

Array = np.ndarray[Any, Any]
MOST_LEAVES = 2**28  # rows times trees whose leaves are kept: a gigabyte


class Result(dict[str, Any]):
    """Names and values, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
    max_samples: float = 1.0,
) -> Result:
    """Shuffle one column at a time, and return how much the score falls.

    Of forests and boosting a tree is followed again only for rows whose path asks for the shuffled column.

    Parameters
    ----------
    estimator : fitted estimator
        Any model with ``score``, or with what ``scoring`` asks for.
    X : array-like or frame of shape (n, p)
        Rows, better not those of the fit: on those a model seems to need what it memorised.
    y : array-like
        Targets.
    scoring : str, callable, list or dict, optional
        What to measure; ``estimator.score`` by default. Several scores give a dictionary of results.
    n_repeats : int
        How often each column is shuffled.
    n_jobs : int, optional
        Taken and without effect: native code uses the threads of `qed.set_num_threads`.
    random_state : None, int or Generator
        Seed. Every column is shuffled by the same permutations whatever the other columns are.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the score.
    max_samples : int or float
        Rows of each repetition: a number, or a share of all. All by default.

    Returns
    -------
    Bunch-like
        ``importances`` of shape (p, n_repeats), ``importances_mean`` and ``importances_std`` of shape (p,).

    See Also
    --------
    shapley_values : Contributions to single predictions.

    Notes
    -----
    The importance of a column is that to this model: of two columns that say the same, each may look unimportant. Impurity
    importance (``feature_importances_`` of trees) costs nothing, but is measured on the rows of the fit and favours columns with
    many distinct values, even where they are noise.

    Examples
    --------
    >>> from qed.inspection import permutation_importance
    >>> from qed.linear_model import LinearRegression
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0.0, 1.0, 2.0, 3.0]
    >>> found = permutation_importance(LinearRegression().fit(X, y), X, y, random_state=0)
    >>> bool(found.importances_mean[0] > 0.5), round(float(found.importances_mean[1]), 12)
    (True, 0.0)
    """
    from qed.metrics import check_scoring  # noqa: PLC0415  (who scores needs it)

    if not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise InvalidParameter(f"n_repeats must be a whole number of at least 1, got {n_repeats!r:.80}.")
    if n_jobs is not None and not isinstance(n_jobs, int | np.integer):
        raise InvalidParameter(f"n_jobs must be a whole number or None, got {n_jobs!r:.80}.")
    scorer = check_scoring(estimator, scoring=scoring)
    table, target = ColumnTable(X), np.asarray(y)
    if len(table) != len(target) or not len(table):
        raise InvalidData(f"X has {len(table)} rows and y {len(target)}: they must be as many, and at least one.")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    many = _rows_drawn(max_samples, len(table))
    seed = generator(random_state)
    streams = [(seed.permutation(len(table))[:many], seed.permutation(many)) for _ in range(n_repeats)]
    found: dict[str, list[float]] = {}
    with Progress("permutation_importance", total=len(table.names), verbose=0) as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if many == len(table):
            drawn = [_Rows(estimator, scorer, table, target, weight)] * n_repeats
        else:
            drawn = [
                _Rows(estimator, scorer, table.rows(rows), target[rows], None if weight is None else weight[rows])
                for rows, _ in streams
            ]
        for j in range(len(table.names)):
            for part, (_, order) in zip(drawn, streams, strict=True):
                for name, fall in part.falls(j, order).items():
                    found.setdefault(name, []).append(fall)
            if progress.step() is not None:
                raise InvalidParameter(
                    "permutation_importance was stopped by a callback before all columns were shuffled."
                )
    results = {name: _result(np.array(falls).reshape(-1, n_repeats)) for name, falls in found.items()}
    return results[""] if list(results) == [""] else Result(results)


def _rows_drawn(max_samples: float, n: int) -> int:
    if isinstance(max_samples, int | np.integer) and not isinstance(max_samples, bool) and 1 <= max_samples <= n:
        return int(max_samples)
    if isinstance(max_samples, float) and 0 < max_samples <= 1:
        return max(1, int(max_samples * n))
    raise InvalidParameter(
        f"max_samples must be from 1 to {n}, or a share above 0 and up to 1, got {max_samples!r:.80}."
    )


def _result(falls: Array) -> Result:
    return Result(importances=falls, importances_mean=falls.mean(axis=1), importances_std=falls.std(axis=1))


class _Rows:
    """Some rows, and the score on them."""

    def __init__(self, estimator: Any, scorer: Any, table: ColumnTable, y: Array, weight: Array | None) -> None:
        self.table, self.y, self.weight, self.scorer = table, y, weight, scorer
        self.trees: KnownTrees | None = None
        self.estimator = estimator
        if _is_made_of_trees(estimator) and not table.is_frame:
            self.trees = KnownTrees(estimator.trees_)
            self.estimator = copy.copy(estimator)
            self.estimator.__dict__["trees_"] = self.trees
        self.before = self._score(table.native())

    def falls(self, j: int, order: Array) -> dict[str, float]:
        """Return how much each score falls when column j is put in another order."""
        if self.trees is not None:
            self.trees.change(j)
        after = self._score(self.table.reordered(j, order))
        return {name: self.before[name] - value for name, value in after.items()}

    def _score(self, X: Any) -> dict[str, float]:
        options = {} if self.weight is None else {"sample_weight": self.weight}
        said = self.scorer(self.estimator, X, self.y, **options)
        return {name: float(value) for name, value in said.items()} if isinstance(said, dict) else {"": float(said)}


class KnownTrees:
    """Trees whose sums over some rows are known.

    Of rows with one column changed, a tree is followed only for those whose path to a leaf asked for that column: any other row
    ends in the same leaf as before. Sums are kept, and the leaves of ``MOST_LEAVES`` at most; beyond, trees that never ask for
    the column are passed over as a whole.

    Parameters
    ----------
    trees : TreeEnsemble
        All trees.
    """

    def __init__(self, trees: Any) -> None:
        self.trees = trees
        self.column: int | None = None
        self.known: Array | None = None
        self.rest: Array | None = None
        self.same: Array | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trees, name)

    def __len__(self) -> int:
        return len(self.trees)

    def change(self, column: int) -> None:
        """Say which column differs from now on."""
        if column != self.column:
            self.column, self.rest, self.same = column, None, None

    def add_up(self, X: Any, values: Array, groups: int = 1, bags: Array | None = None) -> Array:
        """Add up values by leaf over the trees."""
        if self.column is None or self.known is None or bags is not None:
            found: Array = self.trees.add_up(X, values, groups, bags)
            self.known, self.rows = found, X
            return np.array(found)
        if self.same is None:
            self.same = self._same_leaves(self.column)
            self.rest = self.known - self.trees.add_up(self.rows, values, groups, self.same)
        return np.asarray(self.rest + self.trees.add_up(X, values, groups, self.same))

    def _same_leaves(self, column: int) -> Array:
        """Return a bit for each tree and row, set where the path of the row does not ask for a column."""
        asks = self._paths_that_ask(column)
        n_rows, n_trees = self.rows.shape[0], len(self.trees)
        if n_rows * n_trees <= MOST_LEAVES:
            same = ~asks[self._leaves]
        else:
            same = np.broadcast_to(~np.logical_or.reduceat(asks, self._first_leaves), (n_rows, n_trees))
        return np.packbits(np.ascontiguousarray(same.T), axis=1, bitorder="little")

    @cached_property
    def _leaves(self) -> Array:
        from qed.ensemble._kernels import leaves_of  # noqa: PLC0415

        return leaves_of(self.trees.packed, self.rows)

    @cached_property
    def _first_leaves(self) -> Array:
        return np.asarray(np.concatenate([[0], np.cumsum(self.trees.feature < 0)])[self.trees.starts[:-1]])

    @cached_property
    def _branches(self) -> tuple[Array, Array]:
        """The first leaf below each node, and the first one behind."""
        inner = self.trees.feature >= 0
        step = np.where(inner, 1, -1)
        level = np.cumsum(step)  # open branches behind each node
        count = len(level)
        shift = int(level.min()) - 2
        keys = (level - shift) * (count + 1) + np.arange(count)
        order = np.argsort(keys)
        # a branch ends at the first node that leaves one open branch fewer than there were before it
        last = order[np.searchsorted(keys[order], (level - step - 1 - shift) * (count + 1) + np.arange(count))]
        leaves = np.cumsum(~inner)
        return leaves - ~inner, leaves[last]

    def _paths_that_ask(self, column: int) -> Array:
        """Tell of each leaf whether the path to it asks for a column."""
        first, behind = self._branches
        nodes = self.trees.feature == column
        changes = np.zeros(self.trees.n_leaves + 1, dtype=np.int64)
        np.add.at(changes, first[nodes], 1)
        np.add.at(changes, behind[nodes], -1)
        return np.asarray(np.cumsum(changes[:-1]) > 0)


def _is_made_of_trees(estimator: Any) -> bool:
    from qed.ensemble._boosting import BoostedSum  # noqa: PLC0415
    from qed.ensemble._forest_model import ForestModel  # noqa: PLC0415

    return isinstance(estimator, ForestModel | BoostedSum)
