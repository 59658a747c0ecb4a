"""`make new` writes an estimator that passes everything as it stands, in a family that exists and in a new one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("src", "tests", "tools", "docs", "benchmarks", "native")
BATTERIES = (
    "tests/linear_model/test_toy_regressor.py",
    "tests/toy_family/test_first_toy.py",
    "tests/core/test_method_docs.py",
    "tests/sklearn_protocol/test_all_estimators.py",
    "tests/verify/test_answers.py",
    "tests/verify/test_tamper.py",
    "tests/verify/test_honest.py",
    "tests/golden",
    "tests/repo/test_certificate_table.py",
)


def _copied(source: str, target: str) -> str:
    if source.endswith(".so"):  # large, and nothing writes into them
        Path(target).symlink_to(source)
        return target
    return str(shutil.copy2(source, target))  # with its time, so that compiled modules stay valid


def test_new_estimators_pass_the_batteries(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("_build", "generated")
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, copy_function=_copied, ignore=ignored)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def run(*command: str) -> str:
        words = [sys.executable, *command]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    project = tmp_path / "pyproject.toml"
    layers = project.read_text(encoding="utf-8")
    project.write_text(layers.replace('"neighbors |', '"neighbors | (toy_family) |'), encoding="utf-8")
    run("tools/new_estimator.py", "ToyRegressor", "linear_model")
    run("tools/new_estimator.py", "FirstToy", "toy_family")
    own = ("src/qed/linear_model", "src/qed/toy_family", "tests/linear_model", "tests/toy_family")
    run("-m", "ruff", "check", "-q", *own, "src/qed/verify", "benchmarks")
    run("-m", "ruff", "format", "--check", "-q", *own, "src/qed/verify", "benchmarks")
    run("tools/api_check.py")
    chosen = "ToyRegressor or toy_regressor or FirstToy or first_toy or certificate_table or can_be_handed_on"
    words = run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *BATTERIES, "-k", chosen)
    assert int(words.split(" passed")[0].split()[-1]) > 200, words
