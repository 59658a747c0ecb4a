"""Least squares with few columns, as a model: the best subset by search, or a good one with a bound."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import SubsetCertificate
from qed.core import KW_ONLY, Array, NonNegative, NonNegativeInt, ToleranceNotReached, fitted, param
from qed.core._events import Progress
from qed.core._memory import require_memory
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.linear_model._best_subset import DEPENDENT, Search, settled, triangle
from qed.linear_model._convex_regressor import SingleTarget
from qed.linear_model._learn_convex import TrainingData

SEARCHED = (
    64  # columns up to which subsets are searched; beyond, looking at one costs too much for the number there are
)
UNIT = 2.0**-53
NEARLY_DEPENDENT = (
    1e-3  # singular value of columns of length one below which the claim is about coefficients within a radius
)


def _are_chosen(model: Any, columns: Array) -> str:
    return "" if np.array_equal(columns, np.flatnonzero(model.coef_)) else "should be the columns with a coefficient"


class BestSubsetRegressor(SingleTarget):
    r"""Best subset selection: least squares with at most ``size`` columns, the best of all subsets.

    Objective
    ---------
    .. math:: \sum_i s_i (y_i - x_i^\top w - b)^2 + \lambda \|w\|_0 \quad \text{subject to} \quad \|w\|_0 \le k

    with the price :math:`\lambda` of a column, ``penalty``, and their largest number k, ``size``. It is not convex; the intercept
    costs nothing.

    Certificate
    -----------
    SubsetCertificate: no other subset of columns lowers the objective by more than ``gap``, which is zero up to rounding
    where the search has ended. ``qed.verify`` searches again by other code.

    Cost
    ----
    One pass of O(n p^2) for a triangle of p + 1 rows, then O(p k^2) for each set of columns that is looked at: at most
    ``max_nodes``, exponentially many in the worst case, some thousands for 40 columns of which few matter. With more than 64
    columns nothing is searched: O(n p k) for forward steps, O(n p) for each step of hard thresholding, O(n p^2) for the bound.

    See Also
    --------
    Lasso : A price for the sizes of coefficients, which is convex.
    best_subset : The search as a function.

    Notes
    -----
    With more than 64 columns, forward steps and hard thresholding give the subset, and the gap is measured from the larger of
    two bounds: the sum of squares of all columns together, and what k columns of the given mutual coherence could explain.
    Where the columns are strongly correlated both are weak, and the certificate says so by a large gap. The coefficients are
    those of least squares on the chosen columns.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import BestSubsetRegressor
    >>> X = np.random.default_rng(0).normal(size=(40, 6))
    >>> model = BestSubsetRegressor(2).fit(X, X[:, 1] - X[:, 4])
    >>> np.flatnonzero(model.coef_).tolist(), model.certificate_.outcome
    ([1, 4], 'solved')
    """

    size: NonNegativeInt | None = param(5, "Most columns; None for no limit, and then a penalty decides.")
    _: KW_ONLY
    penalty: NonNegative = param(0.0, "Price of a column, in units of the sum of squares.")
    fit_intercept: bool = FIT_INTERCEPT
    tol: NonNegative = param(1e-9, "Largest accepted gap, relative to the sum of squares of the intercept alone.")
    max_nodes: NonNegativeInt = param(100_000, "Most sets of columns to look at; 0 for no search.")
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    coef_: Array = fitted("Coefficients, zero but for the chosen columns, shape (p,).", shape="(p,)")
    columns_: Array = fitted("The chosen columns, sorted.", dtype="int64", shape="(c,)", check=_are_chosen)
    certificate_: SubsetCertificate = fitted("What is proved about the choice.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the columns and find their coefficients."""
        rows = TrainingData.of(self._fit_data(X, y, sample_weight, finite=False), centred=self.fit_intercept)
        with one_blas_thread(rows.share.size * rows.mean.size):
            self._choose(rows)
        return self

    def _choose(self, rows: TrainingData) -> None:
        A, target, middle, level = _scaled(rows, intercept=self.fit_intercept)
        n, p = A.shape
        size, price = p if self.size is None else min(int(self.size), p), float(self.penalty)
        null = float(target @ target)
        guess = _good_subset(A, target, size, price)
        nodes, outcome = 0, "not searched"
        if p <= SEARCHED and self.max_nodes:
            search = Search(
                triangle(A, target), size, price, most=int(self.max_nodes), slack=float(self.tol) * null, first=guess
            )
            with Progress("BestSubsetRegressor", int(self.max_nodes), verbose=self.verbose) as progress:
                ended = search.run(progress)
            guess, bound, nodes = search.columns, search.bound, search.nodes
            outcome = "solved" if ended == "ended" else ended
        else:
            bound = coherence_bound(A, target, size, price)
        coef, objective = settled(A, target, guess, price)
        # a column far from zero is centred up to the rounding of its mean, which is more beside what is left of it
        far = float(
            np.max(np.where(rows.length > 0, np.abs(middle) / np.where(rows.length > 0, rows.length, 1.0), 0.0))
        )
        change = (64 * (n + p) + 64 * far) * UNIT + 2 * DEPENDENT  # of columns of length one, that rounding amounts to
        least = _least_singular_value(A, size)
        most = float(np.sqrt(null)) / max(least, NEARLY_DEPENDENT)
        own = float(np.sqrt(np.sum((A * coef) ** 2)))
        # coefficients of a length L see a change of the columns as one of the target, L times as long
        rounding = (64 * (n + p) + 64 * far) * UNIT * (null + price * p)
        rounding += sum((2 * float(np.sqrt(null)) + change * long) * change * long for long in (most, own))
        gap = max(objective - bound, 0.0) + rounding
        if outcome == "max_nodes" and gap - rounding <= float(self.tol) * null:
            outcome = "solved"
        self.coef_, self.columns_ = coef, np.flatnonzero(coef)
        self.intercept_ = float(level - middle @ coef)
        self.certificate_ = SubsetCertificate(
            gap=gap,
            rounding=rounding,
            objective=objective,
            null_objective=null,
            tol=float(self.tol),
            nodes=nodes,
            outcome=outcome,
            fingerprint=rows.seen,
            radius=np.inf if least >= NEARLY_DEPENDENT else most,
        )
        if outcome == "interrupted":
            raise KeyboardInterrupt
        if self.strict and not self.certificate_.reached:
            raise ToleranceNotReached(
                f"BestSubsetRegressor stopped at a relative gap of {self.certificate_.relative_gap:.2e}, above tol={self.tol:.1e}"
                f" ({outcome}). The model so far is stored; raise max_nodes or tol, choose fewer columns, or pass strict=False."
            )


