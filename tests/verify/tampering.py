"""Fitted models, changed: every way in which a model or its certificate may differ from what was fitted.

A change is a place in the fitted state (``coef_``, ``steps_[1].scale_``, ``certificate_.fingerprint.mean``) and a new value there.
Whenever a changed model answers otherwise on fresh rows, or its certificate states something else, ``qed.verify`` must raise
CertificateError. What may change unseen is declared: attributes of which no answer depends, ``fitted(..., answers=False)``.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import qed
from qed.certificates import Certificate, CompositeCertificate, ExactCertificate, Uncertified
from qed.core import CertificateError, Estimator, QedError
from qed.core._persistence import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.configurations import Configuration, Data

__all__ = ["Change", "Subject", "changes", "judged"]

ASKED = (
    "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "transform", "score_samples",
    "kneighbors", "apply", "votes", "latent", "distances",
)  # fmt: skip
TOLD = ("get_feature_names_out", "get_support", "get_covariance", "get_depth", "get_n_leaves", "coefficient_table")
# Numbers of a certificate that bound something: a larger one (of ``lower`` and ``bound`` of clusters a smaller one) is a weaker
# statement, which is true as well; whether a tighter one is true, the checker decides by its own computation.
BOUNDS = frozenset(
    {"gap", "rounding", "radius", "backward_error", "orthogonality", "variance_error", "lower", "bound", "drift", "low",
     "high", "weight_rounding", "mean_rounding", "spread_rounding", "gradient", "largest", "difference", "confidence", "curvature",
     "margins"}
)  # fmt: skip
# How a fit went, and dual points, which help to prove a claim and are no claim.
TELLING = frozenset(
    {"trace", "evaluations", "nodes", "passes", "directions", "checked", "condition", "outcome", "dual"}
)
# What earlier files do not say: a fingerprint without them is held to less.
UNSAID = frozenset({"mean_rounding", "spread_rounding"})
# Attributes that classes were once recognised by: a class that does not declare them must not be judged by them.
FOREIGN = (
    "alpha_", "C_", "l1_ratio_", "ridge_", "steps_", "estimators_", "transformers_", "code_book_", "t_", "scaler_", "encodings_",
    "order_", "support_", "mean_", "classes_", "class_prior_", "regressor_", "multilabel_", "final_estimator_",
)  # fmt: skip

Path = tuple[tuple[str, Any], ...]


class Change(NamedTuple):
    """A place in a fitted model, and what is put there."""

    path: Path
    how: str
    value: Any

    @property
    def words(self) -> str:
        """The change as code would write it."""
        place = "".join(f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in self.path)
        return f"{place.lstrip('.')}: {self.how}"


class Subject(NamedTuple):
    """A fitted model with the rows of its fit, its answers, and another fit of the same class to take values from."""

    configuration: Configuration
    data: Data
    model: Any
    answers: dict[str, Any]
    donor: Any

    @classmethod
    def of(cls, configuration: Configuration, seed: int) -> Subject:
        """Fit a configuration on rows of a seed."""
        data = configuration.data(seed)
        model = configuration.fitted(data)
        donor = configuration.fitted(configuration.data(seed + 1))
        return cls(configuration, data, model, answers(model, data.fresh), donor)


def answers(model: Any, fresh: Any) -> dict[str, Any]:
    """Return whatever a model says of fresh rows; an error is an answer too."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in (*ASKED, *TOLD):
            try:
                asked = getattr(model, method, None)
                if asked is not None:
                    found[method] = _plain(asked() if method in TOLD else asked(fresh))
                    if method == "kneighbors":  # places among the rows of the fit, whose order does not matter
                        found[method][1] = model.rows_[found[method][1]]
            except Exception as error:
                found[method] = type(error).__name__
        if "transform" in found and hasattr(type(model), "inverse_transform"):
            try:
                found["inverse_transform"] = _plain(model.inverse_transform(model.transform(fresh)))
            except Exception as error:
                found["inverse_transform"] = type(error).__name__
    return found


