"""Rows that a density finds improbable, at a false-alarm rate or a threshold that is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.metrics import operating_point

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class OutlierRule:
    r"""Rows are outliers where the logarithm of their density is below a threshold.

    Objective
    ---------
    By `at_false_alarm_rate`: the largest threshold with

    .. math:: P(\log p(x) < \tau) \le \alpha

    for a new row like those held out: :math:`\tau` is their m-th smallest score, :math:`m = \lfloor \alpha (n + 1) \rfloor`. By
    `at_best`: the threshold that maximises a score, such as F1, on rows that are known to be outliers or not.

    Certificate
    -----------
    None needed: a new row among n held-out rows of the same distribution has every rank with equal probability, so that the bound
    holds for every n and every density, however bad.

    Cost
    ----
    O(n log n) beside the densities of the held-out rows.

    Parameters
    ----------
    density : estimator
        A fitted model with ``score_samples``: `qed.mixture.GaussianMixture`, `qed.naive_bayes.GaussianNB`,
        `qed.discriminant_analysis.QuadraticDiscriminantAnalysis` and others.
    threshold : float
        Log-density below which a row is an outlier.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decision import OutlierRule
    >>> from qed.mixture import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(400, 1))
    >>> rule = OutlierRule.at_false_alarm_rate(GaussianMixture().fit(X[:200]), X[200:], 0.05)
    >>> rule.is_outlier([[0.0], [9.0]]).tolist()
    [False, True]
    """

    density: Any
    threshold: float

    def __post_init__(self) -> None:
        _require_density(self.density)
        if np.isnan(self.threshold):
            raise InvalidParameter("OutlierRule.threshold must be a number, got NaN.")

    @classmethod
    def at_false_alarm_rate(cls, density: Any, X: Any, rate: float) -> Self:
        """Choose the threshold by rows that are no outliers, and that the density was not fitted to.

        Parameters
        ----------
        density : estimator
            Fitted, with ``score_samples``.
        X : array-like of shape (n, p)
            Held-out rows; at least 1 / rate - 1 of them, or no row is ever an outlier.
        rate : float
            Probability that a new row like these is called an outlier, at most.

        Returns
        -------
        OutlierRule
            The rule.
        """
        if not 0 < rate < 1:
            raise InvalidParameter(f"rate must be between 0 and 1, got {rate!r}: it is the share of false alarms.")
        scores = np.sort(_scores(density, X))
        rank = int(np.floor(rate * (len(scores) + 1) * (1 + 1e-12)))
        return cls(density, float(scores[rank - 1]) if rank else -np.inf)

    @classmethod
    def at_best(cls, density: Any, X: Any, is_outlier: Any, *, maximize: str = "f1") -> Self:
        """Choose the threshold that is best on rows that are known to be outliers or not.

        Parameters
        ----------
        density : estimator
            Fitted, with ``score_samples``.
        X : array-like of shape (n, p)
            Rows, better not those of the fit.
        is_outlier : array-like of bool of shape (n,)
            Which of them are outliers.
        maximize : {"f1", "recall", "precision", "youden"}
            What is maximised, as in `qed.metrics.operating_point`.

        Returns
        -------
        OutlierRule
            The rule.
        """
        known = np.asarray(is_outlier)
        if known.dtype != np.bool_ or known.all() or not known.any():
            raise InvalidData(
                "is_outlier must hold true and false, both of them: they are what thresholds are judged by."
            )
        scores = _scores(density, X)
        point = operating_point(known, -scores, maximize=maximize)
        # outliers are at or below minus the threshold of the curve: strictly below the next larger number
        return cls(density, float(np.nextafter(-point.threshold, np.inf)))

    def is_outlier(self, X: Any) -> Array:
        """Tell which rows are outliers.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of bool of shape (n,)
            True where the log-density is below the threshold.
        """
        return np.asarray(_scores(self.density, X) < self.threshold)

    def label(self, classifier: Any, X: Any) -> tuple[Array, Array]:
        """Return the labels of a classifier as they are, and beside them which rows are outliers.

        The density says whether a row is like those it knows, and the classifier, which may be discriminative, says its class.

        Parameters
        ----------
        classifier : estimator
            Fitted, with ``predict``.
        X : array-like of shape (n, p)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n,)
            What the classifier predicts.
        is_outlier : ndarray of bool of shape (n,)
            Rows whose label should not be trusted.
        """
        return np.asarray(classifier.predict(X)), self.is_outlier(X)


def _require_density(density: Any) -> None:
    if not hasattr(density, "score_samples"):
        raise InvalidParameter(
            f"OutlierRule.density must have score_samples, the logarithm of a density, and {type(density).__name__} has not. Pass a"
            " fitted mixture, GaussianNB or QuadraticDiscriminantAnalysis."
        )


def _scores(density: Any, X: Any) -> Array:
    _require_density(density)
    scores = np.asarray(density.score_samples(X), dtype=np.float64)
    if np.isnan(scores).any():
        raise InvalidData("The density returned NaN for a row, so that no threshold can be told.")
    return scores
