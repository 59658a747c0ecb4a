"""Searches over sets of columns, and the score of a set by folds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, clone
from qed.core._memory import require_memory
from qed.model_selection import check_cv, cross_val_score

if TYPE_CHECKING:
    from collections.abc import Callable

    Score = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True)
class Selection:
    """What a search found.

    Attributes
    ----------
    columns : tuple of int
        The set that was kept, in order.
    score : float
        Its score; small is good.
    evaluated : int
        How many sets were scored.
    path : tuple of (tuple of int, float)
        The sets that the search went through, with their scores.
    """

    columns: tuple[int, ...]
    score: float
    evaluated: int
    path: tuple[tuple[tuple[int, ...], float], ...]


def subset_score(model: Any, X: Any, y: Any, *, cv: Any = None, scoring: Any = None) -> Score:
    """Return the function that scores a set of columns: minus the mean cross-validated score of a model of those columns.

    Parameters
    ----------
    model : estimator
        Any model; a copy is fitted for every set and fold.
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    cv : int, splitter, or iterable of (train, test)
        Folds, the same for every set.
    scoring : str or callable, optional
        As for `qed.model_selection.cross_val_score`; large is good, so its sign is turned.

    Returns
    -------
    callable
        A function of a tuple of column numbers. Of no columns it scores the model that sees a column of zeros: the intercept
        alone, where there is one.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.feature_selection import forward_selection, subset_score
    >>> from qed.linear_model import LinearRegression
    >>> X, y = make_regression(100, 5, n_informative=2, noise=1.0, shuffle=False, random_state=0)
    >>> score = subset_score(LinearRegression(), X, y, cv=5, scoring="neg_mean_squared_error")
    >>> set(forward_selection(score, 5).columns) >= {0, 1}
    True
    """
    table = np.asarray(X)
    splitter = check_cv(cv, y)
    folds = list(splitter.split(table, y))

    def score(columns: tuple[int, ...]) -> float:
        chosen = table[:, list(columns)] if columns else np.zeros((len(table), 1))
        return -float(np.mean(cross_val_score(model, chosen, y, cv=folds, scoring=scoring)))

    return score


def forward_selection(score: Score, n_columns: int, *, max_columns: int | None = None) -> Selection:
    """Start with nothing and add the best column, again and again, until the score would not fall.

    The score of the empty set counts as infinite, so that at least one column is kept.

    Parameters
    ----------
    score : callable
        Of a tuple of column numbers; small is good.
    n_columns : int
        Columns to choose from.
    max_columns : int, optional
        Most columns to keep.

    Returns
    -------
    Selection
        A full run scores ``p (p + 1) / 2`` sets.
    """
    _require_columns("forward_selection", n_columns)
    kept: tuple[int, ...] = ()
    best, evaluated = np.inf, 0
    path: list[tuple[tuple[int, ...], float]] = []
    while len(kept) < min(n_columns, max_columns or n_columns):
        trials = {j: score(_with(kept, j)) for j in range(n_columns) if j not in kept}
        evaluated += len(trials)
        column = min(trials, key=lambda j: (trials[j], j))
        if not trials[column] < best:
            break
        kept, best = _with(kept, column), trials[column]
        path.append((kept, best))
    return Selection(kept, float(best), evaluated, tuple(path))


def backward_elimination(score: Score, n_columns: int, *, min_columns: int = 0) -> Selection:
    """Start with all columns and leave out the worst, again and again, until the score would rise.

    Each set is compared with the larger one before it, the full set being scored first.

    Parameters
    ----------
    score : callable
        Of a tuple of column numbers; small is good.
    n_columns : int
        Columns to choose from.
    min_columns : int
        Fewest columns to keep.

    Returns
    -------
    Selection
        A full run scores one set more than forward selection does: the full one.
    """
    _require_columns("backward_elimination", n_columns)
    kept = tuple(range(n_columns))
    best, evaluated = score(kept), 1
    path = [(kept, best)]
    while len(kept) > min_columns:
        trials = {j: score(tuple(one for one in kept if one != j)) for j in kept}
        evaluated += len(trials)
        column = min(trials, key=lambda j: (trials[j], j))
        if trials[column] > best:
            break
        kept, best = tuple(one for one in kept if one != column), trials[column]
        path.append((kept, best))
    return Selection(kept, float(best), evaluated, tuple(path))


def exhaustive_search(score: Score, n_columns: int) -> Selection:
    """Score every set of columns, the empty one included, and keep the best; of equal ones the smallest.

    Parameters
    ----------
    score : callable
        Of a tuple of column numbers; small is good.
    n_columns : int
        Columns to choose from.

    Returns
    -------
    Selection
        ``2 ** p`` sets are scored.
    """
    _require_columns("exhaustive_search", n_columns)
    require_memory(8 * 2**n_columns, f"Scores of all sets of {n_columns} columns", "Use forward_selection.")
    sets = [chosen for size in range(n_columns + 1) for chosen in combinations(range(n_columns), size)]
    scores = [score(chosen) for chosen in sets]
    place = int(np.argmin(scores))
    return Selection(sets[place], float(scores[place]), len(sets), ((sets[place], float(scores[place])),))


@dataclass(frozen=True)
class L1Selection:
    """Sets of columns that an l1 penalty selects, one for each of its strengths.

    Attributes
    ----------
    alphas : tuple of float
        Strengths, in the order they were given.
    columns : tuple of tuple of int
        Columns whose coefficient is not zero, for each strength.
    fits : int
        How many models were fitted: one for each strength, whatever the number of columns.
    """

    alphas: tuple[float, ...]
    columns: tuple[tuple[int, ...], ...]
    fits: int


def l1_selection(model: Any, X: Any, y: Any, alphas: Any) -> L1Selection:
    """Select columns by an l1 penalty: fit once for each strength and keep the columns whose coefficient is not zero.

    Parameters
    ----------
    model : estimator
        A linear model whose penalty has the strength ``alpha``, such as `qed.linear_model.Lasso`; copies are fitted. Searches
        over sets (`forward_selection`) take any model.
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    alphas : sequence of float
        Strengths of the penalty.

    Returns
    -------
    L1Selection
        The columns for each strength, and the number of fits.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.feature_selection import l1_selection
    >>> from qed.linear_model import Lasso
    >>> X = np.eye(4) * 2
    >>> l1_selection(Lasso(fit_intercept=False), X, X @ [3.0, 0.0, 1.0, 0.0], [10.0, 2.0, 0.1]).columns
    ((), (0,), (0, 2))
    """
    name = type(model).__name__
    if "alpha" not in model.get_params(deep=False):
        raise InvalidParameter(
            f"l1_selection needs a linear model with a penalty of strength alpha, such as Lasso; {name} has none. Searches over"
            " sets of columns take any model: forward_selection(subset_score(model, X, y), n_columns)."
        )
    strengths = tuple(float(alpha) for alpha in alphas)
    found = []
    for alpha in strengths:
        fitted = clone(model).set_params(alpha=alpha).fit(X, y)
        if not hasattr(fitted, "coef_"):
            raise InvalidParameter(
                f"l1_selection needs a linear model; {name} has no coefficients (coef_) after a fit."
            )
        coef = np.atleast_2d(fitted.coef_)
        found.append(tuple(np.flatnonzero((coef != 0).any(axis=0)).tolist()))
    return L1Selection(strengths, tuple(found), len(found))


def _with(columns: tuple[int, ...], more: int) -> tuple[int, ...]:
    return tuple(sorted((*columns, more)))


def _require_columns(owner: str, n_columns: int) -> None:
    if isinstance(n_columns, bool) or not isinstance(n_columns, int) or n_columns < 1:
        raise InvalidParameter(f"{owner}: n_columns must be a whole number >= 1, got {n_columns!r}.")
