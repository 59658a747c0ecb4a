"""``import qed``: what it loads, what it offers."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from instances import instance

import qed
from qed.core import _aliases

HEAVY = ("scipy", "sklearn", "pandas", "polars", "pyarrow", "narwhals", "duckdb", "matplotlib", "numpy.random", "torch")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def run(code: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_numpy_and_core_alone() -> None:
    loaded = run("import sys, numpy; before = set(sys.modules); import qed; print(*set(sys.modules) - before)").split()
    assert [name for name in loaded if name.split(".")[0] in HEAVY or name in HEAVY] == []
    outside = {name.split(".")[1] for name in loaded if name.startswith("qed.")} - {"core"}
    assert outside <= {"_native"}  # the chooser of native code, which has loaded none of it
    assert not [name for name in loaded if name.startswith("qed._native.")]


def test_a_dense_fit_loads_nothing_more() -> None:
    code = """
import sys
import numpy as np
import toys
X, y = np.arange(12.0).reshape(6, 2), np.arange(6)
toys.MeanRegressor().fit(X, y, sample_weight=np.ones(6)).score(X, y)
toys.CentroidClassifier().fit(X, y % 2).predict(X.tolist())
toys.Centre().fit_transform(X)
repr(toys.Centre()), toys.Centre()._repr_mimebundle_(), dir(toys.Centre())
try:
    toys.MeanRegressor(alpha=-1).fit(X, y)
except ValueError:
    pass
print(*sys.modules)
"""
    loaded = run(code).split()
    assert [name for name in loaded if name.split(".")[0] in HEAVY or name in HEAVY] == []


def test_hooks_of_scikit_learn_do_not_exist_without_it() -> None:
    code = """
import inspect, toys
model = toys.MeanRegressor()
for name in ("set_fit_request", "_parameter_constraints"):
    assert not hasattr(model, name), name
    assert not hasattr(toys.MeanRegressor, name), name
for ask in (model.__sklearn_tags__, model.get_metadata_routing):
    try:
        ask()
    except AttributeError as error:
        assert "not loaded" in str(error)
    else:
        raise AssertionError(ask)
inspect.getmembers(model)
"""
    run(code)


def test_import_time() -> None:
    """Adds at most 15 ms to an import of NumPy that takes 60 ms: in CPU time, so that other work does not count."""
    code = """
from time import process_time
a = process_time(); import numpy; b = process_time(); import qed; print((process_time() - b) / (b - a))
"""
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    shares = [
        float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)  # noqa: S603
        for _ in range(5)
    ]
    assert min(shares[1:]) < 15 / 60, shares


def test_names() -> None:
    assert set(qed.__all__) <= set(dir(qed))
    assert "core" in dir(qed)
    assert qed.load is qed.core._persistence.load
    with pytest.raises(AttributeError, match="module 'qed' has no attribute 'nonsense'"):
        _ = qed.nonsense
    for name in qed._ALIASES:
        assert name not in qed._packages(), f"{name} is a package of its own now; its alias would hide nothing"


def test_version_is_that_of_the_project() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == qed.__version__


def test_a_path_of_scikit_learn_that_is_missing_is_said_to_be() -> None:
    missing = next(name for name, ours in qed._ALIASES.items() if ours not in qed._packages())
    with pytest.raises(ModuleNotFoundError, match=f"qed.{missing} is not in qed, use sklearn.{missing}"):
        __import__(f"qed.{missing}")
    with pytest.raises(AttributeError, match=f"use sklearn.{missing}"):
        getattr(qed, missing)
    assert not hasattr(qed, missing)


def test_an_alias_is_the_package_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = _aliases.AliasFinder({"qed.nucleus": "qed.core"})
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    spec = qed.core.__spec__
    try:
        from qed.nucleus import Estimator  # noqa: PLC0415
    finally:
        sys.modules.pop("qed.nucleus", None)
        vars(qed).pop("nucleus", None)
    assert Estimator is qed.core.Estimator
    assert qed.core.__spec__ is spec


def test_show_versions() -> None:
    out = io.StringIO()
    qed.show_versions(file=out)
    text = out.getvalue()
    for word in ("qed: ", "python: ", "numpy: ", "native level: ", "threads: ", "torch: "):
        assert word in text


def test_all_estimators_are_what_the_packages_offer() -> None:
    found = dict(qed.all_estimators())
    assert list(found) == sorted(found)
    for name, kind in found.items():
        assert issubclass(kind, qed.Estimator)
        assert kind.__name__ == name
        # they find rows, blocks of a table, or the covariance of columns, and say nothing of new rows, in scikit-learn too
        is_silent = name in {"NearestNeighbors", "SpectralBiclustering", "SpectralCoclustering"} or (
            kind.__module__.startswith("qed.covariance.") and name != "EllipticEnvelope"
        )
        assert (instance(kind)._traits().role is None) == is_silent
    regressors = dict(qed.all_estimators("regressor"))
    assert regressors.items() <= found.items()
    assert all(kind._declared_traits.role == "regressor" for kind in regressors.values())
