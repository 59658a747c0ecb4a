"""What is installed and what was chosen at run time: the first thing to paste into a bug report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from qed.core import _kernels
from qed.core._version import __version__

if TYPE_CHECKING:
    from typing import TextIO


_LIBRARIES = (
    *("numpy", "scipy", "narwhals", "threadpoolctl"),
    *("scikit-learn", "joblib", "pandas", "polars", "pyarrow", "duckdb", "matplotlib", "torch", "dask"),
)


def versions() -> dict[str, str]:
    """Return names and versions, in the order in which they are printed."""
    import os  # noqa: PLC0415
    import platform  # noqa: PLC0415
    from importlib import metadata  # noqa: PLC0415

    found = {
        "qed": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})",
        "machine": f"{platform.platform()}, {os.cpu_count()} CPUs",
        "native level": _kernels.native_level(),
        "threads": str(_kernels.num_threads()),
    }
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions of qed, Python and the libraries beside it, the native level and the threads.

    Parameters
    ----------
    file : text file, optional
        Where to print; standard output by default.
    """
    found = versions()
    width = max(map(len, found))
    out = sys.stdout if file is None else file
    out.write("".join(f"{name:>{width}}: {value}\n" for name, value in found.items()))
