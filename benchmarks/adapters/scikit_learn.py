"""scikit-learn, at its defaults, except for the tolerance that equal quality needs."""

from __future__ import annotations

from typing import Any

NAME = "scikit-learn"
LIBRARY = "sklearn"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("scikit-learn", "scipy")}


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    from sklearn import linear_model, multiclass, svm

    if task.startswith("OneVs"):
        return getattr(multiclass, task)(estimator(params["estimator"]))
    if task == "LinearSVC":  # the way that its documentation recommends for the shape and the penalty
        return svm.LinearSVC(dual=params.get("loss") == "hinge", **params)
    if task == "LinearSVR":  # squares in the primal; without them the tolerance is one at which the objective is equal
        squares = params.get("loss") == "squared_epsilon_insensitive"
        return svm.LinearSVR(**{"dual": not squares, "tol": 1e-4 if squares else 1e-6, "max_iter": 1_000_000, **params})
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
    kind = getattr(linear_model, task, None)
    return None if kind is None else kind(**params)


def score(task: str) -> Any:
    from sklearn import metrics

    return getattr(metrics, task)


def workflow(task: str, **params: Any) -> Any:
    """A function of table and target: a transformer fitted and applied, or a way to use models."""
    from sklearn import feature_extraction, impute, linear_model, model_selection, pipeline, preprocessing

    if task == "GridSearchCV":
        grid = {"alpha": params["alphas"]}
        return lambda X, y: model_selection.GridSearchCV(linear_model.Ridge(), grid, cv=5).fit(X, y).best_score_
    if task == "cross_validate":
        model, scoring = linear_model.LogisticRegression(), "neg_log_loss"
        return lambda X, y: model_selection.cross_validate(model, X, y, cv=5, scoring=scoring)["test_score"].mean()
    if task == "SequentialFeatureSelector":
        from sklearn.feature_selection import SequentialFeatureSelector

        model = linear_model.LinearRegression()
        return lambda X, y: SequentialFeatureSelector(model, **params).fit(X, y).transform(X)
    if task == "Pipeline":
        steps = preprocessing.StandardScaler(), linear_model.Ridge()
        return lambda X, y: pipeline.make_pipeline(*steps).fit(X, y).predict(X)
    home = next(
        module
        for module in (preprocessing, impute, feature_extraction, feature_extraction.text)
        if hasattr(module, task)
    )
    kind = getattr(home, task)
    return lambda X, y: kind(**params).fit_transform(X, y)
