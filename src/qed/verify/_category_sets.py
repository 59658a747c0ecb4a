"""Sets of categories that nodes of trees ask about, checked: which a node met, which go left, and how they are found or drawn.

With the categories of a node in the order of their mean target, the best set for one number or two classes is some first part of
them; for more, the orders by each number or class are compared. So a column of categories is looked at as columns of places in
these orders, and every cut through one of those is a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._seeds import mixed, stream, uniform

if TYPE_CHECKING:
    from qed.verify._cuts import Sample

Array = np.ndarray[Any, Any]


def bits_of(words: Array) -> tuple[Array, Array]:
    """Return which categories go left, and which a node has met."""
    bits = np.unpackbits(np.asarray(words, dtype=np.uint32).astype("<u4").view(np.uint8), bitorder="little")
    return bits[:256].astype(bool), bits[256:].astype(bool)


def goes_left(words: Array, value: Array, missing_left: bool) -> Array:
    """Tell which rows a set sends left; what a node has not met goes where missing values go."""
    goes, met = bits_of(words)
    known = (value >= 0) & (value < 256)
    code = np.where(known, value, 0).astype(np.intp)
    return np.asarray(np.where(known & met[code], goes[code], missing_left))


def set_problem(words: Array, value: Array) -> str:
    """Say what is wrong with a set that should know exactly the categories of its rows; empty if nothing is."""
    goes, met = bits_of(words)
    expected = np.zeros(256, dtype=bool)
    expected[value[~np.isnan(value)].astype(np.intp)] = True
    is_right = np.array_equal(met, expected) and not (goes & ~met).any()
    return "" if is_right else "knows other categories than its rows have"


def orders(column: Array, sample: Sample) -> list[Array]:
    """Return a column of categories as places in the orders of their mean targets; missing values stay missing."""
    known = ~np.isnan(column)
    if not known.any():
        return [column]
    codes, group = np.unique(column[known], return_inverse=True)
    group = group.reshape(-1)
    weight = np.bincount(group, sample.s[known])
    found = []
    two = sample.criterion in ("gini", "entropy", "misclassification") and sample.target.shape[1] == 2
    for own in sample.target.T[1:] if two else sample.target.T:
        mean = np.bincount(group, sample.s[known] * own[known]) / weight
        place = np.empty(len(codes))
        place[np.argsort(mean, kind="stable")] = np.arange(len(codes))
        ranks = np.full(len(column), np.nan)
        ranks[known] = place[group]
        found.append(ranks)
    return found


def drawn_left(column: Array, seed: int, number: int) -> tuple[Array, bool]:
    """Return the categories that a drawn set sends left, and where missing values go."""
    codes = np.unique(column[~np.isnan(column)])
    own = stream(np.uint64(seed), np.int64(number))
    with np.errstate(over="ignore"):
        order = np.argsort(uniform(own + np.uint64(1) + codes.astype(np.uint64)), kind="stable")
    many = len(codes)
    some = 1 if many == 1 else 1 + min(int(float(uniform(own)) * (many - 1)), many - 2)
    is_left = many > 1 and bool(np.isnan(column).any()) and bool(mixed(own) & np.uint64(1))
    return codes[order[:some]], is_left


def drawn_side(column: Array, seed: int, number: int) -> Array:
    """Return 0 and 1 for the sides of a drawn set."""
    if np.isnan(column).all():
        return np.zeros(len(column))
    left, missing_left = drawn_left(column, seed, number)
    return np.where(np.isnan(column), not missing_left, ~np.isin(column, left)).astype(np.float64)
