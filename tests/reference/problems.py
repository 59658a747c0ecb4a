"""Random least-squares problems of every nasty kind, seeded by one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    X: Any
    y: Any
    s: Any
    alpha: float
    prior: Any
    intercept: bool
    kind: str

    @property
    def weights(self):
        return np.ones(len(self.y)) if self.s is None else self.s


KINDS = ("plain", "scales", "offsets", "twin columns", "constant column", "counts", "near twins", "float32")


def problem(seed, kind=None):
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)] if kind is None else kind
    n, p = int(rng.integers(1, 25)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, p))
    if kind == "scales":
        X = X * 10.0 ** rng.integers(-8, 9, size=p)
    elif kind == "offsets":
        X = X + 10.0 ** rng.integers(0, 9, size=p)
    elif kind == "twin columns":
        X[:, -1] = X[:, 0]
    elif kind == "constant column":
        X[:, 0] = rng.choice([0, 1, 0.1, 1e8])
    elif kind == "counts":
        X = rng.integers(0, 3, size=(n, p)).astype(float)
    elif kind == "near twins":
        X[:, -1] = X[:, 0] * (1 + 10.0 ** -rng.integers(4, 16) * rng.normal(size=n))
    elif kind == "float32":
        X = X.astype(np.float32)
    y = X @ rng.normal(size=p) + rng.choice([0, 1e-8, 1.0]) * rng.normal(size=n) + rng.choice([0, 1.0, 1e6])
    if rng.random() < 0.2:
        y = rng.normal(size=n)
    s = None
    if rng.random() < 0.5:
        s = rng.choice([0, 1, 2, 0.5, 1e6, 1e-3], size=n)
        s[rng.integers(n)] = 1
    alpha = float(rng.choice([0, 0, 1e-8, 1e-3, 1.0, 1e4]))
    prior = rng.normal(size=p) if alpha and rng.random() < 0.3 else None
    return Problem(X, y, s, alpha, prior, bool(rng.random() < 0.7), kind)
