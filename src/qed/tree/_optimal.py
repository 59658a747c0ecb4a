"""Trees of small depth that leave least, by branch and bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import TreeCertificate
from qed.core import KW_ONLY, Array, Number, PositiveInt, fitted, param
from qed.core._memory import require_memory
from qed.tree import _kernels
from qed.tree._classifier import TreeClassifier
from qed.tree._grow import TIE_TOLERANCE, require_range
from qed.tree._regressor import TreeRegressor
from qed.tree._structure import DecisionTree
from qed.tree._tree_model import TreeModel

if TYPE_CHECKING:
    from qed.core import FitData

Depth = Annotated[int, Number(low=1, high=4, whole=True)]
Seconds = Annotated[float, Number(low=0, open_low=True)]

# what a check compares again within seconds: cuts to the power of the depth, and entries of a table of cuts
MOST_COMPARED, MOST_TABLE = 5e7, 1e7


class SearchedTree(TreeModel):
    """A tree of small depth, searched among all of them."""

    _: KW_ONLY
    max_depth: Depth = param(3, "Most splits above a leaf.")
    max_visits: PositiveInt = param(
        200_000_000,
        "Budget of the search: how often a value of the table is looked at; the default takes a second or two. When it is spent"
        " the best tree so far is kept, with the bound that was proved. The same budget always gives the same tree.",
    )
    max_seconds: Seconds | None = param(
        None, "Budget in seconds; None for none. A search that the clock ends depends on the machine."
    )

    lower_bound_: float = fitted(
        "What every tree of this depth leaves at least, as the search proved it: the tree is optimal where this is what it leaves.",
        low=0,
        answers=False,
    )
    n_visits_: float = fitted("Values that the search looked at.", low=0, answers=False)

    def _search(self, data: FitData, targets: _kernels.Targets) -> None:
        """Search the tree, and store it with its certificate."""
        n_rows, n_columns = data.X.shape
        require_memory(
            (24 + 16 * self.max_depth) * n_rows * n_columns,
            f"{self.max_depth} levels of {n_rows} x {n_columns} sorted values",
            "Fit on a sample of the rows, or on fewer columns.",
        )
        require_range(targets)
        X = np.asarray(data.X if isinstance(data.X, np.ndarray) else data.X.toarray(), dtype=np.float64)
        rows = _Rows.of(X, targets)
        limits = (int(self.max_depth), float(self.max_visits), float(self.max_seconds or np.inf))
        floors = rows.masses(rows.sums)
        found = _kernels.optimal(rows.criterion, rows.ranks, rows.sums, floors, rows.reach, limits)
        self.tree_ = _as_tree(found, rows, n_columns)
        self.n_outputs_ = self.tree_.n_outputs
        self.n_visits_ = found.visits
        unit = 1.0 / (float(rows.s.sum()) * rows.n_targets)
        self.certificate_ = _certify(self.tree_, rows, self.max_depth, found.lower * unit, float(floors.sum()) * unit)
        objective = self.certificate_.objective
        self.lower_bound_ = min(float(found.lower * unit * rows.scale**2), objective)


class OptimalTreeClassifier(SearchedTree, TreeClassifier):
    r"""Optimal classification tree: the best of all trees of a small depth, by branch and bound.

    Objective
    ---------
    .. math:: \min_T \; \sum_{\text{leaves } l} \frac{W_l}{W} I(l)

    over all trees T of depth at most ``max_depth``, where W are weights and I the error :math:`1 - \max_k p_k`, the Gini impurity
    :math:`1 - \sum_k p_k^2` or the entropy :math:`-\sum_k p_k \log_2 p_k` of the shares of the labels.

    Certificate
    -----------
    TreeCertificate: the mean impurity of the leaves, and how far it can be above that of any tree of the same depth. Where the
    table has too many thresholds to compare all trees again, the certificate speaks of rows that agree in all columns alone, and
    ``lower_bound_`` holds what the search proved.

    Cost
    ----
    Exponential in the depth: at worst O(c^(d-1) n p) for c thresholds and depth d; bounds skip most of it. ``max_visits`` ends it.
    O(d n p) memory.

    See Also
    --------
    DecisionTreeClassifier : Each split is the best of its node: fast, deep, and not optimal.

    Notes
    -----
    Left sides only grow when a threshold rises, and what a side leaves grows with it. Between two thresholds that were searched
    all others therefore leave at least what the left side of the lower one and the right side of the upper one leave. Moving a row
    to the other side changes errors by at most its weight, so that thresholds near a bad one are bad as well. Subproblems that
    are reached in several ways are solved once. A missing value (NaN) goes to the side of its node where it is better.

    Examples
    --------
    >>> from qed.tree import OptimalTreeClassifier
    >>> model = OptimalTreeClassifier(max_depth=2).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> model.score([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]), model.lower_bound_
    (1.0, 0.0)
    """

    criterion: Literal["misclassification", "gini", "entropy"] = param(
        "misclassification", "Impurity of a leaf; 'misclassification' is the share of errors."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search the tree."""
        data = self._fit_data(X, y, sample_weight)
        self.classes_, self.n_classes_ = data.classes, len(data.classes)
        codes = np.ascontiguousarray(data.y, dtype=np.int64)
        self._search(data, _kernels.Targets(self.criterion, len(data.classes), codes, data.weight))
        return self


