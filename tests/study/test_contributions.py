"""Contributions of a table's columns: they add up whatever the winner is, and give way when time is short."""

import numpy as np
import pytest

from qed import study
from qed.core import InvalidData, InvalidParameter
from qed.study._clock import Clock
from qed.study._contributions import Contributions, contributions, entry_of, explained
from qed.study._encode import encode
from qed.study._model import TableModel
from qed.study._recipes import candidates, constant, pipeline
from qed.study._source import read_table
from qed.study._understand import understood

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
KIND = np.array(["u", "v", "w"], dtype=object)[RNG.integers(0, 3, N)]
COLUMNS = {
    "size": X[:, 0],
    "sometimes": np.where(X[:, 1] > 1, np.nan, X[:, 1]),
    "kind": KIND,
    "day": np.datetime64("2020-01-01") + RNG.integers(0, 900, N).astype("timedelta64[D]"),
}
TARGETS = {
    "regression": 100 + 20 * X[:, 0] + 5 * (KIND == "u") + X[:, 2],
    "binary": np.where(X[:, 0] + (KIND == "u") + 0.3 * X[:, 2] > 0, "yes", "no"),
    "multiclass": np.array(["low", "mid", "high"], dtype=object)[np.digitize(X[:, 0], [-0.5, 0.5])],
}


def prepared(task):
    raw = read_table({**COLUMNS, "y": TARGETS[task]})
    schema, rows, y = understood(raw, "y", None, {}, (), 0, "", "", Clock(60.0))
    return schema, encode(rows, schema.columns), y


def winners(schema):
    """One candidate of each way to prepare columns, and an average of two models."""
    found = {one.preparation: one for one in candidates(schema.target, schema.columns)}
    kinds = [found["linear"], found["splines"], found["trees"]]
    average = type(kinds[0])("average", "", kinds[0].make, parts=((kinds[0], 0.5), (kinds[2], 0.5)))
    return [*kinds, average]


@pytest.mark.parametrize("task", TARGETS)
def test_contributions_add_up_in_the_columns_of_the_table(task):
    schema, rows, y = prepared(task)
    for candidate in winners(schema):
        model = pipeline(candidate, schema.columns, schema.target, y, 20).fit(rows[:90], y[:90])
        found = contributions(
            model, rows[90:], rows[:90], schema.columns, schema.target, clock=Clock(np.inf), seed=0
        ).explanation
        assert found.feature_names == tuple(COLUMNS)
        assert found.certificate.reached
        np.testing.assert_allclose(
            found.values.sum(axis=1) + found.base_value, found.predictions, atol=1e-8, err_msg=candidate.title
        )
        sizes = found.importance().reshape(4, -1).mean(axis=1)
        assert sizes.argmax() == 0  # the size decides most
        assert set(found.output_names) <= set(schema.target.labels) | {"y"}


def test_few_permutations_state_their_standard_error():
    schema, rows, y = prepared("regression")
    model = pipeline(winners(schema)[-1], schema.columns, schema.target, y, 20).fit(rows, y)
    few, all_of_them = (
        explained(model, rows[:4], rows[:20], schema.columns, schema.target, seed=0, pairs=pairs) for pairs in (2, 16)
    )
    assert few.certificate.method == "permutations"
    assert few.certificate.standard_error > 0
    assert few.certificate.reached
    assert all_of_them.certificate.method == "enumeration"
    np.testing.assert_allclose(few.values.sum(axis=1), all_of_them.values.sum(axis=1), atol=1e-8)


def test_a_constant_gets_nothing_from_any_column():
    schema, rows, y = prepared("regression")
    model = pipeline(constant(schema.target), schema.columns, schema.target, y, 20).fit(rows, y)
    found = contributions(
        model, rows[:12], rows, schema.columns, schema.target, clock=Clock(np.inf), seed=0
    ).explanation
    np.testing.assert_allclose(found.values, 0, atol=1e-10)


def test_time_that_is_too_short_is_said():
    schema, rows, y = prepared("regression")
    model = pipeline(winners(schema)[0], schema.columns, schema.target, y, 20).fit(rows, y)
    for seconds in (0.0, 1e-9):
        found = contributions(model, rows, rows, schema.columns, schema.target, clock=Clock(seconds), seed=0)
        assert found.explanation is None
        assert "too short" in found.words


def test_the_model_explains_rows_of_a_table():
    schema, rows, y = prepared("regression")
    model = TableModel(pipeline(winners(schema)[0], schema.columns, schema.target, y, 20).fit(rows, y), schema)
    found = model.explain(COLUMNS, rows=5)
    np.testing.assert_allclose(found.predictions, model.predict(COLUMNS)[:5])
    one = {name: values[:1] for name, values in COLUMNS.items()}
    np.testing.assert_allclose(model.explain(one, against=COLUMNS).values[0], found.values[0])
    with pytest.raises(InvalidData, match="too few to compare with"):
        model.explain(one)
    with pytest.raises(InvalidParameter, match="At least one row"):
        model.explain(COLUMNS, rows=0)


def test_entries_read_as_in_the_table():
    schema, rows, _ = prepared("regression")
    size, sometimes, kind, day = schema.columns
    assert entry_of(size, 0.1234567) == "0.12346"
    assert entry_of(sometimes, np.nan) == "missing"
    assert entry_of(kind, rows[0, 2]) == KIND[0]
    assert entry_of(kind, -1.0) == "unknown"
    assert entry_of(day, rows[0, 3]) == str(COLUMNS["day"][0])


def test_a_study_holds_contributions_or_says_why_not():
    found = study.fit({**COLUMNS, "y": TARGETS["regression"]}, "y", budget=5)
    shared = found.held_out.contributions
    assert isinstance(shared, Contributions)
    assert (shared.explanation is None) == bool(shared.words)
