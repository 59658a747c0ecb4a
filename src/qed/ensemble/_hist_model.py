"""Histogram boosting: its parameters, and how a tree of a round is grown from bins."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    Seed,
    fitted,
    param,
)
from qed.core._memory import require_memory
from qed.ensemble import _kernels
from qed.ensemble._boost_losses import BoostLoss, weighted_quantile
from qed.ensemble._boosting import BoostData, BoostedSum, GrownRound, Rounds
from qed.ensemble._constraints import category_columns, directions, meeting_groups
from qed.ensemble._tree_ensemble import TreeEnsemble, narrow
from qed.tree._categories import CategoryColumns

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]
Bins = Annotated[int, Number(low=2, high=255, whole=True)]

ANY_DEPTH = 2**31 - 1
MANY = 10_000  # rows above which 'auto' stops early, as in scikit-learn


class HistBoostingModel(CategoryColumns, BoostedSum):
    """Boosting by histograms."""

    _: KW_ONLY
    learning_rate: Positive = param(0.1, "What the step of every leaf is multiplied by.")
    max_iter: PositiveInt = param(100, "Rounds: trees, or groups of trees, one for each class where there are several.")
    max_leaf_nodes: TwoOrMore | None = param(31, "Most leaves of a tree: the leaf that gains most is split first.")
    max_depth: PositiveInt | None = param(None, "Most splits above a leaf; None for as many as it takes.")
    min_samples_leaf: PositiveInt = param(
        20, "Fewest rows of a leaf; weights that are whole numbers count as so many rows."
    )
    l2_regularization: NonNegative = param(0.0, "Strength of the penalty on the values of leaves.")
    max_features: Share = param(1.0, "Share of the columns considered at each split, drawn at random.")
    max_bins: Bins = param(255, "Most bins of a column, besides that of missing values.")
    categorical_features: Any = param(
        "from_dtype",
        "Columns of categories: a mask, indices or names; 'from_dtype' for the columns of a frame that hold words or categories;"
        " None for none. At most ``max_bins`` categories a column; NaN and None are missing, and so is what the fit has not met.",
    )
    monotonic_cst: Any = param(
        None,
        "Columns in which predictions may only rise (1) or fall (-1): an array, or a dict by name; 0 or None for any.",
    )
    interaction_cst: Any = param(
        None, "Sets of columns that may meet on a path from the root, 'pairwise', 'no_interactions', or None for all."
    )
    warm_start: bool = param(False, "Whether to keep the trees of an earlier fit on the same rows, and add the others.")
    early_stopping: Any = param(
        "auto", "Whether to stop when rows that no tree has seen improve no more; 'auto' from 10,000 rows on."
    )
    scoring: Any = param(
        "loss",
        "What early stopping looks at: 'loss', the only choice here; None is the same. Used only if early stopping is performed.",
    )
    validation_fraction: ShareBelowOne | PositiveInt | None = param(
        0.1,
        "Share or number of the rows of the fit that early stopping looks at; None for the rows of the fit themselves.",
    )
    n_iter_no_change: PositiveInt = param(10, "Rounds without improvement after which to stop.")
    tol: NonNegative = param(1e-7, "Least improvement that counts.")
    verbose: NonNegativeInt = param(0, "Whether to show progress.")
    random_state: Seed = param(None, "Seed of the rows that early stopping looks at, and of columns that are drawn.")

    train_score_: Array = fitted(
        "Minus the mean training loss, of the constant and after each round.", shape="(n_iter_ + 1,)"
    )
    # -- fitting ---------------------------------------------------------------------------------------

    def _boost(
        self, data: BoostData, loss: BoostLoss, k: int, *, warm: bool, held: tuple[Any, Any, Any] | None
    ) -> None:
        n_rows, n_columns = data.X.shape
        require_memory(
            (2 * n_columns + 64 + 24 * k) * n_rows,
            f"the bins of {n_rows} x {n_columns} values",
            "Fit on a sample of the rows, or on fewer columns.",
        )
        limits = _kernels.BoostLimits(
            directions(self, n_columns, k), category_columns(self), meeting_groups(self, n_columns)
        )
        stops = _stops(self, n_rows)
        rows, judge, warm = self._start(data, k, held, warm=warm, stops=stops)
        steps = _HistSteps(self, rows, limits)
        rounds = Rounds(self, loss, rows, loss.constant(rows.y, rows.s, k), judge, steps.grow)
        if warm:
            rounds.resume(self.trees_, self.baseline_, self.max_iter, "max_iter")
        rounds.run(self.max_iter, lambda: stops and _improves_no_more(self, rounds))
        self.train_score_ = -self.certificate_.losses


def _improves_no_more(model: HistBoostingModel, rounds: Rounds) -> bool:
    """Tell whether the last rounds have not improved on the one before them."""
    losses = rounds.judged if rounds.judge is not None else rounds.losses
    last = model.n_iter_no_change + 1
    return len(losses) >= last and bool(min(losses[-last + 1 :]) > losses[-last] - model.tol)


class _HistSteps:
    """Grows the trees of a round from the bins of the columns."""

    def __init__(self, model: HistBoostingModel, data: BoostData, limits: _kernels.BoostLimits) -> None:
        self.model, self.counts, self.limits = model, data.counts, limits
        s = None if (data.s == 1).all() else data.s
        self.binned = _kernels.rank_table(data.X, s, model.max_bins, keeps="bins")

    def grow(self, rounds: Rounds) -> GrownRound:
        model, n_columns = self.model, rounds.X.shape[1]
        rule = _kernels.BoostRule(
            leaves=model.max_leaf_nodes or 0,
            depth=ANY_DEPTH if model.max_depth is None else min(int(model.max_depth), ANY_DEPTH),
            leaf_rows=int(model.min_samples_leaf),
            ridge=float(model.l2_regularization),
            rate=float(model.learning_rate),
            features=max(1, int(np.ceil(model.max_features * n_columns))),
            seed=(model.seed_ + rounds.count * rounds.k) % 2**63,
        )
        rows = _kernels.BoostRows(rounds.slope, rounds.bend, None if rounds.is_plain else rounds.s, self.counts)
        before = None if rounds.loss.by_order else rounds.scores
        grown, scores = _kernels.grow_boosted(self.binned, rows, before, rule, self.limits)
        if before is None:
            grown = [tree._replace(values=self._by_order(rounds, tree)) for tree in grown]
            scores = rounds.scores + np.column_stack([tree.values[tree.leaf] for tree in grown])
        return GrownRound([_as_ensemble(tree, n_columns) for tree in grown], scores)

    def _by_order(self, rounds: Rounds, tree: _kernels.BoostedTree) -> Array:
        """Return the quantile of what is left in each leaf, within the limits of constraints, times the learning rate."""
        left = rounds.y - rounds.scores[:, 0]
        order = np.argsort(tree.leaf, kind="stable")
        ends = np.searchsorted(tree.leaf[order], np.arange(len(tree.values) + 1))
        found = np.array(
            [
                weighted_quantile(left[order[a:b]], rounds.s[order[a:b]], rounds.loss.level)
                for a, b in itertools.pairwise(ends)
            ]
        )
        return np.asarray(self.model.learning_rate * np.clip(found, tree.low, tree.high))


def _stops(model: HistBoostingModel, n_rows: int) -> bool:
    given = model.early_stopping
    if model.scoring is not None and not (isinstance(model.scoring, str) and model.scoring == "loss"):
        raise InvalidParameter(
            f"{type(model).__name__}.scoring must be 'loss' or None: early stopping judges rounds by the loss that they lower,"
            f" got {model.scoring!r:.80}."
        )
    if isinstance(given, str) and given == "auto":
        return n_rows > MANY
    if not isinstance(given, bool | np.bool_):
        raise InvalidParameter(
            f"{type(model).__name__}.early_stopping must be True, False or 'auto', got {given!r:.80}."
        )
    return bool(given)


def _as_ensemble(tree: _kernels.BoostedTree, n_columns: int) -> TreeEnsemble:
    return TreeEnsemble(
        n_features=n_columns,
        sizes=np.array([len(tree.feature)], dtype=np.int64),
        feature=narrow(tree.feature),
        threshold=tree.threshold,
        missing_left=np.packbits(tree.missing_left),
        value=tree.values[:, None],
        weight=tree.weight,
        by_set=tree.by_set,
        sets=tree.sets.reshape(-1, 16),
    )
