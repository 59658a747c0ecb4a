"""What a model file makes the program import: the packages of its classes and what these import, as SECURITY.md says."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from qed.linear_model import Lasso

if TYPE_CHECKING:
    from pathlib import Path

LOADED = "import sys, qed; {}; print(*sorted(one for one in sys.modules if one.startswith('qed.')))"


def _modules(what: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED.format(what)], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_file_imports_the_packages_of_its_classes_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "model.qed"
    Lasso().fit(np.arange(6.0).reshape(6, 1), np.arange(6.0)).save(file)
    packages = {name.split(".")[1] for name in _modules(f"qed.load({str(file)!r})")}
    expected = {name.split(".")[1] for name in _modules("from qed.linear_model import Lasso; Lasso().save")}
    assert packages <= expected | {"core", "certificates"}
    assert not packages & {"tree", "ensemble", "neural_network", "cluster", "study"}
