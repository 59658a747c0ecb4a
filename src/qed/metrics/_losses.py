"""Mean losses: a loss for each row, folded into `Moments`, whose mean is the score and whose scatter says how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.data import Moments
from qed.metrics._read import finite, numbers, row_weights, same_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from qed.core._params import Array

UNIT = 2.0**-53
NUMBERS = 1 << 16  # of a block: small enough to stay in cache from the loss to its sums


def read_pair(
    y_true: Any, y_pred: Any, sample_weight: Any, *, outputs: bool = True
) -> tuple[Array, Array, Array | None]:
    """Read truth and prediction as tables of the same shape, (n, m)."""
    truth, guess = (
        numbers(values, what, ndim=2, whole=True) for values, what in ((y_true, "y_true"), (y_pred, "y_pred"))
    )
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


def blocks(truth: Array, guess: Array, s: Array | None) -> Iterator[tuple[Array, Array, Array | None]]:
    """Cut the rows into blocks, one line an output: (m, rows of the block)."""
    step = max(1, NUMBERS // truth.shape[1])
    for start in range(0, len(truth), step):
        cut = slice(start, start + step)
        yield truth[cut].T, guess[cut].T, None if s is None else s[cut]


def residuals(y: Array, t: Array) -> Array:
    """Return y - t in float64, whatever their type, without copies of either."""
    return np.subtract(y, t, dtype=np.float64)


def wide(values: Array) -> Array:
    """Return the values in float64."""
    return values.astype(np.float64, copy=False)


def mean_losses(truth: Array, guess: Array, s: Array | None, loss: Callable[[Array, Array], Array]) -> Array:
    """Return the mean loss of each output; what a score needs when nobody asks how sure it is.

    NaN and infinity are noticed in the sums, at no cost, and looked for when they are there.
    """
    sums = []
    with np.errstate(all="ignore"):
        for y, t, weight in blocks(truth, guess, s):
            losses = loss(y, t)
            sums.append(np.add.reduce(losses, axis=1) if weight is None else np.einsum("ji,i->j", losses, weight))
        means: Array = np.add.reduce(sums, axis=0) / (len(truth) if s is None else np.add.reduce(s))
    if not np.isfinite(means).all():
        refuse(truth, guess)
    return means


def refuse(truth: Array, guess: Array) -> None:
    """Say why the sums of losses are not finite."""
    finite(truth, "y_true")
    finite(guess, "y_pred")
    raise InvalidData(
        "The losses leave the range of float64. Divide y_true and y_pred by a common scale, or leave out the rows that"
        " make them infinite."
    )


def fold_rows(
    truth: Array, guess: Array, s: Array | None, columns: Callable[[Array, Array], list[Array]], n_targets: int = 0
) -> Moments:
    """Fold what `columns` makes of the rows, each a table of one line a column, into moments of all these columns."""
    with np.errstate(all="ignore"):
        total = moments_of(((columns(wide(y), wide(t)), weight) for y, t, weight in blocks(truth, guess, s)), n_targets)
    if not np.isfinite(total.scatter).all():
        refuse(truth, guess)
    return total


def loss_moments(truth: Array, guess: Array, s: Array | None, loss: Callable[[Array, Array], Array]) -> Moments:
    """Fold the losses of the rows, one column an output, into moments."""
    return fold_rows(truth, guess, s, lambda y, t: [loss(y, t)])


def explained_sums(truth: Array, guess: Array, s: Array | None, *, centred: bool) -> tuple[Array, Array]:
    """Return the squares of residuals (about zero, or about their mean) and of the truth about its mean, added up."""
    m = truth.shape[1]
    residual, total = [_Spread()] * m, [_Spread()] * m
    with np.errstate(all="ignore"):
        for y, t, weight in blocks(truth, guess, s):
            first = 0 if weight is None else int(np.argmax(weight > 0))  # a constant column is hit exactly
            for j in range(m):
                residual[j] = residual[j].merge(_Spread.of(residuals(y[j], t[j]), weight, centred=centred))
                total[j] = total[j].merge(_Spread.of(residuals(y[j], y[j, first]), weight, start=float(y[j, first])))
    sums = np.array([[part.squares for part in parts] for parts in (residual, total)])
    if not np.isfinite(sums).all():
        refuse(truth, guess)
    return sums[0], sums[1]


class _Spread(NamedTuple):
    """Squares of one column about its mean (or about zero), while its blocks are being merged."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, z: Array, s: Array | None, *, start: float = 0.0, centred: bool = True) -> _Spread:
        """Add up the squares of a block that nobody else needs; it is overwritten."""
        weight = float(len(z)) if s is None else float(np.add.reduce(s))
        mean = 0.0
        if centred and weight > 0:
            mean = float(np.add.reduce(z) if s is None else np.einsum("i,i->", z, s)) / weight
            z -= mean
        squares = np.einsum("i,i->", z, z) if s is None else np.einsum("i,i,i->", z, z, s)
        return cls(weight, start + mean, float(squares))

    def merge(self, other: _Spread) -> _Spread:
        """Merge by Chan's formula; about zero both means are zero."""
        weight = self.weight + other.weight
        if not (self.weight > 0 and other.weight > 0):
            return self if self.weight > 0 else other
        step, pull = other.mean - self.mean, other.weight / weight
        return _Spread(weight, self.mean + pull * step, self.squares + other.squares + self.weight * pull * step * step)


