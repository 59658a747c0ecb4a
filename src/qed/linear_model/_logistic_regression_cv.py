"""Logistic regression whose strength is chosen by the rows it did not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Seed,
    Vector,
    fitted,
    param,
)
from qed.core._class_weights import class_factors
from qed.core._params import AnyFunction  # noqa: TC001  (what parameters may hold)
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._classes import ProbabilisticClassifier
from qed.linear_model._folds import folds_of
from qed.linear_model._learn_convex import FitOptions
from qed.linear_model._logistic_folds import SCORES, Path, follow_path, follow_together, log_probabilities
from qed.linear_model._logistic_regression import LogisticRegression, Strength, fit_classes
from qed.linear_model._penalised_intercept import constant_of

if TYPE_CHECKING:
    from qed.core import FitData


TIE = 1e-12  # scores that differ by less are the same, rounded differently


class LogisticRegressionCV(ProbabilisticClassifier):
    r"""Logistic regression with C (and ``l1_ratio``) chosen by cross-validation.

    Objective
    ---------
    .. math:: C \sum_i s_i \, \ell_i(w, b) + \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2

    as of LogisticRegression, with the C in ``Cs`` and the :math:`\rho` in ``l1_ratios`` that predict left-out rows best.

    Certificate
    -----------
    DualityGapCertificate of the fit on all rows with the chosen strength: no (w, b) lowers the objective by more than
    ``gap``.

    Cost
    ----
    One look at the rows of each fold, then one fit for each strength, started from the one before it; and one fit on all
    rows. A fold is a copy of its rows.

    See Also
    --------
    LogisticRegression : The same with a given C.

    Notes
    -----
    A weight counts as repetition, in fits and in scores. Of equally good strengths the first wins.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import LogisticRegressionCV
    >>> X = np.linspace(-3.0, 3.0, 40)[:, np.newaxis]
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=4).fit(X, X[:, 0] > 0.5)
    >>> model.C_ in (0.01, 1.0)
    True
    """

    _: KW_ONLY
    Cs: PositiveInt | Vector = param(10, "Weights of the losses to choose from, or how many between 1e-4 and 1e4.")
    l1_ratios: Vector | None = param(None, "Shares of the absolute values to choose from; None for squares alone.")
    fit_intercept: bool = FIT_INTERCEPT
    cv: Any = param(
        None,
        "Folds: a number (None for five) with classes in proportion, a splitter, or pairs of (train, test) indices.",
    )
    dual: bool = param(False, "Whether liblinear would solve the dual; the optimum is the same.", kind="hint")
    penalty: Literal["l1", "l2", "elasticnet", "deprecated"] = param(
        "deprecated", "Penalty by name: 'l1' and 'l2' for an ``l1_ratio`` of 1 and 0; otherwise ``l1_ratios`` decides."
    )
    scoring: str | AnyFunction | None = param(
        None,
        "Score to maximise: 'accuracy' (None), 'balanced_accuracy', 'neg_log_loss', or a function of (model, X, y) as in"
        " scikit-learn.",
    )
    solver: Literal["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"] = param(
        "lbfgs",
        "'liblinear' penalises the intercept and takes two classes; the others are all one: solver_used_ says what was done.",
    )
    tol: NonNegative = param(1e-7, "Largest accepted gap, relative to the objective of the intercept alone.")
    max_iter: PositiveInt = param(100, "Most steps of the solver for each strength.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    n_jobs: int | None = param(None, "Number of processes that scikit-learn would use.", kind="hint")
    verbose: NonNegativeInt = VERBOSE
    refit: bool = param(True, "Whether to fit on all rows; otherwise coefficients are means over folds.", kind="refused",
        instead="Average coefs_paths_ over folds, whose mean no certificate speaks of.")  # fmt: skip
    intercept_scaling: Positive = param(
        1.0, "Value of liblinear's constant column, whose coefficient is penalised; 1 with every other solver."
    )
    random_state: Seed = param(None, "Seed of scikit-learn's stochastic solvers. Nothing here is random.", kind="hint")
    use_legacy_attributes: bool = param(
        False,
        "Whether ``scores_`` and ``coefs_paths_`` are dictionaries by label, and ``C_`` an array.",
        kind="refused",
        instead="Read ``C_`` and ``l1_ratio_`` as numbers, and ``scores_`` and ``coefs_paths_`` as arrays.",
    )
    strict: bool = STRICT

    Cs_: Array = fitted("Weights of the losses that were tried, shape (c,).", shape="(c,)", above=0, answers=False)
    l1_ratios_: Array = fitted(
        "Shares of the absolute values that were tried, shape (r,).", shape="(r,)", low=0, high=1, answers=False
    )
    C_: float = fitted("The chosen weight of the losses.", above=0)
    l1_ratio_: float = fitted("The chosen share of the absolute values.", low=0, high=1)
    scores_: Array = fitted(
        "Score of each fold, share and weight, shape (f, r, c); NaN for folds that Ctrl-C left out.",
        shape="(f, r, c)",
        finite=False,
        nan=True,
        answers=False,
    )
    coefs_paths_: Array = fitted(
        "Coefficients of each fold with the intercept last, shape (f, r, c, k, p + 1).",
        shape="(f, r, c, *, *)",
        finite=False,
        nan=True,
        answers=False,
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the strength and find the coefficients."""
        data = self._fit_data(X, y, sample_weight)
        weights, ratios = self._weights(), self._ratios()
        self.scores_, self.coefs_paths_, is_interrupted = self._judged(data, weights, ratios)
        self.Cs_, self.l1_ratios_ = weights, ratios
        judged = np.count_nonzero(~np.isnan(self.scores_[:, :, 0]), axis=0)
        tried = np.flatnonzero(judged == judged.max())  # an interrupted share is not compared with those of all folds
        mean = self.scores_[: judged.max(), tried].mean(axis=0)
        level = mean.max() - TIE * (1.0 + abs(mean.max()))
        best = np.unravel_index(int(np.argmax(mean >= level)), mean.shape)
        self.C_, self.l1_ratio_ = float(weights[best[1]]), float(ratios[tried[best[0]]])
        options = FitOptions(self.fit_intercept, self.tol, self.max_iter, self.strict, self.verbose)
        fit_classes(self, data, Strength(self.C_, self.l1_ratio_), options, self.class_weight, None)
        if is_interrupted:
            raise KeyboardInterrupt
        return self

    def _judged(self, data: FitData, weights: Any, ratios: Any) -> tuple[Array, Array, bool]:
        """Return scores and coefficients of all strengths on all folds, and whether Ctrl-C came before the last fold."""
        owner = type(self).__name__
        score, weighed = self._scorer(data), self._weighed(data)
        constant = constant_of(self, len(data.classes))
        folds = list(folds_of(owner, self.cv, data.X, data.y, data.weight, classes=True))
        n_scores, p = (1 if len(data.classes) == 2 else len(data.classes)), data.X.shape[1]
        scores = np.full((len(folds), len(ratios), len(weights)), np.nan)
        paths = np.full((*scores.shape, n_scores, p + 1), np.nan)
        try:
            for at, ratio in enumerate(ratios):
                strengths = tuple(Strength(float(C), float(ratio)) for C in weights)
                path = Path(strengths, self.fit_intercept, self.tol, self.max_iter, self.verbose, constant)
                found = follow_together(path, weighed, [train for train, _ in folds])
                for fold, (train, test) in enumerate(folds):
                    w, b = (
                        follow_path(owner, path, weighed, train) if found is None else (found[0][fold], found[1][fold])
                    )
                    scores[fold, at] = score(w, b, test)
                    paths[fold, at] = np.concatenate([w, b[:, :, np.newaxis]], axis=2)
                    if np.isnan(scores[fold, at]).any():
                        raise InvalidParameter(
                            f"{owner}.scoring gave NaN. A score is a number, larger for a better model."
                        )
        except KeyboardInterrupt:
            if np.isnan(scores).all():
                raise
            return scores, paths, True
        return scores, paths, False

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score that the strength was chosen by.

        Returns
        -------
        float
            Larger is better.
        """
        if self.scoring in (None, "accuracy"):
            return super().score(X, y, sample_weight)
        if callable(self.scoring):
            return float(self.scoring(self, X, y))
        if not isinstance(self.scoring, str) or self.scoring not in SCORES:
            raise InvalidParameter(f"LogisticRegressionCV.scoring must be one of {', '.join(SCORES)} or a function.")
        log_p = self.predict_log_proba(X).astype(np.float64)
        codes = np.searchsorted(self.classes_, np.asarray(y))
        s = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return SCORES[self.scoring](log_p, codes, s)

    def _weighed(self, data: FitData) -> FitData:
        """Return the data with the weights of classes, which are those of all rows in every fold."""
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        factor = class_factors(type(self).__name__, self.class_weight, data.classes, data.y, s)
        return data if factor is None else data._replace(weight=s * factor)

    def _weights(self) -> Any:
        """Return the weights of the losses to try."""
        if np.ndim(self.Cs) == 0:
            return np.logspace(-4, 4, int(np.asarray(self.Cs)))
        weights = np.asarray(self.Cs, dtype=np.float64)
        if not len(weights) or not (weights > 0).all():
            raise InvalidParameter(f"{type(self).__name__}.Cs must hold numbers > 0, got {self.Cs!r:.200}.")
        return weights

    def _ratios(self) -> Any:
        """Return the shares of the absolute values to try."""
        if self.penalty in ("l1", "l2"):
            return np.array([1.0 if self.penalty == "l1" else 0.0])
        ratios = np.array([0.0]) if self.l1_ratios is None else np.asarray(self.l1_ratios, dtype=np.float64)
        if not len(ratios) or not ((ratios >= 0) & (ratios <= 1)).all():
            raise InvalidParameter(
                f"{type(self).__name__}.l1_ratios must hold numbers between 0 and 1, got {self.l1_ratios!r:.200}."
            )
        return ratios

    def _scorer(self, data: Any) -> Any:
        """Return a function of coefficients and intercepts of each strength, and the rows to judge by."""
        scoring: Any = self.scoring
        if callable(scoring):

            def by_model(w: Any, b: Any, test: Any) -> list[float]:
                found = []
                for coef, intercept in zip(w, b, strict=True):
                    model: Any = LogisticRegression(fit_intercept=self.fit_intercept)
                    model.coef_, model.intercept_, model.classes_ = coef, intercept, data.classes
                    model.n_features_in_ = coef.shape[1]
                    found.append(float(scoring(model, data.X[test], data.classes[data.y[test]])))
                return found

            return by_model
        name = "accuracy" if self.scoring is None else self.scoring
        if not isinstance(name, str) or name not in SCORES:
            raise InvalidParameter(
                f"{type(self).__name__}.scoring must be one of {', '.join(map(repr, SCORES))}, None or a function of (model,"
                f" X, y), got {self.scoring!r:.100}."
            )

        def by_name(w: Any, b: Any, test: Any) -> list[float]:
            s = np.ones(len(test)) if data.weight is None else data.weight[test]
            return [SCORES[name](log_p, data.y[test], s) for log_p in log_probabilities(data.X[test], w, b)]

        return by_name
