"""Write the golden file of an estimator: once for each version, on purpose, and never over an existing one.

Usage::

    python tests/golden/create.py qed.linear_model.Ridge
    python tests/golden/create.py missing

It fits the estimator with its defaults (models of models with the parts that ``tests/instances.py`` gives them) on a small fixed
table, on texts or on labels, and writes ``<version>-<name>.qed`` and, beside it, a ``.json`` with rows and what the model said of
them. ``test_golden.py`` loads every one of them for ever, and ``tools/fuzz_files.py`` starts from them.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import qed
from qed.core._container import FORMAT
from qed.core._persistence import dumps
from qed.core._records import public_name
from qed.core._version import __version__

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from instances import instance  # noqa: E402  (it lies beside this folder)

SETTINGS = {
    name: {"n_features": 16} for name in ("FeatureHasher", "HashingVectorizer")
}  # so that the answers can be read


def table() -> tuple[Any, Any]:
    """Return a small table without randomness: smooth columns, a target that is nearly linear in them."""
    t = np.linspace(0.0, 6.0, 25)
    X = np.column_stack([np.sin(t), np.cos(2 * t), t / 6])
    return X, X @ [1.5, -2.0, 0.5] + 0.25 + 0.1 * np.sin(9 * t)


def data(model: Any) -> tuple[Any, ...]:
    """Return what a model is fitted on: dicts, texts, labels, sets of labels, or the table with a target that the model takes."""
    traits = model._traits()
    if not traits.table and traits.target:
        X, y = table()
        return X[:, 2], y
    if not traits.table:
        if traits.mappings:
            return ([{"city": "Oslo", "degrees": 4.5}, {"city": "Rome", "seen": "sun"}, {"degrees": -1}],)
        if traits.labels_only:
            return (["low", "high", "middle", "low", "high"],)
        return (
            (["a cat and a dog", "the dog", "no cat", "the cat, the dog"],)
            if traits.strings
            else ([["a"], ["a", "b"], ["c"]],)
        )
    X, y = table()
    X = np.round(4 * np.abs(X)) if traits.positive_only else X  # counts
    if traits.target == "label":
        y = np.array(["high", "low", "middle"])[np.digitize(-y, [-1.0, 0.5] if traits.multi_class else [0.0])]
    elif traits.positive_target:
        y = np.round(np.exp(y))
    return X, y if traits.single_output else np.column_stack([y, y[::-1]])


def answers(model: Any, rows: Any) -> Any:
    """Return what a model says of rows: predictions, what it makes of them, log-densities, neighbours, or its labels or points."""
    for method in ("predict", "transform", "score_samples", "mahalanobis"):
        if hasattr(model, method):
            said = getattr(model, method)(rows)
            return said.toarray() if hasattr(said, "toarray") else said
    if hasattr(model, "kneighbors"):
        return model.kneighbors(rows)[0].ravel()
    return next(getattr(model, name) for name in ("labels_", "row_labels_", "embedding_") if hasattr(model, name))


def rows_of(answer: Any) -> Any:
    """Return the rows that a golden file was asked about."""
    return answer["X"] if answer.get("list") else np.array(answer["X"])


def create(name: str, folder: Path = HERE) -> Path:
    """Fit, save and predict; return the path of the new file: its name tells a later format of the same version."""
    module, _, leaf = name.rpartition(".")
    path = folder / f"{__version__}-{leaf}.qed"
    if path.exists() and path.read_bytes()[8:12] != FORMAT.to_bytes(4, "little"):
        path = folder / f"{__version__}-{leaf}-format{FORMAT}.qed"
    if path.exists():
        raise SystemExit(f"{path} exists. Golden files are never written again: that is what they are for.")
    if name == "golden.Everything":
        sys.path.insert(0, str(HERE))
        model = importlib.import_module("everything").example()
        rows = table()[0]
    else:
        kind = getattr(importlib.import_module(module), leaf)
        model = instance(kind).set_params(**SETTINGS.get(leaf, {}))
        rows, *target = data(model)
        model.fit(rows, *target)
    is_list = isinstance(rows, list)
    rows = rows if is_list else rows[::5]
    said = answers(model, rows)
    answer = {"class": name, "X": rows if is_list else rows.tolist(), "predictions": said.tolist()}
    answer |= {"list": True} if is_list else {}
    path.with_suffix(".json").write_text(json.dumps(answer, indent=1) + "\n")
    path.write_bytes(dumps(model))
    return path


def missing() -> list[str]:
    """Return the names of the estimators of qed that have no golden file yet."""
    known = {json.loads(path.read_text())["class"] for path in HERE.glob("*.json")}
    return [public_name(kind) for _, kind in qed.all_estimators() if public_name(kind) not in known]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for name in missing() if sys.argv[1] == "missing" else [sys.argv[1]]:
        print(create(name))  # noqa: T201
