"""The one judge: the documented objective, in float64, of any answer to any problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.problems import Problem
    from benchmarks.problems._problem import Data

# an answer counts as equal when its objective exceeds the best one by less than this share of the null model's
TOLERANCE = 1e-6
ROWS = 65_536


def objective(problem: Problem, data: Data, coef: np.ndarray, intercept: np.ndarray) -> float:
    """Residual sum of squares, plus alpha‖w‖² for ridge, or twice the rows times the penalty of lasso and elastic net;
    of robust models and likelihoods what they document.

    For models that choose alpha it is the reference's choice, so another choice reads as worse.
    """
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64)).T
    b = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    if problem.task in WHOLE:
        return WHOLE[problem.task](problem, data, W, b)
    if problem.task in ROBUST:
        return ROBUST[problem.task](data.y - (data.X @ W[:, 0] + b[0]), W[:, 0], problem.params)
    if problem.task in LIKELIHOODS:
        return LIKELIHOODS[problem.task](data.y, data.X @ W + b, W, settled(problem))
    if problem.task in MACHINES:
        return MACHINES[problem.task](data.y, data.X @ W + b, np.vstack([W, b]), problem.params)
    keeps = LIMITED.get(problem.task)
    total = np.inf if keeps is not None and not keeps(W[:, 0], problem.params) else 0.0
    Y = targets(problem, data)
    for start in range(0, len(Y), ROWS):
        block = data.X[start : start + ROWS]
        block = block.astype(np.float64)
        residual = Y[start : start + ROWS].astype(np.float64) - (block @ W + b)
        total += float(np.sum(residual**2))
    if problem.task in SPARSE:
        return total + 2 * len(Y) * sparse_penalty(problem, W)
    return total + strength(problem, data) * float(np.sum(W**2))


def settled(problem: Problem) -> dict[str, Any]:
    """The parameters of a likelihood, with the strength that should have been chosen where there is a choice."""
    return problem.params if problem.judged_at is None else problem.params | {"C": problem.judged_at}


SPARSE = ("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "GroupLasso", "MultiTaskLasso")


def targets(problem: Problem | None, data: Data) -> np.ndarray:
    """The targets as a table: of classes by least squares a column for each, one for its rows and minus one for the others."""
    if problem is not None and problem.task in ("RidgeClassifier", "RidgeClassifierCV"):
        return np.where(data.y[:, None] == np.unique(data.y), 1.0, -1.0)
    return data.y.reshape(len(data.y), -1)


CODED = ("OneVsOneClassifier", "OneVsRestClassifier")


def planes(problem: Problem, data: Data, W: np.ndarray, b: np.ndarray) -> float:
    """The sum of the objectives of the models of two classes, each on its rows; of W = 0 for a null model."""
    classes = int(data.y.max()) + 1
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    inner = {"LinearSVC": machine, "LogisticRegression": logistic}[problem.params["estimator"]]
    total = 0.0
    for k in range(W.shape[1]):
        used = np.ones(len(data.y), dtype=bool)
        own = k
        if problem.task == "OneVsOneClassifier":
            used, own = np.isin(data.y, pairs[k]), pairs[k][1]
        t = data.X[used] @ W[:, k : k + 1] + b[k]
        w = np.append(W[:, k], b[k]) if inner is machine else W[:, k]
        total += inner((data.y[used] == own).astype(np.float64), t, w, {})
    return total


ONLINE = ("Perceptron", "SGDClassifier", "SGDRegressor")


def mistakes(problem: Problem, data: Data, W: np.ndarray, b: np.ndarray) -> float:
    """Share of wrong labels, or the mean square of errors, above what counts as learnt: a random order has no optimum to reach."""
    t = data.X @ W + b
    if problem.task == "SGDRegressor":
        wrong = float(np.mean((t[:, 0] - data.y) ** 2))
    else:
        told = (t[:, 0] > 0).astype(np.intp) if t.shape[1] == 1 else t.argmax(axis=1)
        wrong = float(np.mean(told != data.y))
    assert problem.judged_at is not None
    return max(0.0, wrong - problem.judged_at)


def sparse_penalty(problem: Problem, W: np.ndarray) -> float:
    """The documented penalty of lasso, elastic net, group lasso and lasso of several targets."""
    alpha = problem.params["alpha"] if problem.judged_at is None else problem.judged_at
    if problem.task == "GroupLasso":
        size = problem.params["groups"]
        lengths = np.sqrt(np.add.reduceat(W[:, 0] ** 2, np.arange(0, len(W), size)))
        return float(alpha * np.sqrt(size) * lengths.sum())
    if problem.task == "MultiTaskLasso":
        return float(alpha * np.sqrt(np.sum(W**2, axis=1)).sum())
    ratio = problem.params.get("l1_ratio", 1.0)
    return float(alpha * ratio * np.abs(W).sum() + 0.5 * alpha * (1 - ratio) * np.sum(W**2))


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


def pinball(r: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> float:
    """Mean pinball loss of residuals y - t, plus alpha‖w‖₁."""
    quantile = params.get("quantile", 0.5)
    loss = np.maximum(quantile * r, (quantile - 1.0) * r)
    return float(np.mean(loss)) + float(params.get("alpha", 1.0)) * float(np.abs(w).sum())


def huber(r: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> float:
    """Sum of scale and scaled losses at the best scale, found by bisection, plus alpha‖w‖²."""
    epsilon, size = params.get("epsilon", 1.35), np.abs(r)
    low, high = 0.0, float(np.sqrt(np.mean(r**2))) + 1e-300
    for _ in range(100):
        scale = 0.5 * (low + high)
        if np.mean(np.minimum(size / scale, epsilon) ** 2) > 1.0:
            low = scale
        else:
            high = scale
    inner = np.minimum(size, epsilon * high)
    total = np.sum(high + inner**2 / high + 2 * epsilon * (size - inner))
    return float(total) + float(params.get("alpha", 1e-4)) * float(np.sum(w**2))


def power(r: np.ndarray, _: np.ndarray, params: dict[str, Any]) -> float:
    """Mean of a power of the residuals, over that power."""
    return float(np.mean(np.abs(r) ** params["p"])) / float(params["p"])


ROBUST = {"QuantileRegressor": pinball, "HuberRegressor": huber, "PowerRegressor": power}

# whether coefficients keep to their limit; a sum of squares is all that is judged then
SLACK = 1 + 1e-9
LIMITED: dict[str, Any] = {
    "ConstrainedRidge": lambda w, params: bool(np.linalg.norm(w) <= params["radius"] * SLACK),
    "ConstrainedLasso": lambda w, params: bool(np.abs(w).sum() <= params["radius"] * SLACK),
    "BestSubsetRegressor": lambda w, params: int(np.count_nonzero(w)) <= params["size"],
}


def logistic(y: np.ndarray, t: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> float:
    """C times the cross-entropy of labels 0, 1, …, plus the absolute values and half the squares.

    The intercept of liblinear, which it penalises, is judged without that penalty; it is small beside the rest.
    """
    t = np.concatenate([np.zeros_like(t), t], axis=1) if t.shape[1] == 1 else t
    own = t[np.arange(len(y)), y.astype(np.intp)]
    loss = float(np.sum(np.logaddexp.reduce(t, axis=1) - own))
    ratio = float(params.get("l1_ratio", 0.0))
    return float(params.get("C", 1.0)) * loss + ratio * float(np.abs(w).sum()) + 0.5 * (1 - ratio) * float(np.sum(w**2))


def poisson(y: np.ndarray, t: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> float:
    """Half the mean deviance, plus half alpha times the squares."""
    t = t[:, 0]
    deviance = np.where(y > 0, y * (np.log(np.where(y > 0, y, 1.0)) - t), 0.0) - y + np.exp(t)
    return float(np.mean(deviance)) + 0.5 * float(params.get("alpha", 1.0)) * float(np.sum(w**2))


LIKELIHOODS = {
    "LogisticRegression": logistic,
    "LogisticRegressionCV": logistic,
    "PoissonRegressor": poisson,
}


def machine(y: np.ndarray, t: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> float:
    """C times the hinges (or their squares) of labels 0, 1, … each against the rest, plus the penalty, intercept included."""
    own = np.arange(t.shape[1]) if t.shape[1] > 1 else np.ones(1)
    lack = np.maximum(1.0 - np.where(y[:, None] == own, t, -t), 0.0)
    loss = float(np.sum(lack if params.get("loss") == "hinge" else lack**2))
    size = float(np.abs(w).sum()) if params.get("penalty") == "l1" else 0.5 * float(np.sum(w**2))
    return float(params.get("C", 1.0)) * loss + size


def tube(y: np.ndarray, t: np.ndarray, w: np.ndarray, params: dict[str, Any]) -> float:
    """C times the distances of residuals from the tube (or their squares), plus half the squares, intercept included."""
    beyond = np.maximum(np.abs(y - t[:, 0]) - float(params.get("epsilon", 0.0)), 0.0)
    loss = float(np.sum(beyond**2 if params.get("loss") == "squared_epsilon_insensitive" else beyond))
    return float(params.get("C", 1.0)) * loss + 0.5 * float(np.sum(w**2))


MACHINES = {"LinearSVC": machine, "LinearSVR": tube}
WHOLE = {**dict.fromkeys(ONLINE, mistakes), **dict.fromkeys(CODED, planes)}


def null_objective(data: Data, problem: Problem | None = None) -> float:
    """The objective of the model that predicts a constant: the mean, a quantile, or the frequencies of the classes."""
    if problem is not None and problem.task in ONLINE:
        return 1.0
    if problem is not None and problem.task in CODED:
        classes = int(data.y.max()) + 1
        count = classes * (classes - 1) // 2 if problem.task == "OneVsOneClassifier" else classes
        return planes(problem, data, np.zeros((data.X.shape[1], count)), np.zeros(count))
    if problem is not None and problem.task in ROBUST:
        constant = np.quantile(data.y, problem.params.get("quantile", 0.5))
        return ROBUST[problem.task](data.y - constant, np.zeros(1), problem.params)
    if problem is not None and problem.task in LIKELIHOODS:
        if problem.task == "PoissonRegressor":
            constant = np.full((len(data.y), 1), np.log(np.mean(data.y)))
        else:
            constant = np.log(np.bincount(data.y.astype(np.intp)) / len(data.y))[np.newaxis].repeat(len(data.y), axis=0)
        return LIKELIHOODS[problem.task](data.y, constant, np.zeros(1), settled(problem))
    if problem is not None and problem.task in MACHINES:
        count = len(np.unique(data.y)) if problem.task == "LinearSVC" else 1
        zeros = np.zeros((len(data.y), count if count > 2 else 1))
        return MACHINES[problem.task](data.y, zeros, np.zeros(1), problem.params)
    Y = targets(problem, data).astype(np.float64)
    return float(np.sum((Y - Y.mean(axis=0)) ** 2))


def strength(problem: Problem, data: Data) -> float:
    if problem.task in ("RidgeCV", "RidgeClassifierCV"):
        return best_strength(data.X, targets(problem, data), problem.params["alphas"])
    return float(problem.params.get("alpha", 0.0))


def best_strength(rows: np.ndarray, Y: np.ndarray, alphas: list[float]) -> float:
    """The strength with the least leave-one-out error, by the textbook formula on the singular value decomposition."""
    X = rows - rows.mean(axis=0)
    y = Y - Y.mean(axis=0)
    U, values, _ = np.linalg.svd(X, full_matrices=False)
    projected = U.T @ y
    errors = []
    for alpha in alphas:
        shrink = values**2 / (values**2 + alpha)
        residual = y - U @ (shrink[:, None] * projected)
        leverage = (U**2) @ shrink + 1.0 / len(y)
        errors.append(float(np.mean((residual / (1.0 - leverage)[:, None]) ** 2)))
    return float(alphas[int(np.argmin(errors))])


def excesses(objectives: dict[str, float], null: float) -> dict[str, float]:
    """How far each answer is above the best, in units of the null model's objective."""
    best = min(objectives.values())
    return {name: (value - best) / null for name, value in objectives.items()}


def report_words(excess: float) -> str:
    return "" if excess <= TOLERANCE else f" (objective worse by {excess:.0e})"


def as_arrays(model: Any) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(model, "estimators_"):  # models of two classes, one after the other
        parts = [as_arrays(part) for part in model.estimators_]
        return np.concatenate([w.reshape(1, -1) for w, _ in parts]), np.concatenate([np.ravel(b) for _, b in parts])
    return np.asarray(model.coef_), np.asarray(model.intercept_)
