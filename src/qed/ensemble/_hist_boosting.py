"""Histogram gradient boosting of labels and numbers."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.core import InvalidParameter, Probability, param
from qed.core._class_weights import class_weights
from qed.ensemble._boost_losses import BoostLoss, loss_named
from qed.ensemble._boosted import BoostedClassifier, BoostedRegressor, signed_or_codes
from qed.ensemble._boosting import BoostData
from qed.ensemble._hist_model import HistBoostingModel


class HistGradientBoostingRegressor(HistBoostingModel, BoostedRegressor):
    r"""Histogram-based gradient boosting of regression trees, for large tables.

    Objective
    ---------
    .. math:: \min_{\text{leaves}} \; \sum_i s_i \left( g_i v_{l(i)} + \tfrac12 h_i v_{l(i)}^2 \right)
        + \tfrac{\lambda}{2} \sum_l v_l^2

    in every round, greedily over trees and exactly over the values v of their leaves, where g and h are first and second
    derivatives of the loss of row i at the sum so far, and l(i) its leaf. The learning rate times v is added.

    Certificate
    -----------
    StagedCertificate: the training loss after every round, whether it ever rose, and that each leaf takes the step that the loss
    prescribes.

    Cost
    ----
    O(p n log n) once to bin the columns; O(p n) for each level of each tree, half of it by subtracting sums. 2 n p bytes for the
    bins and about 100 n more; from a source these are on disk, beside whoever reads it, but for 24 n bytes.

    See Also
    --------
    HistGradientBoostingClassifier : Labels instead of numbers.
    RandomForestRegressor : Trees that do not know one another.

    Notes
    -----
    Sums over bins are made of whole numbers, so that threads change nothing. Missing values (NaN) go to the side where they gain
    more; where a node met none, to the side of more rows. Weights that are whole numbers are repetitions. Early stopping looks at
    rows of the fit that no tree has seen, or at ``X_val`` and ``y_val``: pass those, transformed by a pipeline that has not seen
    them, to keep even the transformers from them.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.ensemble import HistGradientBoostingRegressor
    >>> X, y = make_regression(n_samples=300, n_features=4, random_state=0)
    >>> bool(HistGradientBoostingRegressor().fit(X, y).score(X, y) > 0.9)
    True
    """

    loss: Literal["squared_error", "absolute_error", "gamma", "poisson", "quantile", "huber"] = param(
        "squared_error",
        "Loss of a row. 'gamma' and 'poisson' predict exponentials of the sum; 'huber' takes squares of most errors, and lines of"
        " the largest.",
    )
    quantile: Probability | None = param(
        None,
        "Level of the loss 'quantile'; for 'huber' the share of errors, of the median, that are squared (0.9 if None).",
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the trees, round after round.

        Parameters
        ----------
        X_val, y_val, sample_weight_val : array-like, optional
            Rows for early stopping to look at instead of rows of the fit.
        """
        data = self._fit_data(X, y, sample_weight)
        if self.loss == "quantile" and self.quantile is None:
            raise InvalidParameter(
                "HistGradientBoostingRegressor.quantile must be a number from 0 to 1 with loss='quantile'."
            )
        rows = self._boost_rows(data, np.ascontiguousarray(data.y, dtype=np.float64), None, None)
        loss = loss_named(self.loss, self.quantile, rows.y, rows.s)
        loss.require(rows.y)
        held = None
        if X_val is not None:
            other = self._fit_data(X_val, y_val, sample_weight_val, reset=False)
            s = np.ones(other.n_rows) if other.weight is None else other.weight
            held = BoostData(other.X, np.ascontiguousarray(other.y, dtype=np.float64), s, None, None)
        self._boost(rows, loss, 1, warm=data.warm, held=held)
        return self


class HistGradientBoostingClassifier(HistBoostingModel, BoostedClassifier):
    r"""Histogram-based gradient boosting of classification trees, for large tables.

    Objective
    ---------
    .. math:: \min_{\text{leaves}} \; \sum_i s_i \left( g_i v_{l(i)} + \tfrac12 h_i v_{l(i)}^2 \right)
        + \tfrac{\lambda}{2} \sum_l v_l^2

    in every round, greedily over trees and exactly over the values v of their leaves, where g and h are first and second
    derivatives of the loss of row i at the sum so far, and l(i) its leaf. With more than two labels each has a tree in every round.

    Certificate
    -----------
    StagedCertificate: the training loss after every round, whether it ever rose, and that each leaf takes the step that the loss
    prescribes.

    Cost
    ----
    O(p n log n) once to bin the columns; O(p n) for each level of each tree, half of it by subtracting sums; all classes are
    added up in one pass over the rows at the root. 2 n p bytes for the bins, about 100 n more, and 40 n for each class beyond two;
    from a source these are on disk, beside whoever reads it, but for 24 n bytes.

    See Also
    --------
    HistGradientBoostingRegressor : Numbers instead of labels.
    RandomForestClassifier : Trees that do not know one another.

    Notes
    -----
    As those of HistGradientBoostingRegressor. Rows for early stopping are drawn from each label alike.

    Examples
    --------
    >>> from qed.ensemble import HistGradientBoostingClassifier
    >>> X, y = [[float(k)] for k in range(100)], [k // 40 for k in range(100)]
    >>> HistGradientBoostingClassifier().fit(X, y).predict([[10.0], [50.0], [90.0]]).tolist()
    [0, 1, 2]
    """

    loss: Literal["log_loss", "exponential"] = param(
        "log_loss", "Loss of a row: 'log_loss', logistic or multinomial; 'exponential', for two labels, as in AdaBoost."
    )
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the trees, round after round.

        Parameters
        ----------
        X_val, y_val, sample_weight_val : array-like, optional
            Rows for early stopping to look at instead of rows of the fit.
        """
        data = self._fit_data(X, y, sample_weight)
        codes = np.asarray(data.y, dtype=np.int64)
        k = len(data.classes)
        if self.loss == "exponential" and k > 2:
            raise InvalidParameter(f"loss='exponential' is for two labels, and y has {k}. Use loss='log_loss'.")
        factor = class_weights(
            type(self).__name__, self.class_weight, data.classes, data.y, data.weight, may_vanish=True
        )
        known = self.__dict__.get("classes_")
        warm = data.warm and known is not None and np.array_equal(known, data.classes)
        rows = self._boost_rows(data, signed_or_codes(codes, k), None if factor is None else factor[codes], codes)
        held = None
        if X_val is not None:
            other = self._fit_data(X_val, y_val, sample_weight_val, reset=False)
            places = np.searchsorted(data.classes, other.classes)
            if (places >= k).any() or not np.array_equal(data.classes[np.minimum(places, k - 1)], other.classes):
                raise InvalidParameter("y_val holds labels that y does not have.")
            own = places[np.asarray(other.y, dtype=np.int64)]
            s = np.ones(other.n_rows) if other.weight is None else other.weight
            held = BoostData(other.X, signed_or_codes(own, k), s if factor is None else s * factor[own], None, None)
        self.classes_ = data.classes
        loss = BoostLoss(self.loss if k <= 2 else "softmax")
        self._boost(rows, loss, 1 if k <= 2 else k, warm=warm, held=held)
        return self
