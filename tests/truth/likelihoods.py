"""Models with closed forms against the same forms in exact or high precision: naive Bayes, discriminants, baselines."""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import det, eye, log, matrix, mp, mpf, pi, sqrt
from tests.truth.judged import Judged, fitted, ones, size, table, weights

from qed.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from qed.model_selection import DummyClassifier, DummyRegressor
from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = ("gaussian", "bernoulli", "multinomial", "complement", "categorical", "linear", "quadratic", "dummies")
APART = (
    1e-5  # least variance along an axis, of columns of variance one, from which equations are judged by what they give
)


def cases(seed: int) -> Iterator[Judged]:
    """Judge models of one seed."""
    mp.dps = 50
    rng = np.random.default_rng([seed, 6])
    n, p = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    s = weights(rng, n)
    y = rng.integers(0, 2 + int(rng.random() < 0.3), n)
    y[:2] = [0, 1]
    what = MODELS[seed % len(MODELS)]
    if what == "dummies":
        yield from _dummies(rng, n, s)
    elif what in ("gaussian", "linear", "quadratic"):
        yield from _normal(rng, what, table(rng, n, p), y, s)
    else:
        yield from _counts(rng, what, rng.integers(0, 4, (n, p)), y, s)


def _sums(values: Any, s: Any) -> Any:
    return sum((mpf(float(w)) * mpf(float(v)) for w, v in zip(s, values, strict=True)), mpf(0))


def _normal(rng: Any, what: str, X: Any, y: Any, s: Any) -> Iterator[Judged]:
    solver = str(rng.choice(["svd", "lsqr", "eigen"]))
    model = {
        "gaussian": GaussianNB(),
        "linear": LinearDiscriminantAnalysis(solver=solver, store_covariance=True),
        "quadratic": QuadraticDiscriminantAnalysis(reg_param=float(rng.choice([0.0, 0.0, 0.3]))),
    }[what]
    weighted = "sample_weight" in inspect.signature(type(model).fit).parameters
    s = s if weighted else None
    if fitted(model, X, y, *([s] if weighted else [])) is None:
        return
    v = ones(s, len(X))
    rounding = model.certificate_.rounding
    means = model.theta_ if what == "gaussian" else model.means_
    total = sum(map(mpf, map(float, v)), mpf(0))
    worst_mean = worst_share = worst_variance = mpf(0)
    for k, label in enumerate(model.classes_):
        own = (y == label) & (v > 0)
        if not own.any():
            continue
        weight = sum(map(mpf, map(float, v[own])), mpf(0))
        prior = (model.class_prior_ if what == "gaussian" else model.priors_)[k]
        worst_share = max(worst_share, abs(mpf(float(prior)) - weight / total) / (weight / total))
        for j in range(X.shape[1]):
            mean = _sums(X[own, j], v[own]) / weight
            variance = (
                sum(
                    (mpf(float(w)) * (mpf(float(x)) - mean) ** 2 for w, x in zip(v[own], X[own, j], strict=True)),
                    mpf(0),
                )
                / weight
            )
            found = mpf(float(model.var_[k, j])) if what == "gaussian" else variance
            width = found**0.5 if what == "gaussian" else variance**0.5  # the deviation that the model states
            scale = mpf(max(float(np.abs(X[own, j]).max()), 0.0)) * mpf(2) ** -50 + width * mpf(rounding)
            worst_mean = max(worst_mean, abs(mpf(float(means[k, j])) - mean) / scale if scale else mpf(0))
            if what == "gaussian":
                true = variance + mpf(float(model.epsilon_))
                if true:
                    worst_variance = max(worst_variance, abs(found - true) / true)
    yield Judged(repr(model), 4 * rounding, float(worst_share), "share of a class")
    yield Judged(repr(model), 2.0, float(worst_mean), "mean in stated roundings")
    if what == "gaussian":
        yield Judged(repr(model), 4 * rounding, float(worst_variance), "variance")
    else:
        yield from (_planes if what == "linear" else _ellipses)(model, X, y, v)


def _scatter(X: Any, v: Any, weight: Any, mean: list[Any]) -> Any:
    """Return a covariance in fifty digits."""
    p = X.shape[1]
    found = matrix(p, p)
    for w, row in zip(v, X, strict=True):
        z = [mpf(float(x)) - m for x, m in zip(row, mean, strict=True)]
        for i in range(p):
            for j in range(p):
                found[i, j] += mpf(float(w)) * z[i] * z[j] / weight
    return found


