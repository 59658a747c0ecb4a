"""Clusters of a table: method and number with reasons, groups described, new rows assigned, claims checked."""

from dataclasses import replace

import numpy as np
import pytest

import qed
from qed.core import CertificateError, InvalidData, InvalidParameter
from qed.metrics import adjusted_rand_score
from qed.report._cluster import cluster_report
from qed.study import cluster
from qed.study._clock import Clock
from qed.study._column_types import describe
from qed.study._encode import encode
from qed.study._group_traits import group_traits
from qed.study._schema import words_array
from qed.study._source import read_table

N = 90
TRUTH = np.repeat([0, 1, 2], N // 3)


def blobs():
    """Three kinds of plants: two numbers and a category tell them apart, one number and an identifier do not."""
    rng = np.random.default_rng(1)
    return {
        "id": [f"plant{i:03}" for i in range(N)],
        "height": (np.array([1.0, 6.0, 1.0])[TRUTH] + rng.normal(size=N) / 3).tolist(),
        "width": (np.array([1.0, 1.0, 7.0])[TRUTH] + rng.normal(size=N) / 3).tolist(),
        "colour": [("red", "blue", "green")[t] for t in TRUTH],
        "noise": rng.normal(size=N).tolist(),
    }


@pytest.fixture(scope="module")
def found():
    return cluster(blobs(), budget="600s")


def test_finds_the_groups_that_are_there(found):
    assert adjusted_rand_score(TRUTH, found.labels) == 1
    assert found.model.schema.output.method == "k-means, 3 clusters"
    assert [one.kind for one in found.model.schema.columns] == ["identifier", "number", "number", "category", "number"]
    assert found.choice.best == 3
    assert all(vote >= 2 for vote in found.choice.votes.values())
    assert len(found.choice.reasons) == len(found.choice.votes)
    assert found.checked.is_accepted


def test_says_what_sets_a_group_apart(found):
    tall = found.groups[found.labels[N // 3]]
    first = tall.traits[0]
    assert {"colour", "height"} >= {one.column for one in tall.traits[:2]}
    assert (first.inside > first.outside) == (first.difference > 0)
    assert abs(next(one for one in tall.traits if one.column == "noise").difference) < 0.5
    assert found.labels[tall.example] == int(tall.name) - 1


def test_assigns_new_rows_and_verifies(found, tmp_path):
    found.model.save(tmp_path / "m.qed")
    model = qed.study.load(tmp_path / "m.qed")
    assert type(qed.load(tmp_path / "m.qed")) is qed.study.UnsupervisedModel
    np.testing.assert_array_equal(model.predict(blobs()), found.labels + 1)
    new = {"height": [6.0, 1.0], "width": [1.0, 7.0], "colour": ["blue", "green"], "noise": [0.0, 0.0]}
    assert model.predict(new).tolist() == (found.labels[[N // 3, -1]] + 1).tolist()
    assert model.verify(blobs()).holds
    model.pipeline.steps_[-1][1].cluster_centers_[0, 0] += 0.1
    with pytest.raises(CertificateError):
        model.verify(blobs())


def test_order_of_rows_does_not_matter(found):
    order = np.random.default_rng(3).permutation(N)
    table = {name: [values[i] for i in order] for name, values in blobs().items()}
    again = cluster(table, drop=["id"], budget="600s")
    np.testing.assert_array_equal(again.labels, found.labels[order])


def test_the_user_decides():
    table = {name: values for name, values in blobs().items() if name in ("height", "width")}
    mixed = cluster(table, k=3, method="mixture", budget="600s")
    given = mixed.model.outputs(table)
    assert list(given) == ["cluster", "probability_1", "probability_2", "probability_3"]
    np.testing.assert_allclose(sum(given[f"probability_{k}"] for k in (1, 2, 3)), 1.0)
    np.testing.assert_array_equal(given["cluster"], mixed.labels + 1)
    assert mixed.choice is None
    assert cluster(table, k=2, method="medoids", budget="600s").model.schema.output.method == "k-medoids, 2 clusters"


def test_standardised_differences_by_hand():
    raw = read_table({"x": [1.0, 2.0, 3.0, 10.0], "c": ["a", "a", "b", "b"]})
    columns = [describe(one, {}, None) for one in raw.columns]
    first = group_traits(encode(raw, columns), columns, np.array([0, 0, 1, 1]), 2)[0]
    by_name = {one.name: one for one in first}
    x = np.array([1.0, 2.0, 3.0, 10.0])
    assert by_name["x"].difference == pytest.approx((1.5 - 6.5) / x.std())
    assert by_name["c = a"].difference == pytest.approx(2.0)  # shares 1 and 0, standard deviation one half
    assert "c = b" not in by_name  # says the same


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        ({"a": [1.0] * 9 + [2.0]}, {}, InvalidData, "10 rows"),
        ({"a": ["x"] * 30}, {}, InvalidData, "No column is left"),
        ({"a": [1.0, 2.0] * 20}, {"k": 3}, InvalidParameter, "only 2 of 40 rows differ"),
        ({"a": list(map(float, range(0, 80, 2)))}, {"k": 30}, InvalidParameter, "--k 30"),
        ({"a": [1.0, 2.0] * 20}, {"k": 1}, InvalidParameter, "at least two"),
        ({"a": [1.0, 2.0] * 20}, {"method": "magic"}, InvalidParameter, "kmeans, mixture, medoids"),
        ({"a": [1.0, 2.0] * 20}, {"drop": ["b"]}, InvalidParameter, "no column 'b'"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(table, options, error, words):
    with pytest.raises(error, match=words):
        cluster(table, budget="600s", **options)


def test_few_different_rows_and_gaps_are_no_obstacle():
    found = cluster({"a": [1.0, 2.0, None, 2.0] * 10, "b": ["x", None, "y", "x"] * 10}, budget="600s")
    assert sum(group.n_rows for group in found.groups) == 40
    assert found.checked.is_accepted


def test_clusters_under_other_names_are_rejected(found):
    output = replace(found.model.schema.output, labels=words_array(["7", "8", "9"]))
    changed = qed.study.UnsupervisedModel(found.model.pipeline, replace(found.model.schema, output=output))
    with pytest.raises(CertificateError, match="not their places by size"):
        changed.verify(blobs())


def test_the_choice_of_k_looks_at_the_clock():
    """A clock on which each look takes a second: two numbers are compared, no rule has a whole round of its own, and it is said."""

    class Ticks:
        count = 0

        def __call__(self):
            self.count += 1
            return float(self.count)

    short = cluster(blobs(), clock=Clock(2.0, Ticks()))
    assert short.choice.ks.tolist() == [1, 2]
    assert set(short.choice.votes) <= {"elbow", "silhouette", "penalised cost"}
    assert "single cluster" not in short.structure
    page = cluster_report(short).html()
    assert "There was no time for the gap to uniform rows" in page
    long = cluster(blobs(), clock=Clock(1e6, Ticks()))
    assert len(long.choice.ks) > 2
    assert np.isfinite(long.choice.gap).all()
    assert "stability" in long.choice.votes
