"""A pytest plugin that gives each Hypothesis test an equal share of QED_FUZZ_SECONDS and counts the examples it ran.

A test whose share is over is skipped from inside, which Hypothesis passes on at once; the counts go to the file
QED_FUZZ_COUNTS as JSON.
"""

from __future__ import annotations

import functools
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

TRIED: dict[str, int] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Wrap the body of every Hypothesis test in a counting clock."""
    laws = [item for item in items if hasattr(getattr(item, "obj", None), "hypothesis")]
    if not laws:
        return
    share = float(os.environ["QED_FUZZ_SECONDS"]) / len(laws)
    wrapped: set[int] = set()
    for item in laws:
        body = item.obj.hypothesis  # type: ignore[attr-defined]
        if id(body) not in wrapped:  # parametrised tests share one body
            wrapped.add(id(body))
            body.inner_test = timed(body.inner_test, share)


def timed(test: Callable[..., Any], share: float) -> Callable[..., Any]:
    """Count each call, under the name of the running test, and skip once its share of time is over."""
    first: dict[str, float] = {}

    @functools.wraps(test)
    def run(*arguments: Any, **keywords: Any) -> Any:
        name = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]
        if time.monotonic() - first.setdefault(name, time.monotonic()) > share:
            pytest.skip(f"time is up after {TRIED[name]} examples")
        TRIED[name] = TRIED.get(name, 0) + 1
        return test(*arguments, **keywords)

    return run


def pytest_sessionfinish() -> None:
    """Write the counts."""
    Path(os.environ["QED_FUZZ_COUNTS"]).write_text(json.dumps(TRIED), encoding="utf-8")
