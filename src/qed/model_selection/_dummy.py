"""Baselines: predictions that do not look at the columns, for every model to be compared with."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    Probability,
    Regressor,
    Seed,
    _targets,
    fitted,
    generator,
    param,
)
from qed.core._validation import learn_columns

ROUNDING = 2.0**-52


def _count_rows(model: Any, X: Any, y: Any, *, learns: bool = True, reset: bool = True) -> int:
    """Count the rows of whatever X is, and learn its columns if it has any; X itself is not looked at.

    Without X the rows are those of y. A model that ``learns`` without ``reset`` compares the columns with those it knows.
    """
    if X is None:
        if y is None:
            raise InvalidData(f"{type(model).__name__} needs to know how many rows to predict: X is None.")
        return len(y)
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if learns and len(shape) == 2:
        names = list(getattr(X, "columns", ()))
        named = bool(names) and all(isinstance(name, str) for name in names)
        learn_columns(model, int(shape[1]), names if named else None, reset=reset)
    if not shape:
        raise InvalidData(f"{type(model).__name__} needs rows, got the single value {X!r:.100}.")
    return int(shape[0])


def add_up_to_one(model: Any, shares: Array) -> str:  # noqa: ARG001
    """Say what is wrong with the shares of labels."""
    return "" if np.isclose(shares.sum(), 1.0) else f"should add up to 1, and add up to {shares.sum():.6g}"


class DummyClassifier(Classifier, sparse=True, allow_nan=True, strings=True, poor_score=True, validates=False):
    r"""Baseline classifier that ignores the features.

    Objective
    ---------
    ``"most_frequent"``: the fewest mistakes that one label for all rows can make; ``"prior"``: the same label, with the least
    log-loss that one distribution for all rows can have, which is that of the shares
    :math:`\hat p_k = \sum_i s_i 1[y_i = k] / \sum_i s_i`.

    Certificate
    -----------
    ExactCertificate: the shares are those of the labels, up to rounding.

    Cost
    ----
    One pass over y. X is not looked at: words, gaps and sparse tables are as good as any.

    Notes
    -----
    Of equally frequent labels the first in sorted order is predicted.

    Examples
    --------
    >>> from qed.model_selection import DummyClassifier
    >>> model = DummyClassifier().fit([[1.0], [2.0], [3.0]], ["no", "yes", "yes"])
    >>> model.predict([[0.0], [9.0]]).tolist()
    ['yes', 'yes']
    >>> model.predict_proba([[0.0]]).round(2)
    array([[0.33, 0.67]])
    """

    _: KW_ONLY
    strategy: Literal["most_frequent", "prior", "stratified", "uniform", "constant"] = param(
        "prior",
        "'most_frequent' and 'prior' predict the most frequent label, sure of it or with the shares as probabilities;"
        " 'stratified' and 'uniform' draw; 'constant' predicts ``constant``.",
    )
    random_state: Seed = param(None, "Seed of the draws.")
    constant: int | str | bool | Array | None = param(None, "The label to predict with strategy='constant'.")

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    n_classes_: int = fitted("How many labels there are.", low="k", high="k")
    class_prior_: Array = fitted("Share of each label, by weight.", shape="(k,)", low=0, check=add_up_to_one)
    class_count_: Array = fitted("Weight of the rows of each label.", shape="(k,)", low=0, optional=True)
    certificate_: ExactCertificate = fitted("What is proved about the shares.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the labels.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        """
        classes, totals, n_rows = self._counted(X, y, sample_weight)
        self._keep(classes, totals, n_rows)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count the labels of more rows.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        classes : array-like, optional
            All labels there will be; needed in the first call.
        """
        first = "classes_" not in self.__dict__
        if first and classes is None:
            raise InvalidParameter(
                "classes must be passed on the first call to partial_fit: DummyClassifier has to know all labels before it sees the"
                " first row."
            )
        if not first and "class_count_" not in self.__dict__:
            raise InvalidData("This DummyClassifier comes from a file that kept shares and no counts. Fit it again.")
        known = _targets.encode(_targets.as_target(classes, "classes"))[0] if first else self.classes_
        if not first and classes is not None and set(np.asarray(classes).tolist()) != set(known.tolist()):
            raise InvalidParameter(
                f"classes={classes!r:.200} is not the same as in the first call: {known.tolist()!r:.200}."
            )
        is_new = "n_features_in_" not in self.__dict__  # rows may have come without a table
        seen, totals, n_rows = self._counted(X, y, sample_weight, reset=first or is_new)
        order = {label: number for number, label in enumerate(known.tolist())}
        strange = [label for label in seen.tolist() if label not in order]
        if strange:
            raise InvalidData(f"y holds the label {strange[0]!r}, which was not among the classes of the first call.")
        counts = np.zeros(len(known)) if first else self.class_count_.copy()
        counts[[order[label] for label in seen.tolist()]] += totals
        self._keep(known, counts, n_rows + (0 if first else self.certificate_.rows))
        return self

    def _counted(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> tuple[Array, Array, int]:
        """Return the labels that occur, their weights, and the number of rows."""
        self._validate_params()
        if y is None:
            raise InvalidData("This DummyClassifier estimator requires y to be passed, but the target y is None.")
        target = _targets.as_target(y, "y")
        n_rows = _count_rows(self, X, target, reset=reset)
        labels = _targets.labels(target, n_rows, self._traits())
        if not n_rows:
            raise InvalidData("Found array with 0 sample(s): DummyClassifier needs at least one row.")
        classes, codes = _targets.encode(labels)
        weight = _targets.weights(sample_weight, n_rows)
        return classes, np.bincount(codes, weight, minlength=len(classes)).astype(np.float64), n_rows

    def _keep(self, classes: Array, totals: Array, n_rows: int) -> None:
        self.classes_, self.n_classes_ = classes, len(classes)
        self.class_count_, self.class_prior_ = totals, totals / totals.sum()
        if self.strategy == "constant":
            self._chosen()
        self.certificate_ = ExactCertificate("The shares of the labels", n_rows, ROUNDING * n_rows)

    def _chosen(self) -> int:
        """Return the index of the label that all rows get."""
        if self.strategy != "constant":
            return int(self.class_prior_.argmax())
        labels = self.classes_.tolist()
        asked = np.asarray(self.constant).reshape(-1).tolist()
        if self.constant is None or len(asked) != 1 or asked[0] not in labels:
            raise InvalidParameter(
                f"DummyClassifier.constant must be one of the labels {labels!r:.200} with strategy='constant', got"
                f" {self.constant!r}."
            )
        return int(labels.index(asked[0]))

    def _drawn(self, n_rows: int) -> Array:
        """Return the index of a label for each row, drawn from one stream."""
        uniform = self.strategy == "uniform"
        shares = None if uniform else self.class_prior_
        return generator(self.random_state).choice(self.n_classes_, size=n_rows, p=shares)

    def _indices(self, X: Any) -> Array:
        self._check_is_fitted()
        n_rows = _count_rows(self, X, None, learns=False)
        if self.strategy in ("stratified", "uniform"):
            return self._drawn(n_rows)
        return np.full(n_rows, self._chosen())

    def predict(self, X: Any) -> Array:
        """Return a label for each row.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        """
        indices = self._indices(X)
        return np.asarray(self.classes_[indices])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label: the shares, equal ones, or one for the label predicted.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        """
        self._check_is_fitted()
        n_rows = _count_rows(self, X, None, learns=False)
        if self.strategy == "prior":
            return np.tile(self.class_prior_, (n_rows, 1))
        if self.strategy == "uniform":
            return np.full((n_rows, self.n_classes_), 1.0 / self.n_classes_)
        return np.eye(self.n_classes_)[self._indices(X)]

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities; minus infinity for zero.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows, by weight, whose label is predicted.

        Parameters
        ----------
        X : table of n rows, or None
            Not looked at; with None the rows are those of y.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return super().score(np.zeros((len(y), 1)) if X is None else X, y, sample_weight)


