"""Study models of every earlier version load for ever, read tables as they did, and say what they said."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

import qed

HERE = Path(__file__).parent / "study"
FILES = sorted(HERE.glob("*.qed"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_study_models_say_what_they_said(path: Path) -> None:
    answer = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = qed.load(path)
    assert type(model) is qed.study.TableModel
    predicted = model.predict(answer["rows"])
    assert model.notices == []
    if "probabilities" in answer:
        assert predicted.tolist() == answer["predictions"]
        np.testing.assert_allclose(model.predict_proba(answer["rows"]), answer["probabilities"], rtol=1e-12)
    else:
        np.testing.assert_allclose(predicted, answer["predictions"], rtol=1e-12)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_study_models_are_still_verified_and_saved_again(path: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("study_create", HERE / "create.py")
    assert spec is not None
    assert spec.loader is not None
    create = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(create)
    model = qed.load(path)
    table = create.table(path.stem.split("-")[1])
    if (
        model.schema.target.task == "regression"
    ):  # without the range of the targets, to which predictions are limited since
        assert math.isnan(model.schema.target.low)
        with pytest.raises(qed.CertificateError, match=r"another low .* written by an earlier version"):
            model.verify(table)
    else:
        assert model.verify(table).holds
    model.save(tmp_path / "again.qed")
    assert qed.load(tmp_path / "again.qed").schema == model.schema


def test_the_dressed_files_remember_how_their_columns_are_written() -> None:
    schema = qed.load(HERE / "0.1.0-dressed-price.qed").schema
    assert {column.name: column.form for column in schema.columns if column.form} == {
        "sold": "day first",
        "tax": "%; decimal comma",
    }
    assert schema.target.form == "$; decimal point"
    # one row that could be read in two ways is read as the whole column was
    rows = {"sold": ["3/4/2024"], "tax": ["5,5 %"], "size_cm": ["20"]}
    assert qed.load(HERE / "0.1.0-dressed-price.qed").predict(rows) == qed.load(
        HERE / "0.1.0-dressed-price.qed"
    ).predict(rows | {"sold": ["2024-04-03"]})


def test_the_first_files_know_no_ranges_and_say_nothing_of_them() -> None:
    model = qed.load(HERE / "0.1.0-first-price.qed")
    assert all(math.isnan(column.low) and not column.form for column in model.schema.columns)
    model.predict({"size_cm": [1e6], "colour": ["red"]})
    assert not any("range" in notice for notice in model.notices)
