"""qed: machine learning that shows its proof.

One rule: ``import qed`` loads ``qed.core`` and NumPy, nothing else; everything else loads when it is first named.

::

    from qed.linear_model import Ridge

    model = Ridge(alpha=1.0).fit(X, y)
    model.certificate_                       # what is proven about this fit
    qed.verify(model, X, y)                  # checked by code that shares nothing with the solver
    model.save("model.qed")                  # data only: loading runs no code
    qed.load("model.qed")
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from qed.core import _aliases, _missing
from qed.core._errors import (
    CertificateError,
    ClusterLost,
    ForgetError,
    InvalidData,
    InvalidParameter,
    MemoryLimit,
    ModelFileError,
    NotFitted,
    NotSupported,
    QedError,
    ToleranceNotReached,
)
from qed.core._estimator import Estimator, clone
from qed.core._version import __version__

if TYPE_CHECKING:
    from qed.core._events import STOP, Event, StopFit, listen
    from qed.core._persistence import load
    from qed.core._settings import config_context, get_config, set_config
    from qed.core._threads import get_num_threads, set_num_threads
    from qed.core._versions import show_versions
    from qed.data import executor, scan
    from qed.verify import verify as verify

__all__ = [
    "STOP",
    "CertificateError",
    "ClusterLost",
    "Estimator",
    "Event",
    "ForgetError",
    "InvalidData",
    "InvalidParameter",
    "MemoryLimit",
    "ModelFileError",
    "NotFitted",
    "NotSupported",
    "QedError",
    "StopFit",
    "ToleranceNotReached",
    "__version__",
    "all_estimators",
    "clone",
    "config_context",
    "executor",
    "get_config",
    "get_num_threads",
    "listen",
    "load",
    "scan",
    "set_config",
    "set_num_threads",
    "show_versions",
]

# Names that load their module when first used.
_HOMES = {
    "STOP": "qed.core._events",
    "Event": "qed.core._events",
    "StopFit": "qed.core._events",
    "config_context": "qed.core._settings",
    "get_config": "qed.core._settings",
    "listen": "qed.core._events",
    "load": "qed.core._persistence",
    "get_num_threads": "qed.core._threads",
    "set_config": "qed.core._settings",
    "set_num_threads": "qed.core._threads",
    "show_versions": "qed.core._versions",
    "executor": "qed.data",
    "scan": "qed.data",
}

# Packages that scikit-learn has and this house does not, and where their models live here.
_ALIASES = {
    "base": "core",
    "cross_decomposition": "decomposition",
    "dummy": "model_selection",
    "exceptions": "core",
    "feature_extraction": "preprocessing",
    "feature_extraction.text": "preprocessing",
    "impute": "preprocessing",
    "isotonic": "calibration",
    "kernel_approximation": "kernel_model",
    "kernel_ridge": "kernel_model",
    "metrics.cluster": "metrics",
    "metrics.pairwise": "metrics",
    "multiclass": "compose",
    "multioutput": "compose",
    "pipeline": "compose",
    "random_projection": "decomposition",
    "utils": "core",
    "utils.class_weight": "core",
    "utils.discovery": "core",
    "utils.extmath": "core",
    "utils.multiclass": "core",
    "utils.validation": "core",
}
_aliases.install({f"qed.{theirs}": f"qed.{ours}" for theirs, ours in _ALIASES.items()})
_missing.install()


def _packages() -> list[str]:
    """Name the public packages, sorted."""
    from pkgutil import iter_modules  # noqa: PLC0415

    return sorted(found.name for found in iter_modules(__path__) if found.ispkg and not found.name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_") and (name in _ALIASES or name in _packages()):
        try:
            return import_module(f"qed.{name}")
        except ModuleNotFoundError as error:
            if name not in _ALIASES:
                raise
            raise AttributeError(str(error)) from None
    raise _missing.missing("qed", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_packages()})


def all_estimators(role: str | None = None) -> list[tuple[str, type[Estimator]]]:
    """List every model of qed.

    Parameters
    ----------
    role : {"regressor", "classifier", "transformer", "clusterer", "outlier_detector", "density_estimator"}, optional
        Only models of this role.

    Returns
    -------
    list of (str, type)
        Names and classes, sorted by name. Every public package is loaded to find them.
    """
    found: dict[str, type[Estimator]] = {}
    for package in _packages():
        module = import_module(f"qed.{package}")
        for name in getattr(module, "__all__", ()) if package != "core" else ():
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, Estimator):
                found[name] = value
    traits = {name: cls._declared_traits for name, cls in found.items()}
    wanted = [name for name in sorted(found) if role is None or role == traits[name].role]
    return [(name, found[name]) for name in wanted]


class _Package(ModuleType):
    """The package ``qed``, whose attribute ``verify`` is the function and never the package of that name."""

    @property
    def verify(self) -> Any:
        return self.__dict__.get("verify") or import_module("qed.verify").verify

    @verify.setter
    def verify(self, value: Any) -> None:
        """Keep what is set, but for the package of that name, which its import sets here."""
        if not isinstance(value, ModuleType):
            self.__dict__["verify"] = value


sys.modules[__name__].__class__ = _Package
