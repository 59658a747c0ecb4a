"""Models of several scores, cut points or scales, and those that count mistakes, against points that are found lower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tests.truth.convex import lowest
from tests.truth.judged import LD, Judged, fitted, ones, size, table, weights

from qed import linear_model as lm
from qed.compose import OneVsRestClassifier, OutputCodeClassifier
from qed.svm import LinearSVC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def cases(seed: int) -> Iterator[Judged]:
    """Judge one model of one seed."""
    rng = np.random.default_rng([seed, 8])
    with np.errstate(all="ignore"):
        yield from KINDS[seed % len(KINDS)](rng)


def _search(model: Any, point: Any, value: Any, lengths: Any, n_scores: int, rng: Any) -> Iterator[Judged]:
    """Compare a gap with the lowest point found from the model and from zero; coefficients come first, by column."""
    certificate = model.certificate_
    own = value(point[None])[0]
    spans = np.repeat(lengths, n_scores)
    best = lowest(value, [point, 0 * point], np.append(spans, np.ones(len(point) - len(spans))), False, rng)
    if np.isfinite(certificate.radius):
        off = np.max(np.abs(best - point)[: len(spans)] * spans, initial=0)
        best = point + (min(LD(1), LD(certificate.radius) / off * LD(0.999)) if off > 0 else 1) * (best - point)
    there = value(best[None])[0]
    yield Judged(repr(model), float(certificate.gap), float(own - there))
    off = float(abs(own - LD(certificate.objective)))
    slack = 1e-6 * abs(own) + 1e-12 * LD(certificate.null_objective)
    yield Judged(repr(model), float(certificate.gap + slack), off, "objective")


def _data(rng: Any) -> tuple[Any, Any, Any, Any]:
    n, p = int(rng.integers(4, 11)), int(rng.integers(1, 3))
    X, s = table(rng, n, p), weights(rng, n)
    if np.abs(X).max() > 1e3:  # offsets, whose digits long double does not have to spare
        X = X - X.mean(axis=0)
    v = ones(s, n)
    used = v > 0
    return X, s, used, v.astype(LD)


def _tasks(rng: Any) -> Iterator[Judged]:
    X, s, _, _ = _data(rng)
    y = size(rng) * rng.normal(size=(len(X), 2))
    p = X.shape[1]
    alpha = float(10.0 ** rng.uniform(-3, 0)) * float(np.std(y)) * (float(np.median(X.std(axis=0))) or 1.0)
    rho = float(rng.choice([0.3, 1.0]))
    model = lm.MultiTaskElasticNet(alpha, l1_ratio=rho, tol=1e-6) if rho < 1 else lm.MultiTaskLasso(alpha, tol=1e-6)
    if s is not None or not 0 < alpha < 1e200 or fitted(model, X, y) is None:
        return
    A, t = X.astype(LD), y.astype(LD)

    def value(Z: Any) -> Any:
        W, b = Z[:, : 2 * p].reshape(-1, p, 2), Z[:, 2 * p :]
        r = np.einsum("np,mpk->mnk", A, W) + b[:, None] - t
        rows = np.sqrt((W**2).sum(axis=2))
        loss = (r**2).sum(axis=(1, 2)) / (2 * len(A))
        return loss + LD(alpha) * (LD(rho) * rows.sum(axis=1) + (1 - LD(rho)) / 2 * (rows**2).sum(axis=1))

    point = np.concatenate([model.coef_.T.ravel(), model.intercept_]).astype(LD)
    yield from _search(model, point, value, np.sqrt((A**2).mean(axis=0)), 2, rng)


def _classes(rng: Any) -> Iterator[Judged]:
    X, s, used, v = _data(rng)
    p, C = X.shape[1], float(10.0 ** rng.uniform(-2, 2))
    y = rng.integers(0, 3, len(X))
    y[:3] = [0, 1, 2]
    crammer = rng.random() < 0.5
    if crammer:
        model: Any = LinearSVC(C=C, multi_class="crammer_singer", tol=float(rng.choice([1e-3, 1e-7])))
    else:
        model = lm.LogisticRegression(C=C, tol=float(rng.choice([1e-3, 1e-7])))
    if fitted(model, X, y, s) is None or len(model.classes_) < 3:
        return
    A, w, label = X[used].astype(LD), v[used], y[used]
    at = np.arange(len(label))

    def value(Z: Any) -> Any:
        W, b = Z[:, : 3 * p].reshape(-1, p, 3), Z[:, 3 * p :]
        t = np.einsum("np,mpk->mnk", A, W) + b[:, None]
        if crammer:
            more = t + (np.arange(3) != label[:, None])
            loss = more.max(axis=2) - t[:, at, label]
            return (Z**2).sum(axis=1) / 2 + LD(C) * loss @ w
        lead = t - t[:, at, label][..., None]
        top = lead.max(axis=2)
        others = np.exp(lead - top[..., None])
        others[:, at, label] = 0
        # log(1 + sum of exp): the label itself is the one, or far below
        loss = np.where(top > 0, top + np.log(others.sum(axis=2) + np.exp(-top)), np.log1p(others.sum(axis=2)))
        return (W**2).sum(axis=(1, 2)) / 2 + LD(C) * loss @ w

    point = np.concatenate([model.coef_.T.ravel(), model.intercept_]).astype(LD)
    lengths = np.sqrt(w / w.sum() @ A**2)
    yield from _search(model, point, value, lengths, 3, rng)


def _scales(rng: Any) -> Iterator[Judged]:
    X, s, used, v = _data(rng)
    p, y = X.shape[1], size(rng) * rng.normal(size=len(X)) * rng.choice([1.0, 1.0, 10.0], len(X))
    epsilon, alpha = float(rng.choice([1.0, 1.35, 3.0])), float(rng.choice([0.0, 1e-4, 1.0]))
    model = lm.HuberRegressor(epsilon, alpha=alpha, tol=float(rng.choice([1e-3, 1e-5, 1e-9])))
    if fitted(model, X, y, s) is None:
        return
    A, w, t = X[used].astype(LD), v[used], y[used].astype(LD)
    e = LD(epsilon)

    def value(Z: Any) -> Any:
        r = np.abs(Z[:, :p] @ A.T + Z[:, p : p + 1] - t)
        scale = np.abs(Z[:, p + 1 :])
        safe = np.where(scale > 0, scale, 1)
        z = r / safe
        huber = np.where(z <= e, z**2, 2 * e * z - e**2)
        each = np.where(scale > 0, scale + safe * huber, 2 * e * r)
        return each @ w + LD(alpha) * (Z[:, :p] ** 2).sum(axis=1)

    point = np.concatenate([model.coef_, [model.intercept_, model.scale_]]).astype(LD)
    yield from _search(model, point, value, np.sqrt(w / w.sum() @ A**2), 1, rng)


def _ordered(rng: Any) -> Iterator[Judged]:
    X, s, used, v = _data(rng)
    p, C = X.shape[1], float(10.0 ** rng.uniform(-2, 1))
    y = rng.integers(0, 3, len(X))
    y[:3] = [0, 1, 2]
    model = lm.OrdinalRegressor(C, tol=float(rng.choice([1e-4, 1e-8])))
    if fitted(model, X, y, s) is None or len(model.classes_) < 3:
        return
    A, w, label = X[used].astype(LD), v[used], y[used]

    def log_share(t: Any) -> Any:  # of the logistic function
        return -np.where(t > 0, np.log1p(np.exp(-np.abs(t))), np.log1p(np.exp(-np.abs(t))) - t)

    def value(Z: Any) -> Any:
        score, low, high = Z[:, :p] @ A.T, Z[:, p : p + 1], Z[:, p + 1 :]
        a, b = low - score, high - score
        step = np.where(high > low, high - low, 1)
        middle = log_share(b) + log_share(-a) + np.log(-np.expm1(-step))
        each = np.where(label == 0, log_share(a), np.where(label == 2, log_share(-b), middle))
        whole = (Z[:, :p] ** 2).sum(axis=1) / 2 - LD(C) * each @ w
        return np.where((high > low)[:, 0], whole, np.inf)

    point = np.concatenate([np.ravel(model.coef_), model.thresholds_]).astype(LD)
    yield from _search(model, point, value, np.sqrt(w / w.sum() @ A**2), 1, rng)


def _parts(rng: Any) -> Iterator[Judged]:
    """Judge the binary problems of codes and of one class against the rest, each by its own objective."""
    X, _, _, _ = _data(rng)
    p, C = X.shape[1], float(10.0 ** rng.uniform(-2, 2))
    y = rng.integers(0, 3, len(X))
    y[:3] = [0, 1, 2]
    inner = lm.LogisticRegression(C=C) if rng.random() < 0.5 else LinearSVC(C=C)
    is_code = rng.random() < 0.5
    model = OutputCodeClassifier(inner, random_state=0) if is_code else OneVsRestClassifier(inner)
    if fitted(model, X, y) is None:
        return
    for k, part in enumerate(model.estimators_):
        if not hasattr(getattr(part, "certificate_", None), "gap") or not hasattr(part, "coef_"):
            continue
        positive = model.code_book_[y, k] > 0 if is_code else y == model.classes_[k]
        sign, A = np.where(positive, LD(1), LD(-1)), X.astype(LD)

        def value(Z: Any, sign: Any = sign, A: Any = A) -> Any:
            m = sign * (Z[:, :p] @ A.T + Z[:, p:])
            if isinstance(inner, LinearSVC):
                return (Z**2).sum(axis=1) / 2 + LD(C) * (np.maximum(1 - m, 0) ** 2).sum(axis=1)
            loss = np.where(m > 0, np.log1p(np.exp(-np.abs(m))), np.log1p(np.exp(-np.abs(m))) - m)
            return (Z[:, :p] ** 2).sum(axis=1) / 2 + LD(C) * loss.sum(axis=1)

        point = np.append(np.ravel(part.coef_), np.ravel(part.intercept_)).astype(LD)
        yield from _search(part, point, value, np.sqrt((A**2).mean(axis=0)), 1, rng)


def _mistakes(rng: Any) -> Iterator[Judged]:
    """Show separable rows to a perceptron in many orders: none may cause more mistakes than the bound."""
    n, p = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p)) * size(rng)
    y = X @ rng.normal(size=p) > 0
    if y.all() or not y.any():
        return
    make = lm.Perceptron if rng.random() < 0.5 else lm.VotedPerceptron
    model = make(max_iter=200, random_state=int(rng.integers(100)), **({"tol": None} if make is lm.Perceptron else {}))
    if fitted(model, X, y) is None or not np.isfinite(model.certificate_.bound):
        return
    certificate = model.certificate_
    yield Judged(repr(model), certificate.bound, float(certificate.mistakes), "mistakes")
    A, sign = np.hstack([X, np.ones((n, 1))]).astype(LD), np.where(y, LD(1), LD(-1))
    z = np.append(np.ravel(model.coef_), np.ravel(model.intercept_)).astype(LD)
    margin = float((sign * (A @ z)).min() / np.sqrt(z @ z))
    yield Judged(repr(model), 1e-12 * certificate.radius, abs(margin - float(certificate.margins.min())), "margin")
    for _ in range(5):
        w, made = np.zeros(p + 1, LD), 0
        order = rng.permutation(n)
        for _ in range(200):
            before = made
            for i in order:
                if sign[i] * (A[i] @ w) <= 0:
                    w, made = w + sign[i] * A[i], made + 1
            if made == before or made > 1000:
                break
        yield Judged(repr(model), certificate.bound, float(made), "mistakes in another order")


def _levelling(rng: Any) -> Iterator[Judged]:
    """Judge a loss that levels off: nothing whose predictions differ by at most the radius may be lower by more than the gap."""
    X, s, used, v = _data(rng)
    n, p = X.shape
    y = size(rng) * (X @ rng.normal(size=p) / (np.abs(X).max() or 1.0) + rng.standard_t(2, n))
    shape = str(rng.choice(["exponential", "rational", "truncated"]))
    model = lm.BoundedRegressor(shape=shape, fit_intercept=bool(rng.random() < 0.7))
    if fitted(model, X, y, s) is None:
        return
    certificate, c = model.certificate_, LD(model.threshold_)
    A, t, q = np.hstack([X, np.ones((n, 1))]).astype(LD)[used], y.astype(LD)[used], v[used] / v[used].sum()

    def value(Z: Any) -> Any:
        z = ((Z @ A.T - t) / c) ** 2
        psi = {
            "exponential": lambda z: -np.expm1(-z),
            "rational": lambda z: z / (1 + z),
            "truncated": lambda z: np.minimum(z, 1),
        }
        return c**2 / 2 * (psi[shape](z) @ q)

    point = np.append(model.coef_, model.intercept_).astype(LD)
    own = value(point[None])[0]
    # the objective is stated as float64 computes it: errors of scores, times residuals, of which at most one part counts
    off = LD(2.0**-49) * (np.abs(A) @ np.abs(point) + np.abs(t))
    slack = 1e-6 * own + 1e-12 * LD(certificate.null_objective) + q @ (np.minimum(np.abs(A @ point - t), c) * off)
    yield Judged(repr(model), float(slack), float(abs(own - LD(certificate.objective))), "objective")
    if not certificate.radius > 0:
        return
    free = p + bool(model.fit_intercept)
    directions = np.vstack(
        [np.eye(p + 1), rng.normal(size=(200, p + 1)) / np.append(np.abs(A[:, :p]).max(axis=0) + 1e-300, 1)]
    )
    directions[:, free:] = 0
    reach = np.abs(directions.astype(LD) @ A.T).max(axis=1)
    steps = directions[reach > 0] / reach[reach > 0, None] * LD(certificate.radius) * LD(0.999)
    near = np.concatenate([point + sign * 10.0 ** -LD(k) * steps for k in range(9) for sign in (1, -1)])
    yield Judged(repr(model), float(certificate.gap), float(own - value(np.vstack([point, near])).min()), "fall nearby")


KINDS: tuple[Callable[[Any], Iterator[Judged]], ...] = (
    *(_tasks, _classes, _scales, _ordered),
    *(_parts, _mistakes, _levelling),
)
