"""A network that predicts numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import Array, InvalidParameter, Regressor, fitted, param
from qed.neural_network._forward import outputs
from qed.neural_network._network import Network, OfSteps

if TYPE_CHECKING:
    from qed.core import FitData, Traits
    from qed.neural_network._gradients import Rows


class _Losses(Regressor, multi_output=True):
    """The loss, which is the first parameter of all."""

    loss: Literal["squared_error", "poisson"] = param(
        "squared_error",
        "Loss of a row: half the squared error, or half the Poisson deviance, with rates exp(f) and y >= 0.",
    )


class MLPRegressor(Network, _Losses):
    r"""Multilayer perceptron (neural network) for regression.

    Objective
    ---------
    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i \, \ell(y_i, f(x_i)) + \frac{\alpha}{2 B} \sum_l \|W_l\|^2,
        \quad f(x) = \phi(\dots \phi(x W_1 + b_1) \dots) W_L + b_L

    with :math:`\ell` half the squared error, or half the Poisson deviance of the rate :math:`e^f`, summed over the targets. B is
    the weight of a batch, ``batch_size`` times the mean weight of a row; with ``solver="lbfgs"`` that of all rows.

    Certificate
    -----------
    NetworkCertificate: how steep the objective is at the weights, on all rows of the fit, and that differences of objectives
    confirm the gradient. After ``partial_fit`` it speaks of the rows of the last call.

    Cost
    ----
    O(weights) multiplications a row and pass. Five numbers for each weight, and the units of the rows of one block (at most 1024)
    in each thread, beside X. PyTorch is loaded by the first fit, which takes seconds; predictions do without it.

    Notes
    -----
    With 'adam' and 'sgd' a weight is that of the loss; it is a repetition where a batch holds all rows, and with 'lbfgs'. The bits
    of a fit depend on the seed and not on the number of threads. Inputs and targets are best of size one: standardise first.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.neural_network import MLPRegressor
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> model = MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", solver="lbfgs", random_state=0)
    >>> bool(np.abs(model.fit(X, np.abs(X[:, 0])).predict(X) - np.abs(X[:, 0])).max() < 0.1)
    True
    """

    out_activation_: str = fitted("Activation of the outputs.", one_of=("identity", "exp"))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows and their targets.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by; rows of weight zero are left out.
        """
        is_fitted = "coefs_" in self.__dict__
        data = self._fit_data(X, y, sample_weight)
        return self._taught(data, goes_on=data.warm and is_fitted)

    @OfSteps
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over more rows, once.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (n, p)
            Rows.
        y : array-like of shape (n,) or (n, m)
            Targets.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        if self.early_stopping:
            raise InvalidParameter(
                "partial_fit does not support early_stopping=True: a stream has no end to stop before."
            )
        first = "coefs_" not in self.__dict__
        return self._taught(self._fit_data(X, y, sample_weight, reset=first), goes_on=not first, once=True)

    def _taught(self, data: FitData, *, goes_on: bool, once: bool = False) -> Self:
        truth = data.y.reshape(data.n_rows, -1).astype(np.float64)
        end = "exp" if self.loss == "poisson" else "identity"
        return self._learn(data, truth, (truth.shape[1], end), goes_on=goes_on, once=once)

    def predict(self, X: Any) -> Array:
        """Return the predicted numbers.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            One number for each row and target.
        """
        told = outputs(self._scores(X), self.out_activation_)
        return told[:, 0] if told.shape[1] == 1 else told

    def _strata(self, rows: Rows) -> Array | None:  # noqa: ARG002
        return None

    def _judged(self, z: Array, truth: Array, weight: Array | None) -> float:
        """Return R², the mean over the targets."""
        told = outputs(z, "exp" if self.loss == "poisson" else "identity").astype(np.float64)
        if not np.isfinite(told).all():
            return float("nan")
        share = np.full(len(z), 1.0) if weight is None else weight
        left = share @ (truth - told) ** 2
        total = share @ (truth - np.average(truth, axis=0, weights=share)) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.mean(np.where(total > 0, 1 - left / total, np.where(left == 0, 1.0, 0.0))))

    def _traits(self) -> Traits:
        return self._declared_traits._replace(positive_target=self.loss == "poisson")
