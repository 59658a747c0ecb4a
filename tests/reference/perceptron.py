"""The perceptron, one row at a time, and the bound on its mistakes."""

import numpy as np


def slow(X, y, *, intercept=True, passes=100, eta=1.0):
    """Return coefficients, intercept, rows of the mistakes and every plane after a row, one row at a time."""
    w, b, log, planes = np.zeros(X.shape[1]), 0.0, [], []
    for _ in range(passes):
        wrong = len(log)
        for i, (x, sign) in enumerate(zip(X, y, strict=True)):
            if sign * (x @ w + b) <= 0:
                w, b = w + eta * sign * x, b + eta * sign * intercept
                log.append(i)
            planes.append((w, b))
        if len(log) == wrong:
            break
    return w, b, log, planes


def separable(seed, n=40, p=3, gap=0.2):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=p)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(4 * n, p))
    X = X[np.abs(X @ w) > gap][:n]
    return X, np.sign(X @ w).astype(int), w


def most_mistakes(X, y, w, b=None):
    """The square of the largest length over that of the margin of a plane, which rows with a one have if it leaves the origin."""
    one = 0.0 if b is None else 1.0
    offset = 0.0 if b is None else b
    margin = (y * (X @ w + offset)).min() / np.sqrt(w @ w + offset**2)
    return ((X**2).sum(axis=1).max() + one) / margin**2