class _Sums(NamedTuple):
    """Moments of a few columns in plain float64, while their blocks are being merged."""

    rows: int
    weight: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, parts: list[Array], s: Array | None) -> _Sums:
        """Centre a block about its own mean before squares are taken: offsets cost no digits."""
        lines = np.concatenate(parts)
        q, n = lines.shape
        # Relative to one row that counts, so that a constant column leaves no scatter at all.
        first = lines[:, 0 if s is None else int(np.argmax(s > 0))].copy()
        lines -= first[:, np.newaxis]
        weight = float(n) if s is None else float(np.add.reduce(s))
        sums = np.add.reduce(lines, axis=1) if s is None else np.einsum("ji,i->j", lines, s)
        shift = sums / weight if weight > 0 else np.zeros(q)
        lines -= shift[:, np.newaxis]
        weighted = lines if s is None else lines * s
        scatter = np.empty((q, q))
        for j in range(q):
            for k in range(j + 1):
                scatter[j, k] = scatter[k, j] = np.einsum("i,i->", weighted[j], lines[k])
        return cls(n if s is None else int(np.count_nonzero(s)), weight, first + shift, scatter)

    def merge(self, other: _Sums) -> _Sums:
        """Merge by Chan's formula."""
        weight = self.weight + other.weight
        if not (self.weight > 0 and other.weight > 0):
            return self if self.weight > 0 else other
        step, pull = other.mean - self.mean, other.weight / weight
        scatter = self.scatter + other.scatter + self.weight * pull * np.outer(step, step)
        return _Sums(self.rows + other.rows, weight, self.mean + pull * step, scatter)


def moments_of(parts: Iterable[tuple[list[Array], Array | None]], n_targets: int = 0) -> Moments:
    """Moments of a few columns that come in blocks: one line a column, and weights or None.

    Cheaper than `Moments.of` by what double-double costs a block, and a little less sharp, as its error bounds say.
    """
    count, weighed = 0, False
    total: _Sums | None = None
    for lines, s in parts:
        part = _Sums.of(lines, s)
        total = part if total is None else total.merge(part)
        count, weighed = count + 1, weighed or s is not None
    assert total is not None  # noqa: S101  there is at least one block
    q = len(total.mean)
    if total.rows == 0:
        return Moments.empty(q - n_targets, n_targets)
    gamma = (NUMBERS + 8 * count + 16) * UNIT  # no chain of additions within a block is longer than it
    return Moments(
        rows=total.rows,
        weight=total.weight,
        weight_low=0.0,
        mean=total.mean,
        mean_low=np.zeros(q),
        scatter=total.scatter,
        scatter_low=np.zeros((q, q)),
        n_targets=n_targets,
        peak=total.scatter.diagonal() * (1 + 4 * gamma),
        weight_error=gamma if weighed else 0.0,
        mean_error=2.02 * gamma,
        scatter_error=4.04 * gamma,
    )


def squared(y: Array, t: Array) -> Array:
    """(y - t)²."""
    r = residuals(y, t)
    r *= r
    return r


def absolute(y: Array, t: Array) -> Array:
    """|y - t|."""
    r = residuals(y, t)
    np.abs(r, out=r)
    return r


def relative(y: Array, t: Array) -> Array:
    """|y - t| / |y|, with a floor under |y|."""
    errors = absolute(y, t)
    errors /= np.maximum(np.abs(y, dtype=np.float64), np.finfo(np.float64).eps)
    return errors


def squared_log(y: Array, t: Array) -> Array:
    """Squared difference of log(1 + ·), by one logarithm of the quotient."""
    r = residuals(y, t)
    r /= np.add(t, 1, dtype=np.float64)
    np.log1p(r, out=r)
    r *= r
    return r


def pinball(alpha: float) -> Callable[[Array, Array], Array]:
    """Quantile loss: alpha above, 1 - alpha below."""
    if not (isinstance(alpha, int | float | np.floating | np.integer) and 0 <= alpha <= 1):
        raise InvalidParameter(f"alpha must be a number from 0 to 1, got {alpha!r}. It is the level of the quantile.")

    def loss(y: Array, t: Array) -> Array:
        r = residuals(y, t)
        return np.maximum(alpha * r, (alpha - 1) * r)

    return loss


def deviance(power: float) -> Callable[[Array, Array], Array]:
    """Return the unit deviance of the Tweedie family: normal (0), Poisson (1), gamma (2), inverse Gaussian (3), …."""
    p = power

    def loss(y: Array, t: Array) -> Array:
        if p == 0:
            return squared(y, t)
        y, t = wide(y), wide(t)
        if p == 1:
            parts: Array = y / t
            np.log(parts, out=parts)
            parts *= y
            if not y.all():
                parts[y == 0] = 0.0
            parts -= y
            parts += t
            parts *= 2
            return parts
        if p == 2:
            ratio: Array = y / t
            parts = np.log(ratio)
            ratio -= 1
            np.subtract(ratio, parts, out=parts)
            parts *= 2
            return parts
        lifted = np.where(y > 0, y, 0.0) if p < 0 else y
        return 2 * (
            np.power(lifted, 2 - p) / ((1 - p) * (2 - p))
            - y * np.power(t, 1 - p) / (1 - p)
            + np.power(t, 2 - p) / (2 - p)
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