def _scaled(rows: TrainingData, *, intercept: bool) -> tuple[Array, Array, Array, float]:
    """Return columns and target, centred, times the roots of the weights; and what they were centred by."""
    X = rows.X
    if not isinstance(X, np.ndarray):
        require_memory(
            8 * X.shape[0] * X.shape[1], f"A dense copy of a {X.shape[0]} x {X.shape[1]} sparse design", "Use Lasso."
        )
        X = X.toarray()
    X, root = np.asarray(X, dtype=np.float64), np.sqrt(rows.weight * rows.share)
    middle = rows.mean if intercept else np.zeros(X.shape[1])
    level = float(rows.share @ rows.y) if intercept else 0.0
    return (X - middle) * root[:, np.newaxis], (rows.y - level) * root, middle, level


def _least_singular_value(A: Array, size: int) -> float:
    """Bound from below the singular values of all subsets of columns of length one, zero columns aside."""
    length = np.sqrt(np.sum(A * A, axis=0))
    U = A[:, length > 0] / length[length > 0]
    if not U.shape[1] or size < 1:
        return 1.0
    if U.shape[1] <= SEARCHED and U.shape[1] <= U.shape[0]:
        least = float(np.linalg.svd(U, compute_uv=False)[-1])
        if least >= NEARLY_DEPENDENT:
            return least
    products = np.abs(U.T @ U)
    np.fill_diagonal(products, 0.0)
    return float(np.sqrt(max(1.0 - (min(size, U.shape[1]) - 1) * products.max(initial=0.0), 0.0)))  # Gershgorin


def _good_subset(A: Array, target: Array, size: int, price: float) -> Array:
    """Return the better of what forward steps and hard thresholding find."""
    steps = _forward(A, target, size)
    costs = [settled(A, target, np.sort(steps[:k]), price)[1] for k in range(len(steps) + 1)]
    count = int(np.argmin(costs))
    best, least = np.sort(steps[:count]), costs[count]
    other = _thresholded(A, target, count)
    cost = settled(A, target, other, price)[1]
    return other if cost < least else best


def _forward(A: Array, target: Array, size: int) -> Array:
    """Return columns in the order in which each explains most of what those before have left."""
    rest, left = A.copy(), target.copy()
    lengths = np.sum(rest * rest, axis=0)
    first = np.where(lengths > 0, lengths, 1.0)
    chosen: list[int] = []
    for _ in range(min(size, *A.shape)):
        squares = np.sum(rest * rest, axis=0)
        gain = np.where(squares > 1e-20 * first, (rest.T @ left) ** 2 / np.where(squares > 0, squares, 1.0), -1.0)
        gain[chosen] = -1.0
        j = int(np.argmax(gain))
        if not gain[j] > 0:
            break
        chosen.append(j)
        q = rest[:, j] / np.sqrt(squares[j])
        rest -= np.multiply.outer(q, q @ rest)
        left -= q * float(q @ left)
    return np.array(chosen, dtype=np.intp)


def _thresholded(A: Array, target: Array, size: int) -> Array:
    """Return where iterative hard thresholding comes to rest, on columns of length one."""
    length = np.sqrt(np.sum(A * A, axis=0))
    U = A / np.where(length > 0, length, 1.0)
    step = 1.0 / max(float(np.linalg.norm(U, 2)) ** 2, 1e-300)
    w, columns = np.zeros(A.shape[1]), np.zeros(0, dtype=np.intp)
    for _ in range(200):
        ahead = w + step * (U.T @ (target - U @ w))
        chosen = np.sort(np.argsort(-np.abs(ahead), kind="stable")[:size])
        if np.array_equal(chosen, columns):
            break
        columns, w = chosen, settled(U, target, chosen, 0.0)[0]
    return columns


def coherence_bound(A: Array, target: Array, size: int, price: float) -> float:
    """Return what no subset is below: all columns together leave as much, or so much cannot be explained.

    Of columns of length one whose products are at most m, k have eigenvalues of at least ``1 - (k - 1) m``, so that they explain
    at most the k largest squared products with the target over that (Gershgorin).
    """
    total = float(target @ target)
    length = np.sqrt(np.sum(A * A, axis=0))
    U = A[:, length > 0] / length[length > 0]
    together = float(np.sum((target - U @ np.linalg.lstsq(U, target, rcond=DEPENDENT)[0]) ** 2))
    products = np.abs(U.T @ U)
    np.fill_diagonal(products, 0.0)
    coherence = float(products.max(initial=0.0))
    largest = np.cumsum(np.sort((U.T @ target) ** 2)[::-1])
    least = total
    for k in range(1, size + 1):
        room = 1.0 - (k - 1) * coherence
        explained = largest[min(k, len(largest)) - 1] / room if room > 0 and len(largest) else np.inf
        least = min(least, max(total - explained, together, 0.0) + price * k)
    return least
