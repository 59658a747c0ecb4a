r"""Ordered classes: one score, and thresholds between the classes along it.

With :math:`t = x^\top w` and thresholds :math:`\theta_0 < \dots < \theta_{K-2}`, the loss of a row of class k is

    ``softplus(t - θ_k) + softplus(θ_{k-1} - t) + h(θ_k - θ_{k-1})``,     ``h(δ) = -log(1 - exp(-δ))``,

the first two being logistic losses and h a convex barrier that keeps the thresholds in order: the whole is convex in (w, θ).
Any slopes u of the logistic losses, and s < 0 of the barriers, under which nothing is linear in θ any more give a lower bound.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Classifier,
    InvalidParameter,
    NonNegative,
    Positive,
    PositiveInt,
    fitted,
    param,
)
from qed.core._errors import tell_unreached
from qed.core._events import STOP, Progress
from qed.core._memory import require_memory
from qed.core._shared_params import STRICT
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.designs._range import require_finite_objective
from qed.linear_model._classes import require_classes
from qed.linear_model._learn_convex import TrainingData
from qed.linear_model._linear import predict_linear

if TYPE_CHECKING:
    from qed.convex._loss import Vector


EPS = float(np.finfo(np.float64).eps)


def _are_the_labels(model: Any, order: Array) -> str:
    return "" if np.array_equal(np.sort(order), model.classes_) else "should be the labels of classes_ in some order"


class OrdinalRegressor(Classifier, sparse=True, poor_score=True):  # classes without an order are not its business
    r"""Ordinal regression (proportional odds): ordered classes, from one linear score and thresholds.

    Objective
    ---------
    .. math:: \tfrac12 \|w\|^2 - C \sum_i s_i \log P(y_i \mid x_i), \qquad
              P(y \le k \mid x) = \sigma(\theta_k - x^\top w), \quad \theta_0 < \dots < \theta_{K-2}

    The classes are in the order of ``order``, or else of their labels. The thresholds are not penalised; with two classes it is
    logistic regression.

    Certificate
    -----------
    DualityGapCertificate: no coefficients and thresholds lower the objective by more than ``gap``.

    Cost
    ----
    Some ten Newton steps of O(n (p + K)^2), O(n + (p + K)^2) memory.

    See Also
    --------
    LogisticRegression : Classes without an order.

    Notes
    -----
    The odds of being above a cut are multiplied by the same factor at every cut when a column grows by one. Along the score the
    predicted class never falls. A weight counts as repetition.

    Examples
    --------
    >>> from qed.linear_model import OrdinalRegressor
    >>> model = OrdinalRegressor().fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, 1, 2, 2, 3, 3])
    >>> model.predict([[-1.0], [2.5], [9.0]]).tolist()
    [1, 2, 3]
    """

    C: Positive = param(1.0, "Weight of the losses beside the penalty.")
    _: KW_ONLY
    order: Any = param(
        None,
        "Labels from the lowest to the highest. None takes the order of an ordered categorical (pandas, or an Enum of polars), else"
        " that of sorting: right for numbers; words come with a warning.",
    )
    tol: NonNegative = param(1e-8, "Largest accepted gap, relative to the objective of the thresholds alone.")
    max_iter: PositiveInt = param(100, "Most Newton steps.")
    strict: bool = STRICT

    classes_: Array = fitted(
        "Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising", length="at least 2"
    )
    coef_: Array = fitted("Coefficients of the score, shape (p,).", shape="(p,)")
    order_: Array = fitted(
        "Labels from the lowest to the highest.", dtype="label", shape="(k,)", optional=True, check=_are_the_labels
    )
    thresholds_: Array = fitted(
        "Thresholds between the classes, increasing, one less than there are classes.",
        shape="(k - 1,)",
        order="strictly rising",
    )
    n_iter_: int = fitted("Newton steps.", low=0, answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about coefficients and thresholds.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find coefficients and thresholds."""
        data = self._fit_data(X, y, sample_weight, finite=False)
        rows = TrainingData.of(data, centred=True)  # thresholds are its intercepts
        require_classes("OrdinalRegressor", data.classes, rows.y)
        place = self._places(y, data.classes)
        seen = np.unique(place[rows.y.astype(np.intp)])  # a class of rows without weight has no cut points of its own
        code = np.searchsorted(seen, place[rows.y.astype(np.intp)])
        problem = _Cuts(design(rows.X), code, rows.share, len(seen), 1.0 / (self.C * rows.weight))
        with (
            one_blas_thread(rows.share.size * rows.mean.size),
            Progress("OrdinalRegressor", self.max_iter) as progress,
        ):
            found = problem.solve(self.tol, self.max_iter, progress)
        self.order_ = data.classes[np.argsort(place)[np.searchsorted(np.sort(place), seen)]]
        self.classes_ = np.sort(self.order_)
        self.coef_, self.thresholds_, self.n_iter_ = found.w, found.cuts, found.n_iter
        unit = self.C * rows.weight
        require_finite_objective("OrdinalRegressor", unit * found.objective, unit * problem.null)
        self.certificate_ = DualityGapCertificate(
            gap=unit * (found.gap + found.rounding),
            rounding=unit * found.rounding,
            objective=unit * found.objective,
            null_objective=unit * problem.null,
            tol=float(self.tol),
            radius=np.inf,
            outcome="solved" if found.gap <= self.tol * problem.null else found.outcome,
            fingerprint=rows.seen,
        )
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        if not self.certificate_.reached and (self.strict or found.outcome == "max_iter"):
            tell_unreached(
                f"OrdinalRegressor stopped at a relative gap of {self.certificate_.relative_gap:.2e}, above tol={self.tol:.1e}."
                " The model so far is stored; raise max_iter or tol",
                strict=self.strict,
            )
        return self

    def latent(self, X: Any) -> Array:
        """Return the score of each row, which the thresholds divide.

        Parameters
        ----------
        X : array-like or sparse of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            Scores.
        """
        return predict_linear(_Score(self), X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        t = np.asarray(self.latent(X), dtype=np.float64)[:, np.newaxis]
        below, above = _sigmoid(self.thresholds_ - t), _sigmoid(t - self.thresholds_)
        inner = below[:, 1:] * above[:, :-1] * -np.expm1(-np.diff(self.thresholds_))
        chances = np.hstack([below[:, :1], inner, above[:, -1:]])
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))[:, np.argsort(self._ordered())]

    def predict(self, X: Any) -> Array:
        """Return the likeliest label of each row; of equally likely ones the first."""
        index = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[index])

    def _ordered(self) -> Array:
        return np.asarray(
            self.__dict__.get("order_", self.classes_)
        )  # absent in the oldest files, where they are the same

    def _places(self, y: Any, classes: Array) -> Array:
        """Return where each label stands in the order."""
        wanted = categories_in_order(y) if self.order is None else np.asarray(self.order)
        if wanted is None:
            if classes.dtype.kind not in "biuf" and len(classes) > 2:
                warnings.warn(
                    f"OrdinalRegressor takes the order of the labels from the alphabet: {classes.tolist()!r:.200}. Pass order="
                    " with the labels from the lowest to the highest, or an ordered categorical.",
                    UserWarning,
                    stacklevel=3,
                )
            return np.arange(len(classes))
        places = {label: place for place, label in enumerate(wanted.tolist())}
        missing = [label for label in classes.tolist() if label not in places]
        if missing or len(places) < len(wanted):
            raise InvalidParameter(
                f"OrdinalRegressor.order must name every label once, from the lowest to the highest; got {wanted.tolist()!r:.200}"
                + (f", and y holds {missing!r:.100}." if missing else ".")
            )
        return np.array([places[label] for label in classes.tolist()])


