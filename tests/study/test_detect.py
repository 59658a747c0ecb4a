"""Anomalies of a table: found, explained, at the chosen rate, by a model that scores new rows."""

import re
from dataclasses import replace

import numpy as np
import pytest

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.report._detect import _typical
from qed.study import _detect, detect
from qed.study._detect import METHODS, _threshold

N = 200


def table(n=N, seed=0):
    """Two numbers on a line, one by itself, a category; row 7 is far out, row 11 is off the line."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rows = {
        "x": x,
        "y": 2 * x + rng.normal(size=n) / 10,
        "z": rng.normal(size=n),
        "kind": np.array(["a", "b"])[rng.integers(2, size=n)].astype(object),
    }
    if seed == 0:
        rows["z"][7] = 30.0
        rows["x"][11], rows["y"][11] = 2.0, -4.0
    return {name: values.tolist() for name, values in rows.items()}


@pytest.fixture(scope="module")
def found():
    return detect(table(), rate=0.02, budget="600s")


def test_finds_and_explains(found):
    by_row = {one.row: one for one in found.anomalies}
    assert {7, 11} <= set(by_row)
    assert by_row[7].reasons[0].column == "z"
    assert by_row[11].reasons[0].column in ("x", "y")
    assert found.checked.is_accepted
    assert found.n_anomalous == np.sum(found.table["anomaly"])
    assert found.n_anomalous <= 0.02 * N + 1
    np.testing.assert_array_equal(found.table["row"], np.arange(1, N + 1))


def test_scores_new_rows_at_the_chosen_rate(found, tmp_path):
    found.model.save(tmp_path / "m.qed")
    model = qed.study.load(tmp_path / "m.qed")
    given = model.outputs(table(4000, seed=5))
    assert list(given) == ["anomaly", "score", "p_value"]
    assert 0 < np.mean(given["anomaly"]) <= found.bound  # 4000 rows of the same source; the seed is fixed
    assert model.predict({"x": [0.0], "y": [0.0], "z": [40.0], "kind": ["a"]}).tolist() == [True]
    assert model.verify(table()).holds


def test_a_changed_model_is_rejected(found):
    model = found.model
    rows = model.pipeline.steps_[-1][1].rows_  # nearest neighbours
    rows[0, 0] += 0.5
    with pytest.raises(CertificateError):
        model.verify(table())
    rows[0, 0] -= 0.5


def test_threshold_is_an_order_statistic():
    scores = np.arange(1.0, 100.0)  # 99 scores: a new one exceeds the largest with probability 1/100
    threshold, bound = _threshold(scores, 0.01)
    assert threshold == 99
    assert bound == pytest.approx(1 - 0.05 ** (1 / 99))  # the largest of 99
    assert _threshold(scores, 0.10)[0] == 90


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_what_is_far_out(method):
    rows = {name: values for name, values in table().items() if name != "kind"}
    found = detect(rows, method=method, rate=0.03, budget="600s")
    # a forest that has not seen a row beyond its range finds it no more anomalous than the last row inside
    assert found.table["p_value"][7] < (0.15 if method == "forest" else 0.03)
    assert found.checked.is_accepted
    assert found.model.outputs(rows)["score"].shape == (N,)


@pytest.mark.parametrize(
    ("rows", "options", "error", "words"),
    [
        (table(), {"rate": 0.0}, InvalidParameter, "--rate 0"),
        (table(), {"rate": 0.001}, InvalidParameter, "no false-alarm rate below 0.005"),
        (table(), {"method": "magic"}, InvalidParameter, "forest, neighbors, mixture, envelope"),
        ({"a": [1.0] * 5}, {}, InvalidData, "5 rows"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(rows, options, error, words):
    with pytest.raises(error, match=words):
        detect(rows, budget="600s", **options)


def test_a_table_of_categories_alone():
    rows = {"a": ["x", "y"] * 30, "b": ["u", "v"] * 30}
    rows["b"][3] = "u"
    found = detect(rows, budget="600s")
    assert found.anomalies[0].row == 3


def test_rows_beyond_the_fit_are_scored_too(monkeypatch):
    monkeypatch.setattr(_detect, "MOST_FITTED", 100)
    monkeypatch.setattr(_detect, "BLOCK_ROWS", 30)
    found = detect(table(), method="neighbors", rate=0.02, budget="600s")
    assert found.model.schema.fit_record.rows_fitted == 100
    assert len(found.scores) == N
    assert 7 in {one.row for one in found.anomalies}
    beyond = found.scored[100:]
    rows = {name: [values[i] for i in beyond] for name, values in table().items()}
    np.testing.assert_allclose(found.scores[100:], found.model.outputs(rows)["score"])


def test_a_changed_threshold_is_rejected(found):
    output = replace(found.model.schema.output, threshold=0.9 * found.model.schema.output.threshold)
    changed = qed.study.UnsupervisedModel(found.model.pipeline, replace(found.model.schema, output=output))
    with pytest.raises(CertificateError, match="threshold"):
        changed.verify(table())


def test_a_frequent_entry_is_not_called_less_frequent(found):
    column = found.data.rows.column("kind")
    codes, words = column.as_words()
    usual = int(np.bincount(codes).argmax())
    row, other = (int(np.flatnonzero(codes == code)[0]) for code in (usual, 1 - usual))
    assert re.fullmatch(r"as \d+\s%\s?of rows", _typical(found, "kind", row).replace("\u202f", " "))
    assert f"most often {words[usual]}" in _typical(found, "kind", other)
