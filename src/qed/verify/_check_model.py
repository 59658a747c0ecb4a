"""Verification of one model, whatever its class: what it holds, what its certificate says, and then the check of its class.

A model is looked up by its class alone (``_families``). Nothing that it stores can choose another check: not the kind of its
certificate, not the names of its attributes. A class that is not in the table is rejected, and so is

* a certificate of a kind that the class does not carry, none at all, or one whose numbers make no sense by themselves;
* an attribute that the class does not declare, and a declared one that is missing although every fit sets it;
* labels that are not those of the targets, and columns that are not those of the rows.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import Certificate, CompositeCertificate, ExactCertificate, GapCertificate, Uncertified
from qed.core import CertificateError, InvalidData, ModelFileError, _targets
from qed.core._once import cached_property
from qed.core._records import conforms, field_hints, is_record, public_name
from qed.core._state import check_state
from qed.core._validation import is_source
from qed.verify._blocks import column_names
from qed.verify._claims import require_claims
from qed.verify._declared import declares
from qed.verify._families import entry_named
from qed.verify._part import Stated, certificate_of, require_template
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData, require_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.verify._families._entry import Entry


def entry_of(model: Any) -> Entry:
    """Return the entry of a model's class."""
    cls = type(model)
    name = public_name(cls)
    package, _, leaf = name.rpartition(".")
    entry = entry_named(name)
    if entry is not None and getattr(sys.modules.get(package), leaf, None) is cls:
        return entry
    parents = [base.__name__ for base in cls.__mro__[1:] if entry_named(public_name(base)) is not None]
    advice = (
        f" It derives from {parents[0]}, and may answer in another way: verify a model of {parents[0]} itself."
        if parents
        else " Verify the models of qed inside it, each with the rows that reached it."
    )
    raise CertificateError(f"The checker does not know the class {name}, so that it can confirm nothing.{advice}")


def check_model(model: Any, X: Any, y: Any, sample_weight: Any, *, as_part: bool = False) -> Verdict:
    """Verify one model, part by part where it has parts; raise when anything in it is not as it must be.

    Parameters
    ----------
    model : Estimator
        A fitted model.
    X, y, sample_weight : object
        What reached it.
    as_part : bool
        Whether it stands inside another model: there a class that claims nothing is let pass, and the whole says so.
    """
    entry = entry_of(model)
    reason = entry.claims_nothing
    if not reason:
        _require_claim(model)
    _require_state(model)
    _require_columns(model, X)
    if reason:
        if model.__dict__.get("certificate_") != Uncertified(reason):
            refuse_changed(model, f"carries a certificate, and its class claims nothing ({reason})")
        if not as_part:
            raise CertificateError(f"{type(model).__name__} claims nothing that could be verified: {reason}.")
        return Verdict(f"nothing is claimed: {reason}.", 0.0, 0.0, 0.0, 0.0, "", claims_nothing=True)
    certificate = certificate_of(model)
    _require_kind(model, certificate, entry)
    _require_sound(model, certificate)
    require_claims(model, certificate)
    _require_labels(model, X, y)
    if type(certificate) in entry.checks:
        for part in () if entry.inner is None else entry.inner(model, X, y, _as_weights(sample_weight, X, y)):
            require_template(model, part)
            check_model(part.model, part.X, part.y, part.weight, as_part=True)
        verdict = entry.checks[type(certificate)](model, certificate, X, y, sample_weight)
    else:
        verdict = _check_parts(model, entry, certificate, X, y, sample_weight)
    if not (np.isfinite(verdict.distance) and np.isfinite(verdict.rounding)):
        refuse_changed(model, "could not be compared with its optimum: a number in it is not finite")
    return verdict


