"""Functions of known form, with noise to order: lines, polynomials, sines, Friedman's problems, and curved surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, generator
from qed.datasets._shapes import require_count
from qed.datasets._stream import stream, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def _noisy(rng: Any, y: Array, noise: float) -> Array:
    return y + noise * rng.standard_normal(y.shape) if noise else y


def make_polynomial(
    n_samples: int = 100,
    *,
    coefficients: Any = (0.0, 1.0),
    low: float = -1.0,
    high: float = 1.0,
    noise: float = 0.1,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Draw points of a polynomial of one variable; by default of the line ``y = x``.

    Parameters
    ----------
    n_samples : int
        Points.
    coefficients : array-like of float
        Of 1, x, x², ...
    low, high : float
        Between which x is drawn, uniformly.
    noise : float
        Standard deviation of the noise; 0 gives the function's values exactly.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Points.
    y : ndarray of shape (n_samples,)
        Values.

    Examples
    --------
    >>> from qed.datasets import make_polynomial
    >>> X, y = make_polynomial(50, coefficients=[1.0, 0.0, 2.0], noise=0.0, random_state=0)
    >>> bool((y == 1 + 2 * X[:, 0] ** 2).all())
    True
    """
    require_count("make_polynomial", n_samples=n_samples)
    weights = np.asarray(coefficients, dtype=np.float64)
    if weights.ndim != 1 or not len(weights):
        raise InvalidParameter(f"make_polynomial: coefficients must be a list of numbers, got {coefficients!r}.")
    rng = generator(random_state)
    x = rng.uniform(low, high, n_samples)
    y = np.zeros(n_samples)
    for power, weight in enumerate(weights.tolist()):
        y = y + weight * x**power
    return x[:, np.newaxis], _noisy(rng, y, noise)


def make_sine(
    n_samples: int = 100, *, periods: float = 1.0, noise: float = 0.1, random_state: Any = None
) -> tuple[Array, Array]:
    """Draw points of ``sin(2 pi periods x)`` for x in [0, 1).

    Parameters
    ----------
    n_samples : int
        Points.
    periods : float
        Periods between 0 and 1.
    noise : float
        Standard deviation of the noise; 0 gives the function's values exactly.
    random_state : int, Generator, RandomState or None
        The seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Points.
    y : ndarray of shape (n_samples,)
        Values.
    """
    require_count("make_sine", n_samples=n_samples)
    rng = generator(random_state)
    x = rng.random(n_samples)
    return x[:, np.newaxis], _noisy(rng, np.sin(2 * np.pi * periods * x), noise)


def make_friedman1(
    n_samples: int = 100, n_features: int = 10, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Draw ``10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4`` for uniform columns, of which five matter.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X; at least five columns.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X, y : ndarray
        Rows and values.
    """
    require_count("make_friedman1", n_samples=n_samples)
    if n_features < 5:
        raise InvalidParameter(f"make_friedman1: n_features must be at least five, got {n_features!r}.")
    rng = stream(random_state)
    X = rng.random((n_samples, n_features))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, _noisy(rng, y, noise)


def _circuit(rng: Any, n_samples: int) -> tuple[Array, Array]:
    """Return resistance, frequency, inductance and capacity of circuits, and the reactance."""
    X = rng.random((n_samples, 4)) * [100.0, 520 * np.pi, 1.0, 10.0] + [0.0, 40 * np.pi, 0.0, 1.0]
    return X, X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3])


def make_friedman2(n_samples: int = 100, *, noise: float = 0.0, random_state: Any = None) -> tuple[Array, Array]:
    """Draw the impedance of circuits: ``(x0^2 + (x1 x2 - 1 / (x1 x3))^2)^(1/2)``.

    Parameters
    ----------
    n_samples : int
        Rows.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X, y : ndarray
        Rows of four columns, and values.
    """
    require_count("make_friedman2", n_samples=n_samples)
    rng = stream(random_state)
    X, reactance = _circuit(rng, n_samples)
    return X, _noisy(rng, np.sqrt(X[:, 0] ** 2 + reactance**2), noise)


def make_friedman3(n_samples: int = 100, *, noise: float = 0.0, random_state: Any = None) -> tuple[Array, Array]:
    """Draw the phase of circuits: ``arctan((x1 x2 - 1 / (x1 x3)) / x0)``.

    Parameters
    ----------
    n_samples : int
        Rows.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X, y : ndarray
        Rows of four columns, and values.
    """
    require_count("make_friedman3", n_samples=n_samples)
    rng = stream(random_state)
    X, reactance = _circuit(rng, n_samples)
    return X, _noisy(rng, np.arctan(reactance / X[:, 0]), noise)


def _shaken(rng: Any, X: Array, noise: float) -> Array:
    return np.asarray(X + noise * rng.standard_normal(X.shape[::-1]).T) if noise else X


def make_swiss_roll(
    n_samples: int = 100, *, noise: float = 0.0, random_state: Any = None, hole: bool = False
) -> tuple[Array, Array]:
    """Draw points of a rolled-up sheet in space.

    Parameters
    ----------
    n_samples : int
        Points.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.
    hole : bool
        Whether the sheet has a hole in the middle.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Points.
    t : ndarray of shape (n_samples,)
        Their place along the roll.
    """
    require_count("make_swiss_roll", n_samples=n_samples)
    rng = stream(random_state)
    if hole:  # eight of nine pieces of the sheet, all but the one in the middle
        place = whole_numbers(rng, 8, n_samples)
        place += place >= 4
        along, across = rng.random((2, n_samples)) * [[np.pi], [7.0]]
        t, width = np.pi * (1.5 + place // 3) + along, 7.0 * (place % 3) + across
    else:
        t = 1.5 * np.pi * (1 + 2 * rng.random(n_samples))
        width = 21 * rng.random(n_samples)
    X = np.column_stack([t * np.cos(t), width, t * np.sin(t)])
    return _shaken(rng, X, noise), t


def make_s_curve(n_samples: int = 100, *, noise: float = 0.0, random_state: Any = None) -> tuple[Array, Array]:
    """Draw points of a surface curved like an S in space.

    Parameters
    ----------
    n_samples : int
        Points.
    noise : float
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None
        The seed; a whole number gives the numbers that scikit-learn draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Points.
    t : ndarray of shape (n_samples,)
        Their place along the S.
    """
    require_count("make_s_curve", n_samples=n_samples)
    rng = stream(random_state)
    t = 3 * np.pi * (rng.random(n_samples) - 0.5)
    X = np.column_stack([np.sin(t), 2 * rng.random(n_samples), np.sign(t) * (np.cos(t) - 1)])
    return _shaken(rng, X, noise), t
