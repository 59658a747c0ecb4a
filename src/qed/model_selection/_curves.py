"""Curves: how scores change with more rows, and with a setting; and their figures."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.core import InvalidParameter
from qed.core._canvas import Display
from qed.model_selection._choice_of_folds import check_cv
from qed.model_selection._cross_validate import followed, report_failures, require_folds
from qed.model_selection._judge import Table, groups_apart, is_classifier, judge, scorers_of, table_for
from qed.model_selection._splitter import draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, np.dtype[np.float64]]


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    shuffle: bool = False,
    random_state: Any = None,
    error_score: Any = np.nan,
    return_times: bool = False,
    params: dict[str, Any] | None = None,
) -> tuple[Any, ...]:
    """Score models learnt from more and more rows.

    Parameters
    ----------
    estimator, X, y, groups, cv, scoring, n_jobs, verbose, error_score, params : object
        As for `cross_validate`, with one score.
    train_sizes : array-like
        Shares in (0, 1] of the training rows, or numbers of them.
    shuffle : bool
        Whether to shuffle the training rows first.
    random_state : None, int, Generator or RandomState
        Seed of the shuffle.
    return_times : bool
        Whether to return the seconds of fits and scores too.

    Returns
    -------
    sizes, train_scores, test_scores : ndarray of shape (k,), (k, folds), (k, folds)
        And two more of shape (k, folds) with ``return_times``.
    """
    scorers, _ = scorers_of(estimator, scoring)
    params, groups = groups_apart(params, groups)
    folds = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    require_folds(folds)
    sizes = _sizes(train_sizes, len(folds[0][0]))
    stream = draws(random_state) if shuffle else None
    pairs = []
    for train, test in folds:
        order = train if stream is None else stream.permutation(train)
        pairs += [(order[:size], test) for size in sizes]
    judged = _judged(
        estimator,
        table_for("learning_curve", estimator, X, y, params, scorers),
        pairs,
        {},
        scorers,
        n_jobs,
        verbose,
        error_score,
    )
    tables = _reshaped(judged, len(folds), len(sizes))
    return (sizes, *tables) if return_times else (sizes, *tables[:2])


def _sizes(asked: Any, most: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    given = np.asarray(asked)
    if given.ndim != 1 or not given.size:
        raise InvalidParameter(f"train_sizes must be one or more shares or numbers of rows, got {asked!r}.")
    if given.dtype.kind == "f":
        if given.min() <= 0 or given.max() > 1:
            raise InvalidParameter(f"train_sizes as shares must be in (0, 1], got {asked!r}.")
        given = np.maximum((given * most).astype(np.intp), 1)
    elif given.min() <= 0 or given.max() > most:
        raise InvalidParameter(f"train_sizes must be between 1 and {most}, the training rows of a fold; got {asked!r}.")
    return np.unique(given).astype(np.intp)


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Sequence[Any],
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    error_score: Any = np.nan,
    params: dict[str, Any] | None = None,
) -> tuple[Array, Array]:
    """Score models with different values of one setting.

    Parameters
    ----------
    estimator, X, y, groups, cv, scoring, n_jobs, verbose, error_score, params : object
        As for `cross_validate`, with one score.
    param_name : str
        The setting.
    param_range : sequence
        Its values.

    Returns
    -------
    train_scores, test_scores : ndarray of shape (values, folds)
        Scores of the training rows and of the test rows.
    """
    scorers, _ = scorers_of(estimator, scoring)
    params, groups = groups_apart(params, groups)
    folds = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    require_folds(folds)
    table = table_for("validation_curve", estimator, X, y, params, scorers)
    judged = []
    for pair in folds:
        settings = [{param_name: value} for value in param_range]
        judged += [
            partial(judge, estimator, table, pair, setting, scorers, **_options(error_score)) for setting in settings
        ]
    done = followed(judged, n_jobs, "validation curve", verbose)
    report_failures(done, error_score)
    train, test, _, _ = _reshaped(done, len(folds), len(param_range))
    return train, test


def _options(error_score: Any) -> dict[str, Any]:
    return {"error_score": error_score, "with_train": True, "keep": False}


def _judged(
    estimator: Any, table: Table, pairs: Any, setting: Any, scorers: Any, n_jobs: Any, verbose: int, error_score: Any
) -> list[Any]:
    tasks = [partial(judge, estimator, table, pair, setting, scorers, **_options(error_score)) for pair in pairs]
    done = followed(tasks, n_jobs, "learning curve", verbose)
    report_failures(done, error_score)
    return done


def _reshaped(judged: Sequence[Any], n_folds: int, n_points: int) -> tuple[Array, Array, Array, Array]:
    """Return training scores, test scores and seconds of fits and scores, by point and fold."""

    def table(values: list[float]) -> Array:
        return np.array(values).reshape(n_folds, n_points).T

    return (
        table([next(iter((one.train_scores or {"": np.nan}).values())) for one in judged]),
        table([next(iter(one.scores.values())) for one in judged]),
        table([one.fit_time for one in judged]),
        table([one.score_time for one in judged]),
    )


class _Curves(NamedTuple):
    horizontal: Any
    train_scores: Any
    test_scores: Any


class _CurveDisplay(Display):
    """Two bands over one axis: the scores of rows learnt from, and of rows not seen."""

    label = ""

    def __init__(self, horizontal: Any, train_scores: Any, test_scores: Any, *, score_name: str | None = None) -> None:
        self.curves = _Curves(horizontal, np.asarray(train_scores), np.asarray(test_scores))
        self.train_scores, self.test_scores, self.score_name = train_scores, test_scores, score_name

    def plot(self, ax: Any = None) -> Self:
        """Draw the mean of the folds, and one standard deviation either way.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        from matplotlib import pyplot as plt  # noqa: PLC0415  only when drawn

        if ax is None:
            _, ax = plt.subplots()
        curves = self.curves
        numbers = all(isinstance(one, Integral | float | np.number) for one in curves.horizontal)
        x = np.asarray(curves.horizontal, dtype=float) if numbers else np.arange(len(curves.horizontal))
        for name, scores, colour in (
            ("training", curves.train_scores, "C1"),
            ("unseen rows", curves.test_scores, "C0"),
        ):
            mean, spread = scores.mean(axis=1), scores.std(axis=1)
            ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
            ax.plot(x, mean, color=colour, marker="o", markersize=4, label=name)
        if numbers and len(x) > 2 and x.min() > 0 and x.max() / x.min() > 50:
            ax.set_xscale("log")
        if not numbers:
            ax.set_xticks(x, [str(one) for one in curves.horizontal])
        ax.set_xlabel(self.label)
        ax.set_ylabel(self.score_name or "score")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class LearningCurveDisplay(_CurveDisplay):
    """The figure of a learning curve.

    Parameters
    ----------
    train_sizes : array-like of shape (k,)
        Numbers of rows learnt from.
    train_scores, test_scores : array-like of shape (k, folds)
        As `learning_curve` returns them.
    score_name : str, optional
        What the vertical axis is called.
    """

    label = "rows learnt from"

    def __init__(self, *, train_sizes: Any, train_scores: Any, test_scores: Any, score_name: str | None = None) -> None:
        super().__init__(train_sizes, train_scores, test_scores, score_name=score_name)
        self.train_sizes = train_sizes

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> Self:
        """Compute the curve and draw it; options as for `learning_curve`."""
        name = options.pop("score_name", None)
        sizes, train, test = learning_curve(estimator, X, y, **options)[:3]
        return cls(train_sizes=sizes, train_scores=train, test_scores=test, score_name=name).plot(ax)


class ValidationCurveDisplay(_CurveDisplay):
    """The figure of a validation curve.

    Parameters
    ----------
    param_name : str
        The setting.
    param_range : array-like of shape (k,)
        Its values.
    train_scores, test_scores : array-like of shape (k, folds)
        As `validation_curve` returns them.
    score_name : str, optional
        What the vertical axis is called.
    """

    def __init__(
        self, *, param_name: str, param_range: Any, train_scores: Any, test_scores: Any, score_name: str | None = None
    ) -> None:
        super().__init__(param_range, train_scores, test_scores, score_name=score_name)
        self.param_name, self.param_range, self.label = param_name, param_range, param_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, param_name: str, param_range: Any, ax: Any = None, **options: Any
    ) -> Self:
        """Compute the curve and draw it; options as for `validation_curve`."""
        name = options.pop("score_name", None)
        train, test = validation_curve(estimator, X, y, param_name=param_name, param_range=param_range, **options)
        made = cls(
            param_name=param_name, param_range=param_range, train_scores=train, test_scores=test, score_name=name
        )
        return made.plot(ax)
