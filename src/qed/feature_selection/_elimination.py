"""Columns left out one after the other: those that the model of the remaining ones makes least of."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    NonNegativeInt,
    PositiveInt,
    Traits,
    clone,
    fitted,
    param,
)
from qed.core._events import Progress
from qed.core._jobs import mapped
from qed.core._parts import copies_with, traits_of
from qed.core._routing import RoutesToOne
from qed.core._rules import Number
from qed.core._targets import as_target
from qed.feature_selection._importances import importances, require_model
from qed.feature_selection._selector import Selector
from qed.model_selection import check_cv
from qed.model_selection._judge import groups_apart, is_classifier, score_parts, scorer_of, table_for

if TYPE_CHECKING:
    from collections.abc import Callable

Share = Annotated[float, Number(0, 1, open_low=True, open_high=True)]
STEP = "How many columns to leave out at each step; a share below 1 is one of all columns."
GETTER = "Where importances are: 'auto' for coef_ or feature_importances_, the path of an attribute, or a function of the model."


def eliminate(
    estimator: Any,
    X: Any,
    y: Any,
    options: dict[str, Any],
    least: int,
    step: float,
    getter: Any,
    seen: Callable[..., None],
) -> tuple[Array, Any]:
    """Leave out columns until ``least`` remain; return the ranking of all, and the model of those that remain.

    Parameters
    ----------
    estimator : object
        The model; a copy is fitted at every step.
    X, y, options : object
        Rows, targets, and what else goes to ``fit``.
    least : int
        How many columns remain.
    step : float
        How many are left out at once.
    getter : str or callable
        Where importances are.
    seen : callable
        Told the model, the columns and the ranking after every fit.
    """
    p = X.shape[1]
    at_once = int(max(1, step * p)) if 0 < step < 1 else int(step)
    ranking = np.ones(p, dtype=np.int64)
    while True:
        columns = np.flatnonzero(ranking == 1)
        model = clone(estimator)
        model.fit(X[:, columns], y, **options)
        seen(model, columns, ranking)
        if len(columns) <= least:
            return ranking, model
        order = np.argsort(importances(model, getter, 2), kind="stable")  # the sum of squares, up to its root
        gone = columns[order[: min(at_once, len(columns) - least)]]
        ranking[(ranking > 1) | np.isin(np.arange(p), gone)] += 1


def _step(progress: Progress, columns: Array) -> None:
    progress.step(message=f"Fitting estimator with {len(columns)} features.")


class _Elimination(Selector, RoutesToOne):
    """What both share: the columns that are left, and the model of them."""

    estimator: Any
    estimator_: Any
    support_: Array
    ranking_: Array

    def _kept(self) -> Array:
        return self.support_

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Let rows and targets in; targets as they are, since the model reads them itself."""
        require_model(type(self).__name__, self.estimator)
        data = self._fit_data(X, y)
        if data.X.shape[1] < 2:
            raise InvalidData(
                f"Found array with {data.X.shape[1]} feature(s) (shape={data.X.shape}) while a minimum of 2 is required by"
                f" {type(self).__name__}: there is nothing to choose."
            )
        target = as_target(y, "y")
        if target.ndim == 2 and target.shape[1] == 1:
            target = target.reshape(-1)
        return data.X, target

    def _keep(self, ranking: Array, model: Any) -> None:
        self.ranking_, self.estimator_ = ranking, model
        self.support_ = ranking == 1
        owner: Any = self
        owner.n_features_ = int(self.support_.sum())
        owner.certificate_ = composite_certificate([("estimator", model)])

    @property
    def classes_(self) -> Any:
        """The labels of the classifier inside."""
        if "estimator_" not in self.__dict__ or not hasattr(self.estimator_, "classes_"):
            raise AttributeError(
                f"{type(self).__name__} has no classes_: it is not fitted, or its model is no classifier."
            )
        return self.estimator_.classes_

    def _asked(self, method: str) -> Any:
        inner = self.__dict__.get("estimator_", self.estimator)
        if not hasattr(inner, method):
            raise AttributeError(f"{type(inner).__name__} in this {type(self).__name__} has no {method}.")

        def ask(X: Any, *args: Any, **options: Any) -> Any:
            self._check_is_fitted()
            rows = self._new_data(X)[:, np.flatnonzero(self.support_)]
            return getattr(self.estimator_, method)(rows, *args, **options)

        return ask

    @property
    def predict(self) -> Any:
        """Return what the model predicts from the columns that are kept."""
        return self._asked("predict")

    @property
    def predict_proba(self) -> Any:
        """Return the probabilities of the classes; there if the model has them."""
        return self._asked("predict_proba")

    @property
    def predict_log_proba(self) -> Any:
        """Return the logarithms of the probabilities; there if the model has them."""
        return self._asked("predict_log_proba")

    @property
    def decision_function(self) -> Any:
        """Return the scores of the classes; there if the model has them."""
        return self._asked("decision_function")

    def score(self, X: Any, y: Any, **score_params: Any) -> float:
        """Return the score of the model, from the columns that are kept.

        Parameters
        ----------
        y : array-like
            The truth.
        **score_params : object
            Passed to ``score`` of the model.

        Returns
        -------
        float
            As the model scores.
        """
        return float(self._asked("score")(X, y, **score_params))

    def _traits(self) -> Traits:
        own: Traits = super()._traits()
        if self.estimator is None or isinstance(self.estimator, type):
            return own._replace(target="number")
        inner = traits_of(self.estimator)
        return inner._replace(transforms=True, keeps_dtype=own.keeps_dtype, chunks=False)


