"""Random forests and extremely randomised trees."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import Array, Classifier, InvalidData, InvalidParameter, PositiveInt, Regressor, fitted, param
from qed.ensemble._forest_model import ForestModel, ForestRows, Share, label_blocks, wrong_labels
from qed.tree._kernels import Targets
from qed.tree._label_columns import LabelColumns, label_factors, require_gini
from qed.tree._tree_model import float_like


def _has_a_column_for_each_label(model: Any, value: Array) -> str:
    several = isinstance(model.classes_, list)
    wanted = (max(map(len, model.classes_)), len(model.classes_)) if several else (len(model.classes_),)
    return (
        "" if value.ndim and value.shape[1:] == wanted else f"should have shape {('n', *wanted)}, and has {value.shape}"
    )


class _ForestClassifier(ForestModel, Classifier, multi_output=True, multi_label=True, label_columns=True):
    """A forest that predicts labels."""

    criterion: Literal["gini", "entropy", "log_loss", "misclassification"] = param(
        "gini",
        "Impurity of a node; 'log_loss' is another name of the entropy; 'misclassification' is the share of all labels but the most"
        " frequent one.",
    )
    max_features: Literal["sqrt", "log2"] | PositiveInt | Share | None = param(
        "sqrt",
        "Columns considered at each split, drawn at random: a number, a share, the square root or the logarithm of their number;"
        " None for all. Further ones are drawn while these hold a single value.",
    )
    class_weight: dict[Any, Any] | list[Any] | Literal["balanced", "balanced_subsample"] | None = param(
        None,
        "What weights are multiplied by: by label, a dict, or a list of dicts for several columns of y; 'balanced' for equal sums"
        " of weights, 'balanced_subsample' for equal sums within the rows of each tree (one column of y); None for one.",
    )

    classes_: Array | list[Array] = fitted(
        "Labels, sorted; for several columns of y a list.", dtype="label", shape="(*,)", order="strictly rising"
    )
    n_classes_: int | list[int] = fitted(
        "Number of labels; for several columns of y a list.", low="classes_[j]", high="classes_[j]"
    )
    oob_score_: float = fitted(
        "Share of rows, by weight, whose label is predicted by trees that have not seen them; the mean over columns of y.",
        low=0,
        high=1,
        nan=True,
        optional=True,
    )
    oob_decision_function_: Array = fitted(
        "Probabilities by trees that have not seen the row; NaN where every tree has. (n, k), or (n, k, m) for m columns of y.",
        check=_has_a_column_for_each_label,
        low=0,
        nan=True,
        optional=True,
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            How often each row counts: its chance of being drawn, or its weight where nothing is drawn.
        """
        data = self._fit_data(X, y, sample_weight)
        codes = np.ascontiguousarray(data.y, dtype=np.int64).reshape(data.n_rows, -1)
        several = data.classes if isinstance(data.classes, list) else None
        balances = isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"
        given = None if balances else self.class_weight
        factor = label_factors(type(self).__name__, given, several or [data.classes], codes, data.weight)
        criterion = "entropy" if self.criterion == "log_loss" else self.criterion
        known = self.__dict__.get("classes_")
        if several is None:
            rows = self._rows_of(data, Targets(criterion, len(data.classes), codes.reshape(-1), None), factor)
            is_known = known is not None and not isinstance(known, list) and np.array_equal(known, data.classes)
            self.n_classes_ = len(data.classes)
        else:
            require_gini(criterion, len(several), "a forest")
            if balances:
                raise InvalidParameter(
                    f"class_weight='balanced_subsample' is for one column of labels, and y has {len(several)}. Use 'balanced'."
                )
            self.n_classes_ = [len(labels) for labels in several]
            rows = self._rows_of(data, LabelColumns(codes, self.n_classes_, None).targets(), factor, self.n_classes_)
            is_known = (
                isinstance(known, list) and len(known) == len(several) and all(map(np.array_equal, known, several))
            )
        warm = data.warm and is_known
        self.classes_ = data.classes
        self._learn(rows, is_class=True, balances=balances, warm=warm)
        return self

    def predict(self, X: Any) -> Array:
        """Return the label with the largest mean share in the leaves of each row; of equal ones the first.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Labels, a column for each of y.
        """
        shares = self._shares(self._new_data(X))
        if not isinstance(self.classes_, list):
            return np.asarray(self.classes_[shares.argmax(axis=1)])
        blocks = label_blocks(self.n_classes_, shares)  # type: ignore[arg-type]
        return np.stack([own[share.argmax(axis=1)] for own, share in zip(self.classes_, blocks, strict=True)], axis=1)

    def predict_proba(self, X: Any) -> Any:
        """Return the shares of the labels in the leaves of each row, averaged over the trees.

        Returns
        -------
        ndarray of shape (n, k)
            Rows that sum to one, in the order of ``classes_``; for several columns of y a list of such arrays.
        """
        rows = self._new_data(X)
        shares = float_like(rows, self._shares(rows))
        if isinstance(self.classes_, list):
            return [np.ascontiguousarray(own) for own in label_blocks(self.n_classes_, shares)]  # type: ignore[arg-type]
        return shares

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities; minus infinity where a label occurs in no leaf of a row.

        Returns
        -------
        ndarray of shape (n, k)
            Logarithms, in the order of ``classes_``; for several columns of y a list of such arrays.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(own) for own in shares] if isinstance(shares, list) else np.asarray(np.log(shares))

    def _shares(self, rows: Any) -> Array:
        """Return the mean shares of the labels, of several columns side by side."""
        trees = self.trees_
        return np.asarray(trees.add_up(rows, trees.shares) * (self.n_outputs_ / len(trees)))

    def _keep_out_of_bag(self, rows: ForestRows, said: Array, whole: Array, seen: Array) -> None:
        if rows.widths is not None:
            table = np.zeros((len(whole), max(rows.widths), len(rows.widths)))
            for c, own in enumerate(label_blocks(rows.widths, whole)):
                table[:, : rows.widths[c], c] = own
            whole = table
        self.oob_decision_function_ = whole
        s = np.ones(len(said)) if rows.share is None else rows.share
        right = 1.0 - wrong_labels(rows.targets, said, seen, rows.widths)
        self.oob_score_ = float(np.average(right, weights=s[seen])) if seen.any() else float("nan")


