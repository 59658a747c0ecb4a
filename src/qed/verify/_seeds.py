"""What seeds draw, written down a second time: a mixing of 64 bits, and the rows, columns and thresholds that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]


def mixed(bits: Any) -> Array:
    """Mix 64 bits: the finaliser of splitmix64."""
    with np.errstate(over="ignore"):
        bits = np.asarray(bits, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(bits ^ (bits >> np.uint64(31)))


def uniform(bits: Array) -> Array:
    """Return numbers from 0 to 1."""
    return (mixed(bits) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def stream(seed: Any, number: Any) -> Array:
    """Return the seed of one of those that draw from a seed."""
    with np.errstate(over="ignore"):
        return mixed(np.asarray(seed, np.uint64) ^ mixed(np.asarray(number).astype(np.uint64) + np.uint64(1)))


def numbers_of(seed: int, number: int, count: int) -> Array:
    """Mix so many numbers for the user of a seed that has this number."""
    with np.errstate(over="ignore"):
        first = np.uint64(int(mixed(np.uint64((int(seed) + number) % 2**64))) % 2**63)
        return mixed(np.arange(count, dtype=np.uint64) + first)


def rows_with_replacement(seed: int, number: int, draws: int, n: int, weight: Array | None) -> Array:
    """Draw rows, one after the other, each at the rate of its weight."""
    own = stream(np.uint64(seed), np.int64(number))
    with np.errstate(over="ignore"):
        share = uniform(stream(own, np.int64(-1)) + np.arange(draws, dtype=np.uint64))
    if weight is None:
        drawn = (share * n).astype(np.int64)
    else:
        cumulated = np.cumsum(weight)
        drawn = np.searchsorted(cumulated, share * cumulated[-1], side="right")
    return np.asarray(np.minimum(drawn, n - 1))


def columns_of_part(seed: int, number: int, p: int, max_features: Any) -> Array:
    """Draw the columns of a tree or a copy: a number of them, or a share."""
    many = int(max_features) if isinstance(max_features, int | np.integer) else max(1, int(max_features * p))
    return np.sort(np.argsort(numbers_of(seed, number, p), kind="stable")[:many])


def shuffled(seed: int, p: int) -> Iterator[int]:
    """Yield the columns of a table in the order in which a node draws them."""
    numbers = [(seed + j) % 2**64 for j in range(p)]
    shares, left = uniform(np.array(numbers, dtype=np.uint64)).tolist(), list(range(p))
    for j, share in enumerate(shares):
        other = j + min(int(share * (p - j)), p - j - 1)
        left[j], left[other] = left[other], left[j]
        yield left[j]


def columns_of_node(X: Array, seed: int, features: int) -> list[int]:
    """Draw the columns of a node: as many as asked for, and more while these hold a single value."""
    p = X.shape[1]
    if features >= p:
        return list(range(p))
    chosen: list[int] = []
    found = False
    for j in shuffled(seed, p):
        if len(chosen) >= features and found:
            break
        found = found or bool(has_several(X[:, j]))
        chosen.append(j)
    return chosen


def has_several(X: Array) -> Any:
    """Tell whether columns hold several values, of which a missing one is one."""
    return (X[0] != X).any(axis=0) & ~np.isnan(X).all(axis=0)


def side_of_missing(seed: Any, column: Any) -> Array:
    """Tell whether missing values go left of the thresholds that are drawn for columns at nodes."""
    return np.asarray((mixed(stream(seed, column)) & np.uint64(1)) != 0)


def drawn_sides(X: Array, seed: int, columns: Array) -> Array:
    """Return 0 and 1 for the sides of the thresholds that are drawn for columns at a node: the only cut of each."""
    known = ~np.isnan(X)
    least, most = np.where(known, X, np.inf).min(axis=0), np.where(known, X, -np.inf).max(axis=0)
    share = uniform(stream(np.uint64(seed), columns))
    with np.errstate(invalid="ignore"):
        threshold = least * (1 - share) + most * share
    threshold = np.where((threshold >= least) & (threshold < most), threshold, least)
    missing_left = side_of_missing(np.uint64(seed), columns)
    sides = np.where(known, threshold < X, ~missing_left)
    # of a single value, missing entries are the other side
    return np.where(least == most, ~known, np.where(known.any(axis=0), sides, False)).astype(np.float64)
