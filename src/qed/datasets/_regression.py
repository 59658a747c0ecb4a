"""Linear regression problems to order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter
from qed.datasets._matrices import make_low_rank_matrix
from qed.datasets._stream import shuffled, stream

if TYPE_CHECKING:
    from numpy.typing import NDArray


def make_regression(
    n_samples: int = 100,
    n_features: int = 100,
    *,
    n_informative: int = 10,
    n_targets: int = 1,
    bias: float = 0.0,
    effective_rank: int | None = None,
    tail_strength: float = 0.5,
    noise: float = 0.0,
    shuffle: bool = True,
    coef: bool = False,
    condition: float | None = None,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], ...]:
    r"""Draw a linear regression problem: ``y = X w + bias + noise``.

    The names are scikit-learn's, and so are the numbers that a whole number as seed gives; `condition` is new.

    Parameters
    ----------
    n_samples, n_features : int, default=100
        Shape of X.
    n_informative : int, default=10
        Columns whose coefficient is not zero; values above `n_features` mean all of them. Coefficients are uniform on
        [0, 100).
    n_targets : int, default=1
        Number of outputs; y is 1-D when it is 1.
    bias : float, default=0.0
        The intercept.
    effective_rank : int or None, default=None
        None: entries of X are independent standard normal. An integer: about this many singular vectors explain most
        of X, and singular values fall off in a bell, with a tail.
    tail_strength : float in [0, 1], default=0.5
        Weight of the tail when `effective_rank` is given.
    noise : float, default=0.0
        Standard deviation of the normal noise added to y.
    shuffle : bool, default=True
        Shuffle rows and columns. Without it the informative columns come first.
    coef : bool, default=False
        Return the true coefficients too, of shape (n_features,) or (n_features, n_targets).
    condition : float or None, default=None
        Give X exactly this condition number (up to rounding): its singular values form a geometric sequence.
    random_state : int, Generator, RandomState or None, default=None
        The seed.

    Returns
    -------
    X, y : ndarray
        And `coef` when it is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.datasets import make_regression
    >>> X, y = make_regression(200, 5, condition=1e6, random_state=0)
    >>> print(f"{np.linalg.cond(X):.0f}")
    1000000
    """
    _check_sizes(n_samples=n_samples, n_features=n_features, n_targets=n_targets)
    if condition is not None and effective_rank is not None:
        raise InvalidParameter(
            "make_regression takes condition or effective_rank, not both: each fixes the singular values of X."
        )
    rng = stream(random_state)
    X = _design(rng, (n_samples, n_features), effective_rank, tail_strength, condition)
    useful = min(n_informative, n_features)
    w = np.zeros((n_features, n_targets))
    w[:useful] = 100.0 * rng.random((useful, n_targets))
    y = X @ w + bias
    if noise > 0:
        y += rng.normal(scale=noise, size=y.shape)
    if shuffle:
        X, y = shuffled(rng, X, y)
        columns = np.arange(n_features)
        rng.shuffle(columns)
        X, w = np.ascontiguousarray(X[:, columns]), w[columns]
    if n_targets == 1:
        y, w = y[:, 0], w[:, 0]
    return (X, y, w) if coef else (X, y)


def _design(
    rng: Any,
    shape: tuple[int, int],
    effective_rank: int | None,
    tail_strength: float,
    condition: float | None,
) -> NDArray[np.float64]:
    n, p = shape
    k = min(n, p)
    if condition is not None:
        if not condition >= 1:
            raise InvalidParameter(
                f"make_regression: condition must be a real number >= 1, got {condition!r}. "
                "It is a ratio of singular values."
            )
        # entries of X keep a size near one, whatever the shape
        values = np.sqrt(n) * np.geomspace(1.0, 1.0 / condition, k)
    elif effective_rank is not None:
        return make_low_rank_matrix(n, p, effective_rank=effective_rank, tail_strength=tail_strength, random_state=rng)
    else:
        return np.asarray(rng.standard_normal(shape))
    left = np.linalg.qr(rng.standard_normal((n, k)))[0]
    right = np.linalg.qr(rng.standard_normal((p, k)))[0]
    product: NDArray[np.float64] = (left * values) @ right.T
    return product


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise InvalidParameter(f"make_regression: {name} must be an integer >= 1, got {size!r}.")
