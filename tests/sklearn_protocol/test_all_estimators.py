"""scikit-learn's whole battery over every model of qed, and over the small ones that core is tested with."""

from __future__ import annotations

from typing import Any

import pytest
import toys
from battery import checks_for

import qed


def _instances() -> list[Any]:
    others = [toys.MeanRegressor(alpha=2.0, solver="sum"), toys.RandomColumns(n_components=1, random_state=3)]
    return [kind() for kind in toys.ALL] + others + [kind() for _, kind in qed.all_estimators()]


def _cases() -> list[Any]:
    cases = []
    for model in _instances():
        cases += [pytest.param(check, id=f"{model!r}-{name}") for name, check in checks_for(model)]
    return cases


@pytest.mark.parametrize("check", _cases())
def test_protocol(check: Any) -> None:
    check()
