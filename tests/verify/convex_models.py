"""Models under the names and with the parameters of the documentation, fitted by an interior-point solver from outside."""

from __future__ import annotations

import warnings
from typing import Any, Self

import cvxpy as cp
import numpy as np

from qed.certificates import DualityGapCertificate
from qed.core import Classifier, Regressor, fitted, param
from qed.designs._range import fingerprint
from qed.verify import _duality


def verified(model: Any, X: Any, y: Any, s: Any = None) -> Any:
    """Have a model of the tests checked as one of qed's of the same name would be."""
    with np.errstate(all="ignore"):
        return _duality.check(model, model.certificate_, X, y, s)


class _Linear:
    """Coefficients, and an objective that is evaluated and minimised by code of the tests alone."""

    def scores(self, X: Any) -> Any:
        t = X @ np.atleast_2d(self.coef_).T + self.intercept_
        return t[:, 0] if t.shape[1] == 1 else t

    def claim(self, X: Any, y: Any, s: Any, gap: float, **changes: Any) -> Self:
        """Carry a certificate whose numbers are those of the tests."""
        used = slice(None) if s is None else s > 0
        codes = np.unique(y, return_inverse=True)[1].astype(float) if hasattr(self, "classes_") else y
        weight = None if s is None else s[used]
        table = codes[used].reshape(len(X[used]), -1).astype(float)
        numbers = {
            "gap": gap,
            "rounding": 0.0,
            "objective": self.objective(X, y, s),
            "null_objective": self.null(X, y, s),
            "tol": 1e-4,
            "radius": np.inf,
            "outcome": "solved",
            "fingerprint": fingerprint(X[used], table, weight),
            "dual": None,
        }
        self.certificate_ = DualityGapCertificate(**{**numbers, **changes})
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if hasattr(type(self), "classes_") or isinstance(self, Classifier):
            self.classes_ = np.unique(y)
        self._fit_data(X, y, sample_weight)
        k = self.n_scores(y)
        w, b = cp.Variable((X.shape[1], k)), cp.Variable((1, k))
        s = np.ones(len(X)) if sample_weight is None else sample_weight
        t = X @ w + (np.ones((len(X), 1)) @ b if self.fit_intercept else 0)
        objective, constraints = self.program(t, w, y, s)
        settings = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
        with warnings.catch_warnings():  # it stops where rounding stops it, and says so; the tests judge what came out
            warnings.simplefilter("ignore", UserWarning)
            cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL, **settings)
        values = w.value.T
        self.coef_ = np.ascontiguousarray(values[0] if self.flat and k == 1 else values)
        self.intercept_ = (b.value[0] if k > 1 else float(b.value[0, 0])) if self.fit_intercept else 0.0
        self.settle(X, y, s)
        return self

    flat = True

    def n_scores(self, y: Any) -> int:
        return 1 if np.ndim(y) == 1 else y.shape[1]

    def settle(self, X: Any, y: Any, s: Any) -> None:
        """Set what else the fit estimates."""

    def with_zeros(self) -> Self:
        """Return the model with coefficients that the solver left next to zero set to it."""
        self.coef_ = np.where(np.abs(self.coef_) < 1e-7 * np.abs(self.coef_).max(), 0.0, self.coef_)
        return self

    def objective(self, X: Any, y: Any, s: Any) -> float:
        return self.value(self.scores(X), y, np.ones(len(X)) if s is None else s, np.atleast_2d(self.coef_))

    def null(self, X: Any, y: Any, s: Any) -> float:
        s = np.ones(len(X)) if s is None else s
        t = np.zeros_like(self.scores(X)) + (self.level(y, s) if self.fit_intercept else 0.0)
        return self.value(t, y, s, np.zeros_like(np.atleast_2d(self.coef_)))


class _Regression(_Linear, Regressor, multi_output=True, sparse=True):
    """Regression."""

    fit_intercept: bool = param(True, "Whether there is an intercept.")
    coef_: np.ndarray = fitted("Coefficients.")
    intercept_: float | np.ndarray = fitted("Intercept.")
    certificate_: DualityGapCertificate = fitted("Proof.")

    def predict(self, X: Any) -> Any:
        return self.scores(X)

    def level(self, y: Any, s: Any) -> Any:
        return s @ y / s.sum()


