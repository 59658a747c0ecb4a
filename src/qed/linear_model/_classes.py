"""What linear classifiers share: scores, probabilities, weights of classes, a state that can be checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import DualityGapCertificate  # noqa: TC001  (read from the annotation)
from qed.core import Array, Classifier, InvalidData, fitted
from qed.linear_model._inference import refused_table
from qed.linear_model._linear import predict_linear

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.linear_model._linear import CoefficientTable


class LinearClassifier(Classifier, sparse=True):
    """A classifier whose scores are linear in the columns."""

    classes_: Array = fitted(
        "Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising", length="at least 2"
    )
    coef_: Array = fitted(
        "Coefficients of the scores, shape (1, p) for two classes, otherwise one row a class.",
        dtype="float",
        shape="(k or 1, p)",
    )
    intercept_: Array = fitted(
        "Intercepts, one for each row of ``coef_``; zeros without an intercept.", shape="(k or 1,)"
    )

    def decision_function(self, X: Any) -> Array:
        """Return the scores: with two classes that of the second against the first, otherwise one column a class.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Float32 for float32 rows, float64 otherwise.
        """
        scores = predict_linear(self, X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Return the label with the largest score of each row; of equal ones the first."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def coefficient_table(self, level: float = 0.95) -> CoefficientTable:  # noqa: ARG002
        """Refuse: classical standard errors are valid without a penalty alone.

        Parameters
        ----------
        level : float
            Probability that an interval would cover its coefficient.

        Raises
        ------
        InvalidData
            With the reason, and what to use instead.
        """
        refused_table(self)


class ProbabilisticClassifier(LinearClassifier):
    """A classifier whose probabilities follow from scores that are linear in the columns."""

    n_iter_: Array = fitted("Steps that the solver took.", dtype="int", low=0, answers=False)
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about the coefficients.")

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, which stay finite where probabilities vanish."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            half = 0.5 * scores
            scores = np.stack([-half, half], axis=1)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def require_classes(owner: str, classes: Any, codes: Vector | None) -> None:
    """Refuse a target with one class, or with classes that no row of positive weight has; None for rows of all of them."""
    seen = np.ones(len(classes), dtype=bool)
    if codes is not None:
        seen = np.bincount(codes.astype(np.intp), minlength=len(classes)) > 0
    if len(classes) < 2 or seen.sum() < 2:
        only = classes[np.flatnonzero(seen)[0] if seen.any() else 0]
        only = only.item() if isinstance(only, np.generic) else only
        raise InvalidData(
            f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: {only!r}."
            f" {owner} cannot tell one class from nothing; pass rows of another class with positive weight."
        )
