"""Subsets of columns, checked: the objective recomputed, and the search for a better subset made again by other code.

Sums of squares come from products of columns where these keep enough digits, from least squares on a triangle of the rows
elsewhere, and branches are taken best first: if a subset were better than claimed, a branch whose bound is below the claim would
lead to it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import SubsetCertificate


Array = np.ndarray[Any, Any]
NEARLY_DEPENDENT = (
    1e-3  # singular value of columns of length one below which a claim is about coefficients within a radius
)
MORE = 2000  # sets that are looked at in any case; beyond, those of the fit, with all pairs of columns for each


def check(model: Any, certificate: SubsetCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute objective and bound; raise CertificateError when they are not as claimed."""
    rows = read(model, X, y, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    w = np.asarray(model.coef_, dtype=EXTENDED)
    if w.shape != (rows.p,) or not np.all(np.isfinite(w)):
        refuse(model, "its coefficients do not fit the columns")
    used = np.flatnonzero(w)
    size = rows.p if model.size is None else min(int(model.size), rows.p)
    if len(used) > size or not np.array_equal(used, model.columns_):
        refuse(model, f"{len(used)} columns have coefficients, and {size} are allowed")
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
        refuse(model, f"its objective is {float(objective):.10g}, not {certificate.objective:.10g}")
    raw = float(seen.spread[-1] + seen.weight * seen.mean[-1] ** 2)  # constant targets leave nothing but rounding
    if not abs(float(null) - certificate.null_objective) <= 1e-6 * float(null) + 1e-12 * raw:
        refuse(model, f"the intercept alone leaves {float(null):.10g}")
    search = _Search(products, triangle, size, float(price))
    search.radius = _radius(model, certificate, search, float(null))
    goal = float(objective) - certificate.gap - slack
    if certificate.nodes:
        bound = search.bound_above(goal, MORE + certificate.nodes * max(rows.p, 8) ** 2)
    else:
        bound = search.bound_of_coherence()
    distance = max(float(objective) - bound, 0.0)
    if not bound >= goal:
        refuse(model, f"a subset may lower it by {distance:.3g}, and at most {certificate.gap:.3g} is claimed")
    return Verdict(certificate.statement, float(objective), min(distance, certificate.gap), slack, certificate.gap)


def _radius(model: Any, certificate: SubsetCertificate, search: _Search, null: float) -> float:
    """Return the length of coefficients up to which no subset may be better, from what the certificate claims."""
    if certificate.radius == np.inf:
        least = search.least_singular_value()
        if not least >= 0.99 * NEARLY_DEPENDENT:
            refuse(model, "it speaks of all coefficients, and columns are so nearly dependent that rounding decides")
        return 1.01 * float(np.sqrt(null)) / least  # least squares on any subset is not longer
    if not certificate.radius >= 0.99 * float(np.sqrt(null)) / NEARLY_DEPENDENT:
        refuse(model, f"it speaks of coefficients within {certificate.radius:.3g} alone")
    return float(certificate.radius)


class _Search:
    """Sums of squares of subsets, from products of columns of length one."""

    radius: float  # of coefficients that count, in columns of length one

    def __init__(self, products: Array, triangle: Array, size: int, price: float) -> None:
        length = np.sqrt(np.diagonal(products)[:-1])
        used = length > 0
        scale = np.where(used, length, 1)
        self.total = float(products[-1, -1])
        self.Q = (products[:-1, :-1] / np.multiply.outer(scale, scale)).astype(np.float64)
        self.c = (products[:-1, -1] / scale).astype(np.float64)
        self.rows, self.target = triangle[:, :-1] / scale.astype(np.float64), triangle[:, -1]
        self.size, self.price = size, price
        self.order = [int(j) for j in np.argsort(-(self.c**2)) if used[j]]

    def left(self, columns: list[int]) -> float:
        """Return a bound on what some columns leave: least squares, or that of coefficients within the radius."""
        if not columns:
            return self.total
        if self._is_clear(columns):
            along = np.linalg.solve(np.linalg.cholesky(self.Q[np.ix_(columns, columns)]), self.c[columns])
            return max(self.total - float(along @ along), 0.0)
        U, values, _ = np.linalg.svd(self.rows[:, columns], full_matrices=False)
        along = U.T @ self.target
        rest = self.target - U @ along
        # by duality, for every price of length: what is left, plus price times (squared length less squared radius)
        price = self._price_of_length(values, along)
        within = float(np.sum(along**2 * (price / np.maximum(values**2 + price, 1e-300)))) - price * self.radius**2
        return max(float(rest @ rest) + within, 0.0)

    def _is_clear(self, columns: list[int]) -> bool:
        """Say whether columns are far enough from dependent for products to keep their digits."""
        try:
            root = np.linalg.cholesky(self.Q[np.ix_(columns, columns)])
        except np.linalg.LinAlgError:
            return False
        return bool(root.diagonal().min() > 1e-2)

    def _price_of_length(self, values: Array, along: Array) -> float:
        """Return the price at which the best coefficients are as long as the radius; next to none if they are shorter."""
        low, high = 1e-30, 1.0 + float(values[0]) ** 2

        def is_long(price: float) -> bool:
            return bool(np.linalg.norm(along * values / (values**2 + price)) > self.radius)

        while is_long(high):
            high *= 4
        for _ in range(60):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if is_long(middle) else (low, middle)
        return high

    def least_singular_value(self) -> float:
        """Bound from below the singular values of all subsets of columns."""
        if not self.order or self.size < 1:
            return 1.0
        least = 0.0
        if len(self.order) <= len(self.rows):
            least = float(np.linalg.svd(self.rows[:, self.order], compute_uv=False)[-1])
        Q = np.abs(self.Q[np.ix_(self.order, self.order)])
        most = float(np.max(Q - np.diag(np.diagonal(Q)), initial=0.0))
        return max(least, float(np.sqrt(max(1 - (min(self.size, len(self.order)) - 1) * most, 0.0))))

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
        if have and not self._is_clear(have):
            return min(self.left([*have, j]) for j in others)
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
