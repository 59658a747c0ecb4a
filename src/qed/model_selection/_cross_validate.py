"""Cross-validation: a learning algorithm judged on rows it has not seen, fold by fold."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import FitFailedWarning, InvalidData, InvalidParameter, clone
from qed.core._events import STOP, Progress
from qed.core._jobs import mapped
from qed.core._validation import is_source
from qed.model_selection._choice_of_folds import check_cv
from qed.model_selection._judge import Judged, fitted_to, groups_apart, is_classifier, judge, scorers_of, table_for
from qed.model_selection._shared import judged_together
from qed.model_selection._splitter import count_rows
from qed.model_selection._subset import cut_folds, rows_and_targets

if TYPE_CHECKING:
    from collections.abc import Sequence


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",  # noqa: ARG001
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Fit on each training part and score on each test part.

    Parameters
    ----------
    estimator : estimator
        Of qed or scikit-learn; it is copied, never fitted itself.
    X : array-like, frame or sparse container of n rows, or a source from ``qed.scan``
        Rows. Folds of a source are read from it, and its targets and predictions are gathered.
    y : array-like of shape (n,) or (n, m), optional
        Targets.
    groups : array-like of shape (n,), optional
        Which rows belong together.
    scoring : None, str, callable, sequence of str, or dict
        How to score; None is the estimator's own ``score``.
    cv : None, int, splitter or iterable
        Folds; five by default, stratified for classifiers.
    n_jobs : int, optional
        Folds at the same time, in threads; -1 for as many as there are processors.
    verbose : int
        Whether to show progress.
    params : dict, optional
        Passed to ``fit``; what has one entry for each row is cut like the rows (``sample_weight``). With metadata routing
        (`qed.set_config`) model and scorers get what they ask for, and ``groups`` the splitter.
    pre_dispatch : object
        A hint that means nothing here: tasks are light.
    return_train_score, return_estimator, return_indices : bool
        What else to return.
    error_score : "raise" or number
        What a failing fit scores.

    Returns
    -------
    dict of str to ndarray
        ``test_score`` (or ``test_<name>``), ``fit_time``, ``score_time`` and what else was asked for.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import Ridge
    >>> from qed.model_selection import cross_validate
    >>> X, y = make_regression(n_samples=60, n_features=3, noise=1.0, random_state=0)
    >>> cross_validate(Ridge(), X, y, cv=3)["test_score"].round(2)
    array([1., 1., 1.])
    """
    X, y = rows_and_targets(X, y, classifier=is_classifier(estimator))
    scorers, several = scorers_of(estimator, scoring)
    require_error_score(error_score)
    params, groups = groups_apart(params, groups)
    folds = cut_folds(X, check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    require_folds(folds)
    table = table_for("cross_validate", estimator, X, y, params, scorers)
    judged: Sequence[Judged] | None = None
    if not return_train_score and not return_estimator:
        together = judged_together(estimator, table, folds, [{}], scorers)
        judged = None if together is None else together[0]
    if judged is None:
        options = {"error_score": error_score, "with_train": return_train_score, "keep": return_estimator}
        tasks = [partial(judge, estimator, table, pair, {}, scorers, **options) for pair in folds]
        judged = followed(tasks, n_jobs, "cross-validation", verbose, pure=not is_source(X))
    report_failures(judged, error_score)
    results: dict[str, Any] = {
        "fit_time": np.array([one.fit_time for one in judged]),
        "score_time": np.array([one.score_time for one in judged]),
    }
    if return_estimator:
        results["estimator"] = [one.estimator for one in judged]
    if return_indices:
        results["indices"] = {"train": [train for train, _ in folds], "test": [test for _, test in folds]}
    for name in scorers:
        results[f"test_{name}" if several else "test_score"] = np.array([one.scores[name] for one in judged])
        if return_train_score:
            values = [np.nan if one.train_scores is None else one.train_scores[name] for one in judged]
            results[f"train_{name}" if several else "train_score"] = np.array(values)
    return results


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the score of each test part.

    Parameters
    ----------
    estimator, X, y, groups, scoring, cv, n_jobs, verbose, params, pre_dispatch, error_score : object
        As for `cross_validate`, with one score.

    Returns
    -------
    ndarray of shape (folds,)
        The scores.
    """
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise InvalidParameter(f"cross_val_score takes one score, got {scoring!r}. Use cross_validate for several.")
    results = cross_validate(
        estimator,
        X,
        y,
        groups=groups,
        scoring=scoring,
        cv=cv,
        n_jobs=n_jobs,
        verbose=verbose,
        params=params,
        pre_dispatch=pre_dispatch,
        error_score=error_score,
    )
    scores: np.ndarray[Any, np.dtype[np.float64]] = results["test_score"]
    return scores


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",  # noqa: ARG001
    method: str = "predict",
) -> Any:
    """Return, for each row, what a model says that has not seen it.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, verbose, params, pre_dispatch : object
        As for `cross_validate`; every row must be tested once.
    method : str
        The method to ask: ``"predict"``, ``"predict_proba"``, ``"predict_log_proba"`` or ``"decision_function"``.

    Returns
    -------
    ndarray
        Predictions, in the order of the rows.
    """
    X, y = rows_and_targets(X, y, classifier=is_classifier(estimator))
    n = count_rows(X, y)
    params, groups = groups_apart(params, groups)
    folds = cut_folds(X, check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    require_folds(folds)
    order = np.concatenate([test for _, test in folds])
    if len(order) != n or len(np.unique(order)) != n:
        raise InvalidData(
            "cross_val_predict only works for partitions: every row must be tested exactly once. Use KFold, or another splitter"
            " that does so."
        )
    table = table_for("cross_val_predict", estimator, X, y, params, {})
    classes = None if method == "predict" or y is None else np.unique(np.asarray(y))

    def predicted(pair: Any) -> Any:
        model = clone(estimator)
        X_train, y_train, extra = table.rows(pair[0])
        fitted_to(model, X_train, y_train, extra)
        answers = np.asarray(getattr(model, method)(table.rows(pair[1])[0]))
        return answers if classes is None else by_class(answers, model, classes, method)

    tasks = [partial(predicted, pair) for pair in folds]
    parts = followed(tasks, n_jobs, "predictions", verbose, pure=not is_source(X))
    stacked = np.concatenate(parts)
    result = np.empty_like(stacked)
    result[order] = stacked
    return result


def by_class(answers: Any, model: Any, classes: Any, method: str) -> Any:
    """Put the columns of a fold that lacks a class where they belong; the class that it cannot know gets the least value."""
    known = getattr(model, "classes_", classes)
    if len(known) == len(classes) or answers.ndim == 1:
        return answers
    least = {"predict_proba": 0.0, "predict_log_proba": float(np.finfo(answers.dtype).min)}.get(
        method, float(np.finfo(answers.dtype).min)
    )
    full = np.full((len(answers), len(classes)), least, dtype=answers.dtype)
    full[:, np.searchsorted(classes, known)] = answers
    return full


def require_folds(folds: Sequence[Any]) -> None:
    """Refuse to judge on nothing."""
    if not folds:
        raise InvalidParameter(
            "cv gave no folds. Pass a number, a splitter or at least one pair of (train, test) indices."
        )


def require_error_score(error_score: Any) -> None:
    """Refuse what is neither a score nor the word for raising."""
    if error_score != "raise" and (isinstance(error_score, str) or not np.isscalar(error_score)):
        raise InvalidParameter(f"error_score must be the string 'raise' or a numeric value, got {error_score!r}.")


def followed(tasks: Sequence[Any], n_jobs: int | None, name: str, verbose: int, *, pure: bool = True) -> list[Any]:
    """Run tasks and announce each as it is done; those that are pure on the workers of a cluster, if one was chosen.

    Fits to a source are not: each of them reads its chunks on all workers.
    """
    results = []
    with Progress(name, len(tasks), verbose=verbose) as progress:
        for result in mapped(partial(_done, tasks), range(len(tasks)), n_jobs, pure=pure):
            results.append(result)
            score = next(iter(result.scores.values())) if isinstance(result, Judged) else None
            if progress.step(score) is STOP:
                raise KeyboardInterrupt(f"{name} was stopped by a callback after {len(results)} of {len(tasks)} folds.")
    return results


def _done(tasks: Sequence[Any], number: int) -> Any:
    return tasks[number]()


def report_failures(judged: Sequence[Judged], error_score: Any) -> None:
    """Warn of fits that failed, and refuse to go on if all did."""
    failures = [one.failure for one in judged if one.failure is not None and one.estimator is None]
    if not failures:
        return
    kinds = "\n".join(sorted(set(failures)))
    if len(failures) == len(judged):
        raise ValueError(
            f"All the {len(judged)} fits failed. It is very likely that your model is misconfigured. Set error_score='raise' to"
            f" stop at the first.\n{kinds}"
        )
    warnings.warn(
        f"{len(failures)} fits failed out of a total of {len(judged)}. Their score is {error_score}. Set error_score='raise' to"
        f" stop at the first.\n{kinds}",
        FitFailedWarning,
        stacklevel=3,
    )
