"""Models without a target of every earlier version load for ever, give what they gave, and are verified."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import qed

HERE = Path(__file__).parent / "unsupervised"
FILES = sorted(HERE.glob("*.qed"))


def _table() -> dict[str, list[str]]:
    spec = importlib.util.spec_from_file_location("unsupervised_create", HERE / "create.py")
    assert spec is not None
    assert spec.loader is not None
    create = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(create)
    found: dict[str, list[str]] = create.table()
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_without_a_target_give_what_they_gave(path: Path, tmp_path: Path) -> None:
    model = qed.load(path)
    assert type(model) is qed.study.UnsupervisedModel
    answer = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    given = model.outputs(_table())
    assert list(given) == list(answer)
    for name, values in given.items():
        # distances to the rows of the fit itself are rounded in the last places of their squares
        np.testing.assert_allclose(values, answer[name], rtol=1e-9, atol=1e-7)
    assert model.verify(_table()).holds
    model.save(tmp_path / "again.qed")
    assert qed.load(tmp_path / "again.qed").schema == model.schema


def test_there_is_a_file_of_each_task() -> None:
    assert {path.stem.split("-")[-1] for path in FILES} == {"clusters", "embedding", "anomalies"}