class RFE(_Elimination):
    """Recursive feature elimination: fit, leave out the least important columns, and repeat.

    Objective
    ---------
    At each step the columns with the smallest squared coefficients or importances go; of equal ones the first.

    Certificate
    -----------
    CompositeCertificate: the model of the remaining columns keeps its own. ``qed.verify`` fits every step again, and compares the
    ranking.

    Cost
    ----
    One fit for each step.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.feature_selection import RFE
    >>> from qed.linear_model import LinearRegression
    >>> X, y = make_regression(100, 5, n_informative=2, noise=1.0, shuffle=False, random_state=0)
    >>> RFE(LinearRegression(), n_features_to_select=2).fit(X, y).ranking_.tolist()[:2]
    [1, 1]
    """

    estimator: Any = param(None, "The model; a copy is fitted at every step.")
    _: KW_ONLY
    n_features_to_select: PositiveInt | Share | None = param(
        None, "How many columns to keep, or which share; None for half."
    )
    step: PositiveInt | Share = param(1, STEP)
    verbose: NonNegativeInt = param(0, "Whether to show each step.")
    importance_getter: Any = param("auto", GETTER)

    n_features_: int = fitted("How many columns are kept.", low=1, high="p")
    support_: Array = fitted("Whether each column is kept.", dtype="bool", shape="(p,)")
    ranking_: Array = fitted("The rank of each column; those kept have 1.", dtype="int64", shape="(p,)", low=1)
    estimator_: Any = fitted("The model of the columns that are kept.", check=copies_with())
    certificate_: CompositeCertificate = fitted("The certificate of the model.")

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Eliminate columns, and fit the model on those that remain.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Targets.
        **fit_params : object
            Passed to ``fit`` of the model.
        """
        fit_params = self._options_inside(fit_params)
        rows, target = self._read(X, y)
        least = self._least(rows.shape[1])
        with Progress("RFE", verbose=self.verbose) as progress:
            ranking, model = eliminate(
                self.estimator,
                rows,
                target,
                fit_params,
                least,
                self.step,
                self.importance_getter,
                lambda _, columns, __: _step(progress, columns),
            )
        self._keep(ranking, model)
        return self

    def _least(self, p: int) -> int:
        wish = self.n_features_to_select
        if wish is None:
            return p // 2
        if isinstance(wish, float):
            return max(int(p * wish), 1)
        if wish > p:
            warnings.warn(
                f"Found n_features_to_select={wish} > n_features={p}. There will be no feature selection and all features will be"
                " kept.",
                UserWarning,
                stacklevel=3,
            )
        return int(wish)


def _has_scores(model: Any, results: Any) -> str:  # noqa: ARG001
    counts = results.get("n_features") if isinstance(results, dict) else None
    if counts is None or "mean_test_score" not in results:
        return "should hold the mean score for each number of columns"
    lengths = {len(value) for value in results.values()}
    return "" if lengths == {len(counts)} else "should hold one entry for each number of columns"


class RFECV(_Elimination):
    """Recursive feature elimination with the number of columns chosen by cross-validation.

    Objective
    ---------
    The number of columns with the largest mean score over the folds, the least of equal ones; then RFE with that number.

    Certificate
    -----------
    CompositeCertificate: the model of the remaining columns keeps its own. ``qed.verify`` fits every step of the final elimination
    again, and checks that the number follows from the scores of the folds, which it does not compute again.

    Cost
    ----
    RFE once for each fold and once for all rows.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.feature_selection import RFECV
    >>> from qed.linear_model import LinearRegression
    >>> X, y = make_regression(100, 5, n_informative=2, noise=1.0, shuffle=False, random_state=0)
    >>> RFECV(LinearRegression()).fit(X, y).support_.tolist()[:2]
    [True, True]
    """

    estimator: Any = param(None, "The model; a copy is fitted at every step.")
    _: KW_ONLY
    step: PositiveInt | Share = param(1, STEP)
    min_features_to_select: PositiveInt = param(1, "The least number of columns.")
    cv: Any = param(None, "Folds: a number, a splitter or pairs of indices; five by default.")
    scoring: Any = param(None, "How to score: a name or a function of (model, X, y); None is the model's own score.")
    verbose: NonNegativeInt = param(0, "Whether to show each step.")
    n_jobs: Any = param(None, "Folds at the same time, in threads; -1 for as many as there are processors.")
    importance_getter: Any = param("auto", GETTER)

    n_features_: int = fitted("How many columns are kept.", low=1, high="p")
    support_: Array = fitted("Whether each column is kept.", dtype="bool", shape="(p,)")
    ranking_: Array = fitted("The rank of each column; those kept have 1.", dtype="int64", shape="(p,)", low=1)
    estimator_: Any = fitted("The model of the columns that are kept.", check=copies_with())
    cv_results_: dict[str, Any] = fitted(
        "Scores, supports and rankings for each number of columns (``n_features``), by fold; mean and standard deviation.",
        answers=False,
        dtype="float64 or int64 or bool",
        finite=False,
        nan=True,
        check=_has_scores,
    )
    certificate_: CompositeCertificate = fitted("The certificate of the model.")

    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_params: Any) -> Self:
        """Choose the number of columns, eliminate the others, and fit the model on those that remain.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Targets.
        groups : array-like of shape (n,), optional
            Groups of rows, for splitters that keep them together.
        **fit_params : object
            Passed to ``fit`` of the model; what has one entry for each row is cut like the rows (``sample_weight``).
        """
        rows, target = self._read(X, y)
        p = rows.shape[1]
        if self.min_features_to_select > p:
            warnings.warn(
                f"Found min_features_to_select={self.min_features_to_select} > n_features={p}. There will be no feature selection"
                " and all features will be kept.",
                UserWarning,
                stacklevel=2,
            )
        fit_params, groups = groups_apart(fit_params, groups)
        scorer = self._scorer()
        table = table_for(self, self.estimator, rows, target, fit_params, {"score": scorer})
        pairs = list(check_cv(self.cv, target, classifier=is_classifier(self.estimator)).split(rows, target, groups))
        least = min(self.min_features_to_select, p)

        def judged(pair: Any) -> list[tuple[int, float, Array]]:
            part, goal, extra = table.rows(pair[0])
            held, truth, _ = table.rows(pair[1])
            options = table.score_options(pair[1]).get("score", {})
            found: list[tuple[int, float, Array]] = []

            def seen(model: Any, columns: Array, ranking: Array) -> None:
                found.append((len(columns), float(scorer(model, held[:, columns], truth, **options)), ranking.copy()))

            eliminate(self.estimator, part, goal, extra, least, self.step, self.importance_getter, seen)
            return found[::-1]

        folds = list(mapped(judged, pairs, self.n_jobs))
        counts = np.array([count for count, _, _ in folds[0]], dtype=np.int64)
        scores = np.array([[score for _, score, _ in fold] for fold in folds])
        best = int(counts[np.argmax(scores.sum(axis=0))])
        self.cv_results_ = {
            "n_features": counts,
            "mean_test_score": scores.mean(axis=0),
            "std_test_score": scores.std(axis=0),
            **{f"split{k}_test_score": one for k, one in enumerate(scores)},
            **{f"split{k}_ranking": np.array([r for _, _, r in fold]) for k, fold in enumerate(folds)},
            **{f"split{k}_support": np.array([r == 1 for _, _, r in fold]) for k, fold in enumerate(folds)},
        }
        with Progress("RFECV", verbose=self.verbose) as progress:
            self._keep(
                *eliminate(
                    self.estimator,
                    rows,
                    target,
                    dict(table.extra),
                    best,
                    self.step,
                    self.importance_getter,
                    lambda _, columns, __: _step(progress, columns),
                )
            )
        return self

    def _routed_parts(self, method: str) -> list[tuple[Any, str]] | None:
        if method != "fit":
            return None
        return [(self.estimator, "fit"), *score_parts(self.estimator, {"score": self._scorer()}).values()]

    def _scorer(self) -> Any:
        return scorer_of("RFECV", self.estimator, self.scoring)
