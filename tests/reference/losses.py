"""Losses and their conjugates as their definitions read, in extended precision and one number at a time."""

from __future__ import annotations

import numpy as np

LONG = np.longdouble


def value(loss, t):
    """The loss of each row, in long doubles."""
    return np.array([VALUES[type(loss).__name__](loss, i, row) for i, row in enumerate(np.asarray(t, dtype=LONG))])


def conjugate(loss, u):
    """The conjugate of each row, in long doubles, for u in its domain."""
    return np.array([CONJUGATES[type(loss).__name__](loss, i, row) for i, row in enumerate(np.asarray(u, dtype=LONG))])


def excess(loss, t, u):
    """Value plus conjugate less the product: the definition that cancels."""
    u = np.array(u, dtype=LONG)
    if type(loss).__name__ in ("Softmax", "CrammerSinger"):  # rows sum to zero, which rounded numbers cannot quite
        rows, largest = np.arange(len(u)), np.argmax([mass(loss, i, row) for i, row in enumerate(u)], axis=1)
        u[rows, largest] = 0
        u[rows, largest] = -u.sum(axis=1)
    product = np.asarray(t, dtype=LONG) * u
    return value(loss, t) + conjugate(loss, u) - (product if product.ndim == 1 else product.sum(axis=1))


def target(loss, i):
    return LONG(loss.y[i])


def xlogx(x):
    return x * np.log(x) if x > 0 else LONG(0)


def cost(loss, i):
    return LONG(loss.cost if np.ndim(loss.cost) == 0 else loss.cost[i])


# --------------------------------------------------------------------------- values
def squared(loss, i, t):
    return np.sum((t - np.asarray(loss.y[i], dtype=LONG)) ** 2) / 2


def huber(loss, i, t):
    r, k = abs(t - target(loss, i)), LONG(loss.knee)
    return r * r / 2 if r <= k else k * r - k * k / 2


def quantile(loss, i, t):
    r, tau = target(loss, i) - t, LONG(loss.tau)
    return tau * r if r >= 0 else (tau - 1) * r


def power(loss, i, t):
    return abs(t - target(loss, i)) ** LONG(loss.p) / LONG(loss.p)


def beyond(loss, i, t):
    return max(abs(t - target(loss, i)) - LONG(loss.epsilon), LONG(0))


def short(loss, i, t):
    return max(1 - target(loss, i) * t, LONG(0))


def squared_hinge(loss, i, t):
    lack = 1 - np.asarray(loss.y[i], dtype=LONG) * t
    return np.sum(np.where(lack > 0, lack, LONG(0)) ** 2) / 2


def squared_hinge_conjugate(loss, i, u):
    q = -np.asarray(loss.y[i], dtype=LONG) * u
    return LONG(np.inf) if np.any(q < 0) else np.sum(q * q / 2 - q)


def smoothed_hinge(loss, i, t):
    d, k = 1 - target(loss, i) * t, LONG(loss.knee)
    return LONG(0) if d <= 0 else d * d / (2 * k) if d <= k else d - k / 2


def logistic(loss, i, t):
    return np.logaddexp(LONG(0), -target(loss, i) * t)


def softmax(loss, i, t):
    top = t.max()
    return np.log(np.sum(np.exp(t - top))) + (top - t[int(loss.y[i])])


def crammer_singer(loss, i, t):
    label = int(loss.y[i])
    return max(t[k] - t[label] + (k != label) for k in range(len(t)))


def poisson(loss, i, t):
    y = target(loss, i)
    return xlogx(y) - y * t - y + np.exp(t)


def bounded(loss, i, t):
    size = VALUES[type(loss.loss).__name__](loss.loss, i, t) / LONG(loss.scale)
    shapes = {"truncated": min(size, LONG(1)), "rational": size / (1 + size), "exponential": 1 - np.exp(-size)}
    return LONG(loss.scale) * shapes[loss.shape]


VALUES = {
    "Absolute": lambda loss, i, t: abs(t - target(loss, i)),
    "Bounded": bounded,
    "CrammerSinger": crammer_singer,
    "EpsilonInsensitive": beyond,
    "Hinge": short,
    "Huber": huber,
    "Logistic": logistic,
    "Perceptron": lambda loss, i, t: max(-target(loss, i) * t, LONG(0)),
    "Poisson": poisson,
    "Power": power,
    "Quantile": quantile,
    "SmoothedHinge": smoothed_hinge,
    "Softmax": softmax,
    "Squared": squared,
    "SquaredEpsilonInsensitive": lambda loss, i, t: beyond(loss, i, t) ** 2 / 2,
    "SquaredHinge": squared_hinge,
    "Weighted": lambda loss, i, t: cost(loss, i) * VALUES[type(loss.loss).__name__](loss.loss, i, t),
    "ZeroOne": lambda loss, i, t: LONG(target(loss, i) * t <= 0),
}


# --------------------------------------------------------------------------- conjugates
def of_residual(at_zero):
    """The conjugate of a function of ``t - y``: that of the function, plus u y."""
    return lambda loss, i, u: at_zero(loss, u) + u * target(loss, i)


def of_margin(at_zero):
    """The conjugate of a function of ``y t``, in terms of ``q = -y u``."""
    return lambda loss, i, u: at_zero(loss, -target(loss, i) * u)


def mass(loss, i, u):
    """The row of probabilities that the dual variables of a row stand for."""
    return np.array([u[k] + (k == int(loss.y[i])) for k in range(len(u))])


def poisson_conjugate(loss, i, u):
    y = target(loss, i)
    return xlogx(u + y) - (u + y) - xlogx(y) + y


def power_conjugate(loss, u):
    q = LONG(loss.p) / (LONG(loss.p) - 1)
    return abs(u) ** q / q


CONJUGATES = {
    "Absolute": of_residual(lambda loss, u: LONG(0)),
    "Bounded": lambda loss, i, u: LONG(0),
    "CrammerSinger": lambda loss, i, u: mass(loss, i, u)[int(loss.y[i])] - 1,
    "EpsilonInsensitive": of_residual(lambda loss, u: LONG(loss.epsilon) * abs(u)),
    "Hinge": of_margin(lambda loss, q: -q),
    "Huber": of_residual(lambda loss, u: u * u / 2),
    "Logistic": of_margin(lambda loss, q: xlogx(q) + xlogx(1 - q)),
    "Perceptron": of_margin(lambda loss, q: LONG(0)),
    "Poisson": poisson_conjugate,
    "Power": of_residual(power_conjugate),
    "Quantile": of_residual(lambda loss, u: LONG(0)),
    "SmoothedHinge": of_margin(lambda loss, q: LONG(loss.knee) * q * q / 2 - q),
    "Softmax": lambda loss, i, u: sum(xlogx(v) for v in mass(loss, i, u)),
    "Squared": lambda loss, i, u: np.sum(u * u / 2 + u * np.asarray(loss.y[i], dtype=LONG)),
    "SquaredEpsilonInsensitive": of_residual(lambda loss, u: u * u / 2 + LONG(loss.epsilon) * abs(u)),
    "SquaredHinge": squared_hinge_conjugate,
    "Weighted": lambda loss, i, u: (
        cost(loss, i) * CONJUGATES[type(loss.loss).__name__](loss.loss, i, u / cost(loss, i))
    ),
    "ZeroOne": lambda loss, i, u: LONG(0),
}
