"""The kernels once more, in plain NumPy: what they must agree with, written to be read."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def _wide(array: Array) -> NDArray[np.float64]:
    return np.asarray(array, dtype=np.float64)


def moments(X: Array, Y: Array, s: Array | None, shift: Array) -> tuple[float, Array, Array]:
    z = np.concatenate([_wide(X), _wide(Y)], axis=1) - shift
    weight = np.ones(len(z)) if s is None else s
    return float(weight.sum()), weight @ z, (weight[:, None] * z).T @ z


def typical_row(X: Array, Y: Array, s: Array | None, step: int) -> Array:
    """The weighted mean of every step-th row; of all of those alike where none of them weighs anything."""
    z = np.concatenate([_wide(X), _wide(Y)], axis=1)[::step]
    weight = np.ones(len(z)) if s is None or not s[::step].any() else s[::step]
    return weight @ z / weight.sum()


def column_spreads(X: Array, Y: Array, s: Array | None) -> tuple[Array, Array, Array]:
    z = np.concatenate([_wide(X), _wide(Y)], axis=1)
    weight = np.ones(len(z)) if s is None else s
    mean = weight @ z / weight.sum()
    return mean, weight @ (z - mean) ** 2, z[0]


def gram(X: Array, s: Array | None, shift: Array | None, transpose: bool) -> Array:
    z = _wide(X) - (0.0 if shift is None else shift)
    if transpose:
        z = z.T
    weight = np.ones(len(z)) if s is None else s
    return (weight[:, None] * z).T @ z


def residual(X: Array, Y: Array, W: Array, b: Array, s: Array | None) -> tuple[Array, Array, Array]:
    r = _wide(Y) - _wide(X) @ _wide(W) - b
    weighted = r if s is None else s[:, None] * r
    return _wide(X).T @ weighted, weighted.sum(axis=0), (weighted * r).sum(axis=0)


def matmul(X: Array, W: Array, b: Array | None) -> Array:
    product = _wide(X) @ _wide(W) + (0.0 if b is None else b)
    return product.astype(X.dtype)


def rmatmul(X: Array, U: Array) -> Array:
    return _wide(X).T @ _wide(U)


def projected_squares(X: Array, shift: Array, V: Array, D: Array, B: Array) -> tuple[Array, Array]:
    z = (_wide(X) - shift) @ _wide(V)
    return z**2 @ _wide(D), z @ _wide(B)


def group_sweep(
    A: Array, y: Array, starts: Array, bend: Array, strength: Array, ridge: float, visits: Array, w: Array
) -> Array:
    """One proximal step along each group of columns of |Aw - y|²/2 plus lengths of groups and a ridge."""
    w = w.copy()
    for g in visits:
        one = slice(starts[g], starts[g + 1])
        new = w[one] - (A[:, one].T @ (A @ w - y) + ridge * w[one]) / bend[g]
        length = np.sqrt(new @ new) * bend[g]
        w[one] = (1 - strength[g] / length) * new if length > strength[g] else 0.0
    return w


def coordinate_descent(Q: Array, q: Array, penalty: tuple[Array, Array, float], sweeps: int = 20_000) -> Array:
    """Minimise w'Qw/2 - q'w plus a penalty with slopes low and high on the sides of zero, and a ridge."""
    low, high, ridge = penalty
    w = np.zeros(len(q))
    for _ in range(sweeps):
        before = w.copy()
        for j in range(len(q)):
            pull = q[j] - Q[j] @ w + Q[j, j] * w[j]
            w[j] = (max(pull - high[j], 0.0) + min(pull - low[j], 0.0)) / (Q[j, j] + ridge)
        if np.abs(w - before).max() < 1e-13:
            break
    return w


def triangle(
    X: Array, Y: Array, s: Array | None, shift: Array | None, scale: Array | None, ones: bool
) -> NDArray[np.float64]:
    z = np.concatenate([_wide(X), _wide(Y)], axis=1) - (0.0 if shift is None else shift)
    z = z * (1.0 if scale is None else scale)
    if ones:
        z = np.concatenate([np.ones((len(z), 1)), z], axis=1)
    if s is not None:
        z = np.sqrt(s)[:, None] * z
    R = np.zeros((z.shape[1], z.shape[1]))
    found = np.linalg.qr(z, mode="r")
    R[: len(found)] = found
    return R
