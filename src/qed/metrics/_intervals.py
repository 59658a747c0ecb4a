r"""How sure a score is.

Rows are taken as drawn independently from what the model will meet, and as unseen by its fit. Then

* a share of rows (accuracy, recall, precision) is a binomial count, and Clopper and Pearson's interval holds at its
  level **exactly, for every n**; Wilson's is shorter and holds on average;
* a mean of losses is asymptotically normal: Student's interval from the scatter of the losses;
* the area under the ROC curve is a two-sample U statistic: DeLong's variance, on the logit scale so that the interval
  stays between 0 and 1;
* a median lies between two order statistics whose ranks are binomial: exact, whatever the distribution;
* everything else is resampled. A bootstrap of the rows is a multinomial draw of the *statistic*: cells of a confusion
  or a ranking are drawn, the rows are not needed again.

A weight is a repetition, so whole weights are counts; for other weights counts do not exist and closed forms refuse.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.core._random import generator
from qed.core._records import expect, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core._params import Array
    from qed.data import Moments
    from qed.metrics._ranking import Ranking

RESAMPLES = 999


@record("score")
class Score:
    """A score with the interval that covers its value on all rows that could have been drawn.

    Attributes
    ----------
    value : float
        The score of the rows at hand.
    lower, upper : float
        Ends of the interval.
    level : float
        Probability, before the rows are drawn, that the interval covers.
    n : int
        Rows that the interval rests on: for precision those predicted positive, for recall the positive ones.
    method : str
        How it was found: "clopper-pearson", "wilson", "student", "delong", "order statistics" or "bootstrap".

    Examples
    --------
    >>> from qed.metrics import score_interval
    >>> print(score_interval("accuracy_score", [0, 1] * 50, [0, 1] * 45 + [1, 0] * 5))
    0.9 (95 % interval 0.824 to 0.951, clopper-pearson, n = 100)
    """

    value: float
    lower: float
    upper: float
    level: float
    n: int
    method: str

    def __str__(self) -> str:
        return (
            f"{self.value:.3g} ({100 * self.level:g} % interval {self.lower:.3g} to {self.upper:.3g}, {self.method},"
            f" n = {self.n})"
        )

    def __float__(self) -> float:
        return self.value

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def check(self) -> None:
        """Refuse values from a model file that cannot be a score."""
        expect(self.lower <= self.upper and 0 < self.level < 1 and self.n >= 0, "score has an impossible interval")


class NeedsRows(InvalidData):
    """The statistic does not say how much the score varies; the rows, resampled, would."""


def check_level(level: Any) -> float:
    """Refuse a level that is no probability."""
    if not (isinstance(level, int | float | np.floating) and 0 < level < 1):
        raise InvalidParameter(f"level must be a number strictly between 0 and 1, such as 0.95, got {level!r}.")
    return float(level)


def share(right: float, total: float, level: float, method: str = "clopper-pearson") -> Score:
    """Interval of a share of rows: `right` of `total`."""
    if right != math.floor(right) or total != math.floor(total):
        raise NeedsRows(
            "The weights are not whole numbers, so there is no count of rows and no exact interval. Pass"
            " method='bootstrap', or weights that are repetitions."
        )
    if total == 0:
        raise InvalidData("There are no rows to take a share of, so the score is not defined and has no interval.")
    from scipy.special import betaincinv, ndtri  # noqa: PLC0415  (SciPy costs a fifth of a second, and only intervals need it)

    k, n, tail = right, total, (1 - level) / 2
    if method == "wilson":
        z2 = float(ndtri(1 - tail)) ** 2
        middle = (k + z2 / 2) / (n + z2)
        half = math.sqrt(z2) / (n + z2) * math.sqrt(k * (n - k) / n + z2 / 4)
        lower, upper = max(0.0, middle - half), min(1.0, middle + half)
    else:
        lower = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
        upper = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return Score(k / n, lower, upper, level, int(n), method)


def mean(moments: Moments, level: float, column: int = 0) -> Score:
    """Student's interval of the mean of one column."""
    n = moments.rows
    if moments.weight != n:
        raise NeedsRows(
            "The losses are weighted: the variance of their mean cannot be computed from sums. Pass method='bootstrap' and"
            " the rows."
        )
    if n < 2:
        raise InvalidData(f"An interval of a mean needs at least two rows, got {n}.")
    from scipy.special import stdtrit  # noqa: PLC0415

    value = float(moments.mean[column])
    error = math.sqrt(float(moments.scatter[column, column]) / (n - 1) / n)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return Score(value, value - half, value + half, level, n, "student")


def area(ranking: Ranking, level: float) -> Score:
    """DeLong's interval of the area under the ROC curve."""
    if not ranking.is_counted:
        raise NeedsRows("The weights are not whole numbers: DeLong's variance needs counts. Pass method='bootstrap'.")
    p, q = ranking.positive, ranking.negative
    n_positive, n_negative = p.sum(), q.sum()
    if min(n_positive, n_negative) < 2:
        raise InvalidData(
            f"DeLong's interval needs two rows of each class, got {n_positive:g} positive and {n_negative:g} negative."
        )
    value = ranking.area()
    # The chance of each positive row to beat a negative one, and of each negative row to be beaten.
    beats = 1 - (np.cumsum(q) - q / 2) / n_negative
    beaten = (np.cumsum(p) - p / 2) / n_positive
    variance = float(np.einsum("i,i->", p, (beats - value) ** 2) / (n_positive - 1) / n_positive)
    variance += float(np.einsum("i,i->", q, (beaten - value) ** 2) / (n_negative - 1) / n_negative)
    n = int(n_positive + n_negative)
    if not 0 < value < 1:
        # No pair is out of order. DeLong's variance is zero; what is proven is that of the rarer class's count.
        tail = ((1 - level) / 2) ** (1 / min(n_positive, n_negative))
        lower, upper = (0.0, float(1 - tail)) if value == 0 else (float(tail), 1.0)
        return Score(value, lower, upper, level, n, "delong")
    from scipy.special import expit, logit, ndtri  # noqa: PLC0415

    half = float(ndtri((1 + level) / 2)) * math.sqrt(variance) / (value * (1 - value))
    return Score(value, float(expit(logit(value) - half)), float(expit(logit(value) + half)), level, n, "delong")


def median(values: Array, level: float, value: float) -> Score:
    """Interval of a median between two order statistics."""
    from scipy.special import bdtr  # noqa: PLC0415

    n = len(values)
    ordered = np.sort(values)
    tail = (1 - level) / 2
    # The k-th smallest lies above the median with the probability of fewer than k heads among n coins.
    below = np.flatnonzero(bdtr(np.arange(n), n, 0.5) <= tail)
    if not len(below):
        raise InvalidData(f"{n} rows are too few for an interval of a median at level {level:g}.")
    k = int(below[-1])
    return Score(value, float(ordered[k]), float(ordered[n - 1 - k]), level, n, "order statistics")


def bootstrap(
    value: float, draw: Callable[[Any], float], n: int, level: float, random_state: Any, resamples: int = RESAMPLES
) -> Score:
    """Percentile interval of what `draw` makes of so many resamples; draws that are undefined (NaN) are left out."""
    random = generator(random_state)
    drawn = np.array([draw(random) for _ in range(resamples)])
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < resamples / 2:
        raise InvalidData(
            "The score is not defined for most resamples of these rows: there are too few rows of some class for an"
            " interval."
        )
    lower, upper = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Score(value, float(lower), float(upper), level, n, "bootstrap")
