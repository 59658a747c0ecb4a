"""Stochastic gradient descent, for labels and for numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    DualityGapCertificate,
    Fingerprint,
    Fraction,
    InvalidParameter,
    MistakesCertificate,
    ModelFileError,
    NonNegative,
    NonNegativeInt,
    PartsCertificate,
    PositiveInt,
    Probability,
    Regressor,
    Seed,
    Uncertified,
    fitted,
    param,
)
from qed.linear_model._classes import LinearClassifier, require_classes
from qed.linear_model._learn_convex import Rows
from qed.linear_model._learn_online import Course, Shown, begin, favours, held_out, run, show, shown, stream
from qed.linear_model._linear import predict_linear
from qed.linear_model._online import Memory, Rule, Stop, Trail, Visits, optimal_offset
from qed.linear_model._prove_online import prove
from qed.linear_model._range import fingerprint

if TYPE_CHECKING:
    from qed.core import FitData

__all__ = ["SGDClassifier", "SGDRegressor"]


def _rule_of(model: Any) -> Rule:
    """Translate the parameters."""
    name = type(model).__name__
    ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": model.l1_ratio}.get(model.penalty or "", 0.0)
    if ratio is None:
        raise InvalidParameter(f"{name}.l1_ratio must be a number between 0 and 1 with penalty='elasticnet', got None.")
    strength = 0.0 if model.penalty is None else model.alpha
    steps = "constant" if model.learning_rate == "adaptive" else model.learning_rate
    if steps == "optimal" and model.alpha == 0:
        raise InvalidParameter(
            f"{name}.alpha must be > 0 with learning_rate='optimal', since alpha is used to compute the optimal learning rate; got"
            " 0. Choose another learning_rate, such as 'invscaling'."
        )
    if steps != "optimal" and not model.eta0 > 0:
        raise InvalidParameter(
            f"{name}.eta0 must be a number > 0 with learning_rate={model.learning_rate!r}, got {model.eta0!r}."
        )
    return Rule(
        model.loss,
        steps,
        eta=float(model.eta0),
        power=float(model.power_t),
        offset=optimal_offset(model.loss, model.alpha, model.epsilon) if steps == "optimal" else 0.0,
        alpha=float(model.alpha),
        ridge=strength * (1 - ratio),
        lasso=strength * ratio,
        width=float(model.epsilon),
        intercept=model.fit_intercept,
        batch=model.batch_size,
    )


def _course_of(model: Any) -> Course:
    averages = None if model.average is False else float(max(int(model.average) - 1, 0))
    visits = Visits(model.shuffle)
    slower = model.learning_rate == "adaptive"
    return Course(model.max_iter, model.tol, model.n_iter_no_change, False, visits, averages, slower)


def _keep(model: Any, memory: Memory, passes: int) -> None:
    coef, intercept = memory.coefficients
    model.memory_, model.n_iter_, model.t_ = memory, passes, memory.steps + 1.0
    model.coef_, model.intercept_ = np.ascontiguousarray(coef), np.array(intercept)


def _with_target(seen: Fingerprint, y: Array, weight: Array | None) -> Fingerprint:
    """Return the fingerprint of the same rows with another target."""
    own = fingerprint(np.zeros((len(y), 0)), y.reshape(-1, 1), weight)

    def joined(name: str) -> Any:
        return np.append(getattr(seen, name)[:-1], getattr(own, name))

    mean_doubt, spread_doubt = joined("mean_doubt"), joined("spread_doubt")
    return replace(seen, mean=joined("mean"), spread=joined("spread"), mean_doubt=mean_doubt, spread_doubt=spread_doubt)


class SGDClassifier(LinearClassifier):
    r"""A linear classifier learnt one row at a time.

    Objective
    ---------
    .. math:: \frac{1}{n} \sum_i s_i \, \ell(y_i, x_i^\top w + b) + \alpha \left( \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2 \right)

    with :math:`\rho` = 0, 1 or ``l1_ratio`` by the name of the penalty. Several classes: one such objective for each class
    against the others, all learnt in the same passes.

    Certificate
    -----------
    After ``fit`` a DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``; of several classes a
    PartsCertificate with one for each. After ``partial_fit`` a MistakesCertificate: how often the prediction was wrong before its
    label was seen.

    Cost
    ----
    O(p) a row shown; O(p) numbers kept, whatever the length of the stream. ``fit`` notes one number for each row and class, the
    slope of its loss, of which the certificate is made with one or two more passes, in all threads.

    Notes
    -----
    Rows are shuffled before every pass, neighbours of large tables in groups. A weight multiplies the step of its row; it is
    not a repetition. The models of this package that are not stochastic reach the optimum faster on anything that fits into
    memory: this one is for streams.

    Examples
    --------
    >>> from qed.linear_model import SGDClassifier
    >>> model = SGDClassifier(random_state=0).fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    loss: Literal[
        "hinge",
        "log_loss",
        "modified_huber",
        "squared_hinge",
        "perceptron",
        "squared_error",
        "huber",
        "epsilon_insensitive",
        "squared_epsilon_insensitive",
    ] = param("hinge", "Loss of a row; those of numbers take the labels as -1 and 1.")
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = param("l2", "What draws the coefficients towards zero.")
    alpha: NonNegative = param(1e-4, "Strength of the penalty; also sets the steps of learning_rate='optimal'.")
    l1_ratio: Probability | None = param(
        0.15, "Share of absolute values in the penalty 'elasticnet'; the rest are squares."
    )
    fit_intercept: bool = param(True, "Whether to fit an intercept.")
    max_iter: PositiveInt = param(1000, "Most passes over the rows.")
    tol: NonNegative | None = param(
        1e-3,
        "A pass counts as progress when the mean objective, of rows as they were met, falls by more below the best one; also the"
        " gap, relative to the null model's objective, that the certificate calls reached. None goes on to max_iter.",
    )
    shuffle: bool = param(True, "Whether every pass has an order of its own; otherwise rows come as they are.")
    verbose: NonNegativeInt = param(0, "How much progress to show: 0 for none.")
    epsilon: NonNegative = param(0.1, "Width of the insensitive losses, and where Huber's turns straight.")
    n_jobs: int | None = param(None, "Number of processes that scikit-learn would use.", kind="hint")
    random_state: Seed = param(None, "Seed of the orders.")
    learning_rate: Literal["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"] = param(
        "optimal",
        "Length of step t: eta0; 1 / (alpha (t0 + t)); eta0 / t**power_t; eta0, a fifth of it whenever progress ends; or as far"
        " as the loss asks, at most eta0 ('pa1') or softened by it ('pa2').",
    )
    eta0: NonNegative = param(0.01, "Length of the first step.")
    power_t: float = param(0.5, "How fast steps shrink with 'invscaling'.")
    early_stopping: bool = param(False, "Whether to hold rows out, stop by their score and keep the best coefficients.")
    validation_fraction: Fraction = param(0.1, "Share of rows held out with ``early_stopping``.")
    n_iter_no_change: PositiveInt = param(5, "Passes without progress that end the course.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    warm_start: bool = param(False, "Whether to go on from the coefficients there are.")
    average: bool | NonNegativeInt = param(
        False, "Whether to keep the mean of all coefficients; a number says after how many steps it begins."
    )
    batch_size: PositiveInt = param(1, "Rows that are judged before the coefficients move by the mean of their steps.")

    n_iter_: int = fitted("Passes over the rows.")
    t_: float = fitted("Steps taken, plus one.")
    memory_: Memory = fitted("What ``partial_fit`` goes on from.")
    certificate_: DualityGapCertificate | PartsCertificate | MistakesCertificate = fitted(
        "What is proved about the coefficients."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until progress ends.

        Parameters
        ----------
        X : array-like, frame or CSR of shape (n, p)
            Rows to learn from.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by; rows of weight zero are left out.

        Returns
        -------
        self
            The fitted model.
        """
        before: Any = (self.__dict__.get("memory_"), self.__dict__.get("classes_"))
        data = self._fit_data(X, y, sample_weight)
        favour = favours(type(self).__name__, self.class_weight, data.classes, data.y, data.weight)
        rule, course = _rule_of(self), _course_of(self)
        rows = shown(data, classes=True, favour=favour)
        codes = rows.y if rows.problems > 1 else (rows.y + 1) / 2
        require_classes(type(self).__name__, data.classes, codes)
        warm = data.warm and before[0] is not None and np.array_equal(before[1], data.classes)
        memory = before[0] if warm else begin(self, rows, rule, course)
        self.classes_ = data.classes
        taught, score = (rows, None) if not self.early_stopping else held_out(self, rows, codes)
        trail = Trail(rows.problems, None if self.early_stopping else len(rows.y))
        memory, passes, outcome = run(self, memory, taught, rule, course, score=score, trail=trail)
        _keep(self, memory, passes)
        self.certificate_ = self._certified(data, rows, rule, outcome, trail)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _certified(
        self, data: FitData, rows: Shown, rule: Rule, outcome: str, trail: Trail
    ) -> DualityGapCertificate | PartsCertificate:
        looked = Rows.of(data)
        tol = 0.0 if self.tol is None else self.tol
        parts = {}
        for problem in range(rows.problems):
            signs = rows.y if rows.problems == 1 else np.where(rows.y == problem, 1.0, -1.0)
            if rows.problems > 1:  # recognised by the labels of this problem
                looked = replace(looked, seen=_with_target(looked.seen, (signs + 1) / 2, rows.weight))
            own = looked if rows.favour is None else looked.weighed(rows.favour[problem][(signs > 0).astype(np.intp)])
            w, b = self.coef_[problem], float(self.intercept_[problem])
            proof = prove(
                type(self).__name__,
                own,
                signs,
                rule,
                w,
                b,
                n_rows=len(signs),
                tol=tol,
                outcome=outcome,
                met=trail.met(problem),
            )
            if rows.problems == 1:
                return proof
            parts[str(self.classes_[problem])] = proof
        return PartsCertificate(parts)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Show more rows, once and in their order.

        Parameters
        ----------
        X : array-like, frame or CSR of shape (n, p)
            Rows.
        y : array-like of shape (n,)
            Labels.
        classes : array-like, optional
            All labels there will be; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        data, first = stream(self, X, y, sample_weight, classes)
        favour = favours(type(self).__name__, self.class_weight, self.classes_, data.y, data.weight)
        rule = _rule_of(self)
        rows = shown(data, classes=True, favour=favour)
        memory = begin(self, rows, rule, _course_of(self)) if first else self.memory_
        found = show(self, memory, rows, rule, visits=Visits(), stop=Stop())
        _keep(self, found.memory, 1)
        self.certificate_ = MistakesCertificate(
            found.memory.rows, found.memory.mistakes, np.nan, np.zeros(len(self.coef_)), np.inf
        )
        return self

    @property
    def predict_proba(self) -> Any:
        """Return the probability of each class; with losses that are not of probabilities there is no such method.

        Of several classes the probabilities of each against the others are divided by their sum.
        """
        return self._if_probable(self._probabilities)

    @property
    def predict_log_proba(self) -> Any:
        """Return the logarithms of the probabilities; minus infinity for zero."""
        return self._if_probable(self._log_probabilities)

    def _if_probable(self, method: Any) -> Any:
        if self.loss not in ("log_loss", "modified_huber"):
            raise AttributeError(
                f"probability estimates are not available for loss={self.loss!r}; they are for 'log_loss' and 'modified_huber'"
            )
        return method

    def _probabilities(self, X: Any) -> Array:
        scores = np.asarray(self.decision_function(X), dtype=np.float64)
        own = 0.5 * (1.0 + (np.tanh(0.5 * scores) if self.loss == "log_loss" else np.clip(scores, -1.0, 1.0)))
        if own.ndim == 1:
            return np.column_stack([1.0 - own, own])
        total = own.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, own / np.where(total > 0, total, 1.0), 1.0 / own.shape[1]))

    def _log_probabilities(self, X: Any) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(X))

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.memory_.w.shape != self.coef_.shape:
            msg = f"the memory of {type(self).__name__} does not fit its coefficients"
            raise ModelFileError(msg)


class SGDRegressor(Regressor, sparse=True):
    r"""A linear regression learnt one row at a time.

    Objective
    ---------
    .. math:: \frac{1}{n} \sum_i s_i \, \ell(y_i, x_i^\top w + b) + \alpha \left( \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2 \right)

    with :math:`\rho` = 0, 1 or ``l1_ratio`` by the name of the penalty.

    Certificate
    -----------
    After ``fit`` a DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``. After ``partial_fit`` nothing is
    claimed: a stream that is not kept proves nothing about errors without a bound.

    Cost
    ----
    O(p) a row shown; O(p) numbers kept, whatever the length of the stream. ``fit`` notes one number for each row, the slope of
    its loss, of which the certificate is made with one or two more passes, in all threads.

    Notes
    -----
    No step overshoots its row, so that squared losses do not explode; columns of different sizes are learnt at different speeds
    all the same: standardise first. A weight multiplies the step of its row; it is not a repetition.

    Examples
    --------
    >>> from qed.linear_model import SGDRegressor
    >>> model = SGDRegressor(random_state=0, max_iter=2000, tol=None).fit([[-1.0], [0.0], [1.0]], [-2.0, 0.0, 2.0])
    >>> round(float(model.coef_[0]), 1)
    2.0
    """

    loss: Literal["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"] = param(
        "squared_error", "Loss of a row."
    )
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = param("l2", "What draws the coefficients towards zero.")
    alpha: NonNegative = param(1e-4, "Strength of the penalty; also sets the steps of learning_rate='optimal'.")
    l1_ratio: Probability | None = param(
        0.15, "Share of absolute values in the penalty 'elasticnet'; the rest are squares."
    )
    fit_intercept: bool = param(True, "Whether to fit an intercept.")
    max_iter: PositiveInt = param(1000, "Most passes over the rows.")
    tol: NonNegative | None = param(
        1e-3,
        "A pass counts as progress when the mean objective, of rows as they were met, falls by more below the best one; also the"
        " gap, relative to the null model's objective, that the certificate calls reached. None goes on to max_iter.",
    )
    shuffle: bool = param(True, "Whether every pass has an order of its own; otherwise rows come as they are.")
    verbose: NonNegativeInt = param(0, "How much progress to show: 0 for none.")
    epsilon: NonNegative = param(0.1, "Width of the insensitive losses, and where Huber's turns straight.")
    random_state: Seed = param(None, "Seed of the orders.")
    learning_rate: Literal["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"] = param(
        "invscaling",
        "Length of step t: eta0; 1 / (alpha (t0 + t)); eta0 / t**power_t; eta0, a fifth of it whenever progress ends; or as far"
        " as the loss asks, at most eta0 ('pa1') or softened by it ('pa2').",
    )
    eta0: NonNegative = param(0.01, "Length of the first step.")
    power_t: float = param(0.25, "How fast steps shrink with 'invscaling'.")
    early_stopping: bool = param(False, "Whether to hold rows out, stop by their score and keep the best coefficients.")
    validation_fraction: Fraction = param(0.1, "Share of rows held out with ``early_stopping``.")
    n_iter_no_change: PositiveInt = param(5, "Passes without progress that end the course.")
    warm_start: bool = param(False, "Whether to go on from the coefficients there are.")
    average: bool | NonNegativeInt = param(
        False, "Whether to keep the mean of all coefficients; a number says after how many steps it begins."
    )
    batch_size: PositiveInt = param(1, "Rows that are judged before the coefficients move by the mean of their steps.")

    coef_: Array = fitted("Coefficients.")
    intercept_: Array = fitted("The intercept, as an array of one number.")
    n_iter_: int = fitted("Passes over the rows.")
    t_: float = fitted("Steps taken, plus one.")
    memory_: Memory = fitted("What ``partial_fit`` goes on from.")
    certificate_: DualityGapCertificate | Uncertified = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until progress ends.

        Parameters
        ----------
        X : array-like, frame or CSR of shape (n, p)
            Rows to learn from.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by; rows of weight zero are left out.

        Returns
        -------
        self
            The fitted model.
        """
        before = self.__dict__.get("memory_")
        data = self._fit_data(X, y, sample_weight)
        rule, course = _rule_of(self), _course_of(self)
        rows = shown(data, classes=False)
        memory = before if data.warm and before is not None else begin(self, rows, rule, course)
        taught, score = (rows, None) if not self.early_stopping else held_out(self, rows, rows.y)
        trail = Trail(1, None if self.early_stopping else len(rows.y))
        memory, passes, outcome = run(self, memory, taught, rule, course, score=score, trail=trail)
        self._store(memory, passes)
        tol = 0.0 if self.tol is None else self.tol
        w, b = self.coef_, float(self.intercept_[0])
        self.certificate_ = prove(
            type(self).__name__,
            Rows.of(data),
            rows.y,
            rule,
            w,
            b,
            n_rows=len(rows.y),
            tol=tol,
            outcome=outcome,
            met=trail.met(0),
        )
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _store(self, memory: Memory, passes: int) -> None:
        _keep(self, memory, passes)
        self.coef_ = self.coef_[0]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Show more rows, once and in their order.

        Parameters
        ----------
        X : array-like, frame or CSR of shape (n, p)
            Rows.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            What the loss of each row is multiplied by.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        first = "memory_" not in self.__dict__
        rows = shown(self._fit_data(X, y, sample_weight, reset=first), classes=False)
        rule = _rule_of(self)
        memory = begin(self, rows, rule, _course_of(self)) if first else self.memory_
        self._store(show(self, memory, rows, rule, visits=Visits(), stop=Stop()).memory, 1)
        self.certificate_ = Uncertified("it learnt from a stream that was not kept")
        return self

    def predict(self, X: Any) -> Array:
        """Return the predictions.

        Parameters
        ----------
        X : array-like, frame or CSR of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            Numbers.
        """
        return predict_linear(self, X)

    def _check_fitted_state(self) -> None:
        known = [self.__dict__.get(name) for name in ("coef_", "intercept_")]
        coef, intercept = (part if isinstance(part, np.ndarray) else np.zeros(0) for part in known)
        columns = self.__dict__.get("n_features_in_")
        good = coef.shape == (columns,) and intercept.shape == (1,) and self.memory_.w.shape == (1, columns)
        good = good and coef.dtype == intercept.dtype == np.float64
        if not good or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            msg = f"coefficients or memory of {type(self).__name__} do not fit {columns!r} columns"
            raise ModelFileError(msg)
