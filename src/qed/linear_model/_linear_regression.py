"""Ordinary least squares."""

from __future__ import annotations

from qed.core import KW_ONLY, NonNegative, NonNegativeInt, PositiveInt, param
from qed.core._shared_params import COPY_X, FIT_INTERCEPT, STRICT, VERBOSE
from qed.linear_model._learn import Settings
from qed.linear_model._least_squares import LeastSquares


class LinearRegression(LeastSquares):
    r"""Ordinary least squares; the solution of minimum norm if the columns are linearly dependent.

    Objective
    ---------
    .. math:: \sum_i s_i \, \|y_i - x_i^\top w - b\|^2

    Certificate
    -----------
    LeastSquaresCertificate: no (w, b) lowers the objective by more than ``gap``; and the relative change of the data that
    makes the coefficients exactly optimal. Where columns are dependent the statement holds within ``radius``.

    Cost
    ----
    One pass over the rows, O(n p^2) operations and O(p^2) memory beyond X, which is never copied; a second and third pass
    when the condition number is above 1e3 and 1e6. With no more rows than columns O(n^2 p) and O(n^2). Sparse designs of
    more than 128 columns take two products a step of conjugate gradients, and O(n + p) memory, as long as that is cheaper.
    The p^2 numbers stay with the model, for ``partial_fit``, ``forget`` and ``coefficient_table``.

    See Also
    --------
    Ridge : The same with a penalty on large coefficients.

    Notes
    -----
    A weight counts as repetition: weight two is the row twice. Columns may have very different units: rank is judged with
    all columns scaled to unit length. From scikit-learn: predictions agree to rounding; ``singular_`` is not kept.

    Examples
    --------
    >>> from qed.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[2.0], [4.0]], [3.0, 5.0])
    >>> model.predict([[5.0]]).round(6)
    array([6.])
    >>> model.certificate_.reached
    True
    """

    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to the objective of the intercept alone.")
    n_jobs: int | None = param(None, "Number of threads; None means the current setting, -1 all cores.")
    positive: bool = param(
        False,
        "Whether coefficients must be nonnegative.",
        kind="refused",
        instead="Use Lasso(alpha=0.0, positive=True), which minimises half the mean of the same squares.",
    )
    max_iter: PositiveInt | None = param(
        None, "Most steps of the iterative solver, which only wide sparse designs need."
    )
    strict: bool = STRICT
    warm_start: bool = param(False, "Whether an iterative fit starts from the coefficients there are.")
    verbose: NonNegativeInt = VERBOSE

    def _settings(self) -> Settings:
        return Settings(
            intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            strict=self.strict,
            verbose=self.verbose,
            threads=self.n_jobs,
        )
