"""The tools that judge the house: each must be able to say no."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import api_check  # noqa: E402
import import_time  # noqa: E402
import seconds  # noqa: E402
import size  # noqa: E402
import wheel  # noqa: E402

import qed.datasets  # noqa: E402

GOOD = [
    "qed/__init__.py",
    "qed/py.typed",
    *(f"qed/_native/_{name}.cpython-311-x86_64-linux-gnu.so" for name in ("cpu", "v2", "v3", "v4")),
    "qed/datasets/_tables/LICENSE.md",
    "qed-0.1.0.dist-info/licenses/LICENSE",
]


def test_a_good_wheel_has_no_faults():
    assert wheel.faults(GOOD, 1000) == []


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("qed/linear_model/test_ridge.py", "test file"),
        ("qed/core/_x.so", "stray compiled"),
        ("native/src/a.cpp", "outside the package"),
        ("qed/_native/a.cpp", "leftover"),
    ],
)
def test_a_wheel_with_strangers_is_refused(extra, words):
    assert any(words in fault for fault in wheel.faults([*GOOD, extra], 1000))


@pytest.mark.parametrize("missing", GOOD[1:])
def test_a_wheel_that_lacks_something_is_refused(missing):
    assert wheel.faults([name for name in GOOD if name != missing], 1000)


def test_a_fat_wheel_is_refused():
    assert "over the limit" in wheel.faults(GOOD, wheel.LIMIT + 1)[0]


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("tests/linear_model/test_ridge.py", "linear_model"),
        ("tests/laws/deep/test_x.py", "laws"),
        ("tests/test_validation.py", "(top)"),
    ],
)
def test_packages_of_tests(path, package):
    assert seconds.package_of(path) == package


def test_names_on_a_reference_page_are_found(tmp_path):
    page = tmp_path / "x.md"
    page.write_text(
        "```{eval-rst}\n.. currentmodule:: qed.x\n.. autosummary::\n   :toctree: generated/\n\n   One\n   two\n```",
        encoding="utf-8",
    )
    assert api_check.documented(page) == {"One", "two"}


def test_an_undocumented_name_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(api_check, "ROOT", tmp_path)
    monkeypatch.setattr(api_check, "REFERENCE", tmp_path)
    assert "has no page" in api_check.reference_faults(qed.datasets)[0]
    (tmp_path / "datasets.md").write_text(".. autosummary::\n\n   Dataset\n   make_gold\n", encoding="utf-8")
    faults = api_check.reference_faults(qed.datasets)
    assert any("load_penguins is public and not on" in fault for fault in faults)
    assert any("'make_gold', which is not in" in fault for fault in faults)


def test_a_public_value_has_a_comment_of_its_own(tmp_path, monkeypatch):
    assert api_check.value_comment(qed.distributions, "Beta") is None
    assert "conjugate pair" in api_check.value_comment(qed.distributions, "CONJUGATE_PAIRS")[0]
    monkeypatch.setattr(qed.distributions, "__file__", str(tmp_path / "__init__.py"))  # where no comment stands
    assert ["CONJUGATE_PAIRS" in fault for fault in api_check.value_faults(qed.distributions)] == [True]


@pytest.mark.parametrize("text", [dict.__doc__, "One.\n\nA **strong start.\n", "One.\n\n* a\n  * b\n   c\n"])
def test_docstrings_that_break_a_page_are_found(text):
    docstrings = pytest.importorskip("docstrings", reason="Sphinx is not installed")
    assert docstrings.faults_of(text.splitlines())
    assert not docstrings.faults_of(["One, with coef_ and X_fit_."])


def test_sizes_leave_docstrings_out(tmp_path, monkeypatch):
    monkeypatch.setattr(size, "ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text(
        'def f() -> int:\n    """One.\n\n    Two.\n    """\n    return 1\n\n\ndef g():\n    return 2\n',
        encoding="utf-8",
    )
    lines = {function.where.split()[-1]: (function.lines, function.is_annotated) for function in size.functions(path)}
    assert lines == {"f": (2, True), "g": (2, False)}


def test_import_qed_is_light():
    _, modules = import_time.probe()
    roots = {name.split(".")[0] for name in modules}
    assert not roots & set(import_time.HEAVY)


def make(*arguments, **environment):
    path = environment.pop("PATH", "/usr/bin:/bin")
    command = ["/usr/bin/env", "-i", f"PATH={path}", *(f"{k}={v}" for k, v in environment.items()), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510, S603


def test_a_missing_compiler_is_named(tmp_path):
    for tool in ("sh", "mktemp", "rm", "head"):
        (tmp_path / tool).symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else f"/usr/bin/{tool}")
    done = make("/bin/sh", "tools/find_compiler.sh", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "needs a compiler; none was found" in done.stderr
    assert "apt install g++" in done.stderr


def test_a_missing_or_old_python_is_named(tmp_path):
    done = make("/bin/sh", "tools/find_python.sh", "", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    old = tmp_path / "python3"
    old.write_text(
        '#!/bin/sh\ncase "$2" in "") exit 0;; *) [ "$1" = --version ] && echo "Python 3.9.1"; exit 1;; esac\n'
    )
    old.chmod(0o755)
    done = make("/bin/sh", "tools/find_python.sh", str(old), PATH=str(tmp_path))
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr


def test_the_newest_python_wins(tmp_path):
    for name in ("python3.11", "python3.13", "python3"):
        fake = tmp_path / name
        fake.write_text("#!/bin/sh\nexit 0\n")
        fake.chmod(0o755)
    assert make("/bin/sh", "tools/find_python.sh", "", PATH=str(tmp_path)).stdout.strip() == "python3.13"


def test_help_lists_every_job():
    listed = make("/usr/bin/make", "help", PATH="/usr/bin:/bin").stdout
    for job in [
        "help",
        "demo",
        "test",
        "check",
        "laws",
        "fuzz",
        "bench",
        "docs",
        "native",
        "sanitize",
        "wheel",
        "size",
    ]:
        assert f"make {job} " in listed


def test_a_first_fit_loads_nothing_heavy():
    code = (
        "import sys, numpy as np\n"
        "from qed.linear_model import LinearRegression\n"
        "X = np.random.default_rng(0).standard_normal((100, 3))\n"
        "LinearRegression().fit(X, X[:, 0])\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    # threadpoolctl learns of qed's threads when kernels load; all else that costs milliseconds waits for its user
    unneeded = {"pathlib", "urllib", "logging", "html", *import_time.HEAVY} - {"threadpoolctl"}
    assert not set(done.stdout.split()) & unneeded
