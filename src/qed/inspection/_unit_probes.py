"""Single units of networks: which rows excite them, which input does most, and how an output moves with each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidParameter, generator

Array = np.ndarray[Any, Any]


def unit_activations(model: Any, X: Any, layer: int) -> Array:
    """Return the activations of all units of a hidden layer.

    Parameters
    ----------
    model : fitted MLPClassifier or MLPRegressor
        The network.
    X : array-like of shape (n, p)
        Rows.
    layer : int
        Number of the hidden layer, from 0; the last number, or -1, means the outputs before their activation.

    Returns
    -------
    ndarray of shape (n, units)
        Activations.
    """
    weights, count = _weights(model), _layer(model, layer)
    return _forward(model, np.asarray(model._new_data(X), dtype=np.float64), weights, count)[-1]  # noqa: SLF001


def top_activations(model: Any, X: Any, layer: int, unit: int, k: int = 10) -> Array:
    """Return the rows that excite a unit most.

    Parameters
    ----------
    model : fitted MLPClassifier or MLPRegressor
        The network.
    X : array-like of shape (n, p)
        Rows.
    layer, unit : int
        Which unit, as in `unit_activations`.
    k : int
        How many rows.

    Returns
    -------
    ndarray of int
        Numbers of rows, the largest activation first; of equal ones the earlier row.
    """
    found = unit_activations(model, X, layer)
    if not -found.shape[1] <= unit < found.shape[1] or k < 1:
        raise InvalidParameter(
            f"unit must be one of {found.shape[1]} and k at least 1, got {unit!r:.40} and {k!r:.40}."
        )
    return np.argsort(-found[:, unit], kind="stable")[:k]


def saliency(model: Any, X: Any, *, output: int = 0) -> Array:
    """Return the absolute gradient of an output with respect to each column.

    Parameters
    ----------
    model : fitted linear model, MLPClassifier or MLPRegressor
        What is asked: scores, before the activation of the outputs.
    X : array-like of shape (n, p)
        Rows.
    output : int
        Which output.

    Returns
    -------
    ndarray of shape (n, p)
        Gradients without their sign. They say how the output moves with small changes: where two columns mask one another, both
        are zero although both together matter; `explain` shares their effect out.
    """
    rows = np.asarray(model._new_data(X), dtype=np.float64)  # noqa: SLF001
    if not hasattr(model, "coefs_") and hasattr(model, "coef_"):
        return np.tile(np.abs(np.atleast_2d(model.coef_)[output]), (len(rows), 1)).astype(np.float64)
    return np.abs(_gradient(model, rows, len(_weights(model)) - 1, output))


def maximise_activation(
    model: Any,
    layer: int,
    unit: int,
    *,
    radius: float = 1.0,
    start: Any = None,
    n_steps: int = 200,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Look for the input within a ball that excites a unit most.

    Parameters
    ----------
    model : fitted MLPClassifier or MLPRegressor
        The network.
    layer, unit : int
        Which unit, as in `unit_activations`.
    radius : float
        Radius of the ball around zero.
    start : array-like of shape (p,), optional
        Where to begin; a random place otherwise.
    n_steps : int
        Most steps. A step that would lower the activation is halved, so that the activation never falls.
    random_state : None, int or Generator
        Seed of the start.

    Returns
    -------
    x : ndarray of shape (p,)
        The input found.
    trace : ndarray
        The activation after each step.
    """
    if not radius > 0:
        raise InvalidParameter(f"radius must be above zero, got {radius!r:.80}.")
    weights, count = _weights(model), _layer(model, layer)
    p = weights[0].shape[0]
    x = generator(random_state).standard_normal(p) if start is None else np.asarray(start, dtype=np.float64)
    x = _within(x, radius)
    trace = [float(_forward(model, x[None], weights, count)[-1][0, unit])]
    step = radius
    for _ in range(n_steps):
        slope = _gradient(model, x[None], count, unit)[0]
        length = float(np.linalg.norm(slope))
        if length == 0 or step < 1e-12 * radius:
            break
        tried = _within(x + step * slope / length, radius)
        value = float(_forward(model, tried[None], weights, count)[-1][0, unit])
        if value >= trace[-1]:
            x, step = tried, min(2 * step, 4 * radius)
            trace.append(value)
        else:
            step /= 2
    return x, np.array(trace)


def _within(x: Array, radius: float) -> Array:
    return np.asarray(x * min(1.0, radius / max(float(np.linalg.norm(x)), 1e-300)))


def _weights(model: Any) -> list[Array]:
    if "coefs_" not in getattr(model, "__dict__", {}):
        raise InvalidParameter(f"{type(model).__name__} has no layers. Pass a fitted MLPClassifier or MLPRegressor.")
    return [np.asarray(one, dtype=np.float64) for one in model.coefs_]


def _layer(model: Any, layer: int) -> int:
    count = len(_weights(model))
    if not -count <= layer < count:
        raise InvalidParameter(f"layer must be from 0 to {count - 1}, the outputs, got {layer!r:.80}.")
    return layer % count


def _forward(model: Any, rows: Array, weights: list[Array], layer: int) -> list[Array]:
    """Return the activations of the layers up to one; outputs stay before their activation."""
    found = []
    for number, weight in enumerate(weights[: layer + 1]):
        z = rows @ weight + np.asarray(model.intercepts_[number], dtype=np.float64)
        rows = z if number == len(weights) - 1 else _activate(model.activation, z)
        found.append(rows)
    return found


def _activate(name: str, z: Array) -> Array:
    if name == "relu":
        return np.maximum(z, 0.0)
    if name == "tanh":
        return np.tanh(z)
    return z if name == "identity" else np.asarray(0.5 * (1 + np.tanh(z / 2)))


def _slope(name: str, a: Array) -> Array:
    """Return the derivative of an activation from its value."""
    if name == "relu":
        return np.asarray((a > 0).astype(np.float64))
    if name == "tanh":
        return np.asarray(1 - a**2)
    return np.ones_like(a) if name == "identity" else np.asarray(a * (1 - a))


def _gradient(model: Any, rows: Array, layer: int, unit: int) -> Array:
    weights = _weights(model)
    found = _forward(model, rows, weights, layer)
    delta = np.zeros_like(found[-1])
    delta[:, unit] = 1.0
    for number in range(layer, -1, -1):
        if number < len(weights) - 1:
            delta = delta * _slope(model.activation, found[number])
        delta = delta @ weights[number].T
    return np.asarray(delta)
