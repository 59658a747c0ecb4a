"""Rows told apart by their labels, for the checker: weights, means and scatters of each class, in its own sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.certificates import LikelihoodCertificate
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.verify._rows import Rows


Array = np.ndarray[Any, Any]
MAX_BELIEVED_ROUNDING = LikelihoodCertificate.MOST_ROUNDING


class Estimate(NamedTuple):
    """What rows give for a model with a likelihood."""

    likelihood: float  # a row
    off: float  # the largest difference of a parameter from the estimate
    rounding: float  # of the checker's own sums
    slack: float = 0.0  # how much that rounding, and what is stated of the fit's, can move the likelihood


@dataclass(frozen=True)
class Labelled:
    """The rows of each class, block by block, and what one pass over them tells."""

    rows: Rows
    place: Array  # the number of each label that occurs among those of the model
    count: int
    weight: Array  # (k,)
    mean: Array  # (k, p)
    scatter: Array  # (k, p), or (k, p, p) where all products were asked for

    def parts(self) -> Iterator[tuple[int, Array, Array]]:
        """Go through the rows again: number of a class, some rows of it, their weights."""
        return _parts(self.rows, self.place)

    @property
    def rounding(self) -> float:
        """How much the sums of this pass can be off, relative to what was summed."""
        return 8 * self.rows.rounding(self.count)


def labelled(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any, *, products: bool = False) -> Labelled:
    """Read the rows and sum them class by class, each block about its own mean; they must be as many as the model saw."""
    rows = read(model, X, y, sample_weight)
    known = model.classes_.tolist()
    strange = [label for label in np.asarray(rows.classes).tolist() if label not in known]
    if strange:
        refuse(model, f"the labels {strange[:5]!r} are not among its classes")
    place = np.array([known.index(label) for label in np.asarray(rows.classes).tolist()], dtype=np.intp)
    k, p = len(known), rows.p
    count, weight, mean = 0, np.zeros(k, EXTENDED), np.zeros((k, p), EXTENDED)
    scatter = np.zeros((k, p, p) if products else (k, p), EXTENDED)
    for at, x, s in _parts(rows, place):
        own = np.sum(s)
        centre = x[0] + s @ (x - x[0]) / own
        centre = centre + s @ (x - centre) / own
        step, total = centre - mean[at], weight[at] + own
        deviation = x - centre
        factor = weight[at] * own / total
        if products:
            scatter[at] += (deviation * s[:, np.newaxis]).T @ deviation + factor * np.multiply.outer(step, step)
        else:
            scatter[at] += s @ deviation**2 + factor * step**2
        count, weight[at], mean[at] = count + len(x), total, mean[at] + step * (own / total)
    if count != certificate.rows:
        refuse(model, f"it learnt from {certificate.rows} rows of positive weight, and these are {count}")
    return Labelled(rows, place, count, weight, mean, scatter)


def _parts(rows: Rows, place: Array) -> Iterator[tuple[int, Array, Array]]:
    for block in rows.blocks():
        code = place[block.y[:, 0].astype(np.intp)]
        for at in np.unique(code).tolist():
            mine = code == at
            yield at, block.X[mine], block.s[mine]


def require_near(model: Any, what: str, stored: Any, true: Array, slack: Any) -> float:
    """Compare numbers one by one; return the largest difference, as a part of a slack of one where that is larger."""
    numbers = np.asarray(stored)
    if numbers.shape != true.shape or numbers.dtype.kind != "f":
        refuse(model, f"{what} has the shape {numbers.shape}, and {true.shape} was expected")
    with np.errstate(invalid="ignore"):
        off = np.where(numbers == true, 0, np.abs(numbers - true))
    wrong = ~(off <= slack)
    if wrong.any():
        at = tuple(map(int, np.argwhere(wrong)[0]))
        refuse(model, f"{what} is {float(true[at]):.12g} at {at}, and {float(numbers[at]):.12g} is stored")
    return float(np.max(off, initial=0))


def require_shares(model: Any, stored: Any, given: Any, found: Labelled, rounding: float) -> Array:
    """Check probabilities of the classes: those that were given, or the shares of the rows; return them."""
    true = found.weight / found.weight.sum()
    if given is not None:
        true = np.asarray(given, dtype=EXTENDED)
        true = true / true.sum() if abs(float(true.sum()) - 1) > 1e-8 else true
    require_near(model, "the probability of a class", stored, true, 2 * rounding + 2.0**-50)
    return np.asarray(true)
