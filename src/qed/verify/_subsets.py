"""Subsets of columns, checked: the objective recomputed, and the search for a better subset made again by other code.

Sums of squares come from products of columns where these keep enough digits, from least squares on a triangle of the rows
elsewhere, and branches are taken best first: if a subset were better than claimed, a branch whose bound is below the claim would
lead to it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._rows import EXTENDED, read
from qed.verify._same_data import look, require_same_data
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.core._certificates import SubsetCertificate

__all__ = ["check"]

Array = np.ndarray[Any, Any]
MORE = 2000  # sets that are looked at in any case; beyond, those of the fit, with all pairs of columns for each


def check(model: Any, certificate: SubsetCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute objective and bound; raise CertificateError when they are not as claimed."""
    rows = read(model, X, y, sample_weight)
    seen = look(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    w = np.asarray(model.coef_, dtype=EXTENDED)
    if w.shape != (rows.p,) or not np.all(np.isfinite(w)):
        raise CertificateError(_CHANGED.format("its coefficients do not fit the columns"))
    used = np.flatnonzero(w)
    size = rows.p if model.size is None else min(int(model.size), rows.p)
    if len(used) > size or not np.array_equal(used, model.columns_):
        raise CertificateError(_CHANGED.format(f"{len(used)} columns have coefficients, and {size} are allowed"))
    middle = seen.mean if model.fit_intercept else np.zeros(rows.p + 1, EXTENDED)
    squares = EXTENDED(0)
    products = np.zeros((rows.p + 1, rows.p + 1), EXTENDED)
    triangle = np.zeros((0, rows.p + 1))
    for block in rows.blocks():
        error = block.y[:, 0] - block.X @ w - EXTENDED(model.intercept_)
        squares += block.s @ error**2
        # centred in extended precision, multiplied in double: what that rounds is far below the slack
        z = ((np.hstack([block.X, block.y]) - middle) * np.sqrt(block.s)[:, None]).astype(np.float64)
        products += z.T @ z
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, z]), mode="r"))
    null, price = products[-1, -1], EXTENDED(model.penalty)
    objective = squares + price * len(used)
    slack = 1e-9 * float(null + price * len(used)) + 1e-12 * float(seen.spread[-1] + seen.weight * seen.mean[-1] ** 2)
    if not abs(float(objective) - certificate.objective) <= slack + certificate.rounding:
        raise CertificateError(
            _CHANGED.format(f"its objective is {float(objective):.10g}, not {certificate.objective:.10g}")
        )
    raw = float(seen.spread[-1] + seen.weight * seen.mean[-1] ** 2)  # constant targets leave nothing but rounding
    if not abs(float(null) - certificate.null_objective) <= 1e-6 * float(null) + 1e-12 * raw:
        raise CertificateError(_CHANGED.format(f"the intercept alone leaves {float(null):.10g}"))
    goal = float(objective) - 2 * certificate.gap - slack
    search = _Search(products, triangle, size, float(price), seen.rows - bool(model.fit_intercept))
    if certificate.nodes:
        bound = search.bound_above(goal, MORE + certificate.nodes * max(rows.p, 8) ** 2)
    else:
        bound = search.bound_of_coherence()
    distance = max(float(objective) - bound, 0.0)
    if not bound >= goal:
        raise CertificateError(
            _CHANGED.format(f"a subset may lower it by {distance:.3g}, and at most {certificate.gap:.3g} is claimed")
        )
    return Verdict(certificate.statement, float(objective), min(distance, 2 * certificate.gap), slack, certificate.gap)


