"""What columns and targets are taken for, and why."""

import numpy as np
import pandas as pd
import pytest

from qed import study
from qed.core import InvalidData, InvalidParameter
from qed.study._column_types import describe, unit_of
from qed.study._raw import RawColumn, of_text
from qed.study._task import describe_target, encode_target

RNG = np.random.default_rng(0)
N = 200
TARGET = RawColumn("y", "number", RNG.normal(size=N))
SENTENCES = [
    "the parcel came late and was open",
    "a fine thing for the money paid",
    "it broke on the second day of use",
]


def column(name, entries):
    return of_text(name, [None if entry is None else str(entry) for entry in entries])


COLUMNS = {
    "number": column("size", RNG.normal(size=N)),
    "category": column("colour", [["red", "green", "blue"][i % 3] for i in range(N)]),
    "yes/no": column("smoker", [["yes", "no"][i % 2] for i in range(N)]),
    "date": column("when", np.datetime64("2024-01-01") + np.arange(N)),
    "text": column("comment", [f"{SENTENCES[i % 3]} {i}" for i in range(N)]),
    "identifier": column("customer", [f"K{i:05d}" for i in range(N)]),
    "constant": column("country", ["AT"] * N),
    "code": column("zip", [f"0{i % 9}100" for i in range(N)]),
    "copy": column("same", TARGET.values),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_kinds_are_seen_and_reasons_given(kind):
    found = describe(COLUMNS[kind], {}, TARGET)
    assert found.kind == kind
    assert found.reason


@pytest.mark.parametrize(
    ("name", "entries", "kind"),
    [
        ("id", 7 * np.arange(N)[::-1], "identifier"),
        ("n", np.arange(N) + 5, "identifier"),  # it numbers the rows
        ("region_code", np.arange(N) % 9, "code"),
        ("rooms", np.arange(N) % 9, "number"),
        ("flag", np.arange(N) % 2, "yes/no"),
        ("gap", [None] * N, "constant"),
    ],
)
def test_numbers_that_are_none(name, entries, kind):
    assert describe(column(name, entries), {}, TARGET).kind == kind


def test_the_user_has_the_last_word():
    assert describe(COLUMNS["number"], {"size": "category"}, TARGET).kind == "category"
    assert describe(COLUMNS["copy"], {"same": "number"}, TARGET).reason == "you said so"
    with pytest.raises(InvalidParameter, match="one of number, code"):
        describe(COLUMNS["number"], {"size": "colourful"}, TARGET)
    with pytest.raises(InvalidParameter, match="none of its entries is a number"):
        describe(COLUMNS["category"], {"colour": "number"}, TARGET)
    with pytest.raises(InvalidParameter, match="2024-12-31"):
        describe(COLUMNS["category"], {"colour": "date"}, TARGET)


def test_fractions_among_words_are_numbers_and_the_words_are_counted():
    measured = ["< 0.1" if i % 10 == 0 else f"{value:.4f}" for i, value in enumerate(RNG.normal(size=N))]
    found = describe(column("lead", measured), {}, TARGET)
    assert (found.kind, found.missing) == ("number", 0.1)
    assert "20 entries are no numbers ('< 0.1') and counted as missing" in found.reason
    tickets = ["A/5 21" if i % 10 == 0 else str(i * 7919) for i in range(N)]
    assert describe(column("ticket", tickets), {}, TARGET).kind == "identifier"
    said = describe(column("ticket", tickets), {"ticket": "number"}, TARGET)
    assert (said.kind, said.missing) == ("number", 0.1)


def test_long_numbers_that_floats_cannot_tell_apart_are_names():
    cards = [str(10**18 + i) for i in range(N)]
    assert describe(column("card", cards), {}, TARGET).kind == "identifier"
    bank = describe(column("bank", [cards[i % 4] for i in range(N)]), {}, TARGET)
    assert (bank.kind, bank.reason) == ("code", "numbers of many digits, 4 different")
    moments = [str(10**18 + 10**12 * i) for i in range(N)][::-1]  # nanoseconds: far enough apart
    assert describe(column("moment", moments), {}, TARGET).kind == "number"


def test_numbers_are_no_dates_and_the_message_shows_what_is_none():
    with pytest.raises(InvalidParameter, match="'20240131' is no date"):
        describe(column("when", [20240131 + i for i in range(N)]), {"when": "date"}, TARGET)
    mixed = [f"2024-01-{1 + i % 28:02d}" if i else "in spring" for i in range(N)]
    with pytest.raises(InvalidParameter, match="'in spring' is no date"):
        describe(column("when", mixed), {"when": "date"}, TARGET)


def test_a_class_under_another_name_is_a_copy():
    target = column("y", [["won", "lost"][i % 2] for i in range(N)])
    assert describe(column("result", [["1-0", "0-1"][i % 2] for i in range(N)]), {}, target).kind == "copy"
    assert describe(column("side", [["home", "away"][i // 2 % 2] for i in range(N)]), {}, target).kind == "category"


def test_units_from_names():
    assert [unit_of(name) for name in ("mass_g", "speed (km/h)", "price [EUR]", "big", "m")] == [
        "g",
        "km/h",
        "EUR",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("entries", "task", "counts"),
    [
        (RNG.normal(size=N), "regression", False),
        (RNG.poisson(1.5, N), "regression", True),
        (np.arange(N) % 2, "binary", False),
        ([["won", "lost"][i % 2] for i in range(N)], "binary", False),
        (np.arange(N) % 3, "multiclass", False),
        ([["a", "b", "c"][i % 3] for i in range(N)], "multiclass", False),
        (1000 + 7 * np.arange(N), "regression", False),
    ],
)
def test_tasks_are_seen(entries, task, counts):
    found = describe_target(column("y", entries))
    assert (found.task, found.counts) == (task, counts)


def test_the_positive_class_is_the_second():
    assert describe_target(column("y", ["yes", "no"] * 20)).labels.tolist() == ["no", "yes"]
    assert describe_target(column("y", [1, 0] * 20)).labels.tolist() == ["0", "1"]
    target = describe_target(column("y", ["True", "False"] * 20))
    assert encode_target(column("y", ["yes", "no", "1", ""]), target)[0][:3].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("entries", "said", "words"),
    [
        (["x"] * 40, None, "always 'x'"),
        ([None] * 40, None, "empty in every row"),
        ([f"w{i}" for i in range(40)], None, "different entries"),
        (["a", "b"] * 20 + ["c"], None, "'c' .* occurs in fewer than three rows"),
        (["a", "b"] * 20, "regression", "holds words"),
        ([0.5, 1, 2] * 20, "counts", "counts are 0, 1, 2"),
        ([1, 2, 3] * 20, "binary", "needs two"),
        (np.datetime64("2024-01-01") + np.arange(40), None, "holds dates"),
    ],
)
def test_targets_that_cannot_be(entries, said, words):
    with pytest.raises(InvalidData, match=words):
        describe_target(column("y", entries), said)


def test_rows_that_come_thrice_make_no_copy_and_other_units_do():
    values, target = np.tile(RNG.normal(size=60), 3), np.tile(RNG.normal(size=60), 3)
    numbers = RawColumn("y", "number", target)
    assert describe(RawColumn("x", "number", values), {}, numbers).kind == "number"
    assert describe(RawColumn("pounds", "number", 2.2 * target + 1), {}, numbers).kind == "copy"


def test_numbers_whose_squares_overflow_are_left_out_or_refused():
    n = 40
    table = {
        "a": [f"{i}e200" for i in range(n)],
        "b": [i * 7 % 11 for i in range(n)],
        "y": [i % 5 + i for i in range(n)],
    }
    found = study.fit(table, "y", budget=2)
    assert [(one.kind, "squares" in one.reason) for one in found.schema.columns] == [
        ("dropped", True),
        ("number", False),
    ]
    with pytest.raises(InvalidData, match="Multiply it by a power of ten"):
        study.fit(table, "a", budget=2)


@pytest.mark.parametrize("form", ["text", "frame", "Arrow"])
def test_a_single_row_with_a_long_name_is_read_as_the_column_was(form, tmp_path):
    """Each of these card numbers, alone, is the same float as another one; the digits must not depend on other rows."""
    cards = [41111111111111111 + i for i in range(4)]
    rows = {"card": [cards[i % 4] for i in range(N)], "paid": ["yes" if i % 4 >= 2 else "no" for i in range(N)]}
    frame = pd.DataFrame(rows)
    if form == "text":
        frame.to_csv(tmp_path / "t.csv", index=False)
    elif form == "Arrow":
        frame.to_parquet(tmp_path / "t.parquet")
    table = {"text": tmp_path / "t.csv", "frame": frame, "Arrow": tmp_path / "t.parquet"}[form]
    model = study.fit(table, target="paid", budget=1).model
    assert [one.kind for one in model.schema.columns] == ["code"]
    for i in range(4):
        assert model.predict(pd.DataFrame({"card": [cards[i]]})).tolist() == [rows["paid"][i]]
        assert model.predict({"card": [str(cards[i])]}).tolist() == [rows["paid"][i]]
        assert model.notices == []
