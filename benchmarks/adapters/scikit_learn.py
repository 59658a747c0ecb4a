"""scikit-learn, at its defaults, except for the tolerance that equal quality needs."""

from __future__ import annotations

from typing import Any

NAME = "scikit-learn"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("scikit-learn", "scipy")}


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    from sklearn import linear_model, svm

    if task == "LinearSVC":  # the way that its documentation recommends for the shape and the penalty
        return svm.LinearSVC(dual=params.get("loss") == "hinge", **params)
    if task == "LinearRegression" or (sparse and task == "Ridge"):
        # by default it stops early on sparse data and drops weak directions of dense data: a worse objective
        params["tol"] = 1e-12
    if task == "HuberRegressor":
        params.setdefault("max_iter", 1000)  # its default stops short of the quality that is compared
    if sparse and task == "LogisticRegression":
        params |= {"tol": 1e-7, "max_iter": 10_000}  # at its defaults it stops 1.5 % above the optimum
    return getattr(linear_model, task)(**params)


def score(task: str) -> Any:
    from sklearn import metrics

    return getattr(metrics, task)
