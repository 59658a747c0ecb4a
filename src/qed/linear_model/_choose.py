"""Choosing the strength of ridge: every strength is judged from the same decomposition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter, Regressor
from qed.core._memory import require_memory
from qed.data import ArraySource, Chunk, ClassMoments, Moments, fold
from qed.data._sources import Marked
from qed.designs import design
from qed.designs._range import fingerprint, fingerprint_of, require_range
from qed.linear_model._dual import Wide
from qed.linear_model._folds import folds_of
from qed.linear_model._leave_one_out import predictions_left_out, ridge_path, wide_left_out, wide_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from qed.data import Source

    Array = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Rows = slice | Indices
    Score = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Choice:
    """What to choose from, and by which score."""

    alphas: Array
    intercept: bool
    scoring: Any
    cv: Any
    per_target: bool
    keep: bool
    owner: str = "RidgeCV"
    scores: Mapping[str, Score] | None = None  # by name; None means those of numbers
    score_of_folds: str = "r2"

    def __post_init__(self) -> None:
        """Refuse what cannot be chosen from."""
        if (
            self.alphas.ndim != 1
            or not len(self.alphas)
            or not np.all(self.alphas > 0)
            or not np.isfinite(self.alphas).all()
        ):
            msg = f"{self.owner}.alphas must be one or more finite numbers > 0, got {self.alphas!r}. Use LinearRegression for none."
            raise InvalidParameter(msg)
        if self.cv is not None and (self.keep or self.per_target):
            what = "store_cv_results=True" if self.keep else "alpha_per_target=True"
            msg = f"{self.owner}: cv!=None and {what} are incompatible: both belong to leave-one-out. Leave cv=None."
            raise InvalidParameter(msg)


@dataclass(frozen=True, eq=False)
class ChoiceResult:
    """The choice: one strength for all targets or one each, its score, and the statistic of all rows if it was made."""

    alpha: Array
    score: Array
    results: Array | None = None  # (n, m, k)
    moments: Moments | None = None
    rows: tuple[Wide, Array] | None = None  # of fewer rows than columns: the rows and their products


def by_leaving_one_out(choice: Choice, X: Any, y: Array, s: Array | None) -> ChoiceResult:
    """Judge every strength by exact leave-one-out predictions."""
    n, m, k = len(y), y.shape[1], len(choice.alphas)
    if not isinstance(X, np.ndarray):
        size = X.dtype.itemsize * n * X.shape[1]
        instead = "Use folds, cv=5, which leave it sparse."
        require_memory(size, f"Leave-one-out on a dense copy of a {n} x {X.shape[1]} sparse design", instead)
        X = X.toarray()  # leverages of all rows fill it anyway
    _require_rows_to_leave_out(choice, s, n)
    moments, known = None, None
    everything = choice.keep or choice.scoring is not None
    blocks: Iterator[tuple[Rows, Array]]
    if n > X.shape[1]:
        moments = fold(ArraySource(X, y, s), Moments.of)
        require_range(ArraySource(X, y, s), fingerprint_of(moments))
        blocks = predictions_left_out(X, y, s, moments, choice.alphas, intercept=choice.intercept)
    else:
        wide, used = _used_rows(X, y, s, choice)
        require_range(ArraySource(X, y, s), fingerprint(X, y, s))
        known = wide, wide.products()
        blocks = _wide_blocks(*known, used, y, choice)
    kept = np.empty((n, m, k)) if everything else None
    squares = np.zeros((m, k))
    weight = np.ones(n) if s is None else s
    for rows, predicted in blocks:
        if kept is not None:
            kept[rows] = predicted
        squares += np.einsum("n,nmk->mk", weight[rows], (y[rows][:, :, None] - predicted) ** 2)
    if choice.scoring is None or kept is None:
        scores = -squares / weight.sum()
        results = None if kept is None else (y[:, :, None] - kept) ** 2
    else:
        scores = _scored(choice, y, kept, s)
        results = kept
    if not choice.per_target:
        scores = scores.mean(axis=0, keepdims=True)
    _require_scores(scores, choice)
    best = np.argmax(scores, axis=1)
    return ChoiceResult(
        choice.alphas[best], scores[np.arange(len(best)), best], results if choice.keep else None, moments, known
    )


def _require_rows_to_leave_out(choice: Choice, s: Array | None, n: int) -> None:
    rows = n if s is None else int(np.count_nonzero(s))
    if choice.intercept and rows == 1:
        raise InvalidData(
            f"{choice.owner} leaves out one row at a time, and n_samples=1 row of positive weight leaves none to learn from. Pass"
            " at least two rows, or use Ridge(alpha)."
        )


def _used_rows(X: Any, y: Array, s: Array | None, choice: Choice) -> tuple[Wide, Indices]:
    used = np.arange(len(y)) if s is None else np.flatnonzero(s)
    chosen = X if len(used) == len(y) else X[used]
    return Wide.of(chosen, y[used], None if s is None else s[used], intercept=choice.intercept), used


def _wide_blocks(wide: Wide, K: Array, used: Indices, y: Array, choice: Choice) -> Iterator[tuple[Rows, Array]]:
    yield used, wide_left_out(wide, K, y[used], choice.alphas)
    unused = np.setdiff1d(np.arange(len(y)), used)
    if len(unused):  # rows that do not count are predicted by nobody: their own value keeps every score as it is
        yield unused, np.repeat(y[unused][:, :, None], len(choice.alphas), axis=2)


def by_folds(choice: Choice, X: Any, y: Array, s: Array | None) -> ChoiceResult:
    """Judge every strength on folds: one decomposition a fold, all strengths at once."""
    folds = folds_of(choice.owner, choice.cv, X, y[:, 0] if y.shape[1] == 1 else y, s)
    require_range(ArraySource(X, y, s), fingerprint(X, y, s))
    judged = replace(choice, scoring=choice.scoring or choice.score_of_folds)
    total = np.zeros((1, len(choice.alphas)))
    predictions, everything = predictions_of_folds(folds, X, y, s, choice.alphas, intercept=choice.intercept)
    for (_, test), predicted in zip(folds, predictions, strict=True):
        total += _scored(judged, y[test], predicted, None if s is None else s[test])
    total /= len(folds)
    _require_scores(total, choice)
    best = int(np.argmax(total[0]))
    return ChoiceResult(choice.alphas[[best]], total[0, [best]], moments=everything)


def by_folds_of_source(choice: Choice, source: Source) -> ChoiceResult:
    """Judge every strength on folds of rows that come in chunks, which are read once: scores follow from moments."""
    scoring = choice.scoring or choice.score_of_folds
    if scoring not in SCORES_OF_MOMENTS:
        raise InvalidParameter(
            f"{choice.owner}.scoring must be None or one of {sorted(SCORES_OF_MOMENTS)} for a source of chunks, got {scoring!r}."
        )
    n, m = sum(part.n_rows for part in source.parts()), source.schema.n_targets
    rows = np.arange(n)
    folds = folds_of(choice.owner, choice.cv, rows, rows, None)
    marks = np.full(n, -1)
    for number, (_, test) in enumerate(folds):
        marks[test] = number
    if sum(len(test) for _, test in folds) != n or marks.min() < 0 or any(len(a) + len(b) != n for a, b in folds):
        raise InvalidParameter(
            f"{choice.owner}.cv must share out the rows among its tests for a source of chunks. Give a number of folds, cv=5."
        )
    found = fold(Marked(source, marks), partial(ClassMoments.of, n_classes=len(folds)), name=choice.owner)
    parts = [replace(part, n_targets=m) for part in found.parts]
    for number, part in enumerate(parts):
        if not part.rows:
            raise InvalidData(f"Fold {number} of {choice.owner}.cv has no row of positive weight. Use fewer folds.")
    trained, everything = _merged_without_each(parts, Moments.empty(source.schema.n_features, m))
    total = np.zeros(len(choice.alphas))
    for judged, train in zip(parts, trained, strict=True):
        path = ridge_path(train, choice.alphas, intercept=choice.intercept)
        total += SCORES_OF_MOMENTS[scoring](judged, _squares(judged, *path)).mean(axis=0)
    total /= len(folds)
    best = int(np.argmax(total))
    return ChoiceResult(choice.alphas[[best]], total[[best]], moments=everything)


def _squares(test: Moments, w: Array, b: Array) -> Array:
    """Return the weighted squared errors of coefficients (p, m, k) and intercepts (m, k) on the rows of a statistic."""
    about_mean = (
        test.YY.diagonal()[:, None]
        - 2 * np.einsum("pm,pmk->mk", test.XY, w)
        + np.einsum("pmk,pq,qmk->mk", w, test.XX, w, optimize=True)
    )
    mean = test.mean_y[:, None] - np.einsum("p,pmk->mk", test.mean_x, w) - b
    return np.asarray(np.maximum(about_mean, 0.0) + test.weight * mean**2)


def _determination_of(test: Moments, squares: Array) -> Array:
    spread = np.broadcast_to(test.YY.diagonal()[:, None], squares.shape)
    return np.asarray(1 - np.divide(squares, spread, out=(squares > 0).astype(float), where=spread > 0))


SCORES_OF_MOMENTS: dict[str, Callable[[Moments, Array], Array]] = {
    "neg_mean_squared_error": lambda test, squares: np.asarray(-squares / test.weight),
    "r2": _determination_of,
}


def predictions_of_folds(
    folds: list[tuple[Indices, Indices]],
    X: Any,
    y: Array,
    s: Array | None,
    alphas: Array,
    *,
    intercept: bool,
    digits: float | None = None,
) -> tuple[Iterator[Array], Moments | None]:
    """Return, fold by fold, predictions of the test rows (rows, m, strengths), and the statistic of all rows if it was made."""
    everything = None
    if isinstance(X, np.ndarray) and len(y) <= X.shape[1]:
        paths = [_wide_path(train, X, y, s, alphas, intercept=intercept) for train, _ in folds]
    else:
        statistics, everything = training_statistics(folds, X, y, s)
        paths = [ridge_path(moments, alphas, intercept=intercept, digits=digits) for moments in statistics]
    return (_predicted(X[test], *path) for (_, test), path in zip(folds, paths, strict=True)), everything


def _predicted(X: Any, w: Array, b: Array) -> Array:
    p, m, k = w.shape
    return np.asarray((design(X) @ w.reshape(p, m * k)).reshape(-1, m, k) + b)


def _require_scores(scores: Array, choice: Choice) -> None:
    if np.isnan(scores).any():
        alpha = choice.alphas[int(np.flatnonzero(np.isnan(scores).any(axis=0))[0])]
        msg = f"{choice.owner}.scoring gave NaN for alpha={alpha:g}. A score is a number, larger for a better model."
        raise InvalidParameter(msg)


def _wide_path(
    train: Indices, X: Any, y: Array, s: Array | None, alphas: Array, *, intercept: bool
) -> tuple[Array, Array]:
    used = train if s is None else train[s[train] > 0]
    wide = Wide.of(X[used], y[used], None if s is None else s[used], intercept=intercept)
    return wide_path(wide, alphas)


def training_statistics(
    folds: list[tuple[Indices, Indices]], X: Any, y: Array, s: Array | None
) -> tuple[list[Moments], Moments | None]:
    """Return the statistic of the rows each fold trains on, and that of all rows if it comes along.

    When the tests share out the rows, every row is read once: a fold trains on the merged statistics before and after it.
    """
    counted = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(y))
    shared = np.all(counted == 1) and all(len(train) + len(test) == len(y) for train, test in folds)
    if not shared:
        return [_statistic(train, X, y, s) for train, _ in folds], None
    return _merged_without_each([_statistic(test, X, y, s) for _, test in folds], Moments.empty(X.shape[1], y.shape[1]))


def _merged_without_each(parts: list[Moments], nothing: Moments) -> tuple[list[Moments], Moments]:
    """Return for each part the statistic of all others, and that of all of them."""
    before = list(accumulate(parts, Moments.merge, initial=nothing))
    after = list(accumulate(reversed(parts[1:]), Moments.merge, initial=nothing))
    return [one.merge(two) for one, two in zip(before, reversed(after), strict=False)], before[-1]


def _statistic(rows: Indices, X: Any, y: Array, s: Array | None) -> Moments:
    contiguous = len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows) and bool(np.all(np.diff(rows) == 1))
    chosen: Rows = slice(int(rows[0]), int(rows[-1]) + 1) if contiguous else rows  # a slice is not copied
    return Moments.of(Chunk(X[chosen], y[chosen], None if s is None else s[chosen]))


class _Answers(Regressor, requires_fit=False):
    """A regressor whose predictions are what it is given: how a score of (model, X, y) sees predictions already made."""

    def predict(self, X: Any) -> Any:
        return X


def _squared(y: Array, t: Array, s: Array) -> Array:
    return np.asarray(-(s @ (y - t) ** 2) / s.sum())


def _absolute(y: Array, t: Array, s: Array) -> Array:
    return np.asarray(-(s @ np.abs(y - t)) / s.sum())


def _determination(y: Array, t: Array, s: Array) -> Array:
    spread = s @ (y - (s @ y) / s.sum()) ** 2
    squares = s @ (y - t) ** 2
    return np.asarray(1 - np.divide(squares, spread, out=(squares > 0).astype(float), where=spread > 0))


SCORES: dict[str, Score] = {
    "neg_mean_squared_error": _squared,
    "neg_mean_absolute_error": _absolute,
    "r2": _determination,
}


def _scored(choice: Choice, y: Array, predicted: Array, s: Array | None) -> Array:
    """Return the score of every target and strength; a function of (model, X, y) scores all targets at once."""
    weight = np.ones(len(y)) if s is None else s
    strengths = range(predicted.shape[2])
    if callable(choice.scoring):
        answers = _Answers()

        def ask(y: Array, t: Array) -> float:
            return float(choice.scoring(answers, t, y))

        if choice.per_target:
            targets = range(y.shape[1])
            return np.array([[ask(y[:, j], predicted[:, j, a]) for a in strengths] for j in targets])
        shown = y[:, 0] if y.shape[1] == 1 else y
        return np.array(
            [[ask(shown, predicted[:, 0, a] if y.shape[1] == 1 else predicted[:, :, a]) for a in strengths]]
        )
    known = SCORES if choice.scores is None else choice.scores
    if not isinstance(choice.scoring, str) or choice.scoring not in known:
        msg = (
            f"{choice.owner}.scoring must be None, a function of (model, X, y) or one of {sorted(known)}, got {choice.scoring!r}."
            " sklearn.metrics.get_scorer(name) gives such a function."
        )
        raise InvalidParameter(msg)
    score = known[choice.scoring]
    each = np.stack([score(y, predicted[:, :, a], weight) for a in strengths], axis=1)
    return each if choice.per_target else each.mean(axis=0, keepdims=True)
