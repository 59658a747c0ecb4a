"""Labels by questions with many answers: a branch for each value of a discrete attribute, as ID3 and C4.5 grow them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import TreeCertificate
from qed.core import KW_ONLY, Array, Classifier, InvalidData, Number, PositiveInt, _targets, fitted, param
from qed.core._mixed import fit_table, new_table
from qed.core._once import cached_property
from qed.core._records import expect, expect_array, record
from qed.preprocessing._categories import numbered, places
from qed.tree._grow import TIE_TOLERANCE
from qed.tree._impurity import impurity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qed.core._mixed import MixedTable

TwoOrMore = Annotated[int, Number(low=2, whole=True)]


@record("multiway-tree", slots=False)
class MultiwayTree:
    """The nodes of a tree with a branch for each value; node 0 is the root, and levels follow one another.

    Attributes
    ----------
    n_categories : ndarray of int of shape (p,)
        Values of each column.
    feature : ndarray of int of shape (n_nodes,)
        Column that a node looks at; -2 for leaves.
    starts : ndarray of int of shape (n_nodes,)
        Where the children of a node begin in ``children``, one for each value of its column; -1 for leaves.
    children : ndarray of int of shape (m,)
        Numbers of the children; -1 for values that no row of the node has.
    impurity : ndarray of shape (n_nodes,)
        Entropy, or Gini impurity, of the labels of the node.
    n_node_samples : ndarray of int of shape (n_nodes,)
        Rows of the fit that reach the node.
    weighted_n_node_samples : ndarray of shape (n_nodes,)
        Their weight.
    value : ndarray of shape (n_nodes, n_classes)
        Shares of the classes.
    """

    n_categories: NDArray[np.integer[Any]]
    feature: NDArray[np.integer[Any]]
    starts: NDArray[np.integer[Any]]
    children: NDArray[np.integer[Any]]
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.integer[Any]]
    weighted_n_node_samples: NDArray[np.float64]
    value: NDArray[np.float64]

    def __getstate__(self) -> dict[str, Any]:
        # what was computed from the nodes is computed again
        return {name: value for name, value in self.__dict__.items() if name in type(self).__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.n_categories)

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature < 0))

    @property
    def max_depth(self) -> int:
        """Splits above the deepest leaf."""
        return int(self.depths.max())

    @cached_property
    def parents(self) -> Array:
        """Number of the node above each; -1 for the root."""
        parents = np.full(self.node_count, -1, dtype=np.int64)
        for node in np.flatnonzero(self.feature >= 0):
            parents[[child for _, child in self.branches(int(node))]] = node
        return parents

    @cached_property
    def depths(self) -> Array:
        """Splits above each node."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        for node in range(1, self.node_count):  # parents have smaller numbers
            depths[node] = depths[self.parents[node]] + 1
        return depths

    @cached_property
    def labels(self) -> Array:
        """Number of the class with the largest share at each node; of equal ones the first."""
        return np.asarray(self.value.argmax(axis=1))

    def branches(self, node: int) -> list[tuple[int, int]]:
        """Return the values of the column of a node that its rows have, by number, and the child of each."""
        column = int(self.feature[node])
        if column < 0:
            return []
        own = self.children[self.starts[node] : self.starts[node] + self.n_categories[column]]
        return [(value, int(child)) for value, child in enumerate(own) if child >= 0]

    def apply(self, codes: Array) -> Array:
        """Return the node where each row ends: a leaf, or the node without a branch for its value. Numbers of values; -1 unseen."""
        at = np.zeros(len(codes), dtype=np.int64)
        open_rows = np.arange(len(codes))
        while len(open_rows):
            open_rows = open_rows[self.feature[at[open_rows]] >= 0]
            here = at[open_rows]
            code = codes[open_rows, self.feature[here]]
            child = np.where(code >= 0, self.children[self.starts[here] + np.maximum(code, 0)], -1)
            open_rows = open_rows[child >= 0]
            at[open_rows] = child[child >= 0]
        return at

    def check(self) -> None:
        """Refuse nodes that are no tree."""
        n, p = self.node_count, self.n_features
        expect(n >= 1 and p >= 1, "the tree has no nodes, or looks at no columns")
        expect_array(self.n_categories, "the tree's n_categories", kinds="i", shape=(p,))
        expect(bool((self.n_categories >= 1).all()), "a column of the tree has no values")
        for name in ("feature", "starts", "n_node_samples"):
            expect_array(getattr(self, name), f"the tree's {name}", kinds="i", shape=(n,))
        expect_array(self.children, "the tree's children", kinds="i", shape=(None,))
        for name in ("impurity", "weighted_n_node_samples"):
            expect_array(getattr(self, name), f"the tree's {name}", shape=(n,), finite=True)
        expect(bool((self.weighted_n_node_samples > 0).all()), "a node of the tree has no weight")
        expect_array(self.value, "the tree's value", shape=(n, None), finite=True)
        expect(self.value.size > 0 and bool((self.value >= 0).all()), "the tree's value holds no shares")
        inner = self.feature >= 0
        expect(bool((self.feature < p).all()), "a node looks at a column that is not there")
        most = len(self.children) - self.n_categories[self.feature[inner]]  # no sum that could overflow
        expect(bool((self.starts[inner] >= 0).all() and (self.starts[inner] <= most).all()), "children are missing")
        named = np.sort(self.children[self.children >= 0])
        expect(bool(np.array_equal(named, np.arange(1, n))), "the children of the tree's nodes are no tree")
        parents = np.concatenate([[-1], np.zeros(n - 1, dtype=np.int64)])
        for node in np.flatnonzero(inner):
            parents[[child for _, child in self.branches(int(node))]] = node
        expect(bool((parents < np.arange(n)).all()), "a node of the tree comes before its parent")


