r"""Standard errors of a logistic regression without a penalty, by Wald's method.

The maximum of the likelihood is asymptotically normal about the truth, with the inverse of the Fisher information
:math:`\sum_i s_i (\operatorname{diag} p_i - p_i p_i^\top) \otimes a_i a_i^\top` as its covariance: a the columns and a one, p the
probabilities of all classes but the reference.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.core._targets import weights
from qed.core._validation import is_source
from qed.linear_model._inference import refused_table
from qed.linear_model._linear import CoefficientTable, require_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

BLOCK = 1 << 20  # entries of rows in memory at a time
SINGULAR = (
    1e-10  # smallest share of the information, in units of its own diagonal, along which coefficients are determined
)


def wald_table(model: Any, level: float, X: Any, sample_weight: Any) -> CoefficientTable:
    """Return the table of a fit without a penalty; raise in words where it would not be valid."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise InvalidParameter(f"level must be a number between 0 and 1, such as 0.95, got {level!r}.")
    if np.isfinite(model.C) and model.penalty is not None:
        refused_table(model)
    _require_maximum(model)
    if X is None or is_source(X):
        raise InvalidParameter(
            "Standard errors of a logistic regression depend on the rows, which the model does not keep: pass those of the fit, as"
            " coefficient_table(X=X), with their sample_weight if they had one. A source is not accepted: pass rows in memory."
        )
    rows = model._new_data(X)  # noqa: SLF001
    s = weights(sample_weight, rows.shape[0])
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1:]
    information = _information(rows, np.ones(len(chances)) if s is None else s, chances, intercept=model.fit_intercept)
    error = np.sqrt(np.diag(_inverse(information))).reshape(len(model.classes_) - 1, -1)
    coef, intercept = model.log_odds_coefficients()
    names = require_names(model)
    estimate = np.asarray(coef, dtype=np.float64)
    if model.fit_intercept:
        estimate, names = np.column_stack([estimate, intercept]), (*names, "intercept")
    from scipy.special import ndtri  # noqa: PLC0415  (SciPy costs a fifth of a second, and only intervals need it)

    reach = float(ndtri(0.5 + level / 2)) * error
    lower, upper = estimate - reach, estimate + reach
    if len(estimate) == 1:
        estimate, error, lower, upper = estimate[0], error[0], lower[0], upper[0]
    return CoefficientTable(names, estimate, error, lower, upper, float(level), np.inf)


def _require_maximum(model: Any) -> None:
    """Refuse coefficients that do not maximise the likelihood of rows that count as they are."""
    proof = model.certificate_
    if proof.outcome in ("separable", "quasi_separable"):
        raise InvalidData(
            f"No standard errors: the classes are {proof.outcome.replace('_', '-')}, so that the likelihood has no maximum and"
            " some coefficients are as large as the solver let them grow. Drop the columns that separate a class, or get more rows."
        )
    if not proof.reached:
        raise InvalidData(
            f"No standard errors: the fit stopped before its tolerance ({proof.statement}) Raise max_iter and fit again."
        )
    if model.class_weight is not None:
        raise InvalidData(
            "No standard errors: class_weight counts rows more or less often than they were observed, and the information of"
            " the rows would be overstated or understated. Fit with class_weight=None."
        )


def _information(X: Any, s: Array, chances: Array, *, intercept: bool) -> Array:
    """Return the Fisher information of the log-odds against the first class, class by class."""
    k, width = chances.shape[1], X.shape[1] + intercept
    total = np.zeros((k, width, k, width))
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    size = max(1, BLOCK // max(width, 1))
    for first in range(0, X.shape[0], size):
        part = X[first : first + size]
        a = np.asarray(part if isinstance(part, np.ndarray) else part.toarray(), dtype=np.float64)
        a = np.column_stack([a, np.ones(len(a))]) if intercept else a
        own, chance = s[first : first + size], chances[first : first + size]
        for i in range(k):
            for j in range(i + 1):
                curvature = own * chance[:, i] * ((i == j) - chance[:, j])
                block = (a * curvature[:, None]).T @ a
                total[i, :, j] += block
                if i != j:
                    total[j, :, i] += block
    return total.reshape(k * width, k * width)


def _inverse(information: Array) -> Array:
    """Return the covariance; refuse a direction along which the rows say nothing."""
    unit = np.sqrt(np.diag(information))
    if not (unit > 0).all():
        values = np.zeros(1)
    else:
        values, vectors = np.linalg.eigh(information / unit / unit[:, None])
    if values[0] <= SINGULAR * max(values[-1], 1e-300):
        raise InvalidData(
            "No standard errors: some coefficients can be changed without changing a probability that is undecided. Drop dependent"
            " or constant columns, and those that separate a class."
        )
    return np.asarray((vectors / values) @ vectors.T / unit / unit[:, None])
