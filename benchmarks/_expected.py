"""What answers are compared with, kept in build/ once worked out: it takes longer than what is measured."""

from __future__ import annotations

import hashlib
import inspect
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._tables import EXPECTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.problems import Data, Problem

KEPT = Path(__file__).resolve().parents[1] / "build" / "expected"


def expected(problem: Problem, data: Data, reference: Callable[[], Any] | None = None) -> np.ndarray:
    """By the definition that the row names, or by what a reference gives."""
    define = problem.expected or EXPECTED.get(problem.task)
    assert define is not None or reference is not None
    path = KEPT / f"{problem.name}-{_key(problem, data, define)}.npy"
    if path.exists():
        kept: np.ndarray = np.load(path)
        return kept
    found = reference() if reference is not None else define(data, problem.params) if define is not None else None
    want = np.asarray(found, dtype=np.float64)
    KEPT.mkdir(parents=True, exist_ok=True)
    np.save(path, want)
    return want


def _key(problem: Problem, data: Data, define: Any) -> str:
    """A digest of all that the answer depends on: data, parameters, the source of the definition or of what a reference runs."""
    seen = hashlib.sha256(repr((sorted(problem.params.items()), problem.reference, problem.same_seed)).encode())
    for text in _sources([define, problem.run if problem.reference else None]):
        seen.update(text.encode())
    for part in (data.X, data.y) if isinstance(data.X, np.ndarray) else (data.X.data, data.X.indices, data.y):
        seen.update(
            np.ascontiguousarray(part).view(np.uint8).tobytes() if part.dtype.kind != "O" else repr(part).encode()
        )
    return seen.hexdigest()[:16]


def _sources(parts: list[Any]) -> list[str]:
    """The sources of functions and of all functions of the benchmarks that they name; other arguments as they are written."""
    found: dict[str, str] = {}
    while parts:
        part = parts.pop()
        if isinstance(part, partial):
            parts += [part.func, *part.args, *part.keywords.values()]
        elif isinstance(part, FunctionType) and part.__module__.startswith("benchmarks."):
            text = inspect.getsource(part)
            if found.setdefault(f"{part.__module__}.{part.__qualname__}", text) is text:
                cells = [cell.cell_contents for cell in part.__closure__ or ()]
                parts += cells + [part.__globals__.get(name) for name in _names(part.__code__)]
        elif isinstance(part, str | int | float | dict):
            found[repr(part)] = repr(part)
    return [found[name] for name in sorted(found)]


def _names(code: CodeType) -> list[str]:
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return [*code.co_names, *inner]
