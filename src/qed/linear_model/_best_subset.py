"""Least squares with few columns: the best of all subsets, by branch and bound, and hard thresholding where that is too many."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._records import record

__all__ = ["Subset", "best_subset", "hard_thresholding"]

Array = np.ndarray[Any, Any]
NODES = 2_000_000


@record("subset")
class Subset:
    """Columns, their coefficients, and how much better any other subset could be.

    Attributes
    ----------
    columns : ndarray of int of shape (k,)
        Chosen columns, sorted.
    coef : ndarray of shape (p,)
        Coefficients, zero elsewhere.
    intercept : float
        Intercept.
    objective : float
        Sum of squared residuals, plus the penalty times the number of columns if there is one.
    bound : float
        No subset has a lower objective than this, up to rounding; equal to the objective when the search has ended.
    nodes : int
        Subsets that were looked at.
    """

    columns: Array
    coef: Array
    intercept: float
    objective: float
    bound: float
    nodes: int

    def check(self) -> None:
        """Refuse what no search finds."""
        if not self.objective >= 0 or not self.bound <= self.objective * (1 + 1e-9) + 1e-300 or self.nodes < 0:
            raise InvalidData("a subset holds numbers that no search finds")

    @property
    def gap(self) -> float:
        """How far the objective can be from the best."""
        return max(self.objective - self.bound, 0.0)


def best_subset(
    X: Any,
    y: Any,
    *,
    size: int | None = None,
    penalty: float | None = None,
    fit_intercept: bool = True,
    max_nodes: int = NODES,
) -> Subset:
    r"""Return the subset of columns with the least sum of squares: at most ``size`` of them, or each at a price.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    size : int, optional
        Most columns: :math:`\min \|y - Xw - b\|^2` with :math:`\|w\|_0 \le` ``size``.
    penalty : float, optional
        Price of a column: :math:`\min \|y - Xw - b\|^2 + \lambda \|w\|_0`. One of both must be given; they are not equivalent.
    fit_intercept : bool
        Whether there is an intercept, which costs nothing.
    max_nodes : int
        Most subsets to look at; the best so far is returned then, with what is proved about it.

    Returns
    -------
    Subset
        With its bound.

    Notes
    -----
    Depth first over columns in the order of what they explain alone. Dropping columns only adds to the sum of squares, so that
    a branch whose columns, all kept, do not beat the best found is left (leaps and bounds). Up to some 30 columns; the worst
    case is exponential. More columns than that: `hard_thresholding`, which proves nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import best_subset
    >>> best_subset(np.eye(4), [3.0, -1.0, 0.5, 2.0], size=2, fit_intercept=False).columns.tolist()
    [0, 3]
    """
    if (size is None) == (penalty is None):
        raise InvalidParameter("best_subset takes either size or penalty, and exactly one of them.")
    rows, target, mean_x, mean_y = _centred(X, y, fit_intercept=fit_intercept)
    p = rows.shape[1]
    if size is not None and not 0 <= int(size) <= p:
        raise InvalidParameter(f"best_subset.size must be between 0 and the number of columns, {p}, got {size!r}.")
    if penalty is not None and not penalty >= 0:
        raise InvalidParameter(f"best_subset.penalty must be a number >= 0, got {penalty!r}.")
    search = _Search(
        rows, target, p if size is None else int(size), 0.0 if penalty is None else float(penalty), max_nodes
    )
    search.run()
    coef = np.zeros(p)
    columns = np.array(sorted(search.order[j] for j in search.best), dtype=np.intp)
    if len(columns):
        coef[columns] = np.linalg.lstsq(rows[:, columns], target, rcond=None)[0]
    objective = float(np.sum((target - rows @ coef) ** 2)) + search.price * len(columns)
    bound = objective if search.ended else min(search.open, objective)
    return Subset(columns, coef, float(mean_y - mean_x @ coef), objective, bound, search.nodes)


def hard_thresholding(X: Any, y: Any, size: int, *, fit_intercept: bool = True, max_iter: int = 1000) -> Subset:
    """Return a subset of columns by iterative hard thresholding: gradient steps that keep the largest coefficients.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    size : int
        Most columns.
    fit_intercept : bool
        Whether there is an intercept.
    max_iter : int
        Most steps.

    Returns
    -------
    Subset
        The subset where the steps came to rest, least squares on it, and the sum of squares of all columns as the bound:
        nothing better is proved, and another subset may be better.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import hard_thresholding
    >>> hard_thresholding(np.eye(4), [3.0, -1.0, 0.5, 2.0], 2, fit_intercept=False).columns.tolist()
    [0, 3]
    """
    rows, target, mean_x, mean_y = _centred(X, y, fit_intercept=fit_intercept)
    p = rows.shape[1]
    if not 0 <= int(size) <= p:
        raise InvalidParameter(
            f"hard_thresholding.size must be between 0 and the number of columns, {p}, got {size!r}."
        )
    w, step = np.zeros(p), 1.0 / max(float(np.linalg.norm(rows, 2)) ** 2, 1e-300)
    columns = np.zeros(0, dtype=np.intp)
    count = 0
    for count in range(1, max_iter + 1):  # noqa: B007  the last is told
        ahead = w + step * (rows.T @ (target - rows @ w))
        chosen = np.sort(np.argsort(-np.abs(ahead), kind="stable")[: int(size)])
        settled = np.zeros(p)
        if len(chosen):
            settled[chosen] = np.linalg.lstsq(rows[:, chosen], target, rcond=None)[0]
        if np.array_equal(chosen, columns):
            break
        columns, w = chosen, settled
    objective = float(np.sum((target - rows @ w) ** 2))
    all_of_them = np.linalg.lstsq(rows, target, rcond=None)[0]
    bound = min(float(np.sum((target - rows @ all_of_them) ** 2)), objective)
    return Subset(columns, w, float(mean_y - mean_x @ w), objective, bound, count)


def _centred(X: Any, y: Any, *, fit_intercept: bool) -> tuple[Array, Array, Array, float]:
    rows, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if rows.ndim != 2 or target.shape != rows.shape[:1] or not len(rows):
        raise InvalidData(
            f"X must be a table and y one number for each row, got shapes {rows.shape} and {target.shape}."
        )
    if not (np.isfinite(rows).all() and np.isfinite(target).all()):
        raise InvalidData("X and y must hold finite numbers.")
    if not fit_intercept:
        return rows, target, np.zeros(rows.shape[1]), 0.0
    mean_x, mean_y = rows.mean(axis=0), float(target.mean())
    return rows - mean_x, target - mean_y, mean_x, mean_y


class _Search:
    """Depth first: at each node some columns are in, some are open, all others are out."""

    def __init__(self, rows: Array, target: Array, size: int, price: float, most: int) -> None:
        length = np.sqrt(np.sum(rows**2, axis=0))
        alone = np.abs(rows.T @ target) / np.where(length > 0, length, 1.0)
        self.order = np.argsort(-alone, kind="stable")
        self.rows, self.target, self.size, self.price, self.most = rows[:, self.order], target, size, price, most
        self.total = float(target @ target)
        self.best: tuple[int, ...] = ()
        self.least, self.nodes, self.ended, self.open = self.total, 0, True, np.inf

    def run(self) -> None:
        """Search; greedy choices come first, so that much is left early."""
        p = self.rows.shape[1]
        stack: list[tuple[tuple[int, ...], int]] = [((), 0)]
        while stack:
            chosen, first = stack.pop()
            bound = self._squares((*chosen, *range(first, p))) + self.price * len(chosen)
            if bound >= self.least * (1 - 1e-12) and self.nodes:
                continue
            if self.nodes >= self.most:
                self.ended, self.open = False, min(self.open, bound)
                continue
            self.nodes += 1
            here = self._squares(chosen) + self.price * len(chosen)
            if here < self.least:
                self.least, self.best = here, chosen
            if first < p and len(chosen) < self.size:
                stack.append((chosen, first + 1))
                stack.append(((*chosen, first), first + 1))

    def _squares(self, columns: tuple[int, ...]) -> float:
        if not columns:
            return self.total
        part = self.rows[:, list(columns)]
        rest = self.target - part @ np.linalg.lstsq(part, self.target, rcond=None)[0]
        return float(rest @ rest)
