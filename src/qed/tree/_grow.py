"""From parameters and rows to a tree and its certificate."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import TreeCertificate
from qed.core import InvalidData, InvalidParameter, generator
from qed.core._memory import require_memory
from qed.tree import _kernels
from qed.tree._directions import directions
from qed.tree._impurity import CLASS_CRITERIA
from qed.tree._prune import pruned
from qed.tree._structure import DecisionTree

if TYPE_CHECKING:
    from qed.core import FitData
    from qed.tree._label_columns import LabelColumns


Array = np.ndarray[Any, Any]

ANY_DEPTH = 2**31 - 1
ANY_COUNT = 2**61  # more rows or leaves than any table has; twice as many are still a number of native code
MAX_SEARCH_STEPS = 1 << 19  # steps of a search among trees of depth two: a millisecond
MAX_SEARCH_ENTRIES = 1 << 16  # entries of a table above which such a search is not begun
MIN_MAGNITUDE, MAX_MAGNITUDE = (
    1e-50,
    1e50,
)  # of weights and of the largest target: sixth powers of both stay within float64
TIE_TOLERANCE = (
    2.0**-37
)  # of the impurity of the root: cuts that gain as much up to this are taken for equal, within columns and among
MAX_ABSOLUTE_ERROR_ROWS = 512  # rows above which it is not begun for absolute errors


def learn(model: Any, data: FitData, targets: _kernels.Targets, columns: LabelColumns | None = None) -> None:
    """Grow the tree of a model, prune it, and store it with its certificate; targets of label columns are their indicators."""
    n_rows, n_columns = data.X.shape
    require_memory(
        16 * n_rows * n_columns + 96 * n_rows,
        f"the sorted columns of {n_rows} x {n_columns} values",
        "Fit on a sample of the rows, or on fewer columns.",
    )
    require_range(targets)
    total = float(n_rows if targets.s is None else targets.s.sum())
    limits = growth_limits(model, n_rows, n_columns, total)
    unit = 1.0 if columns is None else columns.unit
    limits = limits._replace(decrease=limits.decrease / unit)
    draws = model.splitter == "random" or limits.features < n_columns
    seed = int(generator(model.random_state).integers(2**63)) if draws else 0
    rules = column_rules(model, targets, n_columns)
    is_random = model.splitter == "random"
    grown = _kernels.grow(data.X, targets, limits, is_random=is_random, seed=seed, rules=rules)
    tree = as_tree(grown, n_columns, is_class=targets.criterion in CLASS_CRITERIA)
    if columns is not None:
        tree = columns.shared(tree, data.X)
    if model.ccp_alpha > 0:
        tree = pruned(tree, model.ccp_alpha)
    model.tree_, model.n_outputs_, model.seed_ = tree, tree.n_outputs, seed
    limited = rules.monotone is not None
    model.certificate_ = _certify(
        model, data.X, targets, limits, tree, unit=unit, all_distinct=grown.all_distinct, limited=limited
    )


def column_rules(model: Any, targets: _kernels.Targets, n_columns: int) -> _kernels.ColumnRules:
    """Return the direction of predictions in each column, and which columns hold categories."""
    monotone = monotone_directions(model, targets, n_columns)
    mask = model._category_mask()  # noqa: SLF001
    if mask is None:
        return _kernels.ColumnRules(monotone)
    if targets.criterion == "absolute_error":
        raise InvalidParameter(
            "categories are not supported for absolute_error: their best set is not found by sorting. Use"
            " criterion='squared_error' or 'poisson', or encode them as numbers (TargetEncoder)."
        )
    if monotone is not None and monotone[mask].any():
        raise InvalidParameter("Categorical features cannot have monotonic constraints: categories have no order.")
    return _kernels.ColumnRules(monotone, mask.astype(np.uint8))


def monotone_directions(model: Any, targets: _kernels.Targets, n_columns: int) -> Array | None:
    """Return the direction of predictions in each column; None if all are free."""
    found = directions(type(model).__name__, model.monotonic_cst, model.__dict__.get("feature_names_in_"), n_columns)
    if found is None:
        return None
    is_class = targets.criterion in CLASS_CRITERIA
    if targets.width > (2 if is_class else 1):
        what = "multiclass classification: pass two classes" if is_class else "several targets: fit a tree for each"
        raise InvalidParameter(f"monotonic constraints are not supported for {what}.")
    if targets.criterion == "absolute_error":
        raise InvalidParameter(
            "monotonic constraints are not supported for absolute_error. Use criterion='squared_error' or 'poisson'."
        )
    return found


def require_range(targets: _kernels.Targets) -> None:
    """Refuse weights and targets whose gains leave float64: squares of targets times fourth powers of weights."""
    s, y = targets.s, targets.y
    if s is not None:
        used = s > 0
        least, total = float(s[used].min(initial=MAX_MAGNITUDE)), float(s.sum())
        if not (least >= MIN_MAGNITUDE and total <= MAX_MAGNITUDE):
            raise InvalidData(
                f"Weights reach down to {least:.3g} and sum to {total:.3g}. Their powers overflow above {MAX_MAGNITUDE:g} and"
                f" underflow below {MIN_MAGNITUDE:g}: multiply them by a constant first."
            )
        y = y.reshape(len(s), -1)[used].ravel()
    size = float(np.abs(y).max(initial=0.0))
    if not (size == 0 or MIN_MAGNITUDE <= size <= MAX_MAGNITUDE):
        raise InvalidData(
            f"The largest target is {size:.3g}. Squares of targets overflow above {MAX_MAGNITUDE:g} and underflow below"
            f" {MIN_MAGNITUDE:g}: multiply y by a constant first."
        )


def growth_limits(model: Any, n_rows: int, n_columns: int, total: float) -> _kernels.Limits:
    """Return when nodes are split no further, from the parameters of a model."""
    leaf = _count(model.min_samples_leaf, n_rows)
    split = max(2, _count(model.min_samples_split, n_rows), 2 * leaf)
    return _kernels.Limits(
        depth=ANY_DEPTH if model.max_depth is None else min(int(model.max_depth), ANY_DEPTH),
        split=split,
        leaf=leaf,
        leaf_weight=float(model.min_weight_fraction_leaf) * total,
        decrease=float(model.min_impurity_decrease),
        leaves=0 if model.max_leaf_nodes is None else min(int(model.max_leaf_nodes), ANY_COUNT),
        features=min(most_features(model.max_features, n_columns), n_columns),
    )


def _count(given: float, n_rows: int) -> int:
    return min(int(given), ANY_COUNT) if isinstance(given, Integral) else int(np.ceil(given * n_rows))


def most_features(given: Any, n_columns: int) -> int:
    """Return how many columns a split looks at."""
    if given is None:
        return n_columns
    if isinstance(given, str):
        return max(1, int(np.sqrt(n_columns) if given == "sqrt" else np.log2(n_columns)))
    return int(given) if isinstance(given, Integral) else max(1, int(given * n_columns))


def as_tree(grown: _kernels.Grown, n_columns: int, *, is_class: bool) -> DecisionTree:
    """Return grown nodes as a tree."""
    n_nodes = len(grown.rows)
    shape = (n_nodes, 1, -1) if is_class else (n_nodes, -1, 1)
    return DecisionTree(
        n_features=n_columns,
        children_left=grown.children_left,
        children_right=grown.children_right,
        feature=grown.feature,
        threshold=grown.threshold,
        missing_go_to_left=grown.missing_left,
        impurity=grown.impurity,
        n_node_samples=grown.rows,
        weighted_n_node_samples=grown.weight,
        value=grown.values.reshape(shape),
        by_set=grown.by_set,
        sets=grown.sets.reshape(-1, 16),
    )


def _certify(
    model: Any,
    X: Any,
    targets: _kernels.Targets,
    limits: _kernels.Limits,
    tree: DecisionTree,
    *,
    unit: float,
    all_distinct: bool,
    limited: bool,
) -> TreeCertificate:
    leaf = tree.children_left < 0
    weight = tree.weighted_n_node_samples
    objective = float(weight[leaf] @ tree.impurity[leaf] / weight[0])
    null, rows = float(tree.impurity[0]), int(tree.n_node_samples[0])
    is_class = "classes_" in model.__dict__
    # sums of counts are compared with one, sums of errors with what they add up to
    rounding = (rows + 16) * 2.0**-51 * max(null, float(is_class))
    by_threshold = model._category_mask() is None  # noqa: SLF001  (sets of categories are too many to be compared)
    is_free = (
        by_threshold
        and not limited
        and limits.split == 2
        and limits.leaf == 1
        and limits.leaf_weight == limits.decrease == model.ccp_alpha == 0
    )
    is_greedy = model.splitter == "best" and limits.features == X.shape[1]
    depth = min(limits.depth, limits.leaves - 1 if limits.leaves else ANY_DEPTH)
    lower, scope = 0.0, 0
    if objective > rounding:
        lower = 0.0 if all_distinct else unit * _kernels.contradictions(X, targets)
        # a column that tells all rows apart has as many cuts, each followed by a look at all values
        may_end = not all_distinct or X.shape[0] * X.shape[0] * X.shape[1] <= MAX_SEARCH_STEPS
        is_slow = (
            targets.criterion == "absolute_error" and X.shape[0] > MAX_ABSOLUTE_ERROR_ROWS
        )  # to verify, which takes their square
        if depth == 1 and is_free and is_greedy and not is_slow:
            lower, scope = objective, 1
        elif (
            by_threshold
            and depth <= 2
            and X.shape[0] * X.shape[1] <= MAX_SEARCH_ENTRIES
            and not is_slow
            and (depth == 1 or may_end)
        ):
            least = unit * _kernels.least_impurity(X, targets, depth, MAX_SEARCH_STEPS)
            lower, scope = (lower, 0) if np.isnan(least) else (least, depth)
    lower = min(lower, objective)
    if scope:
        rounding += TIE_TOLERANCE * null
    return TreeCertificate(objective, lower, rounding, null, scope, is_greedy, tree.n_leaves, rows)
