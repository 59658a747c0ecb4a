"""The judge of tables: what each workflow should give, by definition and in plain NumPy, on a sample of the rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import SAMPLED, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.problems import Data, Problem

TIES = 1.005  # greedy methods differ where choices are equally good


def held(holder: str, X: Any) -> Any:
    """Return the table in the container that a user would have it in; not timed."""
    if holder == "objects":
        return X.astype(object)
    if holder == "polars":
        import polars as pl

        return pl.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    if holder == "dicts":
        names = [f"c{j}" for j in range(X.shape[1])]
        return [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return X[:, 0].tolist() if holder == "texts" else X


def summary(problem: Problem, result: Any) -> np.ndarray:
    """Return what is compared: some rows, of tables of zeros and ones how many ones columns have, of scores the score."""
    if problem.task == "OneHotEncoder":
        total = result.sum()  # of polars one row
        counts = total.to_numpy()[0] if hasattr(total, "to_numpy") else np.asarray(result.sum(axis=0)).ravel()
        return np.sort(counts.astype(np.float64))
    if np.ndim(result) == 0 and not hasattr(result, "tocsr"):
        return np.atleast_1d(np.asarray(result, dtype=np.float64))
    rows = result[sample(result.shape[0])]
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def error(problem: Problem, want: np.ndarray, value: np.ndarray) -> float:
    """How far a summary is from what it should be, relative."""
    if want.shape != value.shape:
        return np.inf
    if problem.is_ceiling:
        return max(0.0, float(value[0] - TIES * want[0]))
    return float(np.max(np.abs(want - value)) / (1.0 + np.max(np.abs(want))))


def _standard(data: Data, _: dict[str, Any]) -> Any:
    return (data.X[sample(len(data.X))] - data.X.mean(axis=0)) / data.X.std(axis=0)


def _range(data: Data, _: dict[str, Any]) -> Any:
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    return (data.X[sample(len(data.X))] - low) / (high - low)


def _filled(data: Data, _: dict[str, Any]) -> Any:
    rows = data.X[sample(len(data.X))]
    return np.where(np.isnan(rows), np.nanmean(data.X, axis=0), rows)


def _nearest(data: Data, _: dict[str, Any]) -> Any:
    """Five nearest rows with a value in the column, by differences in the columns that both rows have."""
    rows = data.X[sample(len(data.X))].copy()
    for row in rows:
        apart = np.nanmean((data.X - row) ** 2, axis=1)
        order = np.argsort(apart)
        for j in np.flatnonzero(np.isnan(row)):
            row[j] = data.X[order[~np.isnan(data.X[order, j])][:5], j].mean()
    return rows


def _products(data: Data, _: dict[str, Any]) -> Any:
    rows = data.X[sample(len(data.X))]
    p = rows.shape[1]
    pairs = [rows[:, i] * rows[:, j] for i in range(p) for j in range(i, p)]
    return np.column_stack([np.ones(len(rows)), rows, *pairs])


def _bins(data: Data, params: dict[str, Any]) -> Any:
    levels = np.linspace(0, 100, params["n_bins"] + 1)
    edges = np.percentile(data.X, levels, axis=0, method="averaged_inverted_cdf")[1:-1]
    return (data.X[sample(len(data.X)), np.newaxis] >= edges).sum(axis=1)


def _ranks(data: Data, _: dict[str, Any]) -> Any:
    levels = np.linspace(0, 1, min(1000, len(data.X)))
    rows = data.X[sample(len(data.X))]
    columns = [np.interp(rows[:, j], np.quantile(data.X[:, j], levels), levels) for j in range(rows.shape[1])]
    return np.column_stack(columns)


def _powers(data: Data, _: dict[str, Any]) -> Any:
    """Positive columns: the power by golden section on the likelihood, which is convex."""
    logs, out = np.log1p(data.X), []
    for own in logs.T:

        def objective(power: float, own: np.ndarray = own) -> float:
            return float(0.5 * np.log(np.var(np.expm1(power * own) / power)) - power * own.mean())

        a, b, share = -8.0, 8.0, (np.sqrt(5) - 1) / 2
        for _ in range(60):
            left, right = b - share * (b - a), a + share * (b - a)
            a, b = (a, right) if objective(left) < objective(right) else (left, b)
        curved = np.expm1((a + b) / 2 * own) / ((a + b) / 2)
        out.append((curved[sample(len(own))] - curved.mean()) / curved.std())
    return np.column_stack(out)


def _ones(data: Data, _: dict[str, Any]) -> Any:
    return np.sort(np.concatenate([np.unique(column, return_counts=True)[1] for column in data.X.T]).astype(float))


def _numbers(data: Data, _: dict[str, Any]) -> Any:
    codes = [np.unique(column, return_inverse=True)[1] for column in data.X.T]
    return np.column_stack(codes)[sample(len(data.X))]


def _named(data: Data, _: dict[str, Any]) -> Any:
    """Words of dicts: a column for each name with each of its words, in the order of what they are called."""
    names = sorted({f"c{j}={word}" for j, column in enumerate(data.X.T) for word in np.unique(column)})
    rows = [[f"c{j}={word}" for j, word in enumerate(row)] for row in data.X[sample(len(data.X))]]
    return np.array([np.isin(names, row) for row in rows])


def _hashed(data: Data, params: dict[str, Any]) -> Any:
    from sklearn.utils import murmurhash3_32

    out = np.zeros((SAMPLED, params["n_features"]))
    for own, row in zip(out, data.X[sample(len(data.X))], strict=True):
        for j, word in enumerate(row):
            code = int(murmurhash3_32(f"c{j}={word}"))
            own[abs(code) % len(own)] += 1 if code >= 0 else -1
    return out


def _mean_targets(data: Data, params: dict[str, Any]) -> Any:
    """Five folds of rows shuffled by the seed; each row coded by the other folds."""
    order = np.arange(len(data.y))
    np.random.RandomState(params["random_state"]).shuffle(order)
    rows, out = sample(len(data.y)), np.empty((SAMPLED, data.X.shape[1]))
    for test in np.array_split(order, 5):
        others = np.ones(len(data.y), bool)
        others[test] = False
        here = np.flatnonzero(np.isin(rows, test))
        y = data.y[others]
        for j in range(data.X.shape[1]):
            column = data.X[others, j]
            for place in here:
                own = y[column == data.X[rows[place], j]]
                share = len(own) * y.var() / (len(own) * y.var() + own.var())
                out[place, j] = share * own.mean() + (1 - share) * y.mean()
    return out


def _weighed_words(data: Data, _: dict[str, Any]) -> Any:
    texts = [text.split() for text in data.X[:, 0].tolist()]
    in_texts = Counter(word for text in texts for word in set(text))
    place = {word: number for number, word in enumerate(sorted(in_texts))}
    out = np.zeros((SAMPLED, len(place)))
    for row, text in zip(out, (texts[i] for i in sample(len(texts))), strict=True):
        for word, often in Counter(text).items():
            row[place[word]] = often * (1 + np.log((1 + len(texts)) / (1 + in_texts[word])))
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def _ridge(X: np.ndarray, y: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    mean = X.mean(axis=0)
    w = np.linalg.solve((X - mean).T @ (X - mean) + alpha * np.eye(X.shape[1]), (X - mean).T @ (y - y.mean()))
    return w, float(y.mean() - mean @ w)


def _best_score(data: Data, params: dict[str, Any]) -> Any:
    scores = np.zeros(len(params["alphas"]))
    for test in np.array_split(np.arange(len(data.y)), 5):
        train = np.setdiff1d(np.arange(len(data.y)), test)
        y = data.y[test]
        for k, alpha in enumerate(params["alphas"]):
            w, b = _ridge(data.X[train], data.y[train], alpha)
            scores[k] += (1 - np.sum((y - data.X[test] @ w - b) ** 2) / np.sum((y - y.mean()) ** 2)) / 5
    return [scores.max()]


def _folded_likelihood(data: Data, _: dict[str, Any]) -> Any:
    """Minus the mean cross-entropy over five folds with classes in proportion, by Newton's method to the end."""
    _, first = np.unique(data.y, return_index=True)
    codes = data.y if first[0] < first[1] else 1 - data.y
    ordered, fold = np.sort(codes), np.empty(len(codes), dtype=np.intp)
    for label in (0, 1):
        dealt = [int(np.sum(ordered[k::5] == label)) for k in range(5)]
        fold[codes == label] = np.repeat(np.arange(5), dealt)
    scores = []
    for k in range(5):
        X = np.column_stack([data.X[fold != k], np.ones(int(np.sum(fold != k)))])
        y, w = data.y[fold != k], np.zeros(X.shape[1])
        strength = np.append(np.ones(data.X.shape[1]), 0.0)
        for _ in range(50):
            p = 1 / (1 + np.exp(-X @ w))
            w = w - np.linalg.solve((X.T * (p * (1 - p))) @ X + np.diag(strength), X.T @ (p - y) + strength * w)
        t = np.column_stack([data.X[fold == k], np.ones(int(np.sum(fold == k)))]) @ w
        scores.append(-np.mean(np.logaddexp(0, np.where(data.y[fold == k] == 1, -t, t))))
    return [np.mean(scores)]


