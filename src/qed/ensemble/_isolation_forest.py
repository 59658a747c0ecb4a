"""Trees whose splits are drawn, without targets: rows that end up alone soon are outliers; leaves are features."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ExactCertificate  # names the type of an attribute too
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    OutlierDetector,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress, guard
from qed.core._shared_params import VERBOSE
from qed.ensemble import _kernels
from qed.ensemble._one_tree import EnsembleTree, trees_of
from qed.ensemble._tree_ensemble import TreeEnsemble, joined, narrow
from qed.tree._grow import growth_limits, require_range
from qed.tree._kernels import Limits, Targets
from qed.tree._tree_model import float_like

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
UpToHalf = Annotated[float, Number(low=0, high=0.5, open_low=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]

BINS = 255
AUTO_ROWS = 256  # rows of a tree, by the authors of the method: more hide outliers behind others
COLUMNS, GROWTH = 2**40, 2**42  # first numbers of the seeds that draw columns, and splits
ROUNDING = 2.0**-40  # relative: logarithms and sums of path lengths


def _over_the_columns(model: Any, trees: TreeEnsemble) -> str:
    if trees.n_features != model.n_features_in_ or len(trees.by_set):
        return f"should ask about thresholds in {model.n_features_in_} columns"
    return (
        "" if trees.value.shape[1] == 1 and len(trees.weight) else "should hold one value and one weight for each leaf"
    )


class IsolationForest(OutlierDetector, sparse=True, allow_nan=True):
    r"""Isolation forest for anomaly detection: outliers are isolated by few random splits.

    Objective
    ---------
    .. math:: s(x) = -2^{-\operatorname{mean}_t h_t(x) / c(m)}, \qquad c(m) = 2 H_{m-1} - 2 (m - 1) / m

    where :math:`h_t` is the depth of the leaf of x in tree t, plus c of the rows of that leaf, and c(m) the mean depth of m rows.
    Each tree is grown on m drawn rows, splits drawn columns at drawn thresholds, and ends at depth log2 m.

    Certificate
    -----------
    ExactCertificate: path lengths follow from the rows and splits that the seed draws. ``qed.verify`` draws, descends and counts
    again, and derives the threshold of the contamination again.

    Cost
    ----
    O(t m log m) to fit; O(t log m) for the score of a row.

    See Also
    --------
    RandomTreesEmbedding : Leaves of random trees as features.

    Examples
    --------
    >>> from qed.ensemble import IsolationForest
    >>> IsolationForest(random_state=0).fit_predict([[-1.1], [0.3], [0.5], [0.1], [0.2], [0.4], [100.0]]).tolist()[-1]
    -1
    """

    _: KW_ONLY
    n_estimators: PositiveInt = param(100, "Number of trees.")
    max_samples: Literal["auto"] | PositiveInt | Share = param(
        "auto", "Rows drawn for each tree: a number, a share of all, or 'auto' for 256 at most."
    )
    contamination: Literal["auto"] | UpToHalf = param(
        "auto", "Share of outliers among the rows of the fit; 'auto' for a score below one half."
    )
    max_features: PositiveInt | Share = param(1.0, "Columns drawn for each tree: a number, or a share of all.")
    bootstrap: bool = param(False, "Whether rows are drawn with replacement.")
    n_jobs: int | None = param(
        None, "Number of processes that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the rows, columns and thresholds that are drawn.")
    verbose: NonNegativeInt = VERBOSE
    warm_start: bool = param(False, "Whether to keep the trees of an earlier fit on the same rows, and add the others.")

    trees_: TreeEnsemble = fitted("The nodes of all trees; values of leaves are path lengths.", check=_over_the_columns)
    max_samples_: int = fitted("Rows drawn for each tree.", low=1)
    offset_: float = fitted("Rows whose score is below this are outliers.")
    seed_: int = fitted("What everything that was drawn follows from.", low=0)
    certificate_: ExactCertificate = fitted("What is computed.")

    _is_random = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Grow the trees.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the drawing.
        """
        data = self._fit_data(X, None, sample_weight)
        rows = data.X.tocsr() if hasattr(data.X, "tocsr") else data.X
        pool = pool_of(data.n_rows, data.weight)
        draws = self._draws(len(pool.rows))
        kept = self._kept(draws, warm=data.warm)
        if kept is None:
            self.seed_ = int(generator(self.random_state).integers(2**63))
        parts, n_columns = [] if kept is None else [kept], rows.shape[1]
        many = n_features(self.max_features, n_columns)
        depth = int(np.ceil(np.log2(max(draws, 2))))

        def store() -> None:
            if parts:
                self.trees_ = with_path_lengths(joined(parts))
                self.max_samples_ = draws
                what = f"path lengths in {len(self.trees_)} trees of {draws} rows"
                self.certificate_ = ExactCertificate(what, data.n_rows, ROUNDING)

        first = 0 if kept is None else len(kept)
        with Progress(type(self).__name__, total=self.n_estimators, verbose=self.verbose) as progress, guard(store):
            for number in range(first, self.n_estimators):
                own = drawn_from(pool, self.seed_, number, draws, bootstrap=self.bootstrap)
                keys = _kernels.mix(_kernels.stream(self.seed_, COLUMNS + number), n_columns)
                columns = np.sort(np.argsort(keys, kind="stable")[:many])
                table = rows[own] if many == n_columns else rows[own][:, columns]
                limits = Limits(depth, 2, 1, 0.0, 0.0, 0, 1)
                targets = Targets("squared_error", 1, np.arange(float(len(own))), None)
                grown = grow_random(table, targets, limits, _kernels.stream(self.seed_, GROWTH + number), 1)
                parts.append(as_ensemble(grown, columns, n_columns))
                if progress.step() is not None:
                    break
        store()
        self.offset_ = -0.5
        if self.contamination != "auto":
            self.offset_ = float(np.percentile(self._scores(rows), 100.0 * float(self.contamination)))
        return self

    def _draws(self, total: int) -> int:
        given = self.max_samples
        if isinstance(given, str):
            return min(AUTO_ROWS, total)
        if isinstance(given, int | np.integer):
            return min(int(given), total)
        return max(1, int(given * total))

    def _kept(self, draws: int, *, warm: bool) -> TreeEnsemble | None:
        if not (self.warm_start and warm and "trees_" in self.__dict__ and self.max_samples_ == draws):
            return None
        if len(self.trees_) > self.n_estimators:
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} must be larger or equal to {len(self.trees_)}, the trees that there are, when"
                " warm_start=True. Ask for more, or set warm_start=False."
            )
        return self.trees_

    @property
    def estimators_(self) -> list[EnsembleTree]:
        """The trees one by one, to be drawn or looked at."""
        return trees_of(self)

    @property
    def estimators_features_(self) -> list[Array]:
        """Columns of each tree."""
        self._check_is_fitted()
        p = self.trees_.n_features
        many = n_features(self.max_features, p)
        keys = (_kernels.mix(_kernels.stream(self.seed_, COLUMNS + i), p) for i in range(len(self.trees_)))
        return [np.sort(np.argsort(one, kind="stable")[:many]) for one in keys]

    def _scores(self, rows: Any) -> Array:
        total = self.trees_.add_up(rows, self.trees_.numbers)[:, 0]
        usual = len(self.trees_) * float(mean_depth(np.array([self.max_samples_]))[0])
        return np.asarray(-(2.0 ** -(total / usual if usual > 0 else np.ones(len(total)))))

    def score_samples(self, X: Any) -> Array:
        """Return the scores of rows: the lower, the more of an outlier.

        Returns
        -------
        ndarray of shape (n,)
            Numbers between -1 and 0.
        """
        rows = self._new_data(X)
        return float_like(rows, self._scores(rows))

    def decision_function(self, X: Any) -> Array:
        """Return scores minus their threshold: negative for outliers.

        Returns
        -------
        ndarray of shape (n,)
            Scores about zero.
        """
        rows = self._new_data(X)
        return float_like(rows, self._scores(rows) - self.offset_)

    def predict(self, X: Any) -> Array:
        """Return 1 for inliers and -1 for outliers.

        Returns
        -------
        ndarray of int of shape (n,)
            1 or -1.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


class RandomTreesEmbedding(Transformer, sparse=True, allow_nan=True):
    r"""Random trees embedding: one-hot encoding of the leaves of random trees, as features.

    Objective
    ---------
    None: columns and thresholds of splits are drawn. Rows that agree in many leaves are near one another.

    Certificate
    -----------
    ExactCertificate: the trees follow from the rows and the seed, which ``qed.verify`` draws from again.

    Cost
    ----
    O(t n d) for t trees of depth d; t entries for each row, in compressed rows.

    See Also
    --------
    IsolationForest : Scores of rows by their depths in such trees.

    Examples
    --------
    >>> from qed.ensemble import RandomTreesEmbedding
    >>> table = RandomTreesEmbedding(n_estimators=5, max_depth=1, random_state=0).fit_transform([[0.0], [1.0], [0.0], [-1.0]])
    >>> table.sum(axis=1).ravel().tolist()
    [[5.0, 5.0, 5.0, 5.0]]
    """

    n_estimators: PositiveInt = param(100, "Number of trees.")
    _: KW_ONLY
    max_depth: PositiveInt | None = param(5, "Most splits above a leaf; None for as many as it takes.")
    min_samples_split: TwoOrMore | Share = param(
        2, "Fewest rows of a node that is split: a number, or a share of all rows."
    )
    min_samples_leaf: PositiveInt | ShareBelowOne = param(1, "Fewest rows of a leaf: a number, or a share of all rows.")
    min_weight_fraction_leaf: Annotated[float, Number(low=0, high=0.5)] = param(
        0.0, "Least weight of a leaf, as a share of all weight."
    )
    max_leaf_nodes: TwoOrMore | None = param(None, "Most leaves of a tree; None for any number.")
    min_impurity_decrease: NonNegative = param(
        0.0,
        "Least decrease of the impurity of random targets.",
        kind="refused",
        instead="Splits are drawn and lower nothing; limit max_depth or min_samples_leaf.",
    )
    sparse_output: bool = param(True, "Whether transform returns compressed sparse rows, or an array.")
    n_jobs: int | None = param(
        None, "Number of processes that scikit-learn would use; see `qed.set_num_threads`.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the columns and thresholds that are drawn.")
    verbose: NonNegativeInt = VERBOSE
    warm_start: bool = param(False, "Whether to keep the trees of an earlier fit on the same rows, and add the others.")

    max_features = 1  # a split looks at one column; no parameter, as in scikit-learn

    trees_: TreeEnsemble = fitted("The nodes of all trees.", check=_over_the_columns)
    seed_: int = fitted("What everything that was drawn follows from.", low=0)
    certificate_: ExactCertificate = fitted("What is computed.")

    _is_random = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Grow the trees.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            Rows of weight zero are left out; others count for ``min_weight_fraction_leaf``.
        """
        data = self._fit_data(X, None, sample_weight)
        rows, s = data.X, data.weight
        if s is not None:
            if not (np.isfinite(s.sum()) and s.sum() > 0):
                raise InvalidData("No row has a positive weight, or weights overflow. Give some rows a weight.")
            rows, s = rows[np.flatnonzero(s > 0)], np.ascontiguousarray(s[s > 0], dtype=np.float64)
        n_rows, n_columns = rows.shape
        targets = Targets("squared_error", 1, np.arange(float(n_rows)), s)
        require_range(targets)
        limits = growth_limits(self, n_rows, n_columns, 1.0)
        kept = self.trees_ if self.warm_start and data.warm and "trees_" in self.__dict__ else None
        if kept is not None and len(kept) > self.n_estimators:
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} must be larger or equal to {len(kept)}, the trees that there are, when"
                " warm_start=True. Ask for more, or set warm_start=False."
            )
        if kept is None:
            self.seed_ = int(generator(self.random_state).integers(2**63))
        parts, first = ([] if kept is None else [kept]), 0 if kept is None else len(kept)
        with Progress(type(self).__name__, total=self.n_estimators, verbose=self.verbose) as progress:
            if first < self.n_estimators:
                grown = grow_random(rows, targets, limits, self.seed_, self.n_estimators - first, first)
                parts.append(as_ensemble(grown, np.arange(n_columns), n_columns))
            progress.step(count=self.n_estimators)
        self.trees_ = joined(parts)
        self.certificate_ = ExactCertificate(f"leaves of {len(self.trees_)} random trees", n_rows, 0.0)
        return self

    def transform(self, X: Any) -> Any:
        """Return the leaves of rows.

        Returns
        -------
        scipy.sparse.csr_matrix or ndarray of shape (n, n_leaves)
            One where a row ends up in a leaf.
        """
        rows = self._new_data(X)
        leaves = _kernels.leaves_of(self.trees_.packed, rows)
        kind = np.float32 if rows.dtype == np.float32 else np.float64
        if not self.sparse_output:
            table = np.zeros((len(leaves), self.trees_.n_leaves), dtype=kind)
            table[np.arange(len(leaves))[:, None], leaves] = 1
            return table
        from scipy.sparse import csr_matrix  # noqa: PLC0415  (who asks for sparse output needs it)

        starts = np.arange(0, leaves.size + 1, leaves.shape[1])
        return csr_matrix(
            (np.ones(leaves.size, dtype=kind), leaves.ravel(), starts), shape=(len(leaves), self.trees_.n_leaves)
        )

    @property
    def estimators_(self) -> list[EnsembleTree]:
        """The trees one by one, to be drawn or looked at."""
        return trees_of(self)

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int of shape (n, n_estimators)
            Numbers of nodes, counted within each tree.
        """
        return self.trees_.apply(self._new_data(X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the columns that come out: ``randomtreesembedding_<tree>_<node>``."""
        from qed.core._roles import _input_names as input_names  # noqa: PLC0415

        self._check_is_fitted()
        input_names(self, input_features)
        nodes = np.flatnonzero(self.trees_.feature < 0)
        tree = np.searchsorted(self.trees_.starts, nodes, side="right") - 1
        local = nodes - self.trees_.starts[tree]
        return np.array([f"randomtreesembedding_{t}_{n}" for t, n in zip(tree, local, strict=True)], dtype=object)


