"""Writes the list of scikit-learn's public names, so that qed can say what it lacks without loading scikit-learn.

``python tools/sklearn_names.py`` writes src/qed/core/sklearn_names.txt anew; ``--check`` says whether it is up to date.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from pathlib import Path
from types import ModuleType

TABLE = Path(__file__).resolve().parents[1] / "src" / "qed" / "core" / "sklearn_names.txt"
MODULES = (  # inside packages, whose names scripts import from there
    "feature_extraction.image",
    "feature_extraction.text",
    "gaussian_process.kernels",
    "metrics.cluster",
    "metrics.pairwise",
    "utils.class_weight",
    "utils.discovery",
    "utils.estimator_checks",
    "utils.extmath",
    "utils.graph",
    "utils.metadata_routing",
    "utils.metaestimators",
    "utils.multiclass",
    "utils.parallel",
    "utils.random",
    "utils.sparsefuncs",
    "utils.validation",
)
OURS = ("conftest", "externals", "tests")  # scikit-learn's own business


def table() -> str:
    """Return one line for each public package of scikit-learn: its name, then its public names, sorted."""
    import sklearn
    from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
    from sklearn.utils import all_estimators

    packages = [found.name for found in pkgutil.iter_modules(sklearn.__path__) if found.name[0] != "_"]
    names = {
        package: _offered(importlib.import_module(f"sklearn.{package}")) for package in packages if package not in OURS
    }
    for module in MODULES:
        names[module] = _offered(importlib.import_module(f"sklearn.{module}"))
    for name, estimator in all_estimators():  # those of experiments stand in no list
        names[estimator.__module__.split(".")[1]].add(name)
    own = set(sklearn.__all__) - set(packages)
    lines = [" ".join([f"{package}:", *sorted(public)]) for package, public in sorted({"": own, **names}.items())]
    return "\n".join([f"sklearn {sklearn.__version__}", *lines]) + "\n"


def _offered(module: ModuleType) -> set[str]:
    public = getattr(module, "__all__", None)
    if public is None:
        public = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return {name for name in public if not name.startswith("_")}


def main() -> int:
    """Write the list, or compare it."""
    warnings.simplefilter("ignore")  # packages that will be gone some day say so
    if sys.argv[1:] == ["--check"]:
        if TABLE.read_text(encoding="ascii") != table():
            print(f"{TABLE.name} is not what scikit-learn offers. Run: python tools/sklearn_names.py")
            return 1
        return 0
    TABLE.write_text(table(), encoding="ascii")
    print(f"{TABLE}: {len(TABLE.read_text(encoding='ascii').split())} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
