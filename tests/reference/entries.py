"""Twins of the kernels of entries and levels: by definition, in plain NumPy and Python."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def look(X: Array, s: Array | None) -> Array:
    """Entries that are there, their weight, mean, scatter, least and largest, of each column."""
    rows = []
    for column in X.T.astype(np.float64):
        here = ~np.isnan(column)
        x, w = column[here], np.ones(here.sum()) if s is None else s[here]
        weight = w.sum()
        mean = (w @ x) / weight if weight > 0 else 0.0
        ends = (x.min(), x.max()) if len(x) else (np.inf, -np.inf)
        rows.append([len(x), weight, mean, w @ (x - mean) ** 2, *ends])
    return np.array(rows).T


def count_levels(X: Array, levels: list[Array]) -> Array:
    """How many levels of its column each entry reaches; NaN stays."""
    out = np.column_stack([(X[:, j, np.newaxis] >= own).sum(axis=1) for j, own in enumerate(levels)]).astype(float)
    return np.where(np.isnan(X), np.nan, out)


def follow_levels(X: Array, levels: Array, values: Array) -> Array:
    """The curve of each column: linear between levels, the mean of both ends at equal ones."""
    out = np.empty(X.shape)
    for j, own in enumerate(levels):
        forth = np.interp(X[:, j], own, values)
        back = -np.interp(-X[:, j], -own[::-1], -values[::-1])
        out[:, j] = np.where(np.isnan(X[:, j]), np.nan, (forth + back) / 2)
    return out


def number_words(words: list[bytes]) -> tuple[list[int], list[int]]:
    """Codes in the order of first appearance, and where each first stood."""
    known: dict[bytes, int] = {}
    firsts = []
    codes = []
    for place, word in enumerate(words):
        if word not in known:
            known[word] = len(known)
            firsts.append(place)
        codes.append(known[word])
    return codes, firsts
