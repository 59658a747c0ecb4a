"""Boosting by exact splits: its parameters, how a tree of a round is grown, and the step of each leaf."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveInt,
    Seed,
    clone,
    fitted,
    param,
)
from qed.core._memory import require_memory
from qed.core._parts import accepts_weight, models_with
from qed.core._shared_params import VERBOSE
from qed.ensemble import _kernels
from qed.ensemble._boost_losses import BoostLoss, weighted_mean, weighted_quantile
from qed.ensemble._boosting import BoostData, BoostedSum, Rounds, RowScores
from qed.ensemble._tree_ensemble import TreeEnsemble
from qed.tree._grow import MIN_MAGNITUDE, as_tree, growth_limits, require_range
from qed.tree._kernels import Targets, grow_sorted, sort_table
from qed.tree._prune import pruned

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.tree._structure import DecisionTree

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]

FLAT = 1e-150  # mean curvature below which a leaf takes no step, as in scikit-learn
LEAST_CHANCE = float(
    np.finfo(np.float32).eps
)  # of a label, by an estimator that trees are added to, as in scikit-learn
COLUMNS = 2**32  # seeds from this number on draw columns, those below it rows


class ExactBoostingModel(BoostedSum, sparse=True, allow_nan=True):
    """Boosting by exact splits."""

    _: KW_ONLY
    learning_rate: NonNegative = param(0.1, "What the step of every leaf is multiplied by.")
    n_estimators: PositiveInt = param(
        100, "Rounds: trees, or groups of trees, one for each class where there are several."
    )
    subsample: Share = param(
        1.0, "Share of the rows that a round looks at, drawn without replacement; below one, others judge it."
    )
    criterion: Literal["friedman_mse", "squared_error", "deprecated"] = param(
        "friedman_mse",
        "What splits lower: the squared error. All names mean the same splits, as in scikit-learn.",
        kind="hint",
    )
    min_samples_split: TwoOrMore | Share = param(
        2, "Fewest rows of a node that is split: a number, or a share of all rows."
    )
    min_samples_leaf: PositiveInt | ShareBelowOne = param(1, "Fewest rows of a leaf: a number, or a share of all rows.")
    min_weight_fraction_leaf: Annotated[float, Number(low=0, high=0.5)] = param(
        0.0, "Least weight of a leaf, as a share of all weight of its round."
    )
    max_depth: PositiveInt | None = param(3, "Most splits above a leaf; None for as many as it takes.")
    min_impurity_decrease: NonNegative = param(
        0.0, "Least decrease of the impurity by a split, times the share of the weight that it splits."
    )
    init: Any = param(
        None,
        "What trees are added to: None for the best constant (the median with loss='huber'), 'zero' for nothing, or an estimator,"
        " which is fitted on the rows of the trees: what it predicts, or the log odds of its probabilities.",
    )
    random_state: Seed = param(
        None, "Seed of the rows and columns that are drawn, and of the rows that early stopping looks at."
    )
    max_features: Literal["sqrt", "log2"] | PositiveInt | Share | None = param(
        None,
        "Columns considered at each split, drawn at random: a number, a share, the square root or the logarithm; None for all.",
    )
    verbose: NonNegativeInt = VERBOSE
    max_leaf_nodes: TwoOrMore | None = param(None, "Most leaves of a tree: the node that gains most is split first.")
    warm_start: bool = param(False, "Whether to keep the trees of an earlier fit on the same rows, and add the others.")
    validation_fraction: ShareBelowOne = param(
        0.1, "Share of the rows that early stopping looks at; used if ``n_iter_no_change`` is given."
    )
    n_iter_no_change: PositiveInt | None = param(
        None,
        "Stop when a round is better than none of so many before it, on rows that no tree has seen; None for never.",
    )
    tol: NonNegative = param(1e-4, "Least improvement that counts.")
    ccp_alpha: NonNegative = param(
        0.0, "Price of a leaf: the smallest subtree that minimises impurity plus price times leaves is kept."
    )

    train_score_: Array = fitted(
        "Training loss after each round, of the rows that it looked at; squared and logistic losses twice, as in scikit-learn.",
        shape="(n_iter_,)",
    )
    oob_improvement_: Array = fitted(
        "How much less the rows that a round did not look at lose after it; empty if it looks at all.",
        shape="(0,) or (n_iter_,)",
    )
    init_: Any = fitted(
        "The fitted estimator that trees are added to, where ``init`` is one.",
        check=models_with("predict"),
        optional=True,
    )
    oob_scores_: Array = fitted("Their loss after each round.", shape="(0,) or (n_iter_,)")
    tree_importances_: Array = fitted(
        "How much the splits on each column lower the squared error, tree by tree.", shape="(trees_, p)", low=0
    )

    @property
    def n_estimators_(self) -> int:
        """Rounds that were made; fewer than asked for if early stopping ended them."""
        self._check_is_fitted()
        return self.n_iter_

    @property
    def oob_score_(self) -> float:
        """Loss, after the last round, of the rows that it did not look at; NaN if it looked at all."""
        self._check_is_fitted()
        return float(self.oob_scores_[-1]) if len(self.oob_scores_) else float("nan")

    @property
    def feature_importances_(self) -> Array:
        """How much the splits on each column lower the squared error, as shares that sum to one."""
        self._check_is_fitted()
        total = self.tree_importances_.mean(axis=0)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int of shape (n, n_estimators_) or (n, n_estimators_, k)
            Numbers of nodes, counted within each tree.
        """
        leaves = self.trees_.apply(self._new_data(X))
        k = self.n_trees_per_iteration_
        return leaves if k == 1 else leaves.reshape(len(leaves), -1, k)

    def _boost(
        self,
        data: BoostData,
        loss: BoostLoss,
        k: int,
        *,
        warm: bool,
        held: BoostData | None,
        monitor: Callable[..., Any] | None,
    ) -> None:
        n_rows, n_columns = data.X.shape
        require_memory(
            (24 * n_columns + 128 + 24 * k) * n_rows,
            f"the sorted columns of {n_rows} x {n_columns} values",
            "Fit on a sample of the rows, or use the histograms of HistGradientBoosting.",
        )
        rows, judge, warm = self._start(data, k, held, warm=warm, stops=self.n_iter_no_change is not None)
        steps = ExactSteps(self, rows)
        if not warm:
            self._fit_init(rows, k)
        scored, held_scores = (
            None if own is None else RowScores(own, loss, self._start_scores) for own in (rows, judge)
        )
        rounds = Rounds(self, loss, scored, self._constant(loss, rows, k), held_scores, steps.grow)
        if warm:
            steps.resume(rounds)
            rounds.resume(self.trees_, self.baseline_, self.n_estimators, "n_estimators")
        stopped = False

        def is_done() -> bool:
            nonlocal stopped
            steps.note(rounds)
            if monitor is not None and rounds.parts:
                rounds.store()
                steps.store()
                stopped = bool(monitor(rounds.count - 1, self, {"scores": rounds.rows.scores, "losses": rounds.losses}))
            return stopped or (judge is not None and _improves_no_more(self, rounds))

        try:
            rounds.run(self.n_estimators, is_done)
        finally:
            if rounds.count:
                steps.note(rounds)
                steps.store()

    def _constant(self, loss: BoostLoss, data: BoostData, k: int) -> Array:
        if self.init is not None:
            return np.zeros(k)
        if loss.name == "huber":
            return np.array([weighted_quantile(data.y, data.s, 0.5)])
        return loss.constant(data.y, data.s, k)

    def _fit_init(self, data: BoostData, k: int) -> None:
        """Fit the estimator that trees are added to, on the rows that they learn from."""
        self.__dict__.pop("init_", None)
        if self.init is None or (isinstance(self.init, str) and self.init == "zero"):
            return
        is_class = "classes_" in self.__dict__
        wanted = ("fit", "predict_proba") if is_class else ("fit", "predict")
        if isinstance(self.init, type) or not all(hasattr(self.init, one) for one in wanted):
            raise InvalidParameter(
                f"{type(self).__name__}.init must be None, 'zero' or an estimator with {' and '.join(wanted)}, got"
                f" {self.init!r:.80}."
            )
        weight = {} if (data.s == 1).all() else {"sample_weight": data.s}
        if weight and not accepts_weight(self.init):
            raise InvalidParameter(
                f"The initial estimator {type(self.init).__name__} does not support sample weights, and rows have weights. Choose"
                " another one, or fit without weights."
            )
        y = data.y
        if is_class:
            y = (data.y > 0).astype(np.int64) if k == 1 else data.y.astype(np.int64)
        self.init_ = clone(self.init).fit(in_double(data.X), y, **weight)

    def _start_scores(self, rows: Any, baseline: Array) -> Array:
        """Return what the trees are added to: a constant, or what an estimator predicts as a score of each label."""
        if "init_" not in self.__dict__:
            return super()._start_scores(rows, baseline)
        X, k = in_double(rows), len(baseline)
        if "classes_" not in self.__dict__:
            return np.asarray(self.init_.predict(X), dtype=np.float64).reshape(-1, 1)
        chance = np.asarray(self.init_.predict_proba(X), dtype=np.float64)
        if chance.shape[1] != max(k, 2):
            return np.zeros((len(chance), k))  # a single label, and nothing to tell apart
        chance = np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
        logs = np.log(chance)
        if k > 1:
            return np.asarray(logs - logs.mean(axis=1, keepdims=True))
        odds = logs[:, 1:] - np.log1p(-chance[:, 1:])
        return np.asarray(odds / 2 if self.loss == "exponential" else odds)  # type: ignore[attr-defined]


