"""Five small models, one per role, and one of two roles: enough to exercise everything that core promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    Clusterer,
    NonNegative,
    Number,
    OutlierDetector,
    PositiveInt,
    Regressor,
    Seed,
    Transformer,
    Vector,
    fitted,
    generator,
    param,
)

if TYPE_CHECKING:
    from qed.core import FitData


def _ones_if_none(data: FitData) -> Array:
    return np.ones(data.n_rows) if data.weight is None else data.weight


class MeanRegressor(Regressor, sparse=True, multi_output=True, poor_score=True):
    """Predicts the mean of the target, drawn towards zero.

    Objective
    ---------
    sum_i s_i (y_i - m)^2 + alpha m^2

    Examples
    --------
    >>> MeanRegressor().fit([[0.0], [1.0]], [1.0, 3.0]).mean_
    2.0
    """

    alpha: NonNegative | Vector = param(0.0, "Strength of the pull towards zero.")
    _: KW_ONLY
    solver: Literal["auto", "sum"] = param("auto", "Solver asked for. There is only one way to sum.", kind="hint")
    positive: bool = param(
        False, "Whether the mean must be positive.", kind="refused", instead="Use sklearn.linear_model.Ridge."
    )
    warm_start: bool = param(False, "Whether to go on from the last fit.")

    mean_: Array = fitted("The predicted value, one per target.")
    was_warm_: bool = fitted("Whether the last fit went on from an earlier one.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        data = self._fit_data(X, y, sample_weight)
        self.was_warm_ = data.warm
        return self._add(data, 0.0, 0.0)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        first = not self.__sklearn_is_fitted__()
        data = self._fit_data(X, y, sample_weight, reset=first)
        return self._add(data, 0.0 if first else self._sum, 0.0 if first else self._weight)

    def _add(self, data: FitData, total: Any, weight: float) -> Self:
        s = _ones_if_none(data)
        self._sum, self._weight = total + s @ data.y, weight + s.sum()
        self.mean_ = self._sum / (self._weight + np.asarray(self.alpha))
        return self

    def predict(self, X: Any) -> Array:
        X = self._new_data(X)
        return np.full((X.shape[0], *np.shape(self.mean_)), self.mean_)


class CentroidClassifier(Classifier):
    """Predicts the label whose mean is nearest."""

    classes_: Array = fitted("The labels.")
    centroids_: Array = fitted("The mean of each label.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        data = self._fit_data(X, y, sample_weight)
        s = _ones_if_none(data)
        counted = np.zeros((len(data.classes), data.n_rows))
        counted[data.y, np.arange(data.n_rows)] = s
        present = counted.sum(axis=1) > 0  # a label of weight zero is a label that is not there
        counted = counted[present]
        self.classes_ = data.classes[present]
        self.centroids_ = (counted @ data.X) / counted.sum(axis=1, keepdims=True)
        return self

    def _closeness(self, X: Any) -> Array:
        return -((self._new_data(X)[:, None, :] - self.centroids_) ** 2).sum(axis=2)

    def decision_function(self, X: Any) -> Array:
        closeness = self._closeness(X)
        return closeness[:, 1] - closeness[:, 0] if len(self.classes_) == 2 else closeness

    def predict_proba(self, X: Any) -> Array:
        closeness = self._closeness(X)
        odds = np.exp(closeness - closeness.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Array:
        nearest = self._closeness(X).argmax(axis=1)
        return self.classes_[nearest]


class LinearClassifier(Classifier):
    """Least squares on labels written as 1 and -1, one column for each label."""

    class_weight: dict[Any, float] | Literal["balanced"] | None = param(None, "Weight of each label.")

    classes_: Array = fitted("The labels.")
    coef_: Array = fitted("Coefficients, one row for each label, or one row for two labels.")
    intercept_: Array = fitted("Intercepts.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        data = self._fit_data(X, y, sample_weight)
        s = _ones_if_none(data)
        mass = np.bincount(data.y, weights=s, minlength=len(data.classes))
        kept = np.flatnonzero(mass > 0)  # a label of weight zero is a label that is not there
        if self.class_weight == "balanced":
            factor = np.divide(s.sum(), len(kept) * mass, out=np.zeros(len(mass)), where=mass > 0)
        else:
            factor = np.array([(self.class_weight or {}).get(label, 1.0) for label in data.classes.tolist()])
        s = s * factor[data.y]
        signs = np.where(data.y[:, None] == kept, 1.0, -1.0)
        self.classes_ = data.classes[kept]
        if len(kept) == 2:
            signs = signs[:, 1:]
        A = np.column_stack([data.X, np.ones(data.n_rows)]).astype(np.float64)
        gram = (A.T * s) @ A + 1e-3 * s.sum() * np.eye(A.shape[1])
        solution = np.linalg.solve(gram, (A.T * s) @ signs)
        self.coef_, self.intercept_ = solution[:-1].T, solution[-1]
        return self

    def decision_function(self, X: Any) -> Array:
        X = self._new_data(X)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


class Centre(Transformer):
    """Takes the mean of each column away."""

    mean_: Array = fitted("The mean of each column.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        data = self._fit_data(X, y, sample_weight)
        self.mean_ = np.average(data.X, axis=0, weights=data.weight)
        return self

    def transform(self, X: Any) -> Array:
        X = self._new_data(X)
        return X - self.mean_.astype(X.dtype)

    def inverse_transform(self, X: Any) -> Array:
        X = self._new_data(X)
        return X + self.mean_.astype(X.dtype)


class RandomColumns(Transformer, sparse=True, keeps_dtype=False):
    """Mixes the columns at random."""

    n_components: PositiveInt = param(2, "Number of columns that come out.")
    random_state: Seed = param(None, "Seed or generator of the mixture.")

    components_: Array = fitted("The mixture.")

    def fit(self, X: Any, y: Any = None) -> Self:
        data = self._fit_data(X, y)
        self.components_ = generator(self.random_state).standard_normal((data.X.shape[1], self.n_components))
        return self

    def transform(self, X: Any) -> Array:
        return np.asarray(self._new_data(X) @ self.components_)

    def _n_features_out(self) -> int:
        return self.components_.shape[1]


class Groups(Clusterer, Transformer, keeps_dtype=False):
    """Moves centres, started far apart, to the means of what is nearest to them."""

    n_clusters: PositiveInt = param(3, "Number of groups.")
    max_iter: PositiveInt = param(100, "Most rounds to make.")

    labels_: Array = fitted("The group of each row.")
    centres_: Array = fitted("The centres.")
    n_iter_: int = fitted("Rounds made.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        data = self._fit_data(X, y, sample_weight)
        s = _ones_if_none(data)
        X = data.X.astype(np.float64)
        live = X[s > 0]
        far = [live[((live - np.average(X, axis=0, weights=s)) ** 2).sum(axis=1).argmax()]]
        while len(far) < min(self.n_clusters, len(live)):
            far.append(live[((live[:, None] - np.array(far)) ** 2).sum(axis=2).min(axis=1).argmax()])
        self.centres_ = np.array(far)
        for self.n_iter_ in range(1, self.max_iter + 1):  # noqa: B020
            near = self._distances(X).argmin(axis=1)
            moved = self.centres_.copy()
            for k in range(len(moved)):
                if s[near == k].sum() > 0:
                    moved[k] = np.average(X[near == k], axis=0, weights=s[near == k])
            if np.array_equal(moved, self.centres_):
                break
            self.centres_ = moved
        self.labels_ = self._distances(X).argmin(axis=1).astype(np.int32)
        return self

    def _distances(self, X: Array) -> Array:
        return np.sqrt(((X[:, None] - self.centres_) ** 2).sum(axis=2))

    def transform(self, X: Any) -> Array:
        return self._distances(self._new_data(X))

    def predict(self, X: Any) -> Array:
        return self._distances(self._new_data(X)).argmin(axis=1).astype(np.int32)

    def _n_features_out(self) -> int:
        return len(self.centres_)


class FarFromMean(OutlierDetector):
    """Calls the rows that are farthest from the mean outliers."""

    contamination: Annotated[float, Number(0, 0.5, open_low=True)] = param(0.1, "Share of outliers.")

    mean_: Array = fitted("The mean.")
    offset_: float = fitted("Scores below this are outliers.")

    def fit(self, X: Any, y: Any = None) -> Self:
        data = self._fit_data(X)
        self.mean_ = data.X.mean(axis=0)
        self.offset_ = float(np.percentile(self._scores(data.X), 100 * self.contamination))
        return self

    def _scores(self, X: Array) -> Array:
        return -np.sqrt(((X - self.mean_) ** 2).sum(axis=1))

    def score_samples(self, X: Any) -> Array:
        return self._scores(self._new_data(X))

    def decision_function(self, X: Any) -> Array:
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        return np.where(self.decision_function(X) < 0, -1, 1)


ALL = (MeanRegressor, CentroidClassifier, LinearClassifier, Centre, RandomColumns, Groups, FarFromMean)
