"""Checks what `import qed` loads, and prints how long it takes and how much longer a first fit takes than a second.

The list of modules is checked, because it does not depend on the machine: NumPy and qed's own core, and none of the
heavy libraries. The times (best of several fresh processes) are printed beside their promises, 0.15 s and 20 ms, and
checked with a wide margin only.
"""

from __future__ import annotations

import compileall
import json
import subprocess
import sys
from pathlib import Path

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
FIRST_FIT = 0.02  # more than the second
MARGIN = 10  # a machine this much slower than promised is busy, or something is badly wrong
PROBE = """
import json, sys, time
begin = time.perf_counter()
import qed
spent = time.perf_counter() - begin
print(json.dumps({"seconds": spent, "modules": sorted(sys.modules)}))
"""

FIT = """
import time
import numpy as np
from qed.linear_model import LinearRegression
X = np.random.default_rng(0).standard_normal((1000, 20))
times = [time.perf_counter()]
for _ in range(2):
    LinearRegression().fit(X, X[:, 0])
    times.append(time.perf_counter())
print((times[1] - times[0]) - (times[2] - times[1]))
"""


def first_fit() -> float:
    """Fit twice in a fresh process; return how many seconds longer the first one took."""
    return float(subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True).stdout)


def probe() -> tuple[float, list[str]]:
    """Import qed in a fresh process; return seconds and loaded modules."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    return seen["seconds"], seen["modules"]


def main() -> int:
    """Print time and verdict; return 1 when something heavy was loaded."""
    compileall.compile_dir(Path(__file__).parents[1] / "src" / "qed", quiet=2)  # as installing would
    runs = [probe() for _ in range(3)]
    best = min(seconds for seconds, _ in runs)
    modules = runs[0][1]
    print(f"import qed: {best:.3f} s (promise {PROMISE} s), {len(modules)} modules")
    later = min(first_fit() for _ in range(3))
    print(f"first fit: {1000 * later:.1f} ms more than the second (promise {1000 * FIRST_FIT:.0f} ms)")
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
    if later > FIRST_FIT * MARGIN:
        print(f"The first fit took {later:.2f} s more than the second, more than {MARGIN} times its promise.")
    return 1 if heavy or extra or best > PROMISE * MARGIN or later > FIRST_FIT * MARGIN else 0


if __name__ == "__main__":
    sys.exit(main())
