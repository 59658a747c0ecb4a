"""Records: frozen values with a name, and the table of names that a model file may use.

A record is a frozen dataclass with a stable public name. Certificates, statistics and traces are records: they cross
boundaries between packages, nobody changes them, and a model file can hold them, because the file says ``"moments"``
and this module knows which class that is::

    @record("moments")
    class Moments:
        weight: float
        mean: NDArray[np.float64]

        def check(self) -> None:
            expect(self.weight >= 0, "moments.weight is negative")
            expect_array(self.mean, "moments.mean", shape=(None,), finite=True)

The name is a promise: files written today stay readable, so a name is never given to another class, a new field has
a default, and a field that was renamed says what earlier files call it, ``@record("moments", earlier={"old": "new"})``.
When a record comes from a file its fields are first compared with their annotations, then ``check`` is
called; it raises `ModelFileError` on values that make no sense.

Estimators stand in the second table, under the path a user types (``qed.linear_model.Ridge``).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from qed.core._errors import ModelFileError

T = TypeVar("T")

_records: dict[str, type[Any]] = {}
_earlier: dict[str, Mapping[str, str]] = {}
_added: dict[str, Mapping[str, int]] = {}
_estimators: dict[str, type[Any]] = {}
_functions: dict[str, Callable[..., Any]] = {}
_F = TypeVar("_F", bound=Callable[..., Any])
_hints: dict[type[Any], dict[str, Any]] = {}


class Unstated(enum.Enum):
    """What stands in a record for a field that a file of an earlier format does not have."""

    UNSTATED = "unstated"


UNSTATED = Unstated.UNSTATED


@dataclass_transform(frozen_default=True, eq_default=False)
def record(
    name: str,
    *,
    slots: bool = True,
    earlier: Mapping[str, str] = MappingProxyType({}),
    added: Mapping[str, int] = MappingProxyType({}),
) -> Callable[[type[T]], type[T]]:
    """Make a class a frozen dataclass that model files can hold under `name`.

    Two records are equal when they have the same class and equal fields; arrays are equal when type, shape and every
    element agree, and NaN equals NaN, so that a record always equals its own copy. Records are not hashable.

    Parameters
    ----------
    name : str
        Public name in files: lower case words joined by hyphens. It never changes.
    slots : bool
        Whether to store fields in slots. Say ``False`` when the class needs ``cached_property`` or ``super()``.
    earlier : mapping of str to str
        The present name of each field that files of earlier versions hold under another one.
    added : mapping of str to int
        Fields that files must hold from a format version on, and that version. Read from an earlier file without it, such a field
        is `UNSTATED`; it must not be where a model claims what the field says.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(f"A record's name is made of lower case words joined by hyphens, got {name!r}.")

    def register(cls: type[T]) -> type[T]:
        known = _records.get(name)
        if known is not None and _origin(known) != _origin(cls):
            raise ValueError(f"The record name {name!r} belongs to {'.'.join(_origin(known))}; choose another.")
        made = dataclasses.dataclass(frozen=True, eq=False, slots=slots)(cls)
        hidden = [field.name for field in dataclasses.fields(made) if not field.init]  # type: ignore[arg-type]
        if hidden:
            raise TypeError(f"Record {name!r} has fields that its constructor does not take: {', '.join(hidden)}.")
        for attribute, value in (("record_name", name), ("__eq__", _equal_records), ("__hash__", None)):
            setattr(made, attribute, value)
        _records[name], _earlier[name], _added[name] = made, earlier, added
        return made

    return register


def is_record(value: object) -> bool:
    """Say whether `value` is an instance of a registered record class."""
    return _records.get(getattr(type(value), "record_name", "")) is type(value)


def find_record(name: str) -> type[Any]:
    """Return the record class called `name`, or raise `ModelFileError` with the names that exist."""
    try:
        return _records[name]
    except KeyError:
        raise ModelFileError(
            f"it holds a record called {name!r}, which this qed does not know (known: {', '.join(sorted(_records))})"
        ) from None


def present_field(record: str, field: str) -> str:
    """Return what a field of a record is called now, given what a file calls it."""
    return _earlier[record].get(field, field)


def added_fields(record: str) -> Mapping[str, int]:
    """Return the fields of a record that files hold from a format version on, and that version."""
    return _added[record]


def registered_records() -> dict[str, type[Any]]:
    """Return a copy of the table of records, by name."""
    return dict(_records)


def register_estimator(cls: type[Any]) -> str:
    """Enter an estimator class in the table that files are read with, and return its public name.

    The name is the path a user types: ``qed.linear_model._ridge.Ridge`` is ``qed.linear_model.Ridge``. A class defined
    again under the same name, as happens in notebooks, takes the place of the older one.
    """
    name = public_name(cls)
    _estimators[name] = cls
    return name


def public_name(cls: Any) -> str:
    """Return the path under which users know a class or a function: its module up to the first private part, then its name."""
    packages = cls.__module__.split(".")
    private = next((i for i, part in enumerate(packages) if part.startswith("_") and i > 0), len(packages))
    return ".".join([*packages[:private], cls.__qualname__])


def find_estimator(name: str) -> type[Any] | None:
    """Return the estimator class with this public name, or None when no such class has been defined."""
    return _estimators.get(name)


def registered_estimators() -> dict[str, type[Any]]:
    """Return a copy of the table of estimators, by public name."""
    return dict(_estimators)


def named_function(function: _F) -> _F:
    """Enter a function of qed in the table that files are read with: a file then holds its public name, and no code."""
    _functions[public_name(function)] = function
    return function


