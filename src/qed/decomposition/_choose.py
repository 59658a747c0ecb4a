r"""How many components: a number, a share of the variance, or the most probable number by Minka's evidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def known_count(rule: Any, limit: int, solver: str, *, sparse: bool) -> int | None:
    """Return the number of components if it is known before their variances are, else None; refuse what cannot be."""
    truncates = solver in ("arpack", "randomized") or (solver == "auto" and sparse)
    short = solver == "arpack" or (solver == "auto" and sparse)
    if rule is None:
        return limit - 1 if short else limit
    has_all = solver not in ("arpack", "randomized")
    if isinstance(rule, str):
        if not has_all:
            raise InvalidParameter(
                f"n_components={rule!r} cannot be a string with svd_solver={solver!r}. Give a number."
            )
        return None
    if 0 < rule < 1 and not isinstance(rule, int):
        if not has_all:
            raise InvalidParameter(
                f"n_components={rule!r} must be between 1 and min(n_samples, n_features)={limit} with svd_solver={solver!r}: a"
                " share of the variance needs all variances. Use svd_solver='auto', 'full' or 'covariance_eigh'."
            )
        return None
    least = 1 if truncates else 0
    if not least <= rule <= limit:
        raise InvalidParameter(
            f"n_components={rule!r} must be between {least} and min(n_samples, n_features)={limit} with svd_solver={solver!r}."
        )
    if solver == "arpack" and rule == limit:
        raise InvalidParameter(
            f"n_components={rule!r} must be strictly less than min(n_samples, n_features)={limit} with svd_solver='arpack'."
        )
    return int(rule)


def count(rule: Any, values: Array, limit: int, weight: float, p: int) -> int:
    """Return the number of components that a share of the variance or 'mle' asks for, given all variances, largest first."""
    if rule == "mle":
        if weight < p:
            raise InvalidData(
                f"n_components='mle' is only supported if n_samples >= n_features, got {weight:g} rows of {p} columns."
            )
        return most_probable(values[:limit], weight)
    total = float(np.sum(values))
    if not total > 0:
        return 1
    reached = np.cumsum(values[:limit] / total)
    return min(int(np.searchsorted(reached, rule, side="right")) + 1, limit)


def most_probable(values: Array, weight: float) -> int:
    """Return the number of components of the largest evidence, Minka's Laplace approximation of it.

    Parameters
    ----------
    values : ndarray of shape (p,)
        Variances, largest first.
    weight : float
        Number of rows.
    """
    p = len(values)
    if p == 1:
        return 0
    evidence = [_evidence(values, rank, weight) for rank in range(1, p)]
    return 1 + int(np.argmax(evidence))


def _evidence(values: Array, rank: int, n: float) -> float:
    p = len(values)
    if values[rank - 1] < np.finfo(np.float64).eps:
        return -math.inf  # a direction without variance is never counted
    half = (p - np.arange(rank)) / 2
    prior = -rank * math.log(2) + sum(math.lgamma(h) for h in half) - math.log(math.pi) * float(np.sum(half))
    noise = max(float(np.sum(values[rank:])) / (p - rank), np.finfo(np.float64).eps)
    fit = -n / 2 * (float(np.sum(np.log(values[:rank]))) + (p - rank) * math.log(noise))
    freedom = p * rank - rank * (rank + 1) / 2
    smooth = np.concatenate([values[:rank], np.full(p - rank, noise)])
    i, j = np.triu_indices(p, 1)
    used = i < rank
    i, j = i[used], j[used]
    with np.errstate(divide="ignore"):  # equal variances: the volume is zero and its logarithm minus infinity
        turns = np.log((values[i] - values[j]) * (1 / smooth[j] - 1 / smooth[i])) + math.log(n)
    volume = math.log(2 * math.pi) * (freedom + rank) / 2 - float(np.sum(turns)) / 2
    return prior + fit + volume - rank * math.log(n) / 2
