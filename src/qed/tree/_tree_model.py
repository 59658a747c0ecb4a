"""What classifiers and regressors that are one tree share."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import TreeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    NonNegative,
    NotSupported,
    Number,
    PositiveInt,
    Seed,
    clone,
    fitted,
    param,
)
from qed.tree._categories import CategoryColumns
from qed.tree._prune import PruningPath, pruning_path
from qed.tree._structure import DecisionTree  # noqa: TC001  (names the type of an attribute)

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
ShareBelowOne = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
TwoOrMore = Annotated[int, Number(low=2, whole=True)]


def _fits_the_model(model: Any, tree: DecisionTree) -> str:
    labels = model.__dict__.get("classes_")
    if isinstance(labels, list):
        widths = [len(one) for one in labels]
        if len(labels) < 2 or model.n_outputs_ != len(labels) or model.n_classes_ != widths:
            return (
                f"should be over {model.n_outputs_} columns of {model.n_classes_} labels, and classes_ lists {widths}"
            )
        if tree.value.shape[2] == max(widths) and any(tree.value[:, c, k:].any() for c, k in enumerate(widths)):
            return "should hold no shares beyond the labels of a column"
        wanted = (len(labels), max(widths))
    elif labels is not None and isinstance(model.n_classes_, list):
        return "should be over one column of labels, and n_classes_ is a list"
    else:
        wanted = (model.n_outputs_, 1 if labels is None else len(labels))
    if tree.n_features != model.n_features_in_:
        return f"should be over {model.n_features_in_} columns, and is over {tree.n_features}"
    if tree.value.shape[1:] != wanted:
        return f"should hold {wanted} values a node, and holds {tree.value.shape[1:]}"
    are_shares = labels is None or ((tree.value >= 0).all() and (np.abs(tree.value.sum(axis=2) - 1) <= 1e-6).all())
    return _categories_fit(model, tree) if are_shares else "should hold shares of the labels in each node"


def _categories_fit(model: Any, tree: DecisionTree) -> str:
    """Say whether nodes ask about sets in other columns than those of categories."""
    if not len(tree.by_set):
        return ""
    mask = model._category_mask() if isinstance(model, CategoryColumns) else None  # noqa: SLF001
    is_right = mask is not None and bool(mask[tree.feature[tree.by_set]].all())
    return "" if is_right else "should ask about sets in columns of categories alone"


class LeafStatistics(NamedTuple):
    r"""Predictions of the leaves of a tree, with standard errors.

    Attributes
    ----------
    leaf : ndarray of int of shape (m,)
        Numbers of the leaves among the nodes of ``tree_``.
    n_samples : ndarray of int of shape (m,)
        Rows of the fit in each.
    value : ndarray of shape (m, k)
        Shares of the classes, or means of the targets.
    standard_error : ndarray of shape (m, k)
        Of each value, were the leaf drawn without looking at the targets: :math:`\sqrt{p (1 - p) / n}` for shares, and the
        standard deviation divided by :math:`\sqrt n` for means. The fewer rows a leaf has, the less it says; a leaf of one
        row has a standard error of zero and says next to nothing.
    """

    leaf: Array
    n_samples: Array
    value: Array
    standard_error: Array


class TreeModel(Estimator, sparse=True, allow_nan=True):
    """A model that is one decision tree."""

    n_outputs_: int = fitted("Number of targets.", low=1)
    tree_: DecisionTree = fitted(
        "The nodes, as arrays: ``children_left``, ``feature``, ``threshold``, ``value`` and so on.",
        check=_fits_the_model,
    )
    certificate_: TreeCertificate = fitted("What is proved about the tree.")

    @property
    def feature_importances_(self) -> Array:
        """How much the splits on each column lower the impurity, as shares that sum to one."""
        self._check_is_fitted()
        return self.tree_.compute_feature_importances()

    def get_depth(self) -> int:
        """Return the splits above the deepest leaf.

        Returns
        -------
        int
            Zero for a tree that is one leaf.
        """
        self._check_is_fitted()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            At least one.
        """
        self._check_is_fitted()
        return self.tree_.n_leaves

    def apply(self, X: Any) -> Array:
        """Return the leaf that each row ends up in.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of nodes of ``tree_``.
        """
        rows = self._new_data(X)
        return self.tree_.apply(rows)

    def decision_path(self, X: Any) -> Any:
        """Return the nodes that each row passes through.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n, n_nodes)
            One where the row passes through the node.
        """
        rows = self._new_data(X)
        return self.tree_.decision_path(rows)

    def leaf_statistics(self) -> LeafStatistics:
        """Return the number of rows in each leaf, what it predicts, and the standard error of that.

        Returns
        -------
        LeafStatistics
            ``leaf``, ``n_samples``, ``value`` and ``standard_error``.
        """
        self._check_is_fitted()
        tree = self.tree_
        leaf = np.flatnonzero(tree.children_left < 0)
        count, value = tree.n_node_samples[leaf], tree.value[leaf].reshape(len(leaf), -1)
        if "classes_" in self.__dict__:
            variance = value * (1 - value)
        elif self.criterion in ("squared_error", "friedman_mse") and self.n_outputs_ == 1:  # type: ignore[attr-defined]
            variance = tree.impurity[leaf][:, None]
        else:
            raise NotSupported(
                "Standard errors are known for shares of classes and for means of one target under squared errors. This tree has"
                f" criterion={self.criterion!r} and {self.n_outputs_} target(s)."  # type: ignore[attr-defined]
            )
        return LeafStatistics(leaf, count, value, np.sqrt(variance / count[:, None]))