def find_function(name: str) -> Callable[..., Any] | None:
    """Return the function that was entered under a public name, or None."""
    return _functions.get(name)


def expect(condition: bool, problem: str) -> None:
    """Raise `ModelFileError` with the words of `problem` unless `condition` holds."""
    if not condition:
        raise ModelFileError(problem)


def expect_array(
    value: object, name: str, *, kinds: str = "f", shape: Sequence[int | None] | None = None, finite: bool = False
) -> None:
    """Raise `ModelFileError` unless `value` is an array of the expected kind and shape.

    Parameters
    ----------
    value : object
        What the file held.
    name : str
        How to call it in the message.
    kinds : str
        Accepted ``dtype.kind`` letters.
    shape : sequence of int or None, optional
        Expected length of each axis, None where any length will do.
    finite : bool
        Whether NaN and infinity are rejected.
    """
    if not isinstance(value, np.ndarray):
        raise ModelFileError(f"{name} should be an array, and is {type(value).__name__}")
    expect(value.dtype.kind in kinds, f"{name} should have a dtype of kind {kinds!r}, and is {value.dtype}")
    if shape is not None:
        fits = value.ndim == len(shape) and all(
            want in (None, got) for want, got in zip(shape, value.shape, strict=True)
        )
        wanted = tuple("any" if length is None else length for length in shape)
        expect(fits, f"{name} should have shape {wanted}, and has {value.shape}")
    if finite and value.dtype.kind == "f":
        expect(bool(np.isfinite(value).all()), f"{name} holds NaN or infinity")


def field_hints(cls: type[Any]) -> dict[str, Any]:
    """Return the resolved annotation of each field of a record class.

    Names imported for type checking alone cannot be resolved at run time. The usual ones (``NDArray``, ``Any``, other
    records) are supplied here; for anything else the error says which import to move.
    """
    if cls not in _hints:
        from numpy.typing import NDArray  # noqa: PLC0415  not needed before the first file

        known = {made.__name__: made for made in _records.values()}
        supplied = known | {"np": np, "NDArray": NDArray, "Any": Any, "Sequence": Sequence, "Callable": Callable}
        names = {**supplied, **vars(sys.modules[cls.__module__])}
        try:
            hints = typing.get_type_hints(cls, names, {})
        except NameError as error:
            raise TypeError(
                f"Record {cls.__name__} has an annotation that cannot be read at run time ({error}). "
                "Import that name at the top of its module, outside 'if TYPE_CHECKING'."
            ) from None
        _hints[cls] = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    return _hints[cls]


def check_record(value: Any, where: str) -> None:
    """Raise `ModelFileError` unless the fields of a record fit their annotations and make sense to its own ``check``."""
    for name, hint in field_hints(type(value)).items():
        item = getattr(value, name)
        if not conforms(item, hint):
            raise ModelFileError(f"{where}.{name} should be {hint}, and is a value of type {type(item).__qualname__}")
        if is_record(item):
            check_record(item, f"{where}.{name}")
    check = getattr(value, "check", None)
    if check is not None:
        check()


def conforms(value: object, hint: Any) -> bool:  # noqa: PLR0911  one line per form of annotation
    """Say whether `value` fits an annotation, as far as annotations can tell; unknown forms of annotation fit all."""
    if hint is float or hint is int:
        # NumPy does not compute with integers beyond its own
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**64
        return whole or (hint is float and isinstance(value, float | np.floating))
    origin, arguments = _taken_apart(hint)
    if origin is typing.Annotated:
        return conforms(value, arguments[0])
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return any(value == argument and type(value) is type(argument) for argument in arguments)
    if hint is None:
        return value is None
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_dtype(value, arguments)
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, arguments)
    if origin is list:
        return isinstance(value, list) and all(conforms(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            conforms(key, arguments[0]) and conforms(item, arguments[1]) for key, item in value.items()
        )
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


@functools.lru_cache(maxsize=1024)
def _taken_apart(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(hint), typing.get_args(hint)


def _fits_tuple(value: tuple[Any, ...], arguments: tuple[Any, ...]) -> bool:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return all(conforms(item, arguments[0]) for item in value)
    return len(value) == len(arguments) and all(map(conforms, value, arguments))


def _fits_dtype(value: np.ndarray[Any, Any], arguments: tuple[Any, ...]) -> bool:
    # ndarray[shape, dtype[scalar]], where the scalar is a class, a generic class or a union of such.
    for scalar in typing.get_args(arguments[1]) if len(arguments) == 2 else ():
        is_union = typing.get_origin(scalar) in (typing.Union, types.UnionType)
        choices = [
            typing.get_origin(choice) or choice for choice in (typing.get_args(scalar) if is_union else [scalar])
        ]
        return any(choice is Any or issubclass(value.dtype.type, choice) for choice in choices)
    return True


def _origin(cls: type[Any]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _equal_records(self: Any, other: Any) -> bool:
    return type(self) is type(other) and all(
        _equal(getattr(self, field.name), getattr(other, field.name)) for field in dataclasses.fields(self)
    )


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _equal_arrays(a, b)
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if hasattr(a, "indptr") and hasattr(b, "indptr"):  # SciPy's compressed matrices compare element by element
        return (
            type(a) is type(b)
            and a.shape == b.shape
            and all(_equal_arrays(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr"))
        )
    return bool(a == b) or (a != a and b != b)  # noqa: PLR0124  NaN equals NaN here


def _equal_arrays(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    same = a == b
    if a.dtype.kind in "fc":
        same |= np.isnan(a) & np.isnan(b)
    return bool(np.all(same))
