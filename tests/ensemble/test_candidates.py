"""Forests and boosting among the candidates of ``qed fit``."""

import numpy as np
import pytest

from qed import study
from qed.ensemble._candidates import candidates
from qed.model_selection._candidate import TableTask, declared_candidates


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_every_candidate_learns_what_a_line_cannot(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    radius = np.hypot(X[:, 0], X[:, 1])
    y = radius if kind == "regression" else np.digitize(radius, [1.2] if kind == "binary" else [0.9, 1.5])
    found = candidates(TableTask(kind, False, 3, True))
    assert len({one.title for one in found}) == len(found) >= 5
    for one in found:
        model = one.make(len(y), float(y.std())).fit(X[:300], y[:300])
        assert model.score(X[300:], y[300:]) > 0.5, one.title


def test_boosting_or_a_forest_wins_where_no_line_fits_and_its_proof_is_accepted(monkeypatch):
    # tests of other packages, of which some may run between these, try fewer
    monkeypatch.setattr("qed.study._recipes.declared_candidates", declared_candidates)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": np.sign(X[:, 0] * X[:, 1]) + 0.1 * rng.normal(size=400)}
    found = study.fit(table, "y", budget=30)
    assert "boosting" in found.winner.title or "tree" in found.winner.title or "forest" in found.winner.title
    assert found.checked is not None
    assert found.checked.is_accepted, found.checked.words
    assert found.model.verify(table)
