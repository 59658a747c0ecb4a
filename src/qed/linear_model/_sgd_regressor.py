"""Stochastic gradient descent for numbers."""

from __future__ import annotations

from typing import Any, Literal, Self

from qed.certificates import DualityGapCertificate, Uncertified
from qed.core import Array, Regressor, fitted, param
from qed.linear_model._learn_convex import TrainingData
from qed.linear_model._learn_online import begin, show, shown
from qed.linear_model._linear import predict_linear
from qed.linear_model._online import Memory, Stop, Visits
from qed.linear_model._stochastic import StochasticLearner


class SGDRegressor(Regressor, StochasticLearner, sparse=True):
    r"""Linear regression fitted by stochastic gradient descent (SGD).

    Objective
    ---------
    .. math:: \frac{1}{n} \sum_i s_i \, \ell(y_i, x_i^\top w + b) + \alpha \left( \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2 \right)

    with :math:`\rho` = 0, 1 or ``l1_ratio`` by the name of the penalty.

    Certificate
    -----------
    After ``fit`` a DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``. After ``partial_fit`` nothing is
    claimed: a stream that is not kept proves nothing about errors without a bound.

    Cost
    ----
    O(p) a row shown; O(p) numbers kept, whatever the length of the stream. ``fit`` notes one number for each row, the slope of
    its loss, of which the certificate is made in one more pass, in all threads.

    Notes
    -----
    No step overshoots its row, so that squared losses do not explode; where ``eta0`` is so large that this shortens steps, long
    rows count for less than short ones, and a constant step ends near, not at, the optimum, as the certificate then shows.
    Columns of different sizes are learnt at different speeds all the same: standardise first. A weight multiplies the step of
    its row; it is not a repetition.

    Examples
    --------
    >>> from qed.linear_model import SGDRegressor
    >>> model = SGDRegressor(random_state=0, max_iter=2000, tol=None).fit([[-1.0], [0.0], [1.0]], [-2.0, 0.0, 2.0])
    >>> round(float(model.coef_[0]), 1)
    2.0
    """

    loss: Literal["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"] = param(
        "squared_error", "Loss of a row."
    )

    certificate_: DualityGapCertificate | Uncertified = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until progress ends.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by; rows of weight zero are left out.
        """
        before = self.__dict__.get("memory_")
        data = self._fit_data(X, y, sample_weight, finite=False)
        looked = TrainingData.of(data, centred=self.fit_intercept)
        rule, rows = self._rule(), shown(data, classes=False)
        course = self._learn(before if data.warm else None, rows, rule, rows.y)
        small = self._proved_small(looked, rows, rule, course, [looked.seen])
        plane = self.coef_, float(self.intercept_[0])
        self.certificate_ = self._proved(looked, rows.y, rule, plane, course) if small is None else small[0]
        if course[0] == "interrupted":
            raise KeyboardInterrupt
        return self

    def _keep(self, memory: Memory, passes: int, dtype: Any) -> None:
        super()._keep(memory, passes, dtype)
        self.coef_ = self.coef_[0]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Show more rows, once and in their order.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        first = "memory_" not in self.__dict__
        rows = shown(self._fit_data(X, y, sample_weight, reset=first), classes=False)
        rule = self._rule()
        memory = begin(self, rows, rule, self._course()) if first else self.memory_
        self._keep(show(self, memory, rows, rule, visits=Visits(), stop=Stop()).memory, 1, rows.X.dtype)
        self.certificate_ = Uncertified("it learnt from a stream that was not kept")
        return self

    def predict(self, X: Any) -> Array:
        """Return the predictions."""
        return predict_linear(self, X)