def _classes(model: Any, X: Any, y: Any, v: Any) -> tuple[list[Any], list[list[Any]], list[Any]]:
    """Return weights, means and covariances of classes in fifty digits."""
    weights_, means, covariances = [], [], []
    for label in model.classes_:
        own = (y == label) & (v > 0)
        weight = sum(map(mpf, map(float, v[own])), mpf(0))
        mean = [_sums(X[own, j], v[own]) / weight for j in range(X.shape[1])]
        weights_.append(weight)
        means.append(mean)
        covariances.append(_scatter(X[own], v[own], weight, mean))
    return weights_, means, covariances


def _planes(model: Any, X: Any, y: Any, v: Any) -> Iterator[Judged]:
    """Judge the common covariance, the equations of hyperplanes, intercepts and the likelihood."""
    weight, mean, each = _classes(model, X, y, v)
    p, total, certificate = X.shape[1], sum(weight), model.certificate_
    pooled = matrix(p, p)
    for own, w in zip(each, weight, strict=True):
        pooled += own * (w / total)
    deviation = [sqrt(pooled[j, j]) for j in range(p)]
    if not all(deviation):
        return
    near = mpf(certificate.rounding) + mpf(certificate.backward_error) + mpf(2) ** -50
    worst = max(
        abs(mpf(float(model.covariance_[i, j])) - pooled[i, j]) / (deviation[i] * deviation[j])
        for i in range(p)
        for j in range(p)
    )
    yield Judged(repr(model), 4 * float(near), float(worst), "common covariance")
    scaled = np.array([[float(pooled[i, j] / deviation[i] / deviation[j]) for j in range(p)] for i in range(p)])
    least = float(np.linalg.eigvalsh(scaled)[0])
    if least < max(APART, 8 * p * certificate.rounding):
        return  # axes along which rows vary by next to nothing, or no more than rounding does, are left out
    two = len(weight) == 2
    centre = [sum(w * m[j] for w, m in zip(weight, mean, strict=True)) / total for j in range(p)]
    about = [[m[j] - (centre[j] if model.solver == "svd" else 0) for j in range(p)] for m in mean]
    wanted = [[b - a for a, b in zip(about[0], about[1], strict=True)]] if two else about
    # means are those stored up to the stated rounding and their last digit: a class of nearly all weight has that of all
    rounded = 2 * max(
        mpf(certificate.rounding) + mpf(2) ** -50 * max(abs(m[j]) for m in mean) / deviation[j] for j in range(p)
    )
    missed = mpf(0)
    for row, right in zip(model.coef_, wanted, strict=True):
        w = [mpf(float(one)) * d for one, d in zip(row, deviation, strict=True)]
        left = [sum(mpf(scaled[i, j]) * w[j] for j in range(p)) for i in range(p)]
        goal = [r / d for r, d in zip(right, deviation, strict=True)]
        size = max(map(abs, w)) * p + max(map(abs, goal))
        off = max(abs(a - b) for a, b in zip(left, goal, strict=True)) - rounded
        missed = max(missed, off / size if size else mpf(0))
    yield Judged(repr(model), 16 * p * float(near), float(missed), "equations of hyperplanes")
    level = sum(w / total * log(w / total) for w in weight)
    density = -(p * log(2 * pi) + log(det(pooled)) + p) / 2
    slack = 64 * p * float(near) / least + 1e-13 * float(1 + abs(level) + abs(density))
    yield Judged(repr(model), slack, float(abs(mpf(certificate.log_likelihood) - level - density)), "likelihood")


def _ellipses(model: Any, X: Any, y: Any, v: Any) -> Iterator[Judged]:
    """Judge covariances of classes, taken together from their axes, and the likelihood."""
    weight, _, each = _classes(model, X, y, v)
    p, total, certificate = X.shape[1], sum(weight), model.certificate_
    near = mpf(certificate.rounding) + mpf(certificate.backward_error) + mpf(2) ** -50
    worst, likelihood, least = mpf(0), mpf(0), mpf("inf")
    for k, own in enumerate(each):
        ridge = mpf(float(model.reg_param))
        drawn = own * (1 - ridge) + ridge * eye(p)
        size = max(abs(drawn[i, j]) for i in range(p) for j in range(p))
        R, s = model.rotations_[k], [mpf(float(one)) for one in model.scalings_[k]]
        for i in range(p):
            for j in range(p):
                made = sum(mpf(float(R[i, r])) * s[r] * mpf(float(R[j, r])) for r in range(p))
                worst = max(worst, abs(made - drawn[i, j]) / size)
        along = [
            sum(mpf(float(R[i, r])) * own[i, j] * mpf(float(R[j, r])) for i in range(p) for j in range(p))
            for r in range(p)
        ]
        density = -sum(log(2 * pi * s[r]) + along[r] / s[r] for r in range(p)) / 2
        likelihood += weight[k] / total * (log(weight[k] / total) + density)
        least = min(least, min(s) / size)
    yield Judged(repr(model), 16 * p * float(near), float(worst), "covariance of a class")
    if float(least) > APART:
        slack = 64 * p * float(near / least) + 1e-13 * float(1 + abs(likelihood))
        yield Judged(repr(model), slack, float(abs(mpf(certificate.log_likelihood) - likelihood)), "likelihood")


