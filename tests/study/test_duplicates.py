"""Copies of rows are found, told from rows that are alike by chance, and never judged by a model that has seen their twin."""

import numpy as np
import pandas as pd

from qed import study
from qed.study._column_types import describe
from qed.study._duplicates import together, twins_of
from qed.study._source import read_table


def drawn(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n), "y": rng.normal(size=n)})
    return frame.assign(y=frame["y"] + 2 * frame["a"])


def found_in(frame, target="y"):
    table = read_table(frame)
    columns = [describe(one, {}, table.column(target)) for one in table.columns if one.name != target]
    X = np.column_stack(
        [one.as_words()[0] if one.values is None else one.values for one in table.columns if one.name != target]
    )
    goal = table.column(target)
    y = goal.as_words()[0].astype(float) if goal.values is None else goal.values
    return twins_of(X.astype(float), y, columns, is_number=goal.values is not None)


def test_copies_are_found_and_rows_alike_are_not():
    frame = drawn()
    assert found_in(frame) is None
    doubled = pd.concat([frame, frame.head(30), frame.head(10)], ignore_index=True)
    twins, copies = found_in(doubled)
    assert copies == 40
    assert (twins[200:230] == np.arange(30)).all()
    assert found_in(doubled.assign(y=np.arange(240) % 7 + doubled["a"] * 0)) is None  # the target differs: no copies
    rng = np.random.default_rng(1)
    few = pd.DataFrame(
        {"a": rng.choice(["p", "q"], 300), "b": rng.choice(["u", "v"], 300), "y": rng.choice(["no", "yes"], 300)}
    )
    assert found_in(few) is None
    stars = pd.DataFrame({name: rng.integers(1, 6, 2000) for name in "abc"}).assign(y=rng.choice(["no", "yes"], 2000))
    assert found_in(stars) is None


def test_copies_stay_together_with_an_even_chance():
    rng = np.random.default_rng(0)
    twins = np.repeat(np.arange(4000), 3)
    marks = together(rng.random(12_000) < 0.2, twins)
    assert (marks.reshape(-1, 3) == marks[::3, None]).all()
    assert abs(marks.mean() - 0.2) < 0.03


def test_a_study_keeps_copies_on_one_side_and_says_so():
    frame = drawn(60)
    # nothing to learn but the rows themselves, three times each: whoever sees a twin knows the answer
    frame = pd.concat([frame.assign(y=np.random.default_rng(5).normal(size=60))] * 3, ignore_index=True)
    found = study.fit(frame, "y", budget=5)
    assert any(note.startswith("120 rows are copies") for note in found.schema.fit_record.notes)
    assert found.held_out.scores["R²"].value < 0.3
    assert found.model.verify(frame).holds
