"""What a certificate says besides its bounds, held to the model: words, tolerance and counts, and that its numbers are finite."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import LeastSquaresCertificate, MistakeBoundCertificate
from qed.verify._refusals import refuse_changed

if TYPE_CHECKING:
    from collections.abc import Callable


# A bound may hold for all coefficients, mistakes may be unbounded, and columns that depend on each other have no condition.
MAY_BE_INFINITE = frozenset({"radius", "condition", "dual"})
DEFAULT_TOLERANCE = 1e-4  # of least squares that choose their own penalty


def _shrunk(model: Any, words: str) -> str:
    changed = model.shrinkage is not None or getattr(model, "reg_param", 0.0) > 0
    return words if changed else ""


# What the certificates of some classes are about, in the words of their fits.
WORDS: dict[str, Callable[[Any, int, int], str]] = {
    "BernoulliNB": lambda _, k, p: f"Shares of {k} classes and of {p} properties",
    "CategoricalNB": lambda _, k, p: f"Shares of {k} classes and of the values of {p} columns",
    "ComplementNB": lambda _, k, p: f"Shares of {p} words outside of each of {k} classes",
    "DummyClassifier": lambda *_: "The shares of the labels",
    "DummyRegressor": lambda model, *_: f"The {model.strategy} of the targets",
    "GaussianNB": lambda model, k, _: (
        f"Shares, means and variances of {k} classes" + (f" plus {model.epsilon_:.3g}" if model.epsilon_ else "")
    ),
    "KNeighborsClassifier": lambda model, *_: f"Nearest rows by {model.effective_metric_} distance",
    "KNeighborsRegressor": lambda model, *_: f"Nearest rows by {model.effective_metric_} distance",
    "KernelDensity": lambda model, *_: f"Log-densities by {model.kernel} windows",
    "LinearDiscriminantAnalysis": lambda model, k, _: (
        f"Shares and means of {k} classes and their common covariance{_shrunk(model, ', shrunk as asked,')}"
    ),
    "LookupClassifier": lambda *_: "The fewest mistakes of any function",
    "MixedNB": lambda _, k, p: f"Shares of {k} classes and parameters of {p} columns",
    "MultinomialNB": lambda _, k, p: f"Shares of {k} classes and of {p} words",
    "NearestNeighbors": lambda model, *_: f"Nearest rows by {model.effective_metric_} distance",
    "PoissonNB": lambda _, k, p: f"Shares of {k} classes and rates of {p} columns",
    "QuadraticDiscriminantAnalysis": lambda model, k, _: (
        f"Shares, means and covariances of {k} classes{_shrunk(model, ', drawn as asked,')}"
    ),
    "RandomLinearClassifier": lambda model, *_: f"The fewest mistakes of {model.n_draws} hyperplanes drawn",
    "ThresholdClassifier": lambda *_: "The fewest mistakes of any threshold",
}

# How files from before said the same.
EARLIER = {"hyperplanes drawn": "planes drawn", "any threshold": "any cut"}

_SUBJECT = "The certificate of this"


def require_claims(model: Any, certificate: Any) -> None:
    """Refuse a certificate whose words, tolerance or counts are not those of the model, or that holds a number without meaning."""
    if "certificate_" not in vars(model):
        return  # a search has that of its best model, which is held to that one
    _require_finite(model, certificate)
    asked = model.tol if "tol" in type(model)._fields else DEFAULT_TOLERANCE
    if hasattr(certificate, "tol") and asked is not None and type(model).__name__ != "PowerTransformer":
        stated = certificate.tol
        if stated != asked:
            refuse_changed(model, f"speaks of a tolerance of {stated!s:.40}, and {asked!s:.40} was asked for", _SUBJECT)
    if isinstance(certificate, LeastSquaresCertificate) and certificate.rank != model.rank_:
        refuse_changed(
            model, f"states a rank of {certificate.rank!s:.40}, and the model one of {model.rank_!s:.40}", _SUBJECT
        )
    if isinstance(certificate, MistakeBoundCertificate) and "memory_" in type(model)._results:  # noqa: SLF001
        counted = model.memory_.rows, model.memory_.mistakes
        if (certificate.rounds, certificate.mistakes) != counted:
            refuse_changed(
                model,
                f"counts other mistakes or rounds than the fit, which made {counted[1]} in {counted[0]}",
                _SUBJECT,
            )
    about = WORDS.get(type(model).__name__)
    if about is not None and hasattr(certificate, "what"):
        words = about(model, len(vars(model).get("classes_", ())), vars(model).get("n_features_in_", 0))
        earlier = words
        for now, before in EARLIER.items():
            earlier = earlier.replace(now, before)
        if certificate.what not in (words, earlier):
            refuse_changed(model, f"claims {certificate.what!r:.80}, and its class claims {words!r}", _SUBJECT)


def _require_finite(model: Any, record: Any) -> None:
    for field in fields(record) if is_dataclass(record) else ():
        value = getattr(record, field.name)
        if is_dataclass(value):
            _require_finite(model, value)
        elif field.name not in MAY_BE_INFINITE and isinstance(value, float | np.ndarray):
            numbers = np.asarray(value)
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all() and not _is_open(record, field.name):
                refuse_changed(model, f"holds {field.name} = {value!s:.60}, which is no number", _SUBJECT)


def _is_open(record: Any, name: str) -> bool:
    """Tell whether what is no number has a meaning: intervals of columns without a choice, mistakes without a bound."""
    return (type(record).__name__, name) in {
        ("BracketCertificate", "low"),
        ("BracketCertificate", "high"),
        ("MistakeBoundCertificate", "bound"),
    }
