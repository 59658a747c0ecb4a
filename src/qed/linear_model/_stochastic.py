"""What models that descend along the slopes of single rows share: their parameters, and how these are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    Fraction,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Probability,
    Seed,
    fitted,
    param,
)
from qed.core._shared_params import FIT_INTERCEPT, VERBOSE
from qed.linear_model._learn_online import Course, OnlineData, begin, held_out, run, stored
from qed.linear_model._linear import fits_coefficients
from qed.linear_model._online import Memory, Rule, Trail, Visits, optimal_offset
from qed.linear_model._prove_online import prove
from qed.linear_model._small_proofs import prove_small

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.certificates import DualityGapCertificate, Fingerprint
    from qed.linear_model._learn_convex import TrainingData


Steps = Literal["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"]
STEPS_TEXT = (
    "Length of step t: eta0; 1 / (alpha (t0 + t)); eta0 / t**power_t; eta0, a fifth of it whenever progress ends; or as far"
    " as the loss asks, at most eta0 ('pa1') or softened by it ('pa2')."
)
POWER_TEXT = "How fast steps shrink with 'invscaling'."


class StochasticLearner(Estimator):
    """A linear model learnt one row at a time, of labels or of numbers."""

    loss: str = param("squared_error", "Loss of a row.")
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = param("l2", "What draws the coefficients towards zero.")
    alpha: NonNegative = param(1e-4, "Strength of the penalty; also sets the steps of learning_rate='optimal'.")
    l1_ratio: Probability | None = param(
        0.15, "Share of absolute values in the penalty 'elasticnet'; the rest are squares."
    )
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: PositiveInt = param(1000, "Most passes over the rows.")
    tol: NonNegative | None = param(
        1e-3,
        "A pass counts as progress when the mean objective, of rows as they were met, falls by more below the best one; also the"
        " gap, relative to the null model's objective, that the certificate calls reached. None goes on to max_iter.",
    )
    shuffle: bool = param(True, "Whether every pass has an order of its own; otherwise rows come as they are.")
    verbose: NonNegativeInt = VERBOSE
    epsilon: NonNegative = param(0.1, "Width of the insensitive losses, and where Huber's becomes linear.")
    random_state: Seed = param(None, "Seed of the orders.")
    learning_rate: Steps = param("invscaling", STEPS_TEXT)
    eta0: NonNegative = param(0.01, "Length of the first step.")
    power_t: float = param(0.25, POWER_TEXT)
    early_stopping: bool = param(False, "Whether to hold rows out, stop by their score and keep the best coefficients.")
    validation_fraction: Fraction = param(0.1, "Share of rows held out with ``early_stopping``.")
    n_iter_no_change: PositiveInt = param(5, "Passes without progress that end the course.")
    warm_start: bool = param(False, "Whether to go on from the coefficients there are.")
    average: bool | NonNegativeInt = param(
        False, "Whether to keep the mean of all coefficients; a number says after how many steps it begins."
    )
    batch_size: PositiveInt = param(1, "Rows that are judged before the coefficients move by the mean of their steps.")

    coef_: Array = fitted("Coefficients, float32 for float32 rows.", dtype="float", shape="(p,)")
    intercept_: Array = fitted("The intercept, as an array of one number.", shape="(1,)")
    n_iter_: int = fitted("Passes over the rows.", low=0, answers=False)
    t_: float = fitted("Steps taken, plus one.", low=0, answers=False)
    memory_: Memory = fitted("What ``partial_fit`` goes on from.", check=fits_coefficients, answers=False)

    def _rule(self) -> Rule:
        """Translate the parameters of a step."""
        name = type(self).__name__
        ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}.get(self.penalty or "", 0.0)
        if ratio is None:
            raise InvalidParameter(
                f"{name}.l1_ratio must be a number between 0 and 1 with penalty='elasticnet', got None."
            )
        strength = 0.0 if self.penalty is None else self.alpha
        steps = "constant" if self.learning_rate == "adaptive" else self.learning_rate
        if steps == "optimal" and self.alpha == 0:
            raise InvalidParameter(
                f"{name}.alpha must be > 0 with learning_rate='optimal', since alpha is used to compute the optimal learning"
                " rate; got 0. Choose another learning_rate, such as 'invscaling'."
            )
        if steps != "optimal" and not self.eta0 > 0:
            raise InvalidParameter(
                f"{name}.eta0 must be a number > 0 with learning_rate={self.learning_rate!r}, got {self.eta0!r}."
            )
        return Rule(
            self.loss,
            steps,
            eta=float(self.eta0),
            power=float(self.power_t),
            offset=optimal_offset(self.loss, self.alpha, self.epsilon) if steps == "optimal" else 0.0,
            alpha=float(self.alpha),
            ridge=strength * (1 - ratio),
            lasso=strength * ratio,
            width=float(self.epsilon),
            intercept=self.fit_intercept,
            batch=self.batch_size,
        )

    def _course(self) -> Course:
        """Translate the parameters of a course."""
        averages = None if self.average is False else float(max(int(self.average) - 1, 0))
        visits = Visits(self.shuffle)
        slower = self.learning_rate == "adaptive"
        return Course(self.max_iter, self.tol, self.n_iter_no_change, False, visits, averages, slower)

    def _learn(self, memory: Memory | None, rows: OnlineData, rule: Rule, strata: Any) -> tuple[str, Trail]:
        """Pass over the rows until progress ends; return how it ended, and what the course leaves for a proof.

        ``strata`` are what rows are held out by with early stopping.
        """
        course = self._course()
        memory = begin(self, rows, rule, course) if memory is None else memory
        taught, score = held_out(self, rows, strata) if self.early_stopping else (rows, None)
        trail = Trail(rows.problems, None if self.early_stopping else len(rows.y))
        memory, passes, outcome = run(self, memory, taught, rule, course, score=score, trail=trail)
        self._keep(memory, passes, rows.X.dtype)
        return outcome, trail

    def _keep(self, memory: Memory, passes: int, dtype: Any) -> None:
        """Store what was learnt from rows of a type, with one row of coefficients for each problem."""
        coef, intercept = memory.coefficients
        self.memory_, self.n_iter_, self.t_ = memory, passes, memory.steps + 1.0
        self.coef_, self.intercept_ = stored(coef, dtype), np.array(intercept)

    def _proved_small(
        self, looked: TrainingData, rows: OnlineData, rule: Rule, course: tuple[str, Trail], seen: Sequence[Fingerprint]
    ) -> list[DualityGapCertificate] | None:
        """Say how far all planes are from the best ones, where compiled code can tell in one call."""
        planes = self.coef_.reshape(rows.problems, -1).astype(np.float64), self.intercept_
        tol = 0.0 if self.tol is None else self.tol
        return prove_small(looked, rows, rule, planes, seen, tol=tol, outcome=course[0])

    def _proved(
        self,
        rows: TrainingData,
        y: Array,
        rule: Rule,
        plane: tuple[Array, float],
        course: tuple[str, Trail],
        problem: int = 0,
    ) -> DualityGapCertificate:
        """Say how far a plane is from the best one, after a course that ended so and left that trail."""
        outcome, trail = course
        return prove(
            type(self).__name__,
            rows,
            y,
            rule,
            plane[0].astype(np.float64),
            plane[1],
            n_rows=len(y),
            tol=0.0 if self.tol is None else self.tol,
            outcome=outcome,
            met=trail.met(problem),
        )
