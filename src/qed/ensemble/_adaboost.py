"""AdaBoost: copies of one estimator, each of which looks harder at the rows that those before it got wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidData,
    InvalidParameter,
    Positive,
    PositiveInt,
    Regressor,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress, guard
from qed.core._parts import accepts_weight
from qed.ensemble import _kernels
from qed.ensemble._copies import (
    CopiesModel,
    codes_of,
    copies_of_codes,
    copies_with_predict,
    numbers_of,
    row_numbers,
    whole_total,
)
from qed.tree._tree_model import float_like

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALLEST = float(np.finfo(np.float64).eps)  # of a share of the weight: no row is forgotten


def _one_for_each_copy(model: Any, numbers: Array) -> str:
    wanted = len(model.estimators_)
    return "" if len(numbers) == wanted else f"should be {wanted}, and are {len(numbers)}"


class AdaBoostModel(CopiesModel):
    """What AdaBoost of labels and of numbers share: rounds, and how much each counts."""

    estimator: Any = param(None, "What is copied; None for a small tree.")
    _: KW_ONLY
    n_estimators: PositiveInt = param(50, "Most rounds; fewer if one is perfect, or no better than chance.")
    learning_rate: Positive = param(1.0, "What the weight of every round is multiplied by.")
    random_state: Seed = param(None, "Seed of the copies, and of rows that are drawn.")

    estimator_weights_: Array = fitted("How much each copy counts.", shape="(t,)", low=0, check=_one_for_each_copy)
    estimator_errors_: Array = fitted("Weighted error of each copy in its round.", shape="(t,)", low=0, high=1)
    seed_: int = fitted("What everything that was drawn follows from.", low=0)
    certificate_: CompositeCertificate = fitted("The certificates of the copies.")
    estimators_: list[Any]

    @property
    def feature_importances_(self) -> Array:
        """Importances of the columns, averaged over the copies by their weights; there if the copies have them."""
        self._check_is_fitted()
        if not all(hasattr(one, "feature_importances_") for one in self.estimators_):
            raise AttributeError("The estimator has no feature_importances_.")
        found = np.array([one.feature_importances_ for one in self.estimators_])
        return np.asarray(self.estimator_weights_ @ found / self.estimator_weights_.sum())

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the score after each round.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows.
        y : array-like of shape (n,)
            Their targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Yields
        ------
        float
            Accuracy, or R².
        """
        from qed.metrics import accuracy_score, r2_score  # noqa: PLC0415  (who asks for scores needs them)

        score = accuracy_score if isinstance(self, Classifier) else r2_score
        for said in self.staged_predict(X):  # type: ignore[attr-defined]
            yield float(score(y, said, sample_weight=sample_weight))

    def _rounds(self, data: Any, step: Any) -> None:
        """Go round after round; ``step(number, share)`` returns a copy, its error, its weight and new shares, or None."""
        self.seed_ = int(generator(self.random_state).integers(2**63))
        s = np.ones(data.n_rows) if data.weight is None else data.weight.astype(np.float64)
        if not (np.isfinite(s.sum()) and s.sum() > 0):
            raise InvalidData("No row has a positive weight, or weights overflow. Give some rows a weight.")
        share, used = s / s.sum(), s > 0
        models: list[Any] = []
        weights: list[float] = []
        errors: list[float] = []

        def store() -> None:
            if models:
                self.estimators_ = list(models)
                self.estimator_weights_, self.estimator_errors_ = np.array(weights), np.array(errors)
                self.certificate_ = composite_certificate([(f"round {i}", one) for i, one in enumerate(models)])

        with Progress(type(self).__name__, total=self.n_estimators) as progress, guard(store):
            for number in range(self.n_estimators):
                share = np.where(used, np.maximum(share, SMALLEST), 0.0)
                found = step(number, share)
                if found is None:
                    break
                model, error, weight, share = found
                models.append(model)
                errors.append(error)
                weights.append(weight)
                total = share.sum()
                if error <= 0 or not (np.isfinite(total) and total > 0) or progress.step(value=error) is not None:
                    break
                share = share / total
        if not models:
            raise InvalidData(
                f"The first copy of {type(self).__name__} is no better than chance, so that there is nothing to boost. Use an"
                " estimator that learns these rows."
            )
        store()


