"""Neighbours of all metrics and powers, and densities, against all rows in extended precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import cos, exp, gamma, log, mp, mpf, pi, quad, sqrt
from tests.truth.judged import LD, Judged, fitted, table

import qed
from qed.neighbors import KernelDensity, KNeighborsRegressor, NearestNeighbors

if TYPE_CHECKING:
    from collections.abc import Iterator

METRICS = (
    "euclidean",
    "manhattan",
    "chebyshev",
    "minkowski",
    "minkowski",
    "minkowski",
    "hamming",
    "cosine",
    "correlation",
    "sqeuclidean",
)
KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def cases(seed: int) -> Iterator[Judged]:
    """Judge searches and densities of one seed."""
    rng = np.random.default_rng([seed, 5])
    n, p = int(rng.integers(2, 30)), int(rng.integers(1, 5))
    X = table(rng, n, p)
    if seed % 4 == 3:
        yield from _densities(rng, X)
        return
    metric = METRICS[seed // 4 % len(METRICS)]
    power = float(rng.choice([0.5, 1.5, 2.5, 3.0, 7.0, 20.0, 60.0, 300.0, 10.0 ** rng.uniform(-1, 3)]))
    w = 10.0 ** rng.uniform(-2, 2, p) if metric == "minkowski" and rng.random() < 0.3 else None
    k = int(rng.integers(1, n))
    params = (
        {"metric": metric} if metric != "minkowski" else {"p": power, "metric_params": None if w is None else {"w": w}}
    )
    y = rng.normal(size=n)
    model = (KNeighborsRegressor if seed % 4 == 2 else NearestNeighbors)(n_neighbors=k, **params)
    try:
        if fitted(model, X, y) is None:
            return
        told, ids = model.kneighbors()
        if seed % 4 == 2:
            near = model.kneighbors(X, return_distance=False)
            yield Judged(
                repr(model),
                1e-12,
                float(np.max(np.abs(model.predict(X) - y[near].mean(axis=1)) / np.abs(y[near]).mean(axis=1))),
                "mean of the neighbours",
            )
    except (qed.InvalidData, qed.InvalidParameter):
        return
    rounding = model.certificate_.rounding
    is_angle = metric in ("cosine", "correlation")
    worst, nearer = 0.0, 0.0
    for i in range(n):
        true = distances(X, X[i], metric, power, w)
        scale = true + (1 if is_angle else 0)
        if metric == "sqeuclidean":
            scale = scale + LD(1e-290)  # squares below the range of float64 are not numbers that could be given back
        others = np.arange(n) != i
        stated = told[i].astype(LD)
        own = scale[ids[i]]
        off = np.abs(true[ids[i]] - stated)
        worst = max(worst, float(np.max(np.divide(off, own, out=np.where(off > 0, LD(1), LD(0)), where=own > 0))))
        left = others.copy()
        left[ids[i]] = False
        if left.any():
            kth = np.max(true[ids[i]])
            least = np.argmin(np.where(left, true, np.inf))
            if kth > true[least]:
                nearer = max(nearer, float((kth - true[least]) / scale[least]) if scale[least] > 0 else 1.0)
    yield Judged(repr(model), 2 * rounding, worst, "rounding of a distance")
    yield Judged(repr(model), 4 * rounding, nearer, "a nearer row left out")


def distances(X: Any, query: Any, metric: str, power: float, w: Any) -> Any:
    """Measure by definition, in long double; powers of shares of the largest difference."""
    X, q = X.astype(LD), query.astype(LD)
    d = np.abs(X - q)
    if metric in ("cosine", "correlation"):
        if metric == "correlation":
            for _ in range(2):  # the second time takes away what the rounding of a mean has left
                X, q = X - X.mean(axis=1, keepdims=True), q - q.mean()
        lengths, length = np.sqrt(np.sum(X**2, axis=1)), np.sqrt(np.sum(q**2))
        both = lengths * length
        u = X / np.where(lengths > 0, lengths, 1)[:, None] - q / (length if length > 0 else 1)
        return np.where(both > 0, np.sum(u**2, axis=1) / 2, LD(1))
    plain = {
        "hamming": lambda: np.mean(d != 0, axis=1).astype(LD),
        "manhattan": lambda: d.sum(axis=1),
        "chebyshev": lambda: d.max(axis=1),
        "euclidean": lambda: np.sqrt(np.sum(d**2, axis=1)),
        "sqeuclidean": lambda: np.sum(d**2, axis=1),
    }
    if metric in plain:
        return plain[metric]()
    if w is not None:
        d = d * w.astype(LD) ** (1 / LD(power))
    top = d.max(axis=1)
    shares = d / np.where(top > 0, top, 1)[:, None]
    return top * np.sum(shares ** LD(power), axis=1) ** (1 / LD(power))


def _densities(rng: Any, X: Any) -> Iterator[Judged]:
    mp.dps = 30
    n, p = X.shape
    kernel = KERNELS[rng.integers(6)]
    spread = float(np.max(X.std(axis=0)))
    h = float(10.0 ** rng.uniform(-1, 1)) * (spread if spread > 0 else 1.0)
    model = KernelDensity(kernel=kernel, bandwidth=h)
    try:
        if fitted(model, X) is None:
            return
        told = model.score_samples(X[:4])
    except (qed.InvalidData, qed.InvalidParameter):
        return
    window = {
        "gaussian": lambda u: exp(-u * u / 2),
        "tophat": lambda u: mpf(1),
        "epanechnikov": lambda u: 1 - u * u,
        "exponential": lambda u: exp(-u),
        "linear": lambda u: 1 - u,
        "cosine": lambda u: cos(pi * u / 2),
    }[kernel]
    shell = 2 * pi ** (mpf(p) / 2) / gamma(mpf(p) / 2)
    end = [0, 1] if kernel not in ("gaussian", "exponential") else [0, 4, 12, 40, 120]
    whole = shell * quad(lambda r: window(r) * r ** (p - 1), end)
    worst = 0.0
    for query, stated in zip(X[:4], told, strict=True):
        total = mpf(0)
        on_edge = False
        for row in X:
            u = sqrt(sum((mpf(float(a)) - mpf(float(b))) ** 2 for a, b in zip(row, query, strict=True))) / mpf(h)
            on_edge = on_edge or abs(u - 1) < 1e-12
            total += window(u) if u < 1 or kernel in ("gaussian", "exponential") else 0
        if total <= 0 or on_edge:
            continue
        constant = log(whole) + p * log(mpf(h)) + log(mpf(n))
        true = log(total) - constant
        size = 1 + abs(log(total)) + abs(constant) + abs(true)
        worst = max(worst, float(abs(true - mpf(float(stated))) / size))
    yield Judged(repr(model), 8 * (model.certificate_.rounding + 2.0**-50), worst, "rounding of a logarithm")