def categories_in_order(y: Any) -> Array | None:
    """Return the categories of an ordered categorical, pandas' or an Enum of polars; None for anything else."""
    kind = getattr(y, "dtype", None)
    categories = getattr(kind, "categories", None)
    if categories is None or not (getattr(kind, "ordered", False) or type(kind).__name__ == "Enum"):
        return None
    return np.asarray(categories)


class _Score:
    """The score of a model of cut points, as linear predictions see it: no intercept."""

    intercept_ = 0.0

    def __init__(self, model: Any) -> None:
        model._check_is_fitted()  # noqa: SLF001
        self._model, self.coef_ = model, model.coef_
        self._new_data, self._check_is_fitted = model._new_data, model._check_is_fitted  # noqa: SLF001


class _Found(NamedTuple):
    w: Vector
    cuts: Vector
    objective: float
    gap: float
    rounding: float
    n_iter: int
    outcome: str


class _Point(NamedTuple):
    """A point, and what the losses look like there."""

    w: Vector
    cuts: Vector
    lower: Vector  # score above the upper cut of the class, -inf for the last class
    upper: Vector  # lower cut above the score, -inf for the first class
    objective: float


class _Cuts:
    """Mean loss plus ``alpha/2 |w|²``."""

    def __init__(self, table: Any, code: Any, share: Vector, k: int, alpha: float) -> None:
        self.table, self.code, self.share, self.k, self.alpha = table, code, share, k, alpha
        self.weight = np.bincount(code, share, minlength=k)
        self.has_upper, self.has_lower = code < k - 1, code > 0
        self.null = float(-np.sum(self.weight * np.log(self.weight)))

    def at(self, w: Vector, cuts: Vector) -> _Point:
        """Look at a point; the objective is infinite where cut points are out of order."""
        t = self.table.product(w)
        padded = np.concatenate([[-np.inf], cuts, [np.inf]])
        lower, upper = t - padded[self.code + 1], padded[self.code] - t
        apart = np.diff(cuts)
        if not np.all(apart > 0):
            return _Point(w, cuts, lower, upper, np.inf)
        loss = np.logaddexp(0.0, lower) + np.logaddexp(0.0, upper)
        barrier = -np.log(-np.expm1(-apart))
        value = float(self.share @ loss + self.weight[1:-1] @ barrier) + 0.5 * self.alpha * float(w @ w)
        return _Point(w, cuts, lower, upper, value)

    def solve(self, tol: float, max_iter: int, progress: Progress) -> _Found:
        """Follow Newton's method from cut points at the quantiles of the classes."""
        p, m = self.table.shape[1], self.k - 1
        fewer = "Choose fewer columns, for example those with more than a few entries that are not zero."
        # second derivatives, the products in them, a scaled copy, and its decomposition
        require_memory(5 * 8 * (p + m) ** 2, f"Newton's method with the products of {p} columns", fewer)
        share = np.cumsum(self.weight)[:-1]
        at = self.at(np.zeros(self.table.shape[1]), np.log(share) - np.log1p(-share))
        count, gap, outcome = 0, self.gap(at), "max_iter"
        while count < max_iter and gap > 0.01 * tol * self.null and outcome == "max_iter":
            count += 1
            g, H = self._model(at)
            scale = 1.0 / np.sqrt(
                H.diagonal()
            )  # rows far from every cut bend next to nothing, and columns have their units
            try:
                d = scale * np.linalg.solve(H * scale * scale[:, np.newaxis], scale * g)
            except np.linalg.LinAlgError:  # a class so light that float64 sees no curvature: here it ends
                outcome = "stalled"
                break
            fall = float(g @ d)
            p = len(at.w)
            length, new = 1.0, at
            while length > 1e-12:
                new = self.at(at.w - length * d[:p], at.cuts - length * d[p:])
                if new.objective <= at.objective - 1e-4 * length * fall + 4 * EPS * at.objective:
                    break
                length *= 0.5
            then, at = gap, new
            gap = self.gap(at)
            if fall <= 4 * EPS * at.objective and gap >= 0.5 * then:
                outcome = "stalled"
                break
            try:
                outcome = "stopped" if progress.step(gap) is STOP else outcome
            except KeyboardInterrupt:
                outcome = "interrupted"
        rounding = (64 + len(self.code) / 64 + self.table.shape[1]) * 32 * EPS * (at.objective + self.null)
        rounding += self._rounding_error(at, gap)
        return _Found(at.w, at.cuts, at.objective, gap, rounding, max(count, 1), outcome)

    def _model(self, at: _Point) -> tuple[Vector, Vector]:
        """Return gradient and second derivatives by coefficients and cut points."""
        c, m, p = self.share, self.k - 1, len(at.w)
        u, v = _sigmoid(at.lower), _sigmoid(at.upper)
        du, dv = c * u * _sigmoid(-at.lower), c * v * _sigmoid(-at.upper)
        far = np.exp(-np.diff(at.cuts))
        near = -np.expm1(-np.diff(at.cuts))
        slope = -self.weight[1:-1] * far / near
        bend = self.weight[1:-1] * far / near**2
        g_cuts = -self._by_upper(c * u) + self._by_lower(c * v)
        g_cuts[1:] += slope
        g_cuts[:-1] -= slope
        g = np.concatenate([self.table.adjoint_product(c * (u - v)) + self.alpha * at.w, g_cuts])
        H = np.zeros((p + m, p + m))
        H[:p, :p] = self.table.gram(du + dv, None)
        H[np.arange(p), np.arange(p)] += self.alpha
        for cut in range(m):
            mixed = -self.table.adjoint_product(
                np.where(self.code == cut, du, 0.0) + np.where(self.code == cut + 1, dv, 0.0)
            )
            H[:p, p + cut] = H[p + cut, :p] = mixed
        diagonal = self._by_upper(du) + self._by_lower(dv)
        diagonal[1:] += bend
        diagonal[:-1] += bend
        index = p + np.arange(m)
        H[index, index] = diagonal
        H[index[1:], index[:-1]] = H[index[:-1], index[1:]] = -bend
        return g, H

    def _by_upper(self, values: Vector) -> Vector:
        """Sum over rows by the cut point above their class."""
        return np.bincount(self.code[self.has_upper], values[self.has_upper], minlength=self.k - 1).astype(np.float64)

    def _by_lower(self, values: Vector) -> Vector:
        """Sum over rows by the cut point below their class."""
        return np.bincount(self.code[self.has_lower] - 1, values[self.has_lower], minlength=self.k - 1).astype(
            np.float64
        )

    def gap(self, at: _Point) -> float:
        """Return how far the point can be from the optimum, by slopes that are made to balance at every cut point."""
        c = self.share
        u, v = _sigmoid(at.lower), _sigmoid(at.upper)
        over, under = self._by_upper(c * u), self._by_lower(c * v)
        # of the barriers, times the weights of the inner classes: none pushes cut points together, at the ends nothing is left
        slopes = np.append(np.minimum(np.cumsum(under - over)[:-1], 0.0), 0.0)
        wanted = np.diff(slopes, prepend=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            less_over = np.where(under - over < wanted, (under - wanted) / over, 1.0)
            less_under = np.where(under - over > wanted, (over + wanted) / under, 1.0)
        if not (np.all(less_over >= 0) and np.all(less_under >= 0)):
            return at.objective
        first = np.append(less_over, 1.0)[self.code]
        second = np.append(1.0, less_under)[self.code]
        inner, apart = self.weight[1:-1], np.diff(at.cuts)
        s = slopes[:-1] / inner
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.log1p(-1.0 / s)  # the distance of cut points at which the barrier has this slope
            pulled = np.where(s < 0, np.log(-np.expm1(-best)) + s * (best - apart), 0.0)
        barrier = -np.log(-np.expm1(-apart)) + pulled
        z = -self.table.adjoint_product(c * (first * u - second * v))
        rest = self.alpha * at.w - z
        losses = _divergence(first * u, u, at.lower) + _divergence(second * v, v, at.upper)
        return float(c @ losses + inner @ np.maximum(barrier, 0.0) + rest @ rest / (2 * self.alpha))

    def _rounding_error(self, at: _Point, gap: float) -> float:
        """Bound what rounding of the products with the slopes can hide, which a weak penalty divides by its strength."""
        norms = self.table.column_norms(self.share, None)
        scores = float(norms @ np.abs(at.w)) + float(
            np.max(np.abs(at.cuts), initial=0.0)
        )  # they round, and slopes with them
        steepest = max(float(np.max(_sigmoid(one) * _sigmoid(-one), initial=0.0)) for one in (at.lower, at.upper))
        off = EPS * ((64 + 32 * scores * steepest) * norms + 64 * self.alpha * np.abs(at.w))
        # a part of the gap is the square of what this is added to
        return float(off @ off) / self.alpha + float(np.linalg.norm(off)) * float(np.sqrt(2 * gap / self.alpha))


def _divergence(share: Vector, chance: Vector, score: Vector) -> Vector:
    """Return what separates a coin with these shares from one with these chances, whose log-odds are the score."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.where(share > 0, share * np.log(share / chance), 0.0)
        rest = 1.0 - chance
        no = np.where(share < 1, (1 - share) * (np.log1p(-share) - np.where(rest > 0, np.log1p(-chance), -score)), 0.0)
    return np.maximum(np.where(np.isfinite(score), yes + no, 0.0), 0.0)


def _sigmoid(t: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -np.asarray(t, dtype=np.float64)))