class ElasticNet(_Regression):
    alpha: float = param(0.1, "Strength.")
    l1_ratio: float = param(0.5, "Share of the first penalty.")
    positive: bool = param(False, "Whether coefficients are not negative.")

    def value(self, t, y, s, w):
        loss = 0.5 * np.sum(s * np.sum((t - y).reshape(len(s), -1) ** 2, axis=1)) / s.sum()
        l1, l2 = self.alpha * self.l1_ratio, self.alpha * (1 - self.l1_ratio)
        return loss + l1 * self.size(w) + 0.5 * l2 * np.sum(w**2)

    def size(self, w):
        return np.abs(w).sum()

    def program(self, t, w, y, s):
        target = y.reshape(len(s), -1)
        loss = cp.sum_squares(cp.multiply(np.sqrt(s / s.sum())[:, None], t - target)) / 2
        l1, l2 = self.alpha * self.l1_ratio, self.alpha * (1 - self.l1_ratio)
        return loss + l1 * self.norm(w) + l2 / 2 * cp.sum_squares(w), [w >= 0] if self.positive else []

    def norm(self, w):
        return cp.sum(cp.abs(w))


class Lasso(ElasticNet):
    l1_ratio: float = param(1.0, "Nothing but the first penalty.")


class MultiTaskElasticNet(ElasticNet):
    flat = False

    def size(self, w):
        return np.linalg.norm(w, axis=0).sum()

    def norm(self, w):
        return cp.sum(cp.norm(w, 2, axis=1))


class PoissonRegressor(_Regression):
    alpha: float = param(0.1, "Strength.")

    def value(self, t, y, s, w):
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(y > 0, y * np.log(y) - y, 0.0)
        return s @ (np.exp(t) - y * t + own) / s.sum() + 0.5 * self.alpha * np.sum(w**2)

    def program(self, t, w, y, s):
        loss = cp.sum(cp.multiply(s[:, None] / s.sum(), cp.exp(t) - cp.multiply(y[:, None], t)))
        return loss + self.alpha / 2 * cp.sum_squares(w), []

    def level(self, y, s):
        return np.log(s @ y / s.sum())


class QuantileRegressor(_Regression):
    quantile: float = param(0.5, "Level.")
    alpha: float = param(0.1, "Strength.")

    def value(self, t, y, s, w):
        r = t - y
        return s @ np.maximum((1 - self.quantile) * r, -self.quantile * r) / s.sum() + self.alpha * np.abs(w).sum()

    def program(self, t, w, y, s):
        r = cp.Variable((len(s), 1))
        rows = cp.multiply(s[:, None] / s.sum(), cp.maximum((1 - self.quantile) * r, -self.quantile * r))
        self._residual = t - y[:, None] == r
        return cp.sum(rows) + self.alpha * cp.sum(cp.abs(w)), [self._residual]

    def dual(self, s):
        """Return the dual variables of the rows of positive weight, from the multipliers of their equations."""
        u = self._residual.dual_value[:, 0] * s.sum() / np.where(s > 0, s, 1.0)
        return u[s > 0]

    def level(self, y, s):
        order = np.argsort(y)
        return y[order[np.searchsorted(np.cumsum(s[order]), self.quantile * s.sum() * (1 - 1e-14))]]


