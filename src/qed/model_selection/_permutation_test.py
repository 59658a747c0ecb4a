"""Is a score better than chance? Targets are shuffled, and the score computed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidParameter
from qed.core._jobs import mapped
from qed.model_selection._cross_validate import cross_val_score
from qed.model_selection._splitter import draws
from qed.model_selection._subset import countable, rows_of

Array = np.ndarray[Any, Any]


def permutation_test_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    cv: Any = None,
    n_permutations: int = 100,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
    scoring: Any = None,
    fit_params: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
) -> tuple[float, Array, float]:
    """Test whether a cross-validated score is better than it would be if rows said nothing about targets.

    Parameters
    ----------
    estimator : estimator
        Of qed or scikit-learn; it is copied, never fitted itself.
    X : array-like, frame or sparse container of n rows
        Rows.
    y : array-like of shape (n,) or (n, m)
        Targets.
    groups : array-like of shape (n,), optional
        Which rows belong together; targets are shuffled within groups.
    cv : None, int, splitter or iterable
        Folds; five by default, stratified for classifiers.
    n_permutations : int
        How often targets are shuffled.
    n_jobs : int, optional
        Permutations at the same time, in threads; -1 for as many as there are processors.
    random_state : int, Generator, RandomState or None
        Seed; a whole number gives the permutations of scikit-learn.
    verbose : int
        Whether to show progress.
    scoring : None, str or callable
        How to score; None is the estimator's own ``score``.
    fit_params, params : dict, optional
        Passed to ``fit``; what has one entry for each row is cut like the rows. Two names of one thing.

    Returns
    -------
    score : float
        The mean score with the true targets.
    permutation_scores : ndarray of shape (n_permutations,)
        Mean scores with shuffled targets.
    pvalue : float
        ``(C + 1) / (n_permutations + 1)``, with C the number of permutations that score at least as well.

    Examples
    --------
    >>> from qed.datasets import load_iris
    >>> from qed.linear_model import LogisticRegression
    >>> from qed.model_selection import permutation_test_score
    >>> X, y = load_iris(return_X_y=True)
    >>> score, others, p = permutation_test_score(LogisticRegression(), X, y, n_permutations=9)
    >>> score > 0.9, round(p, 2)
    (True, 0.1)
    """
    if isinstance(n_permutations, bool) or not isinstance(n_permutations, int | np.integer) or n_permutations < 1:
        raise InvalidParameter(
            f"permutation_test_score: n_permutations must be a whole number >= 1, got {n_permutations!r}."
        )
    X, y, stream = countable(X), countable(y), draws(random_state)
    options = {"groups": groups, "cv": cv, "scoring": scoring, "verbose": verbose, "params": fit_params or params}
    score = float(np.mean(cross_val_score(estimator, X, y, **options)))
    orders = [_order(len(y), groups, stream) for _ in range(n_permutations)]

    def again(order: Array) -> float:
        return float(np.mean(cross_val_score(estimator, X, rows_of(y, order), **options)))

    others = np.array(list(mapped(again, orders, n_jobs)))
    return score, others, float((np.sum(others >= score) + 1.0) / (n_permutations + 1))


def _order(n_rows: int, groups: Any, stream: Any) -> Array:
    """Draw an order of all rows, or of the rows of each group among themselves."""
    if groups is None:
        return np.asarray(stream.permutation(n_rows))
    order, labels = np.arange(n_rows), np.asarray(groups)
    for label in np.unique(labels):
        own = labels == label
        order[own] = stream.permutation(order[own])
    return order