def _plain(value: Any) -> Any:
    if sp.issparse(value):  # not dense: hashed words have a million columns
        table = value.tocsr().copy()
        table.sum_duplicates()
        return [np.array(table.shape), table.indptr, table.indices, table.data]
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def alike(a: Any, b: Any) -> bool:  # noqa: PLR0911  one line for each kind of value
    """Tell whether two values are the same, up to rounding of numbers."""
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(alike(one, other) for one, other in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if is_dataclass(a) and type(a) is type(b):
        return all(alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Estimator) and type(a) is type(b):
        return alike(dict(a.__dict__), dict(b.__dict__))
    if hasattr(a, "columns") and hasattr(b, "columns"):
        return list(a.columns) == list(b.columns) and alike(np.asarray(a), np.asarray(b))
    try:
        one, other = np.asarray(a), np.asarray(b)
        if one.shape != other.shape or (one.dtype.kind in "OUST") != (other.dtype.kind in "OUST"):
            return False
        if one.dtype.kind not in "OUST" and other.dtype.kind not in "OUST":
            return bool(np.allclose(one, other, rtol=1e-7, atol=max(1e-9 * _size(one), 1e-13), equal_nan=True))
        return all(
            x is y or x == y or (x != x and y != y)  # noqa: PLR0124  NaN
            for x, y in zip(one.flat, other.flat, strict=True)
        )
    except (TypeError, ValueError):
        return a is b


def _size(array: Any) -> float:
    known = np.abs(array[np.isfinite(array)]) if array.size else array
    return float(np.median(known)) if known.size else 0.0


# -- places ------------------------------------------------------------------------------------------------


def places(value: Any, path: Path = (), depth: int = 0) -> Iterator[tuple[Path, Any]]:
    """Yield every place below a fitted model, and what stands there."""
    if path:
        yield path, value
    if depth > 7:
        return
    inside: list[tuple[str, Any]] = []
    if isinstance(value, Estimator):
        outer = set(value._fields) if not path else set()  # parameters of the model itself are its user's
        inside = [("attribute", name) for name in value.__dict__ if name not in outer]
        inside = [one for one in inside if one[1][0] != "_"]
    elif is_dataclass(value):
        inside = [("attribute", name) for name in _stored(value)]
    elif isinstance(value, dict):
        inside = [("key", key) for key in list(value)[:6]]
    elif isinstance(value, list | tuple):
        inside = [("item", place) for place in sorted({0, len(value) // 2, len(value) - 1}) if value]
    for step in inside:
        yield from places(_get(value, step), (*path, step), depth + 1)


def _stored(value: Any) -> list[str]:
    named = [f.name for f in fields(value)]
    return [*named, *(name for name in getattr(value, "__dict__", {}) if name not in named)]


def _get(value: Any, step: tuple[str, Any]) -> Any:
    kind, key = step
    return getattr(value, key) if kind == "attribute" else value[key]


def put(value: Any, path: Path, new: Any) -> Any:
    """Return a value with another one at a place below it."""
    if not path:
        return new
    (kind, key), rest = path[0], path[1:]
    inner = put(_get(value, path[0]), rest, new) if rest else new
    if kind == "attribute":
        object.__setattr__(value, key, inner)  # records are frozen
    elif isinstance(value, tuple):
        items = [*value[:key], inner, *value[key + 1 :]]
        value = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    else:
        value[key] = inner
    return value


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = _get(value, step)
    return value


# -- changes -----------------------------------------------------------------------------------------------


def changes(subject: Subject, rng: Any) -> Iterator[Change]:
    """Yield changes of every place, in an order of their own for each seed."""
    for path, value in places(subject.model):
        yield from (Change(path, how, new) for how, new in _of_value(value, rng))
        try:
            other = copy.deepcopy(_at(subject.donor, path))
        except (AttributeError, LookupError, TypeError):
            continue
        yield Change(path, "that of another fit", other)
    for name in FOREIGN:
        if name not in subject.model._results and not hasattr(type(subject.model), name):
            for value in (3.0, [("m0", qed.linear_model.Ridge())], np.ones(2)):
                yield Change((("attribute", name),), f"{value!r} where the class has none", value)
    yield from _other_certificates(subject)


def _other_certificates(subject: Subject) -> Iterator[Change]:
    place = (("attribute", "certificate_"),)
    own = subject.model.__dict__.get("certificate_")
    if own is None:
        return  # that of a search is the one of its best model
    rows = getattr(own, "rows", 40)
    for other in (ExactCertificate("anything", rows, 0.0), CompositeCertificate({}), Uncertified("nothing is claimed")):
        if type(other) is not type(own):
            yield Change(place, f"a {type(other).__name__}", other)


def _of_value(value: Any, rng: Any) -> Iterator[tuple[str, Any]]:
    if value is not None:
        yield "None", None
    if isinstance(value, bool | np.bool_):
        yield "its contrary", not value
    elif isinstance(value, int | float | np.integer | np.floating):
        yield from _of_number(value)
    elif isinstance(value, str):
        yield "another word", value + "x"
        yield "no word", ""
    elif value is None:
        yield "a number", 1.5
        yield "an array", np.ones(3)
    elif isinstance(value, np.ndarray):
        yield from _of_array(value, rng)
    elif isinstance(value, dict):
        yield from _of_dict(value)
    elif isinstance(value, list | tuple):
        yield from _of_list(value)
    elif isinstance(value, Estimator | Certificate):
        yield "a scaler", qed.preprocessing.StandardScaler().fit(np.arange(12.0).reshape(4, 3))


def _of_number(value: Any) -> Iterator[tuple[str, Any]]:
    kind = type(value)
    yield "one more", kind(value + 1)
    yield "half", kind(value / 2) if not isinstance(value, int | np.integer) else kind(value // 2)
    yield "its negative", kind(-value)
    yield "zero", kind(0)
    yield "NaN", float("nan")
    yield "infinite", float("inf")
    yield "an array of it", np.array([value, value])


def _of_array(value: Any, rng: Any) -> Iterator[tuple[str, Any]]:
    value = np.asarray(value)  # a masked one as it is stored
    if value.size == 0:
        yield "with entries", np.ones(2)
        return
    if value.ndim == 0:
        yield from _of_number(value.item())
        return
    if len(value) > 1:
        yield "reversed", value[::-1].copy()
        yield "one entry dropped", value[:-1].copy()
        yield "permuted", value[rng.permutation(len(value))].copy()
        yield "the first twice", np.concatenate([value[:1], value[:1], value[2:]])
    if value.ndim > 1 and value.shape[1] > 1:
        yield "columns reversed", value[:, ::-1].copy()
        yield "one column dropped", value[:, :-1].copy()
        yield "transposed", value.T.copy()
    yield "flat", value.reshape(-1, 1).copy() if value.ndim == 1 else value.ravel().copy()
    place = tuple(int(rng.integers(size)) for size in value.shape)
    if value.dtype.kind in "fiu":
        scale = float(np.nanmax(np.abs(value), initial=0.0, where=np.isfinite(value))) or 1.0
        for how, entry in (("raised", value[place] + (scale if value.dtype.kind == "f" else 1)), ("zero", 0)):
            yield f"one entry {how}", _with(value, place, entry)
        yield "scaled", (value * 1.5).astype(value.dtype) if value.dtype.kind == "f" else value * 2
        yield "flipped", -value if value.dtype.kind != "u" else value[::-1].copy()
        yield "zeros", np.zeros_like(value)
        for odd in (np.nan, np.inf):
            yield f"one entry {odd}", _with(value.astype(float), place, odd)
            yield f"all {odd}", np.full(value.shape, odd)
        yield "moved a little", value * (1 + 1e-3) if value.dtype.kind == "f" else value.astype(float) + 0.25
        yield "as words", value.astype(str)
        yield "as objects", value.astype(object)
    elif value.dtype.kind == "b":
        yield "its contrary", ~value
        yield "one entry turned", _with(value, place, not value[place])
        yield "all true", np.ones_like(value)
    else:
        renamed = value.astype(object)
        renamed[place] = "renamed" if isinstance(value[place], str | bytes) else None
        yield "one entry renamed", renamed if value.dtype == object else renamed.astype(str)
        yield "all entries empty", np.full(value.shape, "", dtype=object)


def _with(value: Any, place: Any, entry: Any) -> Any:
    changed = value.copy()
    changed[place] = entry
    return changed


def _of_dict(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    if not value:
        yield "with a key", {"x": 1.0}
        return
    keys = list(value)
    yield "one key dropped", {key: value[key] for key in keys[:-1]}
    yield "one key renamed", {("renamed" if key == keys[0] else key): one for key, one in value.items()}
    if len(keys) > 1:
        yield "values reversed", dict(zip(keys, [value[key] for key in reversed(keys)], strict=True))
    yield "a key more", {**value, "more": value[keys[0]]}


def _of_list(value: Any) -> Iterator[tuple[str, Any]]:
    if len(value) == 0:
        yield "with an entry", type(value)([np.ones(2)])
        return
    if hasattr(value, "_fields"):
        return
    yield "the last dropped", value[:-1]
    yield "empty", value[:0]
    yield "the last twice", type(value)([*value, value[-1]])
    if len(value) > 1:
        yield "reversed", value[::-1]


# -- judgement ---------------------------------------------------------------------------------------------


def judged(subject: Subject, change: Change, *, through_a_file: bool) -> str | None:  # noqa: PLR0911
    """Return what is wrong with how a changed model is judged; None when nothing is."""
    model = copy.deepcopy(subject.model)
    try:
        before = _at(model, change.path)
    except (AttributeError, LookupError):
        before = _MISSING
    if before is not _MISSING and alike(before, change.value) and type(before) is type(change.value):
        return None  # no change
    if isinstance(before, Estimator) and _is_same_template(model, change, before):
        return None  # a fitted model in the place of a parameter: it is copied without what it learnt
    model = put(model, change.path, copy.deepcopy(change.value))
    found = _verified(model, subject.data)
    if found == "accepted" and (_is_weaker(change, before) or _is_rounding(subject, change, before)):
        return None
    if found == "refused" and through_a_file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = loads(dumps(model))
        except QedError:
            return None  # refused where it is written or read
        except Exception as error:
            return f"its file raised {type(error).__name__}: {error}"[:200]
        found = _verified(model, subject.data)
    if found == "refused":
        return None
    if found == "accepted" and _is_declared_idle(subject.model, change.path):
        return None
    if found != "accepted":
        return found
    now = answers(model, subject.data.fresh)
    other = [method for method in subject.answers if not alike(subject.answers[method], now.get(method))]
    if other and not _is_within_its_gap(subject, model, change):
        return f"accepted, and answers otherwise: {', '.join(other)}"
    is_same = bool(other) or (before is not _MISSING and _same_values(before, change.value))
    is_same = is_same or (
        change.path[-1][1] == "rows_" and change.how in ("reversed", "permuted")
    )  # whose order does not matter
    is_same = is_same or _asks_a_copy(subject, change)
    return None if is_same or _is_cached(subject.model, change.path) else "accepted, and answers the same"


def _is_same_template(model: Any, change: Change, before: Any) -> bool:
    """Tell whether a parameter of a part is another instance of the same class with the same parameters."""
    at, is_parameter = model, False
    for step in change.path:
        is_parameter |= isinstance(at, Estimator) and step[0] == "attribute" and step[1] in at._fields
        at = _get(at, step)
    if not is_parameter or type(before) is not type(change.value):
        return False
    return alike(before.get_params(deep=False), change.value.get_params(deep=False))


def _is_rounding(subject: Subject, change: Change, before: Any) -> bool:
    """Tell whether a number that the checker computes itself was moved by no more than the rounding of that computation.

    These are the objective and, of an ascent, what the next step gains (a difference of two objectives) and how far it goes, which
    is stated in units of the deviations of the parameters and computed to nine digits. Parts of a likelihood are differences of
    up to four sums.
    """
    owner = change.path[:-1]
    is_part = owner == (("attribute", "certificate_"), ("attribute", "decomposition"))
    if not (is_part or owner == (("attribute", "certificate_"),)) or not isinstance(change.value, float):
        return False
    data, name = subject.data, change.path[-1][1]
    rounding = getattr(qed.verify(subject.model, data.X, data.y, data.weight), "rounding", 0.0)
    allowed = {"objective": rounding, "gain": 4 * rounding, "displacement": 1e-8}.get(name, -1.0)
    allowed = 8 * rounding if is_part else allowed
    return bool(abs(change.value - before) <= allowed)


def _is_within_its_gap(subject: Subject, model: Any, change: Change) -> bool:
    """Tell whether coefficients moved so little that the claim is true of them: their objective rose by no more than the gap."""
    if change.path[-1] not in (("attribute", "coef_"), ("attribute", "intercept_")):
        return False
    gap = getattr(_at(model, (*change.path[:-1], ("attribute", "certificate_"))), "gap", 0.0)
    data = subject.data
    verdicts = [qed.verify(one, data.X, data.y, data.weight) for one in (subject.model, model)]
    before, now = (getattr(verdict, "objective", np.nan) for verdict in verdicts)
    return bool(now - before <= gap)


def _asks_a_copy(subject: Subject, change: Change) -> bool:
    """Tell whether a member of bagging asks another copy of the same column, which its draw holds twice."""
    if change.path[-1] != ("attribute", "feature") or not hasattr(subject.model, "estimators_features_"):
        return False
    own = subject.model.estimators_features_[change.path[1][1]]
    before, now = np.asarray(_at(subject.model, change.path)), np.asarray(change.value)
    if before.shape != now.shape or now.dtype.kind != "i" or now.max() >= len(own) or ((before < 0) != (now < 0)).any():
        return False
    inner = before >= 0
    return bool((own[before[inner]] == own[now[inner]]).all())


def _same_values(a: Any, b: Any) -> bool:
    """Tell whether two arrays hold the same values, in whatever type."""
    try:
        one, other = np.asarray(a, dtype=object), np.asarray(b, dtype=object)
        return one.shape == other.shape and all(x == y for x, y in zip(one.flat, other.flat, strict=True))
    except (TypeError, ValueError):
        return False


def _is_cached(model: Any, path: Path) -> bool:
    """Tell whether a place holds what is computed from other places: the checker forgets it, and it is computed again."""
    owner = model
    for step in path[:-1]:
        owner = _get(owner, step)
    return is_dataclass(owner) and path[-1][1] not in {f.name for f in fields(owner)}


_MISSING = object()


def _verified(model: Any, data: Data) -> str:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            qed.verify(model, data.X, data.y, data.weight)
    except CertificateError:
        return "refused"
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"[:200]
    return "accepted"


def _is_weaker(change: Change, before: Any) -> bool:  # noqa: PLR0911  one line for each kind of field
    """Tell whether a changed certificate may be true as it stands: a bound that is finite and possible, or how the fit went."""
    names = [key for kind, key in change.path if kind == "attribute"]
    if "certificate_" not in names:
        return False
    names = names[names.index("certificate_") + 1 :]
    if is_dataclass(before) and type(before) is type(change.value):  # all of it: each number that is another one
        pairs = [(name, getattr(before, name), getattr(change.value, name)) for name in _stored(before)]
        return all(
            _is_weaker(Change((*change.path, ("attribute", name)), change.how, new), old)
            for name, old, new in pairs
            if not (alike(old, new) and type(old) is type(new))
        )
    if not names:
        return False
    if TELLING.intersection(names) or (change.value is None and names[-1] in UNSAID):
        return True
    if names[-1] == "is_greedy":  # of a tree that is limited or drawn less is claimed
        return change.value is False
    if names[-1] == "depth":  # of trees of any depth: the checker computes a bound of its own
        return change.value == 0
    if names[-1] == "curvature":  # less of it is claimed
        return bool(isinstance(change.value, float) and np.isfinite(change.value) and change.value <= before)
    if not BOUNDS.intersection(names):
        return False
    try:
        numbers = np.asarray(change.value, dtype=float)
    except (TypeError, ValueError):
        return False
    if names[-1] == "radius":  # infinite where a bound holds for all coefficients
        return bool((numbers >= 0).all())
    if names[-1] in ("low", "high"):  # of an interval that still holds the optimum
        return bool(np.isfinite(numbers).all())
    return bool(np.isfinite(numbers).all() and (numbers >= 0).all())


def _is_declared_idle(model: Any, path: Path) -> bool:
    """Tell whether some attribute on the way is declared not to matter to any answer."""
    at = model
    for kind, key in path:
        if kind == "attribute" and isinstance(at, Estimator):
            told = at._results.get(key)
            if told is not None and not told.answers:
                return True
            if key in at._fields and path[0][1] != key:
                return _is_parameter_without_effect(at, key)
        try:
            at = _get(at, (kind, key))
        except (AttributeError, LookupError):
            return False  # there was nothing
    return False


def _is_parameter_without_effect(model: Any, name: str) -> bool:
    return model._fields[name].kind == "hint" or name in (
        "copy",
        "verbose",
        "n_jobs",
        "max_iter",
        "tol",
        "random_state",
        "strict",
        "warm_start",
    )
