"""Penalties and their conjugates as their definitions read, in extended precision and one number at a time."""

from __future__ import annotations

import numpy as np

LONG = np.longdouble
INFINITE = LONG(np.inf)


def value(penalty, w):
    """The penalty, in long doubles."""
    return VALUES[type(penalty).__name__](penalty, np.asarray(w, dtype=LONG))


def conjugate(penalty, z):
    """The conjugate, in long doubles, for z in its domain."""
    return CONJUGATES[type(penalty).__name__](penalty, np.asarray(z, dtype=LONG))


def excess(penalty, w, z):
    """Value plus conjugate less the product: the definition that cancels."""
    return value(penalty, w) + conjugate(penalty, z) - np.sum(np.asarray(w, dtype=LONG) * np.asarray(z, dtype=LONG))


def each(w, *numbers):
    """Every entry of w with the numbers of its coordinate."""
    for at in np.ndindex(w.shape):
        yield (
            w[at],
            *(
                LONG(number if np.ndim(number) == 0 else np.asarray(number)[at[: np.ndim(number)]])
                for number in numbers
            ),
        )


def within(penalty, w):
    return all(lo <= entry <= hi for entry, lo, hi in each(w, penalty.lo, penalty.hi))


def elastic_net(penalty, w):
    if penalty.nonnegative and np.any(w < 0):
        return INFINITE
    return sum(alpha * abs(entry) + LONG(penalty.ridge) * entry**2 / 2 for entry, alpha in each(w, penalty.alpha))


def elastic_net_conjugate(penalty, z):
    total = LONG(0)
    for entry, alpha in each(z, penalty.alpha):
        out = max((entry if penalty.nonnegative else abs(entry)) - alpha, LONG(0))
        total += out**2 / (2 * LONG(penalty.ridge)) if penalty.ridge > 0 else LONG(0)
    return total


def groups(penalty, w):
    """The length of each group, with its strength."""
    number = np.arange(len(w)) if penalty.groups is None else np.asarray(penalty.groups)
    for group in np.unique(number):
        alpha = penalty.alpha if np.ndim(penalty.alpha) == 0 else penalty.alpha[group]
        yield np.sqrt(np.sum(w[number == group] ** 2)), LONG(alpha)


def group(penalty, w):
    return sum(alpha * length + LONG(penalty.ridge) * length**2 / 2 for length, alpha in groups(penalty, w))


def group_conjugate(penalty, z):
    if penalty.ridge == 0:
        return LONG(0)
    return sum(max(length - alpha, LONG(0)) ** 2 / (2 * LONG(penalty.ridge)) for length, alpha in groups(penalty, z))


def box_conjugate(penalty, z):
    return sum(
        entry * (hi if entry > 0 else lo) if entry else LONG(0) for entry, lo, hi in each(z, penalty.lo, penalty.hi)
    )


VALUES = {
    "Box": lambda penalty, w: LONG(0) if within(penalty, w) else INFINITE,
    "ElasticNet": elastic_net,
    "Group": group,
    "L1": lambda penalty, w: sum(alpha * abs(entry) for entry, alpha in each(w, penalty.alpha)),
    "L2": lambda penalty, w: sum(
        alpha * (entry - prior) ** 2 / 2 for entry, alpha, prior in each(w, penalty.alpha, penalty.prior)
    ),
    "Nonnegative": lambda penalty, w: INFINITE if np.any(w < 0) else value(penalty.other, w),
    "Zero": lambda penalty, w: LONG(0),
}
CONJUGATES = {
    "Box": box_conjugate,
    "ElasticNet": elastic_net_conjugate,
    "Group": group_conjugate,
    "L1": lambda penalty, z: LONG(0),
    "L2": lambda penalty, z: sum(
        entry**2 / (2 * alpha) + entry * prior for entry, alpha, prior in each(z, penalty.alpha, penalty.prior)
    ),
    "Nonnegative": lambda penalty, z: conjugate(penalty.other, np.maximum(z, 0)),
    "Zero": lambda penalty, z: LONG(0),
}