class AdaBoostClassifier(AdaBoostModel, Classifier):
    r"""AdaBoost (SAMME): weighted votes of copies of a classifier, each fitted with more weight on the rows misclassified before.

    Objective
    ---------
    .. math:: \min_{f = \sum_t w_t h_t} \; \sum_i s_i \exp\left(-\tfrac{1}{2} y_i f(x_i)\right)

    greedily, round by round, for two labels ±1; the weight of a round of error ε is log((1 - ε)/ε) + log(k - 1) for k labels,
    times the learning rate.

    Certificate
    -----------
    CompositeCertificate: that of every copy, on its weights, which ``qed.verify`` derives again from the errors of those before it.
    For two labels ``training_error_`` is at most ``error_bound_``, the product of 2√(ε(1 - ε)) over rounds, at learning rate one.

    Cost
    ----
    The sum of the copies, and O(n) a round.

    See Also
    --------
    GradientBoostingClassifier : With loss='exponential' it lowers the same loss.

    Examples
    --------
    >>> from qed.ensemble import AdaBoostClassifier
    >>> X, y = [[float(i)] for i in range(9)], [0, 0, 0, 1, 1, 1, 0, 0, 0]
    >>> model = AdaBoostClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y), bool(model.training_error_ <= model.error_bound_)
    (1.0, True)
    """

    algorithm: Literal["SAMME", "deprecated"] = param("deprecated", "SAMME, the only one there is.", kind="hint")

    estimators_: list[Any] = fitted("The fitted copies.", check=copies_of_codes)
    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    training_error_: float = fitted(
        "Share of the weight of the rows of the fit that is predicted wrong.", low=0, high=1
    )
    error_bound_: float = fitted("What theory says it is at most, for two labels; one for more.", low=0, high=1)

    @property
    def n_classes_(self) -> int:
        """Number of labels."""
        self._check_is_fitted()
        return len(self.classes_)

    def _template(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from qed.tree import DecisionTreeClassifier  # noqa: PLC0415

        return DecisionTreeClassifier(max_depth=1)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit copy after copy."""
        data = self._fit_data(X, y, sample_weight)
        codes = np.asarray(data.y, dtype=np.int64)
        self.classes_, k = data.classes, len(data.classes)
        if not accepts_weight(self._template()):
            raise InvalidParameter(
                f"{type(self._template()).__name__} doesn't support sample_weight. Choose one that does."
            )
        wrongs = []

        def step(number: int, share: Array) -> Any:
            model = self._copy(self.seed_, number).fit(data.X, codes, sample_weight=share)
            wrong = codes_of(model.predict(data.X), len(codes), k) != codes
            error = float(share @ wrong / share.sum())
            if error > 0 and error >= 1 - 1 / k:
                return None
            wrongs.append(wrong)
            weight = 1.0
            if error > 0:
                weight = float(self.learning_rate * (np.log((1 - error) / error) + np.log(k - 1)))
            return model, error, weight, share * np.exp(weight * wrong)

        self._rounds(data, step)
        s = np.ones(len(codes)) if data.weight is None else data.weight
        said = self._decisions(data.X)[-1]
        guess = said.argmax(axis=1) if k > 1 else np.zeros(len(codes), dtype=np.intp)
        self.training_error_ = float(s @ (guess != codes) / s.sum())
        self.error_bound_ = 1.0
        if k == 2:
            e, half = self.estimator_errors_, self.estimator_weights_ / 2
            self.error_bound_ = float(min(1.0, np.prod((1 - e) * np.exp(-half) + e * np.exp(half))))
        return self

    def _decisions(self, rows: Any, *, staged: bool = False) -> list[Array]:
        """Return the votes of the labels, each between -1/(k-1) and 1, after the last round or after each."""
        k, n_rows = len(self.classes_), rows.shape[0]
        votes, total, found = np.zeros((n_rows, k)), 0.0, []
        for model, weight in zip(self.estimators_, self.estimator_weights_.tolist(), strict=True):
            own = np.full((n_rows, k), -weight / (k - 1) if k > 1 else weight)
            own[np.arange(n_rows), codes_of(model.predict(rows), n_rows, k)] = weight
            votes, total = votes + own, total + weight
            if staged:
                found.append(votes / total)
        return found or [votes / total]

    def _shown(self, votes: Array) -> Array:
        if len(self.classes_) == 1:
            return np.zeros(len(votes))
        return votes[:, 1] - votes[:, 0] if len(self.classes_) == 2 else votes

    def decision_function(self, X: Any) -> Array:
        """Return the votes of the labels, divided by the weight of all rounds.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            For two labels, one number: positive for the second.
        """
        rows = self._new_data(X)
        return float_like(rows, self._shown(self._decisions(rows)[-1]))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the votes after each round.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n,) or (n, k)
            Votes.
        """
        rows = self._new_data(X)
        for votes in self._decisions(rows, staged=True):
            yield float_like(rows, self._shown(votes))

    def _probabilities(self, votes: Array) -> Array:
        k = len(self.classes_)
        if k == 1:
            return np.ones((len(votes), 1))
        half = self._shown(votes)[:, None] / 2 * np.array([-1.0, 1.0]) if k == 2 else votes / (k - 1)
        apart = np.exp(half - half.max(axis=1, keepdims=True))
        return np.asarray(apart / apart.sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Array:
        """Return shares of the labels: exponentials of their votes."""
        rows = self._new_data(X)
        return float_like(rows, self._probabilities(self._decisions(rows)[-1]))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield shares of the labels after each round.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n, k)
            Shares.
        """
        rows = self._new_data(X)
        for votes in self._decisions(rows, staged=True):
            yield float_like(rows, self._probabilities(votes))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> Array:
        """Return the label of most votes."""
        rows = self._new_data(X)
        return np.asarray(self.classes_[self._decisions(rows)[-1].argmax(axis=1)])

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the label of most votes after each round.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n,)
            Labels.
        """
        for votes in self._decisions(self._new_data(X), staged=True):
            yield np.asarray(self.classes_[votes.argmax(axis=1)])


class AdaBoostRegressor(AdaBoostModel, Regressor):
    r"""AdaBoost.R2: weighted median of copies of a regressor, each fitted to rows drawn by the errors of those before it.

    Objective
    ---------
    That of each copy, on n rows drawn with replacement in proportion to their weights; weights that are whole numbers stand for as
    many rows, also in n. A round of mean loss ε, each loss divided by
    the largest, multiplies the weight of a row of loss l by :math:`\beta^{1 - l}`, where
    :math:`\beta = \varepsilon / (1 - \varepsilon)`,
    and counts :math:`\log(1/\beta)`, both to the power of, or times, the learning rate.

    Certificate
    -----------
    CompositeCertificate: that of every copy, on the rows that its seed draws by weights which ``qed.verify`` derives again.

    Cost
    ----
    The sum of the copies, and O(n log n) a round; a prediction sorts what the copies say.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.ensemble import AdaBoostRegressor
    >>> X, y = make_regression(n_samples=200, n_features=3, random_state=0)
    >>> bool(AdaBoostRegressor(random_state=0).fit(X, y).score(X, y) > 0.8)
    True
    """

    loss: Literal["linear", "square", "exponential"] = param(
        "linear", "Loss of a row, of its share l of the largest error: l, l², or 1 - exp(-l)."
    )

    estimators_: list[Any] = fitted("The fitted copies.", check=copies_with_predict)

    def _template(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from qed.tree import DecisionTreeRegressor  # noqa: PLC0415

        return DecisionTreeRegressor(max_depth=3)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit copy after copy."""
        data = self._fit_data(X, y, sample_weight)
        target, n_rows = np.ascontiguousarray(data.y, dtype=np.float64), data.n_rows
        X_rows = data.X.tocsr() if hasattr(data.X, "tocsr") else data.X
        draws = whole_total(data.weight, n_rows)

        def step(number: int, share: Array) -> Any:
            times = _kernels.draw_rows(self.seed_, number, draws, n_rows, np.cumsum(share))
            rows = row_numbers(times)
            model = self._copy(self.seed_, number).fit(X_rows[rows], target[rows])
            off = np.abs(numbers_of(model.predict(X_rows), len(target)) - target)
            used = share > 0
            most = float(off[used].max(initial=0.0))
            loss = off / most if most > 0 else off
            if self.loss != "linear":
                loss = loss**2 if self.loss == "square" else -np.expm1(-loss)
            error = float(share[used] @ loss[used] / share.sum())
            if error <= 0:
                return model, 0.0, 1.0, share
            if error >= 0.5:
                # a first copy is kept even so, alone, as in scikit-learn
                return (model, error, 0.0, np.zeros(n_rows)) if number == 0 else None
            beta = error / (1 - error)
            factor = np.where(used, beta ** ((1 - np.minimum(loss, 1.0)) * self.learning_rate), 0.0)
            return model, error, float(-self.learning_rate * np.log(beta)), share * factor

        self._rounds(data, step)
        return self

    def _medians(self, rows: Any, *, staged: bool) -> Iterator[Array]:
        said = np.column_stack([numbers_of(one.predict(rows), rows.shape[0]) for one in self.estimators_])
        for last in range(1 if staged else said.shape[1], said.shape[1] + 1):
            order = np.argsort(said[:, :last], axis=1)  # of equal predictions any order gives the same median
            reached = np.cumsum(self.estimator_weights_[:last][order], axis=1)
            place = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
            at = np.arange(len(said))
            yield said[at, order[at, place]]

    def predict(self, X: Any) -> Array:
        """Return the weighted median of what the copies predict.

        Returns
        -------
        ndarray of shape (n,)
            Float32 for float32 rows, float64 otherwise.
        """
        rows = self._new_data(X)
        return float_like(rows, next(self._medians(rows, staged=False)))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the weighted median after each round.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p)
            Rows with the columns of the fit.

        Yields
        ------
        ndarray of shape (n,)
            Predictions.
        """
        rows = self._new_data(X)
        for said in self._medians(rows, staged=True):
            yield float_like(rows, said)
