"""A score that can still grow, and the interval around it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.core._records import record
from qed.core._targets import as_target
from qed.metrics import _intervals
from qed.metrics._intervals import RESAMPLES, NeedsRows, Score, check_level
from qed.metrics._recipes import RECIPES, Recipe

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = ("auto", "clopper-pearson", "wilson", "bootstrap")


@record("tally")
class Tally:
    """A score of some rows that merges with the score of others: what a chunk, a file or a day contributes.

    Attributes
    ----------
    score : str
        Name of the function of `qed.metrics` that the value is the answer of.
    options : dict
        Its options.
    statistic : Confusion, Moments, Ranking, Sample, Largest or None
        What the value is computed from; None before any rows.

    Examples
    --------
    >>> from qed.metrics import Tally
    >>> monday = Tally.of("f1_score", [0, 1, 1], [0, 1, 0])
    >>> tuesday = Tally.of("f1_score", [1, 1, 0], [1, 1, 1])
    >>> monday.merge(tuesday).value
    0.75
    """

    score: str
    options: dict[str, Any]
    statistic: Any

    @classmethod
    def empty(cls, score: str, **options: Any) -> Self:
        """Return the tally of no rows, the identity of `merge`."""
        return cls(score, recipe_of(score).options(options), None)

    @classmethod
    def of(cls, score: str, y_true: Any, y_pred: Any, sample_weight: Any = None, **options: Any) -> Self:
        """Take the rows of a chunk.

        Parameters
        ----------
        score : str
            Name of a function of `qed.metrics`, such as "accuracy_score".
        y_true, y_pred, sample_weight
            As for that function.
        **options : dict
            Its options. Scores of probabilities need ``labels`` when a chunk lacks a class.

        Returns
        -------
        Tally
            Of these rows.
        """
        recipe = recipe_of(score)
        filled = recipe.options(options)
        return cls(score, filled, recipe.of(y_true, y_pred, sample_weight, **filled))

    def merge(self, other: Self) -> Self:
        """Return the tally of the rows of both; associative and commutative."""
        if self.score != other.score or not _same(self.options, other.options):
            raise InvalidData(
                f"This is a tally of {self.score} with {self.options}, the other of {other.score} with {other.options}."
                " Only tallies of the same score merge."
            )
        if self.statistic is None or other.statistic is None:
            return other if self.statistic is None else self
        return type(self)(self.score, self.options, self.statistic.merge(other.statistic))

    @property
    def value(self) -> Any:
        """The score of all rows so far: what the function of that name would return for them together."""
        if self.statistic is None:
            raise InvalidData(
                f"This tally of {self.score} holds no rows yet, so it has no value. Merge some rows first."
            )
        return recipe_of(self.score).value(self.statistic, **self.options)

    def interval(
        self, level: float = 0.95, *, method: str = "auto", random_state: Any = 0, n_resamples: int = RESAMPLES
    ) -> Score:
        """Return the score with an interval around it; see `score_interval`."""
        recipe, value = recipe_of(self.score), self.value
        level = check_level(level)
        _check_method(method)
        if np.ndim(value):
            raise InvalidData(f"{self.score} of these options is {len(value)} numbers. Ask for one of them at a time.")
        if recipe.interval is not None and method != "bootstrap":
            exact = "clopper-pearson" if method == "auto" and _is_share(self) else method
            found = recipe.interval(self.statistic, level, exact, **self.options)
            if found is not None:
                return found
        if method in ("clopper-pearson", "wilson"):
            raise InvalidParameter(
                f"method={method!r} is for shares of rows, and {self.score} here is none. Pass 'auto'."
            )
        if recipe.resample is None:
            raise NeedsRows(
                f"The sums that {self.score} is computed from do not say how much it varies. Pass the rows themselves:"
                f" score_interval({self.score!r}, y_true, y_pred)."
            )
        resample = recipe.resample

        def draw(random: Any) -> float:
            return _quietly(lambda: recipe.value(resample(self.statistic, random), **self.options))

        return _intervals.bootstrap(float(value), draw, _rows_of(self.statistic), level, random_state, n_resamples)


def _is_share(tally: Tally) -> bool:
    names = (
        "accuracy_score",
        "zero_one_loss",
        "hamming_loss",
        "precision_score",
        "recall_score",
        "top_k_accuracy_score",
    )
    return tally.score in names


def _rows_of(statistic: Any) -> int:
    for name in ("n_rows", "rows"):
        if hasattr(statistic, name):
            return int(getattr(statistic, name))
    return len(statistic.y_true)


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(np.array_equal(a, b, equal_nan=True))
    except TypeError:  # NaN is not looked for among words
        return bool(np.array_equal(a, b))


def recipe_of(score: str) -> Recipe:
    """Find the recipe of a score."""
    if score not in RECIPES:
        raise InvalidParameter(
            f"{score!r} is not a score that can be tallied. Those are: {', '.join(sorted(RECIPES))}."
        )
    return RECIPES[score]


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")


def _quietly(compute: Callable[[], Any]) -> float:
    """Compute a score of a resample: where it is not defined, NaN, and no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(compute())
        except InvalidData:
            return float("nan")


