"""Text as numbers, dates and words: one reading for lists and for Arrow columns."""

import math

import numpy as np
import pyarrow as pa
import pytest

from qed.study._arrow import of_arrow
from qed.study._raw import of_text, text_of

COLUMNS = {
    "numbers": ["1", " 2.5 ", "-3e2", "NA", "", ".5", "+7"],
    "words": ["a", "b ", "NA", "a", None, "c", "b"],
    "codes": ["01234", "99999", "00001", "", "01234", "4", "5"],
    "dates": ["2024-02-29", "2023-12-31T10:30", "", "2000-01-01 00:00:00", "1969-12-31", "NA", "2024-02-29"],
    "infinite": ["1", "2", "inf", "4", "5", "6", "7"],
    "underscored": ["1_000", "2", "3", "4", "5", "6", "7"],
    "empty": ["", None, "NA", "?", "null", "-", "n/a"],
    "spaces": ["  ", "x y", " x y", "x y ", "z", "z", "z"],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_lists_and_arrow_columns_read_alike(name):
    entries = COLUMNS[name]
    small, large = of_text(name, entries), of_arrow(name, pa.chunked_array([entries[:3], entries[3:]], pa.string()))
    assert small.kind == large.kind
    if small.values is not None:
        np.testing.assert_array_equal(small.values, large.values)
    else:
        (codes, words), (others, same) = small.as_words(), large.as_words()
        assert words == same
        np.testing.assert_array_equal(codes, others)


def test_what_columns_are():
    kinds = {name: of_text(name, entries).kind for name, entries in COLUMNS.items()}
    assert kinds == {
        "numbers": "number",
        "words": "word",
        "codes": "word",  # as numbers they would lose their zeros
        "dates": "moment",
        "infinite": "word",
        "underscored": "word",
        "empty": "word",
        "spaces": "word",
    }
    assert of_text("x", COLUMNS["empty"]).gaps.all()


def test_few_strays_are_gaps_with_a_note():
    column = of_text("price", [str(n) for n in range(200)] + ["unknown"])
    assert column.kind == "number"
    assert math.isnan(column.values[-1])
    assert "'unknown'" in column.notes[0]


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (-0.5, "-0.5"), (1e20, "1e+20")])
def test_numbers_are_written_as_in_tables(value, text):
    assert text_of(value) == text
