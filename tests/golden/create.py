"""Write the golden file of an estimator: once for each version, on purpose, and never over an existing one.

Usage::

    python tests/golden/create.py qed.linear_model.Ridge

It fits the estimator with its defaults on a small fixed table and writes ``<version>-<name>.qed`` and, beside it, a
``.json`` with rows and what the model predicted for them. ``test_golden.py`` loads every one of them for ever.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from qed.core._persistence import dumps
from qed.core._version import __version__

HERE = Path(__file__).resolve().parent


def table() -> tuple[Any, Any]:
    """Return a small table without randomness: smooth columns, a target that is nearly linear in them."""
    t = np.linspace(0.0, 6.0, 25)
    X = np.column_stack([np.sin(t), np.cos(2 * t), t / 6])
    return X, X @ [1.5, -2.0, 0.5] + 0.25 + 0.1 * np.sin(9 * t)


def suited(kind: Any, y: Any) -> Any:
    """Return a target that the estimator takes: three labels for a classifier, counts where they must not be negative."""
    traits = kind()._traits()
    if traits.target == "label":
        return np.array(["high", "low", "middle"])[np.digitize(-y, [-1.0, 0.5])]
    return np.round(np.exp(y)) if traits.positive_target else y


def answers(model: Any, rows: Any) -> Any:
    """Return what a model says of rows: predictions, what it makes of them, log-densities, or distances of neighbours."""
    for method in ("predict", "transform", "score_samples"):
        if hasattr(model, method):
            return getattr(model, method)(rows)
    return model.kneighbors(rows)[0].ravel()


def create(name: str, folder: Path = HERE) -> Path:
    """Fit, save and predict; return the path of the new file."""
    module, _, leaf = name.rpartition(".")
    path = folder / f"{__version__}-{leaf}.qed"
    if path.exists():
        raise SystemExit(f"{path} exists. Golden files are never written again: that is what they are for.")
    X, y = table()
    if name == "golden.Everything":
        sys.path.insert(0, str(HERE))
        model = importlib.import_module("everything").example()
    else:
        kind = getattr(importlib.import_module(module), leaf)
        X = np.round(4 * np.abs(X)) if kind()._traits().positive_only else X  # counts
        model = kind().fit(X, suited(kind, y))
    rows = X[::5]
    answer = {"class": name, "X": rows.tolist(), "predictions": answers(model, rows).tolist()}
    path.with_suffix(".json").write_text(json.dumps(answer, indent=1) + "\n")
    path.write_bytes(dumps(model))
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(create(sys.argv[1]))  # noqa: T201
