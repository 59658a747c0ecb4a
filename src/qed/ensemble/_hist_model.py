"""Histogram boosting: its parameters, and how a tree of a round is grown from bins."""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack
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
from qed.core._shared_params import VERBOSE
from qed.core._validation import is_source
from qed.ensemble import _kernels
from qed.ensemble._boost_losses import BoostLoss, weighted_quantile
from qed.ensemble._boost_source import HeldScores, SourceScores, cuts_between
from qed.ensemble._boosting import BoostData, BoostedSum, Rounds, RowScores
from qed.ensemble._constraints import category_columns, directions, meeting_groups
from qed.ensemble._tree_ensemble import TreeEnsemble
from qed.tree._categories import CategoryColumns

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]
Bins = Annotated[int, Number(low=2, high=255, whole=True)]

ANY_DEPTH = 2**31 - 1
MIN_ROWS_FOR_EARLY_STOPPING = 10_000  # rows above which 'auto' stops early, as in scikit-learn


class HistBoostingModel(CategoryColumns, BoostedSum, chunks=True):
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
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of the rows that early stopping looks at, and of columns that are drawn.")

    train_score_: Array = fitted(
        "Minus the mean training loss, of the constant and after each round.", shape="(n_iter_ + 1,)"
    )
    # -- fitting ---------------------------------------------------------------------------------------

    def _boost(self, data: BoostData, loss: BoostLoss, k: int, *, warm: bool, held: BoostData | None) -> None:
        n_rows, n_columns = len(data.y), self.__dict__["n_features_in_"]
        if not is_source(data.X):
            require_memory(
                (2 * n_columns + 64 + 24 * k) * n_rows,
                f"the bins of {n_rows} x {n_columns} values",
                "Write the rows to files and fit qed.scan(...), which keeps bins on disk; or choose fewer columns.",
            )
        limits = _kernels.BoostLimits(
            directions(self, n_columns, k), category_columns(self), meeting_groups(self, n_columns)
        )
        stops = _stops(self, n_rows)
        rows, judge, warm = self._start(data, k, held, warm=warm, stops=stops)
        with ExitStack() as stack:
            earlier = self.trees_ if warm else None
            steps: Any
            if is_source(rows.X):
                steps = _FoldedSteps(self, rows, limits, loss, k, earlier)
            else:
                steps = _HistSteps(self, rows, limits, loss, k)
            stack.callback(steps.close)
            judged: Any = None
            if judge is not None and is_source(judge.X):
                judged = HeldScores(judge, loss, k, earlier)
                stack.callback(judged.close)
            elif judge is not None:
                judged = RowScores(judge, loss, self._start_scores)
            rounds = Rounds(self, loss, steps.rows, loss.constant(rows.y, rows.s, k), judged, steps.grow)
            if warm:
                rounds.resume(self.trees_, self.baseline_, self.max_iter, "max_iter")
            try:
                rounds.run(self.max_iter, lambda: stops and _improves_no_more(self, rounds))
            finally:
                if "certificate_" in self.__dict__:  # of the rounds that were stored
                    self.train_score_ = -self.certificate_.losses

    def _rule(self, number: int) -> _kernels.BoostRule:
        """Return how a tree is grown, given how many there were before it."""
        return _kernels.BoostRule(
            leaves=self.max_leaf_nodes or 0,
            depth=ANY_DEPTH if self.max_depth is None else min(int(self.max_depth), ANY_DEPTH),
            leaf_rows=int(self.min_samples_leaf),
            ridge=float(self.l2_regularization),
            rate=float(self.learning_rate),
            features=max(1, math.ceil(self.max_features * self.__dict__["n_features_in_"])),
            seed=(self.seed_ + number) % 2**63,
        )


def _improves_no_more(model: HistBoostingModel, rounds: Rounds) -> bool:
    """Tell whether the last rounds have not improved on the one before them."""
    losses = rounds.judged if rounds.judge is not None else rounds.losses
    last = model.n_iter_no_change + 1
    return len(losses) >= last and bool(min(losses[-last + 1 :]) > losses[-last] - model.tol)


