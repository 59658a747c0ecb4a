"""Greedy choice of columns: one after the other, by the score of unseen rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, InvalidData, InvalidParameter, Traits, fitted, param
from qed.core._jobs import mapped
from qed.core._rules import Choice, Number
from qed.feature_selection._selector import Selector
from qed.model_selection import check_cv
from qed.model_selection._judge import Table, groups_apart, is_classifier, judge, score_parts, scorer_of, table_for
from qed.model_selection._shared import columns_together
from qed.model_selection._subset import countable

Auto = Annotated[str, Choice(("auto",))]
Count = Annotated[int, Number(1, whole=True)]
Share = Annotated[float, Number(0, 1, open_low=True, open_high=True)]


class SequentialFeatureSelector(Selector, min_samples=2):
    """Sequential feature selection, forward or backward: adds or removes one column at a time.

    Objective
    ---------
    At each step the largest mean score over the folds; of equal columns the first.

    Certificate
    -----------
    ExactCertificate: every step took the best column there was. ``qed.verify`` fits and scores every set that was looked at
    once more, one by one.

    Cost
    ----
    One fit for each open column, step and fold, less what the model can share: least squares makes the products of columns
    once a fold, and a set then costs O(k^3 + n k).

    See Also
    --------
    forward_selection : The same search with any score of a set.
    qed.linear_model.BestSubsetRegressor : The best of all sets, for least squares.

    Notes
    -----
    Greedy steps need not end at the best set: two columns that help only together are added by neither forward step.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.feature_selection import SequentialFeatureSelector
    >>> from qed.linear_model import LinearRegression
    >>> X, y = make_regression(100, 6, n_informative=2, noise=1.0, shuffle=False, random_state=0)
    >>> SequentialFeatureSelector(LinearRegression(), n_features_to_select=2).fit(X, y).get_support(indices=True).tolist()
    [0, 1]
    """

    estimator: Any = param(
        None, "The model that sets of columns are judged by; a copy is fitted for every set and fold."
    )
    _: KW_ONLY
    n_features_to_select: Auto | Count | Share = param(
        "auto",
        "How many columns to keep, or which share of them. With 'auto' half of them, or with tol as many as keep helping.",
    )
    tol: float | None = param(
        None,
        "With 'auto', the steps end when the score would rise by less than this; above zero forward, below zero it says what"
        " leaving a column out may cost.",
    )
    direction: Literal["forward", "backward"] = param("forward", "Whether to add columns or to leave them out.")
    scoring: Any = param(None, "How to score: a name or a function of (model, X, y); None is the model's own score.")
    cv: Any = param(5, "Folds: a number, a splitter or pairs of indices; five by default.")
    n_jobs: Any = param(None, "Fits at the same time, in threads; -1 for as many as there are processors.")

    n_features_to_select_: int = fitted("How many columns are kept.", low=1, high="p")
    support_: Array = fitted("Whether each column is kept, shape (p,).", dtype="bool", shape="(p,)")
    order_: Array = fitted(
        "The columns in the order in which they were added, or left out.", dtype="int64", shape="(s,)", low=0, below="p"
    )
    scores_: Array = fitted("The mean score after each of these steps.", shape="(s,)", finite=False, nan=True)
    certificate_: ExactCertificate = fitted("What is proved about the steps.")

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose the columns.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m), optional
            Targets, for models that need them.
        **params : object
            Passed to ``fit`` of the model; what has one entry for each row is cut like the rows (``sample_weight``).
        """
        if self.estimator is None or not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise InvalidParameter(
                f"SequentialFeatureSelector.estimator must be a model with fit, got {self.estimator!r}. Pass an instance, such as"
                " LinearRegression()."
            )
        data = self._fit_data(X, None)
        p = data.X.shape[1]
        if p < 2:
            raise InvalidData(
                f"Found array with {p} feature(s) while a minimum of 2 is required by SequentialFeatureSelector: there is nothing"
                " to choose."
            )
        count = self._count(p)
        judge_sets = self._judge(data.X, y, params)
        grows = self.direction == "forward"
        # half of the columns are half of the steps, in either direction
        steps = count if grows or self.n_features_to_select == "auto" else p - count
        taken: list[int] = []
        scores: list[float] = []
        while len(taken) < steps:
            open_ = [j for j in range(p) if j not in taken]
            found = judge_sets([_set_of(taken, j, p, grows=grows) for j in open_])
            best = int(np.argmax(np.where(np.isnan(found), -np.inf, found)))
            before = scores[-1] if scores else -np.inf
            if self._stops and found[best] - before < float(self.tol or 0.0):
                break
            taken.append(open_[best])
            scores.append(float(found[best]))
        self.support_ = np.isin(np.arange(p), taken) == grows
        self.n_features_to_select_ = int(self.support_.sum())
        self.order_, self.scores_ = np.array(taken, dtype=np.intp), np.array(scores, dtype=np.float64)
        what = f"the best {'column to add' if grows else 'column to leave out'} at each of {len(taken)} steps"
        self.certificate_ = ExactCertificate(what, data.n_rows, 2.0**-40)
        return self

    @property
    def _stops(self) -> bool:
        """Whether the steps end by themselves."""
        return self.tol is not None and self.n_features_to_select == "auto"

    def _count(self, p: int) -> int:
        """Return how many columns shall be kept, or with a tolerance how many steps there are at most."""
        wish = self.n_features_to_select
        if self.tol is not None and self.tol < 0 and self.direction == "forward":
            raise InvalidParameter(
                f"SequentialFeatureSelector.tol must be positive when doing forward selection, got {self.tol!r}: a score that falls"
                " ends the steps anyway. Use direction='backward' to allow a loss."
            )
        if isinstance(wish, str):
            return p - 1 if self._stops else p // 2
        if isinstance(wish, int | np.integer):
            if wish >= p:
                raise InvalidParameter(
                    f"SequentialFeatureSelector.n_features_to_select must be < n_features, got {wish} for {p} columns. Keep fewer."
                )
            return int(wish)
        return int(p * wish)

    def _judge(self, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """Return a function of sets of columns that gives their mean scores."""
        params, groups = groups_apart(params, None)
        folds, scorer = self._folds(X, y, groups), self._scorer()
        table = table_for(self, self.estimator, X, countable(y), params, {"score": scorer})
        together = columns_together(self.estimator, table, folds, scorer)

        def fitted_score(columns: list[int]) -> float:
            return float(np.mean([self._scored(table, columns, pair, scorer) for pair in folds]))

        def score(sets: list[list[int]]) -> Array:
            found = np.full(len(sets), np.nan) if together is None else np.mean(together(sets), axis=1)
            left = np.flatnonzero(np.isnan(found))
            for at, value in zip(left, mapped(fitted_score, [sets[at] for at in left], self.n_jobs), strict=True):
                found[at] = value
            return np.asarray(found)

        return score

    def _folds(self, X: Any, y: Any, groups: Any) -> list[Any]:
        """Return the folds, the same for every set."""
        y = countable(y)
        return list(check_cv(self.cv, y, classifier=is_classifier(self.estimator)).split(X, y, groups))

    def _routed_parts(self, method: str) -> list[tuple[Any, str]] | None:
        if method != "fit":
            return None
        return [(self.estimator, "fit"), *score_parts(self.estimator, {"score": self._scorer()}).values()]

    def _scorer(self) -> Any:
        return scorer_of("SequentialFeatureSelector", self.estimator, self.scoring)

    def _scored(self, table: Table, columns: list[int], pair: Any, scorer: Any) -> float:
        """Fit a copy of the model on some columns of the training rows, and score it."""
        part = replace(table, X=table.X[:, columns])
        one = judge(
            self.estimator, part, pair, {}, {"score": scorer}, error_score="raise", with_train=False, keep=False
        )
        return one.scores["score"]

    def _kept(self) -> Array:
        return self.support_

    def _traits(self) -> Traits:
        traits: Traits = super()._traits()
        own = getattr(self.estimator, "_traits", None)
        return traits if own is None else traits._replace(allow_nan=own().allow_nan)


def _set_of(taken: list[int], more: int, p: int, *, grows: bool) -> list[int]:
    """Return the set of columns after one more step."""
    touched = {*taken, more}
    return sorted(touched) if grows else [j for j in range(p) if j not in touched]
