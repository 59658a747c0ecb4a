"""The one judge: the documented objective, in float64, of any answer to any problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.problems import Data, Problem

# an answer counts as equal when its objective exceeds the best one by less than this share of the null model's
TOLERANCE = 1e-6
ROWS = 65_536


def objective(problem: Problem, data: Data, coef: np.ndarray, intercept: np.ndarray) -> float:
    """Residual sum of squares, plus alpha‖w‖² for ridge.

    For RidgeCV alpha is the reference's choice, so another choice reads as worse.
    """
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64)).T
    b = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    total = 0.0
    Y = data.y.reshape(len(data.y), -1)
    for start in range(0, len(Y), ROWS):
        block = data.X[start : start + ROWS]
        block = block.astype(np.float64)
        residual = Y[start : start + ROWS].astype(np.float64) - (block @ W + b)
        total += float(np.sum(residual**2))
    return total + strength(problem, data) * float(np.sum(W**2))


def score_error(problem: Problem, data: Data, value: float) -> float:
    """How far a score is from its definition, in plain NumPy."""
    y, t = data.y, data.X[:, 0]
    if problem.task == "roc_auc_score":
        # the sum of ranks, tied ones averaged, of the positive rows (Mann and Whitney)
        _, place, counts = np.unique(t, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
        positives = int(y.sum())
        area = float(ranks[y == 1].sum()) - positives * (positives + 1) / 2
        return abs(value - area / positives / (len(y) - positives))
    if problem.task == "cohen_kappa_score":
        true, guessed = (np.bincount(part, minlength=int(max(y.max(), t.max())) + 1) / len(y) for part in (y, t))
        chance = float(true @ guessed)
        return abs(value - (float(np.mean(y == t)) - chance) / (1 - chance))
    squares = float(np.mean((y - t) ** 2.0))
    want = {"accuracy_score": float(np.mean(y == t)), "mean_squared_error": squares, "r2_score": 1 - squares / y.var()}
    return abs(value - want[problem.task])


def null_objective(data: Data) -> float:
    """The objective of the model that predicts the mean."""
    Y = data.y.reshape(len(data.y), -1).astype(np.float64)
    return float(np.sum((Y - Y.mean(axis=0)) ** 2))


def strength(problem: Problem, data: Data) -> float:
    if problem.task == "RidgeCV":
        return best_strength(data, problem.params["alphas"])
    return float(problem.params.get("alpha", 0.0))


def best_strength(data: Data, alphas: list[float]) -> float:
    """The strength with the least leave-one-out error, by the textbook formula on the singular value decomposition."""
    X = data.X - data.X.mean(axis=0)
    y = data.y - data.y.mean()
    U, values, _ = np.linalg.svd(X, full_matrices=False)
    projected = U.T @ y
    errors = []
    for alpha in alphas:
        shrink = values**2 / (values**2 + alpha)
        residual = y - U @ (shrink * projected)
        leverage = (U**2) @ shrink + 1.0 / len(y)
        errors.append(float(np.mean((residual / (1.0 - leverage)) ** 2)))
    return float(alphas[int(np.argmin(errors))])


def excesses(objectives: dict[str, float], null: float) -> dict[str, float]:
    """How far each answer is above the best, in units of the null model's objective."""
    best = min(objectives.values())
    return {name: (value - best) / null for name, value in objectives.items()}


def report_words(excess: float) -> str:
    return "" if excess <= TOLERANCE else f" (objective worse by {excess:.0e})"


def as_arrays(model: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(model.coef_), np.asarray(model.intercept_)