class _HistSteps:
    """Grows the trees of a round from the bins of columns in memory."""

    def __init__(
        self, model: HistBoostingModel, data: BoostData, limits: _kernels.BoostLimits, loss: BoostLoss, k: int
    ) -> None:
        self.model, self.counts, self.limits, self.k = model, data.counts, limits, k
        self.rows = RowScores(data, loss, model._start_scores)  # noqa: SLF001
        s = None if self.rows.is_plain else data.s
        self.binned = _kernels.rank_table(data.X, s, model.max_bins, keeps="bins")

    def grow(self, rounds: Rounds) -> list[TreeEnsemble]:
        model, own = self.model, self.rows
        rows = _kernels.BoostRows(own.slope, own.curvature, None if own.is_plain else own.s, self.counts)
        before = None if own.loss.by_order else own.scores
        rule = model._rule(rounds.count * self.k)  # noqa: SLF001
        grown, scores = _kernels.grow_boosted(self.binned, rows, before, rule, self.limits)
        if before is None:
            left = own.y - own.scores[:, 0]
            grown = [tree._replace(values=_by_order(model, own, tree, tree.leaf, left)) for tree in grown]
            scores = own.scores + np.column_stack([tree.values[tree.leaf] for tree in grown])
        own.scores = scores
        return [_as_ensemble(tree, own.X.shape[1]) for tree in grown]

    def close(self) -> None:
        """Nothing is open."""


class _FoldedSteps:
    """Grows the trees of a round from histograms that are folded over the parts of a source."""

    def __init__(
        self,
        model: HistBoostingModel,
        data: BoostData,
        limits: _kernels.BoostLimits,
        loss: BoostLoss,
        k: int,
        earlier: TreeEnsemble | None,
    ) -> None:
        self.model, self.limits, self.k, self.loss = model, limits, k, loss
        self.binning = cuts_between(data, model.max_bins, limits.by_category, model.seed_)
        self.rows = SourceScores(data, loss, k, self.binning, earlier)

    def grow(self, rounds: Rounds) -> list[TreeEnsemble]:
        model, found = self.model, []
        for c in range(self.k):
            tree = self.rows.grow(c, model._rule(rounds.count * self.k + c), self.limits)  # noqa: SLF001
            if self.loss.by_order:
                tree = tree._replace(values=_by_order(model, self.rows, tree, *self.rows.listed_leaves()))
            self.rows.add_leaves(tree.values)
            found.append(_as_ensemble(tree, len(self.binning.ends)))
        return found

    def close(self) -> None:
        """Delete what parts keep."""
        self.rows.close()


def _by_order(model: HistBoostingModel, rows: Any, tree: _kernels.BoostedTree, leaf: Array, left: Array) -> Array:
    """Return the quantile of what is left in each leaf, within the limits of constraints, times the learning rate."""
    order = np.argsort(leaf, kind="stable")
    ends = np.searchsorted(leaf[order], np.arange(len(tree.values) + 1))
    found = np.array(
        [weighted_quantile(left[order[a:b]], rows.s[order[a:b]], rows.loss.level) for a, b in itertools.pairwise(ends)]
    )
    return np.asarray(model.learning_rate * np.clip(found, tree.low, tree.high))


def _stops(model: HistBoostingModel, n_rows: int) -> bool:
    given = model.early_stopping
    if model.scoring is not None and not (isinstance(model.scoring, str) and model.scoring == "loss"):
        raise InvalidParameter(
            f"{type(model).__name__}.scoring must be 'loss' or None: early stopping judges rounds by the loss that they lower,"
            f" got {model.scoring!r:.80}."
        )
    if isinstance(given, str) and given == "auto":
        return n_rows > MIN_ROWS_FOR_EARLY_STOPPING
    if not isinstance(given, bool | np.bool_):
        raise InvalidParameter(
            f"{type(model).__name__}.early_stopping must be True, False or 'auto', got {given!r:.80}."
        )
    return bool(given)


def _as_ensemble(tree: _kernels.BoostedTree, n_columns: int) -> TreeEnsemble:
    return TreeEnsemble(
        n_features=n_columns,
        sizes=np.array([len(tree.feature)], dtype=np.int64),
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=np.packbits(tree.missing_left),
        value=tree.values[:, None],
        weight=tree.weight,
        by_set=tree.by_set,
        sets=tree.sets.reshape(-1, 16),
    )