class _Search:
    """Sums of squares of subsets, from products of columns of length one."""

    def __init__(self, products: Array, triangle: Array, size: int, price: float, free: int) -> None:
        length = np.sqrt(np.diagonal(products)[:-1])
        used = length > 0
        scale = np.where(used, length, 1)
        self.total = float(products[-1, -1])
        self.Q = (products[:-1, :-1] / np.multiply.outer(scale, scale)).astype(np.float64)
        self.c = (products[:-1, -1] / scale).astype(np.float64)
        self.rows, self.target = triangle[:, :-1] / scale.astype(np.float64), triangle[:, -1]
        self.size, self.price, self.free = size, price, free
        self.order = [int(j) for j in np.argsort(-(self.c**2)) if used[j]]

    def left(self, columns: list[int]) -> float:
        """Return what least squares on some columns leaves."""
        if not columns:
            return self.total
        if len(columns) >= self.free:
            return 0.0  # as many columns as rows may explain everything; if they do not, the bound is only lower
        Q, c = self.Q[np.ix_(columns, columns)], self.c[columns]
        try:
            root = np.linalg.cholesky(Q)
            if root.diagonal().min() > 1e-2:  # far enough from dependent for products to keep their digits
                along = np.linalg.solve(root, c)
                return max(self.total - float(along @ along), 0.0)
        except np.linalg.LinAlgError:
            pass
        rows = self.rows[:, columns]
        rest = self.target - rows @ np.linalg.lstsq(rows, self.target, rcond=1e-13)[0]
        return float(rest @ rest)

    def bound_above(self, goal: float, most: int) -> float:
        """Return a bound on all subsets: the goal as soon as none is below it, less if one is or there are too many."""
        every = len(self.order)
        # bound, number, columns that are in, the first that is open, what in and open columns leave together
        whole = self.left(self.order)
        heap: list[tuple[float, int, tuple[int, ...], int, float]] = [(whole, 0, (), 0, whole)]
        count = 0
        while heap:
            bound, _, chosen, first, together = heappop(heap)
            if bound >= goal:
                return bound
            count += 1
            here = self.left(list(chosen)) + self.price * len(chosen)
            if here < goal or count > most:
                return bound
            if first == every or len(chosen) >= self.size:
                continue
            if len(chosen) + 1 == self.size:
                last = self._with_one_more(chosen, self.order[first:]) + self.price * self.size
                if last < goal:
                    return last
                continue
            price = self.price * len(chosen)
            without = self.left([*chosen, *self.order[first + 1 :]])
            if without + price < goal:
                heappush(heap, (without + price, 2 * count, chosen, first + 1, without))
            if together + price + self.price < goal:
                more = (*chosen, self.order[first])
                heappush(heap, (together + price + self.price, 2 * count + 1, more, first + 1, together))
        return goal

    def _with_one_more(self, chosen: tuple[int, ...], others: list[int]) -> float:
        """Return the least that some columns leave with one of others."""
        have = list(chosen)
        inverse = np.linalg.pinv(self.Q[np.ix_(have, have)], hermitian=True)
        between = self.Q[np.ix_(have, others)]
        rest = self.c[others] - between.T @ (inverse @ self.c[have])
        room = np.diagonal(self.Q)[others] - np.sum(between * (inverse @ between), axis=0)
        clear = room > 1e-3
        gains = rest[clear] ** 2 / room[clear]
        least = self.left(have) - float(np.max(gains, initial=0.0))
        nearly = [self.left([*have, others[j]]) for j in np.flatnonzero(~clear)]
        return max(min([least, *nearly]), 0.0)

    def bound_of_coherence(self) -> float:
        """Return what all columns together leave, or what so nearly orthogonal ones cannot explain, for the best number of them."""
        together = self.left(self.order)
        index = np.array(self.order, dtype=np.intp)
        if not len(index):
            return self.total
        Q = np.abs(self.Q[np.ix_(index, index)])
        most = float(np.max(Q - np.diag(np.diagonal(Q)), initial=0.0))
        bounds = [self.total]
        for k in range(1, self.size + 1):
            explained = float(np.sum(self.c[index[:k]] ** 2))
            room = 1 - (k - 1) * most
            low = max(self.total - explained / room, together) if room > 0 else together
            bounds.append(low + self.price * k)
        return min(bounds)


_CHANGED = (
    "The certificate of this BestSubsetRegressor is false: {}. The coefficients, parameters or certificate were changed after the"
    " fit. Fit again, or load the model from its file."
)