def _piped(data: Data, _: dict[str, Any]) -> Any:
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    w, b = _ridge(Z, data.y, 1.0)
    return Z[sample(len(Z))] @ w + b


def _greedy(data: Data, params: dict[str, Any]) -> Any:
    """Columns by forward steps, each judged by R² of least squares on five neighbouring folds."""
    folds = np.array_split(np.arange(len(data.y)), 5)
    taken: list[int] = []

    def score(columns: list[int]) -> float:
        found = []
        for test in folds:
            train = np.setdiff1d(np.arange(len(data.y)), test)
            A = np.column_stack([data.X[:, columns], np.ones(len(data.y))])
            w = np.linalg.lstsq(A[train], data.y[train], rcond=None)[0]
            rest, spread = data.y[test] - A[test] @ w, data.y[test] - data.y[test].mean()
            found.append(1 - float(rest @ rest) / float(spread @ spread))
        return float(np.mean(found))

    for _ in range(params["n_features_to_select"]):
        open_ = [j for j in range(data.X.shape[1]) if j not in taken]
        taken.append(max(open_, key=lambda j: score([*taken, j])))
    return data.X[sample(len(data.X))][:, sorted(taken)]


EXPECTED: dict[str, Callable[[Data, dict[str, Any]], Any]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _range,
    "SimpleImputer": _filled,
    "KNNImputer": _nearest,
    "PolynomialFeatures": _products,
    "KBinsDiscretizer": _bins,
    "QuantileTransformer": _ranks,
    "PowerTransformer": _powers,
    "OneHotEncoder": _ones,
    "OrdinalEncoder": _numbers,
    "DictVectorizer": _named,
    "FeatureHasher": _hashed,
    "TargetEncoder": _mean_targets,
    "TfidfVectorizer": _weighed_words,
    "GridSearchCV": _best_score,
    "cross_validate": _folded_likelihood,
    "Pipeline": _piped,
    "SequentialFeatureSelector": _greedy,
}