class DummyRegressor(
    Regressor, sparse=True, allow_nan=True, strings=True, multi_output=True, poor_score=True, validates=False
):
    r"""Baseline regressor that ignores the features: mean, median, quantile or a constant.

    Objective
    ---------
    ``"mean"``: :math:`\min_c \sum_i s_i (y_i - c)^2`; ``"median"``: :math:`\min_c \sum_i s_i |y_i - c|`; ``"quantile"``: the
    least pinball loss at level ``quantile``. Where a whole interval of numbers is best, its middle.

    Certificate
    -----------
    ExactCertificate: the number is the mean, median or quantile of the targets, up to rounding.

    Cost
    ----
    One pass over y, or one sort. X is not looked at.

    Notes
    -----
    Weights count as repetition. scikit-learn's quantile without weights interpolates between neighbours and so need not
    minimise anything; for the median both agree.

    Examples
    --------
    >>> from qed.model_selection import DummyRegressor
    >>> DummyRegressor(strategy="median").fit([[0.0], [0.0], [0.0]], [1.0, 2.0, 9.0]).predict([[5.0]])
    array([2.])
    """

    _: KW_ONLY
    strategy: Literal["mean", "median", "quantile", "constant"] = param("mean", "Which number to predict.")
    constant: float | Array | None = param(None, "The number with strategy='constant'; one a target.")
    quantile: Probability | None = param(None, "Level of the quantile: 0.5 is the median, 0 the least.")

    constant_: Array = fitted("The number predicted, shape (1, m) for m targets.", shape="(1, n_outputs_)")
    n_outputs_: int = fitted("How many targets there are.", low=1)
    certificate_: ExactCertificate = fitted("What is proved about the number.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the number.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        """
        self._validate_params()
        if y is None:
            raise InvalidData("This DummyRegressor estimator requires y to be passed, but the target y is None.")
        target = _targets.as_target(y, "y")
        n_rows = _count_rows(self, X, target)
        numbers, _ = _targets.read(target, n_rows, self._traits(), type(self).__name__)
        if n_rows == 0:
            raise InvalidData("Found array with 0 sample(s): DummyRegressor needs at least one row.")
        weight = _targets.weights(sample_weight, n_rows)
        s = np.ones(n_rows) if weight is None else weight
        Y = numbers.astype(np.float64).reshape(n_rows, -1)
        self.n_outputs_ = Y.shape[1]
        self.constant_ = self._constants(Y, s).reshape(1, -1)
        self.certificate_ = ExactCertificate(f"The {self.strategy} of the targets", n_rows, ROUNDING * n_rows)
        return self

    def _constants(self, Y: Array, s: Array) -> Array:
        if self.strategy == "mean":
            first = Y[int(s.argmax())]  # a centre that keeps digits
            return np.asarray(first + s @ (Y - first) / s.sum())
        if self.strategy == "constant":
            return self._given(Y.shape[1])
        level = 0.5
        if self.strategy == "quantile":
            if self.quantile is None:
                raise InvalidParameter(
                    "DummyRegressor.quantile must be a number between 0 and 1 with strategy='quantile', got None."
                )
            level = float(self.quantile)
        return np.array([_quantile(column, s, level) for column in Y.T])

    def _given(self, n_targets: int) -> Array:
        if self.constant is None:
            raise InvalidParameter(
                "DummyRegressor.constant must be a number, or one a target, with strategy='constant', got None."
            )
        given = np.asarray(self.constant, dtype=np.float64).reshape(-1)
        if len(given) != n_targets or not np.isfinite(given).all():
            raise InvalidParameter(
                f"Constant target value should have shape ({n_targets}, 1): DummyRegressor.constant holds {given!r:.100}, and"
                f" y has {n_targets} target(s)."
            )
        return given

    def predict(self, X: Any) -> Array:
        """Return the number for each row.

        Parameters
        ----------
        X : table of n rows
            Not looked at.
        """
        self._check_is_fitted()
        n_rows = _count_rows(self, X, None, learns=False)
        if self.n_outputs_ == 1:
            return np.full(n_rows, self.constant_[0, 0])
        return np.tile(self.constant_, (n_rows, 1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², averaged over the targets; at most zero where the mean is that of y.

        Parameters
        ----------
        X : table of n rows, or None
            Not looked at; with None the rows are those of y.

        Returns
        -------
        float
            R².
        """
        return super().score(np.zeros((len(y), 1)) if X is None else X, y, sample_weight)


def _quantile(values: Array, s: Array, level: float) -> float:
    """Return the middle of the numbers that minimise the weighted pinball loss."""
    here = s > 0
    values, s = values[here], s[here]
    order = np.argsort(values, kind="stable")
    below = np.cumsum(s[order])
    at = level * below[-1]
    slack = (
        (len(values) + 16) * ROUNDING * below[-1]
    )  # equality decides between one best number and an interval, and sums round
    low = min(int(np.searchsorted(below, at - slack)), len(values) - 1)
    high = min(low + bool(abs(below[low] - at) <= slack), len(values) - 1)
    return float(values[order[low]] / 2 + values[order[high]] / 2)
