"""Numbers by nested questions about single columns."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import Array, InvalidData, Regressor, param
from qed.tree._grow import learn, most_features
from qed.tree._kernels import Targets
from qed.tree._tree_model import GrownTree, TreeModel, float_like


class TreeRegressor(TreeModel, Regressor, multi_output=True):
    """A tree whose leaves hold numbers."""

    def predict(self, X: Any) -> Array:
        """Return what the leaf of each row predicts.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Float32 for float32 rows, float64 otherwise.
        """
        rows = self._new_data(X)
        found = self.tree_.value[self.tree_.apply(rows), :, 0]
        return float_like(rows, found[:, 0] if found.shape[1] == 1 else found)


class DecisionTreeRegressor(GrownTree, TreeRegressor):
    r"""Decision tree for regression.

    Objective
    ---------
    .. math:: \min_{j, t} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node, over columns j and thresholds t, where L and R are its rows with :math:`x_j \le t` and the others, W their
    weights, and I the mean squared error about the mean (averaged over targets), the mean absolute error about the median, or
    half the mean Poisson deviance :math:`y \log(y / \bar y)` from the mean. With ``ccp_alpha`` the subtree that minimises the mean
    impurity of its leaves plus ``ccp_alpha`` for each is kept.

    Certificate
    -----------
    TreeCertificate: the mean impurity of the leaves, and how far it can be above that of any tree: rows that agree in all columns
    share a leaf in every tree, and with ``max_depth`` of one (or two, on small tables) all trees were compared.

    Cost
    ----
    O(p n log n) to sort the columns and O(p n) for each level of the tree, O(p n log n) with absolute errors; 16 n p bytes. A
    prediction takes one comparison for each level.

    See Also
    --------
    DecisionTreeClassifier : Labels instead of numbers.
    export_text : The questions, as text.

    Notes
    -----
    Of cuts that are equally good, up to rounding, the one through the first column and at the lowest threshold is taken, so that
    the tree does not depend on a seed, on the order of the rows or on the number of threads. Missing values (NaN) go to the side
    where they gain more; where there were none in the fit, to the side of more rows. Rows of weight zero are not seen; numbers of
    rows count rows, not weights.

    Examples
    --------
    >>> from qed.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [4.0]], [0.0, 0.0, 3.0])
    >>> model.predict([[3.0], [3.1]]).tolist()
    [0.0, 3.0]
    """

    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = param(
        "squared_error",
        "Impurity of a node: 'squared_error' about the mean ('friedman_mse' is its old name: the same splits),"
        " 'absolute_error' about the median, or 'poisson', half the deviance, for targets >= 0. Several targets take squares.",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree."""
        data = self._fit_data(X, y, sample_weight)
        targets = np.ascontiguousarray(data.y, dtype=np.float64)
        width = 1 if targets.ndim == 1 else targets.shape[1]
        criterion = "squared_error" if self.criterion == "friedman_mse" else self.criterion
        if width > 1 and criterion != "squared_error":
            raise InvalidData(
                f"{criterion} is for one target, and y has {width}. Use criterion='squared_error', or a tree for each target"
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
        self.max_features_ = most_features(self.max_features, data.X.shape[1])
        learn(self, data, Targets(criterion, width, targets.reshape(-1), data.weight))
        return self
