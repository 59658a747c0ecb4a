"""Classifiers that know how probable rows and labels are together, and by Bayes' rule the labels of given rows."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import _finite
from qed.core._errors import InvalidData, InvalidParameter, QedError
from qed.core._params import fitted
from qed.core._random import generator
from qed.core._roles import Classifier
from qed.core._validation import is_source, learn_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from qed.certificates import LikelihoodCertificate
    from qed.core._params import Array


class Generative(abc.ABC):
    """A classifier with a distribution of rows in each class, from which new ones can be drawn."""

    if TYPE_CHECKING:  # of every classifier
        classes_: Array

        def _check_is_fitted(self) -> None: ...

    @abc.abstractmethod
    def _class_shares(self) -> Array:
        """Return the probability of each class."""

    @abc.abstractmethod
    def _draw(self, code: Any, stream: Generator) -> Array:
        """Draw a row of each class whose number is given."""

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draw rows and labels from the fitted distribution: a label by its probability, then a row of that class.

        Parameters
        ----------
        n_samples : int
            How many rows.
        random_state : int, Generator, RandomState or None
            Seed of the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, p)
            Rows.
        y : ndarray of shape (n_samples,)
            Their labels.
        """
        self._check_is_fitted()
        return drawn(self.classes_, self._class_shares(), n_samples, generator(random_state), self._draw)


def drawn(
    classes: Array, shares: Array, n_samples: int, stream: Generator, draw: Callable[[Any, Generator], Array]
) -> tuple[Array, Array]:
    """Draw labels by their shares, and a row of each."""
    n = whole_number(n_samples, "n_samples")
    try:
        code = stream.choice(len(classes), size=n, p=shares)
        rows = np.asarray(draw(code, stream), dtype=np.float64)
    except QedError:
        raise
    except ValueError as error:  # shares that do not sum to one, rates and variances beyond the range of NumPy
        raise InvalidData(f"The fitted numbers are no distribution that rows can be drawn from: {error}.") from error
    return rows, np.asarray(classes[code])


def whole_number(value: Any, name: str) -> int:
    """Read a number of things to draw."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise InvalidParameter(f"{name} must be an integer >= 0, got {value!r:.100}.")
    return int(value)


class PosteriorClassifier(Classifier):
    """A classifier with a logarithm of the joint probability of a row and each label."""

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    certificate_: LikelihoodCertificate = fitted("What is proved about the parameters.")

    def _joint(self, rows: Any) -> Array:
        """Return log P(row, label), (n, k), float64; minus infinity is a probability of zero."""
        raise NotImplementedError

    def _rescued(self, rows: Any) -> Array:
        """Return the same up to a number for each row, for rows whose joint probabilities all vanish in float64."""
        raise NotImplementedError

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the joint probabilities of each row and each label.

        Parameters
        ----------
        X : array-like or source of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, k)
            Logarithms, in the order of ``classes_``.
        """
        return by_rows(self, X, self._checked_joint)

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row; of equally probable ones the first."""
        if self._is_binary():
            return np.asarray(self.classes_[(by_rows(self, X, self._lead) > 0).astype(np.intp)])
        return np.asarray(self.classes_[by_rows(self, X, self._comparable).argmax(axis=1)])

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, which stay finite where probabilities vanish."""
        if self._is_binary():
            return two_log_shares(by_rows(self, X, self._lead))
        return by_rows(self, X, lambda rows: log_posterior(self._comparable(rows)))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, in the order of ``classes_``."""
        if self._is_binary():
            return two_shares(by_rows(self, X, self._lead))
        return by_rows(self, X, lambda rows: posterior(self._comparable(rows)))

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the probability (or density) of each row, whatever its label: low for outliers.

        Returns
        -------
        ndarray of shape (n,)
            The logarithm of the sum of the joint probabilities.
        """
        joint = by_rows(self, X, self._checked_joint)
        top = joint.max(axis=1)
        level = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(np.exp(joint - level[:, np.newaxis]).sum(axis=1)) - (top - level))

    def _is_binary(self) -> bool:
        self._check_is_fitted()
        return len(self.classes_) == 2

    def _lead(self, rows: Any) -> Array:
        """Return the logarithm of the odds of the second of two classes."""
        joint = self._comparable(rows)
        with np.errstate(over="ignore"):
            return np.asarray(joint[:, 1] - joint[:, 0])

    def _checked_joint(self, rows: Any) -> Array:
        """Return joint logarithms, and refuse rows that are not finite where these show it."""
        with np.errstate(over="ignore", invalid="ignore"):
            joint = self._joint(rows)
        if not np.isfinite(joint).all():
            names = self.__dict__.get("feature_names_in_")
            _finite.require(rows, "X", None if names is None else list(names), type(self).__name__)
        return joint

    def _comparable(self, rows: Any) -> Array:
        """Return logarithms that differ by those of the probabilities: for rows too improbable for float64 as well."""
        joint = self._checked_joint(rows)
        lost = ~(joint.max(axis=1) > -np.inf)
        if lost.any():
            joint[lost] = self._rescued(rows[np.flatnonzero(lost)])
        return joint


