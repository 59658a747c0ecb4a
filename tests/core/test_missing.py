"""What scikit-learn has and qed has not is said, with what to use, however it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import qed
from qed.core import _aliases, _missing

ROOT = Path(__file__).parents[2]
NAMES = _missing._names()
LACKED = [
    (package, name)
    for package in sorted(set(NAMES) & set(qed._packages()))
    for name in sorted(NAMES[package])
    if name not in importlib.import_module(f"qed.{package}").__all__ and f"{package}.{name}" not in qed._ALIASES
]
NO_PACKAGES = sorted(name for name in set(NAMES) - set(qed._packages()) - set(qed._ALIASES) - {""} if "." not in name)
NO_MODULES = sorted(name for name in set(NAMES) - set(qed._ALIASES) if "." in name)


def test_the_list_is_what_scikit_learn_offers() -> None:
    command = [sys.executable, ROOT / "tools" / "sklearn_names.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"TweedieRegressor", "Lasso", "lasso_path"} <= NAMES["linear_model"]
    assert "IterativeImputer" in NAMES["impute"]
    assert len(NAMES) > 35


@pytest.mark.parametrize(("package", "name"), LACKED)
def test_a_name_that_a_package_lacks(package: str, name: str) -> None:
    words = f"qed.{package} has no {name}; not in qed, use sklearn.{package}.{name}."
    module = importlib.import_module(f"qed.{package}")
    with pytest.raises(AttributeError) as found:
        getattr(module, name)
    assert str(found.value) == words
    assert not hasattr(module, name)
    with pytest.raises(ImportError) as found_by_import:
        exec(f"from qed.{package} import {name}")  # noqa: S102
    assert str(found_by_import.value) == words


@pytest.mark.parametrize("package", NO_PACKAGES)
def test_a_package_that_qed_lacks(package: str) -> None:
    words = f"qed has no {package}; not in qed, use sklearn.{package}."
    statements = (f"import qed.{package}", f"from qed.{package} import anything", f"from qed import {package}")
    for statement in statements:
        with pytest.raises(ModuleNotFoundError) as found:
            exec(statement)  # noqa: S102
        assert str(found.value) == words, statement
    with pytest.raises(AttributeError) as asked:
        getattr(qed, package)
    assert str(asked.value) == words
    assert not hasattr(qed, package)


@pytest.mark.parametrize("module", NO_MODULES)
def test_a_module_that_qed_lacks(module: str) -> None:
    for statement in (f"import qed.{module}", f"from qed.{module} import anything"):
        with pytest.raises(ImportError, match=r"not in qed, use sklearn\."):
            exec(statement)  # noqa: S102


def test_names_of_modules_inside_packages() -> None:
    with pytest.raises(ImportError, match=r"not in qed, use sklearn\.utils\.validation\.check_memory"):
        from qed.utils.validation import check_memory  # noqa: F401, PLC0415
    from qed.metrics.cluster import adjusted_rand_score  # noqa: PLC0415
    from qed.utils.extmath import randomized_svd  # noqa: PLC0415

    assert adjusted_rand_score([0, 1], [0, 1]) == 1.0
    assert randomized_svd.__module__.startswith("qed.")


def test_what_scikit_learn_itself_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_missing, "_names", lambda: {**NAMES, "": NAMES[""] | {"set_weather"}})
    with pytest.raises(AttributeError, match=r"qed has no set_weather; not in qed, use sklearn\.set_weather"):
        _ = qed.set_weather
    with pytest.raises(ImportError, match=r"use sklearn\.set_weather"):
        from qed import set_weather  # noqa: F401, PLC0415


def test_what_nobody_has() -> None:
    with pytest.raises(AttributeError, match=r"module 'qed\.linear_model' has no attribute 'Nonsense'"):
        _ = qed.linear_model.Nonsense
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        from qed.linear_model import Nonsense  # noqa: F401, PLC0415
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'qed\.nonsense'"):
        importlib.import_module("qed.nonsense")
    assert importlib.util.find_spec("qed.nonsense") is None
    assert importlib.util.find_spec("qed.linear_model._nonsense") is None


def test_a_package_of_ours_answers_for_all_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, _aliases.AliasFinder({"qed.pipeline": "qed.core"})])
    error = _missing.missing("qed.core", "FeatureUnion")
    assert str(error) == "qed.core has no FeatureUnion; not in qed, use sklearn.pipeline.FeatureUnion."
    assert "has no attribute" in str(_missing.missing("qed.core", "SVC"))


def test_nothing_is_loaded_to_say_so() -> None:
    code = """
import sys, qed.linear_model
try:
    qed.linear_model.TweedieRegressor
except AttributeError as error:
    assert "use sklearn.linear_model.TweedieRegressor" in str(error)
else:
    raise AssertionError
assert not [name for name in sys.modules if name.partition(".")[0] == "sklearn"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT / "src")})  # noqa: S603