class GrownTree(CategoryColumns, TreeModel):
    """A tree that is grown greedily from the root."""

    _: KW_ONLY
    splitter: Literal["best", "random"] = param(
        "best",
        "Whether to take the best split of each column, or one drawn between its smallest and largest value.",
    )
    max_depth: PositiveInt | None = param(None, "Most splits above a leaf; None for as many as it takes.")
    min_samples_split: TwoOrMore | Share = param(
        2, "Fewest rows of a node that is split: a number, or a share of all rows."
    )
    min_samples_leaf: PositiveInt | ShareBelowOne = param(1, "Fewest rows of a leaf: a number, or a share of all rows.")
    min_weight_fraction_leaf: Annotated[float, Number(low=0, high=0.5)] = param(
        0.0, "Least weight of a leaf, as a share of all weight."
    )
    max_features: Literal["sqrt", "log2"] | PositiveInt | Share | None = param(
        None,
        "Columns considered at each split, drawn at random: a number, a share, the square root or the logarithm of their number;"
        " None for all. Further ones are drawn while these hold a single value.",
    )
    random_state: Seed = param(
        None,
        "Seed of random choices. With all columns and the best splits there are none: the tree depends on the rows alone.",
    )
    max_leaf_nodes: TwoOrMore | None = param(
        None, "Most leaves: the node that gains most is split first. None for any number."
    )
    min_impurity_decrease: NonNegative = param(
        0.0, "Least decrease of the impurity by a split, times the share of the weight that it splits."
    )
    ccp_alpha: NonNegative = param(
        0.0, "Price of a leaf: the smallest subtree that minimises impurity plus price times leaves is kept."
    )
    monotonic_cst: Any = param(
        None,
        "Columns in which predictions may only rise (1) or fall (-1), other things equal; 0 for free ones: a number for each"
        " column, or a dict by names. For one target, or for two classes (the share of the second one); not for absolute errors.",
    )

    categorical_features: Any = param(
        "from_dtype",
        "Columns of categories, of which some go left: a mask, indices or names; 'from_dtype' for the columns of a frame that hold"
        " words or categories; None for none. At most 255 a column; what the fit has not met counts as missing.",
    )

    max_features_: int = fitted("Columns that a split looks at.", low=1, answers=False)
    seed_: int = fitted(
        "Seed of the columns and thresholds that were drawn; 0 where none were.", low=0, below=2**63, optional=True
    )

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """Return the prices at which a tree grown on these rows loses leaves; this model is left as it is.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows to grow a tree on.
        y : array-like of shape (n,)
            Their targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        PruningPath
            ``ccp_alphas`` and ``impurities``.
        """
        whole: Self = clone(self)
        return pruning_path(whole.set_params(ccp_alpha=0.0).fit(X, y, sample_weight).tree_)  # type: ignore[attr-defined]


def float_like(X: Any, values: Array) -> Array:
    """Return values in the precision of the rows."""
    return values.astype(np.float32) if X.dtype == np.float32 else values