def by_rows(model: Any, X: Any, answer: Callable[[Any], Array]) -> Array:
    """Ask about validated rows, chunk by chunk if they come so; answers are float64, logarithms need them."""
    if is_source(X):
        model._check_is_fitted()  # noqa: SLF001
        learn_columns(model, X.schema.n_features, X.schema.names, reset=False)
        return np.concatenate([answer(chunk.X) for chunk in X.chunks()])
    return answer(model._new_data(X, finite=False))  # noqa: SLF001


def log_posterior(joint: Array) -> Array:
    """Return the logarithms of the shares of each row's total, perhaps in place; every row has a finite entry."""
    if joint.shape[1] == 2:
        with np.errstate(over="ignore"):
            return two_log_shares(joint[:, 1] - joint[:, 0])
    joint -= joint.max(axis=1, keepdims=True)
    joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
    return joint


def posterior(joint: Array) -> Array:
    """Return the shares of each row's total, perhaps in place, with one exponential an entry."""
    if joint.shape[1] == 2:
        with np.errstate(over="ignore"):
            return two_shares(joint[:, 1] - joint[:, 0])
    joint -= joint.max(axis=1, keepdims=True)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def two_log_shares(lead: Array) -> Array:
    """Return the logarithms of the probabilities of two classes, from the lead of the second: one exponential a row."""
    shares = np.empty((len(lead), 2))
    rest = np.log1p(np.exp(-np.abs(lead)))
    np.subtract(-np.maximum(lead, 0), rest, out=shares[:, 0])
    np.subtract(np.minimum(lead, 0), rest, out=shares[:, 1])
    return shares


def two_shares(lead: Array) -> Array:
    """Return the probabilities of two classes, from the lead of the second; the smaller one keeps all its digits."""
    shares = np.empty((len(lead), 2))
    small = np.exp(-np.abs(lead))
    large = 1 / (1 + small)
    small *= large
    ahead = lead > 0
    shares[:, 0] = np.where(ahead, small, large)
    shares[:, 1] = np.where(ahead, large, small)
    return shares


def given_shares(owner: str, name: str, given: Any, n_classes: int) -> Array:
    """Read prior probabilities of the classes, which must be as many as there are classes, and sum to one."""
    shares = np.array(given, dtype=np.float64)
    if shares.shape != (n_classes,):
        raise InvalidParameter(
            f"Number of priors must match number of classes: {owner}.{name} holds {shares.size}, and there are"
            f" {n_classes} classes."
        )
    if (shares < 0).any():
        raise InvalidParameter(f"Priors must be non-negative: {owner}.{name} is {shares.tolist()!r:.200}.")
    if not abs(shares.sum() - 1) <= 1e-8:
        raise InvalidParameter(f"The sum of the priors should be 1: that of {owner}.{name} is {shares.sum():.10g}.")
    return shares