def _counts(rng: Any, what: str, X: Any, y: Any, s: Any) -> Iterator[Judged]:
    alpha = float(rng.choice([1.0, 0.5, 1e-10, 10.0]))
    make = {
        "bernoulli": BernoulliNB,
        "multinomial": MultinomialNB,
        "complement": ComplementNB,
        "categorical": CategoricalNB,
    }[what]
    model = make(alpha=alpha)
    if fitted(model, X, y, s) is None:
        return
    v = [Fraction(float(w)) for w in ones(s, len(X))]
    worst = mpf(0)

    def off(stated: Any, up: Fraction, down: Fraction) -> None:
        nonlocal worst
        if up > 0 and down > 0:
            true = log(mpf(up.numerator) / mpf(up.denominator) * mpf(down.denominator) / mpf(down.numerator))
            worst = max(worst, abs(mpf(float(stated)) - true) / (1 + abs(true)))

    a = Fraction(alpha)
    for k, label in enumerate(model.classes_):
        own = [i for i in range(len(X)) if y[i] == label]
        weight = sum((v[i] for i in own), Fraction(0))
        off(model.class_log_prior_[k], weight, sum(v, Fraction(0)))
        counts = [sum((v[i] * int(X[i, j]) for i in own), Fraction(0)) for j in range(X.shape[1])]
        for j in range(X.shape[1]):
            if what == "multinomial":
                off(model.feature_log_prob_[k, j], counts[j] + a, sum(counts, Fraction(0)) + a * len(counts))
            elif what == "bernoulli":
                off(
                    model.feature_log_prob_[k, j],
                    sum((v[i] for i in own if X[i, j] > 0), Fraction(0)) + a,
                    weight + 2 * a,
                )
            elif what == "categorical":
                levels = int(model.n_categories_[j])
                for value in range(levels):
                    here = sum((v[i] for i in own if X[i, j] == value), Fraction(0))
                    off(model.feature_log_prob_[j][k, value], here + a, weight + a * levels)
    yield Judged(repr(model), 4 * model.certificate_.rounding + 2.0**-48, float(worst), "logarithm of a share")


def _dummies(rng: Any, n: int, s: Any) -> Iterator[Judged]:
    y = size(rng) * rng.normal(size=n) + rng.choice([0.0, 1e8])
    X, v = np.zeros((n, 1)), ones(s, n)
    model = DummyRegressor()
    if fitted(model, X, y, s) is not None:
        total = sum(map(mpf, map(float, v)), mpf(0))
        mean = _sums(y, v) / total
        scale = _sums(np.abs(y), v) / total
        yield Judged(
            repr(model),
            model.certificate_.rounding,
            float(abs(mpf(float(np.squeeze(model.constant_))) - mean) / scale),
            "mean",
        )
    median = DummyRegressor(strategy="median")
    if fitted(median, X, y, s) is not None:
        middle = Fraction(float(np.squeeze(median.constant_)))
        exact = [Fraction(float(w)) for w in v]
        half = sum(exact) / 2
        below = sum((w for w, one in zip(exact, y, strict=True) if Fraction(float(one)) < middle), Fraction(0))
        above = sum((w for w, one in zip(exact, y, strict=True) if Fraction(float(one)) > middle), Fraction(0))
        yield Judged(
            repr(median), float(half) * (1 + 1e-12), float(max(below, above)), "weight on one side of the median"
        )
    labels = rng.integers(0, 3, n)
    labels[:2] = [0, 1]
    classifier = DummyClassifier()
    if fitted(classifier, X, labels, s) is not None:
        exact = [Fraction(float(w)) for w in v]
        worst = 0.0
        for k, label in enumerate(classifier.classes_):
            true = sum((w for w, one in zip(exact, labels, strict=True) if one == label), Fraction(0)) / sum(exact)
            worst = max(worst, abs(float(Fraction(float(classifier.class_prior_[k])) - true)))
        yield Judged(repr(classifier), classifier.certificate_.rounding, worst, "share of a class")
