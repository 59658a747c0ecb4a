"""The tree of errors, and the warnings.

::

    QedError
    ├── InvalidParameter    a constructor parameter is out of its range        (ValueError, TypeError)
    ├── InvalidData         X, y or the weights cannot be learnt from          (ValueError)
    │   └── InvalidDataType they are not numbers, or not of an accepted kind   (TypeError)
    ├── NotFitted           a fitted model is needed                           (ValueError, AttributeError)
    ├── CertificateError    a certificate does not hold for this model and data
    ├── ToleranceNotReached the tolerance was not reached and ``strict=True``
    ├── ModelFileError      a model file is not readable or not trustworthy    (ValueError)
    ├── MemoryLimit         the work would exceed the memory limit             (MemoryError)
    ├── ForgetError         rows cannot be taken back out of a statistic       (ValueError)
    ├── ClusterLost         the scheduler or the workers of a cluster are gone (RuntimeError)
    └── NotSupported        scikit-learn has it, qed has not                   (NotImplementedError)

    ConvergenceWarning      a fit stopped before its tolerance                 (UserWarning)
    DataConversionWarning   the data were reshaped to what was clearly meant   (UserWarning)
    FitFailedWarning        a fit failed, and others went on                   (RuntimeWarning)
    UndefinedMetricWarning  a score is a quotient by zero; its value was agreed  (UserWarning)

Code written for scikit-learn catches scikit-learn's classes. Where scikit-learn has a class of the same
meaning and is loaded, raising ours therefore makes an object of both: ``raise NotFitted(...)`` is caught by
``except sklearn.exceptions.NotFittedError``, and neither library imports the other.
"""
# ruff: noqa: N818  these names say what happened; the tree says that they are errors

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, Self

from qed.core import _sklearn


@cache
def _joined(ours: Any, theirs: Any) -> Any:
    """Join our class and scikit-learn's: the result is caught under both names."""
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__, "_ours": ours})


class _Twinned:
    """Something raised or warned about for which scikit-learn may have a class of the same meaning."""

    _twin: tuple[str, str] | None = None

    def __new__(cls, *args: Any, **_: Any) -> Self:
        """Make an object of both classes when scikit-learn is loaded."""
        theirs = None if cls._twin is None else _sklearn.loaded(*cls._twin)
        kind: Any = cls
        if theirs is not None and not issubclass(cls, theirs):
            kind = _joined(kind, theirs)
        made: Self = super().__new__(kind, *args)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # A joined class has no importable name. Ours has one, and joins again wherever it is unpickled.
        ours = getattr(type(self), "_ours", type(self))
        return ours, self.args, self.__dict__  # type: ignore[attr-defined]


class QedError(_Twinned, Exception):
    """Every error that qed raises on purpose."""


class InvalidParameter(QedError, ValueError, TypeError):
    """A constructor parameter holds something its declaration excludes."""

    _twin = ("sklearn.utils._param_validation", "InvalidParameterError")


class InvalidData(QedError, ValueError):
    """The data cannot be learnt from or predicted for."""


class InvalidDataType(InvalidData, TypeError):
    """The data are not numbers, or come in a container that is not accepted."""


class NotFitted(QedError, ValueError, AttributeError):
    """The model has not been fitted yet."""

    _twin = ("sklearn.exceptions", "NotFittedError")


class CertificateError(QedError):
    """A certificate does not hold for this model and these data."""


class ToleranceNotReached(QedError):
    """The tolerance was not reached, and ``strict=True`` asked for an error."""


class ModelFileError(QedError, ValueError):
    """A model file is damaged, foreign, or says something that cannot be true."""


class MemoryLimit(MemoryError, QedError):  # in this order: MemoryError makes its own instances
    """The work would need more memory than the limit; nothing has been allocated."""


class ForgetError(QedError, ValueError):
    """Rows cannot be taken back out of a statistic within its rounding bound."""


class ClusterLost(QedError, RuntimeError):
    """The cluster that computed cannot be reached any more, or its workers died; the model so far is kept where there is one."""


class NotSupported(QedError, NotImplementedError):
    """scikit-learn has this and qed has not; the message says what to use."""


class ConvergenceWarning(_Twinned, UserWarning):
    """A fit stopped before its tolerance; the certificate says by how much."""

    _twin = ("sklearn.exceptions", "ConvergenceWarning")


class DataConversionWarning(_Twinned, UserWarning):
    """The data were converted to what was clearly meant."""

    _twin = ("sklearn.exceptions", "DataConversionWarning")


class FitFailedWarning(_Twinned, RuntimeWarning):
    """A fit failed on some folds or settings, and the others went on."""

    _twin = ("sklearn.exceptions", "FitFailedWarning")


class UndefinedMetricWarning(_Twinned, UserWarning):
    """A score is not defined for these data, and the value that was agreed upon is returned."""

    _twin = ("sklearn.exceptions", "UndefinedMetricWarning")


def tell_unreached(message: str, *, strict: bool) -> None:
    """Say that a fit stopped before its tolerance: as an error to those who asked for one, as a warning to others."""
    if strict:
        raise ToleranceNotReached(f"{message}, or pass strict=False.")
    warnings.warn(ConvergenceWarning(f"{message}."), stacklevel=2)
