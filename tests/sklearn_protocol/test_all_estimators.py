"""scikit-learn's whole battery over every model of qed, and over the small ones that core is tested with."""

from __future__ import annotations

import os
from typing import Any

import pytest
import toys
from battery import checks_for
from instances import every_model, lacks

from qed.linear_model import (
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SquareRootLasso,
)
from qed.svm import LinearSVC, LinearSVR


def _instances() -> list[Any]:
    others = [toys.MeanRegressor(alpha=2.0, solver="sum"), toys.RandomColumns(n_components=1, random_state=3)]
    return [kind() for kind in toys.ALL] + others + every_model() + _unusual()


def _unusual() -> list[Any]:
    """Models of qed with parameters other than the defaults."""
    return [
        LinearRegression(fit_intercept=False, n_jobs=2),
        Ridge(0.0),
        Ridge(1e3, fit_intercept=False, solver="svd"),
        RidgeCV([0.5, 5.0], cv=3),
        RidgeCV(2.0, scoring="r2", fit_intercept=False),
        QuantileRegressor(quantile=0.2, alpha=0.001),
        QuantileRegressor(quantile=0.9, alpha=0.01, fit_intercept=False, solver="highs-ipm"),
        HuberRegressor(epsilon=2.0, alpha=0.0, tol=1e-8),
        SquareRootLasso(0.05, fit_intercept=False),
        LogisticRegression(l1_ratio=0.5, class_weight="balanced"),
        PoissonRegressor(alpha=0.0),
        LinearSVC(loss="hinge", multi_class="crammer_singer", tol=1e-13),
        LinearSVC("l1", class_weight="balanced"),
        LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive", tol=1e-13),
    ]


def _cases() -> list[Any]:
    cases = []
    whole = os.environ.get(
        "QED_PROTOCOL_WHOLE"
    )  # test_modes.py asks for some models, and one kind of check of the others
    for model in _instances():
        reason = lacks(type(model).__module__)
        if reason is not None:
            if whole is None:  # in other circumstances nothing is to be skipped, and what cannot be fitted is left out
                cases.append(pytest.param(None, id=f"{model!r}", marks=pytest.mark.skip(reason=reason)))
            continue
        every = whole is None or type(model).__name__ in whole.split()
        some = [(name, check) for name, check in checks_for(model) if every or "array_api" in name]
        cases += [pytest.param(check, id=f"{model!r}-{name}") for name, check in some]
    return cases


@pytest.mark.filterwarnings("ignore:No features were selected")  # of random labels a strict test rightly says so
@pytest.mark.parametrize("check", _cases())
def test_protocol(check: Any) -> None:
    check()
