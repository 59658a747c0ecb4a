"""What forests share: trees on drawn rows and columns, grown together, and what rows out of their samples say."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from qed.certificates import OutOfBagCertificate
from qed.core import (
    KW_ONLY,
    Array,
    FitData,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress, guard
from qed.core._memory import require_memory
from qed.core._shared_params import VERBOSE
from qed.core._threads import get_num_threads
from qed.ensemble import _kernels
from qed.ensemble._copies import whole_total
from qed.ensemble._one_tree import EnsembleTree, trees_of
from qed.ensemble._tree_ensemble import TreeEnsemble, joined, narrow
from qed.tree._categories import CategoryColumns
from qed.tree._grow import column_rules, growth_limits, require_range
from qed.tree._kernels import Targets  # noqa: TC001  (the type of a field)

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]

BINS = 255
DELTA = 0.05  # the chance that an interval misses


class ForestRows(NamedTuple):
    """Rows of positive weight; ``share`` their weight in the drawing, ``targets.s`` what multiplies it in the trees."""

    X: Any
    targets: Targets
    share: Array | None
    draws: int
    used: Array | None
    widths: list[int] | None = None  # of several columns of labels, how many each has; targets are their indicators

    @property
    def unit(self) -> float:
        """The impurity of a node, for a mean squared error of one where labels are indicators."""
        return 1.0 if self.widths is None else sum(self.widths) / len(self.widths)

    @property
    def are_whole(self) -> bool:
        """Whether leaves weigh whole numbers."""
        s = self.targets.s
        return s is None or bool((s == np.rint(s)).all())


def _fits_the_model(model: Any, trees: TreeEnsemble) -> str:
    labels = model.__dict__.get("classes_")
    widths = [len(own) for own in labels] if isinstance(labels, list) else None
    width = model.n_outputs_ if labels is None else len(labels) if widths is None else sum(widths)
    if trees.n_features != model.n_features_in_:
        return f"should be over {model.n_features_in_} columns, and are over {trees.n_features}"
    if trees.value.shape[1] != width:
        return f"should hold {width} values a leaf, and hold {trees.value.shape[1]}"
    if len(trees.by_set):
        mask = model._category_mask()  # noqa: SLF001
        asked = trees.feature[trees.feature >= 0][trees.by_set]
        if mask is None or not mask[asked].all():
            return "should ask about sets in columns of categories alone"
    if labels is None:
        return "" if len(trees.weight) else "should hold a weight for each leaf"
    return _labels_fit(model, trees, [width] if widths is None else widths, is_list=widths is not None)


def _labels_fit(model: Any, trees: TreeEnsemble, widths: list[int], *, is_list: bool) -> str:
    """Say what is wrong with the labels of a forest: how many there are, and what leaves hold of each."""
    counts = widths if is_list else widths[0]
    if model.n_outputs_ != len(widths) or model.n_classes_ != counts or is_list != (len(widths) > 1):
        return f"should be over {model.n_outputs_} column(s) of {model.n_classes_} labels, and classes_ lists {counts}"
    value = trees.value.astype(np.float64)
    sums = np.stack([own.sum(axis=1) for own in label_blocks(widths, value)], axis=1)
    are_weights = not len(trees.weight) and (value >= 0).all() and (sums > 0).all()
    are_even = (np.abs(sums - sums[:, :1]) <= 1e-6 * sums[:, :1]).all()
    return "" if are_weights and are_even else "should hold weights of the labels in each leaf"


class ForestModel(CategoryColumns, sparse=True, allow_nan=True):
    """A model that is the mean of trees."""

    n_estimators: PositiveInt = param(100, "Number of trees.")
    _: KW_ONLY
    max_depth: PositiveInt | None = param(None, "Most splits above a leaf; None for as many as it takes.")
    min_samples_split: TwoOrMore | Share = param(
        2, "Fewest rows of a node that is split: a number, or a share of all rows."
    )
    min_samples_leaf: PositiveInt | ShareBelowOne = param(1, "Fewest rows of a leaf: a number, or a share of all rows.")
    min_weight_fraction_leaf: Annotated[float, Number(low=0, high=0.5)] = param(
        0.0, "Least weight of a leaf, as a share of all weight of its tree."
    )
    max_leaf_nodes: TwoOrMore | None = param(
        None, "Most leaves of a tree: the node that gains most is split first. None for any number."
    )
    min_impurity_decrease: NonNegative = param(
        0.0, "Least decrease of the impurity by a split, times the share of the weight that it splits."
    )
    oob_score: bool = param(
        False, "Whether to keep what trees say of rows out of their samples; needs ``bootstrap=True``."
    )
    n_jobs: int | None = param(
        None, "Number of processes that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the rows, columns and thresholds that are drawn.")
    verbose: NonNegativeInt = VERBOSE
    warm_start: bool = param(False, "Whether to keep the trees of an earlier fit on the same rows, and add the others.")
    ccp_alpha: NonNegative = param(
        0.0,
        "Price of a leaf.",
        kind="refused",
        instead="Trees of a forest are not pruned; limit max_depth, min_samples_leaf or max_leaf_nodes.",
    )
    max_samples: PositiveInt | Share | None = param(
        None, "Rows drawn for each tree: a number, or a share of all; None for as many as there are."
    )
    monotonic_cst: Any = param(
        None,
        "Columns in which predictions may only rise (1) or fall (-1): an array, or a dict by name; 0 or None for any.",
    )

    categorical_features: Any = param(
        "from_dtype",
        "Columns of categories, of which some go left: a mask, indices or names; 'from_dtype' for the columns of a frame that hold"
        " words or categories; None for none. At most 255 a column; what the fit has not met counts as missing.",
    )

    n_outputs_: int = fitted("Number of targets.", low=1)
    trees_: TreeEnsemble = fitted("The nodes of all trees, as arrays.", check=_fits_the_model)
    seed_: int = fitted("What everything that was drawn follows from.", low=0)
    tree_importances_: Array = fitted(
        "How much the splits on each column lower the impurity, tree by tree.", shape="(trees_, p)", low=0
    )
    certificate_: OutOfBagCertificate = fitted("What is proved about the trees, and their error out of their samples.")

    # how thresholds are found, and columns are drawn
    _is_random = False

    @property
    def feature_importances_(self) -> Array:
        """How much the splits on each column lower the impurity, as shares that sum to one; large for columns of many values."""
        self._check_is_fitted()
        sums = self.tree_importances_.sum(axis=1, keepdims=True)
        own = self.tree_importances_[sums[:, 0] > 0] / sums[sums[:, 0] > 0]
        return np.asarray(own.mean(axis=0) if len(own) else np.zeros(self.trees_.n_features))

    @property
    def estimators_(self) -> list[EnsembleTree]:
        """The trees one by one, to be drawn or looked at: ``plot_tree(forest.estimators_[0])``."""
        return trees_of(self)

    def apply(self, X: Any) -> Array:
        """Return the leaf that each row ends up in, in each tree.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int of shape (n, n_trees)
            Numbers of nodes of each tree.
        """
        rows = self._new_data(X)
        return self.trees_.apply(rows)

    def decision_path(self, X: Any) -> tuple[Any, Array]:
        """Return the nodes that each row passes through.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n, n_nodes), ndarray of int of shape (n_trees + 1,)
            One where the row passes through the node; and where the nodes of each tree begin.
        """
        rows = self._new_data(X)
        return self.trees_.decision_path(rows)

    def _learn(self, rows: ForestRows, *, is_class: bool, balances: bool, warm: bool) -> None:
        """Grow the trees, in batches between which progress is told and interrupts are obeyed."""
        n_rows, n_columns = rows.X.shape
        require_memory(
            16 * n_rows * n_columns + 200 * n_rows,
            f"the ranked columns of {n_rows} x {n_columns} values",
            "Fit on a sample of the rows, or on fewer columns.",
        )
        if self.oob_score and not rows.draws:
            raise InvalidParameter(
                f"Out of bag estimation only available if bootstrap=True: {type(self).__name__}.oob_score judges trees by rows"
                " out of their samples. Set bootstrap=True."
            )
        require_range(rows.targets)
        limits = growth_limits(self, n_rows, n_columns, 1.0)
        limits = limits._replace(decrease=limits.decrease / rows.unit)
        columns = column_rules(self, rows.targets, n_columns)
        kept = self._kept_trees(warm=warm)
        first = 0 if kept is None else len(kept[0])
        if kept is None:
            self.__dict__.pop("trees_", None)
            self.seed_ = int(generator(self.random_state).integers(2**63))
        keeps = "values" if self._is_random else "ranks"
        ranked = _kernels.rank_table(rows.X, rows.share, BINS, keeps=keeps) if first < self.n_estimators else None
        parts = [] if kept is None else [kept[0]]
        gains = [] if kept is None else [kept[1]]

        sums = None
        if not rows.draws:  # every tree has seen all rows, and knows their leaves
            sums = np.zeros((n_rows, rows.targets.width))
            if kept is not None:
                sums = kept[0].add_up(rows.X, _leaf_values(kept[0], rows, is_class=is_class), 1)

        def store() -> None:
            if parts:
                self._store(rows, joined(parts), np.concatenate(gains), sums, is_class=is_class)

        batch = max(16, 4 * get_num_threads())
        with Progress(type(self).__name__, total=self.n_estimators, verbose=self.verbose) as progress, guard(store):
            while first < self.n_estimators and not progress.is_stopped:
                many = min(batch, self.n_estimators - first)
                rule = _kernels.SampleRule(self._is_random, first, many, rows.draws, balances, self.seed_)
                grown = _kernels.grow_forest(ranked, rows.targets, rows.share, limits, rule, columns)
                parts.append(_as_ensemble(grown, rows, is_class=is_class))
                gains.append(rows.unit * grown.importance.reshape(many, n_columns))
                if sums is not None:
                    values = _leaf_values(parts[-1], rows, is_class=is_class)
                    _add_leaves(sums, parts[-1].sizes, values, grown.leaf.reshape(many, n_rows))
                first += many
                progress.step(count=many)
        store()

    def _kept_trees(self, *, warm: bool) -> tuple[TreeEnsemble, Array] | None:
        if not (self.warm_start and warm and "trees_" in self.__dict__):
            return None
        if len(self.trees_) > self.n_estimators:
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} must be larger or equal to {len(self.trees_)}, the trees that there are, when"
                " warm_start=True. Ask for more, or set warm_start=False."
            )
        return self.trees_, self.tree_importances_

    def _store(
        self, rows: ForestRows, trees: TreeEnsemble, gains: Array, sums: Array | None, *, is_class: bool
    ) -> None:
        self.trees_, self.tree_importances_ = trees, gains
        self.n_outputs_ = rows.targets.width if not is_class else 1 if rows.widths is None else len(rows.widths)
        n_rows, width = rows.X.shape[0], rows.targets.width
        judged = np.full(n_rows, len(trees))
        if sums is None:
            bags, judged = self._bags(rows, len(trees))
            sums = trees.add_up(rows.X, _leaf_values(trees, rows, is_class=is_class), 1, bags)
        seen = judged > 0
        said = np.full((n_rows, width), np.nan)
        said[seen] = sums[seen] / judged[seen, None]
        self.certificate_ = self._certify(rows, said, seen, is_class=is_class)
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        if self.oob_score:
            whole = said
            if rows.used is not None:
                whole = np.full((len(rows.used), width), np.nan)
                whole[rows.used] = said
            self._keep_out_of_bag(rows, said, whole, seen)

    def _bags(self, rows: ForestRows, n_trees: int) -> tuple[Array, Array]:
        """Return a bit for each tree and row, set where the row was drawn; and how many trees have not seen each row."""
        n_rows = rows.X.shape[0]
        cumulated = None if rows.share is None else np.cumsum(rows.share)
        bags = np.empty((n_trees, (n_rows + 7) // 8), dtype=np.uint8)
        judged = np.zeros(n_rows, dtype=np.int64)
        for number in range(n_trees):
            times = _kernels.draw_rows(self.seed_, number, rows.draws, n_rows, cumulated)
            bags[number] = np.packbits(times > 0, bitorder="little")
            judged += times == 0
        return bags, judged

    def _certify(self, rows: ForestRows, said: Array, seen: Array, *, is_class: bool) -> OutOfBagCertificate:
        n_rows = len(said)
        s = np.ones(n_rows) if rows.share is None else rows.share
        error, low, high = interval_of(rows.targets, said, seen, s, is_class=is_class, widths=rows.widths)
        where = "out-of-bag" if rows.draws else "training"
        what = "error rate" if is_class else "squared error"
        if not rows.draws:
            low = high = error
        return OutOfBagCertificate(
            f"{where} {what}",
            error,
            low,
            high,
            DELTA,
            int(seen.sum()) if rows.draws else 0,
            len(self.trees_),
            n_rows,
            not self._is_random,
        )

    def _keep_out_of_bag(self, rows: ForestRows, said: Array, whole: Array, seen: Array) -> None:
        raise NotImplementedError

    def _rows_of(
        self, data: FitData, targets: Targets, factor: Array | None, widths: list[int] | None = None
    ) -> ForestRows:
        """Drop rows without weight, and say how many rows a tree draws."""
        s, used, X, y = data.weight, None, data.X, targets.y
        weight = s if factor is None else (factor if s is None else s * factor)
        if weight is not None and not (weight > 0).all():
            used = weight > 0
            if not used.any():
                raise InvalidData("No row has a positive weight. Give some rows a weight.")
            X = X[np.flatnonzero(used)]
            y = y.reshape(len(used), -1)[used].reshape(-1)
            s, factor = (None if s is None else s[used]), (None if factor is None else factor[used])
        draws = number_of_draws(self, X.shape[0], s) if self.__dict__["bootstrap"] else 0
        inside = factor if draws else (s if factor is None else (factor if s is None else s * factor))
        share = None if s is None else np.ascontiguousarray(s, dtype=np.float64)
        inside = None if inside is None else np.ascontiguousarray(inside, dtype=np.float64)
        return ForestRows(X, targets._replace(y=np.ascontiguousarray(y), s=inside), share, draws, used, widths)


def number_of_draws(model: Any, n_rows: int, s: Array | None) -> int:
    """Return how many rows a tree draws: weights that are whole numbers stand for as many rows."""
    total = float(whole_total(s, n_rows))
    given = model.max_samples
    if given is None:
        return int(total)
    if isinstance(given, int | np.integer):
        if given > total:
            raise InvalidParameter(f"max_samples must be at most the number of rows, {int(total)}, got {given}.")
        return int(given)
    return max(round(total * float(given)), 1)


def _as_ensemble(grown: _kernels.GrownTrees, rows: ForestRows, *, is_class: bool) -> TreeEnsemble:
    values = grown.values.reshape(-1, rows.targets.width)
    if rows.widths is not None:  # means of indicators, times the weight of the leaf
        values = values * grown.weight[:, None]
        values = np.rint(values) if rows.are_whole else np.maximum(values, 0.0)
    return TreeEnsemble(
        n_features=rows.X.shape[1],
        sizes=grown.sizes,
        feature=grown.feature,
        threshold=grown.threshold,
        missing_left=np.packbits(grown.missing_left),
        value=narrow(values),
        weight=np.empty(0) if is_class else narrow(grown.weight),
        by_set=grown.by_set,
        sets=grown.sets.reshape(-1, 16),
    )


def label_blocks(widths: list[int], table: Array) -> list[Array]:
    """Cut what is known of all labels into blocks, one for each column of labels."""
    return np.split(table, np.cumsum(widths[:-1]), axis=1)


def _leaf_values(trees: TreeEnsemble, rows: ForestRows, *, is_class: bool) -> Array:
    """Return what leaves say: shares of the labels of each column, or numbers."""
    if not is_class:
        return trees.numbers
    return trees.shares if rows.widths is None else len(rows.widths) * trees.shares


def _add_leaves(sums: Array, sizes: Array, values: Array, leaves: Array) -> None:
    """Add what the leaves of each row say, tree by tree."""
    first = 0
    for size, leaf in zip(sizes.tolist(), leaves, strict=True):
        sums += values[first : first + (size + 1) // 2].take(leaf, axis=0)
        first += (size + 1) // 2


def wrong_labels(targets: Targets, said: Array, seen: Array, widths: list[int] | None = None) -> Array:
    """Return the share of its labels that are told wrong, of each row that was judged."""
    if widths is None:
        return np.asarray(said[seen].argmax(axis=1) != targets.y[seen], dtype=np.float64)
    truth = targets.y.reshape(len(said), -1)[seen]
    pairs = zip(label_blocks(widths, said[seen]), label_blocks(widths, truth), strict=True)
    return np.asarray(np.mean([own.argmax(axis=1) != true.argmax(axis=1) for own, true in pairs], axis=0))


def interval_of(
    targets: Targets, said: Array, seen: Array, s: Array, *, is_class: bool, widths: list[int] | None = None
) -> tuple[float, float, float]:
    """Return the mean error of the rows that were judged, and Hoeffding's interval around it."""
    if not seen.any():
        worst = 1.0 if is_class else float(np.ptp(targets.y) ** 2)
        return 0.0, 0.0, worst
    s = s[seen]
    effective = float(s.sum() ** 2 / (s @ s))  # rows of equal weight that would vary as much
    if is_class:
        error = float(s @ wrong_labels(targets, said, seen, widths) / s.sum())
        return error, *hoeffding_interval(error, effective, DELTA)
    y = targets.y.reshape(len(said), -1)
    off = ((said[seen] - y[seen]) ** 2).mean(axis=1)
    error, most = float(s @ off / s.sum()), float(np.ptp(y, axis=0).max() ** 2)
    if not most > 0:
        return error, error, error
    low, high = hoeffding_interval(min(error / most, 1.0), effective, DELTA)
    return error, min(low * most, error), max(high * most, error)


def hoeffding_interval(share: float, n: float, delta: float) -> tuple[float, float]:
    """Return the means of n numbers between 0 and 1 for which ``share`` is no surprise, by Hoeffding's first inequality.

    The chance to see at most a share q of a mean p > q is at most exp(-n KL(q, p)), and likewise above.
    """
    bound = float(np.log(2 / delta)) / n

    def divergence(p: float) -> float:
        first = share * np.log(share / p) if share > 0 else 0.0
        second = (1 - share) * np.log((1 - share) / (1 - p)) if share < 1 else 0.0
        return float(first + second)

    ends = []
    for end in (0.0, 1.0):
        inside, outside = share, end
        for _ in range(60):
            middle = (inside + outside) / 2
            if 0 < middle < 1 and divergence(middle) <= bound:
                inside = middle
            else:
                outside = middle
        ends.append(outside)
    return min(ends[0], share), max(ends[1], share)
