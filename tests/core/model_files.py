"""Model files for tests: a model with everything in it, and frames that can be opened, changed and sealed again."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qed.core import Array, NonNegative, Regressor, fitted, param
from qed.core._container import FORMAT, MAGIC
from qed.core._errors import ModelFileError
from qed.core._persistence import dumps, loads


def beside(name: str) -> Any:
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "golden" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


everything = beside("everything")
Everything, Summary = everything.Everything, everything.Summary


class Line(Regressor):
    """A real estimator of the smallest kind."""

    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    start: Any = param(None, "Anything.")
    coef_: Array = fitted("Coefficients.", shape="(p,)")

    def fit(self, X: Any, y: Any) -> Line:
        data = self._fit_data(X, y)
        self.coef_ = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
        return self

    def predict(self, X: Any) -> Any:
        return self._new_data(X) @ self.coef_


def trip(value: Any) -> Any:
    return loads(dumps(Everything(extra=value))).extra


def opened(data: bytes) -> tuple[Any, bytes]:
    (length,) = struct.unpack_from("<Q", data, 16)
    return json.loads(data[32 : 32 + length]), data[-(-(32 + length) // 64) * 64 : -32]


def framed(text: bytes, data: bytes, *, gap: bytes = b"\0", **changes: int) -> bytes:
    start = -(-(32 + len(text)) // 64) * 64
    numbers = {"version": FORMAT, "zero": 0, "header": len(text), "total": start + len(data) + 32} | changes
    body = struct.pack("<8sIIQQ", MAGIC, *numbers.values()) + text + gap * (start - 32 - len(text)) + data
    return body + hashlib.sha256(body).digest()


def sealed(header: Any, data: bytes) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return framed(text.encode("utf-8", "surrogatepass"), data)


def refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=f"(?s)cannot be loaded: .*{message}.*restore it from a copy"):
        loads(data)


MODEL = dumps(everything.example())


def extra(node: Any, *arrays: Any) -> bytes:
    """A file whose parameter `extra` is this node; arrays come from an honest file."""
    header, data = opened(dumps(Everything(extra=list(arrays))))
    header["model"]["estimator"][1]["extra"] = node
    return sealed(header, data)
