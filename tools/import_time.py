"""Checks what `import qed` loads, and prints how long it takes.

The list of modules is checked, because it does not depend on the machine: NumPy and qed's own core, and none of the
heavy libraries. The time (best of several fresh processes) is printed beside its promise of 0.15 s and checked with a
wide margin only.
"""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = (
    "scipy",
    "sklearn",
    "pandas",
    "narwhals",
    "torch",
    "dask",
    "pyarrow",
    "polars",
    "duckdb",
    "matplotlib",
    "joblib",
    "threadpoolctl",
)
PROMISE = 0.15
MARGIN = 10  # a machine this much slower than promised is busy, or something is badly wrong
PROBE = """
import json, sys, time
begin = time.perf_counter()
import qed
spent = time.perf_counter() - begin
print(json.dumps({"seconds": spent, "modules": sorted(sys.modules)}))
"""


def probe() -> tuple[float, list[str]]:
    """Import qed in a fresh process; return seconds and loaded modules."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    return seen["seconds"], seen["modules"]


def main() -> int:
    """Print time and verdict; return 1 when something heavy was loaded."""
    runs = [probe() for _ in range(3)]
    best = min(seconds for seconds, _ in runs)
    modules = runs[0][1]
    print(f"import qed: {best:.3f} s (promise {PROMISE} s), {len(modules)} modules")
    roots = {name.split(".")[0] for name in modules}
    heavy = [name for name in HEAVY if name in roots]
    packages = {name.split(".")[1] for name in modules if name.startswith("qed.")}
    extra = sorted(packages - {"core", "_native", "_version"})
    if heavy:
        print(f"`import qed` loads {', '.join(heavy)}. Import them where they are used, inside the function.")
    if extra:
        print(f"`import qed` loads qed.{', qed.'.join(extra)}. Only core may load at import; the rest on first use.")
    if best > PROMISE * MARGIN:
        print(f"`import qed` took {best:.2f} s, more than {MARGIN} times its promise.")
    return 1 if heavy or extra or best > PROMISE * MARGIN else 0


if __name__ == "__main__":
    sys.exit(main())
