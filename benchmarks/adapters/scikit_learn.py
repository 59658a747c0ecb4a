"""scikit-learn, at its defaults, except for the tolerance that equal quality needs."""

from __future__ import annotations

from typing import Any

NAME = "scikit-learn"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("scikit-learn", "scipy")}


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    from sklearn import linear_model

    if task == "LinearRegression" or (sparse and task == "Ridge"):
        # by default it stops early on sparse data and drops weak directions of dense data: a worse objective
        params["tol"] = 1e-12
    if task == "HuberRegressor":
        params.setdefault("max_iter", 1000)  # its default stops short of the quality that is compared
    if sparse and task == "LogisticRegression" and "l1_ratio" not in params:
        params |= {"tol": 1e-7, "max_iter": 10_000}  # at its defaults it stops 1.5 % above the optimum
    if task == "LogisticRegression" and params.get("solver") == "liblinear":
        params["tol"] = 1e-4  # of a norm of slopes: its objective is then equal to less than a millionth
    if task == "LogisticRegression" and params.get("solver") == "saga":
        params["max_iter"] = 10_000
    return getattr(linear_model, task)(**params)


def score(task: str) -> Any:
    from sklearn import metrics

    return getattr(metrics, task)
