"""The perceptron, in its variants."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import MistakeBoundCertificate
from qed.core import (
    KW_ONLY,
    Fraction,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Probability,
    Seed,
    fitted,
    param,
)
from qed.core._shared_params import FIT_INTERCEPT, VERBOSE
from qed.designs._range import fingerprint, require_no_overflow
from qed.linear_model._classes import LinearClassifier, require_classes
from qed.linear_model._kernels import margins
from qed.linear_model._learn_online import (
    Course,
    OnlineData,
    begin,
    favours,
    held_out,
    run,
    show,
    shown,
    stored,
    stream,
)
from qed.linear_model._linear import fits_coefficients
from qed.linear_model._online import Memory, Rule, Stop, Visits


class Perceptron(LinearClassifier):
    r"""Perceptron: a linear classifier that is updated by every misclassified sample (row).

    Objective
    ---------
    None that is minimised. Rows are shown one after the other; for a label :math:`y = \pm 1` with :math:`y (x^\top w + b) \le 0`

    .. math:: w \leftarrow w + \eta y x, \qquad b \leftarrow b + \eta y.

    Several classes: one such problem for each class against the others, or, with ``multi_class="machine"``, scores that compete:
    the right class gains :math:`\eta x`, the best wrong one loses it.

    Certificate
    -----------
    MistakeBoundCertificate: the mistakes made, and, where the hyperplane found separates the classes with margin :math:`\gamma`,
    the most that any order of the rows can cause, :math:`(R/\gamma)^2` with R the largest length of a row.

    Cost
    ----
    O(p) a row shown, p numbers kept: independent of how many rows there are. The rows are read in one thread; the problems of
    several classes share two.

    Notes
    -----
    Rows that no hyperplane separates are got wrong in every pass, without end: the course then ends by ``tol`` or ``max_iter``,
    and the certificate says that the classes are not separated. The average of all hyperplanes (``variant="averaged"``) is then
    the better classifier. A weight multiplies the step of its row, as in other online learners; it is not a repetition.

    Examples
    --------
    >>> from qed.linear_model import Perceptron
    >>> model = Perceptron(shuffle=False).fit([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1])
    >>> model.coef_, model.intercept_, model.certificate_.mistakes
    (array([[ 2., -1.]]), array([0.]), 4)
    """

    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = param(None, "What draws the coefficients towards zero.")
    alpha: NonNegative = param(1e-4, "Strength of the penalty.")
    l1_ratio: Probability = param(0.15, "Share of absolute values in the penalty 'elasticnet'; the rest are squares.")
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: PositiveInt = param(1000, "Most passes over the rows.")
    tol: NonNegative | None = param(
        1e-3, "A pass counts as progress when the share of mistakes falls by more; None goes on to max_iter."
    )
    shuffle: bool = param(True, "Whether every pass has an order of its own; otherwise rows come as they are.")
    verbose: NonNegativeInt = VERBOSE
    eta0: Positive = param(1.0, "Length of a step. Without a penalty it changes nothing but the scale.")
    n_jobs: int | None = param(None, "Number of processes that scikit-learn would use.", kind="hint")
    random_state: Seed = param(0, "Seed of the orders.")
    early_stopping: bool = param(False, "Whether to hold out rows, stop by their score and keep the best coefficients.")
    validation_fraction: Fraction = param(0.1, "Share of rows held out with ``early_stopping``.")
    n_iter_no_change: PositiveInt = param(5, "Passes without progress that end the course.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What steps are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    warm_start: bool = param(False, "Whether to start from the current coefficients.")
    variant: Literal["last", "averaged"] = param(
        "last", "Which coefficients to keep: the last ones, or the mean of all."
    )
    burn_in: NonNegativeInt = param(
        0, "Rows shown before the mean of ``variant='averaged'`` begins; it is zero if no more are shown."
    )
    multi_class: Literal["ovr", "machine"] = param(
        "ovr", "Several classes: each against the others, or scores that compete."
    )
    sampling: Literal["passes", "replacement"] = param(
        "passes", "Whether every pass shows every row, or draws as many with replacement."
    )
    batch_size: PositiveInt = param(1, "Rows of a mini-batch: the coefficients move by the mean of their updates.")

    n_iter_: int = fitted("Passes over the rows.", low=0, answers=False)
    t_: float = fitted("Steps taken, plus one.", low=0, answers=False)
    outcome_: str = fitted(
        "How the course ended: 'solved' without mistakes, 'stalled', 'max_iter', 'stopped', 'stream'.", answers=False
    )
    memory_: Memory = fitted("What ``partial_fit`` goes on from.", check=fits_coefficients, answers=False)
    certificate_: MistakeBoundCertificate = fitted("What is proved about the mistakes.")

    def _rule(self) -> Rule:
        ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}.get(self.penalty or "", 0.0)
        alpha = 0.0 if self.penalty is None else self.alpha
        return Rule(
            "perceptron",
            eta=self.eta0,
            ridge=alpha * (1 - ratio),
            lasso=alpha * ratio,
            intercept=self.fit_intercept,
            competes=self.multi_class == "machine",
            batch=self.batch_size,
        )

    def _course(self) -> Course:
        visits = Visits(self.shuffle, self.sampling == "replacement")
        averages = float(self.burn_in) if self.variant == "averaged" else None
        return Course(self.max_iter, self.tol, self.n_iter_no_change, True, visits, averages)

    def _ready(self, rows: OnlineData) -> tuple[Rule, OnlineData]:
        """Settle what depends on the number of classes."""
        rule = self._rule()
        if rule.competes and rows.problems == 1:
            rule = rule._replace(competes=False)  # two classes are one plane
        if rule.competes and (self.batch_size > 1 or rule.lasso > 0):
            raise InvalidParameter(
                "Perceptron.multi_class='machine' takes neither batches nor the penalties 'l1' and 'elasticnet'. Use 'ovr'."
            )
        return rule, rows

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until none is on the wrong side, or progress ends.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            What the step of each row is multiplied by; rows of weight zero are left out.
        """
        before: Any = (self.__dict__.get("memory_"), self.__dict__.get("classes_"))
        data = self._fit_data(X, y, sample_weight)
        favour = favours(type(self).__name__, self.class_weight, data.classes, data.y, data.weight)
        rule, rows = self._ready(shown(data, classes=True, favour=favour))
        codes = rows.y if rows.problems > 1 else (rows.y + 1) / 2
        require_classes(type(self).__name__, data.classes, codes)
        course = self._course()
        seen = fingerprint(rows.X, codes.reshape(-1, 1), rows.weight)
        require_no_overflow(seen, rows.X.shape[1])
        warm = data.warm and before[0] is not None and np.array_equal(before[1], data.classes)
        memory = before[0] if warm else begin(self, rows, rule, course)
        self.classes_ = data.classes
        taught, score = rows, None
        if self.early_stopping:
            taught, score = held_out(self, rows, codes)
        memory, passes, outcome = run(self, memory, taught, rule, course, score=score)
        self._keep(memory, passes, outcome, rows.X.dtype)
        plain = rule == Rule("perceptron", eta=rule.eta, intercept=rule.intercept) and not warm
        plain = plain and rows.weight is None and favour is None and self.variant == "last"
        self.certificate_ = self._certified(rows, seen, plain=plain)
        if outcome == "solved" and self.coef_.dtype == np.float32 and not (self.certificate_.margins > 0).all():
            short, self.coef_ = self.coef_, np.ascontiguousarray(memory.coefficients[0])
            exact = self._certified(rows, seen, plain=plain)
            if (exact.margins > 0).all():  # rounded, they would no longer separate the rows
                self.certificate_ = exact
            else:
                self.coef_ = short
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _keep(self, memory: Memory, passes: int, outcome: str, dtype: Any) -> None:
        coef, intercept = memory.coefficients
        self.memory_, self.n_iter_, self.outcome_, self.t_ = memory, passes, outcome, memory.steps + 1.0
        self.coef_, self.intercept_ = stored(coef, dtype), np.array(intercept)

    def _certified(self, rows: OnlineData, seen: Any, *, plain: bool) -> MistakeBoundCertificate:
        coef = self.coef_.astype(np.float64)
        least, longest = margins(rows.X, rows.y, coef, self.intercept_)
        one = 1.0 if self.fit_intercept else 0.0
        length = np.hypot(np.hypot.reduce(coef, axis=1), one * self.intercept_)  # weights may be tiny, or huge
        found = np.divide(least, length, out=np.zeros_like(least), where=length > 0)
        radius = float(np.sqrt(longest + one))
        with np.errstate(over="ignore"):
            bound = float(np.sum((radius / found) ** 2)) if plain and (found > 0).all() else np.inf
        return MistakeBoundCertificate(self.memory_.rows, self.memory_.mistakes, radius, found, bound, seen)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Show more rows, once and in their order.

        Parameters
        ----------
        classes : array-like, optional
            All labels there will be; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            What the step of each row is multiplied by.

        Returns
        -------
        self
            The model, one stretch of the stream further.
        """
        data, first = stream(self, X, y, sample_weight, classes)
        favour = favours(type(self).__name__, self.class_weight, self.classes_, data.y, data.weight)
        rule, rows = self._ready(shown(data, classes=True, favour=favour))
        memory = begin(self, rows, rule, self._course()) if first else self.memory_
        found = show(self, memory, rows, rule, visits=Visits(), stop=Stop())
        self._keep(found.memory, 1, "stream", rows.X.dtype)
        counted = found.memory
        self.certificate_ = MistakeBoundCertificate(
            counted.rows, counted.mistakes, np.nan, np.zeros(len(self.coef_)), np.inf
        )
        return self