class HuberRegressor(_Regression):
    epsilon: float = param(1.35, "Where outliers begin.")
    alpha: float = param(0.01, "Strength.")
    scale_: float = fitted("Scale.")

    def settle(self, X, y, s):
        self.scale_ = self.best_scale(np.abs(self.scores(X) - y), s)

    def best_scale(self, r, s):
        low, high = 0.0, float(np.sqrt(s @ r**2 / s.sum()))
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if s @ (1 - np.minimum(r / middle, self.epsilon) ** 2) < 0 else (low, middle)
        return high

    def null(self, X, y, s):
        own, s = self.scale_, np.ones(len(y)) if s is None else s

        def at(b):
            self.scale_ = self.best_scale(np.abs(y - b), s)
            return self.value(np.full(len(y), b), y, s, np.zeros(1))

        low, high = (y.min(), y.max()) if self.fit_intercept else (0.0, 0.0)
        for _ in range(80):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (low, right) if at(left) < at(right) else (left, high)
        value, self.scale_ = at((low + high) / 2), own
        return value

    def value(self, t, y, s, w):
        x = np.abs(t - y) / self.scale_
        rows = np.where(x <= self.epsilon, x**2, 2 * self.epsilon * x - self.epsilon**2)
        return s @ (self.scale_ + self.scale_ * rows) + self.alpha * np.sum(w**2)

    def program(self, t, w, y, s):
        # the perspective of Huber's function, split into a squared part and an absolute one
        scale, inner = cp.Variable(nonneg=True), cp.Variable((len(s), 1))
        outer = t - y[:, None] - inner
        square = cp.quad_over_lin(cp.multiply(np.sqrt(s)[:, None], inner), scale)
        absolute = 2 * self.epsilon * cp.sum(cp.multiply(s[:, None], cp.abs(outer)))
        return s.sum() * scale + square + absolute + self.alpha * cp.sum_squares(w), []


class SquareRootLasso(_Regression):
    alpha: float = param(0.1, "Strength.")

    def value(self, t, y, s, w):
        return np.sqrt(s @ (t - y) ** 2 / s.sum()) + self.alpha * np.abs(w).sum()

    def program(self, t, w, y, s):
        return cp.norm(cp.multiply(np.sqrt(s / s.sum())[:, None], t - y[:, None])) + self.alpha * cp.sum(cp.abs(w)), []


class LogisticRegression(_Linear, Classifier, sparse=True):
    """Classification."""

    flat = False
    C: object = param(1.0, "Inverse strength, infinite for no penalty.")
    l1_ratio: float = param(0.0, "Share of the first penalty.")
    class_weight: object = param(None, "Weights of classes.")
    fit_intercept: bool = param(True, "Whether there is an intercept.")
    classes_: np.ndarray = fitted("Classes.")
    coef_: np.ndarray = fitted("Coefficients.")
    intercept_: float | np.ndarray = fitted("Intercept.")
    certificate_: DualityGapCertificate = fitted("Proof.")

    def predict(self, X: Any) -> Any:
        return self.scores(X)

    def n_scores(self, y):
        return 1 if len(np.unique(y)) == 2 else len(np.unique(y))

    def weights(self, y, s):
        codes = np.searchsorted(self.classes_, y)
        if self.class_weight == "balanced":
            return s * (s.sum() / (len(self.classes_) * np.bincount(codes, s)))[codes]
        if self.class_weight is not None:
            return s * np.array([self.class_weight.get(label, 1.0) for label in self.classes_.tolist()])[codes]
        return s

    def value(self, t, y, s, w):
        s, codes = self.weights(y, s), np.searchsorted(self.classes_, y)
        if t.ndim == 1:
            loss = np.logaddexp(0, np.where(codes > 0, -t, t))
        else:
            loss = np.log(np.exp(t - t.max(1, keepdims=True)).sum(1)) + t.max(1) - t[np.arange(len(t)), codes]
        bare = not np.isfinite(self.C)
        penalty = 0.0 if bare else self.l1_ratio * np.abs(w).sum() + (1 - self.l1_ratio) / 2 * np.sum(w**2)
        return (1.0 if bare else self.C) * (s @ loss) + penalty

    def program(self, t, w, y, s):
        s, codes = self.weights(y, s), np.searchsorted(self.classes_, y)
        if w.shape[1] == 1:
            loss = cp.sum(cp.multiply(s, cp.logistic(cp.multiply(np.where(codes > 0, -1.0, 1.0), t[:, 0]))))
        else:
            labels = np.eye(w.shape[1])[codes]
            loss = cp.sum(cp.multiply(s, cp.log_sum_exp(t, axis=1) - cp.sum(cp.multiply(labels, t), axis=1)))
        if not np.isfinite(self.C):
            return loss, []
        penalty = self.l1_ratio * cp.sum(cp.abs(w)) + (1 - self.l1_ratio) / 2 * cp.sum_squares(w)
        return self.C * loss + penalty, []

    def level(self, y, s):
        share = np.bincount(np.searchsorted(self.classes_, y), self.weights(y, s))
        return np.log(share[1] / share[0]) if len(share) == 2 else np.log(share)
