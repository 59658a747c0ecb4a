"""Candidates and folds on the workers of a cluster: the table that is found here."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from clusters import two_workers

import qed
from qed.datasets import make_classification
from qed.model_selection import GridSearchCV, cross_val_predict, cross_validate
from qed.neighbors import KNeighborsClassifier
from qed.tree import DecisionTreeClassifier

pytestmark = pytest.mark.filterwarnings("default")  # Dask warns of ports in use

X, y = make_classification(n_samples=120, n_features=4, random_state=0)


def test_a_search_finds_the_same_table():
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3], "min_samples_leaf": [1, 9]}, cv=3
    )
    here = qed.clone(search).fit(X, y)
    with qed.executor(two_workers()):
        there = qed.clone(search).fit(X, y)
    threads = qed.clone(search).set_params(n_jobs=2).fit(X, y)
    for other in (there, threads):
        assert other.best_params_ == here.best_params_
        np.testing.assert_array_equal(other.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    assert qed.verify(there, X, y).holds


def test_a_worker_killed_during_a_search_changes_nothing(tmp_path):
    client, marker, here_id = two_workers(), str(tmp_path / "died"), os.getpid()

    def score(model, rows, labels):
        try:
            if os.getpid() != here_id:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
        return model.score(rows, labels)

    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}, cv=3, scoring=score)
    with qed.executor(client):
        there = qed.clone(search).fit(X, y)
    assert (tmp_path / "died").exists()
    here = qed.clone(search).fit(X, y)
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])


def test_folds_are_judged_by_the_workers():
    model = KNeighborsClassifier(3)
    here = cross_validate(model, X, y, cv=4, return_train_score=True)
    with qed.executor(two_workers()):
        there = cross_validate(model, X, y, cv=4, return_train_score=True)
        said = cross_val_predict(model, X, y, cv=4)
    for name in ("test_score", "train_score"):
        np.testing.assert_array_equal(there[name], here[name])
    np.testing.assert_array_equal(said, cross_val_predict(model, X, y, cv=4))


def test_a_budget_stops_a_search_with_jobs():
    search = GridSearchCV(
        DecisionTreeClassifier(), {"max_depth": list(range(1, 9))}, cv=3, budget=1e-9, n_jobs=2, refit=False
    )
    search.fit(X, y)
    assert search.outcome_ == "budget"
    assert len(search.cv_results_["params"]) == 1
