"""`make sanitize`: the native code under AddressSanitizer and UndefinedBehaviorSanitizer.

The instrumented modules live in a copy of the package under build/sanitize, so the ordinary ones stay as they are.
``--modules`` builds them for the instruction level of this machine and runs nothing: what ``fuzz_files.py --sanitize`` needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitize"
PACKAGE = BUILD / "src" / "qed"
# the parts that cross into native code, without scikit-learn's long battery
PARTS = (
    "tests/native",
    "tests/data",
    "tests/designs",
    "tests/convex",
    "tests/linear_model",
    "tests/svm",
    "tests/preprocessing",
    "tests/metrics",
)
# other processes would need the runtime too, and 2^31 entries need more memory than instrumented code leaves
WITHOUT = ("sklearn", "fork", "loky", "spawn", "two_to_the_31")
UBSAN = "halt_on_error=1:print_stacktrace=1"


def run(*command: str | Path, **extra: str) -> int:
    """Run a command with extra environment variables."""
    return subprocess.call([str(part) for part in command], cwd=ROOT, env={**os.environ, **extra})


def build(*, levels: str = "all", tests: bool = True) -> bool:
    """Build instrumented modules beside a copy of the Python sources."""
    shutil.rmtree(BUILD / "src", ignore_errors=True)
    shutil.copytree(ROOT / "src" / "qed", PACKAGE, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    options = (
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DQED_SANITIZE=ON",
        f"-DQED_TESTS={'ON' if tests else 'OFF'}",
        f"-DQED_LEVELS={levels}",
        f"-DPython_EXECUTABLE={sys.executable}",
    )
    return not (
        run("cmake", "-S", "native", "-B", BUILD, *options, "--log-level=WARNING")
        or run("cmake", "--build", BUILD)
        or run("cmake", "--install", BUILD, "--prefix", PACKAGE / "_native")
    )


def library(name: str) -> str:
    """Path of one of the compiler's libraries."""
    compiler = os.environ.get("CXX", "c++")
    asked = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = asked.stdout.strip()
    if not Path(path).is_absolute():
        raise SystemExit(
            f"{compiler} has no {name}. Install the sanitizer runtime (Debian/Ubuntu: part of g++), or set CXX=g++."
        )
    return path


def python_settings() -> dict[str, str]:
    """Return what Python needs to load instrumented modules.

    The sanitizer must be there before Python itself, and the C++ library before the first exception is thrown. Python
    never frees everything, so leaks are looked for in the native tests alone.
    """
    return {
        "PYTHONPATH": str(BUILD / "src"),
        "LD_PRELOAD": f"{library('libasan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": UBSAN,
        "PYTHONMALLOC": "malloc",
    }


def levels(settings: dict[str, str]) -> list[str]:
    """Instruction levels that this processor has: instrumented code of another one stops before it can say so."""
    code = "import qed._native as native; print(*native.available_levels())"
    asked = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **settings},
    )
    return asked.stdout.split()


def main() -> int:
    """Build, run native tests, run a part of the Python tests."""
    if "--modules" in sys.argv[1:]:
        return 0 if build(levels="host", tests=False) else 1
    if not build():
        return 1
    settings = python_settings()
    known = levels(settings)
    chosen = f"native_({'|'.join(known)})$"
    native = run(
        "ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", "-R", chosen, UBSAN_OPTIONS=UBSAN
    )
    parts = [part for part in PARTS if (ROOT / part).exists()]
    words = " and ".join(f"not {word}" for word in WITHOUT)
    # --capture=sys lets the sanitizer's own words through
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys", "-k", words)
    python = run(*pytest, *parts, **settings)
    for what, status in (
        (f"native tests ({', '.join(known)})", native),
        (f"Python tests ({', '.join(parts)})", python),
    ):
        print(f"{what}: {'failed' if status else 'clean'}")
    return 1 if native or python else 0


if __name__ == "__main__":
    sys.exit(main())
