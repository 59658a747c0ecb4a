"""How much worse a model's score is when a column tells it nothing."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from qed.core import Estimator, InvalidData, InvalidParameter, generator
from qed.core._events import Progress
from qed.inspection._column_table import ColumnTable

Array = np.ndarray[Any, Any]


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

    Of forests and boosting only the trees that look at the shuffled column are evaluated again.

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
    found: dict[str, list[list[float]]] = {}
    with Progress("permutation_importance", total=len(table.names), verbose=0) as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        drawn = [_Repeat(estimator, scorer, table, target, weight, *stream, many) for stream in streams]
        for j in range(len(table.names)):
            for repeat in drawn:
                for name, fall in repeat.falls(j).items():
                    found.setdefault(name, []).append([fall])
            if progress.step() is not None:
                raise InvalidParameter("permutation_importance was stopped by a callback before all columns were shuffled.")
    results = {name: _result(np.array(falls).reshape(-1, n_repeats)) for name, falls in found.items()}
    return results[""] if list(results) == [""] else Result(results)


def _rows_drawn(max_samples: float, n: int) -> int:
    if isinstance(max_samples, int | np.integer) and not isinstance(max_samples, bool) and 1 <= max_samples <= n:
        return int(max_samples)
    if isinstance(max_samples, float) and 0 < max_samples <= 1:
        return max(1, int(max_samples * n))
    raise InvalidParameter(f"max_samples must be from 1 to {n}, or a share above 0 and up to 1, got {max_samples!r:.80}.")


def _result(falls: Array) -> Result:
    return Result(importances=falls, importances_mean=falls.mean(axis=1), importances_std=falls.std(axis=1))


class _Repeat:
    """The rows of one repetition, the score on them, and the order in which every column is shuffled."""

    def __init__(
        self,
        estimator: Any,
        scorer: Any,
        table: ColumnTable,
        y: Array,
        weight: Array | None,
        rows: Array,
        order: Array,
        many: int,
    ) -> None:
        whole = many == len(table)
        self.table = table if whole else table.rows(rows)
        self.y = y if whole else y[rows]
        self.weight = weight if whole or weight is None else weight[rows]
        self.scorer, self.order = scorer, order
        self.estimator = _with_known_trees(estimator, self.table.native())
        self.before = self._score(self.table.native())

    def falls(self, j: int) -> dict[str, float]:
        """Return how much each score falls when column j is shuffled."""
        if isinstance(self.estimator, Estimator) and isinstance(vars(self.estimator).get("trees_"), KnownTrees):
            self.estimator.trees_.shuffles(j)  # type: ignore[attr-defined]
        after = self._score(self.table.reordered(j, self.order))
        return {name: self.before[name] - value for name, value in after.items()}

    def _score(self, X: Any) -> dict[str, float]:
        options = {} if self.weight is None else {"sample_weight": self.weight}
        said = self.scorer(self.estimator, X, self.y, **options)
        return {name: float(value) for name, value in said.items()} if isinstance(said, dict) else {"": float(said)}


class KnownTrees:
    """Trees whose sums over some rows are known: of rows with one column changed, only trees that look at it are followed.

    Parameters
    ----------
    trees : TreeEnsemble
        All trees.
    """

    def __init__(self, trees: Any) -> None:
        self.trees = trees
        n_trees = len(trees.sizes)
        tree_of_node = np.repeat(np.arange(n_trees), trees.sizes)
        inner = trees.feature >= 0
        self.looks = np.zeros((n_trees, trees.n_features), dtype=bool)
        self.looks[tree_of_node[inner], trees.feature[inner]] = True
        self.tree_of_node, self.column = tree_of_node, None
        self.known: Array | None = None
        self.rest: Array | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trees, name)

    def __len__(self) -> int:
        return len(self.trees)

    def shuffles(self, column: int) -> None:
        """Say which column differs from now on."""
        self.column, self.rest = column, None

    def add_up(self, X: Any, values: Array, groups: int = 1, bags: Array | None = None) -> Array:
        """Add up values by leaf over the trees."""
        if self.column is None or self.known is None:
            found: Array = self.trees.add_up(X, values, groups, bags)
            self.known, self.rows = found, X
            return np.array(found)
        looking = self.looks[:, self.column]
        if not looking.any():
            return np.array(self.known)
        if looking.all():
            return np.asarray(self.trees.add_up(X, values, groups, bags))
        if self.rest is None:
            self.rest = self.known - self._sum(looking, self.rows, values, groups)
        return np.asarray(self.rest + self._sum(looking, X, values, groups))

    def _sum(self, looking: Array, X: Any, values: Array, groups: int) -> Array:
        width = values.reshape(self.trees.n_leaves, -1).shape[1]
        total = np.zeros((X.shape[0], groups, width))
        for group in range(groups):
            chosen = looking & (np.arange(len(looking)) % groups == group)
            if chosen.any():
                part, leaves = some_trees(self.trees, self.tree_of_node, chosen)
                own = np.ascontiguousarray(values.reshape(-1, width)[leaves])
                total[:, group] = part.add_up(X, own, 1).reshape(-1, width)
        return total.reshape(X.shape[0], groups * width)


def some_trees(trees: Any, tree_of_node: Array, chosen: Array) -> tuple[Any, Array]:
    """Return chosen trees as an ensemble of their own, and the numbers of their leaves in the whole."""
    from dataclasses import replace  # noqa: PLC0415

    nodes = chosen[tree_of_node]
    inner = trees.feature >= 0
    kept = nodes[inner]
    leaves = np.flatnonzero(nodes[~inner])
    number = np.cumsum(kept) - 1
    sets = kept[trees.by_set] if len(trees.by_set) else np.zeros(0, dtype=bool)
    part = replace(
        trees,
        sizes=trees.sizes[chosen],
        feature=trees.feature[nodes],
        threshold=trees.threshold[kept],
        missing_left=np.packbits(trees.goes_left[kept]),
        value=trees.value[leaves],
        weight=trees.weight[leaves] if len(trees.weight) else trees.weight,
        by_set=number[trees.by_set[sets]],
        sets=trees.sets[sets],
    )
    return part, leaves


def _with_known_trees(estimator: Any, X: Any) -> Any:
    """Return a copy of a forest or of boosting that remembers the sums of its trees over rows; other models as they are."""
    from qed.ensemble._boosting import BoostingModel  # noqa: PLC0415
    from qed.ensemble._forest_model import ForestModel  # noqa: PLC0415

    if not isinstance(estimator, ForestModel | BoostingModel) or not isinstance(X, np.ndarray):
        return estimator
    made = copy.copy(estimator)
    made.__dict__["trees_"] = KnownTrees(estimator.trees_)
    return made