class OptimalTreeRegressor(SearchedTree, TreeRegressor):
    r"""Optimal regression tree: the best of all trees of a small depth, by branch and bound.

    Objective
    ---------
    .. math:: \min_T \; \frac{1}{W} \sum_i s_i (y_i - T(x_i))^2

    over all trees T of depth at most ``max_depth``, averaged over targets.

    Certificate
    -----------
    TreeCertificate: the mean squared error, and how far it can be above that of any tree of the same depth. Where the table has
    too many thresholds to compare all trees again, the certificate speaks of rows that agree in all columns alone, and
    ``lower_bound_`` holds what the search proved.

    Cost
    ----
    That of OptimalTreeClassifier.

    See Also
    --------
    DecisionTreeRegressor : Each split is the best of its node: fast, deep, and not optimal.

    Examples
    --------
    >>> from qed.tree import OptimalTreeRegressor
    >>> model = OptimalTreeRegressor(max_depth=2).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [1.0, 2.0, 2.0, 1.0])
    >>> model.predict([[0, 1], [1, 1]]).tolist()
    [2.0, 1.0]
    """

    criterion: Literal["squared_error"] = param("squared_error", "Impurity of a leaf: squared errors about the mean.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search the tree."""
        data = self._fit_data(X, y, sample_weight)
        targets = np.ascontiguousarray(data.y, dtype=np.float64)
        width = 1 if targets.ndim == 1 else targets.shape[1]
        self._search(data, _kernels.Targets("squared_error", width, targets.reshape(-1), data.weight))
        return self


class _Rows(NamedTuple):
    """Rows of positive weight, and items: rows that agree in all columns, with sums over their targets."""

    X: Array
    target: Array  # (n, k): indicators of classes; or numbers
    s: Array
    criterion: str
    ranks: Array  # (orders, items)
    columns: list[tuple[int, bool]]  # of each order: the column, and whether its missing values come first
    item: Array  # of each row
    sums: Array
    scale: float  # of numbers: sums are of numbers about their mean, divided by this

    @property
    def n_targets(self) -> int:
        return self.target.shape[1] if self.criterion == "squared_error" else 1

    @property
    def reach(self) -> float:
        """Most that a row adds to what a leaf leaves, for each unit of its weight."""
        if self.criterion == "squared_error":
            return float(max((np.ptp(self.target / self.scale, axis=0) ** 2).sum(), 1e-300))
        return {"misclassification": 1.0, "gini": 2.0, "entropy": np.inf}[self.criterion]

    @classmethod
    def of(cls, X: Array, targets: _kernels.Targets) -> _Rows:
        s = np.ones(len(X)) if targets.s is None else targets.s
        used = s > 0
        X, s = X[used], s[used]
        ranks, columns, keys = [], [], []
        for j, column in enumerate(X.T):
            missing = np.isnan(column)
            values, codes = np.unique(column[~missing], return_inverse=True)
            rank = np.full(len(column), len(values))
            rank[~missing] = codes.reshape(-1)
            if np.ptp(rank) > 0:
                keys.append(rank)
                for is_first in (False, True) if missing.any() else (False,):
                    ranks.append(np.where(missing, 0, rank + 1) if is_first else rank)
                    columns.append((j, is_first))
        if not ranks:  # rows that all agree: one leaf
            ranks, columns, keys = [np.zeros(len(X), dtype=np.int64)], [(0, False)], [np.zeros(len(X), dtype=np.int64)]
        _, first, item = np.unique(np.column_stack(keys), axis=0, return_index=True, return_inverse=True)
        item = item.reshape(-1)
        if targets.criterion == "squared_error":
            target = targets.y.reshape(len(used), targets.width)[used]
            apart = target - np.average(target, axis=0, weights=s)
            scale = float(np.abs(apart).max()) or 1.0
            apart = apart / scale
            parts = [s, *(s * own for own in apart.T), s * (apart**2).sum(axis=1)]
        else:
            target = np.eye(max(targets.width, 2))[targets.y[used]]
            scale, parts = 1.0, [s * own for own in target.T]
        sums = np.column_stack([np.bincount(item, part) for part in parts])
        table = np.array(ranks)[:, first]
        return cls(X, target[:, : targets.width], s, targets.criterion, table, columns, item, sums, scale)

    def masses(self, sums: Array) -> Array:
        """Return weight times impurity, by row of sums; squares in units of ``scale``."""
        if self.criterion == "squared_error":
            return np.asarray(np.maximum(sums[:, -1] - (sums[:, 1:-1] ** 2).sum(axis=1) / sums[:, 0], 0.0))
        weight = sums.sum(axis=1)
        if self.criterion == "misclassification":
            return np.asarray(weight - sums.max(axis=1))
        share = sums / weight[:, None]
        if self.criterion == "gini":
            return np.asarray(weight * (share * (1 - share)).sum(axis=1))
        return np.asarray(-weight * (share * np.log2(np.where(share > 0, share, 1))).sum(axis=1) + 0.0)


def _as_tree(found: _kernels.Optimal, rows: _Rows, n_columns: int) -> DecisionTree:
    """Follow the rows down: thresholds lie midway between values of the node, as in trees that are grown."""
    nodes: list[dict[str, Any]] = []

    def add(number: int, own: Array) -> int:
        here, (value, impurity) = len(nodes), _summary(rows, own)
        weight = float(rows.s[own].sum())
        nodes.append(
            {"left": -1, "right": -1, "feature": -2, "threshold": -2.0, "missing_left": 0, "impurity": impurity}
            | {"rows": len(own), "weight": weight, "value": value}
        )
        if found.left[number] < 0:
            return here
        order, children = int(found.order[number]), [int(found.left[number]), int(found.right[number])]
        column, is_first = rows.columns[order]
        is_left = rows.ranks[order, rows.item[own]] <= found.rank[number]
        values = rows.X[own, column]
        missing = np.isnan(values)
        if missing[is_left].all():  # known values are parted from missing ones, and known ones go left
            is_left, children, is_first = ~is_left, children[::-1], False
        high = np.min(values[~is_left & ~missing], initial=np.inf)
        low = np.max(values[is_left & ~missing])
        with np.errstate(over="ignore"):
            middle = low / 2 + high / 2
        n_left = int(np.count_nonzero(is_left))
        nodes[here]["feature"] = column
        nodes[here]["threshold"] = middle if low <= middle < high or np.isinf(high) else low
        nodes[here]["missing_left"] = is_first if missing.any() else n_left > len(own) - n_left
        nodes[here]["left"] = add(children[0], own[is_left])
        nodes[here]["right"] = add(children[1], own[~is_left])
        return here

    add(0, np.arange(len(rows.X)))

    def all_of(name: str, dtype: Any) -> Array:
        return np.array([node[name] for node in nodes], dtype=dtype)

    is_class = rows.criterion != "squared_error"
    return DecisionTree(
        n_features=n_columns,
        children_left=all_of("left", np.int64),
        children_right=all_of("right", np.int64),
        feature=all_of("feature", np.int64),
        threshold=all_of("threshold", np.float64),
        missing_go_to_left=all_of("missing_left", np.uint8),
        impurity=all_of("impurity", np.float64),
        n_node_samples=all_of("rows", np.int64),
        weighted_n_node_samples=all_of("weight", np.float64),
        value=all_of("value", np.float64).reshape((len(nodes), 1, -1) if is_class else (len(nodes), -1, 1)),
    )


def _summary(rows: _Rows, own: Array) -> tuple[Array, float]:
    """Return what a node of these rows predicts, and its impurity."""
    s, target = rows.s[own], rows.target[own]
    if rows.criterion != "squared_error":
        counts = (s @ target)[None]
        return counts[0] / counts.sum(), float(rows.masses(counts)[0] / counts.sum())
    mean = target[0] + (s @ (target - target[0])) / s.sum()
    apart = target - mean
    off = s @ apart / s.sum()  # what the rounding of the mean leaves is no impurity
    return mean, float(max(((s @ apart**2) / s.sum() - off**2).mean(), 0.0))


def _certify(tree: DecisionTree, rows: _Rows, depth: int, searched: float, floor: float) -> TreeCertificate:
    leaf = tree.children_left < 0
    weight = tree.weighted_n_node_samples
    objective, null = float(weight[leaf] @ tree.impurity[leaf] / weight[0]), float(tree.impurity[0])
    is_class = rows.criterion != "squared_error"
    n_rows = len(rows.X)
    rounding = (n_rows + 16) * 2.0**-51 * max(null, float(is_class)) + TIE_TOLERANCE * null
    cuts = int((rows.ranks.max(axis=1) - rows.ranks.min(axis=1)).sum())
    width = rows.sums.shape[1]
    is_small = float(max(cuts, 1)) ** max(depth, 2) * width <= MOST_COMPARED and cuts * n_rows <= MOST_TABLE
    lower, scope = (searched * rows.scale**2, depth) if is_small else (floor * rows.scale**2, 0)
    return TreeCertificate(objective, min(lower, objective), rounding, null, scope, False, tree.n_leaves, n_rows)
