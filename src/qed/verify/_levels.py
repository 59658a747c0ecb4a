"""Edges, knots and quantiles, checked: placed again from the sorted rows, by definition, and compared.

What was learnt from rows that were drawn with a seed is held to the same draw. Without a seed it is held to what a draw can
promise: the empirical distribution of m drawn rows is within ``sqrt(log(2 / delta) / (2 m))`` of that of all rows (Dvoretzky,
Kiefer, Wolfowitz, with Massart's constant), delta being 1e-9.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.verify._learnt import DOUBLE, EXTENDED, Column, Learnt, quantile
from qed.verify._streamed import Ranks, ranks_of, rows_of

Array = np.ndarray[Any, Any]
LINEAR = "linear"
BY_COUNTING = ("inverted_cdf", "averaged_inverted_cdf")
MAX_PAIRED_VALUES = 64  # values of next to no weight of which all pairs are tried; of more of them neighbours
MOST_WAYS = 64  # in which rounding may let the iteration of k-means end
NARROW = 1e-8  # bins of this width and less are joined


class _Sorted:
    """The entries of a column that count, sorted, with the weight up to each."""

    def __init__(self, column: Column) -> None:
        self.x, s = column.sorted(weighted=True)
        self.s = s
        self.reached = np.cumsum(s)
        self.is_equal = bool(len(s)) and bool((s == s[0]).all())

    @property
    def size(self) -> float:
        """The rounding that placing among these numbers may cost."""
        return (16 + 4 * len(self.x)) * DOUBLE * float(np.max(np.abs(self.x), initial=0))

    def possible(self, share: Any, method: str) -> list[Any]:
        """Return a quantile by its definition; several where rounding decides whether a share is met exactly."""
        if method == LINEAR:
            return [quantile(self.x, share)]
        n, whole = len(self.x), self.reached[-1]
        wanted = EXTENDED(share) * whole
        # Shares of equal rows are counted; sums of weights are rounded, and what is met up to rounding may count as met.
        near = (4 if self.is_equal else 64 * n) * DOUBLE * whole
        first = min(int(np.count_nonzero(self.reached < wanted - near)), n - 1)
        last = min(int(np.count_nonzero(self.reached <= wanted + near)), n - 1)
        if wanted <= near:
            return [self.x[0]]
        if method == "inverted_cdf":
            return [self.x[k] for k in range(first, last + 1)]
        # sums from below and from above are rounded differently: the middle may be that of any two values in question
        among = self.x[first : last + 1]
        reach = len(among) if len(among) <= MAX_PAIRED_VALUES else 2
        pairs = {(low + high) / 2 for at, low in enumerate(among) for high in among[at : at + reach]}
        return sorted(pairs | {(among[0] + among[-1]) / 2})

    def nearest(self, share: Any, method: str, stored: Any) -> Any:
        """Return that possible quantile which is nearest to a stored one."""
        return min(self.possible(share, method), key=lambda one: abs(one - stored) if stored == stored else 0)  # noqa: PLR0124

    def ranks(self, value: Any) -> tuple[float, float]:
        """Return the shares of the weight below a value, and up to it."""
        whole = self.reached[-1]
        return float(self.s[self.x < value].sum() / whole), float(self.s[self.x <= value].sum() / whole)


def _of_a_draw(drawn: int) -> float:
    """Return how far shares of the rows that were drawn may be from those of all rows."""
    return float(np.sqrt(np.log(2e9) / (2 * drawn))) + 1.0 / drawn


def _require_ranks(
    fit: Learnt, what: str, j: int, column: _Sorted | Ranks, levels: Any, stored: Any, off: float
) -> float:
    """Hold quantiles to shares of the rows up to them, to within ``off``."""
    fit.require((np.diff(stored) >= 0).all(), f"stores {what} for column {j} that fall")
    for level, value in zip(levels, stored, strict=True):
        below, upto = column.ranks(value)
        fit.require(
            below - off <= level <= upto + off,
            f"stores {what} for column {j}: {float(value):.6g} is no quantile {level:.4g}, {upto:.4g} of the rows are up to it",
        )
    return off


# -- bins --------------------------------------------------------------------------------------------------


def check_bins(fit: Learnt) -> float:
    """Check the edges of bins."""
    model, p = fit.model, fit.p
    is_drawn = model.subsample is not None and fit.n > model.subsample
    fit.require_claim(f"edges of {p} columns", model.subsample if is_drawn else fit.n, 8 * DOUBLE)
    edges, asked = model.bin_edges_, np.broadcast_to(np.asarray(model.n_bins), p)
    fit.require(isinstance(edges, list) and len(edges) == p, "does not store edges for each column")
    counts = fit.numbers("n_bins_", (p,))
    fit.require(model.n_bins_.dtype.kind in "iu", "stores numbers of bins that are no counts")
    rows, drawn = _drawn_rows(fit, is_drawn=is_drawn)
    off = 0.0
    for j, column in enumerate(rows.columns):
        stored = edges[j]
        good = isinstance(stored, np.ndarray) and stored.ndim == 1 and stored.dtype.kind == "f" and len(stored) > 1
        fit.require(good and counts[j] == len(stored) - 1, f"stores {counts[j]} bins for column {j}, and other edges")
        fit.require((np.diff(stored) > 0).all(), f"stores edges for column {j} that do not rise")
        values = _Sorted(column)
        x = column.x if model.strategy == "quantile" else values.x
        if drawn is None and x.min() == x.max():
            fit.require(np.array_equal(stored, [-np.inf, np.inf]), f"stores edges for column {j}, which does not vary")
            continue
        fit.require(np.isfinite(stored).all(), f"stores edges for column {j} that are no numbers")
        if drawn is None:
            off = max(off, _check_edges(fit, j, values, stored.astype(EXTENDED), int(asked[j])))
        else:
            off = max(off, _check_drawn_edges(fit, j, values, stored, int(asked[j]), drawn))
    return off


def _drawn_rows(fit: Learnt, *, is_drawn: bool) -> tuple[Learnt, float | None]:
    """Return the rows that edges were computed from, and how far shares may be off where the draw cannot be repeated."""
    model = fit.model
    is_seeded = isinstance(model.random_state, int | np.integer)
    if is_source(fit.X):
        return _drawn_of_source(fit, is_drawn=is_drawn, is_seeded=is_seeded)
    if not is_drawn:
        return fit, None
    if not is_seeded:
        return fit, _of_a_draw(model.subsample)
    share = None if fit.sample_weight is None else np.asarray(fit.s, np.float64) / np.asarray(fit.s, np.float64).sum()
    chosen = np.random.default_rng(model.random_state).choice(fit.n, model.subsample, replace=True, p=share)
    dense = np.stack([np.asarray(column.dense, np.float64) for column in fit.table.columns], axis=1)[chosen]
    return Learnt(model, fit.certificate, dense), None


def _drawn_of_source(fit: Learnt, *, is_drawn: bool, is_seeded: bool) -> tuple[Learnt, float | None]:
    """Return the rows of a source that edges were computed from; all of them where the draw cannot be repeated."""
    model, chosen = fit.model, None
    if is_drawn and is_seeded:
        s = [s for _, s in fit.X.targets()] if fit.X.schema.weighted else None
        share = None if s is None else np.concatenate(s) / np.concatenate(s).sum()
        chosen = np.random.default_rng(model.random_state).choice(fit.n, model.subsample, replace=True, p=share)
    rows, weight = rows_of(fit.X, chosen, fit.n)
    own = Learnt(model, fit.certificate, rows, None, weight if chosen is None else None)
    return own, _of_a_draw(model.subsample) if is_drawn and not is_seeded else None


def _check_edges(fit: Learnt, j: int, column: _Sorted, stored: Array, n_bins: int) -> float:
    model, near = fit.model, column.size
    if model.strategy == "uniform":
        return fit.compare("edges", stored, np.linspace(column.x[0], column.x[-1], n_bins + 1), near, j)
    if model.strategy == "kmeans":
        return _check_middles(fit, j, column, stored, n_bins)
    levels, method = np.linspace(0, 1, n_bins + 1), model.quantile_method
    if method not in (LINEAR, *BY_COUNTING):
        read_off = np.percentile(column.x.astype(np.float64), 100 * levels, method=method).astype(EXTENDED)
        options = [[one] for one in read_off]
    else:
        options = [column.possible(level, method) for level in levels]
    true: list[Any] = []
    for choice in options:
        true.append(_stored_one(choice, stored, near, true))
    kept = [
        edge for edge, width in zip(true, [np.inf, *np.diff(true)], strict=True) if _is_kept(edge, width, stored, near)
    ]
    return fit.compare("edges", stored, kept, near, j)


def _stored_one(choice: list[Any], stored: Array, near: float, before: list[Any]) -> Any:
    """Return the possible edge that is stored; of several such one that no level before took, and of these the middle one."""
    middle = (choice[0] + choice[-1]) / 2

    def rank(one: Any) -> tuple[Any, bool, Any]:
        is_taken = any(abs(one - edge) <= near for edge in before)
        return max(np.min(np.abs(stored - one)), near), is_taken, abs(one - middle)

    return min(choice, key=rank)


def _is_kept(edge: Any, width: Any, stored: Array, near: float) -> bool:
    """Tell whether an edge is there: bins that are too narrow are joined, and rounding may decide which are."""
    if abs(width - NARROW) <= 4 * near:
        return bool(np.min(np.abs(stored - edge)) <= near)
    return bool(width > NARROW)


def _check_drawn_edges(fit: Learnt, j: int, column: _Sorted, stored: Array, n_bins: int, off: float) -> float:
    """Hold edges of rows that were drawn without a seed to what any draw must give."""
    model = fit.model
    if model.strategy == "quantile":
        if len(stored) != n_bins + 1:
            return 0.0  # narrow bins were joined: which, only the drawn rows tell
        return _require_ranks(fit, "edges", j, column, np.linspace(0, 1, n_bins + 1), stored, off)
    ends = np.array([stored[0], stored[-1]])
    fit.require(
        len(stored) == n_bins + 1 or model.strategy == "kmeans", f"stores another number of edges for column {j}"
    )
    _require_ranks(fit, "outer edges", j, column, [0.0, 1.0], ends, off)
    if model.strategy == "uniform":
        return fit.compare("edges", stored, np.linspace(ends[0], ends[1], n_bins + 1), column.size, j)
    spread = float(np.sqrt(np.mean((column.x - column.x.mean()) ** 2)))
    halves, beside = _halves(column, stored.astype(EXTENDED))
    allowed = (1e-2 + 3 * np.sqrt(len(stored) / model.subsample)) * spread
    return fit.compare("edges", stored[1:-1][beside], halves[beside], allowed, j)


def _check_middles(fit: Learnt, j: int, column: _Sorted, stored: Array, n_bins: int) -> float:
    """Check that edges are where Lloyd's iteration ends that starts from bins of equal widths.

    Where rounding decides too many steps of it, edges must lie halfway between the means of the bins beside
    them, as far as the iteration goes: it ends when the centres move by less than 1e-2 of the deviation, in the root of their
    squares, so that one further step from the stored edges leads to within that.
    """
    near = column.size
    edges = [(one[1:] + one[:-1]) / 2 for one in _lloyd(column, n_bins)]
    if edges and len(stored) == n_bins + 1:
        closest = min(edges, key=lambda one: np.abs(one - stored[1:-1]).max(initial=0))
        return fit.compare("edges", stored, [column.x[0], *closest, column.x[-1]], 4 * near, j)
    fit.compare("outer edges", stored[[0, -1]], [column.x[0], column.x[-1]], near, j)
    middle = (column.s @ column.x) / column.reached[-1]
    spread = np.sqrt((column.s @ (column.x - middle) ** 2) / column.reached[-1])
    halves, beside = _halves(column, stored)
    return fit.compare("edges", stored[1:-1][beside], halves[beside], 1e-2 * spread + near, j)


def _lloyd(column: _Sorted, n_bins: int) -> list[Array]:
    """Return where centres of bins may end that move to the means of the values next to them; none if there are too many ways.

    Rounding decides on which side a value goes that lies midway between two centres, whether the least value or the largest is
    farther from its centre, and whether a step was small enough to be the last: each is followed both ways.
    """
    # sums are taken from the least value on, so that only centres themselves feel how far from zero the values are
    near = 4 * DOUBLE * float(4 * np.abs(column.x).max() + (16 + 4 * len(column.x)) * (column.x[-1] - column.x[0]))
    x, first = np.unique(column.x, return_index=True)
    s = np.add.reduceat(column.s, first)  # equal values move together
    least = EXTENDED(1e-4) * (s @ (x - (s @ x) / s.sum()) ** 2) / s.sum()
    start = x[0] + (x[-1] - x[0]) * (2 * np.arange(n_bins, dtype=EXTENDED) + 1) / (2 * n_bins)
    ways: list[tuple[Array, Any, int]] = [(start, None, 0)]
    ended: list[Array] = []
    while ways:
        centres, before, steps = ways.pop()
        for ends in _placed(x, (centres[1:] + centres[:-1]) / 2, near):
            rows = np.split(np.arange(len(x)), ends)
            is_filled = all(len(own) for own in rows)
            for own in [rows] if is_filled else _filled(x, rows, centres, near):
                means = [s[k] @ x[k] / s[k].sum() if len(k) else one for k, one in zip(own, centres, strict=True)]
                step, moved = np.sum((np.array(means) - centres) ** 2), np.sort(np.array(means))
                unsure = 1e-6 * least + 2 * n_bins * near * (np.sqrt(step) + near)
                is_last = steps == 299 or (is_filled and before is not None and np.array_equal(ends, before))
                if is_last or step <= least + unsure:
                    ended.append(moved)
                if not is_last and step > least - unsure:
                    ways.append((moved, ends, steps + 1))
        if len(ways) + len(ended) > MOST_WAYS:
            return []
    return ended


def _placed(x: Array, middles: Array, near: float) -> list[Array]:
    """Return where values are cut at the middles; both ways where one is as near to two centres as can be told."""
    low, high = np.searchsorted(x, middles - near), np.searchsorted(x, middles + near, side="right")
    cuts = [np.empty(0, dtype=np.intp)]
    for first, last in zip(low.tolist(), high.tolist(), strict=True):
        cuts = [np.append(one, at) for one in cuts for at in range(first, last + 1)][: MOST_WAYS + 1]
    return cuts


def _filled(x: Array, rows: list[Array], centres: Array, near: float) -> list[list[Array]]:
    """Give each bin without values one of those farthest from their centre; nothing where those cannot be told."""
    own = np.repeat(np.arange(len(rows)), [len(one) for one in rows])
    far, empty = np.abs(x - centres[own]), [k for k, one in enumerate(rows) if not len(one)]
    made = []
    for end in (0, -1) if abs(far[0] - far[-1]) <= near else (0,):  # equally far, at the start
        distance = far.copy()
        distance[end] += 2 * near if abs(far[0] - far[-1]) <= near else 0
        order = np.argsort(-distance, kind="stable")
        if len(x) <= len(rows) or distance[order[len(empty) - 1]] - distance[order[len(empty)]] <= near:
            return []
        given = list(rows)
        for k, value in zip(empty, order.tolist(), strict=False):
            given[own[value]] = given[own[value]][given[own[value]] != value]
            given[k] = np.array([value])
        made.append(given)
    return made


def _halves(column: _Sorted, stored: Array) -> tuple[Array, Array]:
    """Return the middles between the means of neighbouring bins, and whether both have rows."""
    places = np.searchsorted(stored[1:-1], column.x, side="right")
    bins = len(stored) - 1
    mass, moment = np.zeros(bins, EXTENDED), np.zeros(bins, EXTENDED)
    np.add.at(mass, places, column.s)
    np.add.at(moment, places, column.s * column.x)
    mean = moment / np.where(mass > 0, mass, 1)
    return (mean[1:] + mean[:-1]) / 2, (mass[1:] > 0) & (mass[:-1] > 0)


# -- quantiles ---------------------------------------------------------------------------------------------


def check_quantiles(fit: Learnt) -> float:
    """Check the quantiles that ranks are read from."""
    model, p = fit.model, fit.p
    used = fit.n if model.subsample is None else min(fit.n, model.subsample)
    fit.require_claim(f"quantiles of {p} columns", used, 8 * DOUBLE)
    k = max(1, min(model.n_quantiles, fit.n))
    fit.whole_number("n_quantiles_", k)
    levels = np.linspace(0, 1, k)
    fit.compare("shares", fit.numbers("references_", (k,)), levels, 2 * DOUBLE)
    quantiles, off = fit.numbers("quantiles_", (k, p)), 0.0
    if is_source(fit.X):
        if model.subsample is not None and fit.n > model.subsample:
            return _check_drawn_ranks(fit, levels, quantiles)
        fit = Learnt(model, fit.certificate, rows_of(fit.X, None, fit.n)[0])
    for j, column in enumerate(fit.columns):
        only_stored = is_sparse(fit.X) and model.ignore_implicit_zeros
        own = column._replace(zeros=0, weight_of_zeros=EXTENDED(0)) if only_stored else column
        values, stored = _Sorted(own), quantiles[:, j]
        if not len(values.x):
            fit.compare("quantiles", stored, np.full(k, 0.0 if only_stored else np.nan), 0.0, j)
            continue
        # Of a sparse column the entries that it stores are drawn, where they are many.
        many = len(own.x) if is_sparse(fit.X) else fit.n
        if model.subsample is not None and many > model.subsample:
            off = max(off, _require_ranks(fit, "quantiles", j, values, levels, stored, _of_a_draw(model.subsample)))
        else:
            true = [quantile(values.x, level) for level in levels]
            off = max(off, fit.compare("quantiles", stored, true, values.size, j))
    return off


def _check_drawn_ranks(fit: Learnt, levels: Array, quantiles: Array) -> float:
    """Hold quantiles of drawn rows of a source to the shares of all rows up to them."""
    drawn, off = fit.model.subsample, 0.0
    for j, (column, summary) in enumerate(
        zip(ranks_of(fit.X, list(quantiles.T), [0.0] * fit.p), fit.summaries, strict=True)
    ):
        stored = quantiles[:, j]
        if np.isnan(stored).all():
            # So many drawn rows without an entry bound the share of entries; then nothing is known of these.
            fit.require(summary.entries <= _of_a_draw(drawn) * fit.n, f"stores no quantiles for column {j}")
            continue
        # At least half as many entries are drawn as may be expected of a column with gaps.
        there = drawn if summary.entries == fit.n else max(1, drawn * summary.entries // (2 * fit.n))
        off = max(off, _require_ranks(fit, "quantiles", j, column, levels, stored, _of_a_draw(there)))
    return off


# -- knots and bumps ---------------------------------------------------------------------------------------


def check_splines(fit: Learnt) -> float:
    """Check the knots of splines, and how many splines there are."""
    model, p, off = fit.model, fit.p, 0.0
    fit.require_claim(f"knots of {p} columns", fit.n, 8 * DOUBLE)
    is_given, is_periodic, degree = not isinstance(model.knots, str), model.extrapolation == "periodic", model.degree
    base = len(model.knots) if is_given else model.n_knots
    knots = fit.numbers("knots_", (base + 2 * degree, p))
    each = (base - 1 if is_periodic else base + degree - 1) - (not model.include_bias)
    fit.whole_number("n_features_out_", p * each)
    for j, column in enumerate(fit.columns):
        values, stored = _Sorted(column), knots[:, j]
        inner = stored[degree : degree + base]
        if is_given:
            true = np.asarray(model.knots, dtype=EXTENDED)[:, j]
        elif model.knots == "uniform":
            true = np.linspace(values.x[0], values.x[-1], base)
        else:
            method = LINEAR if fit.sample_weight is None else "averaged_inverted_cdf"
            levels = np.linspace(0, 1, base)
            true = np.array([values.nearest(level, method, own) for level, own in zip(levels, inner, strict=True)])
        near = 0.0 if is_given else values.size
        off = max(off, fit.compare("knots", inner, true, near, j))
        outer = _with_outer(inner, degree, is_periodic=is_periodic)
        size = 16 * (1 + degree) * DOUBLE * float(np.max(np.abs(outer)))
        off = max(off, fit.compare("knots", stored, outer, size, j))
    return off


def _with_outer(base: Array, degree: int, *, is_periodic: bool) -> Array:
    """Return knots with as many outside, on both sides, as the degree."""
    if is_periodic:
        period = base[-1] - base[0]
        return np.concatenate([base[len(base) - 1 - degree : -1] - period, base, base[1 : degree + 1] + period])
    below = [base[0] - k * (base[1] - base[0]) for k in range(degree, 0, -1)]
    above = [base[-1] + k * (base[-1] - base[-2]) for k in range(1, degree + 1)]
    return np.concatenate([np.array(below, EXTENDED), base, np.array(above, EXTENDED)])


def check_pieces(fit: Learnt) -> float:
    """Check the knots of piecewise linear functions."""
    model, p, off = fit.model, fit.p, 0.0
    fit.require_claim(f"knots of {p} columns", fit.n, 8 * DOUBLE)
    fit.require(isinstance(model.knots_, list) and len(model.knots_) == p, "does not store knots for each column")
    for j, column in enumerate(fit.columns):
        stored = model.knots_[j]
        good = isinstance(stored, np.ndarray) and stored.dtype.kind == "f" and stored.ndim == 1
        fit.require(good, f"stores no knots for column {j}")
        fit.require((np.diff(stored) > 0).all(), f"stores knots for column {j} that do not rise")
        if model.knots is not None:
            off = max(
                off, fit.compare("knots", stored, np.unique(np.asarray(model.knots[j], dtype=np.float64)), 0.0, j)
            )
            continue
        values = _Sorted(column)
        wanted = [quantile(values.x, level) for level in np.linspace(0, 1, model.n_knots + 2)[1:-1]]
        fit.require(len(stored) > 0, f"stores no knots for column {j}")
        # Quantiles that are equal up to rounding may be one knot or several.
        places = [int(np.argmin([abs(one - knot) for one in wanted])) for knot in stored]
        nearest = [wanted[place] for place in places]
        off = max(off, fit.compare("knots", stored, nearest, values.size, j))
        left = [min(abs(one - knot) for knot in stored) for one in wanted]
        fit.require(max(left) <= values.size, f"stores fewer knots for column {j} than its rows give")
    return off


def check_centres(fit: Learnt) -> float:
    """Check centres and widths of bumps."""
    model, p = fit.model, fit.p
    fit.require_claim(f"centres for {p} columns", fit.n, 8 * DOUBLE)
    if model.centers is not None:
        given = np.asarray(model.centers, dtype=np.float64)
        fit.compare("the width", model.width_, 1.0 if model.width is None else model.width, 0.0)
        return fit.compare("centres", fit.numbers("centers_", given.shape).ravel(), given.ravel(), 0.0, 0)
    centres, widths, off = fit.numbers("centers_", (model.n_centers, p)), fit.numbers("width_", (p,)), 0.0
    for j, column in enumerate(fit.columns):
        low, high = column.x.min(), column.x.max()
        near = 16 * DOUBLE * column.size
        off = max(off, fit.compare("centres", centres[:, j], np.linspace(low, high, model.n_centers), near, j))
        step = (high - low) / max(model.n_centers - 1, 1)
        width = model.width if model.width is not None else step if step > 0 else 1.0
        off = max(off, fit.compare("the width", widths[j], width, near if model.width is None else 0.0, j))
    return off