def in_double(X: Any) -> Any:
    """Return rows as an estimator inside is given them: in float64, whatever the rows of the model are."""
    return X.astype(np.float64) if X.dtype != np.float64 else X


def _improves_no_more(model: ExactBoostingModel, rounds: Rounds) -> bool:
    """Tell whether the last round is better than none of so many before it, as scikit-learn does."""
    many, factor = model.n_iter_no_change or 1, _factor(rounds.loss)
    before = rounds.judged[1:-1][-many:]  # the constant is no round
    return len(before) >= many and not any(factor * rounds.judged[-1] + model.tol < factor * one for one in before)


def _factor(loss: BoostLoss) -> float:
    """Return what scikit-learn multiplies mean losses by, where it shows them."""
    return 2.0 if loss.name in ("squared_error", "log_loss") else 1.0


class ExactSteps:
    """Grows the trees of a round on columns that are sorted once, and finds the step of each leaf."""

    def __init__(self, model: ExactBoostingModel, data: BoostData) -> None:
        self.model = model
        self.X = data.X.tocsr() if hasattr(data.X, "tocsr") else data.X
        self.table = sort_table(data.X)
        n_rows = len(data.y)
        self.bag = n_rows if model.subsample == 1 else max(1, int(model.subsample * n_rows))
        self.importances: list[Array] = []
        self.train: list[float] = []
        self.out: list[float] = []
        self.gains: list[float] = []
        self.before: Array | None = None
        self.used: Array | None = None
        self.noted = 0
        self.level = 0.0  # Huber's threshold in the last round

    def resume(self, rounds: Rounds) -> None:
        """Take over what an earlier fit noted."""
        model = self.model
        self.importances = list(model.tree_importances_)
        self.train, self.out = model.train_score_.tolist(), model.oob_scores_.tolist()
        self.gains = model.oob_improvement_.tolist()
        self.noted = len(self.train)
        if len(self.out) not in (0, len(self.train)) or bool(self.out) != (self.bag < len(rounds.rows.y)):
            raise InvalidParameter(
                "warm_start=True goes on with the subsample of the earlier fit: keep it, or start again."
            )

    def grow(self, rounds: Rounds) -> list[TreeEnsemble]:
        """Return the trees of the next round, one for each class."""
        model = self.model
        s = rounds.rows.s
        self.used = None
        if self.bag < len(rounds.rows.y):
            self.used = drawn_rows(model.seed_, rounds.count, len(rounds.rows.y), self.bag)
            s = np.where(self.used, s, 0.0)
            if not s.any():
                raise InvalidParameter("subsample leaves a round no row of positive weight. Raise it.")
        level = rounds.loss.level
        slope = rounds.rows.slope
        if rounds.loss.name == "huber":  # the threshold follows the errors, round by round
            share = model.alpha  # type: ignore[attr-defined]
            errors = np.abs(rounds.rows.y - rounds.rows.scores[:, 0])
            level = weighted_quantile(errors, rounds.rows.s, share, middle=False)
            slope = np.clip(rounds.rows.scores - rounds.rows.y[:, None], -level, level)
            self.level = level
            if rounds.count == 0:
                self.before = self._shown(rounds)
        found, scores = [], rounds.rows.scores.copy()
        for c in range(rounds.k):
            tree = self._tree(
                -slope[:, c], None if self.used is None and rounds.rows.is_plain else s, rounds.count * rounds.k + c
            )
            part = _as_ensemble(tree, np.zeros(tree.n_leaves))
            leaf = _kernels.leaves_of(part.packed, self.X)[:, 0]
            values = model.learning_rate * self._values(
                rounds, slope[:, c], rounds.rows.curvature[:, c], s, leaf, len(part.value), level
            )
            self.importances.append(tree.compute_feature_importances(normalize=False))
            found.append(_as_ensemble(tree, values))
            scores[:, c] += found[-1].numbers[leaf, 0]
        rounds.rows.scores = scores
        return found

    def _tree(self, residual: Array, s: Array | None, number: int) -> DecisionTree:
        model, n_columns = self.model, self.X.shape[1]
        residual = np.ascontiguousarray(residual)
        if np.abs(residual).max(initial=0.0) < MIN_MAGNITUDE:
            residual = np.zeros(len(residual))  # nothing is left to explain
        targets = Targets("squared_error", 1, residual, s)
        require_range(targets)
        n_rows = len(residual)
        limits = growth_limits(model, n_rows, n_columns, float(n_rows if s is None else s.sum()))
        grown = grow_sorted(self.table, targets, limits, seed=_kernels.stream(model.seed_, COLUMNS + number))
        tree = as_tree(grown, n_columns, is_class=False)
        return pruned(tree, model.ccp_alpha) if model.ccp_alpha > 0 else tree

    def _values(
        self, rounds: Rounds, slope: Array, curvature: Array, s: Array, leaf: Array, leaves: int, level: float
    ) -> Array:
        """Return the step of each leaf: a quantile of what is left, Huber's step, or a Newton step."""
        loss = rounds.loss
        if loss.by_order or loss.name == "huber":
            left = rounds.rows.y - rounds.rows.scores[:, 0]
            inside = np.flatnonzero(s > 0)
            order = inside[np.argsort(leaf[inside], kind="stable")]
            ends = np.searchsorted(leaf[order], np.arange(leaves + 1))
            found = []
            for a, b in itertools.pairwise(ends):
                own, weight = left[order[a:b]], s[order[a:b]]
                step = weighted_quantile(own, weight, 0.5 if loss.name == "huber" else loss.level, middle=False)
                if loss.name == "huber":
                    step += float(weight @ np.clip(own - step, -level, level) / weight.sum())
                found.append(step)
            return np.array(found)
        total = np.bincount(leaf, s, minlength=leaves)
        G = np.bincount(leaf, s * slope, minlength=leaves)
        H = np.bincount(leaf, s * curvature, minlength=leaves)
        steep = FLAT * total < H
        steps = np.where(steep, -G / np.where(steep, H, 1.0), 0.0)
        return np.asarray(steps * (rounds.k - 1) / rounds.k if rounds.k > 1 else steps)  # Friedman's factor

    def note(self, rounds: Rounds) -> None:
        """Note the losses of the last round, of the rows that it looked at and of the others."""
        if rounds.count == 0:
            self.before = rounds.rows.value
        if rounds.count <= self.noted:
            return
        self.noted, factor, shown = rounds.count, _factor(rounds.loss), self._shown(rounds)

        def loss_of(rows: Array, value: Array) -> float:
            return factor * weighted_mean(value[rows], rounds.rows.s[rows])

        if self.used is None:
            self.train.append(loss_of(np.arange(len(shown)), shown))
            return
        self.train.append(loss_of(self.used, shown))
        self.out.append(loss_of(~self.used, shown))
        first = self.out[-2] if self.before is None else loss_of(~self.used, self.before)
        self.before = None
        self.gains.append(first - self.out[-1])

    def _shown(self, rounds: Rounds) -> Array:
        """Return the losses of rows, Huber's at the threshold of the round."""
        if rounds.loss.name != "huber" or self.level <= 0:
            return np.asarray(rounds.rows.value)
        return BoostLoss("huber", self.level).curve(rounds.rows.scores, rounds.rows.y)[0]

    def store(self) -> None:
        """Put what was noted in place."""
        model = self.model
        trees = model.n_iter_ * model.n_trees_per_iteration_
        model.train_score_ = np.array(self.train[: model.n_iter_])
        model.oob_scores_, model.oob_improvement_ = (
            np.array(self.out[: model.n_iter_]),
            np.array(self.gains[: model.n_iter_]),
        )
        model.tree_importances_ = np.array(self.importances[:trees]).reshape(trees, -1)


def drawn_rows(seed: int, number: int, n_rows: int, many: int) -> Array:
    """Mark the rows of a round: those whose numbers, mixed from the seed, are least."""
    keys = _kernels.mix(_kernels.stream(seed, number), n_rows)
    used = np.zeros(n_rows, dtype=bool)
    used[np.argsort(keys, kind="stable")[:many]] = True
    return used


def _as_ensemble(tree: DecisionTree, values: Array) -> TreeEnsemble:
    inner = tree.children_left >= 0
    return TreeEnsemble(
        n_features=tree.n_features,
        sizes=np.array([len(inner)], dtype=np.int64),
        feature=np.where(inner, tree.feature, -1),
        threshold=tree.threshold[inner],
        missing_left=np.packbits(tree.missing_go_to_left[inner]),
        value=values[:, None],
        weight=tree.weighted_n_node_samples[~inner],
        by_set=np.zeros(0, dtype=np.int64),
        sets=np.zeros((0, 16), dtype=np.uint32),
    )
