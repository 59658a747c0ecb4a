"""Bagging: copies of one estimator, each on rows and columns of its own drawing."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    NonNegativeInt,
    Number,
    PositiveInt,
    Regressor,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress, guard
from qed.core._jobs import mapped
from qed.core._shared_params import VERBOSE
from qed.ensemble import _kernels
from qed.ensemble._copies import CopiesModel, codes_of, copies_of_codes, copies_with_predict, numbers_of, row_numbers
from qed.ensemble._forest_model import interval_of, number_of_draws
from qed.tree._kernels import Targets
from qed.tree._tree_model import float_like

Share = Annotated[float, Number(low=0, high=1, open_low=True)]
COLUMNS = 2**40  # seeds from this number on draw columns
APART = 2**41  # seeds from this number on draw rows without replacement
TOGETHER = 8  # copies between two looks at Ctrl-C and at the progress


def _one_for_each_copy(model: Any, columns: Array) -> str:
    wanted = len(model.estimators_)
    if len(columns) != wanted:
        return f"should be {wanted}, and are {len(columns)}"
    inside = columns.size > 0 and columns.min() >= 0 and columns.max() < model.n_features_in_
    return "" if inside else f"should be columns below {model.n_features_in_}"


class BaggingModel(CopiesModel):
    """What bagging of labels and of numbers share."""

    estimator: Any = param(None, "What is copied; None for a decision tree.")
    n_estimators: PositiveInt = param(10, "Number of copies.")
    _: KW_ONLY
    max_samples: PositiveInt | Share | None = param(
        1.0, "Rows drawn for each copy: a number, or a share of all; None for as many as there are."
    )
    max_features: PositiveInt | Share = param(1.0, "Columns drawn for each copy: a number, or a share of all.")
    bootstrap: bool = param(True, "Whether rows are drawn with replacement.")
    bootstrap_features: bool = param(False, "Whether columns are drawn with replacement.")
    oob_score: bool = param(
        False, "Whether to judge rows by the copies that have not seen them; needs ``bootstrap=True``."
    )
    warm_start: bool = param(
        False, "Whether to keep the copies of an earlier fit on the same rows, and add the others."
    )
    n_jobs: Any = param(None, "Copies fitted at the same time, in threads.")
    random_state: Seed = param(None, "Seed of the rows and columns that are drawn, and of the copies.")
    verbose: NonNegativeInt = VERBOSE

    estimators_features_: Array = fitted(
        "Columns of each copy.", dtype="int", shape="(t, m)", low=0, check=_one_for_each_copy
    )
    seed_: int = fitted("What everything that was drawn follows from.", low=0)
    certificate_: CompositeCertificate = fitted("The certificates of the copies.")
    oob_score_: float = fitted(
        "Accuracy or R² of the rows that some copy has not seen, by these copies.", optional=True
    )
    oob_error_: float = fitted("Their error rate, or mean squared error.", optional=True, low=0)
    oob_interval_: Array = fitted("Hoeffding's interval of 95 % around that.", optional=True, shape="(2,)", low=0)
    estimators_: list[Any]

    def _drawn(self, n_rows: int, draws: int, weight: Array | None, number: int) -> Array:
        """Return how often each row is drawn for a copy."""
        if self.bootstrap:
            cumulated = None if weight is None else np.cumsum(weight)
            return _kernels.draw_rows(self.seed_, number, draws, n_rows, cumulated)
        bits = _kernels.mix(_kernels.stream(self.seed_, APART + number), n_rows) >> np.uint64(11)
        uniform = (bits.astype(np.float64) + 0.5) * 2.0**-53
        wait = -np.log(uniform) / (1.0 if weight is None else np.where(weight > 0, weight, 1e-300))
        times = np.zeros(n_rows, dtype=np.uint32)
        times[np.argsort(wait, kind="stable")[:draws]] = (
            1  # the first of so many clocks to ring, each at the rate of its weight
        )
        return times

    def _columns(self, n_columns: int, number: int) -> Array:
        given = self.max_features
        many = int(given) if isinstance(given, int | np.integer) else max(1, int(given * n_columns))
        if many > n_columns:
            raise InvalidParameter(f"max_features must be at most the number of columns, {n_columns}, got {many}.")
        keys = _kernels.mix(_kernels.stream(self.seed_, COLUMNS + number), n_columns)
        if self.bootstrap_features:
            return np.asarray((keys[:many] >> np.uint64(11)).astype(np.float64) * 2.0**-53 * n_columns).astype(np.int64)
        return np.sort(np.argsort(keys, kind="stable")[:many]).astype(np.int64)

    def _bag(self, data: Any, target: Array) -> tuple[Any, Array | None, int]:
        """Fit the copies; return the rows as they were drawn from, their weights and how many are drawn."""
        X, n_rows = (data.X.tocsr() if hasattr(data.X, "tocsr") else data.X), data.n_rows
        weight = None if data.weight is None else np.ascontiguousarray(data.weight, dtype=np.float64)
        if weight is not None and not (np.isfinite(weight.sum()) and weight.sum() > 0):
            raise InvalidData("No row has a positive weight, or weights overflow. Give some rows a weight.")
        if self.oob_score and not self.bootstrap:
            raise InvalidParameter("Out of bag estimation only available if bootstrap=True.")
        if self.oob_score and self.warm_start:
            raise InvalidParameter("Out of bag estimate only available if warm_start=False.")
        draws = number_of_draws(self, n_rows, weight)
        if not self.bootstrap:
            draws = min(draws, n_rows if weight is None else int(np.count_nonzero(weight)))
        models = list(self.__dict__.get("estimators_", ())) if data.warm and self.warm_start else []
        if len(models) > self.n_estimators:
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={len(models)} when"
                " warm_start==True. Ask for more copies, or set warm_start=False."
            )
        if not models:
            self.seed_ = int(generator(self.random_state).integers(2**63))

        def learnt(number: int) -> Any:
            rows, columns = row_numbers(self._drawn(n_rows, draws, weight, number)), self._columns(X.shape[1], number)
            return self._copy(self.seed_, number).fit(X[rows][:, columns], target[rows])

        def store() -> None:
            if models:
                self.estimators_ = list(models)
                self.estimators_features_ = np.array([self._columns(X.shape[1], i) for i in range(len(models))])
                self.certificate_ = composite_certificate([(f"copy {i}", one) for i, one in enumerate(models)])

        with Progress(type(self).__name__, total=self.n_estimators, verbose=self.verbose) as progress, guard(store):
            while len(models) < self.n_estimators:
                first = len(models)
                models += mapped(learnt, range(first, min(first + TOGETHER, self.n_estimators)), self.n_jobs)
                if progress.step() is not None:
                    break
        store()
        for name in ("oob_score_", "oob_error_", "oob_interval_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        return X, weight, draws

    def _out_of_bag(self, X: Any, weight: Array | None, draws: int, width: int) -> tuple[Array, Array]:
        """Return the mean of what copies say of rows that they have not seen, NaN where there is none; and which have one."""
        n_rows = X.shape[0]
        sums, judged = np.zeros((n_rows, width)), np.zeros(n_rows)
        for number, model in enumerate(self.estimators_):
            out = np.flatnonzero(self._drawn(n_rows, draws, weight, number) == 0)
            if len(out):
                sums[out] += self._said(model, X[out][:, self.estimators_features_[number]])
                judged[out] += 1
        seen = judged > 0 if weight is None else (judged > 0) & (weight > 0)
        if not seen.any():
            raise InvalidData(
                "Every row is in the sample of every copy, so that none is out of bag. Raise n_estimators."
            )
        return np.where(judged[:, None] > 0, sums / np.maximum(judged, 1)[:, None], np.nan), seen

    def _said(self, model: Any, rows: Any) -> Array:
        raise NotImplementedError

    def _mean(self, rows: Any) -> Array:
        """Return the mean of what all copies say."""
        rows = rows.tocsr() if hasattr(rows, "tocsr") else rows
        said = mapped(
            lambda pair: self._said(pair[0], rows[:, pair[1]]),
            list(zip(self.estimators_, self.estimators_features_, strict=True)),
            self.n_jobs,
        )
        return np.asarray(sum(said) / len(self.estimators_))


class BaggingClassifier(BaggingModel, Classifier):
    """Bagging: mean probabilities or votes of copies of a classifier, each fitted to random rows and columns.

    Objective
    ---------
    That of each copy, on its drawing.

    Certificate
    -----------
    CompositeCertificate: that of every copy, on the rows and columns that its seed draws, which ``qed.verify`` draws again. With
    ``oob_score`` the error rate of rows by the copies that have not seen them is in ``oob_error_``, with Hoeffding's interval.

    Cost
    ----
    The sum of the copies.

    See Also
    --------
    RandomForestClassifier : Trees that draw columns at every node, grown together: much faster than bagged trees.

    Examples
    --------
    >>> from qed.ensemble import BaggingClassifier
    >>> from qed.neighbors import KNeighborsClassifier
    >>> X, y = [[float(i)] for i in range(40)], [i // 20 for i in range(40)]
    >>> model = BaggingClassifier(KNeighborsClassifier(3), oob_score=True, random_state=0).fit(X, y)
    >>> model.predict([[5.0], [35.0]]).tolist(), bool(model.oob_interval_[0] <= model.oob_error_ <= model.oob_interval_[1])
    ([0, 1], True)
    """

    estimators_: list[Any] = fitted("The fitted copies.", check=copies_of_codes)
    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    oob_decision_function_: Array = fitted(
        "What copies that have not seen a row say of it; NaN where all have.",
        optional=True,
        shape="(n, k)",
        nan=True,
    )

    @property
    def n_classes_(self) -> int:
        """Number of labels."""
        self._check_is_fitted()
        return len(self.classes_)

    def _template(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from qed.tree import DecisionTreeClassifier  # noqa: PLC0415

        return DecisionTreeClassifier()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the copies.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            How much more often a row is drawn.
        """
        data = self._fit_data(X, y, sample_weight)
        codes = np.asarray(data.y, dtype=np.int64)
        known = self.__dict__.get("classes_")
        if known is not None and not np.array_equal(known, data.classes):
            self.__dict__.pop("estimators_", None)
        self.classes_ = data.classes
        rows, weight, draws = self._bag(data, codes)
        if self.oob_score:
            said, seen = self._out_of_bag(rows, weight, draws, len(data.classes))
            s = np.ones(len(codes)) if weight is None else weight
            error, low, high = interval_of(
                Targets("gini", len(data.classes), codes, None), said, seen, s, is_class=True
            )
            self.oob_decision_function_, self.oob_score_ = said, 1 - error
            self.oob_error_, self.oob_interval_ = error, np.array([low, high])
        return self

    def _said(self, model: Any, rows: Any) -> Array:
        k = len(self.classes_)
        found = np.zeros((rows.shape[0], k))
        if hasattr(model, "predict_proba"):
            found[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(rows)
        else:
            found[np.arange(len(found)), codes_of(model.predict(rows), len(found), k)] = 1.0
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return the mean of the copies' probabilities, or of their votes if they have none."""
        rows = self._new_data(X)
        return float_like(rows, self._mean(rows))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of ``predict_proba``.

        Returns
        -------
        ndarray of shape (n, k)
            Logarithms; minus infinity for a share of zero.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row."""
        rows = self._new_data(X)
        return np.asarray(self.classes_[self._mean(rows).argmax(axis=1)])


class BaggingRegressor(BaggingModel, Regressor):
    """Bagging: the mean of copies of a regressor, each fitted to random rows and columns.

    Objective
    ---------
    That of each copy, on its drawing.

    Certificate
    -----------
    CompositeCertificate: that of every copy, on the rows and columns that its seed draws, which ``qed.verify`` draws again. With
    ``oob_score`` the squared error of rows by the copies that have not seen them is in ``oob_error_``, with Hoeffding's interval.

    Cost
    ----
    The sum of the copies.

    See Also
    --------
    RandomForestRegressor : Trees that draw columns at every node, grown together: much faster than bagged trees.

    Examples
    --------
    >>> from qed.ensemble import BaggingRegressor
    >>> from qed.linear_model import Ridge
    >>> model = BaggingRegressor(Ridge(), random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> bool(model.predict([[3.0]])[0] > model.predict([[0.0]])[0])
    True
    """

    estimators_: list[Any] = fitted("The fitted copies.", check=copies_with_predict)
    oob_prediction_: Array = fitted(
        "What copies that have not seen a row say of it; NaN where all have.", optional=True, shape="(n,)", nan=True
    )

    def _template(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from qed.tree import DecisionTreeRegressor  # noqa: PLC0415

        return DecisionTreeRegressor()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the copies.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            How much more often a row is drawn.
        """
        data = self._fit_data(X, y, sample_weight)
        target = np.ascontiguousarray(data.y, dtype=np.float64)
        rows, weight, draws = self._bag(data, target)
        if self.oob_score:
            said, seen = self._out_of_bag(rows, weight, draws, 1)
            s = np.ones(len(target)) if weight is None else weight
            error, low, high = interval_of(Targets("squared_error", 1, target, None), said, seen, s, is_class=False)
            mean = s[seen] @ target[seen] / s[seen].sum()
            spread = float(s[seen] @ (target[seen] - mean) ** 2 / s[seen].sum())
            self.oob_prediction_ = said[:, 0]
            self.oob_score_ = 1 - error / spread if spread > 0 else float(error == 0)
            self.oob_error_, self.oob_interval_ = error, np.array([low, high])
        return self

    def _said(self, model: Any, rows: Any) -> Array:
        return numbers_of(model.predict(rows), rows.shape[0])[:, None]

    def predict(self, X: Any) -> Array:
        """Return the mean of what the copies predict.

        Returns
        -------
        ndarray of shape (n,)
            Float32 for float32 rows, float64 otherwise.
        """
        rows = self._new_data(X)
        return float_like(rows, self._mean(rows)[:, 0])
