"""Greedy steps, checked: every set of columns that a step could have taken is fitted and scored again, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._answers._compare import table_of
from qed.verify._names import called
from qed.verify._refits import fitted_again, folds_of_rows, is_classifier, scorer_of
from qed.verify._refusals import refuse_changed

if TYPE_CHECKING:
    from qed.verify._learnt import Learnt


# Scores nearer than this share of their size are the same, rounded differently: of rows of float64, and of float32.
TIE, TIE_OF_SINGLES = 1e-9, 1e-5
ROUNDING = 2.0**-40
Array = np.ndarray[Any, Any]

_DRAWN = " (folds drawn at random without a seed are others each time)"


def check_steps(fit: Learnt) -> float:
    """Check that each step took the best column, that they ended where they should, and that the kept columns are theirs."""
    model, p = fit.model, fit.p
    grows = model.direction == "forward"
    order, scores = _steps(fit)
    which = "column to add" if grows else "column to leave out"
    fit.require_claim(f"the best {which} at each of {len(order)} steps", fit.n, ROUNDING)
    kept = set(order) if grows else set(range(p)) - set(order)
    support = model.support_
    good = isinstance(support, np.ndarray) and support.dtype == bool and support.shape == (p,)
    if not good or set(np.flatnonzero(support).tolist()) != kept:
        refuse_changed(model, "keeps other columns than its steps lead to")
    fit.whole_number("n_features_to_select_", len(kept))
    stops = model.tol is not None and isinstance(model.n_features_to_select, str)
    most = _most_steps(model, p, grows=grows, stops=stops)
    if len(order) > most or (len(order) < most and not stops):
        refuse_changed(model, f"took {len(order)} steps, and {most} were asked for")
    score = _scores(fit)
    off, taken, before = 0.0, set[int](), -np.inf
    for at in range(len(order) + 1):
        if at == most:
            break
        trials = {
            other: score(sorted(taken | {other} if grows else set(range(p)) - taken - {other}))
            for other in sorted(set(range(p)) - taken)
        }
        slack = (TIE_OF_SINGLES if fit.is_single else TIE) * (1 + max(abs(value) for value in trials.values()))
        best = max(trials, key=lambda other: trials[other])
        if stops:
            rise = trials[best] - before
            ended = at == len(order)
            if not (rise <= model.tol + 2 * slack if ended else rise >= model.tol - 2 * slack):
                refuse_changed(
                    model, f"ended after {len(order)} steps, and the next would change the score by {rise:.6g}{_DRAWN}"
                )
            if ended:
                break
        off = max(off, _check_step(model, order[at], scores[at], trials, slack))
        taken.add(order[at])
        before = scores[at]
    return off


def _steps(fit: Learnt) -> tuple[list[int], list[float]]:
    order, scores = fit.model.order_, fit.numbers("scores_")
    good = (
        isinstance(order, np.ndarray) and order.dtype.kind in "iu" and order.ndim == 1 and scores.shape == order.shape
    )
    good = good and len(set(order.tolist())) == len(order) and all(0 <= j < fit.p for j in order.tolist())
    if not good:
        refuse_changed(fit.model, "does not store a column and a score for each of its steps")
    return order.tolist(), scores.astype(np.float64).tolist()


def _most_steps(model: Any, p: int, *, grows: bool, stops: bool) -> int:
    """Return how many steps were asked for, or with a tolerance how many there are at most."""
    wish = model.n_features_to_select
    if isinstance(wish, str):
        return p - 1 if stops else p // 2
    count = int(p * wish) if isinstance(wish, float) else int(wish)
    return count if grows else p - count


def _check_step(model: Any, column: int, stated: float, trials: dict[int, float], slack: float) -> float:
    best = max(trials, key=lambda other: trials[other])
    if not abs(trials[column] - stated) <= slack:
        refuse_changed(
            model,
            f"states a score of {stated:.10g} with {called(model, column)}, and it is {trials[column]:.10g}{_DRAWN}",
        )
    if not trials[best] <= trials[column] + slack:
        refuse_changed(
            model,
            f"took {called(model, column)}, which scores {trials[column]:.10g}, and {called(model, best)} scores"
            f" {trials[best]:.10g}{_DRAWN}",
        )
    return abs(trials[column] - stated)


def _scores(fit: Learnt) -> Any:
    """Return a function of sets of columns that fits the model on them, verifies it and gives its mean score."""
    model = fit.model
    rows = table_of(model, fit.X)
    targets = None if fit.y is None else np.asarray(fit.y.to_numpy() if hasattr(fit.y, "to_numpy") else fit.y)
    weight = None if fit.sample_weight is None else np.asarray(fit.sample_weight)
    folds = folds_of_rows(model.cv, rows, targets, is_class=is_classifier(model.estimator))
    scorer = scorer_of(model)

    def score(columns: list[int]) -> float:
        found = []
        for train, test in folds:
            part, held = rows[train][:, columns], rows[test][:, columns]
            goal, truth = (None, None) if targets is None else (targets[train], targets[test])
            one = fitted_again(model.estimator, part, goal, None if weight is None else weight[train])
            found.append(scorer(one, held, truth))
        return float(np.mean(found))

    return score
