"""Models of whole families, asked alike whoever made them: names and parameters are those of scikit-learn."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks import _bayes, _near, _trees

__all__ = ["answer", "is_known"]


def is_known(task: str) -> bool:
    """Whether a task is one of these models."""
    known = (*_near.TASKS, *_trees.TASKS, "PCA", "KMeans", "MLPClassifier")
    return task in known or task.partition(".")[0] in _bayes.MODELS


def answer(library: str, task: str, params: dict[str, Any]) -> Any:
    """A function of table and target, with the models of a library; None where it lacks what it needs."""
    name, _, ask = task.partition(".")
    if task in _near.TASKS:
        return _near.workflow(_model(library, "neighbors", task), **params)
    if task in _trees.TASKS:
        return _trees.grown(library, task, params)
    if name in _bayes.MODELS:
        home = "naive_bayes" if name.endswith("NB") else "discriminant_analysis"
        return _bayes.answer(_model(library, home, name), ask)
    if task == "PCA":
        pca = _model(library, "decomposition", task)
        return lambda X, _: float(1 - pca(**params).fit(X).explained_variance_ratio_.sum())  # what directions leave out
    if task == "KMeans":
        kmeans = _model(library, "cluster", task)
        return lambda X, _: kmeans(init=X[: params["n_clusters"]], n_init=1, **params).fit(X).inertia_
    return _network(library, task, params)


def _network(library: str, task: str, params: dict[str, Any]) -> Any:
    if library == "qed" and find_spec("torch") is None:
        return None
    network = _model(library, "neural_network", task)

    def mistaken(X: Any, y: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that passes have come to their number
            return max(0.0, 1.0 - network(**params["network"]).fit(X, y).score(X, y) - params["learnt"])

    return mistaken


def _model(library: str, home: str, name: str) -> Any:
    return getattr(import_module(f"{library}.{home}"), name)
