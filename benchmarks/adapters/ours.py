"""qed itself, at its defaults: validation and certificate are part of the time."""

from __future__ import annotations

from typing import Any

NAME = "qed"
LIBRARY = "qed"


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    import qed

    try:
        return {"qed": version("qed")}
    except PackageNotFoundError:  # run from the source tree
        return {"qed": getattr(qed, "__version__", "source tree")}


def estimator(task: str, **params: Any) -> Any:
    from qed import compose, linear_model, svm

    if task.startswith("OneVs"):
        return getattr(compose, task)(estimator(params["estimator"]))
    return getattr(svm if task in ("LinearSVC", "LinearSVR") else linear_model, task)(**params)


def score(task: str) -> Any:
    from qed import metrics

    return getattr(metrics, task)


def workflow(task: str, **params: Any) -> Any:
    """A function of table and target: a transformer fitted and applied, or a way to use models."""
    from qed import compose, linear_model, model_selection, preprocessing

    if task == "GridSearchCV":
        grid = {"alpha": params["alphas"]}
        return lambda X, y: model_selection.GridSearchCV(linear_model.Ridge(), grid, cv=5).fit(X, y).best_score_
    if task == "cross_validate":
        model, scoring = linear_model.LogisticRegression(), "neg_log_loss"
        return lambda X, y: model_selection.cross_validate(model, X, y, cv=5, scoring=scoring)["test_score"].mean()
    if task == "SequentialFeatureSelector":
        from qed.feature_selection import SequentialFeatureSelector

        ols = linear_model.LinearRegression()
        return lambda X, y: SequentialFeatureSelector(ols, **params).fit(X, y).transform(X)
    if task == "Pipeline":
        steps = preprocessing.StandardScaler(), linear_model.Ridge()
        return lambda X, y: compose.make_pipeline(*steps).fit(X, y).predict(X)
    kind = getattr(preprocessing, task)
    return lambda X, y: kind(**params).fit_transform(X, y)
