"""Linear models as candidates for a table.

Penalty strengths are stated per row and in units of the target, so that a strength found on some rows means the same on all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.calibration import CalibratedClassifierCV
from qed.compose import TransformedTargetRegressor
from qed.linear_model._elastic_net import ElasticNet
from qed.linear_model._huber_regressor import HuberRegressor
from qed.linear_model._lasso import Lasso
from qed.linear_model._logistic_regression import LogisticRegression
from qed.linear_model._poisson_regressor import PoissonRegressor
from qed.linear_model._ridge import Ridge
from qed.linear_model._ridge_cv import RidgeCV
from qed.model_selection._candidate import CALIBRATION_FOLDS, RARE, Candidate, near_strengths

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.model_selection._candidate import TableTask

WIDE_TABLE = 300  # columns: beyond, leave-one-out, which factors the table for every fold, costs more than trying a few strengths
ROWS_WITHOUT_CHOICE = 50_000  # with far more rows than columns every small strength gives the same ridge


def candidates(task: TableTask) -> list[Candidate]:
    """List the linear models for a table, most promising first."""
    return _regressors(task) if task.kind == "regression" else _classifiers(task)


def _regressors(task: TableTask) -> list[Candidate]:
    splines = task.has_splines and task.width <= WIDE_TABLE
    found = [Candidate("ridge regression", "", _ridge)]
    if task.width > WIDE_TABLE:
        found = [_lasso(0.03)]  # of many columns few matter, as a rule
        found += [_plain_ridge(alpha) for alpha in (1e-1, 1e-2, 1.0)]
    if splines:
        found.append(Candidate("linear regression with splines", "", _ridge, "splines"))
    if splines and task.has_products:
        found.append(Candidate("linear regression with splines and interactions", "", _ridge, "interactions"))
    if task.is_positive:
        logs = [
            ("linear regression of the logarithm", "linear"),
            ("linear regression of the logarithm with splines", "splines"),
            ("linear regression of the logarithm with splines and interactions", "interactions"),
        ]
        found += [
            Candidate(family, "", _ridge_of_logarithm, form)  # type: ignore[arg-type]
            for family, form in logs
            if form == "linear" or (splines and (form == "splines" or task.has_products))
        ]
    if task.counts:
        found += [_poisson("Poisson regression", alpha) for alpha in (1e-3, 1e-1)]
        if splines:
            found.append(_poisson("Poisson regression with splines", 1e-2, "splines"))
    found += [_lasso(alpha) for alpha in (0.01, 0.1, 0.001)]
    found.append(Candidate("Huber regression", "", _huber))
    found += [_elastic_net(alpha) for alpha in (0.02, 0.2, 0.002)]
    return found


def _classifiers(task: TableTask) -> list[Candidate]:
    kind = "logistic" if task.kind == "binary" else "multinomial"
    first, *others = (_logistic(f"{kind} regression", alpha) for alpha in (1e-2, 1e-3, 1e-1, 1e-4))
    found = [first]
    splines = task.has_splines and task.width <= WIDE_TABLE
    if splines:
        found += [
            _logistic(f"{kind} regression with splines", alpha, preparation="splines") for alpha in (1e-3, 1e-2, 1e-4)
        ]
    if splines and task.has_products:
        found += [
            _logistic(f"{kind} regression with splines and interactions", alpha, preparation="interactions")
            for alpha in (1e-3, 1e-2)
        ]
    found += others
    found += [_logistic(f"sparse {kind} regression", alpha, l1_ratio=1.0) for alpha in (3e-3, 1e-2, 1e-3)]
    if task.rarest < RARE:
        found += [_weighted_logistic(f"calibrated class-weighted {kind} regression", alpha) for alpha in (1e-2, 1e-3)]
    return found


def _ridge(n_rows: int, _: float) -> Any:
    if n_rows > ROWS_WITHOUT_CHOICE:
        return Ridge(alpha=3e-7 * n_rows)
    return RidgeCV(alphas=np.logspace(-3, 4, 15))


def _ridge_of_logarithm(n_rows: int, spread: float) -> Any:
    return TransformedTargetRegressor(_ridge(n_rows, spread), func=np.log, inverse_func=np.exp, check_inverse=False)


def _huber(n_rows: int, spread: float) -> Any:
    return HuberRegressor(alpha=1e-4 * n_rows / spread)  # its losses grow as the target does, squares as its square


def _plain_ridge(alpha: float) -> Candidate:
    return _penalised("ridge regression", alpha, _plain_ridge, lambda n, _: Ridge(alpha=alpha * n))


def _lasso(alpha: float) -> Candidate:
    return _penalised("lasso", alpha, _lasso, lambda _, spread: Lasso(alpha=alpha * spread))


def _elastic_net(alpha: float) -> Candidate:
    def make(_: int, spread: float) -> Any:
        # absolute values scale with the target and squares do not: each part gets its own strength
        return ElasticNet(alpha=alpha * spread + alpha, l1_ratio=spread / (spread + 1))

    return _penalised("elastic net", alpha, _elastic_net, make)


def _poisson(family: str, alpha: float, preparation: Any = "linear") -> Candidate:
    again = partial(_poisson, family, preparation=preparation)
    return _penalised(family, alpha, again, lambda *_: PoissonRegressor(alpha=alpha), preparation)


def _logistic(family: str, alpha: float, *, l1_ratio: float = 0.0, preparation: Any = "linear") -> Candidate:
    def make(n_rows: int, _: float) -> Any:
        return LogisticRegression(C=1 / (alpha * n_rows), l1_ratio=l1_ratio, tol=1e-6, solver="saga")

    return _penalised(
        family, alpha, partial(_logistic, family, l1_ratio=l1_ratio, preparation=preparation), make, preparation
    )


def _weighted_logistic(family: str, alpha: float) -> Candidate:
    """Give every class the same weight in the fit, and the probabilities their frequencies back on other folds."""

    def make(n_rows: int, _: float) -> Any:
        inner = LogisticRegression(C=1 / (alpha * n_rows), tol=1e-6, solver="saga", class_weight="balanced")
        return CalibratedClassifierCV(inner, method="sigmoid", cv=CALIBRATION_FOLDS, ensemble=False)

    return _penalised(family, alpha, partial(_weighted_logistic, family), make)


def _penalised(
    family: str,
    alpha: float,
    again: Callable[[float], Candidate],
    make: Callable[[int, float], Any],
    preparation: Any = "linear",
) -> Candidate:
    """Offer a model of one strength; where it is among the best, the strengths beside it are tried too."""
    return Candidate(
        family, f"strength {alpha:g}", make, preparation, refine=lambda: [again(one) for one in near_strengths(alpha)]
    )
