"""Write the golden files of models without a target: once for each form of the file, on purpose, and never over an existing one.

Usage::

    python tests/golden/unsupervised/create.py first

It fits clusters, an embedding and a detector on the fixed table of the golden study models, and writes
``<version>-<word>-<task>.qed`` with a ``.json`` beside it: what the model gave for the rows of that table.
``test_unsupervised_golden.py`` loads every one for ever.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from qed import study
from qed.core._version import __version__

HERE = Path(__file__).resolve().parent


def table() -> dict[str, list[str]]:
    """Return the fixed table, every kind of column with gaps."""
    spec = importlib.util.spec_from_file_location("study_create", HERE.parent / "study" / "create.py")
    assert spec is not None
    assert spec.loader is not None
    create = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(create)
    found: dict[str, list[str]] = create.table("dressed")
    return found


def models() -> dict[str, Any]:
    """Fit one model for each task."""
    return {
        "clusters": study.cluster(table(), k=3, method="kmeans", budget=60).model,
        "embedding": study.embed(table(), method="pca", budget=60).model,
        "anomalies": study.detect(table(), method="neighbors", rate=0.05, budget=60).model,
    }


def main(word: str) -> None:
    """Write the files."""
    for task, model in models().items():
        path = HERE / f"{__version__}-{word}-{task}.qed"
        if path.exists():
            raise SystemExit(f"{path} exists, and stays as it is.")
        model.save(path)
        given = {name: values.tolist() for name, values in model.outputs(table()).items()}
        path.with_suffix(".json").write_text(json.dumps(given), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
