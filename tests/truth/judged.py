"""What a battery of truths gives back for each certificate, and random tables over the range of floating point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import qed

LD = np.longdouble


class Judged(NamedTuple):
    """One certificate beside the truth.

    Attributes
    ----------
    model : str
        The estimator, with its parameters.
    stated, true : float
        A bound that the certificate states, and what was found: the statement is false if this is larger.
    what : str
        What both are about.
    """

    model: str
    stated: float
    true: float
    what: str = "distance from the optimum"

    @property
    def is_false(self) -> bool:
        """Whether the truth exceeds the statement, or one of both is no number."""
        return not self.true <= self.stated


def fitted(model: Any, *data: Any) -> Any:
    """Fit a model; None where the fit refuses the numbers in words."""
    try:
        with np.errstate(all="ignore"):
            return model.fit(*data)
    except (qed.InvalidData, qed.InvalidParameter):
        return None


def table(rng: Any, n: int, p: int) -> Any:
    """Return rows: ordinary, whole, far from zero, nearly dependent, constant, or of sizes over the range of float64."""
    X = rng.normal(size=(n, p)) if rng.random() < 0.6 else rng.integers(-2, 3, (n, p)).astype(float)
    kind = rng.integers(8)
    if kind == 0:
        X += 10.0 ** rng.uniform(0, 8, p)
    elif kind == 1 and p > 1:
        X[:, 1] = X[:, 0] * (1 + 10.0 ** rng.uniform(-15, -2) * rng.normal(size=n))
    elif kind == 2:
        X[:, 0] = rng.choice([0.0, 1.0, 1e-8, 1e150, 1e-200])
    elif kind == 3:
        X *= 10.0 ** rng.uniform(-8, 8, p)
    elif kind == 4:
        X *= 10.0 ** rng.uniform(-160, 160)
    return X


def weights(rng: Any, n: int) -> Any:
    """Return None, counts, or numbers over a few, fourteen or very many orders of magnitude."""
    kind = rng.integers(6)
    if kind == 0:
        s = rng.integers(0, 4, n).astype(float)
        s[: min(n, 3)] = 1.0
        return s
    if kind == 1:
        return 10.0 ** rng.uniform(-7, 7, n)
    if kind == 2:
        return np.full(n, 10.0 ** rng.uniform(-150, 150))
    if kind == 3:
        return 10.0 ** rng.uniform(-1, 1, n)
    return None


def size(rng: Any) -> float:
    """Return what targets are multiplied by: mostly one."""
    return float(10.0 ** rng.choice([0.0, 0.0, 0.0, rng.uniform(-8, 8), rng.uniform(-120, 120)]))


def ones(s: Any, n: int) -> Any:
    """Return weights as numbers."""
    return np.ones(n) if s is None else s
