"""`make wheel`: build one wheel, look inside, install it in an empty environment away from the sources, and use it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
LIMIT = 9_300_000  # bytes: no more than the wheel of scikit-learn; six million are the native code of three instruction levels
NATIVE = "qed/_native/"
LEVELS = ({"_cpu", "_v2", "_v3", "_v4"}, {"_cpu", "_portable"})  # one of these is complete


def build() -> Path:
    """Build into an empty dist/ with the tools of this environment."""
    shutil.rmtree(DIST, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(DIST),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def faults(names: list[str], size: int) -> list[str]:
    """Say what is wrong with a wheel that holds these files."""
    found = [
        f"a test file is inside: {name}"
        for name in names
        if "tests/" in name or name.rsplit("/", 1)[-1].startswith("test_")
    ]
    found += [
        f"a stray compiled file: {name}"
        for name in names
        if name.endswith((".so", ".pyd", ".o", ".a")) and not name.startswith(NATIVE)
    ]
    found += [
        f"something outside the package: {name}"
        for name in names
        if not name.startswith("qed/") and ".dist-info/" not in name
    ]
    found += [f"a leftover: {name}" for name in names if name.endswith((".pyc", ".cpp", ".hpp", ".cmake", ".orig"))]
    if size > LIMIT:
        found.append(f"{size:,} bytes, over the limit of {LIMIT:,}")
    levels = {name.removeprefix(NATIVE).split(".")[0] for name in names if name.startswith(f"{NATIVE}_")}
    if not any(levels >= wanted for wanted in LEVELS):
        found.append(f"instruction levels are missing in {NATIVE}: found {', '.join(sorted(levels)) or 'none'}")
    for needed in ("qed/py.typed", "qed/datasets/_tables/LICENSE.md"):
        if needed not in names:
            found.append(f"{needed} is missing")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        found.append("the licence is missing")
    return found


def audit(wheel: Path) -> bool:
    """Print what is inside and what is wrong with it."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} bytes, {len(entries)} files")
    for entry in entries:
        print(f"  {entry.file_size:>9,}  {entry.filename}")
    found = faults([entry.filename for entry in entries], size)
    for fault in found:
        print(f"FAULT: {fault}")
    if importlib.util.find_spec("auditwheel"):
        subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)], check=False)
    else:
        print("(auditwheel is not installed: which systems the wheel suits was not examined)")
    return not found


def smoke(wheel: Path) -> bool:
    """Install in an empty environment outside the tree and run the smoke test there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "venv", with_pip=True)
        python = Path(folder) / "venv" / "bin" / "python"
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True
        )
        script = shutil.copy(ROOT / "tools" / "smoke.py", folder)
        return subprocess.call([python, "-I", script], cwd=folder) == 0


def main() -> int:
    """Build, audit, install, use."""
    wheel = build()
    is_clean = audit(wheel)
    works = smoke(wheel)
    print(f"audit: {'clean' if is_clean else 'FAULTS'}; in an empty environment: {'works' if works else 'FAILED'}")
    return 0 if is_clean and works else 1


if __name__ == "__main__":
    sys.exit(main())
