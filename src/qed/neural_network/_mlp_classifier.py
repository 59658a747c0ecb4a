"""A network that tells labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import Array, Classifier, InvalidData, InvalidParameter, fitted
from qed.core._targets import as_target
from qed.core._validation import stream_data
from qed.neural_network._forward import outputs
from qed.neural_network._network import Network, OfSteps

if TYPE_CHECKING:
    from qed.core import FitData
    from qed.neural_network._gradients import Rows


def _are_those_of_outputs(model: Any, labels: Array) -> str:
    k = model.n_outputs_
    return "" if len(labels) == (2 if k == 1 else k) else f"should be one for each of {k} outputs (two for one)"


class MLPClassifier(Network, Classifier, multi_label=True):
    r"""Multilayer perceptron (neural network) for classification.

    Objective
    ---------
    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i \, \ell(y_i, f(x_i)) + \frac{\alpha}{2 B} \sum_l \|W_l\|^2,
        \quad f(x) = \phi(\dots \phi(x W_1 + b_1) \dots) W_L + b_L

    with :math:`\ell` the cross-entropy of the softmax of f; of two classes that of the sigmoid of one output; of several labels a
    row the sum of those of their sigmoids. B is the weight of a batch, ``batch_size`` times the mean weight of a row; with
    ``solver="lbfgs"`` that of all rows.

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
    of a fit depend on the seed and not on the number of threads. Inputs are best of one size: standardise first.

    Examples
    --------
    >>> from qed.neural_network import MLPClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = MLPClassifier((8,), "tanh", solver="lbfgs", alpha=1e-3, random_state=0).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    """

    classes_: Array = fitted(
        "Labels, sorted; of several labels a row the numbers of their columns.",
        dtype="label",
        shape="(k,)",
        order="strictly rising",
        length="at least 2",
        check=_are_those_of_outputs,
    )
    out_activation_: str = fitted("Activation of the outputs.", one_of=("logistic", "softmax"))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, k)
            Labels; or zeros and ones that tell which of k labels each row has.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by; rows of weight zero are left out.
        """
        before: Any = self.__dict__.get("classes_")
        is_fitted = "coefs_" in self.__dict__
        data = self._fit_data(X, y, sample_weight)
        goes_on = data.warm and is_fitted
        if goes_on and not np.array_equal(before, data.classes):
            raise InvalidParameter(
                "warm_start can only be used where `y` has the same classes as in the previous call to fit. Previously got"
                f" {before!r:.200}, `y` has {data.classes!r:.200}. Set warm_start=False."
            )
        self._require_classes(data)
        return self._taught(data, goes_on=goes_on)

    @OfSteps
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None) -> Self:
        """Pass over more rows, once.

        Parameters
        ----------
        X : array-like, frame or sparse of shape (n, p)
            Rows.
        y : array-like of shape (n,) or (n, k)
            Labels.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by.
        classes : array-like, optional
            All labels there will be; needed in the first call.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        if self.early_stopping:
            raise InvalidParameter(
                "partial_fit does not support early_stopping=True: a stream has no end to stop before."
            )
        target = y if y is None else as_target(y, "y")
        if target is not None and target.ndim == 2 and target.shape[1] > 1:
            first = "coefs_" not in self.__dict__
            data = self._fit_data(X, target, sample_weight, reset=first)
            if not first and (len(self.classes_) != len(data.classes) or not self._tells_several()):
                raise InvalidData(f"y has {target.shape[1]} columns of labels, and the first call had others.")
        else:
            data, first = stream_data(self, X, target, sample_weight, classes, "coefs_")
        return self._taught(data, goes_on=not first, once=True)

    def _taught(self, data: FitData, *, goes_on: bool, once: bool = False) -> Self:
        k = len(data.classes)
        if data.y.ndim == 2:
            return self._learn(data, data.y, (k, "logistic"), goes_on=goes_on, once=once)
        if k == 2:
            return self._learn(data, data.y[:, None].astype(np.float64), (1, "logistic"), goes_on=goes_on, once=once)
        return self._learn(data, data.y[:, None].astype(np.int64), (k, "softmax"), goes_on=goes_on, once=once)

    def _require_classes(self, data: FitData) -> None:
        if data.y.ndim == 2:
            return
        seen = np.bincount(data.y, data.weight, minlength=len(data.classes)) > 0
        if seen.sum() < 2:
            only = data.classes[np.flatnonzero(seen)[0]]
            raise InvalidData(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class:"
                f" {only.item() if isinstance(only, np.generic) else only!r}. {type(self).__name__} cannot tell one class from"
                " nothing; pass rows of another class with positive weight."
            )

    def _tells_several(self) -> bool:
        return self.out_activation_ == "logistic" and self.n_outputs_ > 1

    def predict(self, X: Any) -> Array:
        """Return the label with the largest probability of each row; of equal ones the first.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Labels; with several labels a row ones for those that are more likely than not.
        """
        told = self._told(self._scores(X))
        return told if told.ndim == 2 else np.asarray(self.classes_[told])

    def _told(self, z: Array) -> Array:
        """Return numbers of classes, or ones for the labels that a row has."""
        if self.out_activation_ == "softmax":
            return np.asarray(z.argmax(axis=1))
        likely = outputs(z, "logistic") > 0.5
        return likely.astype(np.intp) if z.shape[1] > 1 else likely[:, 0].astype(np.intp)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of ``classes_``.

        Returns
        -------
        ndarray of shape (n, k)
            Rows that sum to one, unless a row has several labels.
        """
        z = self._scores(X)
        z = z if z.shape[1] > 1 else np.hstack([-z, z])  # two sigmoids, so that the smaller one keeps its digits
        return outputs(z, self.out_activation_)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, which stay finite where probabilities vanish.

        Returns
        -------
        ndarray of shape (n, k)
            Logarithms, in the order of ``classes_``.
        """
        z = self._scores(X)
        if self.out_activation_ == "softmax":
            z = z - z.max(axis=1, keepdims=True)
            return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))
        logs = -np.logaddexp(np.zeros((), z.dtype), -z)
        return logs if self._tells_several() else np.hstack([-np.logaddexp(np.zeros((), z.dtype), z), logs])

    def _strata(self, rows: Rows) -> Array | None:
        return rows.truth[:, 0] if rows.truth.shape[1] == 1 else None

    def _judged(self, z: Array, truth: Array, weight: Array | None) -> float:
        told = z.argmax(axis=1)[:, None] if truth.dtype.kind == "i" else z > 0
        return float(np.average((told == truth).all(axis=1), weights=weight))
