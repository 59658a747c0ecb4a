"""Least squares with few columns: the best of all subsets, by branch and bound, and hard thresholding where that is too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP
from qed.core._records import record

if TYPE_CHECKING:
    from qed.core._events import Progress


Array = np.ndarray[Any, Any]
_Node = tuple[tuple[int, ...], int, float, float | None]
NODES = 2_000_000
DEPENDENT = 1e-13  # of columns of length one: what is less is rounding


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
    limit, price = p if size is None else int(size), 0.0 if penalty is None else float(penalty)
    search = Search(triangle(rows, target), limit, price, most=max_nodes)
    search.run()
    coef, objective = settled(rows, target, search.columns, price)
    bound = objective if search.bound >= search.least * (1 - 1e-12) else min(search.bound, objective)  # rounding aside
    return Subset(search.columns, coef, float(mean_y - mean_x @ coef), objective, bound, search.nodes)


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


def triangle(rows: Array, target: Array) -> Array:
    """Return a table of at most p + 1 rows in which every subset leaves the same sum of squares; the target comes last."""
    whole = np.column_stack([rows, target])
    return whole if len(whole) <= whole.shape[1] else np.asarray(np.linalg.qr(whole, mode="r"))


def settled(rows: Array, target: Array, columns: Array, price: float) -> tuple[Array, float]:
    """Return the coefficients of least squares on some columns, zeros elsewhere, and what they cost."""
    coef = np.zeros(rows.shape[1])
    if len(columns):
        length = np.sqrt(np.sum(rows[:, columns] ** 2, axis=0))
        unit = 1 / np.where(length > 0, length, 1.0)  # which columns are dependent is not a matter of their units
        coef[columns] = unit * np.linalg.lstsq(rows[:, columns] * unit, target, rcond=None)[0]
    rest = target - rows @ coef
    return coef, float(rest @ rest) + price * len(columns)


class Search:
    """Depth first: at each node some columns are in, some are open, all others are out.

    Parameters
    ----------
    table : ndarray
        Columns, and the target last.
    size : int
        Most columns.
    price : float
        Of a column.
    most : int
        Most nodes.
    slack : float
        A branch that can only gain so much is left.
    first : ndarray of int
        Columns to begin with, a good guess.
    """

    def __init__(
        self, table: Array, size: int, price: float, *, most: int, slack: float = 0.0, first: Array | None = None
    ) -> None:
        rows, target = table[:, :-1], table[:, -1]
        self.length = np.sqrt(np.sum(rows**2, axis=0))
        alone = np.abs(rows.T @ target) / np.where(self.length > 0, self.length, 1.0)
        self.order = np.argsort(-alone, kind="stable")
        self.table, self.size, self.price, self.most, self.slack = table, size, price, most, slack
        self.target = target
        self.nodes, self.floor = 0, np.inf
        self.best: tuple[int, ...] = ()
        self.least = self._squares(())
        if first is not None and len(first):
            place = np.argsort(self.order)
            guess = tuple(sorted(int(place[j]) for j in first))
            cost = self._squares(guess) + price * len(guess)
            if cost < self.least:
                self.least, self.best = cost, guess

    @property
    def columns(self) -> Array:
        """The best columns found, sorted."""
        return np.array(sorted(self.order[j] for j in self.best), dtype=np.intp)

    @property
    def bound(self) -> float:
        """What no subset is below."""
        return min(self.floor, self.least)

    def run(self, progress: Progress | None = None) -> str:
        """Search, and say how it ended; what was not looked at when it was stopped lowers the bound."""
        # columns that are in, the first that is open, and the squares that in and open columns leave together
        stack: list[_Node] = [((), 0, self._squares(tuple(range(len(self.order)))), self._squares(()))]
        outcome = "ended"
        try:
            while stack:
                if self.nodes >= self.most and self._is_open(stack[-1]):
                    outcome = "max_nodes"
                    break
                node = stack[-1]
                children = self._opened(node) if self._is_open(node) else []
                stack.pop()  # only now: an interrupt before leaves the node among those to be counted
                stack += children
                if progress is not None and self.nodes % 64 == 1 and progress.step(self.least) is STOP:
                    outcome = "stopped"
                    break
        except KeyboardInterrupt:
            outcome = "interrupted"
        for chosen, _, together, _ in stack:
            self.floor = min(self.floor, together + self.price * len(chosen))
        return outcome

    def _is_open(self, node: _Node) -> bool:
        """Say whether a branch may hold something better; if not, its bound counts."""
        chosen, _, together, _ = node
        bound = together + self.price * len(chosen)
        if bound >= self.least * (1 - 1e-12) - self.slack and self.nodes:
            self.floor = min(self.floor, bound)
            return False
        return True

    def _opened(self, node: _Node) -> list[_Node]:
        """Look at a node and return its branches: greedy choices last, which are taken first, so that much is left early."""
        chosen, first, together, here = node
        self.nodes += 1
        if here is None:
            here = self._squares(chosen)
        if here + self.price * len(chosen) < self.least:
            self.least, self.best = here + self.price * len(chosen), chosen
        p = len(self.order)
        if first == p or len(chosen) >= self.size:
            return []
        if len(chosen) + 2 >= self.size:
            self._finish(chosen, first, here)
            return []
        without = self._squares((*chosen, *range(first + 1, p)))
        return [(chosen, first + 1, without, here), ((*chosen, first), first + 1, together, None)]

    def _finish(self, chosen: tuple[int, ...], first: int, here: float) -> None:
        """Try every open column, and every pair of them where two may join, at once.

        Without what the chosen columns explain, two columns of length one explain ``(a² + b² - 2 a b g) / (1 - g²)`` of a
        target whose products with them are a and b, if their own is g.
        """
        open_ = np.arange(first, len(self.order))
        U, left = self.table[:, self.order[open_]], self.target
        if chosen:
            Q = self._span(chosen)
            U, left = U - Q @ (Q.T @ U), left - Q @ (Q.T @ left)
            U, left = U - Q @ (Q.T @ U), left - Q @ (Q.T @ left)  # twice is enough
        length = np.sqrt(np.einsum("ij,ij->j", U, U))
        real = length > DEPENDENT * self.length[self.order[open_]]
        U, open_ = U[:, real] / length[real], open_[real]
        a = left @ U
        price = self.price * (len(chosen) + 1)
        if not len(a):
            return
        best = int(np.argmax(a * a))
        self._offer((*chosen, int(open_[best])), here - float(a[best] ** 2) + price)
        if len(chosen) + 2 > self.size or len(a) < 2:
            return
        G = U.T @ U
        room = 1.0 - G * G
        near = room < 1e-4  # too nearly parallel for the formula, and each of itself
        squares = a * a
        explained = (squares[:, np.newaxis] + squares - 2.0 * np.multiply.outer(a, a) * G) / np.where(near, 1.0, room)
        explained[near] = -1.0
        place = int(np.argmax(explained))
        i, j = divmod(place, len(a))
        self._offer((*chosen, int(open_[i]), int(open_[j])), here - float(explained[i, j]) + price + self.price)
        for i, j in np.argwhere(np.triu(near, 1)):
            self._offer((*chosen, int(open_[i]), int(open_[j])), -np.inf)

    def _span(self, columns: tuple[int, ...]) -> Array:
        """Return directions of length one that span some columns, dependent ones included."""
        index = self.order[list(columns)]
        table = self.table[:, index] / np.where(self.length[index] > 0, self.length[index], 1.0)
        Q, R = np.linalg.qr(table)
        if len(Q) >= len(index) and np.abs(np.diagonal(R)).min(initial=1.0) > 1e-8:
            return np.asarray(Q)
        U, values, _ = np.linalg.svd(table, full_matrices=False)
        return np.asarray(U[:, values > DEPENDENT * values.max(initial=0.0)])

    def _offer(self, columns: tuple[int, ...], about: float) -> None:
        """Keep a set that is better than the best; what it costs is looked at again where it may be."""
        if about >= self.least * (1 + 1e-9):
            return
        columns = tuple(sorted(columns))
        cost = self._squares(columns) + self.price * len(columns)
        if cost < self.least:
            self.least, self.best = cost, columns

    def _squares(self, columns: tuple[int, ...]) -> float:
        """Return what is left of the target: the end of its column once the others are made a triangle."""
        if not columns:
            return float(self.target @ self.target)
        index = self.order[list(columns)]
        index = index[self.length[index] > 0]
        k = len(index)
        table = self.table[:, index] / self.length[index]
        if k < len(table):
            R = np.asarray(np.linalg.qr(np.column_stack([table, self.target]), mode="r"))
            if np.abs(np.diagonal(R))[:k].min(initial=1.0) > 1e-8:
                rest = R[k:, k]
                return float(rest @ rest)
        # dependent columns, or as many as rows: a triangle without exchanges would leave what later columns explain
        rest = self.target - table @ np.linalg.lstsq(table, self.target, rcond=DEPENDENT)[0]
        return float(rest @ rest)
