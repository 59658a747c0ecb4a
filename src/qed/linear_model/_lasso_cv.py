"""Sparse models whose strength is chosen by the rows they did not see."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.convex import Squared
from qed.convex.solvers import CoordinateDescent
from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    Matrix,
    NonNegative,
    NonNegativeInt,
    NonNegativeVector,
    Positive,
    PositiveInt,
    Probability,
    Regressor,
    Seed,
    Vector,
    fitted,
    param,
)
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._cross_validated_path import Choice, choose_strength, penalty_of
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_rows
from qed.linear_model._linear import one_for_each_target, predict_linear
from qed.linear_model._sparse_regression import require_targets


class CrossValidatedRegression(Regressor, sparse=True):
    """A sparse regressor that chooses its strength by folds."""

    _together: ClassVar[bool] = False

    alpha_: float = fitted("The chosen strength.", low=0)
    alphas_: Array = fitted(
        "Strengths that were tried, from strong to weak; one row for each ratio if there are several.",
        shape="(a,) or (r, a)",
        low=0,
        answers=False,
    )
    mse_path_: Array = fitted(
        "Mean squared error for each (ratio,) strength and fold; NaN for those that Ctrl-C or a callback left out.",
        shape="(a, f) or (r, a, f)",
        finite=False,
        nan=True,
        answers=False,
    )
    coef_: Array = fitted("Coefficients, shape (p,) or (m, p).", dtype="float", shape="(p,) or (m, p)")
    intercept_: float | Array = fitted("Intercept, a number or one for each target.", check=one_for_each_target)
    dual_gap_: float = fitted("Bound on objective minus optimum, as in the certificate.", low=0, answers=False)
    n_iter_: int = fitted("Working sets that the last fit solved for.", low=0, answers=False)
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about the coefficients.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the strength and find the coefficients.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, in learning and in judging.
        """
        data = self._fit_data(X, y, sample_weight)
        require_targets(self, data.y)
        choice = self._choice()
        rows = TrainingData.of(data, centred=choice.intercept)
        several = len(choice.l1_ratios) > 1
        found = choose_strength(choice, data.X, np.asarray(data.y, dtype=np.float64), data.weight)
        self.alpha_ = found.alpha
        self.alphas_ = found.alphas if several and isinstance(choice.alphas, int) else found.alphas[0]
        self.mse_path_ = found.errors if several else found.errors[0]
        if "l1_ratio" in self.__dict__:
            self.__dict__["l1_ratio_"] = found.l1_ratio
        penalty = penalty_of(found.alpha, found.l1_ratio, nonnegative=choice.nonnegative, together=choice.together)

        options = FitOptions(choice.intercept, choice.tol, choice.max_iter, bool(self.__dict__["strict"]))
        try:
            learn_rows(
                self,
                rows,
                declare=lambda rows: ObjectiveSpec(Squared(rows.y), penalty),
                solvers=(CoordinateDescent(),),
                options=options,
            )
        finally:
            if "certificate_" in self.__dict__:
                self.dual_gap_ = self.certificate_.gap
        if found.is_interrupted:
            raise KeyboardInterrupt
        return self

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Returns
        -------
        ndarray of shape (n,) or (n, m)
            Float32 for float32 rows, float64 otherwise.
        """
        return predict_linear(self, X)

    def _choice(self) -> Choice:
        """Translate the parameters."""
        own = self.__dict__
        ratios = np.atleast_1d(np.asarray(own.get("l1_ratio", 1.0), dtype=np.float64))
        if not len(ratios):
            raise InvalidParameter(
                f"{type(self).__name__}.l1_ratio must hold at least one ratio, got {own['l1_ratio']!r}."
            )
        return Choice(
            owner=type(self).__name__,
            alphas=own["alphas"],
            eps=float(own["eps"]),
            l1_ratios=ratios,
            intercept=own["fit_intercept"],
            nonnegative=own.get("positive", False),
            together=self._together,
            cv=own["cv"],
            tol=float(own["tol"]),
            max_iter=int(own["max_iter"]),
            verbose=int(own["verbose"]),
        )


class LassoCV(CrossValidatedRegression):
    r"""Lasso with the penalty strength chosen by cross-validation.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, (y_i - x_i^\top w - b)^2 \Big/ \sum_i s_i + \alpha \|w\|_1

    with the strength whose predictions of left-out rows have the least mean squared error.

    Certificate
    -----------
    DualityGapCertificate of the fit on all rows with the chosen strength: no coefficients lower the objective by more than
    ``gap``. The candidates are solved to the same gap at least, rounding left aside.

    Cost
    ----
    One pass over X for each strength, all folds together (dense X, one target), a few triangular solves of O(k^2), and O(k^2)
    for each coefficient that a fold takes up or drops; memory O(n k + k^2) a fold for k coefficients that are not zero.

    See Also
    --------
    Lasso : With a given strength.
    ElasticNetCV : With a squared penalty beside.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import LassoCV
    >>> X, y = make_regression(n_samples=60, n_features=8, noise=1.0, random_state=0)
    >>> model = LassoCV(alphas=20, cv=3).fit(X, y)
    >>> bool(model.alpha_ in model.alphas_)
    True
    """

    _: KW_ONLY
    eps: Positive = param(1e-3, "The weakest strength over the strongest, where ``alphas`` is a number.")
    alphas: PositiveInt | NonNegativeVector = param(100, "How many strengths to try, or the strengths.")
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Literal["auto"] | bool | Matrix = param(
        "auto", "Whether scikit-learn would use products of columns. Here the predicted cost decides.", kind="hint"
    )
    max_iter: PositiveInt = param(1000, "Most working sets for one strength.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    copy_X: bool = COPY_X
    cv: Any = param(None, "Folds: None for five, a number, a splitter, or pairs of (train, test) indices.")
    verbose: bool | NonNegativeInt = param(False, "How much progress to show.")
    n_jobs: int | None = param(
        None,
        "Processes that scikit-learn would use. Folds run in the threads of qed, see qed.set_num_threads.",
        kind="hint",
    )
    positive: bool = param(False, "Whether coefficients must be nonnegative.")
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit coefficients; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT


class ElasticNetCV(CrossValidatedRegression):
    r"""Elastic net with the penalty strength, and optionally ``l1_ratio``, chosen by cross-validation.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, (y_i - x_i^\top w - b)^2 \Big/ \sum_i s_i
        + \alpha \rho \|w\|_1 + \frac{\alpha (1 - \rho)}{2} \|w\|_2^2

    with the strength and the ratio whose predictions of left-out rows have the least mean squared error.

    Certificate
    -----------
    DualityGapCertificate of the fit on all rows with the chosen strength: no coefficients lower the objective by more than
    ``gap``. The candidates are solved to the same gap, rounding left aside.

    Cost
    ----
    One pass over X for each strength, all folds together (dense X, one target), and sweeps over the working set of each fold;
    memory O(n k + k^2) a fold for k coefficients that are not zero.

    See Also
    --------
    ElasticNet : With a given strength.
    LassoCV : ``l1_ratio=1``.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import ElasticNetCV
    >>> X, y = make_regression(n_samples=60, n_features=8, noise=1.0, random_state=0)
    >>> model = ElasticNetCV(alphas=20, cv=3).fit(X, y)
    >>> bool(model.alpha_ in model.alphas_)
    True
    """

    _: KW_ONLY
    l1_ratio: Probability | Vector = param(0.5, "Share of the absolute values, or several to choose from.")
    eps: Positive = param(1e-3, "The weakest strength over the strongest, where ``alphas`` is a number.")
    alphas: PositiveInt | NonNegativeVector = param(100, "How many strengths to try, or the strengths.")
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Literal["auto"] | bool | Matrix = param(
        "auto", "Whether scikit-learn would use products of columns. Here the predicted cost decides.", kind="hint"
    )
    max_iter: PositiveInt = param(1000, "Most working sets for one strength.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    cv: Any = param(None, "Folds: None for five, a number, a splitter, or pairs of (train, test) indices.")
    copy_X: bool = COPY_X
    verbose: bool | NonNegativeInt = VERBOSE
    n_jobs: int | None = param(
        None,
        "Processes that scikit-learn would use. Folds run in the threads of qed, see qed.set_num_threads.",
        kind="hint",
    )
    positive: bool = param(False, "Whether coefficients must be nonnegative.")
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit coefficients; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT

    l1_ratio_: float = fitted("The chosen ratio.", low=0, high=1)


class MultiTaskLassoCV(CrossValidatedRegression, multi_output=True, single_output=False):
    r"""Multi-task lasso with the penalty strength chosen by cross-validation.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, \|y_i - W^\top x_i - b\|_2^2 \Big/ \sum_i s_i + \alpha \sum_j \|W_j\|_2

    with the strength whose predictions of left-out rows have the least mean squared error.

    Certificate
    -----------
    DualityGapCertificate of the fit on all rows with the chosen strength: no coefficients lower the objective by more than
    ``gap``. The candidates are solved to the same gap, rounding left aside.

    Cost
    ----
    One pass over X for each strength, all folds together (dense X, one target), and sweeps over the working set of each fold;
    memory O(n k + k^2) a fold for k coefficients that are not zero.

    See Also
    --------
    MultiTaskLasso : With a given strength.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import MultiTaskLassoCV
    >>> X, y = make_regression(n_samples=60, n_features=8, n_targets=2, noise=1.0, random_state=0)
    >>> model = MultiTaskLassoCV(alphas=20, cv=3).fit(X, y)
    >>> bool(model.alpha_ in model.alphas_)
    True
    """

    _: KW_ONLY
    eps: Positive = param(1e-3, "The weakest strength over the strongest, where ``alphas`` is a number.")
    alphas: PositiveInt | NonNegativeVector = param(100, "How many strengths to try, or the strengths.")
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: PositiveInt = param(1000, "Most working sets for one strength.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    copy_X: bool = COPY_X
    cv: Any = param(None, "Folds: None for five, a number, a splitter, or pairs of (train, test) indices.")
    verbose: bool | NonNegativeInt = param(False, "How much progress to show.")
    n_jobs: int | None = param(
        None,
        "Processes that scikit-learn would use. Folds run in the threads of qed, see qed.set_num_threads.",
        kind="hint",
    )
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit coefficients; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT

    _together: ClassVar[bool] = True


class MultiTaskElasticNetCV(CrossValidatedRegression, multi_output=True, single_output=False):
    r"""Multi-task elastic net with the penalty strength, and optionally ``l1_ratio``, chosen by cross-validation.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, \|y_i - W^\top x_i - b\|_2^2 \Big/ \sum_i s_i
        + \alpha \rho \sum_j \|W_j\|_2 + \frac{\alpha (1 - \rho)}{2} \sum_j \|W_j\|_2^2

    with the strength and the ratio whose predictions of left-out rows have the least mean squared error.

    Certificate
    -----------
    DualityGapCertificate of the fit on all rows with the chosen strength: no coefficients lower the objective by more than
    ``gap``. The candidates are solved to the same gap, rounding left aside.

    Cost
    ----
    One pass over X for each strength, all folds together (dense X, one target), and sweeps over the working set of each fold;
    memory O(n k + k^2) a fold for k coefficients that are not zero.

    See Also
    --------
    MultiTaskElasticNet : With a given strength.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import MultiTaskElasticNetCV
    >>> X, y = make_regression(n_samples=60, n_features=8, n_targets=2, noise=1.0, random_state=0)
    >>> model = MultiTaskElasticNetCV(alphas=20, cv=3).fit(X, y)
    >>> bool(model.alpha_ in model.alphas_)
    True
    """

    _: KW_ONLY
    l1_ratio: Probability | Vector = param(0.5, "Share of the absolute values, or several to choose from.")
    eps: Positive = param(1e-3, "The weakest strength over the strongest, where ``alphas`` is a number.")
    alphas: PositiveInt | NonNegativeVector = param(100, "How many strengths to try, or the strengths.")
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: PositiveInt = param(1000, "Most working sets for one strength.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    cv: Any = param(None, "Folds: None for five, a number, a splitter, or pairs of (train, test) indices.")
    copy_X: bool = COPY_X
    verbose: bool | NonNegativeInt = VERBOSE
    n_jobs: int | None = param(
        None,
        "Processes that scikit-learn would use. Folds run in the threads of qed, see qed.set_num_threads.",
        kind="hint",
    )
    random_state: Seed = param(None, "Seed of scikit-learn's random selection. Nothing here is random.", kind="hint")
    selection: Literal["cyclic", "random"] = param(
        "cyclic", "Order in which scikit-learn would visit coefficients; the optimum is the same.", kind="hint"
    )
    strict: bool = STRICT

    _together: ClassVar[bool] = True
    l1_ratio_: float = fitted("The chosen ratio.", low=0, high=1)
