"""What naive Bayes models of counts share: rows counted by class, smoothing, shares of classes, scores that are linear."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeVector,
    Vector,
    fitted,
    param,
)
from qed.core._posterior import by_rows, given_shares
from qed.data._class_sums import ClassSums
from qed.data._kernels import products
from qed.naive_bayes._naive_bayes import NaiveBayes

if TYPE_CHECKING:
    from numpy.random import Generator

    from qed.data import Chunk


LEAST_ALPHA = 1e-10
UNIT = 2.0**-53


def _is_not_all_infinite(model: Any, prior: Array) -> str:  # noqa: ARG001
    return "" if np.isfinite(prior).any() else "should not be infinite for every class"


def _has_its_shape(model: Any, moments: ClassSums) -> str:
    shape = model.feature_count_.shape
    return "" if moments.total.shape == shape else f"should be of a table of shape {shape}"


class CountingClassifier(NaiveBayes, chunks=True, positive_only=True):
    """Naive Bayes from counts: smoothed, added to by more rows, taken from by rows to forget."""

    alpha: NonNegative | NonNegativeVector = param(
        1.0, "What is added to every count: one number, or one for each column."
    )
    _: KW_ONLY
    force_alpha: bool = param(
        True, "Whether an alpha below 1e-10 is taken as it is; if not, 1e-10 is taken, with a warning."
    )
    fit_prior: bool = param(
        True, "Whether classes are as probable as they are frequent; if not, all are equally probable."
    )
    class_prior: Vector | None = param(
        None, "Probabilities of the classes, in the order of ``classes_``; they overrule ``fit_prior``."
    )

    class_count_: Array = fitted("Weight of the rows of each class.", shape="(k,)", low=0)
    class_log_prior_: Array = fitted(
        "Logarithm of the probability of each class.", shape="(k,)", finite=False, check=_is_not_all_infinite
    )

    def _learn(self, moments: Any, classes: Array) -> None:
        """Store the parameters that follow from the statistic, and what is proved about them."""
        raise NotImplementedError

    def _learn_classes(self, moments: ClassSums, classes: Array) -> Array:
        """Store labels, their weights and probabilities; return their shares."""
        if not moments.rows.any():
            raise InvalidData(f"{type(self).__name__} has no row of positive weight to learn from.")
        k = len(classes)
        share = moments.weight / moments.weight.sum()
        prior = share if self.fit_prior else np.full(k, 1 / k)
        if self.class_prior is not None:
            prior = given_shares(type(self).__name__, "class_prior", self.class_prior, k)
        self.classes_, self.class_count_ = classes, moments.weight.copy()
        self.class_log_prior_ = logarithms(prior)
        return np.asarray(share)

    def _class_shares(self) -> Array:
        shares = np.exp(self.class_log_prior_)
        return np.asarray(shares / shares.sum())

    def _smoothing(self, n_features: int) -> Any:
        """Return what is added to counts: a number, or one for each column."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim and alpha.shape != (n_features,):
            raise InvalidParameter(
                f"When alpha is an array, it should contains `n_features`. Got {alpha.size} elements instead of {n_features}:"
                f" {type(self).__name__}.alpha must be a number, or one for each column."
            )
        if not self.force_alpha and alpha.min() < LEAST_ALPHA:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. Use `force_alpha=True` to keep"
                " alpha unchanged.",
                stacklevel=4,
            )
            alpha = np.maximum(alpha, LEAST_ALPHA)
        return alpha if alpha.ndim else float(alpha)

    def _certified(self, what: str, moments: ClassSums, share: Array, columns: float) -> None:
        """State the likelihood: of the labels, and ``columns``, that of the rows given their labels, per unit of weight."""
        self.certificate_ = LikelihoodCertificate(
            what=what,
            rows=int(moments.rows.sum()),
            log_likelihood=float(times(share, self.class_log_prior_).sum()) + columns,
            rounding=moments.error + 16 * UNIT,
        )

    def _rescued(self, rows: Any) -> Array:
        """Return the probabilities of the classes, for rows that no class can produce."""
        return np.tile(self.class_log_prior_, (rows.shape[0], 1))


class LinearCounts(CountingClassifier, sparse=True, poor_score=True):
    """Naive Bayes whose joint logarithms are linear in the columns."""

    feature_count_: Array = fitted("Weighted sum of each column in each class, (k, p).", shape="(k, p)")
    feature_log_prob_: Array = fitted(
        "Logarithm of the probability of each column in each class, (k, p).", shape="(k, p)", below=np.inf, finite=False
    )
    moments_: ClassSums = fitted(
        "The statistic that everything follows from; more rows are merged into it.", check=_has_its_shape, answers=False
    )

    def decision_function(self, X: Any) -> Array:
        """Return the scores: with two classes that of the second against the first, otherwise one column a class.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Joint logarithms, or the difference of two.
        """
        return by_rows(self, X, self._lead if self._is_binary() else self._comparable)

    @property
    def coef_(self) -> Array:
        """Coefficients of the scores, shape (1, p) for two classes, otherwise one row a class."""
        return differences(self._weights()[0])

    @property
    def intercept_(self) -> Array:
        """Intercepts of the scores, one for each row of ``coef_``."""
        return differences(self._weights()[1])

    def _weights(self) -> tuple[Array, Array]:
        """Return weights of the columns, (k, p), and levels, (k,), of the joint logarithms."""
        return self.feature_log_prob_, self.class_log_prior_

    def _prepared(self, rows: Any) -> Any:
        """Return rows as they are counted."""
        return rows

    def _counted(self, chunk: Chunk, n_classes: int) -> ClassSums:
        return ClassSums.of(replace(chunk, X=self._prepared(chunk.X)), n_classes)

    def _lead(self, rows: Any) -> Array:
        """Return the score of the plane between two classes: one product a row instead of two."""
        weights, levels = self._weights()
        if weights.min() > -np.inf and levels.min() > -np.inf:
            with np.errstate(over="ignore", invalid="ignore"):
                lead = products(self._prepared(rows), weights[1:] - weights[:1], levels[1:] - levels[:1])[:, 0]
            if np.isfinite(lead).all():
                return lead
        return super()._lead(rows)  # which looks for what is not finite

    def _joint(self, rows: Any) -> Array:
        rows = self._prepared(rows)
        weights, levels = self._weights()
        if weights.min() > -np.inf:
            return products(rows, weights, levels)
        never = np.isneginf(weights)
        # zero times minus infinity is nothing at all: what cannot occur is counted, and excludes a class where it does
        joint = products(rows, np.where(never, 0.0, weights), levels)
        joint[products(rows, never.astype(np.float64), np.zeros(len(levels))) > 0] = -np.inf
        return joint


def draw_categories(probabilities: Array, stream: Generator) -> Array:
    """Draw a category for each row of probabilities, (n, c)."""
    ends = np.cumsum(probabilities, axis=1)
    return np.asarray(np.sum(stream.random((len(ends), 1)) * ends[:, -1:] >= ends[:, :-1], axis=1))


def logarithms(numbers: Array) -> Array:
    """Return logarithms, minus infinity for zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(numbers))


def times(counts: Array, logs: Array) -> Array:
    """Return counts times logarithms, where none of nothing is nothing."""
    with np.errstate(invalid="ignore"):
        return np.where(counts == 0, 0.0, counts * logs)


def differences(weights: Array) -> Array:
    """Return what linear models store: for two classes the second less the first, zero where neither is possible."""
    if len(weights) != 2:
        return weights.copy()
    with np.errstate(invalid="ignore"):
        lead = weights[1:] - weights[:1]
    return np.where(np.isnan(lead), 0.0, lead)