def _fits_the_model(model: Any, tree: MultiwayTree) -> str:
    if [len(known) for known in model.categories_] != tree.n_categories.tolist():
        return "should have the categories of the model"
    if tree.value.shape[1] != len(model.classes_):
        return f"should hold shares of {len(model.classes_)} labels, and holds {tree.value.shape[1]}"
    return "" if (np.abs(tree.value.sum(axis=1) - 1) <= 1e-6).all() else "should hold shares of the labels in each node"


class MultiwayTreeClassifier(Classifier, allow_nan=True, categorical=True):
    r"""Decision tree with a branch for each value of a discrete attribute (ID3, C4.5).

    Objective
    ---------
    .. math:: \max_j \; I(S) - \sum_v \frac{W_v}{W} I(S_v)

    at every node, over the columns j that no node above looks at, where :math:`S_v` are its rows with value v, W their weights,
    and I the entropy or the Gini impurity. With ``criterion="gain_ratio"`` the gain is divided by the entropy of the column,
    :math:`-\sum_v (W_v / W) \log_2 (W_v / W)`, among the columns whose gain is at least the mean gain of all.

    Certificate
    -----------
    TreeCertificate: the mean impurity of the leaves, and that it is the least possible where the tree is not limited: rows that
    agree in all columns share a leaf in every tree.

    Cost
    ----
    O(n p) for each level, of which there are at most p. A prediction takes one step for each level.

    See Also
    --------
    DecisionTreeClassifier : Questions with two answers, about thresholds; each column as often as it takes.

    Notes
    -----
    Words, numbers and missing values (None, NaN) are values alike; a column of measurements has as many values as numbers, so bin
    it first (KBinsDiscretizer). A row whose value the node has not met is given the shares of labels of that node. Of columns
    that gain the same, up to rounding, the first one is taken; a mixed node is split also where nothing is gained at once.

    Examples
    --------
    >>> from qed.tree import MultiwayTreeClassifier
    >>> X = [["sunny", "hot"], ["sunny", "mild"], ["overcast", "hot"], ["rain", "mild"], ["rain", "cool"]]
    >>> model = MultiwayTreeClassifier().fit(X, ["no", "no", "yes", "yes", "no"])
    >>> model.predict([["overcast", "cool"], ["rain", "mild"]]).tolist()
    ['yes', 'yes']
    """

    _: KW_ONLY
    criterion: Literal["entropy", "gain_ratio", "gini"] = param(
        "entropy",
        "What a split gains: information (ID3), its ratio to the entropy of the column (C4.5), or Gini impurity.",
    )
    max_depth: PositiveInt | None = param(None, "Most splits above a leaf; None for as many as there are columns.")
    min_samples_split: TwoOrMore = param(2, "Fewest rows of a node that is split.")

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    categories_: list[Array] = fitted(
        "Values of each column, sorted.", length="p", dtype="label", shape="(*,)", nan=True
    )
    tree_: MultiwayTree = fitted("The nodes, as arrays.", check=_fits_the_model)
    certificate_: TreeCertificate = fitted("What is proved about the tree.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows to learn from: words or numbers.
        """
        owner = type(self).__name__
        if y is None:
            raise InvalidData(
                f"This {owner} estimator requires y to be passed, but the target y is None. Pass y after X."
            )
        table = fit_table(self, X)
        labels, classes = _targets.read(y, table.n_rows, self._traits(), owner)
        weight = _targets.weights(sample_weight, table.n_rows)
        columns = [numbered(column) for column in table.columns]
        self.categories_ = [column.values for column in columns]
        self.classes_ = np.asarray(classes)
        s = np.ones(table.n_rows) if weight is None else weight
        used = s > 0
        rows = _Rows(
            np.column_stack([column.codes for column in columns])[used].astype(np.int64),
            np.array([len(column.values) for column in columns], dtype=np.int64),
            labels[used].astype(np.int64),
            s[used],
            len(self.classes_),
            self.criterion,
        )
        self.tree_ = _grow(rows, self.max_depth, self.min_samples_split)
        self.certificate_ = _certify(self.tree_, rows)
        return self

    def apply(self, X: Any) -> Array:
        """Return the node where each row ends: a leaf, or the node that has no branch for its value.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of nodes of ``tree_``.
        """
        table: MixedTable = new_table(self, X)
        pairs = zip(table.columns, self.categories_, strict=True)
        return self.tree_.apply(np.column_stack([places(column, known)[0] for column, known in pairs]))

    def predict(self, X: Any) -> Array:
        """Return the most frequent label of the node where each row ends; of equal ones the first."""
        leaves = self.apply(X)
        return np.asarray(self.classes_[self.tree_.labels[leaves]])

    def predict_proba(self, X: Any) -> Array:
        """Return the shares of the labels at the node where each row ends, by weight."""
        leaves = self.apply(X)
        return np.asarray(self.tree_.value[leaves])

    def get_depth(self) -> int:
        """Return the splits above the deepest leaf.

        Returns
        -------
        int
            Zero for a tree that is one leaf.
        """
        self._check_is_fitted()
        return int(self.tree_.depths.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            At least one.
        """
        self._check_is_fitted()
        return self.tree_.n_leaves


class _Rows(NamedTuple):
    """Rows of positive weight: values and labels by number."""

    codes: Array
    n_categories: Array
    labels: Array
    s: Array
    n_classes: int
    criterion: str

    def measure(self, weights: Array) -> Array:
        """Return the impurity of weights of classes, (m, k)."""
        return impurity(weights, "gini" if self.criterion == "gini" else "entropy")

    def weights(self, group: Array, n_groups: int, rows: Array) -> Array:
        """Return the weights of the classes in groups of rows."""
        k = self.n_classes
        sums = np.bincount(group * k + self.labels[rows], self.s[rows], minlength=n_groups * k)
        return sums.reshape(n_groups, k)


def _grow(rows: _Rows, max_depth: int | None, least: int) -> MultiwayTree:
    """Grow level by level; all nodes of a level at once."""
    n, p = rows.codes.shape
    levels: list[tuple[Array, Array, Array]] = []  # weights of classes, rows, feature
    starts: list[Array] = []
    children: list[Array] = []
    here, at = np.arange(n), np.zeros(n, dtype=np.int64)  # open rows, and their nodes within the level
    taken = np.zeros((1, p), dtype=bool)  # columns that nodes above look at
    tied = TIE_TOLERANCE * float(rows.measure(rows.weights(np.zeros(n, dtype=np.int64), 1, here))[0])
    n_nodes, n_entries = 1, 0
    while True:
        width = len(taken)
        weights, count = rows.weights(at, width, here), np.bincount(at, minlength=width)
        is_open = ((weights > 0).sum(axis=1) > 1) & (count >= least)
        is_open &= max_depth is None or len(levels) < max_depth
        feature = np.full(width, -2, dtype=np.int64)
        kept = is_open[at]
        here, at = here[kept], at[kept]
        if len(here):
            feature = _choose(rows, here, at, weights, taken, tied)
        own_starts = np.full(width, -1, dtype=np.int64)
        inner = np.flatnonzero(feature >= 0)
        sizes = rows.n_categories[feature[inner]]
        own_starts[inner] = n_entries + np.cumsum(sizes) - sizes
        levels.append((weights, count, feature))
        starts.append(own_starts)
        if not len(inner):
            break
        kept = feature[at] >= 0
        here, at = here[kept], at[kept]
        entry = own_starts[at] - n_entries + rows.codes[here, feature[at]]
        present, child = np.unique(entry, return_inverse=True)
        own = np.full(int(sizes.sum()), -1, dtype=np.int64)
        own[present] = n_nodes + np.arange(len(present))
        children.append(own)
        parent = np.searchsorted(own_starts[inner] - n_entries, present, side="right") - 1
        taken = taken[inner[parent]]
        taken[np.arange(len(present)), feature[inner[parent]]] = True
        n_nodes, n_entries, at = n_nodes + len(present), n_entries + len(own), child.reshape(-1)
    weights, count, feature = (np.concatenate([level[part] for level in levels]) for part in range(3))
    total = weights.sum(axis=1)
    listed = np.concatenate(children) if children else np.zeros(0, dtype=np.int64)
    return MultiwayTree(
        n_categories=rows.n_categories,
        feature=feature,
        starts=np.concatenate(starts),
        children=listed,
        impurity=rows.measure(weights),
        n_node_samples=count,
        weighted_n_node_samples=total,
        value=weights / total[:, None],
    )


def _choose(rows: _Rows, here: Array, at: Array, weights: Array, taken: Array, tied: float) -> Array:
    """Return the column that each node of a level looks at, -2 for none."""
    width, p = taken.shape
    gain, spread = np.full((width, p), -np.inf), np.ones((width, p))
    total = weights.sum(axis=1)
    own = rows.measure(weights)
    for j in range(p):
        free = ~taken[at, j]
        key = at[free] * rows.n_categories[j] + rows.codes[here[free], j]
        values, group = np.unique(key, return_inverse=True)
        node = values // rows.n_categories[j]
        sums = rows.weights(group.reshape(-1), len(values), here[free])
        weight = sums.sum(axis=1)
        share = weight / total[node]
        left = np.bincount(node, share * rows.measure(sums), minlength=width) if len(values) else np.zeros(width)
        several = np.bincount(node, minlength=width) > 1
        gain[several, j] = np.maximum(own - left, 0.0)[several]
        if rows.criterion == "gain_ratio":
            parts = np.bincount(node, -share * np.log2(share), minlength=width)
            spread[several, j] = parts[several]
    score = gain
    if rows.criterion == "gain_ratio":
        known = np.isfinite(gain)
        mean = np.where(known, gain, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        score = np.where(gain >= mean[:, None] - tied, gain / spread, -np.inf)
    best = score.max(axis=1)
    first = (score >= best[:, None] - tied).argmax(axis=1)
    return np.where(np.isfinite(best), first, -2)


def _certify(tree: MultiwayTree, rows: _Rows) -> TreeCertificate:
    leaf, weight = tree.feature < 0, tree.weighted_n_node_samples
    objective = float(weight[leaf] @ tree.impurity[leaf] / weight[0])
    _, group = np.unique(rows.codes, axis=0, return_inverse=True)
    group = group.reshape(-1)
    sums = rows.weights(group, int(group.max()) + 1, np.arange(len(group)))
    lower = float(sums.sum(axis=1) @ rows.measure(sums) / weight[0])
    null, n_rows = float(tree.impurity[0]), len(rows.labels)
    rounding = (n_rows + 16) * 2.0**-51 * max(null, 1.0) + TIE_TOLERANCE * null
    return TreeCertificate(objective, min(lower, objective), rounding, null, 0, True, tree.n_leaves, n_rows)
