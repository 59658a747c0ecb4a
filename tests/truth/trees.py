"""Trees against all trees: every split of every node, impurities in high precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import log, mp, mpf
from tests.truth.judged import Judged, fitted, ones, size, table, weights

from qed.tree import DecisionTreeClassifier, DecisionTreeRegressor

if TYPE_CHECKING:
    from collections.abc import Iterator

CRITERIA = ("gini", "entropy", "squared_error", "absolute_error", "poisson")


def cases(seed: int) -> Iterator[Judged]:
    """Judge trees of one seed, depth by depth."""
    mp.dps = 40
    rng = np.random.default_rng([seed, 2])
    n, p = int(rng.integers(2, 9)), int(rng.integers(1, 3))
    X = table(rng, n, p) if rng.random() < 0.5 else rng.integers(0, 3, (n, p)).astype(float)
    X[rng.random(X.shape) < rng.choice([0.0, 0.0, 0.2])] = np.nan
    s = weights(rng, n)
    criterion = CRITERIA[seed % 5]
    is_class = criterion in ("gini", "entropy")
    if is_class:
        y = rng.integers(0, int(rng.integers(2, 5)), n)
    elif criterion == "poisson":
        y = rng.poisson(1.5, n) * size(rng)
    else:
        y = (rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 4, n)) * size(rng) + rng.choice(
            [0, 0, 1e6, 1e12]
        )
    depth = [1, 2, 1, 2, None, 3][seed // 5 % 6]
    make = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    more = {} if rng.random() < 0.7 else {"min_samples_leaf": 2} if rng.random() < 0.5 else {"max_leaf_nodes": 3}
    model = make(criterion=criterion, max_depth=depth, **more)
    if fitted(model, X, y, s) is None:
        return
    certificate, v = model.certificate_, ones(s, n)
    used = np.flatnonzero(v > 0)
    X, y, v = X[used], y[used], v[used]
    least = _Least(X, y, v, criterion)
    every = least.of(tuple(range(len(used))), certificate.depth or 6)
    own = sum(least.mass(tuple(np.flatnonzero(model.apply(X) == leaf))) for leaf in np.unique(model.apply(X)))
    total = sum(mpf(float(one)) for one in v)
    yield Judged(repr(model), certificate.gap, float((own - every) / total))
    yield Judged(repr(model), certificate.rounding, float(abs(own / total - mpf(certificate.objective))), "objective")
    yield Judged(repr(model), float(every / total) + certificate.rounding, certificate.lower, "what every tree leaves")


class _Least:
    """What trees leave, tried one by one."""

    def __init__(self, X: Any, y: Any, s: Any, criterion: str) -> None:
        self.X, self.criterion = X, criterion
        self.y, self.s = [mpf(float(one)) for one in y], [mpf(float(one)) for one in s]
        self.known: dict[Any, Any] = {}

    def of(self, rows: tuple[int, ...], depth: int) -> Any:
        if (rows, depth) in self.known:
            return self.known[rows, depth]
        best = self.mass(rows)
        if depth and best > 0:
            for low, high in self._splits(rows):
                best = min(best, self.of(low, depth - 1) + self.of(high, depth - 1))
        self.known[rows, depth] = best
        return best

    def _splits(self, rows: tuple[int, ...]) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
        found = set()
        for column in self.X.T:
            values = column[list(rows)]
            for t in [*np.unique(values[~np.isnan(values)]), np.inf]:
                for missing in (False, True):
                    left = tuple(i for i in rows if (missing if np.isnan(column[i]) else column[i] <= t))
                    if left and len(left) < len(rows):
                        found.add((left, tuple(i for i in rows if i not in left)))
        return found

    def mass(self, rows: tuple[int, ...]) -> Any:
        """Return weight times impurity."""
        y, s = [self.y[i] for i in rows], [self.s[i] for i in rows]
        total = sum(s)
        if len(set(y)) == 1:
            return mpf(0)  # whatever the criterion; a mean of forty digits would be off by its last one
        if self.criterion in ("gini", "entropy"):
            shares = [sum(w for w, label in zip(s, y, strict=True) if label == k) / total for k in set(y)]
            if self.criterion == "gini":
                return total * (1 - sum(q * q for q in shares))
            return -total * sum(q * log(q, 2) for q in shares)
        if self.criterion == "absolute_error":
            return min(sum(w * abs(one - middle) for w, one in zip(s, y, strict=True)) for middle in y)
        mean = sum(w * one for w, one in zip(s, y, strict=True)) / total
        if self.criterion == "poisson":
            return sum(w * one * log(one / mean) for w, one in zip(s, y, strict=True) if one > 0)
        return sum(w * (one - mean) ** 2 for w, one in zip(s, y, strict=True))