class Pool(NamedTuple):
    """Rows to draw from: weights that are whole numbers repeat them, others are rates."""

    rows: Array
    rate: Array | None


def pool_of(n_rows: int, weight: Array | None) -> Pool:
    """Return the rows to draw from."""
    if weight is None:
        return Pool(np.arange(n_rows), None)
    if not (np.isfinite(weight.sum()) and weight.sum() > 0):
        raise InvalidData("No row has a positive weight, or weights overflow. Give some rows a weight.")
    if (weight == np.rint(weight)).all() and weight.sum() < 2**31:
        return Pool(np.repeat(np.arange(n_rows), weight.astype(np.int64)), None)
    used = np.flatnonzero(weight > 0)
    return Pool(used, np.ascontiguousarray(weight[used], dtype=np.float64))


def drawn_from(pool: Pool, seed: int, number: int, draws: int, *, bootstrap: bool) -> Array:
    """Draw the rows of a tree."""
    n = len(pool.rows)
    if bootstrap:
        times = _kernels.draw_rows(seed, number, draws, n, None if pool.rate is None else np.cumsum(pool.rate))
        return np.asarray(np.repeat(pool.rows, times))
    own = _kernels.stream(seed, number)
    if pool.rate is not None:  # the first clocks to ring, each at the rate of its weight
        uniform = ((_kernels.mix(own, n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return np.asarray(pool.rows[np.argsort(-np.log(uniform) / pool.rate, kind="stable")[:draws]])
    if draws >= n:
        return pool.rows
    if 2 * draws > n:
        return np.asarray(pool.rows[np.sort(np.argpartition(_kernels.mix(own, n), draws)[:draws])])
    count = 2 * draws  # the first different ones of so many: a table is larger than what is drawn from it
    while True:
        places = ((_kernels.mix(own, count) >> np.uint64(11)).astype(np.float64) * (2.0**-53 * n)).astype(np.int64)
        known, first = np.unique(places, return_index=True)
        if len(known) >= draws:
            return np.asarray(pool.rows[known[first <= np.sort(first)[draws - 1]]])
        count *= 2


def n_features(given: Any, n_columns: int) -> int:
    """Return how many columns a tree draws."""
    many = int(given) if isinstance(given, int | np.integer) else max(1, int(given * n_columns))
    if many > n_columns:
        raise InvalidParameter(f"max_features must be at most the number of columns, {n_columns}, got {many}.")
    return many


def grow_random(X: Any, targets: Targets, limits: Limits, seed: int, trees: int, first: int = 0) -> _kernels.GrownTrees:
    """Grow trees whose splits are drawn, on all rows: the targets only tell rows apart."""
    table = _kernels.rank_table(X, None, BINS, keeps="values")
    return _kernels.grow_forest(table, targets, None, limits, _kernels.SampleRule(True, first, trees, 0, False, seed))


def as_ensemble(grown: _kernels.GrownTrees, columns: Array, n_columns: int) -> TreeEnsemble:
    """Return grown trees over some columns as trees over all."""
    inner = grown.feature >= 0
    return TreeEnsemble(
        n_features=n_columns,
        sizes=grown.sizes,
        feature=np.where(inner, columns[np.where(inner, grown.feature, 0)], -1).astype(np.int64),
        threshold=grown.threshold,
        missing_left=np.packbits(grown.missing_left),
        value=np.zeros((len(grown.weight), 1)),
        weight=narrow(grown.weight),
        by_set=np.empty(0, dtype=np.int64),
        sets=np.empty((0, 16), dtype=np.uint32),
    )


def mean_depth(rows: Array) -> Array:
    """Return c of numbers of rows: the mean depth of a row in a random tree that parts them all."""
    n = np.maximum(np.asarray(rows, dtype=np.float64), 2.0)
    found = 2.0 * (np.log(np.maximum(n - 1.0, 1.0)) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(rows <= 1, 0.0, np.where(rows == 2, 1.0, found))


def with_path_lengths(trees: TreeEnsemble) -> TreeEnsemble:
    """Put the depth of each leaf, plus the mean depth of its rows below it, into its value."""
    depth = np.zeros(len(trees.feature), dtype=np.int64)
    at, level = trees.starts[:-1], 0
    while len(at):
        depth[at] = level
        inner = at[trees.feature[at] >= 0]
        at, level = np.concatenate([inner + 1, trees.children_right[inner]]), level + 1
    leaf = trees.feature < 0
    return replace(trees, value=(depth[leaf] + mean_depth(trees.weight.astype(np.float64)))[:, None])
