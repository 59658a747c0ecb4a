"""Ridge regression whose strength is chosen by the rows it did not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.core import KW_ONLY, Array, InvalidData, NonNegativeInt, Positive, Vector, fitted, param
from qed.core._shared_params import FIT_INTERCEPT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.core._validation import is_source, learn_columns, require_fit_source, require_source_target
from qed.data import ArraySource
from qed.linear_model._choose import Choice, ChoiceResult, by_folds, by_folds_of_source, by_leaving_one_out
from qed.linear_model._learn import Settings, learn_rows, learn_wide, relearn, require_products
from qed.linear_model._least_squares import Solved

if TYPE_CHECKING:
    from qed.core import FitData


def _one_for_each_target(model: Any, alpha: Any) -> str:
    """Say what is wrong with strengths: there are several only where targets choose their own."""
    return "should be one number" if np.ndim(alpha) and not model.alpha_per_target else ""


class RidgeCV(Solved):
    r"""Ridge regression with the penalty strength chosen by exact leave-one-out or k-fold cross-validation.

    Objective
    ---------
    .. math:: \sum_i s_i \, \|y_i - x_i^\top w - b\|^2 + \alpha \|w\|^2

    with :math:`\alpha` the strength in ``alphas`` whose predictions of left-out rows score best.

    Certificate
    -----------
    LeastSquaresCertificate of the fit on all rows with the chosen strength: no (w, b) lowers the objective by more than
    ``gap``.

    Cost
    ----
    One pass for the products of columns, one decomposition O(p^3) for all strengths together, one more pass for the
    leverages: O(n p (p + k)) for k strengths, with O(p^2) memory beyond X. With fewer rows than columns O(n^2 p). With
    folds: one pass, one decomposition a fold, one product with all strengths at once.

    See Also
    --------
    Ridge : The same with a given strength.

    Notes
    -----
    A weight counts as repetition in a fit and in the score. A row is left out whole, whatever its weight.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import RidgeCV
    >>> X, y = make_regression(n_samples=200, n_features=5, noise=1.0, random_state=0)
    >>> RidgeCV(alphas=[0.01, 1.0, 100.0]).fit(X, y).alpha_ in (0.01, 1.0, 100.0)
    True
    """

    alphas: Positive | Vector = param((0.1, 1.0, 10.0), "Strengths to choose from, all above zero.")
    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    scoring: Any = param(
        None,
        "Score to maximise: 'neg_mean_squared_error', 'neg_mean_absolute_error', 'r2', or a function of (model, X, y) as in "
        "scikit-learn. None means the squared error for leave-one-out and R² for folds.",
    )
    cv: Any = param(None, "Folds: None for leave-one-out, a number, a splitter, or pairs of (train, test) indices.")
    gcv_mode: Literal["auto", "svd", "eigen"] | None = param(
        None, "Decomposition that scikit-learn would use; the predictions are the same.", kind="hint"
    )
    store_cv_results: bool = param(
        False, "Whether to keep what leave-one-out found for every row, target and strength."
    )
    alpha_per_target: bool = param(False, "Whether each target chooses its own strength.")
    verbose: NonNegativeInt = VERBOSE

    alpha_: float | Array = fitted(
        "The chosen strength, or one for each target.", low=0, shape="(m,)", check=_one_for_each_target
    )
    best_score_: float | Array = fitted("Its score.", finite=False, shape="(m,)", answers=False)
    cv_results_: Array = fitted(
        "Squared errors (or predictions, with ``scoring``), shape (n, k) or (n, m, k); if stored.",
        finite=False,
        nan=True,
        optional=True,
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the strength and find the coefficients.

        Parameters
        ----------
        X : array-like, frame or sparse container of shape (n, p), or a source from ``qed.scan``
            Rows to learn from; a source brings its own target, and is read once for all folds (``cv`` must be given).
        """
        if is_source(X):
            return self._fit_source(X, y, sample_weight)
        data = self._fit_data(X, y, sample_weight, finite=False)
        if not isinstance(data.X, np.ndarray) or data.n_rows <= data.X.shape[1]:
            data.raise_if_not_finite()  # elsewhere the pass for the products notices
        y2 = data.y.reshape(data.n_rows, -1).astype(np.float64)
        flat = data.y.ndim == 1
        found = chosen(self._choice(), data, y2)
        self.alpha_ = (
            found.alpha[0] if len(found.alpha) == 1 and not (self.alpha_per_target and not flat) else found.alpha
        )
        self.best_score_ = found.score[0] if np.ndim(self.alpha_) == 0 else found.score
        self.__dict__.pop("cv_results_", None)
        if found.results is not None:
            self.cv_results_ = found.results[:, 0] if flat else found.results
        learn_chosen(self, found, data, y2, flat=flat)
        return self

    def _choice(self) -> Choice:
        return Choice(
            alphas=np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)),
            intercept=self.fit_intercept,
            scoring=self.scoring,
            cv=self.cv,
            per_target=self.alpha_per_target,
            keep=self.store_cv_results,
        )

    def _fit_source(self, source: Any, y: Any, sample_weight: Any) -> Self:
        """Choose the strength by folds of rows that come in chunks, in one pass."""
        self._validate_params()
        require_fit_source(self, source, y, sample_weight)
        require_source_target(self, source)
        if self.cv is None:
            raise InvalidData(
                "RidgeCV needs all rows in memory to leave each one out, and got a source of chunks. Choose by folds: cv=5."
            )
        schema = source.schema
        require_products(schema.n_features + schema.n_targets, "Choose fewer features=.")
        learn_columns(self, schema.n_features, schema.names, reset=True)
        found = by_folds_of_source(self._choice(), source)
        assert found.moments is not None  # noqa: S101  (folds share out the rows)
        self.alpha_, self.best_score_ = found.alpha[0], found.score[0]
        self.__dict__.pop("cv_results_", None)
        relearn(self, found.moments, self._settings(), flat=schema.n_targets == 1, source=source)
        return self

    def _settings(self) -> Settings:
        return Settings(
            intercept=self.fit_intercept,
            tol=1e-4,
            max_iter=None,
            strict=False,
            verbose=self.verbose,
            alpha=self.alpha_,
        )


def chosen(choice: Choice, data: FitData, y: Array) -> ChoiceResult:
    """Choose a strength for targets (n, m), by leaving out rows one by one or by folds."""
    choose = by_leaving_one_out if choice.cv is None else by_folds
    try:
        with one_blas_thread():
            return choose(choice, data.X, y, data.weight)
    except InvalidData:
        data.raise_if_not_finite()  # says so with the name of the column
        raise


def learn_chosen(model: Any, found: ChoiceResult, data: FitData, y: Array, *, flat: bool) -> None:
    """Fit a least-squares model with the strength that was chosen, from what the choice has made already."""
    settings = model._settings()  # noqa: SLF001
    if found.moments is not None:
        relearn(model, found.moments, settings, flat=flat, source=ArraySource(data.X, y, data.weight))
    elif found.rows is not None:
        learn_wide(model, *found.rows, settings, flat=flat)
    else:
        learn_rows(model, data, settings)
