"""Stochastic gradient descent for labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import CompositeCertificate, DualityGapCertificate, Fingerprint, MistakeBoundCertificate
from qed.core import Array, fitted, param
from qed.designs._range import fingerprint
from qed.linear_model._classes import LinearClassifier, require_classes
from qed.linear_model._learn_convex import TrainingData
from qed.linear_model._learn_online import OnlineData, begin, favours, show, shown, stream
from qed.linear_model._online import Rule, Stop, Trail, Visits
from qed.linear_model._stochastic import POWER_TEXT, STEPS_TEXT, Steps, StochasticLearner

MOMENTS = ("mean", "spread", "mean_rounding", "spread_rounding")  # of a fingerprint, one number a column
ENTRIES = 1 << 20  # zeros and ones of several classes that are in memory at a time


class SGDClassifier(LinearClassifier, StochasticLearner):
    r"""Linear classifier fitted by stochastic gradient descent (SGD).

    Objective
    ---------
    .. math:: \frac{1}{n} \sum_i s_i \, \ell(y_i, x_i^\top w + b) + \alpha \left( \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2 \right)

    with :math:`\rho` = 0, 1 or ``l1_ratio`` by the name of the penalty. Several classes: one such objective for each class
    against the others, all learnt in the same passes.

    Certificate
    -----------
    After ``fit`` a DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``; of several classes a
    CompositeCertificate with one for each. After ``partial_fit`` a MistakeBoundCertificate: how often the prediction was wrong
    before its label was seen.

    Cost
    ----
    O(p) a row shown; O(p) numbers kept, whatever the length of the stream. ``fit`` notes one number for each row and class, the
    slope of its loss, of which the certificate is made in one more pass, in all threads.

    Notes
    -----
    Rows are shuffled before every pass, neighbours of large tables in groups. A weight multiplies the step of its row; it is
    not a repetition. The models of this package that are not stochastic reach the optimum faster on anything that fits into
    memory: this one is for streams.

    Examples
    --------
    >>> from qed.linear_model import SGDClassifier
    >>> model = SGDClassifier(random_state=0).fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    loss: Literal[
        "hinge",
        "log_loss",
        "modified_huber",
        "squared_hinge",
        "perceptron",
        "squared_error",
        "huber",
        "epsilon_insensitive",
        "squared_epsilon_insensitive",
    ] = param("hinge", "Loss of a row; those of numbers take the labels as -1 and 1.")
    learning_rate: Steps = param("optimal", STEPS_TEXT)
    power_t: float = param(0.5, POWER_TEXT)
    n_jobs: int | None = param(None, "Number of processes that scikit-learn would use.", kind="hint")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )

    certificate_: DualityGapCertificate | CompositeCertificate | MistakeBoundCertificate = fitted(
        "What is proved about the coefficients."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until progress ends.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by; rows of weight zero are left out.
        """
        before: Any = (self.__dict__.get("memory_"), self.__dict__.get("classes_"))
        data = self._fit_data(X, y, sample_weight, finite=False)
        looked = TrainingData.of(data, centred=self.fit_intercept)
        favour = favours(type(self).__name__, self.class_weight, data.classes, data.y, data.weight)
        rule, rows = self._rule(), shown(data, classes=True, favour=favour)
        codes = rows.y if rows.problems > 1 else (rows.y + 1) / 2
        require_classes(type(self).__name__, data.classes, codes)
        is_warm = data.warm and before[0] is not None and np.array_equal(before[1], data.classes)
        self.classes_ = data.classes
        course = self._learn(before[0] if is_warm else None, rows, rule, codes)
        self.certificate_ = self._certified(looked, rows, rule, course)
        if course[0] == "interrupted":
            raise KeyboardInterrupt
        return self

    def _certified(
        self, looked: TrainingData, rows: OnlineData, rule: Rule, course: tuple[str, Trail]
    ) -> DualityGapCertificate | CompositeCertificate:
        several = rows.problems > 1
        seen = _for_each_class(looked.seen, rows.y, rows.problems, rows.weight) if several else [looked.seen]
        proofs = self._proved_small(looked, rows, rule, course, seen)
        if proofs is None:
            proofs = []
            for k, plane in enumerate(zip(self.coef_, self.intercept_.tolist(), strict=True)):
                signs = np.where(rows.y == k, 1.0, -1.0) if several else rows.y
                labelled = replace(looked, seen=seen[k])  # recognised by the labels of this problem
                own = _favoured(labelled, rows, k, signs)
                proofs.append(self._proved(own, signs, rule, plane, course, k))
        return CompositeCertificate(dict(zip(map(str, self.classes_), proofs, strict=True))) if several else proofs[0]

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Show more rows, once and in their order.

        Parameters
        ----------
        classes : array-like, optional
            All labels there will be; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        data, first = stream(self, X, y, sample_weight, classes)
        favour = favours(type(self).__name__, self.class_weight, self.classes_, data.y, data.weight)
        rule, rows = self._rule(), shown(data, classes=True, favour=favour)
        memory = begin(self, rows, rule, self._course()) if first else self.memory_
        found = show(self, memory, rows, rule, visits=Visits(), stop=Stop())
        self._keep(found.memory, 1, rows.X.dtype)
        self.certificate_ = MistakeBoundCertificate(
            found.memory.rows, found.memory.mistakes, np.nan, np.zeros(len(self.coef_)), np.inf
        )
        return self

    @property
    def predict_proba(self) -> Any:
        """Return the probability of each class; with losses that are not of probabilities there is no such method.

        Of several classes the probabilities of each against the others are divided by their sum.
        """
        return self._if_probable(self._probabilities)

    @property
    def predict_log_proba(self) -> Any:
        """Return the logarithms of the probabilities; minus infinity for zero."""
        return self._if_probable(self._log_probabilities)

    def _if_probable(self, method: Any) -> Any:
        if self.loss not in ("log_loss", "modified_huber"):
            raise AttributeError(
                f"probability estimates are not available for loss={self.loss!r}; they are for 'log_loss' and 'modified_huber'"
            )
        return method

    def _probabilities(self, X: Any) -> Array:
        scores = np.asarray(self.decision_function(X), dtype=np.float64)
        own = 0.5 * (1.0 + (np.tanh(0.5 * scores) if self.loss == "log_loss" else np.clip(scores, -1.0, 1.0)))
        if own.ndim == 1:
            return np.column_stack([1.0 - own, own])
        total = own.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, own / np.where(total > 0, total, 1.0), 1.0 / own.shape[1]))

    def _log_probabilities(self, X: Any) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(X))


def _favoured(looked: TrainingData, rows: OnlineData, problem: int, signs: Array) -> TrainingData:
    """Return the rows with the weights that a problem gives to its labels."""
    if rows.favour is None:
        return looked
    return looked.weighed(rows.favour[problem][(signs > 0).astype(np.intp)])


def _for_each_class(seen: Fingerprint, codes: Array, problems: int, weight: Array | None) -> list[Fingerprint]:
    """Return the fingerprints of the same rows with zeros and ones as their target, the ones for each class in turn."""
    step, found = max(1, ENTRIES // len(codes)), []
    for first in range(0, problems, step):
        labels = np.arange(first, min(first + step, problems))
        own = fingerprint(np.zeros((len(codes), 0)), np.equal.outer(codes, labels).astype(np.float64), weight)
        vectors = (_with_targets(getattr(seen, name), getattr(own, name)) for name in MOMENTS)
        found += [replace(seen, **dict(zip(MOMENTS, each, strict=True))) for each in zip(*vectors, strict=True)]
    return found


def _with_targets(moments: Array, targets: Array) -> Array:
    """Return a row of moments for each target, which takes the last place."""
    rows = np.empty((len(targets), len(moments)))
    rows[:, :-1], rows[:, -1] = moments[:-1], targets
    return rows
