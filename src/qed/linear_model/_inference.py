"""Standard errors and intervals of least-squares coefficients, where theory gives them, and refusal where it does not."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.linear_model._factors import factorise
from qed.linear_model._linear import CoefficientTable, require_names
from qed.linear_model._quadratic import Quadratic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def refused_table(model: Any) -> NoReturn:
    """Say why a model has no standard errors, and what has."""
    name = type(model).__name__
    raise InvalidData(
        f"No standard errors: {name} shrinks its coefficients, selects columns or weights rows by their own errors,"
        " and the classical intervals would then not cover the truth as often as they say. Use"
        " LinearRegression().fit(X, y).coefficient_table(), or LogisticRegression(C=np.inf).fit(X, y).coefficient_table(X=X), on"
        " columns that were chosen on other rows; for bounds on predictions use"
        f" {name}.certify(X_held, y_held)."
    )


def coefficient_table(model: Any, level: float, *, alpha: Any, intercept: bool) -> CoefficientTable:
    """Return the classical table of an unpenalised fit; raise in words where it would not be valid."""
    if np.any(np.asarray(alpha) > 0):
        msg = (
            "No standard errors: a penalty shrinks the coefficients by an amount that cannot be estimated from the data,"
            " so an interval around them would not cover the truth as often as it says. Use LinearRegression."
        )
        raise InvalidData(msg)
    if not (isinstance(level, Real) and 0 < level < 1):
        msg = f"level must be a number between 0 and 1, such as 0.95, got {level!r}."
        raise InvalidParameter(msg)
    moments = model.__dict__.get("moments_")
    if moments is None:
        msg = (
            "No standard errors: this fit had fewer rows than columns, or did without the products of columns that they"
            " need. Use more rows than columns; for sparse columns learn by partial_fit, which keeps the products."
        )
        raise InvalidData(msg)
    quadratic = Quadratic.of(moments, intercept=intercept)
    free = moments.weight - moments.n_features - intercept
    factor = factorise(quadratic, 0.0)
    if factor is None or factor.rank < moments.n_features:
        msg = (
            f"No standard errors: the columns have rank {model.rank_} and there are {moments.n_features}, so some coefficients"
            " can be changed without changing a prediction. Drop dependent or constant columns."
        )
        raise InvalidData(msg)
    if not free > 0:
        msg = f"No standard errors: {moments.weight:g} observations leave no degree of freedom beside the coefficients."
        raise InvalidData(msg)
    variance = np.atleast_1d(model.squared_residuals_) / free
    root = factor.inverse * factor.d  # L⁻¹D, so that S⁻¹ = rootᵀ root
    shape = np.einsum("kp,kp->p", root, root)
    estimate = np.atleast_2d(model.coef_).astype(np.float64)
    names = require_names(model)
    if intercept:
        along = root @ quadratic.mean_x
        shape = np.append(shape, 1 / moments.weight + along @ along)
        estimate = np.column_stack([estimate, np.broadcast_to(model.intercept_, len(estimate))])
        names = (*names, "intercept")
    error = np.sqrt(np.multiply.outer(variance, shape))
    reach = _student_quantile(free, level) * error
    lower, upper = estimate - reach, estimate + reach
    if model.coef_.ndim == 1:
        estimate, error, lower, upper = estimate[0], error[0], lower[0], upper[0]
    return CoefficientTable(names, estimate, error, lower, upper, float(level), float(free))


def _student_quantile(free: float, level: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  (SciPy costs a fifth of a second, and only intervals need it)

    return float(stdtrit(free, 0.5 + level / 2))
