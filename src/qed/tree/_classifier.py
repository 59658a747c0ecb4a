"""Labels by nested questions about single columns."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import Array, Classifier, fitted, param
from qed.tree._grow import learn, most_features
from qed.tree._kernels import Targets
from qed.tree._label_columns import LabelColumns, label_factors, require_gini
from qed.tree._tree_model import GrownTree, TreeModel, float_like


class TreeClassifier(TreeModel, Classifier):
    """A tree whose leaves hold shares of labels."""

    classes_: Array | list[Array] = fitted(
        "Labels, sorted; for several columns of y a list.", dtype="label", shape="(*,)", order="strictly rising"
    )
    n_classes_: int | list[int] = fitted(
        "Number of labels; for several columns of y a list.", low="classes_[j]", high="classes_[j]"
    )

    def predict(self, X: Any) -> Array:
        """Return the most frequent label of the leaf of each row; of equal ones the first.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Labels, a column for each of y.
        """
        leaves = self.apply(X)
        if isinstance(self.classes_, list):
            best = self.tree_.value.argmax(axis=2)[leaves]
            return np.stack([labels[own] for labels, own in zip(self.classes_, best.T, strict=True)], axis=1)
        return np.asarray(self.classes_[self.tree_.labels[leaves]])

    def predict_proba(self, X: Any) -> Any:
        """Return the shares of the labels in the leaf of each row, by weight.

        Returns
        -------
        ndarray of shape (n, k)
            Rows that sum to one, in the order of ``classes_``; for several columns of y a list of such arrays.
        """
        rows = self._new_data(X)
        shares = float_like(rows, self.tree_.predict(rows))
        if isinstance(self.classes_, list):
            return [np.ascontiguousarray(shares[:, c, : len(labels)]) for c, labels in enumerate(self.classes_)]
        return shares

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the shares; minus infinity where a label does not occur in the leaf.

        Returns
        -------
        ndarray of shape (n, k)
            Logarithms, in the order of ``classes_``; for several columns of y a list of such arrays.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(own) for own in shares] if isinstance(shares, list) else np.asarray(np.log(shares))


class DecisionTreeClassifier(GrownTree, TreeClassifier, multi_output=True, multi_label=True, label_columns=True):
    r"""Decision tree for classification.

    Objective
    ---------
    .. math:: \min_{j, t} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node, over columns j and thresholds t, where L and R are its rows with :math:`x_j \le t` and the others, W their
    weights, and I the Gini impurity :math:`1 - \sum_k p_k^2`, the entropy :math:`-\sum_k p_k \log_2 p_k` or the error
    :math:`1 - \max_k p_k` of the shares of the labels. With ``ccp_alpha`` the subtree that minimises the mean impurity of its
    leaves plus ``ccp_alpha`` for each is kept.

    Certificate
    -----------
    TreeCertificate: the mean impurity of the leaves, and how far it can be above that of any tree: rows that agree in all columns
    share a leaf in every tree, and with ``max_depth`` of one (or two, on small tables) all trees were compared.

    Cost
    ----
    O(p n log n) to sort the columns and O(p n) for each level of the tree; 16 n p bytes. A prediction takes one comparison for
    each level.

    See Also
    --------
    DecisionTreeRegressor : Numbers instead of labels.
    export_text : The questions, as text.

    Notes
    -----
    Of cuts that are equally good, up to rounding, the one through the first column and at the lowest threshold is taken, so that
    the tree does not depend on a seed, on the order of the rows or on the number of threads; a split that gains nothing by itself
    is made where its node is mixed. Missing values (NaN) go to the side where they gain more; where there were none in the fit,
    to the side of more rows. Rows of weight zero are not seen; numbers of rows count rows, not weights. Columns are read as they
    come: thresholds are float64.

    Several columns of labels share one tree, whose impurity is the mean of theirs: for 'gini' alone, which squared errors of
    indicators grow. The weights of a row's labels are multiplied. Columns whose labels have nothing to do with each other are
    told better by a tree for each (MultiOutputClassifier).

    Examples
    --------
    >>> from qed.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["cold", "cold", "warm"])
    >>> model.predict([[3.0], [3.1]]).tolist()
    ['cold', 'warm']
    """

    criterion: Literal["gini", "entropy", "log_loss", "misclassification"] = param(
        "gini",
        "Impurity of a node; 'log_loss' is another name of the entropy. 'misclassification', the share of all labels but the most"
        " frequent one, often gains nothing by any split: then the first one is made.",
    )

    class_weight: dict[Any, Any] | list[Any] | Literal["balanced"] | None = param(
        None,
        "What weights are multiplied by: by label, a dict, or a list of dicts for several columns of y; or 'balanced' for equal"
        " sums of weights; None for one.",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree."""
        data = self._fit_data(X, y, sample_weight)
        codes = np.ascontiguousarray(data.y, dtype=np.int64).reshape(data.n_rows, -1)
        criterion = "entropy" if self.criterion == "log_loss" else self.criterion
        several = data.classes if isinstance(data.classes, list) else None
        factor = label_factors(type(self).__name__, self.class_weight, several or [data.classes], codes, data.weight)
        weight = data.weight if factor is None else (factor if data.weight is None else data.weight * factor)
        if several is not None:
            require_gini(criterion, len(several), "a tree")
        self.max_features_ = most_features(self.max_features, data.X.shape[1])
        self.classes_ = data.classes
        if several is None:
            self.n_classes_ = len(data.classes)
            learn(self, data, Targets(criterion, len(data.classes), codes.reshape(-1), weight))
        else:
            self.n_classes_ = [len(labels) for labels in several]
            columns = LabelColumns(codes, self.n_classes_, weight)
            learn(self, data, columns.targets(), columns)
        return self
