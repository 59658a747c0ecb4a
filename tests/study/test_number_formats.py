"""How numbers and dates are written: what is understood, what is in ambiguity, and that new rows are read as those of the fit."""

import numpy as np
import pandas as pd
import pytest

from qed import study
from qed.core import InvalidParameter
from qed.study import _number_formats
from qed.study._describe_table import read_as_said
from qed.study._number_formats import moments_of, numbers_of
from qed.study._raw import RawTable, of_text

NUMBERS = [
    (["1,234.5", "12", "1,000,000"], [1234.5, 12, 1e6], "decimal point"),
    (["1,5", "2,25", "3"], [1.5, 2.25, 3], "decimal comma"),
    (["1.234", "2,5"], [1234, 2.5], "decimal comma"),
    (["$1,234.50", "-$4", "($5)", "7"], [1234.5, -4, -5, 7], "$; decimal point"),
    (["€ 1.200,00", "3,50 €"], [1200, 3.5], "€; decimal comma"),
    (["5%", "3.5 %", "\u22121%"], [5, 3.5, -1], "%"),
    (["1 234", "1\u202f234", "1'234.5"], [1234, 1234, 1234.5], ""),
    (["1e3", "-.5"], [1000, -0.5], ""),
    (["0,126", "-1,039", "2,500"], [0.126, -1.039, 2.5], "decimal comma"),  # no number of thousands begins with a zero
    (["0.126", "1.039"], [0.126, 1.039], ""),
]


@pytest.mark.parametrize(("words", "numbers", "form"), NUMBERS)
def test_numbers_in_their_dresses(words, numbers, form):
    found = numbers_of(words)
    assert found.values.tolist() == numbers
    assert found.strays == []
    assert found.form == form
    assert numbers_of(words, form).values.tolist() == numbers


def test_what_is_no_number_stays_none():
    found = numbers_of(["1", "one", "1e999", "0x10", "1 2", "1.2.3", "5-6", "12,34,5"])
    assert found.strays == [1, 2, 3, 4, 5, 6, 7]
    assert numbers_of(["$3", "€4", "$5"]).strays == [1]  # two moneys are not one number
    assert numbers_of(["5%", "6%", "0.07"]).strays == [2]
    assert of_text("x", ["$3", "€4"] * 30).kind == "word"


def test_an_ambiguity_is_said_and_can_be_settled():
    assert "read as 1234" in numbers_of(["1,234", "2,500"]).ambiguity
    assert numbers_of(["1,234"], "decimal comma").values.tolist() == [1.234]
    assert not numbers_of(["1,234", "1,234,567"]).ambiguity
    assert "the month first" in moments_of(["3/4/2024", "5/6/2024"]).ambiguity
    assert not moments_of(["3/4/2024", "25/6/2024"]).ambiguity


def test_dates_in_their_dresses():
    last = moments_of(["2024-12-31"]).values
    for word in (
        "31/12/2024",
        "12/31/2024",
        "31.12.2024",
        "31-12-2024",
        "31 Dec 2024",
        "December 31, 2024",
        "2024/12/31",
    ):
        assert moments_of([word]).values == last
    assert moments_of(["2024-12-31T12:00"]).values == last + 0.5
    assert moments_of(["2024-12-31 12:00:00.000000999"]).values == last + 0.5  # as pandas writes nanoseconds
    assert moments_of(["1.2.2024"]).values == moments_of(["2024-02-01"]).values
    assert moments_of(["2024-02-30", "yesterday", "Decoration 3, 2024", "13/13/2024"]).strays == [0, 1, 2, 3]


@pytest.fixture(scope="module")
def dressed():
    rng = np.random.default_rng(0)
    n = 120
    price, rate = rng.uniform(100, 5000, n).round(2), rng.uniform(0, 9, n).round(1)
    frame = pd.DataFrame(
        {
            "price": [f"${one:,.2f}" for one in price],
            "rate": [f"{one} %" for one in rate],
            "when": [f"{1 + i % 12}/{1 + i * 7 % 12}/2024" for i in range(n)],
            "y": price / 100 + 3 * rate + rng.normal(size=n),
        }
    )
    return frame, price, rate


