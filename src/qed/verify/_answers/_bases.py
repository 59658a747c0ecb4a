"""Answers of transformers that make several columns of one: monomials, splines, pieces, bumps and bins."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from qed.verify._answers._compare import Numbers, dense, require, table_of
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]


def monomials(model: Any, X: Array) -> Numbers:
    """Multiply columns, in the order of their numbers."""
    one = isinstance(model.degree, int | np.integer)
    low, high = (0, int(model.degree)) if one else (int(end) for end in model.degree)
    chosen = combinations if model.interaction_only else combinations_with_replacement
    columns = [np.ones(len(X))] if model.include_bias else []
    for degree in range(max(low, 1), high + 1):
        columns += [
            np.prod(X[:, list(places)].astype(EXTENDED), axis=1) for places in chosen(range(X.shape[1]), degree)
        ]
    found = np.column_stack(columns) if columns else np.zeros((len(X), 0))
    return Numbers(found, np.abs(found) * max(high, 1))


def _basis(x: Array, knots: Array, degree: int) -> Array:
    """Evaluate all splines between knots by the recurrence of Cox and de Boor, the outer polynomials going on outside."""
    count = len(knots) - degree - 1
    # the interval of each row; at the right end that on the left of it
    place = np.clip(np.searchsorted(knots, x, side="right") - 1, degree, count - 1)
    found = np.zeros((len(x), len(knots) - 1), EXTENDED)
    found[np.arange(len(x)), place] = 1
    for d in range(1, degree + 1):
        new = np.zeros_like(found)
        for i in range(len(knots) - 1 - d):
            left, right = knots[i + d] - knots[i], knots[i + d + 1] - knots[i + 1]
            if left > 0:
                new[:, i] += (x - knots[i]) / left * found[:, i]
            if right > 0:
                new[:, i] += (knots[i + d + 1] - x) / right * found[:, i + 1]
        found = new
    return found[:, :count]


def _slopes(x: Array, knots: Array, degree: int) -> Array:
    """Return the derivatives of all splines."""
    count = len(knots) - degree - 1
    if degree == 0:
        return np.zeros((len(x), count), EXTENDED)
    # splines of one degree less at the same intervals
    place = np.clip(np.searchsorted(knots, x, side="right") - 1, degree, count - 1)
    found = np.zeros((len(x), len(knots) - 1), EXTENDED)
    found[np.arange(len(x)), place] = 1
    for d in range(1, degree):
        new = np.zeros_like(found)
        for i in range(len(knots) - 1 - d):
            left, right = knots[i + d] - knots[i], knots[i + d + 1] - knots[i + 1]
            new[:, i] = ((x - knots[i]) / left * found[:, i] if left > 0 else 0) + (
                (knots[i + d + 1] - x) / right * found[:, i + 1] if right > 0 else 0
            )
        found = new
    slopes = np.zeros((len(x), count), EXTENDED)
    for i in range(count):
        left, right = knots[i + degree] - knots[i], knots[i + degree + 1] - knots[i + 1]
        slopes[:, i] = degree * (
            (found[:, i] / left if left > 0 else 0) - (found[:, i + 1] / right if right > 0 else 0)
        )
    return slopes


def splines(model: Any, X: Any, told: Any) -> None:
    """Compare the values of all splines of each column, beyond the outer knots as the parameters say."""
    rows = table_of(model, X)
    degree, blocks, sizes = int(model.degree), [], []
    for j in range(rows.shape[1]):
        x, knots = rows[:, j].astype(np.float64).astype(EXTENDED), np.asarray(model.knots_)[:, j].astype(EXTENDED)
        gaps, low, high = np.isnan(x), knots[degree], knots[-degree - 1]
        x = np.where(gaps, low, x)
        block = _evaluated(model, x, knots, degree, low, high)
        block[gaps] = 0
        blocks.append(block if model.include_bias else block[:, :-1])
        # how many intervals a row is away from the nearest knots: polynomials grow outside
        width = np.min(np.diff(knots)[np.diff(knots) > 0], initial=np.inf)
        away = 1 + np.maximum(np.maximum(low - x, x - high), 0) / width if np.isfinite(width) else np.ones(len(x))
        offset = (np.abs(x) + np.abs(knots).max()) / width if np.isfinite(width) else np.ones(len(x))
        size = (2 * away[:, None]) ** degree * (1 + offset[:, None])
        sizes.append(np.broadcast_to(size, blocks[-1].shape))
    own = Numbers(np.hstack(blocks), np.hstack(sizes))
    require(model, "transform", own, dense(told), terms=16, is_single=rows.dtype == np.float32)


def _evaluated(model: Any, x: Array, knots: Array, degree: int, low: Any, high: Any) -> Array:
    if model.extrapolation == "periodic":
        count = len(knots) - 2 * degree - 1
        # as the rows are brought into the first period, so is their rounding
        first, last = np.float64(low), np.float64(high)
        inside = first + (x.astype(np.float64) - first) % (last - first) if last > first else np.full(len(x), first)
        found = _basis(inside.astype(EXTENDED), knots, degree)
        folded = found[:, :count].copy()
        folded[:, :degree] += found[:, count : count + degree]
        return folded
    if model.extrapolation == "continue":
        return _basis(x, knots, degree)
    inner = np.clip(x, low, high)
    block = _basis(inner, knots, degree)
    if model.extrapolation == "linear":
        width = degree + 1 if degree <= 1 else degree
        at_ends = _slopes(np.array([low, high]), knots, degree)
        below, above = x < low, x > high
        block[below, :width] += (x[below] - low)[:, None] * at_ends[0, :width]
        block[above, -width:] += (x[above] - high)[:, None] * at_ends[1, -width:]
    return block


def pieces(model: Any, X: Array) -> Numbers:
    """Say in which piece a row lies, or how far it is beyond each knot."""
    blocks = []
    for j, knots in enumerate(model.knots_):
        column, own = X[:, j], np.asarray(knots)
        if model.degree == 0:
            passed = (column[:, None] >= own).sum(axis=1)
            blocks.append((passed[:, None] == np.arange(len(own) + 1)).astype(np.float64))
        else:
            blocks.append(np.column_stack([column, np.maximum(column[:, None] - own, 0)]))
    found = np.hstack(blocks)
    largest = np.max([np.abs(np.asarray(one)).max(initial=0) for one in model.knots_], initial=0)
    return Numbers(found, 0.0 if model.degree == 0 else np.abs(found) + np.abs(X).max(axis=1, keepdims=True) + largest)


def bumps(model: Any, X: Array) -> Numbers:
    """Return radial basis functions: one at a centre, near zero far away."""
    x, centres = X.astype(EXTENDED), np.asarray(model.centers_).astype(EXTENDED)
    width = np.asarray(model.width_).astype(EXTENDED)
    if model.centers is None:
        away = (x[:, :, None] - centres.T) / width.reshape(-1, 1)
        size = ((np.abs(x)[:, :, None] + np.abs(centres.T)) / width.reshape(-1, 1)) ** 2
        return Numbers(np.exp(-(away**2) / 2).reshape(len(X), -1), 1 + size.reshape(len(X), -1))
    steps = (x[:, None, :] - centres) / width
    size = (((np.abs(x)[:, None, :] + np.abs(centres)) / width) ** 2).sum(axis=2)
    return Numbers(np.exp(-(steps**2).sum(axis=2) / 2), 1 + size)


def bins(model: Any, X: Array) -> Numbers:
    """Return the number of the bin of each entry, or a column for each bin."""
    columns = []
    for j, edges in enumerate(model.bin_edges_):
        place = (X[:, j][:, None] >= np.asarray(edges)[1:-1]).sum(axis=1)
        if model.encode == "ordinal":
            columns.append(place[:, None].astype(np.float64))
        else:
            columns.append((place[:, None] == np.arange(int(model.n_bins_[j]))).astype(np.float64))
    return Numbers(np.hstack(columns), 0.0)