def _has_a_column_for_each_target(model: Any, value: Array) -> str:
    wanted = () if model.n_outputs_ == 1 else (model.n_outputs_,)
    return (
        "" if value.ndim and value.shape[1:] == wanted else f"should have shape {('n', *wanted)}, and has {value.shape}"
    )


class _ForestRegressor(ForestModel, Regressor, multi_output=True):
    """A forest that predicts numbers."""

    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = param(
        "squared_error",
        "Impurity of a node: 'squared_error' about the mean ('friedman_mse' is its old name: the same splits),"
        " 'absolute_error' about the median, or 'poisson', half the deviance, for targets >= 0. Several targets take squares.",
    )
    max_features: Literal["sqrt", "log2"] | PositiveInt | Share | None = param(
        1.0,
        "Columns considered at each split, drawn at random: a number, a share, the square root or the logarithm of their number;"
        " None for all. Further ones are drawn while these hold a single value.",
    )

    oob_score_: float = fitted(
        "R² of what trees predict for rows that they have not seen.", high=1, nan=True, optional=True
    )
    oob_prediction_: Array = fitted(
        "What trees predict that have not seen the row; NaN where every tree has.",
        check=_has_a_column_for_each_target,
        nan=True,
        optional=True,
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            How often each row counts: its chance of being drawn, or its weight where nothing is drawn.
        """
        data = self._fit_data(X, y, sample_weight)
        targets = np.ascontiguousarray(data.y, dtype=np.float64)
        width = 1 if targets.ndim == 1 else targets.shape[1]
        criterion = "squared_error" if self.criterion == "friedman_mse" else self.criterion
        if width > 1 and criterion != "squared_error":
            raise InvalidData(
                f"{criterion} is for one target, and y has {width}. Use criterion='squared_error', or a forest for each target"
                " (MultiOutputRegressor)."
            )
        if criterion == "poisson":
            s = np.ones(data.n_rows) if data.weight is None else data.weight
            if (targets[s > 0] < 0).any():
                raise InvalidData(
                    "Some value(s) of y are negative which is not allowed for Poisson regression. Counts are >= 0."
                )
            if not (s @ targets.reshape(-1)) > 0:
                raise InvalidData("Sum of y is not positive which is necessary for Poisson regression.")
        rows = self._rows_of(data, Targets(criterion, width, targets.reshape(-1), None), None)
        warm = data.warm and self.__dict__.get("n_outputs_") == width
        self._learn(rows, is_class=False, balances=False, warm=warm)
        return self

    def predict(self, X: Any) -> Array:
        """Return what the leaves of each row predict, averaged over the trees.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Float32 for float32 rows, float64 otherwise.
        """
        rows = self._new_data(X)
        found = self.trees_.add_up(rows, self.trees_.numbers) / len(self.trees_)
        return float_like(rows, found[:, 0] if found.shape[1] == 1 else found)

    def _keep_out_of_bag(self, rows: ForestRows, said: Array, whole: Array, seen: Array) -> None:
        from qed.metrics import r2_score  # noqa: PLC0415  (only those who ask for a score)

        self.oob_prediction_ = whole[:, 0] if whole.shape[1] == 1 else whole
        y = rows.targets.y.reshape(len(said), -1)
        s = None if rows.share is None else rows.share[seen]
        enough = np.count_nonzero(seen) > 1
        self.oob_score_ = float(r2_score(y[seen], said[seen], sample_weight=s)) if enough else float("nan")


class RandomForestClassifier(_ForestClassifier):
    r"""Random forest: an ensemble of classification trees on bootstrap samples, with a random subset of the columns at every node.

    Objective
    ---------
    .. math:: \min_{j \in J, t} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node of every tree, over the columns J drawn there and thresholds t, where I is the Gini impurity or the entropy. The
    forest predicts the mean of the shares of the labels in the leaves.

    Certificate
    -----------
    OutOfBagCertificate: the error rate on rows out of the trees' samples with Hoeffding's interval; and each tree is the greedy
    tree of the rows and columns that its seed draws.

    Cost
    ----
    O(p n log n) once to rank the columns; O(m n) for each level of each tree, with m columns looked at. 6 n p bytes, and about
    60 n more for each tree that grows. A prediction takes one comparison for each level of each tree.

    See Also
    --------
    ExtraTreesClassifier : Thresholds are drawn too.
    HistGradientBoostingClassifier : Trees that correct one another.

    Notes
    -----
    At a node of more than 64 rows the thresholds compared in a column with more than 255 values are those between 255 bins of
    about equal weight; below that all are. Thresholds lie midway between two values of the node. Whole-number weights are
    repetitions: as many rows are drawn as they sum to, each with a chance proportional to its weight. What is drawn follows from
    ``seed_``, the number of the tree and the path to the node, so that threads change nothing.

    Examples
    --------
    >>> from qed.datasets import load_penguins
    >>> from qed.ensemble import RandomForestClassifier
    >>> X, y = [[1.0], [2.0], [8.0], [9.0]] * 5, ["low", "low", "high", "high"] * 5
    >>> RandomForestClassifier(random_state=0).fit(X, y).predict([[1.5], [8.5]]).tolist()
    ['low', 'high']
    """

    bootstrap: bool = param(True, "Whether each tree draws its rows, with replacement; otherwise it sees all of them.")


class ExtraTreesClassifier(_ForestClassifier):
    r"""Extremely randomised trees: an ensemble of classification trees; each split is the best of a few random thresholds.

    Objective
    ---------
    .. math:: \min_{j \in J} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node of every tree, over the columns J drawn there, each with one threshold drawn between its least and largest value
    at the node, where I is the Gini impurity or the entropy.

    Certificate
    -----------
    OutOfBagCertificate: each tree is the one that its seed draws; the error rate on the rows of the fit or, with ``bootstrap``, on
    rows out of the trees' samples with Hoeffding's interval.

    Cost
    ----
    O(m n) for each level of each tree, with m columns looked at: nothing is sorted. 8 n p bytes, 4 n p where single
    precision holds all values, and about 60 n + 8 n min(m, 8) more for each tree that grows.

    See Also
    --------
    RandomForestClassifier : The best threshold of each column.

    Examples
    --------
    >>> from qed.ensemble import ExtraTreesClassifier
    >>> X, y = [[1.0], [2.0], [8.0], [9.0]] * 5, ["low", "low", "high", "high"] * 5
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).predict([[1.5], [8.5]]).tolist()
    ['low', 'high']
    """

    bootstrap: bool = param(False, "Whether each tree draws its rows, with replacement; otherwise it sees all of them.")

    _is_random = True


class RandomForestRegressor(_ForestRegressor):
    r"""Random forest: an ensemble of regression trees on bootstrap samples.

    Objective
    ---------
    .. math:: \min_{j \in J, t} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node of every tree, over the columns J drawn there and thresholds t, where I is the mean squared error about the mean
    (averaged over targets), the mean absolute error about the median, or half the mean Poisson deviance.

    Certificate
    -----------
    OutOfBagCertificate: the squared error on rows out of the trees' samples with Hoeffding's interval (errors lie between zero and
    the squared range of the targets); and each tree is the greedy tree of the rows and columns that its seed draws.

    Cost
    ----
    O(p n log n) once to rank the columns; O(m n) for each level of each tree, with m columns looked at. 6 n p bytes, and about
    60 n more for each tree that grows.

    See Also
    --------
    ExtraTreesRegressor : Thresholds are drawn too.
    HistGradientBoostingRegressor : Trees that correct one another.

    Notes
    -----
    Thresholds, weights and seeds as in RandomForestClassifier. Absolute errors are always compared at all thresholds.

    Examples
    --------
    >>> from qed.ensemble import RandomForestRegressor
    >>> X, y = [[1.0], [2.0], [8.0], [9.0]] * 5, [0.0, 0.0, 3.0, 3.0] * 5
    >>> RandomForestRegressor(random_state=0).fit(X, y).predict([[1.5], [8.5]]).tolist()
    [0.0, 3.0]
    """

    bootstrap: bool = param(True, "Whether each tree draws its rows, with replacement; otherwise it sees all of them.")


class ExtraTreesRegressor(_ForestRegressor):
    r"""Extremely randomised trees: an ensemble of regression trees; each split is the best of random thresholds.

    Objective
    ---------
    .. math:: \min_{j \in J} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node of every tree, over the columns J drawn there, each with one threshold drawn between its least and largest value
    at the node, where I is the mean squared error about the mean, the mean absolute error about the median, or half the mean
    Poisson deviance.

    Certificate
    -----------
    OutOfBagCertificate: each tree is the one that its seed draws; the squared error on the rows of the fit or, with ``bootstrap``,
    on rows out of the trees' samples with Hoeffding's interval.

    Cost
    ----
    O(m n) for each level of each tree, with m columns looked at: nothing is sorted. 8 n p bytes, 4 n p where single
    precision holds all values, and about 60 n + 8 n min(m, 8) more for each tree that grows.

    See Also
    --------
    RandomForestRegressor : The best threshold of each column.

    Examples
    --------
    >>> from qed.ensemble import ExtraTreesRegressor
    >>> X, y = [[1.0], [2.0], [8.0], [9.0]] * 5, [0.0, 0.0, 3.0, 3.0] * 5
    >>> ExtraTreesRegressor(random_state=0).fit(X, y).predict([[1.0], [9.0]]).tolist()
    [0.0, 3.0]
    """

    bootstrap: bool = param(False, "Whether each tree draws its rows, with replacement; otherwise it sees all of them.")

    _is_random = True
