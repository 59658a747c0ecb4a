"""Mixtures in fifty digits: the objective at the stored parameters, what one more step adds, and that no step lowered it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import det, exp, log, loggamma, matrix, mp, mpf, pi
from tests.truth.judged import Judged, fitted, ones, table, weights

from qed.mixture import BernoulliMixture, CategoricalMixture, GaussianMixture, PoissonMixture

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge mixtures of one seed."""
    mp.dps = 50
    rng = np.random.default_rng([seed, 10])
    n, p, k = int(rng.integers(6, 14)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    s = weights(rng, n)
    kind = seed % 4
    limits = {"n_components": k, "max_iter": int(rng.integers(1, 30)), "random_state": 0}
    if kind == 0:
        form = str(rng.choice(["full", "diag", "spherical", "tied"]))
        model: Any = GaussianMixture(covariance_type=form, **limits)
        X = table(rng, n, p)
    else:
        make = (BernoulliMixture, PoissonMixture, CategoricalMixture)[kind - 1]
        model = make(alpha=float(rng.choice([1.0, 0.1, 1e-3])), **limits)
        X = rng.integers(0, 2 if kind == 1 else 4, (n, p))
    if fitted(model, X, None, s) is None:
        return
    certificate, v = model.certificate_, ones(s, n)
    used = v > 0
    rows, v = X[used], [mpf(float(w)) for w in v[used]]
    total = sum(v)
    falls = -min(np.diff(certificate.trace), default=0.0)
    yield Judged(repr(model), certificate.rounding, float(falls), "fall of the objective in a step")
    if kind == 0:
        own = sum(w * _sum(parts) for w, parts in zip(v, _normal(model, rows), strict=True)) / total
        yield Judged(repr(model), certificate.rounding, float(abs(own - mpf(certificate.objective))), "objective")
        return
    here = _counted(model, rows, v, total)
    own, share = _objective(model, rows, v, total, here)
    yield Judged(repr(model), certificate.rounding, float(abs(own - mpf(certificate.objective))), "objective")
    after = _objective(model, rows, v, total, _step(model, rows, v, here, share))[0]
    allowed = 4 if certificate.gain else 20  # it is zero where it is no more than sixteen roundings
    off = float(abs(after - own - mpf(certificate.gain)))
    yield Judged(repr(model), allowed * certificate.rounding, off, "gain of a step")
    yield Judged(repr(model), 4 * certificate.rounding, float(own - after), "fall of the objective in the next step")


def _sum(parts: list[Any]) -> Any:
    """Return the logarithm of a sum of exponentials."""
    top = max(parts)
    return top + log(sum(exp(one - top) for one in parts))


def _normal(model: Any, X: Any) -> Iterator[list[Any]]:
    p = X.shape[1]
    inverse, level = [], []
    for k in range(model.n_components):
        given = np.asarray(model.covariances_ if model.covariance_type == "tied" else model.covariances_[k])
        C = matrix(p, p)
        for i in range(p):
            for j in range(p):
                flat = given if given.ndim == 0 else given[i]
                entry = given[i, j] if given.ndim == 2 else (flat if i == j else 0.0)
                C[i, j] = mpf(float(entry))
        inverse.append(C**-1)
        trace = sum(inverse[-1][j, j] for j in range(p))  # what reg_covar charges components with
        weight = mpf(float(model.weights_[k]))
        level.append(
            (log(weight) if weight else mpf("-inf"))
            - (p * log(2 * pi) + log(det(C)) + mpf(float(model.reg_covar)) * trace) / 2
        )
    for row in X:
        parts = []
        for k in range(model.n_components):
            z = matrix([mpf(float(x)) - mpf(float(m)) for x, m in zip(row, model.means_[k], strict=True)])
            parts.append(level[k] - (z.T * inverse[k] * z)[0] / 2)
        yield parts


def _counted(model: Any, rows: Any, v: list[Any], total: Any) -> dict[str, Any]:
    """Return the stored parameters as tables of fifty digits, and the rates that a prior draws Poisson ones to."""
    name = type(model).__name__
    found: dict[str, Any] = {"weights": [mpf(float(w)) for w in model.weights_]}
    if name == "CategoricalMixture":
        found["tables"] = [[[mpf(float(x)) for x in row] for row in one] for one in model.probabilities_]
    else:
        stored = model.rates_ if name == "PoissonMixture" else model.probabilities_
        found["tables"] = [
            [[mpf(float(x))] if name == "PoissonMixture" else [mpf(float(x)), 1 - mpf(float(x))] for x in column]
            for column in np.asarray(stored).T
        ]
    found["prior"] = None
    if name == "PoissonMixture":
        found["prior"] = [
            (sum(w * int(x) for w, x in zip(v, column, strict=True)) + 1) / (total + 1) for column in rows.T
        ]
    return found


def _log_density(model: Any, x: int, table_row: list[Any]) -> Any:
    name = type(model).__name__
    if name == "PoissonMixture":
        return x * log(table_row[0]) - table_row[0] - loggamma(x + 1)
    return log(table_row[x] if name == "CategoricalMixture" else table_row[0 if x > 0 else 1])


def _objective(model: Any, X: Any, v: list[Any], total: Any, at: dict[str, Any]) -> tuple[Any, list[list[Any]]]:
    value, share, k = mpf(0), [], len(at["weights"])
    for w, row in zip(v, X.tolist(), strict=True):
        parts = [
            log(at["weights"][c]) + sum(_log_density(model, int(x), at["tables"][j][c]) for j, x in enumerate(row))
            for c in range(k)
        ]
        top = _sum(parts)
        value += w * top
        share.append([exp(one - top) for one in parts])
    logs = mpf(0)
    for j, tables in enumerate(at["tables"]):
        for row in tables:
            logs += at["prior"][j] * log(row[0]) - row[0] if at["prior"] else sum(log(x) for x in row)
    return (value + mpf(float(model.alpha)) * logs) / total, share


def _step(model: Any, X: Any, v: list[Any], at: dict[str, Any], share: list[list[Any]]) -> dict[str, Any]:
    k, alpha = len(at["weights"]), mpf(float(model.alpha))
    held = [sum(w * own[c] for w, own in zip(v, share, strict=True)) for c in range(k)]
    tables = []
    for j, before in enumerate(at["tables"]):
        rows = []
        for c in range(k):
            if at["prior"]:
                count = sum(w * own[c] * int(x) for w, own, x in zip(v, share, X[:, j], strict=True))
                rows.append([(count + alpha * at["prior"][j]) / (held[c] + alpha)])
                continue
            counts = [mpf(0)] * len(before[c])
            for w, own, x in zip(v, share, X[:, j].tolist(), strict=True):
                counts[int(x) if type(model).__name__ == "CategoricalMixture" else (0 if x > 0 else 1)] += w * own[c]
            rows.append([(one + alpha) / (held[c] + alpha * len(counts)) for one in counts])
        tables.append(rows)
    return {"weights": [one / sum(held) for one in held], "tables": tables, "prior": at["prior"]}
