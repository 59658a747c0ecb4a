"""Trees that correct one another: each lowers the loss of the sum of those before it."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, NamedTuple

import numpy as np

from qed.certificates import StagedCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    FitData,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress, guard
from qed.core._memory import require_memory
from qed.ensemble import _kernels
from qed.ensemble._boost_losses import BoostLoss, weighted_quantile
from qed.ensemble._constraints import category_columns, directions, meeting_groups
from qed.ensemble._tree_ensemble import TreeEnsemble, joined, narrow

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]
Bins = Annotated[int, Number(low=2, high=255, whole=True)]

ANY_DEPTH = 2**31 - 1
MANY = 10_000  # rows above which 'auto' stops early, as in scikit-learn
RISE = 1e-12  # relative: what rounding may add to a mean


class BoostData(NamedTuple):
    """Rows of positive weight, numbers that losses take, and weights."""

    X: Array
    y: Array
    s: Array
    counts: Array | None
    strata: Array | None  # classes, of which validation rows are drawn alike


def _fits_the_model(model: Any, trees: TreeEnsemble) -> str:
    if trees.n_features != model.n_features_in_:
        return f"should be over {model.n_features_in_} columns, and are over {trees.n_features}"
    if trees.value.shape[1] != 1 or not len(trees.weight):
        return "should hold one value and one weight for each leaf"
    wanted = model.n_iter_ * model.n_trees_per_iteration_
    return "" if len(trees) == wanted else f"should be {wanted}, and are {len(trees)}"


def _trees_a_round(model: Any, trees: int) -> str:
    labels = len(model.__dict__.get("classes_", ()))
    wanted = labels if labels > 2 else 1
    return "" if trees == wanted else f"should be {wanted}, and is {trees}"


class BoostingModel(Estimator, allow_nan=True):
    """A model that is a constant plus a sum of trees."""

    _: KW_ONLY
    learning_rate: Positive = param(0.1, "What the step of every leaf is multiplied by.")
    max_iter: PositiveInt = param(100, "Rounds: trees, or groups of trees, one for each class where there are several.")
    max_leaf_nodes: TwoOrMore | None = param(31, "Most leaves of a tree: the leaf that gains most is split first.")
    max_depth: PositiveInt | None = param(None, "Most splits above a leaf; None for as many as it takes.")
    min_samples_leaf: PositiveInt = param(
        20, "Fewest rows of a leaf; weights that are whole numbers count as so many rows."
    )
    l2_regularization: NonNegative = param(0.0, "Strength of the penalty on the values of leaves.")
    max_features: Share = param(1.0, "Share of the columns that a split looks at, drawn anew for each.")
    max_bins: Bins = param(255, "Most bins of a column, besides that of missing values.")
    categorical_features: Any = param(
        "from_dtype",
        "Columns of categories, whole numbers from 0 to 254 (NaN for missing): a mask, indices or names; None or 'from_dtype' for"
        " none, since frames of categorical columns must be encoded first (OrdinalEncoder).",
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

    n_iter_: int = fitted("Number of rounds.", low=1)
    n_trees_per_iteration_: int = fitted("Trees of a round.", low=1, check=_trees_a_round)
    trees_: TreeEnsemble = fitted(
        "The nodes of all trees, as arrays; those of a round one after the other.", check=_fits_the_model
    )
    baseline_: Array = fitted(
        "The constant that the trees are added to, by class where there are several.", shape="(n_trees_per_iteration_,)"
    )
    seed_: int = fitted("What everything that was drawn follows from.", low=0, answers=False)
    loss_level_: float = fitted("Quantile of the quantile loss, threshold of Huber's.", low=0)
    train_score_: Array = fitted(
        "Minus the mean training loss, of the constant and after each round.", shape="(n_iter_ + 1,)"
    )
    validation_score_: Array = fitted(
        "Minus the mean loss of the rows that early stopping looks at; empty without.",
        shape="(0,) or (n_iter_ + 1,)",
        answers=False,
    )
    certificate_: StagedCertificate = fitted("What is proved about the rounds.")

    @property
    def do_early_stopping_(self) -> bool:
        """Whether rows of the fit were kept from the trees, to stop by."""
        self._check_is_fitted()
        return len(self.validation_score_) > 0

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
            directions(self, n_columns, k), category_columns(self, data.X), meeting_groups(self, n_columns)
        )
        warm = warm and self.warm_start and "trees_" in self.__dict__ and self.n_trees_per_iteration_ == k
        if not warm:
            self.seed_ = int(generator(self.random_state).integers(2**63))
        stops = _stops(self, n_rows)
        train = np.arange(n_rows)
        judge = None
        if stops and held is not None:
            judge = held
        elif stops and self.validation_fraction is not None:
            train, kept = validation_rows(self.seed_, n_rows, self.validation_fraction, data.strata)
            judge = data.X[kept], data.y[kept], data.s[kept]
        X, y, s = (data.X[train], data.y[train], data.s[train]) if len(train) < n_rows else data[:3]
        counts = data.counts if data.counts is None or len(train) == n_rows else data.counts[train]
        rounds = _Rounds(self, loss, k, X, y, s, counts, limits, judge)
        if warm:
            rounds.resume(self.trees_, self.baseline_)
        elif len(self.__dict__.get("train_score_", ())):
            self.__dict__.pop("trees_", None)
        with Progress(type(self).__name__, total=self.max_iter, verbose=self.verbose) as progress, guard(rounds.store):
            while rounds.count < self.max_iter and not rounds.is_done(stops=stops):
                rounds.one_more()
                if progress.step(value=rounds.losses[-1]) is not None:
                    break
        rounds.store()

    # -- asking ----------------------------------------------------------------------------------------

    def _scores(self, rows: Any) -> Array:
        """Return the scores of rows, (n, k)."""
        k = self.n_trees_per_iteration_
        if not len(self.trees_):
            return np.tile(self.baseline_, (len(rows), 1))
        return np.asarray(self.trees_.add_up(rows, self.trees_.numbers, k) + self.baseline_)

    def _staged_scores(self, rows: Any) -> Any:
        """Yield the scores of rows after each round."""
        k, trees = self.n_trees_per_iteration_, self.trees_
        leaves = _kernels.leaves_of(trees.packed, rows)
        scores = np.tile(self.baseline_, (len(rows), 1))
        for first in range(0, len(trees), k):
            scores = scores + trees.numbers[leaves[:, first : first + k], 0]
            yield scores

    def _boost_rows(self, data: FitData, y: Array, factor: Array | None, strata: Array | None) -> BoostData:
        """Drop rows without weight."""
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        is_whole = data.weight is not None and bool((s == np.rint(s)).all()) and s.sum() < 2**31
        counts = s.astype(np.uint32) if is_whole else None
        s = s if factor is None else s * factor
        if not (np.isfinite(s.sum()) and s.sum() > 0):
            raise InvalidData("No row has a positive weight, or weights overflow. Give some rows a weight.")
        used = s > 0
        if used.all():
            return BoostData(data.X, y, s, counts, strata)
        return BoostData(
            data.X[used],
            y[used],
            s[used],
            None if counts is None else counts[used],
            None if strata is None else strata[used],
        )


class _Rounds:
    """The state of a fit between two rounds."""

    def __init__(
        self,
        model: BoostingModel,
        loss: BoostLoss,
        k: int,
        X: Array,
        y: Array,
        s: Array,
        counts: Array | None,
        limits: _kernels.BoostLimits,
        judge: Any,
    ) -> None:
        self.model, self.loss, self.k = model, loss, k
        self.X, self.y, self.s, self.counts = X, np.ascontiguousarray(y), s, counts
        self.is_plain = bool((s == 1).all())
        self.limits, self.judge = limits, judge
        self.binned = _kernels.rank_table(X, None if self.is_plain else s, model.max_bins, keeps="bins")
        self.baseline = loss.constant(self.y, s, k)
        self.scores = np.tile(self.baseline, (len(X), 1))
        self.parts: list[TreeEnsemble] = []
        self.count = 0
        self.losses: list[float] = []
        self.judged: list[float] = []
        self.held = None if judge is None else np.tile(self.baseline, (len(judge[0]), 1))
        self._look()

    def resume(self, trees: TreeEnsemble, baseline: Array) -> None:
        """Go on from the trees of an earlier fit."""
        if len(trees) // self.k > self.model.max_iter:
            raise InvalidParameter(
                f"max_iter={self.model.max_iter} must be larger than or equal to n_iter_={len(trees) // self.k} when"
                " warm_start=True. Ask for more rounds, or set warm_start=False."
            )
        self.parts, self.count = [trees], len(trees) // self.k
        self.baseline = baseline
        self.losses, self.judged = [], []
        steps = _kernels.leaves_of(trees.packed, self.X)
        held = None if self.judge is None else _kernels.leaves_of(trees.packed, self.judge[0])
        self.scores = np.tile(baseline, (len(self.X), 1))
        self._look()
        for first in range(0, len(trees), self.k):
            self.scores = self.scores + trees.numbers[steps[:, first : first + self.k], 0]
            if held is not None:
                self.held = self.held + trees.numbers[held[:, first : first + self.k], 0]
            self._look()

    def _look(self) -> None:
        """Note the losses, and what the next round starts from."""
        value, self.slope, self.bend = self.loss.curve(self.scores, self.y)
        self.losses.append(float(value.mean() if self.is_plain else self.s @ value / self.s.sum()))
        if not np.isfinite(self.losses[-1]):
            raise InvalidData(
                f"The loss of {type(self.model).__name__} is no longer finite after {self.count} rounds: the targets are too large,"
                " or learning_rate is. Divide the targets by a constant, or lower learning_rate."
            )
        if self.judge is not None and self.held is not None:
            own = self.loss.curve(self.held, np.ascontiguousarray(self.judge[1]))[0]
            self.judged.append(float(self.judge[2] @ own / self.judge[2].sum()))

    def is_done(self, *, stops: bool) -> bool:
        """Tell whether the last rounds have not improved on the one before them."""
        losses = self.judged if self.judge is not None else self.losses
        last = self.model.n_iter_no_change + 1
        if not stops or len(losses) < last:
            return False
        return bool(min(losses[-last + 1 :]) > losses[-last] - self.model.tol)

    def one_more(self) -> None:
        """Grow the trees of a round, one for each class, all from the same scores."""
        model, n_columns = self.model, self.X.shape[1]
        grown = []
        for c in range(self.k):
            rule = _kernels.BoostRule(
                leaves=model.max_leaf_nodes or 0,
                depth=ANY_DEPTH if model.max_depth is None else min(int(model.max_depth), ANY_DEPTH),
                leaf_rows=int(model.min_samples_leaf),
                ridge=float(model.l2_regularization),
                rate=float(model.learning_rate),
                features=max(1, int(np.ceil(model.max_features * n_columns))),
                seed=(model.seed_ + self.count * self.k + c) % 2**63,
            )
            slope, bend = self.slope[:, c], self.bend[:, c]
            if not self.is_plain:
                slope, bend = slope * self.s, bend * self.s
            grown.append(
                _kernels.grow_boosted(
                    self.binned,
                    np.ascontiguousarray(slope),
                    np.ascontiguousarray(bend),
                    self.counts,
                    rule,
                    self.limits,
                )
            )
        for c, tree in enumerate(grown):
            values = self._by_order(tree) if self.loss.by_order else tree.values
            self.scores[:, c] += values[tree.leaf]
            part = _as_ensemble(tree._replace(values=values), n_columns)
            if self.held is not None and self.judge is not None:
                self.held[:, c] += part.add_up(self.judge[0], part.numbers)[:, 0]
            self.parts.append(part)
        self.count += 1
        self._look()

    def _by_order(self, tree: _kernels.BoostedTree) -> Array:
        """Return the quantile of what is left in each leaf, within the limits of constraints, times the learning rate."""
        left = self.y - self.scores[:, 0]
        order = np.argsort(tree.leaf, kind="stable")
        ends = np.searchsorted(tree.leaf[order], np.arange(len(tree.values) + 1))
        found = np.array(
            [
                weighted_quantile(left[order[a:b]], self.s[order[a:b]], self.loss.level)
                for a, b in itertools.pairwise(ends)
            ]
        )
        return np.asarray(self.model.learning_rate * np.clip(found, tree.low, tree.high))

    def store(self) -> None:
        """Put the rounds so far and their certificate in place."""
        model = self.model
        if not self.parts:
            return
        model.trees_ = joined(self.parts)
        self.parts = [model.trees_]
        model.baseline_, model.n_iter_, model.n_trees_per_iteration_ = self.baseline, self.count, self.k
        model.loss_level_ = self.loss.level
        losses = np.array(self.losses[: self.count + 1])
        model.train_score_ = -losses
        model.validation_score_ = -np.array(self.judged[: self.count + 1])
        rises = int(np.count_nonzero(np.diff(losses) > RISE * np.abs(losses[:-1])))
        model.certificate_ = StagedCertificate(losses, len(self.X), model.trees_.n_leaves, rises)


def _stops(model: BoostingModel, n_rows: int) -> bool:
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


def validation_rows(seed: int, n_rows: int, size: float, strata: Array | None) -> tuple[Array, Array]:
    """Split rows into those that trees learn from and those that early stopping looks at, class by class."""
    keys = _kernels.mix(seed, n_rows)
    groups = [np.arange(n_rows)] if strata is None else [np.flatnonzero(strata == one) for one in np.unique(strata)]
    share = size / n_rows if isinstance(size, int | np.integer) else float(size)
    kept = np.zeros(n_rows, dtype=bool)
    for group in groups:
        many = min(round(share * len(group)), len(group) - 1)
        kept[group[np.argsort(keys[group], kind="stable")[:many]]] = True
    if not kept.any() or kept.all():
        raise InvalidData(
            f"validation_fraction={size!r} of {n_rows} rows leaves none to judge by, or none to learn from. Pass more rows, or"
            " early_stopping=False."
        )
    return np.flatnonzero(~kept), np.flatnonzero(kept)


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
