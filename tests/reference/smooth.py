"""Smooth losses and the pass over their rows once more, in plain NumPy with long doubles: written to be read."""

import numpy as np

LONG = np.longdouble


def value(loss, t, y):
    t = t.astype(LONG)
    if loss == "softmax":
        top = t.max(axis=1)
        own = t[np.arange(len(t)), y.astype(int)]
        return (np.log(np.exp(t - top[:, None]).sum(axis=1)) + (top - own)).astype(float)
    if loss == "logistic":
        return np.logaddexp(LONG(0), -y * t).astype(float)
    if loss == "poisson":
        entropy = np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0)
        return (entropy - y * t - y + np.exp(t)).astype(float)
    if loss == "squared_hinge":
        return (0.5 * np.maximum(1 - y * t, 0) ** 2).astype(float)
    if loss == "hinge":
        return np.maximum(1 - y * t, 0).astype(float)
    return (0.5 * (t - y) ** 2).astype(float)


def slope(loss, t, y):
    t = t.astype(LONG)
    if loss == "softmax":
        e = np.exp(t - t.max(axis=1)[:, None])
        p = e / e.sum(axis=1)[:, None]
        p[np.arange(len(t)), y.astype(int)] -= 1
        return p.astype(float)
    if loss == "logistic":
        return (-y / (1 + np.exp(y * t))).astype(float)
    if loss == "squared_hinge":
        return (-y * np.maximum(1 - y * t, 0)).astype(float)
    if loss == "hinge":
        return np.where(y * t < 1, -y, 0.0)
    return (np.exp(t) - y if loss == "poisson" else t - y).astype(float)


def curvature(loss, t, y=None):
    if loss == "squared_hinge":
        return (y * t < 1).astype(float)
    if loss == "hinge":
        return np.zeros_like(t)
    if loss == "logistic":
        return 1 / ((1 + np.exp(t)) * (1 + np.exp(-t)))
    return np.exp(t) if loss == "poisson" else np.ones_like(t)


def excess(loss, t, y, u):
    """Loss plus conjugate minus product, in long doubles, where cancelling still leaves digits."""
    t, u = t.astype(LONG), u.astype(LONG)
    if loss == "softmax":
        v = u.copy()
        v[np.arange(len(t)), y.astype(int)] += 1
        top = t.max(axis=1)
        log_p = t - top[:, None] - np.log(np.exp(t - top[:, None]).sum(axis=1))[:, None]
        v = np.maximum(v, 0)
        return (np.where(v > 0, v * (np.log(np.where(v > 0, v, 1)) - log_p), 0)).sum(axis=1).astype(float)
    if loss == "logistic":
        q = -y * u
        entropy = sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0) for p in (q, 1 - q))
        return (np.logaddexp(LONG(0), -y * t) + entropy - t * u).astype(float)
    if loss == "squared_hinge":
        q = -y * u
        return (0.5 * np.maximum(1 - y * t, 0) ** 2 + 0.5 * q * q - q + q * y * t).astype(float)
    if loss == "hinge":
        return (np.maximum(1 - y * t, 0) + y * u - t * u).astype(float)
    v = np.maximum(u + y, 0)
    return (np.where(v > 0, v * (np.log(np.where(v > 0, v, 1)) - t), 0) - v + np.exp(t)).astype(float)


def softmax_pass(X, y, c, w, b, shift):
    Z = X.astype(float) - shift
    t = Z @ w + b
    s = slope("softmax", t, y)
    A = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
    sums = np.array([c @ value("softmax", t, y), c @ (t**2).sum(axis=1), c @ (s**2).sum(axis=1)])
    return sums, A.T @ (c[:, None] * s), t


def targets_pass(X, y, c, w, b, shift):
    Z = X.astype(float) - shift
    t = Z @ w + b
    A = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
    sums = np.array([0.5 * c @ ((t - y) ** 2).sum(axis=1), c @ (t**2).sum(axis=1), c @ ((t - y) ** 2).sum(axis=1)])
    return sums, A.T @ (c[:, None] * (t - y)), t


def softmax_hessian(X, p, c):
    q, k = X.shape[1], p.shape[1]
    out = np.zeros((k, q, k, q))
    for a in range(k):
        for b in range(k):
            bend = c * p[:, a] * ((a == b) - p[:, b])
            out[a, :, b, :] = (bend[:, None] * X).T @ X
    return out.reshape(k * q, k * q)


def softmax_curvature(X, p, c, shift, v):
    A = np.concatenate([X.astype(float) - shift, np.ones((len(X), 1))], axis=1)
    change = A @ v
    return A.T @ (c[:, None] * p * (change - (p * change).sum(axis=1)[:, None]))


def glm_pass(loss, X, y, c, w, b, shift):
    Z = X.astype(float) - shift
    t = Z @ w + b
    s, bend = slope(loss, t, y), c * curvature(loss, t, y)
    over, under = c * np.maximum(s, 0), c * np.minimum(s, 0)
    A = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
    sums = np.array([c @ value(loss, t, y), over.sum(), under.sum(), bend.sum(), c @ t**2, c @ s**2])
    return sums, Z.T @ over, Z.T @ under, bend, (bend[:, None] * A).T @ A, t, s


def project(loss, y, u):
    """Move dual variables into the domain of the conjugate."""
    if loss == "squared":
        return u
    if loss == "poisson":
        return np.maximum(u, -y)
    return -y * np.clip(-y * u, 0.0, np.inf if loss == "squared_hinge" else 1.0)


def mixed_pass(loss, X, y, c, u, w, b, shift):
    """Sums and products of slopes and of dual variables u, by their signs."""
    sums, *_, t, s = glm_pass(loss, X, y, c, w, b, shift)
    v = np.stack([np.maximum(s, 0), np.minimum(s, 0), np.maximum(u, 0), np.minimum(u, 0)])
    gram = (v * c) @ v.T
    more = [(v * c).sum(axis=1)[2:], (v * c) @ y, gram.diagonal(), gram[:2, 2:].ravel()]
    return np.concatenate([sums, *more]), (v * c) @ (X.astype(float) - shift), t, s
