"""Mean losses: a loss for each row, folded into `Moments`, whose mean is the score and whose scatter says how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.data import Chunk, Moments
from qed.metrics._read import finite, numbers, row_weights, same_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array

NUMBERS = 1 << 16  # of a block: small enough to stay in cache from the loss to its sums


def read_pair(y_true: Any, y_pred: Any, sample_weight: Any, *, outputs: bool = True) -> tuple[Array, Array, Array | None]:
    """Read truth and prediction as tables of the same shape, (n, m)."""
    truth, guess = numbers(y_true, "y_true", ndim=2), numbers(y_pred, "y_pred", ndim=2)
    same_length(y_true=truth, y_pred=guess)
    truth, guess = (array.reshape(len(array), -1) for array in (truth, guess))
    if truth.shape[1] != guess.shape[1]:
        raise InvalidData(
            f"y_true and y_pred have different number of output ({truth.shape[1]}!={guess.shape[1]}). Pass as many columns"
            " predicted as true."
        )
    if truth.shape[1] > 1 and not outputs:
        raise InvalidData(f"Multioutput not supported here: y_true has {truth.shape[1]} columns. Score each by itself.")
    return truth, guess, row_weights(sample_weight, len(truth))


def fold_rows(
    truth: Array, guess: Array, s: Array | None, columns: Callable[[Array, Array], tuple[Array, Array | None]]
) -> Moments:
    """Fold what `columns` makes of each block of rows into moments.

    NaN and infinity are noticed in the sums, at no cost, and looked for when they are there.
    """
    step = max(1, NUMBERS // truth.shape[1])
    total: Moments | None = None
    for start in range(0, len(truth), step):
        block = slice(start, start + step)
        with np.errstate(all="ignore"):
            X, y = columns(*(part[block].astype(np.float64, copy=False) for part in (truth, guess)))
        try:
            part = Moments.of(Chunk(X, y, None if s is None else s[block]))
        except InvalidData:
            finite(truth, "y_true")
            finite(guess, "y_pred")
            raise InvalidData(
                "The squares of these errors leave the range of float64. Divide y_true and y_pred by a common scale."
            ) from None
        total = part if total is None else total.merge(part)
    assert total is not None  # noqa: S101  there is at least one row
    if total.rows == 0:
        raise InvalidData("Every sample weight is zero, so no row counts.")
    return total


def mean_losses(truth: Array, guess: Array, s: Array | None, loss: Callable[[Array, Array], Array]) -> Moments:
    """Fold the losses of the rows, one column an output, into moments."""
    return fold_rows(truth, guess, s, lambda y, t: (loss(y, t), None))


def squared(y: Array, t: Array) -> Array:
    """(y - t)²."""
    r = y - t
    r *= r
    return r


def absolute(y: Array, t: Array) -> Array:
    """|y - t|."""
    r = y - t
    np.abs(r, out=r)
    return r


def relative(y: Array, t: Array) -> Array:
    """|y - t| / |y|, with a floor under |y|."""
    return np.abs(y - t) / np.maximum(np.abs(y), np.finfo(np.float64).eps)


def squared_log(y: Array, t: Array) -> Array:
    """Squared difference of log(1 + ·)."""
    return squared(np.log1p(y), np.log1p(t))


def pinball(alpha: float) -> Callable[[Array, Array], Array]:
    """Quantile loss: alpha above, 1 - alpha below."""
    if not (isinstance(alpha, int | float | np.floating | np.integer) and 0 <= alpha <= 1):
        raise InvalidParameter(f"alpha must be a number from 0 to 1, got {alpha!r}. It is the level of the quantile.")

    def loss(y: Array, t: Array) -> Array:
        r = y - t
        return np.where(r >= 0, alpha * r, (alpha - 1) * r)

    return loss


def deviance(power: float) -> Callable[[Array, Array], Array]:
    """Unit deviance of the Tweedie family: normal (0), Poisson (1), gamma (2), inverse Gaussian (3), …."""
    p = power

    def loss(y: Array, t: Array) -> Array:
        if p == 0:
            return squared(y, t)
        if p == 1:
            return 2 * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / t), 0.0) - y + t)
        if p == 2:
            return 2 * (np.log(t / y) + y / t - 1)
        lifted = np.where(y > 0, y, 0.0) if p < 0 else y
        return 2 * (
            np.power(lifted, 2 - p) / ((1 - p) * (2 - p)) - y * np.power(t, 1 - p) / (1 - p) + np.power(t, 2 - p) / (2 - p)
        )

    return loss


def check_deviance(truth: Array, guess: Array, power: Any) -> None:
    """Refuse a power without a distribution, and values outside of its range."""
    if not isinstance(power, int | float | np.floating | np.integer) or 0 < power < 1 or power != power:  # noqa: PLR0124
        raise InvalidParameter(f"power must be a number <= 0 or >= 1, got {power!r}. It is the Tweedie power.")
    least = None if power < 1 else (0.0 if power < 2 else np.nextafter(0.0, 1.0))
    finite(truth, "y_true")
    finite(guess, "y_pred")
    words = f"Mean Tweedie deviance error with power={power} can only be used on "
    if power != 0 and guess.min() <= 0:
        range_ = "" if power < 0 else "non-negative y and " if power < 2 else "strictly positive y and "
        raise InvalidData(f"{words}{range_}strictly positive y_pred; the least y_pred is {guess.min():g}.")
    if least is not None and truth.min() < least:
        range_ = "non-negative y" if power < 2 else "strictly positive y"
        raise InvalidData(f"{words}{range_} and strictly positive y_pred; the least y_true is {truth.min():g}.")


def check_logarithm(truth: Array, guess: Array, name: str) -> None:
    """Refuse values whose log(1 + ·) does not exist."""
    if truth.min() <= -1 or guess.min() <= -1:
        raise InvalidData(f"{name} cannot be used when targets contain values less than or equal to -1.")


def combined(values: Array, multioutput: Any, *, variances: Array | None = None) -> Any:
    """Combine the outputs: each by itself, averaged, averaged by variance, or with given weights."""
    accepted = ("raw_values", "uniform_average", *(() if variances is None else ("variance_weighted",)))
    if isinstance(multioutput, str):
        if multioutput not in accepted:
            raise InvalidParameter(
                f"Allowed 'multioutput' string values are {accepted}. You provided multioutput={multioutput!r}"
            )
        if multioutput == "raw_values":
            return values.copy()
        if multioutput == "variance_weighted" and variances is not None and variances.any():
            return float(np.average(values, weights=variances))
        return float(values.mean())
    if multioutput is None and variances is not None:
        return float(values.mean())
    shares = numbers(multioutput, "multioutput")
    if len(values) == 1:
        raise InvalidData("Custom weights are useful only in multi-output cases.")
    if len(shares) != len(values):
        raise InvalidData(f"There must be equally many custom weights ({len(shares)}) as outputs ({len(values)}).")
    return float(np.average(values, weights=shares))
