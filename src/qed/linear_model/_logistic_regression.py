"""Logistic regression, of two classes or several."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from qed.convex import L2, Logistic, Softmax
from qed.convex.penalties import ElasticNet
from qed.convex.solvers import (
    LBFGS,
    CoordinateDescent,
    NarrowNewton,
    Newton,
    NewtonCG,
    NewtonKinks,
    NewtonScores,
    ProximalGradient,
)
from qed.core import (
    KW_ONLY,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    PositiveOrInfinite,
    Probability,
    Seed,
    param,
)
from qed.core._class_weights import class_factors
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.designs import Chunked
from qed.linear_model._classes import ProbabilisticClassifier, require_classes
from qed.linear_model._coded import CodedLoss, fit_coded
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_rows
from qed.linear_model._penalised_intercept import constant_of, with_constant

if TYPE_CHECKING:
    from qed.convex import Problem, Solution
    from qed.convex._loss import Vector
    from qed.convex._penalty import Penalty
    from qed.core import Array, FitData
    from qed.linear_model._linear import CoefficientTable


SOLVERS = (
    NarrowNewton(),
    Newton(),
    NewtonCG(),
    NewtonScores(),
    LBFGS(),
    CoordinateDescent(),
    NewtonKinks(),
    ProximalGradient(),
)

SIDES = np.array([-1.0, 1.0])
CERTAIN = 8.0  # log-odds of rows that are certain
STILL = 1e-10  # of the mean square of a column: what is no move
AFFORDABLE = 1e9  # multiply-adds for a warning
LITTLE = 2e7  # multiply-adds of second derivatives up to which planes are found at once; beyond, samples save more


class Strength(NamedTuple):
    """The penalty of the documentation: ``l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2`` beside C times the losses.

    An infinite C means no penalty.
    """

    C: float
    l1_ratio: float = 0.0

    @classmethod
    def of(cls, owner: str, penalty: str | None, C: float, l1_ratio: float | None) -> Strength:
        """Read the parameters of a model."""
        if penalty is None:
            return cls(np.inf)
        if penalty == "elasticnet" and l1_ratio is None:
            raise InvalidParameter(
                f"{owner}.l1_ratio must be a number between 0 and 1 with penalty='elasticnet', got None."
            )
        ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, 0.0 if l1_ratio is None else float(l1_ratio))
        return cls(float(C), ratio)

    def penalty(self, weight: float) -> Penalty:
        """Return the penalty beside the mean loss of rows of a total weight."""
        if not np.isfinite(self.C):
            return L2(0.0)
        alpha = 1.0 / (self.C * weight)
        if self.l1_ratio == 0.0:
            return L2(alpha)
        return ElasticNet(alpha * self.l1_ratio, alpha * (1.0 - self.l1_ratio))

    def unit(self, weight: float) -> float:
        """Return what the mean objective is multiplied by to give the documented one."""
        return weight if not np.isfinite(self.C) else self.C * weight


def declare_logistic(rows: TrainingData, strength: Strength, n_classes: int) -> ObjectiveSpec:
    """State the problem of rows whose targets are the numbers of classes."""
    loss: Any = Logistic(2.0 * rows.y - 1.0) if n_classes == 2 else Softmax(rows.y, n_classes)
    outcome = None if np.isfinite(strength.C) else _outcome
    return ObjectiveSpec(loss, strength.penalty(rows.weight), strength.unit(rows.weight), outcome)


def _outcome(solution: Solution, problem: Problem) -> str:
    """Tell a solution from a point on the way to infinity, where a plane separates the classes, or they meet on it alone."""
    t = problem.scores(solution.w, solution.b)
    if t.ndim == 1:
        apart = bool(np.min(problem.loss.y * t) > 0)
        if (
            not apart
            and solution.outcome in ("solved", "stalled", "max_iter")
            and _meet_on_a_plane(solution, problem, t)
        ):
            return "quasi_separable"
    else:
        own = t[np.arange(len(t)), problem.loss.y.astype(np.intp)]
        apart = bool(np.all(own >= t.max(axis=1))) and solution.gap.objective < np.log(2.0) / max(len(t), 1)
    return "separable" if apart and solution.outcome in ("solved", "stalled", "max_iter") else solution.outcome


def _meet_on_a_plane(solution: Solution, problem: Problem, t: Vector) -> bool:
    """Say whether some plane has no row on its wrong side, though rows of both classes lie on it.

    On the way to infinity all other rows become certain. What of the coefficients does not move those that are not is the way:
    if it moves no row to its wrong side, the loss falls along it for ever.
    """
    undecided = np.flatnonzero(problem.loss.y * t <= CERTAIN)
    n, p = problem.shape
    is_affordable = len(undecided) * (p + 1) ** 2 + (p + 1) ** 3 <= AFFORDABLE
    if len(undecided) == n or not is_affordable or isinstance(problem.design, Chunked):
        return False
    part = problem.design.rows(undecided)
    free = problem.free_intercept
    moved = np.zeros((p + 1, p + 1))  # products of the columns, and of ones, over the rows undecided
    moved[:p, :p] = part.gram(None, problem.centre)
    ones = np.ones(len(undecided))
    if free:
        moved[:p, p] = moved[p, :p] = part.adjoint_product(ones, problem.centre)
        moved[p, p] = len(undecided)
    unit = np.append(np.maximum(problem.sizes, 1e-300), 1.0)
    values, axes = np.linalg.eigh(moved / unit / unit[:, np.newaxis])
    still = axes[:, values <= STILL * max(len(undecided), 1)]
    way = (still @ (still.T @ (np.append(solution.w, solution.b if free else 0.0) * unit))) / unit
    along = problem.loss.y * (problem.design.product(way[:p], problem.centre) + way[p])
    return bool(np.max(along) > 1.0 and np.min(along) > -1e-6 * np.max(along))


def fit_classes(
    model: Any, data: FitData, strength: Strength, options: FitOptions, class_weight: Any, start: tuple[Any, Any] | None
) -> None:
    """Fit a classifier on validated data, and store coefficients as scikit-learn shapes them."""
    rows = TrainingData.of(data, centred=options.intercept)
    require_classes(type(model).__name__, data.classes, None if data.weight is None else rows.y)
    factor = class_factors(type(model).__name__, class_weight, data.classes, rows.y, rows.weight * rows.share)
    rows = rows if factor is None else rows.weighed(factor)
    n_classes = len(data.classes)
    constant = constant_of(model, n_classes)
    constant = constant if np.isfinite(strength.C) else None  # without a penalty it is free
    if constant is not None:
        rows, options = (
            with_constant(rows, constant, by_columns=strength.l1_ratio > 0),
            options._replace(intercept=False),
        )
        start = None if start is None else (np.append(start[0], start[1] / constant), 0.0)
    model.classes_ = data.classes
    try:
        learn_rows(
            model,
            rows,
            declare=lambda seen: declare_logistic(seen, strength, n_classes),
            solvers=SOLVERS,
            options=options,
            start=start,
        )
    finally:
        if "coef_" in model.__dict__:  # also of a fit that was interrupted, or that strict refuses
            model.coef_ = np.atleast_2d(model.coef_)
            level = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
            if constant is not None:
                level = constant * model.coef_[:, -1].astype(np.float64)
                model.coef_ = np.ascontiguousarray(model.coef_[:, :-1])
            model.intercept_ = level if options.intercept or constant is not None else np.zeros(len(model.coef_))
            model.n_iter_ = np.atleast_1d(np.asarray(model.n_iter_, dtype=np.int32))
    if model.certificate_.outcome == "separable":
        warnings.warn(
            f"The classes are linearly separable: without a penalty the coefficients diverge. Those of"
            f" {type(model).__name__} stopped at an objective of {model.certificate_.objective:.2g}; its infimum is 0."
            " Set a finite C.",
            stacklevel=4,
        )
    if model.certificate_.outcome == "quasi_separable":
        warnings.warn(
            f"The classes are quasi-separable: without a penalty some coefficients of {type(model).__name__} diverge. Set a finite"
            " C, or drop the columns that separate a class.",
            stacklevel=4,
        )


class LogisticRegression(ProbabilisticClassifier, chunks=True):
    r"""Logistic regression, binary or multinomial, with L2, L1 or elastic net regularisation.

    Objective
    ---------
    .. math:: C \sum_i s_i \, \ell_i(w, b) + \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2

    with :math:`\rho` = ``l1_ratio`` and :math:`\ell_i` minus the logarithm of the probability of the label of row i: of two
    classes :math:`\log(1 + e^{-y_i (x_i^\top w + b)})` with :math:`y_i = \pm 1`, of several the cross-entropy of the softmax
    of one score a class. Weights :math:`s_i` include those of the classes. The intercept is not penalised, except with
    ``solver="liblinear"``: there it is ``intercept_scaling`` times a coefficient that w contains, as if X had a constant column
    of that value. An infinite C, or ``penalty=None``, leaves the sum of the losses alone.

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``.

    Cost
    ----
    With p columns up to some thousands and two classes: Newton's method, about four reads of X, with O(n p^2 / 16)
    operations for second derivatives when rows are many, O(p^2) memory beyond X. More columns, sparse ones: conjugate
    gradients within Newton's method, one read a product, O(n + p) memory. Several classes: the same with all scores at once,
    some tens of reads, preconditioned by the products of columns; limited-memory BFGS where X is sparse. With ``l1_ratio``
    above 0: coordinate descent on working sets. With liblinear's intercept X is copied once.

    See Also
    --------
    LogisticRegressionCV : Chooses C by folds.

    Notes
    -----
    A weight counts as repetition. The penalty depends on the units of the columns: standardise first if they differ.
    Without a penalty, classes that a hyperplane separates have no optimum: the certificate's outcome is then ``"separable"``,
    the objective is as close to its infimum of zero as ``tol`` asks, and a warning says so. Two classes that meet on a hyperplane
    and nowhere else have none either; the outcome is then ``"quasi_separable"``.

    Examples
    --------
    >>> from qed.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    >>> model.certificate_.reached
    True
    """

    penalty: Literal["l1", "l2", "elasticnet", "deprecated"] | None = param(
        "deprecated",
        "Penalty by name: None for none, 'l1' and 'l2' for an ``l1_ratio`` of 1 and 0; otherwise ``l1_ratio`` decides.",
    )
    _: KW_ONLY
    C: PositiveOrInfinite = param(1.0, "Weight of the losses beside the penalty; infinity means no penalty.")
    l1_ratio: Probability | None = param(0.0, "Share of the absolute values in the penalty; the rest are squares.")
    dual: bool = param(False, "Whether liblinear would solve the dual; the optimum is the same.", kind="hint")
    tol: NonNegative = param(1e-7, "Largest accepted gap, relative to the objective of the intercept alone.")
    fit_intercept: bool = FIT_INTERCEPT
    intercept_scaling: Positive = param(
        1.0, "Value of liblinear's constant column, whose coefficient is penalised; 1 with every other solver."
    )
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    random_state: Seed = param(None, "Seed of scikit-learn's stochastic solvers. Nothing here is random.", kind="hint")
    solver: Literal["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"] = param(
        "lbfgs",
        "solver asked for: 'liblinear' penalises the intercept and takes two classes; the others are all one, and solver_used_"
        " says what was done.",
    )
    max_iter: PositiveInt = param(100, "Most steps of the solver.")
    verbose: NonNegativeInt = VERBOSE
    warm_start: bool = param(False, "Whether to start from the coefficients there are.")
    n_jobs: int | None = param(None, "Number of processes that scikit-learn would use.", kind="hint")
    strict: bool = STRICT

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the coefficients.

        Parameters
        ----------
        X : array-like, frame, sparse container or source of shape (n, p)
            Rows to learn from; a source (`qed.scan`) brings its target and weights, and is read again for each step.
        """
        before = {name: self.__dict__.get(name) for name in ("coef_", "intercept_", "classes_")}
        data = self._fit_data(X, y, sample_weight, finite=False)
        strength = Strength.of(type(self).__name__, self.penalty, self.C, self.l1_ratio)
        same = before["classes_"] is not None and np.array_equal(before["classes_"], data.classes)
        start = (before["coef_"], before["intercept_"]) if data.warm and same else None
        options = FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose)
        fit_classes(self, data, strength, options, self.class_weight, start)
        return self

    def coefficient_table(self, level: float = 0.95, *, X: Any = None, sample_weight: Any = None) -> CoefficientTable:
        """Return coefficients of a fit without a penalty with standard errors and Wald intervals.

        Parameters
        ----------
        level : float
            Probability that an interval covers its coefficient, for many rows.
        X : array-like, frame or sparse container of shape (n, p)
            The rows of the fit, which the model does not keep.
        sample_weight : array-like of shape (n,), optional
            Their weights, which count as repetition.

        Returns
        -------
        CoefficientTable
            Log-odds against the first label: one row of each array for each other label, of two classes a single one.

        Raises
        ------
        InvalidData
            Where such intervals would not cover the truth as often as they say: with a penalty or weights of classes, for
            separable classes, dependent columns, or a fit that stopped early.
        """
        self._check_is_fitted()
        from qed.linear_model._wald import wald_table  # noqa: PLC0415  (after the fit, and for few)

        return wald_table(self, level, X, sample_weight)

    def log_odds_coefficients(self, reference: Any = None) -> tuple[Array, Array]:
        """Return the model by k - 1 vectors: the log-odds of every other class against a reference class.

        Parameters
        ----------
        reference : label, optional
            The class whose own vector is zero; the first label if left out, so that two classes give ``coef_`` and
            ``intercept_``.

        Returns
        -------
        ndarray of shape (k - 1, p), ndarray of shape (k - 1,)
            Coefficients and intercepts of the other classes, in the order of ``classes_``. With scores t of a row, the
            reference has probability ``1 / (1 + sum(exp(t)))`` and each other class ``exp(t)`` times that.
        """
        self._check_is_fitted()
        found = np.arange(len(self.classes_))[:1] if reference is None else np.flatnonzero(self.classes_ == reference)
        if len(found) != 1:
            raise InvalidParameter(
                f"reference must be one of the labels {self.classes_.tolist()!r:.200}, got {reference!r}."
            )
        coef, intercept = self.coef_, self.intercept_
        if len(self.classes_) == 2:
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
        others = np.arange(len(coef)) != found[0]
        return coef[others] - coef[found[0]], intercept[others] - intercept[found[0]]

    def _fit_coded(self, data: FitData, book: Any) -> list[Any] | None:
        """Fit a copy for each column of a book of codes, or None to have them fitted one by one."""
        strength = Strength.of(type(self).__name__, self.penalty, self.C, self.l1_ratio)
        plain = strength.l1_ratio == 0.0 and np.isfinite(strength.C) and self.class_weight is None and not self.verbose
        if not plain or constant_of(self, 2) is not None or data.n_rows * data.X.shape[1] ** 2 > LITTLE:
            return None
        parts = fit_coded(self, data, book, CodedLoss(Logistic(SIDES), strength.C, is_free=self.fit_intercept))
        for part in parts or ():
            part.n_iter_ = np.array([part.n_iter_], dtype=np.int32)
        return parts