def test_the_model_remembers_how_its_columns_are_written(dressed, tmp_path):
    frame, price, rate = dressed
    found = study.fit(frame, "y", budget=5)
    kinds = {one.name: (one.kind, one.form, one.unit) for one in found.schema.columns}
    assert kinds == {
        "price": ("number", "$; decimal point", "$"),
        "rate": ("number", "%", "%"),
        "when": ("date", "month first", ""),
    }
    assert any("--types when=day-first" in note for note in found.schema.fit_record.notes)
    found.model.save(tmp_path / "m.qed")
    model = study.load(tmp_path / "m.qed")
    plain = frame.assign(price=price, rate=[f"{one}%" for one in rate])
    np.testing.assert_array_equal(model.predict(plain), model.predict(frame))
    # one row alone is read as the whole column was
    for at in (0, 5):
        np.testing.assert_allclose(model.predict(frame[at : at + 1]), model.predict(frame)[at])
    model.predict(frame.assign(rate=rate))
    assert "without %" in model.notices[0]
    model.predict(frame.head(2).assign(when=["25/12/2024", "3/4/2024"]))
    assert "the day first" in model.notices[0]


def test_the_user_says_how_a_column_is_written(dressed):
    frame = dressed[0]
    found = study.fit(frame, "y", budget=5, types={"when": "day-first"})
    assert {one.name: one.form for one in found.schema.columns}["when"] == "day first"
    assert not any("day-first" in note for note in found.schema.fit_record.notes)
    assert found.model.verify(frame).holds
    with pytest.raises(InvalidParameter, match="cannot be read so"):
        study.fit(frame, "y", budget=5, types={"price": "day-first"})


def test_what_is_ambiguous_is_read_as_the_other_columns_are():
    told = of_text("told", ["1,5", "2,25", "3,125"] * 10)
    open_ = of_text("open", ["1,234", "2,345", "3,456"] * 10)
    found = read_as_said(RawTable((told, open_), 30, "t"), {}, ()).column("open")
    assert (found.form, found.ambiguity, found.values[0]) == ("decimal comma", "", 1.234)
    assert found.notes == ("a comma before fractions",)  # and no longer what was read at first
    pointed = of_text("pointed", ["1.5", "2.25", "3.125"] * 10)
    for others in ((pointed,), (told, pointed), ()):  # nobody tells, or they do not agree: the more usual reading
        found = read_as_said(RawTable((*others, open_), 30, "t"), {}, ()).column("open")
        assert found.values[0] == 1234
        assert found.ambiguity
    days = of_text("days", ["25/12/2024", "3/4/2024"] * 15)
    found = read_as_said(RawTable((days, of_text("when", ["3/4/2024", "5/6/2024"] * 15)), 30, "t"), {}, ())
    assert found.column("when").form == "day first"


def test_money_and_three_digits_settle_the_ambiguity():
    assert not numbers_of(["£1,234", "£2,500"]).ambiguity
    assert not numbers_of(["1,234", "950"]).ambiguity
    assert numbers_of(["€1,234", "€2,500"]).ambiguity


@pytest.mark.parametrize(
    "words",
    [
        ["2024-02-29", "1999-12-31"],
        ["2024-02-29 10:11", "1999-12-31 23:59"],
        ["2024-02-29 10:11:12", "1999-12-31T00:00:00"],
        ["2024-02-30", "2024-01-01"],
        ["1999-12-31 24:00", "1999-12-31 23:61"],
        ["2024-02-29", "2024/02/29"],
        ["2024-02-2\u0669", "2024-02-29"],
    ],
)
def test_iso_dates_are_read_at_once_as_they_are_one_by_one(words, monkeypatch):
    together = moments_of(words)
    monkeypatch.setattr(_number_formats, "_iso_moments", lambda _: None)
    apart = moments_of(words)
    np.testing.assert_array_equal(together.values, apart.values)
    assert (together.strays, together.form) == (apart.strays, apart.form)