def score_interval(
    score: Any,
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sample_weight: Any = None,
    level: float = 0.95,
    method: str = "auto",
    random_state: Any = 0,
    n_resamples: int = RESAMPLES,
    **options: Any,
) -> Score:
    r"""Return a score and an interval that covers its true value with the probability `level`.

    Rows are taken as drawn independently, and as unseen by the fit. Shares of rows (accuracy, precision, recall) have an
    exact binomial interval (Clopper and Pearson), means of losses Student's, the ROC area DeLong's, the median error one
    between order statistics; everything else is resampled with a fixed seed.

    Parameters
    ----------
    score : str, callable or Tally
        A function of `qed.metrics` or its name; any ``f(y_true, y_pred)``; or a tally, which needs no rows.
    y_true, y_pred : array-like
        The rows, as the function takes them.
    sample_weight : array-like of shape (n,), optional
        How often each row counts. Whole numbers are repetitions; others are resampled with their rows.
    level : float
        Probability of covering, between 0 and 1.
    method : {"auto", "clopper-pearson", "wilson", "bootstrap"}
        "auto" takes what is listed above.
    random_state : None, int, Generator or RandomState
        Seed of the bootstrap; the default gives the same interval every time.
    n_resamples : int
        How many resamples the bootstrap draws.
    **options : dict
        Options of the score.

    Returns
    -------
    Score
        ``value``, ``lower``, ``upper``, ``level``, ``n`` and ``method``.

    Examples
    --------
    >>> from qed.metrics import score_interval
    >>> score = score_interval("recall_score", [1] * 20 + [0] * 5, [1] * 18 + [0] * 7)
    >>> round(score.lower, 3), round(score.upper, 3)
    (0.683, 0.988)
    """
    if isinstance(score, Tally):
        if y_true is not None or y_pred is not None or sample_weight is not None or options:
            raise InvalidParameter(
                "A tally knows its rows and options: pass only level, method and random_state with it."
            )
        return score.interval(level, method=method, random_state=random_state, n_resamples=n_resamples)
    level = check_level(level)
    _check_method(method)
    name = score if isinstance(score, str) else getattr(score, "__name__", "")
    known = RECIPES.get(name)
    if isinstance(score, str) or (known is not None and known.function is score):
        recipe = recipe_of(name)
        if name == "max_error":
            recipe.interval()  # type: ignore[misc]  # refuses in words
        if method != "bootstrap":
            try:
                tally = Tally.of(name, y_true, y_pred, sample_weight, **options)
                return tally.interval(level, method=method, random_state=random_state, n_resamples=n_resamples)
            except NeedsRows:
                if method != "auto":
                    raise
        score = recipe.function
    elif not callable(score):
        raise InvalidParameter(f"score must be a name, a function or a Tally, got {score!r}.")
    return _of_rows(score, y_true, y_pred, sample_weight, options, (level, random_state, n_resamples))


def _of_rows(
    function: Callable[..., Any], y_true: Any, y_pred: Any, sample_weight: Any, options: dict[str, Any], how: Any
) -> Score:
    truth, guess = as_target(y_true, "y_true"), as_target(y_pred, "y_pred")
    s = None if sample_weight is None else as_target(sample_weight, "sample_weight")

    def compute(rows: Any) -> Any:
        weight = {} if s is None else {"sample_weight": s[rows]}
        return function(truth[rows], guess[rows], **weight, **options)

    value = compute(slice(None))
    if np.ndim(value):
        raise InvalidData(f"The score of these options is {np.shape(value)} numbers. Ask for one of them at a time.")
    if len(truth) < 2:
        raise InvalidData(f"An interval needs at least two rows, got {len(truth)}.")
    level, random_state, n_resamples = how
    n = len(truth)

    def draw(random: Any) -> float:
        return _quietly(lambda: compute(random.integers(n, size=n)))

    return _intervals.bootstrap(float(value), draw, n, level, random_state, n_resamples)
