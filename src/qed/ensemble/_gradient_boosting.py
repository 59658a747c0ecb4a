"""Gradient boosting by exact splits, of labels and numbers, with the parameters of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter, Probability, param
from qed.ensemble._boost_losses import BoostLoss, weighted_quantile
from qed.ensemble._boosted import BoostedClassifier, BoostedRegressor, signed_or_codes
from qed.ensemble._boosting import BoostData
from qed.ensemble._exact_model import ExactBoostingModel

if TYPE_CHECKING:
    from collections.abc import Callable


class GradientBoostingRegressor(ExactBoostingModel, BoostedRegressor):
    r"""Gradient boosting of regression trees with exact splits.

    Objective
    ---------
    .. math:: \min_{\text{tree}} \sum_i s_i \left( -g_i - \text{tree}(x_i) \right)^2

    in every round, greedily over trees of exact splits, where g are derivatives of the loss of row i at the sum so far; then each
    leaf takes the step that lowers the loss of its rows most: a Newton step, a median or a quantile. The learning rate times that
    step is added.

    Certificate
    -----------
    StagedCertificate: the training loss after every round, whether it ever rose, and that each leaf takes the step that the loss
    prescribes.

    Cost
    ----
    O(p n log n) once to sort the columns; O(p n) for each level of each tree. About 24 n p bytes.

    See Also
    --------
    HistGradientBoostingRegressor : Splits between bins: much faster on large tables.
    GradientBoostingClassifier : Labels instead of numbers.

    Notes
    -----
    Models agree with those of scikit-learn at equal settings, where no two splits are equally good and nothing is drawn. Missing
    values (NaN) go to the side where they gain more. With ``loss='huber'`` steps and ``train_score_`` follow the threshold of
    their round, and the certificate compares rounds at one threshold. Pass ``X_val`` and ``y_val`` to stop by rows that no
    transformer of a pipeline has seen either.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.ensemble import GradientBoostingRegressor
    >>> X, y = make_regression(n_samples=300, n_features=4, random_state=0)
    >>> bool(GradientBoostingRegressor().fit(X, y).score(X, y) > 0.9)
    True
    """

    loss: Literal["squared_error", "absolute_error", "huber", "quantile"] = param("squared_error", "Loss of a row.")
    alpha: Probability = param(
        0.9,
        "Level of the loss 'quantile'; for 'huber' the share of errors that are squared, those below the threshold.",
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        monitor: Callable[..., Any] | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the trees, round after round.

        Parameters
        ----------
        monitor : callable, optional
            Called after each round with its number, the model and a dict of scores and losses; stops the fit by returning True.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows for early stopping to look at instead of rows of the fit.
        """
        data = self._fit_data(X, y, sample_weight)
        rows = self._boost_rows(data, np.ascontiguousarray(data.y, dtype=np.float64), None, None)
        level = 0.5
        if self.loss == "quantile":
            level = float(self.alpha)
        elif self.loss == "huber":
            errors = np.abs(rows.y - weighted_quantile(rows.y, rows.s, 0.5))
            level = weighted_quantile(errors, rows.s, self.alpha) or float(errors.max()) or 1.0
        held = None
        if X_val is not None:
            other = self._fit_data(X_val, y_val, sample_weight_val, reset=False)
            s = np.ones(other.n_rows) if other.weight is None else other.weight
            held = BoostData(other.X, np.ascontiguousarray(other.y, dtype=np.float64), s, None, None)
        self._boost(rows, BoostLoss(self.loss, level), 1, warm=data.warm, held=held, monitor=monitor)
        return self


class GradientBoostingClassifier(ExactBoostingModel, BoostedClassifier):
    r"""Gradient boosting of classification trees with exact splits.

    Objective
    ---------
    .. math:: \min_{\text{tree}} \sum_i s_i \left( -g_i - \text{tree}(x_i) \right)^2

    in every round, greedily over trees of exact splits, where g are derivatives of the loss of row i at the sum so far; then each
    leaf takes the step that lowers the loss of its rows most: a Newton step, a median or a quantile. The learning rate times that
    step is added.

    Certificate
    -----------
    StagedCertificate: the training loss after every round, whether it ever rose, and that each leaf takes the step that the loss
    prescribes.

    Cost
    ----
    O(p n log n) once to sort the columns; O(p n) for each level of each tree. About 24 n p bytes.

    See Also
    --------
    HistGradientBoostingClassifier : Splits between bins: much faster on large tables.
    GradientBoostingRegressor : Numbers instead of labels.

    Notes
    -----
    As those of GradientBoostingRegressor. With more than two labels each has a tree in every round, and steps are multiplied by
    (k - 1) / k, as Friedman did. Rows for early stopping are drawn from each label alike.

    Examples
    --------
    >>> from qed.ensemble import GradientBoostingClassifier
    >>> X, y = [[float(k)] for k in range(100)], [k // 40 for k in range(100)]
    >>> GradientBoostingClassifier().fit(X, y).predict([[10.0], [50.0], [90.0]]).tolist()
    [0, 1, 2]
    """

    loss: Literal["log_loss", "exponential"] = param(
        "log_loss", "Loss of a row: 'log_loss', logistic or multinomial; 'exponential', for two labels, as in AdaBoost."
    )

    @property
    def n_classes_(self) -> int:
        """Number of labels."""
        self._check_is_fitted()
        return len(self.classes_)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        monitor: Callable[..., Any] | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the trees, round after round.

        Parameters
        ----------
        monitor : callable, optional
            Called after each round with its number, the model and a dict of scores and losses; stops the fit by returning True.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows for early stopping to look at instead of rows of the fit.
        """
        data = self._fit_data(X, y, sample_weight)
        codes = np.asarray(data.y, dtype=np.int64)
        k = len(data.classes)
        present = len(np.unique(codes if data.weight is None else codes[data.weight > 0]))
        if present < 2:
            raise InvalidData(
                f"y contains {present} class after sample_weight trimmed classes with zero weights, while a minimum of 2 classes"
                " are required. Pass rows of another label."
            )
        if self.loss == "exponential" and k > 2:
            raise InvalidParameter(f"loss='exponential' is for two labels, and y has {k}. Use loss='log_loss'.")
        known = self.__dict__.get("classes_")
        warm = data.warm and known is not None and np.array_equal(known, data.classes)
        rows = self._boost_rows(data, signed_or_codes(codes, k), None, codes)
        held = None
        if X_val is not None:
            other = self._fit_data(X_val, y_val, sample_weight_val, reset=False)
            places = np.searchsorted(data.classes, other.classes)
            if (places >= k).any() or not np.array_equal(data.classes[np.minimum(places, k - 1)], other.classes):
                raise InvalidParameter("y_val holds labels that y does not have.")
            s = np.ones(other.n_rows) if other.weight is None else other.weight
            held = BoostData(other.X, signed_or_codes(places[np.asarray(other.y, dtype=np.int64)], k), s, None, None)
        self.classes_ = data.classes
        loss = BoostLoss(self.loss if k <= 2 else "softmax")
        self._boost(rows, loss, 1 if k <= 2 else k, warm=warm, held=held, monitor=monitor)
        return self