def _check_parts(model: Any, entry: Entry, certificate: Certificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Verify every part; the distance and rounding of the verdict are the largest."""
    assert entry.parts is not None  # noqa: S101  the certificate has a kind that this class carries
    listed = certificate.parts if isinstance(certificate, CompositeCertificate) and not entry.is_search else {}
    found: list[tuple[str, Verdict]] = []
    names = []
    for part in entry.parts(model, X, y, _as_weights(sample_weight, X, y)):
        if isinstance(part, Stated):
            names.append(part.name)
            found.append((part.name, part.verdict))
            continue
        require_template(model, part)
        if part.is_listed:
            names.append(part.name)
            own = certificate_of(part.model)
            if type(listed.get(part.name)) is not type(own) or listed[part.name] != own:
                refuse_changed(model, f"states another certificate for {part.name!r} than the part itself")
        found.append((part.name, check_model(part.model, part.X, part.y, part.weight, as_part=True)))
    if names != list(listed):
        refuse_changed(
            model, f"states certificates of the parts {list(listed)!r:.200}, and has the parts {names!r:.200}"
        )
    claims = [verdict for _, verdict in found if not verdict.claims_nothing]
    if not claims:
        words = f"nothing is claimed of any part ({', '.join(name for name, _ in found)})."
        return Verdict(words, 0.0, 0.0, 0.0, 0.0, "", claims_nothing=True)
    worst = max(claims, key=lambda one: one.distance)
    return Verdict(certificate.statement, worst.objective, worst.distance, worst.rounding, worst.claimed, worst.measure)


def _as_weights(sample_weight: Any, X: Any, y: Any) -> Any:
    """Return one number for all rows as one number for each: parts may see some of the rows."""
    if sample_weight is None or is_source(X):
        return sample_weight
    if np.ndim(sample_weight) == 0:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(y if y is not None else X)
        return _targets.weights(sample_weight, n_rows)
    return _targets.weights(sample_weight, len(_targets.as_target(sample_weight, "sample_weight")))


# -- what a model holds ----------------------------------------------------------------------------------------


def _require_state(model: Any) -> None:
    """Refuse what the class does not declare; drop cached values, which are then computed from what is checked."""
    _drop_caches(model)
    try:
        check_state(model, deep=False)  # parts are looked at one by one
    except ModelFileError as error:
        refuse_changed(model, f"is not what its class declares ({error})")
    model._validate_params()  # noqa: SLF001


def _drop_caches(value: Any) -> None:
    """Delete what was computed once and kept, of a model and of the records in it."""
    state = getattr(value, "__dict__", {})
    cls = type(value)
    for name in [name for name in state if isinstance(inspect.getattr_static(cls, name, None), _CACHED)]:
        del state[name]
    for item in state.values():
        if is_record(item):
            _drop_caches(item)


_CACHED = (cached_property, functools.cached_property)


def _require_columns(model: Any, X: Any) -> None:
    """Refuse rows with other columns than the model stores."""
    state = vars(model)
    if "n_features_in_" not in state:
        return
    if is_source(X):
        require_columns(model, X.schema.n_features, X.schema.names)
        return
    shape: Any = X.shape if hasattr(X, "shape") else np.shape(X) if isinstance(X, list | tuple) else ()
    if len(shape) == 2:
        require_columns(model, int(shape[1]), column_names(X))


def _require_labels(model: Any, X: Any, y: Any) -> None:
    """Refuse a classifier whose labels are not those of the targets, in order.

    A classifier that learns from a stream may know labels that no row has: they were named in its first call.
    """
    cls = type(model)
    if cls._declared_traits.target != "label" or not declares(model, "classes_"):
        return
    if vars(model).get("multilabel_", False):
        return  # a table of zeros and ones, which the check of its class reads
    stored = vars(model)["classes_"]
    if is_source(X):
        labels = np.array(sorted({label for chunk in X.chunks() for label in np.unique(chunk.y).tolist()}))
    else:
        if y is None:
            raise InvalidData(f"{cls.__name__} learnt from labels, and y is None. Pass the labels of the fit after X.")
        target = _targets.as_target(y, "y")
        if target.ndim == 2 and target.shape[1] > 1:
            _require_labels_of_columns(model, stored, target)
            return
        labels = _sorted_labels(target.reshape(-1))
    if isinstance(stored, list) and len(stored) > 1:
        raise OtherData(
            f"{cls.__name__} knows {len(stored)} columns of labels, and y is one. Pass the labels of the fit."
        )
    if not isinstance(stored, np.ndarray) or stored.ndim != 1 or stored.dtype.kind in "cmMV":
        refuse_changed(model, "has labels that are no list of labels")
    if stored.dtype.kind == "O" and labels.dtype.kind in "biuf":
        refuse_changed(model, "has labels that are objects, and these are numbers")
    known, found = stored.tolist(), labels.tolist()
    if "unlabeled" in cls._fields and model.unlabeled is not None:  # what stands for a label that nobody knows
        found = [label for label in found if label != model.unlabeled]
    is_stream = hasattr(cls, "partial_fit")
    if known != found and not (is_stream and known == sorted(set(known)) and set(found) <= set(known)):
        raise OtherData(
            f"{cls.__name__} is not what these data give: the labels {found!r:.200} are not among its classes, or not all of them:"
            f" {known!r:.200}. The labels were changed, or these are not the data of the certificate. Pass those of the fit."
        )


def _require_labels_of_columns(model: Any, stored: Any, target: Any) -> None:
    """Compare the labels of several targets, one list for each."""
    if not isinstance(stored, list) or len(stored) != target.shape[1]:
        return  # a table of zeros and ones, which the check of its class reads
    for number, labels in enumerate(stored):
        if np.asarray(labels).tolist() != _sorted_labels(target[:, number]).tolist():
            raise OtherData(
                f"The labels of target {number} of this {type(model).__name__} are not those of these targets."
            )


def _sorted_labels(target: Any) -> Any:
    try:
        return np.unique(target)
    except TypeError as error:
        raise InvalidData(f"The labels in y have no common order: {error}.") from error


# -- what a certificate holds ----------------------------------------------------------------------------------


def _require_claim(model: Any) -> None:
    """Say so where a model of a class that claims something claims nothing, as after a stream."""
    certificate, name = certificate_of(model), type(model).__name__
    if isinstance(certificate, Uncertified):
        raise CertificateError(
            f"This {name} claims nothing that could be verified: {certificate.reason}. A fit of {name} on a table carries a"
            " certificate."
        )


def _require_kind(model: Any, certificate: Any, entry: Entry) -> None:
    """Refuse a certificate that a fit of this class does not carry."""
    if type(certificate) in entry.checks:
        return
    if entry.parts is not None and (
        type(certificate) is CompositeCertificate or (entry.is_search and isinstance(certificate, Certificate))
    ):
        return
    carried = [kind.__name__ for kind in entry.checks] + (["CompositeCertificate"] if entry.parts is not None else [])
    refuse_changed(
        model, f"carries {type(certificate).__name__} as its certificate, and a fit carries {' or '.join(carried)}"
    )


def _require_sound(model: Any, certificate: Any) -> None:
    """Hold a certificate, and every record in it, against its own declaration."""
    if isinstance(certificate, CompositeCertificate):
        if type(certificate.parts) is not dict or not all(type(name) is str for name in certificate.parts):
            refuse_changed(model, "carries a certificate whose parts have no names")
    elif is_dataclass(certificate) and is_record(certificate):
        for field in fields(certificate):
            value = getattr(certificate, field.name)
            if not conforms(value, field_hints(type(certificate))[field.name]):
                refuse_changed(model, f"carries a certificate whose {field.name} is {type(value).__name__}")
            if is_record(value):
                _require_sound(model, value)
    own = getattr(certificate, "check", None)
    if own is not None:
        try:
            own()
        except (ValueError, TypeError) as error:
            refuse_changed(model, f"carries a certificate that makes no sense ({error})")
    if isinstance(certificate, GapCertificate) and not np.isfinite(certificate.gap):
        refuse_changed(model, f"states a gap of {certificate.gap}, which claims nothing")
    # blocks of thousands of rows are summed at once, and a stream may bring rows one by one: no fit states more than this
    if isinstance(certificate, ExactCertificate) and not certificate.rounding <= 2.0**-34 + 2.0**-38 * certificate.rows:
        refuse_changed(
            model,
            f"states a rounding of {certificate.rounding:.3g}, and sums of {certificate.rows} rows round by far less",
        )
