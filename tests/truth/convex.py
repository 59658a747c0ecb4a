"""Convex models against the lowest objective that anybody finds, summed in long double.

Each documented objective is written down once more here. Points to compare with come from a fit to a far smaller tolerance, from
Newton steps on differences of the objective, from vertices where losses have kinks, and from steps of all sizes in all directions.
Any such point is above the optimum, so that a gap below the difference is a true finding.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tests.truth.judged import LD, Judged, ones, size, table, weights

import qed
from qed import linear_model as lm
from qed.svm import LinearSVC, LinearSVR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _positive(x: Any) -> Any:
    return np.maximum(x, 0)


def _logistic(m: Any) -> Any:
    return np.where(m > 0, np.log1p(np.exp(-np.abs(m))), np.log1p(np.exp(-np.abs(m))) - m)


def _huber(r: Any, knee: Any) -> Any:
    return np.where(np.abs(r) <= knee, r**2 / 2, knee * np.abs(r) - knee**2 / 2)


def _half_deviance(t: Any, y: Any) -> Any:
    d = t - np.log(np.where(y > 0, y, 1))
    return np.where(y > 0, y * (np.expm1(d) - d), np.exp(t))


class Maker(NamedTuple):
    """A model to be fitted, and its objective as a function of rows of parameters: coefficients, then the intercept.

    The intercept is that of columns less ``middle`` and of targets less ``level``: offsets cancel before they hide anything.
    """

    model: Any
    value: Callable[[Any], Any]
    middle: Any
    level: float = 0.0
    kinks: Any = None


def _rows(X: Any, y: Any, s: Any, middle: Any, level: float = 0.0) -> tuple[Any, Any, Any]:
    v = ones(s, len(X))
    used = v > 0
    return X[used].astype(LD) - middle, np.asarray(y)[used].astype(LD) - level, v[used].astype(LD)


def _middle(X: Any, s: Any, intercept: bool) -> Any:
    v = ones(s, len(X))
    with np.errstate(all="ignore"):
        mean = (v / v.max()) @ X / (v / v.max()).sum()
    return np.where(np.isfinite(mean), mean, 0.0) if intercept else np.zeros(X.shape[1])


def _linear(X: Any, intercept: bool, less: Any = 0) -> Any:
    """Return a function that gives scores of parameters (m, p + 1), (m, n), less something of each row.

    Those of one point are exact up to their last digit: what cancels between large columns must not hide what is judged.
    """
    n, p = X.shape
    exact = [[_fraction(x) for x in row] for row in X]
    shift = [_fraction(x) for x in np.broadcast_to(np.asarray(less, LD), (n,))]

    def scores(Z: Any) -> Any:
        if len(Z) > 1 or not np.isfinite(Z.astype(float)).all():
            return Z[:, :p] @ X.T + (Z[:, p:][:, :1] if intercept else 0) - less
        w = [_fraction(x) for x in Z[0]]
        sums = [sum((a * b for a, b in zip(row, w, strict=False)), w[p] if intercept else Fraction(0)) for row in exact]
        return np.array([[_rounded(one - off) for one, off in zip(sums, shift, strict=True)]])

    return scores


def _fraction(x: Any) -> Fraction:
    return Fraction(*x.as_integer_ratio())


def _rounded(x: Fraction) -> Any:
    """Return a fraction as a long double."""
    try:
        high = float(x)
    except OverflowError:
        return LD(np.inf if x > 0 else -np.inf)
    return LD(high) + LD(float(x - Fraction(high)))


def _flat(model: Any, intercept: bool, middle: Any, level: float) -> Any:
    w = np.ravel(model.coef_)
    if not intercept:
        return w.astype(LD)
    b = Fraction(float(np.squeeze(model.intercept_))) - Fraction(level)
    b += sum((Fraction(float(c)) * Fraction(float(m)) for c, m in zip(w, middle, strict=True)), Fraction(0))
    return np.append(w.astype(LD), _rounded(b))


def regressors(rng: Any, X: Any, y: Any, s: Any) -> Iterator[Any]:  # noqa: PLR0915  (one model after the other)
    """Yield makers of models of numbers, each with its objective."""
    p = X.shape[1]
    intercept = bool(rng.random() < 0.7)
    scale = float(np.std(y)) if np.std(y) > 0 else 1.0
    width = float(np.median(X.std(axis=0))) or 1.0
    with np.errstate(all="ignore"):
        ratio = scale * width
    if not (1e-290 < ratio < 1e290 and 1e-290 < scale < 1e150):
        ratio = 1.0
    alpha = float(10.0 ** rng.uniform(-4, 0.3)) * ratio
    rho, tol = float(rng.choice([0.2, 0.5, 0.9])), float(rng.choice([1e-2, 1e-4, 1e-6, 1e-9]))
    middle, level = _middle(X, s, intercept), float(np.mean(y)) if intercept else 0.0
    A, t, v = _rows(X, y, s, middle, level)
    c = v / v.sum()
    off = _linear(A, intercept, t)
    centred = {"middle": middle, "level": level}
    plain = {"middle": np.zeros(p)}
    raw_A, raw_t, _ = _rows(X, y, s, plain["middle"])
    raw = _linear(raw_A, intercept, raw_t)

    def squares(Z: Any) -> Any:
        return (off(Z) ** 2) @ c

    def l1(Z: Any) -> Any:
        return np.abs(Z[:, :p]).sum(axis=1)

    def l2(Z: Any) -> Any:
        return (Z[:, :p] ** 2).sum(axis=1)

    share = {"fit_intercept": intercept, "tol": tol}
    positive = bool(rng.random() < 0.2)
    sign = (lambda Z: np.where((Z[:, :p] < 0).any(axis=1), np.inf, 0)) if positive else (lambda Z: 0)
    yield Maker(
        lm.Lasso(alpha, positive=positive, **share),
        lambda Z: squares(Z) / 2 + LD(alpha) * l1(Z) + sign(Z),
        **centred,
    )
    yield Maker(
        lm.ElasticNet(alpha, l1_ratio=rho, **share),
        lambda Z: squares(Z) / 2 + LD(alpha) * LD(rho) * l1(Z) + LD(alpha) * (1 - LD(rho)) / 2 * l2(Z),
        **centred,
    )
    groups = np.arange(p) // 2
    factor = np.sqrt(np.bincount(groups)).astype(LD)

    def grouped(Z: Any) -> Any:
        return sum(factor[g] * np.sqrt((Z[:, :p][:, groups == g] ** 2).sum(axis=1)) for g in range(groups.max() + 1))

    yield Maker(
        lm.GroupLasso(alpha, groups=groups, **share), lambda Z: squares(Z) / 2 + LD(alpha) * grouped(Z), **centred
    )
    root = alpha / scale
    yield Maker(lm.SquareRootLasso(root, **share), lambda Z: np.sqrt(squares(Z)) + LD(root) * l1(Z), **centred)
    q = float(rng.choice([0.5, 0.1, 0.8]))
    price = float(rng.choice([0.0, root * 0.1]))
    yield Maker(
        lm.QuantileRegressor(quantile=q, alpha=price, **share),
        lambda Z: (LD(q) * _positive(-off(Z)) + (1 - LD(q)) * _positive(off(Z))) @ c + LD(price) * l1(Z),
        **centred,
        kinks=t,
    )
    C, eps = float(10.0 ** rng.uniform(-3, 2)), float(rng.choice([0.0, 0.1 * scale]))

    def joined(Z: Any) -> Any:
        return l2(Z) / 2 + (Z[:, p] ** 2 / 2 if intercept else 0)

    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        power = 1 if loss == "epsilon_insensitive" else 2
        yield Maker(
            LinearSVR(epsilon=eps, C=C, loss=loss, **share),
            lambda Z, power=power: joined(Z) + LD(C) * (_positive(np.abs(raw(Z)) - LD(eps)) ** power) @ v,
            **plain,
        )
    exponent = float(rng.choice([1.0, 1.5, 2.0, 3.0, np.inf]))
    yield Maker(
        lm.PowerRegressor(exponent, **share),
        (lambda Z: np.abs(off(Z)).max(axis=1))
        if np.isinf(exponent)
        else (lambda Z: (np.abs(off(Z)) ** LD(exponent)) @ c / LD(exponent)),
        **centred,
        kinks=t if exponent == 1 else None,
    )
    limit = float(10.0 ** rng.uniform(-2, 1)) * scale / width if 1e-100 < width < 1e100 else 1.0
    within = LD(limit) * (1 + LD(1e-18))
    yield Maker(
        lm.ConstrainedLasso(limit, fit_intercept=intercept),
        lambda Z: squares(Z) / 2 + np.where(l1(Z) > within, np.inf, 0),
        **centred,
    )
    yield Maker(
        lm.ConstrainedRidge(limit, fit_intercept=intercept),
        lambda Z: (off(Z) ** 2) @ v + np.where(np.sqrt(l2(Z)) > within, np.inf, 0),
        **centred,
    )
    strengths = [alpha, alpha / 10]
    lasso, net = (
        lm.LassoCV(alphas=strengths, cv=2, **share),
        lm.ElasticNetCV(alphas=strengths, l1_ratio=rho, cv=2, **share),
    )
    yield Maker(lasso, lambda Z: squares(Z) / 2 + LD(lasso.alpha_) * l1(Z), **centred)
    yield Maker(
        net, lambda Z: squares(Z) / 2 + LD(net.alpha_) * (LD(rho) * l1(Z) + (1 - LD(rho)) / 2 * l2(Z)), **centred
    )
    ridge = lm.RidgeCV(alphas=[0.1, 10.0], fit_intercept=intercept)
    yield Maker(ridge, lambda Z: (off(Z) ** 2) @ v + LD(ridge.alpha_) * l2(Z), **centred)
    if s is None or rng.random() < 0.5:
        loss = str(rng.choice(["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]))
        penalty = str(rng.choice(["l2", "l1", "elasticnet"]))
        strength = float(10.0 ** rng.uniform(-4, 0))
        mix = {"l2": 0.0, "l1": 1.0, "elasticnet": 0.15}[penalty]
        of = {
            "squared_error": lambda r: r**2 / 2,
            "huber": lambda r: _huber(r, LD(0.1)),
            "epsilon_insensitive": lambda r: _positive(np.abs(r) - LD(0.1)),
            "squared_epsilon_insensitive": lambda r: _positive(np.abs(r) - LD(0.1)) ** 2,
        }[loss]
        yield Maker(
            lm.SGDRegressor(
                loss, penalty=penalty, alpha=strength, fit_intercept=intercept, random_state=0, max_iter=20
            ),
            lambda Z: of(off(Z)) @ v / len(v) + LD(strength) * (LD(mix) * l1(Z) + (1 - LD(mix)) / 2 * l2(Z)),
            **centred,
        )


def counted(rng: Any, X: Any, y: Any, s: Any) -> Iterator[Any]:
    """Yield the model of counts."""
    intercept, alpha = bool(rng.random() < 0.7), float(rng.choice([0.0, 10.0 ** rng.uniform(-4, 1)]))
    middle = _middle(X, s, intercept)
    A, t, v = _rows(X, y, s, middle)
    score, p = _linear(A, intercept), X.shape[1]
    yield Maker(
        lm.PoissonRegressor(alpha=alpha, fit_intercept=intercept, tol=float(rng.choice([1e-3, 1e-7]))),
        lambda Z: _half_deviance(score(Z), t) @ v / v.sum() + LD(alpha) / 2 * (Z[:, :p] ** 2).sum(axis=1),
        middle,
    )


def classifiers(rng: Any, X: Any, labels: Any, s: Any) -> Iterator[Any]:
    """Yield makers of models of two classes, each with its objective."""
    p = X.shape[1]
    intercept, tol = bool(rng.random() < 0.7), float(rng.choice([1e-3, 1e-7]))
    C = float(10.0 ** rng.uniform(-3, 3))
    middle, nothing = _middle(X, s, intercept), np.zeros(p)
    A, t, v = _rows(X, np.where(labels, 1.0, -1.0), s, middle)
    score, raw = _linear(A, intercept), _linear(_rows(X, labels, s, nothing)[0], intercept)

    def l1(Z: Any) -> Any:
        return np.abs(Z[:, :p]).sum(axis=1)

    def l2(Z: Any) -> Any:
        return (Z[:, :p] ** 2).sum(axis=1)

    rho = float(rng.choice([0.0, 0.5, 1.0]))
    yield Maker(
        lm.LogisticRegression(C=C, l1_ratio=rho, tol=tol, fit_intercept=intercept),
        lambda Z: LD(C) * _logistic(t * score(Z)) @ v + LD(rho) * l1(Z) + (1 - LD(rho)) / 2 * l2(Z),
        middle,
    )
    chosen = lm.LogisticRegressionCV(Cs=[C, 10 * C], cv=2, tol=tol, fit_intercept=intercept)
    yield Maker(chosen, lambda Z: LD(float(np.squeeze(chosen.C_))) * _logistic(t * score(Z)) @ v + l2(Z) / 2, middle)
    for loss, penalty in (("hinge", "l2"), ("squared_hinge", "l2"), ("squared_hinge", "l1")):
        power = 1 if loss == "hinge" else 2

        def whole(Z: Any, power: int = power, penalty: str = penalty) -> Any:
            every = Z if intercept else Z[:, :p]
            size_ = np.abs(every).sum(axis=1) if penalty == "l1" else (every**2).sum(axis=1) / 2
            return size_ + LD(C) * (_positive(1 - t * raw(Z)) ** power) @ v

        yield Maker(LinearSVC(penalty, loss, C=C, tol=tol, fit_intercept=intercept), whole, nothing)
    if rng.random() < 0.5:
        own = _middle(X, s, intercept=True)
        B = _rows(X, labels, s, own)[0]

        def hard(Z: Any) -> Any:  # every margin at least one: coefficients are as long as the least margin asks for
            least = (t * (Z[:, :p] @ B.T + Z[:, p:])).min(axis=1)
            return np.where(least > 0, l2(Z) / 2 / np.where(least > 0, least, 1) ** 2, np.inf)

        yield Maker(LinearSVC(loss="hinge", C=np.inf), hard, own)
    loss = str(rng.choice(["hinge", "log_loss", "modified_huber", "squared_hinge", "squared_error", "huber"]))
    penalty, alpha = str(rng.choice(["l2", "l1", "elasticnet"])), float(10.0 ** rng.uniform(-4, 0))
    mix = {"l2": 0.0, "l1": 1.0, "elasticnet": 0.15}[penalty]
    of = {
        "hinge": lambda m: _positive(1 - m),
        "log_loss": _logistic,
        "modified_huber": lambda m: np.where(m >= -1, _positive(1 - m) ** 2, -4 * m),
        "squared_hinge": lambda m: _positive(1 - m) ** 2,
        "squared_error": lambda m: (1 - m) ** 2 / 2,
        "huber": lambda m: _huber(1 - m, LD(0.1)),
    }[loss]
    yield Maker(
        lm.SGDClassifier(loss, penalty=penalty, alpha=alpha, fit_intercept=intercept, random_state=0, max_iter=20),
        lambda Z: of(t * score(Z)) @ v / len(v) + LD(alpha) * (LD(mix) * l1(Z) + (1 - LD(mix)) / 2 * l2(Z)),
        middle,
    )


def cases(seed: int) -> Iterator[Judged]:
    """Judge one model of one seed: the next kind with the next seed."""
    rng = np.random.default_rng([seed, 7])
    n, p = int(rng.integers(2, 11)), int(rng.integers(1, 4))
    X, s = table(rng, n, p), weights(rng, n)
    signal = X @ rng.normal(size=p)
    signal = signal / np.abs(signal).max() if np.abs(signal).max() > 0 else signal
    noise = rng.choice([0.0, 0.3, 1.0, 3.0]) * rng.normal(size=n)
    family = (regressors, classifiers, counted)[seed % 3]
    if family is regressors:
        y = size(rng) * (signal + noise) + rng.choice([0.0, 0.0, 1e6])
    elif family is counted:
        y = rng.poisson(np.exp(np.clip(signal + noise, -3, 3))).astype(float)
        y[0] += 1
    else:
        y = signal + noise > np.median(signal + noise)
        y[:2] = [True, False]
    with np.errstate(all="ignore"):
        made = list(family(rng, X, y, s))
        maker = made[seed // 3 % len(made)]
        try:
            maker.model.fit(X, y, s)
        except (qed.InvalidData, qed.InvalidParameter):
            return
        yield from judge(maker, X, y, s, rng)


def judge(maker: Maker, X: Any, y: Any, s: Any, rng: Any) -> Iterator[Judged]:
    """Compare a gap with the lowest point found."""
    model, value, middle, level, kinks = maker
    certificate, p = model.certificate_, X.shape[1]
    if not hasattr(certificate, "gap"):
        return
    intercept = getattr(model, "fit_intercept", True) is not False
    point = _flat(model, intercept, middle, level)
    own = value(point[None])[0]
    if np.isinf(own):  # rounding has put it beyond its limit
        own = value(np.append(point[:p] * (1 - LD(2) ** -52), point[p:])[None])[0]
    v = ones(s, len(X)).astype(LD)
    lengths = np.sqrt(v / v.sum() @ (X.astype(LD) - middle) ** 2)
    starts = [point, np.zeros_like(point)]
    if not isinstance(model, lm.SGDClassifier | lm.SGDRegressor | lm.RidgeCV):
        try:
            tight = qed.clone(model).set_params(tol=1e-13).fit(X, y, s)
            starts.append(_flat(tight, intercept, middle, level))
        except (qed.InvalidData, qed.InvalidParameter):
            pass
    if kinks is not None:
        starts += vertices(X - middle, kinks, v, p, intercept)
    found = [lowest(value, starts, lengths, intercept, rng), *starts[2:3]]
    best = min(found, key=lambda z: float(_finite(value(z[None]))[0]))
    if np.isfinite(certificate.radius):
        off = np.max(np.abs(best[:p] - point[:p]) * lengths, initial=0)
        share = min(LD(1), LD(certificate.radius) / off * LD(0.999)) if off > 0 else LD(1)
        best = point + share * (best - point)
    there = value(best[None])[0]
    noise = 64 * np.finfo(LD).eps * abs(own)  # of sums over rows
    yield Judged(repr(model), float(certificate.gap), float(own - there - noise))
    if not isinstance(model, lm.ConstrainedLasso | lm.ConstrainedRidge):  # they speak of the penalised objective
        off = float(abs(own - LD(certificate.objective)))
        # six digits of it are computed, or what is left of twelve of that of the null model
        slack = 1e-6 * abs(own) + 1e-12 * max(LD(certificate.null_objective), LD(level) ** 2)
        yield Judged(repr(model), float(certificate.gap + slack), off, "objective")


def vertices(X: Any, y: Any, v: Any, p: int, intercept: bool) -> list[Any]:
    """Return points where as many rows are met exactly as there are parameters, columns left out in turn."""
    used = np.flatnonzero(v > 0)
    A = np.hstack([X[used], np.ones((len(used), 1))]) if intercept else X[used]
    found = []
    for k in range(A.shape[1] + 1):
        for columns in combinations(range(p), min(k, p)):
            chosen = [*columns, p] if intercept else list(columns)
            if not chosen or len(chosen) > len(used):
                continue
            for rows in list(combinations(range(len(used)), len(chosen)))[:60]:
                part = A[np.ix_(rows, chosen)]
                try:
                    z = np.zeros(A.shape[1], LD)
                    z[chosen] = np.linalg.solve(part, np.asarray(y[list(rows)], float))
                    found.append(z)
                except np.linalg.LinAlgError:
                    continue
    return found


def lowest(value: Any, starts: list[Any], lengths: Any, intercept: bool, rng: Any) -> Any:
    """Return the lowest point found from some starts."""
    points = np.stack([z for z in starts if np.isfinite(z.astype(float)).all()])
    values = _finite(value(points))
    z, least = points[np.argmin(values)], values.min()
    d = len(z)
    spread = np.max(np.abs(points - z), axis=0)
    unit = np.max(np.abs(z[: len(lengths)]) * lengths, initial=0) + (abs(z[-1]) if intercept else 0) + LD(1e-6)
    base = np.append(unit / np.where(lengths > 0, lengths, 1), [unit] * intercept)
    base = np.maximum(np.maximum(base, np.abs(z)), spread)
    steps = (LD(10) ** -np.arange(0, 16, 1.0))[:, None, None]
    for _ in range(8):
        directions = np.concatenate([np.eye(d), rng.normal(size=(6, d)), rng.normal(size=(6, d)) * (z != 0)])
        directions = np.concatenate([directions, -directions]).astype(LD)
        around = z + (steps * directions * base).reshape(-1, d)
        newton = _newton(value, z, base)
        tried = np.concatenate([around, newton])
        found = _finite(value(tried))
        at = int(np.argmin(found))
        if not found[at] < least:
            break
        z, least = tried[at], found[at]
    return z


def _newton(value: Any, z: Any, base: Any) -> Any:
    """Return Newton steps on the parameters that are not zero, by differences of several widths."""
    free = np.flatnonzero(z != 0)
    k, found = len(free), [z]
    for h in (LD(1e-3), LD(1e-5), LD(1e-7)):
        E = np.zeros((k, len(z)), LD)
        E[np.arange(k), free] = h * base[free]
        pairs = [(i, j) for i in range(k) for j in range(i, k)]
        probes = np.concatenate([[z], z + E, z - E, [z + E[i] + E[j] for i, j in pairs]]) if k else z[None]
        f = value(probes)
        if not k or not np.isfinite(f.astype(float)).all():
            continue
        g = (f[1 : k + 1] - f[k + 1 : 2 * k + 1]) / 2
        H = np.zeros((k, k))
        for (i, j), both in zip(pairs, f[2 * k + 1 :], strict=True):
            H[i, j] = H[j, i] = float(both - f[1 + i] - f[1 + j] + f[0])
        try:
            step = np.linalg.lstsq(
                H / max(np.abs(H).max(), 1e-300), (g / max(np.abs(H).max(), 1e-300)).astype(float), rcond=1e-12
            )[0]
        except np.linalg.LinAlgError:
            continue
        for share in (1.0, 0.5, 0.1, 0.9):
            moved = z.copy()
            moved[free] -= LD(share) * step.astype(LD) * h * base[free]
            found.append(moved)
    return np.stack(found)


def _finite(values: Any) -> Any:
    return np.where(np.isnan(values), np.inf, values)
