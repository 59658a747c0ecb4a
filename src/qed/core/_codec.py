"""Values as a JSON tree: the grammar of what a model file can say.

==========================================  ===========================================================================
value                                       node
==========================================  ===========================================================================
None, bool, str, int below 2⁶³              itself
larger int                                  ``{"int": "0x..."}``
float                                       ``{"float": "0x1.8p+1"}``, ``inf``, ``-inf``, or ``nan:`` and its bits
list, tuple                                 ``[...]``, ``{"tuple": [...]}``
dict with str keys, in its order            ``{"dict": [[key, node], ...]}``
array of numbers, booleans, fixed strings   ``{"array": 3}``, a place in the list of arrays; each is used once
array of str objects                        ``{"strings": [shape, ends, UTF-8]}``, the last two being arrays
array of other plain objects                ``{"objects": [shape, [node, ...]]}``: numbers, words, None, NaN, estimators
masked array                                ``{"masked": [node of its data, node of its mask]}``
slice, NumPy type, NumPy function           ``{"slice": [start, stop, step]}``, ``{"type": "float64"}``, ``{"ufunc": "log"}``
function of qed that files may name         ``{"function": "qed.feature_selection.chi2"}``
NumPy scalar                                ``{"scalar": ["<f8", "sixteen hex digits"]}``
CSR, CSC                                    ``{"csr_array": [shape, data, indices, indptr]}`` and so on
random generator                            ``{"random": node of its state}``
record                                      ``{"record": [name, {field: node}]}``
estimator                                   ``{"estimator": [class, {parameter: node}, {attribute: node}]}``
==========================================  ===========================================================================

Nothing else can be stored, and in particular no code: functions and classes of others are rejected when saving, and no node makes
one when loading. Arrays come back in native byte order and C order; everything else comes back as it was, to the bit.
An object that is held in two places comes back as two; what a ``cached_property`` keeps is worked out again.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import re
import struct
import sys
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from qed.core._bit_generators import pack, unpack
from qed.core._container import FORMAT, checked_shape
from qed.core._errors import ModelFileError
from qed.core._records import (
    UNSTATED,
    added_fields,
    check_record,
    field_hints,
    find_estimator,
    find_function,
    find_record,
    is_record,
    present_field,
    public_name,
    registered_records,
)
from qed.core._state import CALLBACKS, check_state, is_cache

if TYPE_CHECKING:
    from collections.abc import Callable


DEEPEST = 64
MOST_BITS = 4096  # of an integer: states of random generators have less, and Python writes all digits of such

_SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_][\w<>]*|\.<locals>)+", re.ASCII)

_signatures: WeakKeyDictionary[type[Any], frozenset[str]] = WeakKeyDictionary()

Array = np.ndarray[Any, Any]


class Encoder:
    """Turns one model into a tree; the arrays it meets gather in `arrays`.

    ``format`` is that of the file: the present one, or an earlier one of a model that was loaded from it and lacks a field since.
    """

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.format = FORMAT

    def node(self, value: Any, where: str, depth: int = 0) -> Any:  # noqa: PLR0911  one line per kind
        """Return the node for `value`; `where` is its name in messages."""
        if depth > DEEPEST:
            raise ModelFileError(f"{where[:80]}... is nested more than {DEEPEST} levels deep, or contains itself")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if value.bit_length() > MOST_BITS:
                raise ModelFileError(f"{where} is an integer of {value.bit_length()} bits, and {MOST_BITS} is the most")
            return value if abs(value) < 1 << 63 else {"int": hex(value)}
        if kind is float:
            return {"float": _float_text(value)}
        if kind is str:
            return _whole(value, where)
        if kind is list:
            return self._list(value, where, depth)
        if kind is tuple:
            return {"tuple": self._list(value, where, depth)}
        if kind is dict:
            return self._dict(value, where, depth)
        return self._object(value, where, depth)

    def _object(self, value: Any, where: str, depth: int) -> Any:  # noqa: PLR0911  one line per kind of value
        kind = type(value)
        if kind is np.ndarray or kind is np.memmap:
            return self._array(np.asarray(value), where)
        if _is_loaded(kind, "numpy.ma", ("MaskedArray",)):
            mask = np.broadcast_to(np.asarray(value.mask), value.shape)
            return {"masked": [self._array(part, where) for part in (np.asarray(value.data), np.array(mask))]}
        if isinstance(value, np.generic):
            return _scalar_node(value, where)
        if is_record(value):
            return self._record(value, where, depth)
        if find_estimator(public_name(kind)) is kind:
            return self._estimator(value, where, depth)
        if _is_loaded(kind, "scipy.sparse", _SPARSE):
            shape, parts = [int(n) for n in value.shape], (value.data, value.indices, value.indptr)
            _check_sparse(tuple(shape), *parts, is_row_major=kind.__name__.startswith("csr"))
            return {kind.__name__: [shape, *(self._array(part, where) for part in parts)]}
        if kind is slice:
            return {"slice": self._list((value.start, value.stop, value.step), where, depth)}
        if kind is FunctionType and find_function(public_name(value)) is value:
            return {"function": public_name(value)}
        name = getattr(value, "__name__", "")
        is_simple = kind is np.ufunc and (value.nin, value.nout) == (1, 1)
        if name and getattr(np, name, None) is value and (is_simple or name in _TYPES):
            return {"ufunc" if kind is np.ufunc else "type": name}
        if _is_loaded(kind, "numpy.random", ("Generator", "RandomState")):
            return {"random": self.node(pack(value), where, depth + 1)}
        raise ModelFileError(
            f"{where} is {_article(kind)}, and model files hold data only: numbers, strings, lists, tuples, dicts, "
            "arrays, sparse matrices, random generators, qed's records and estimators"
        )

    def _list(self, value: list[Any] | tuple[Any, ...], where: str, depth: int) -> list[Any]:
        return [self.node(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]

    def _dict(self, value: dict[Any, Any], where: str, depth: int) -> Any:
        for key in value:
            if type(key) is not str:
                raise ModelFileError(f"{where} has the key {key!r}, and keys in model files are strings: use str(key)")
        return {
            "dict": [
                [_whole(key, where), self.node(item, f"{where}[{key!r}]", depth + 1)] for key, item in value.items()
            ]
        }

    def _array(self, value: Array, where: str) -> Any:
        if value.dtype == object:
            return self._strings(value, where)
        if not (value.dtype.kind in "biuU" or (value.dtype.kind == "f" and value.dtype.itemsize <= 8)):
            raise ModelFileError(
                f"{where} is an array of {value.dtype}, and model files hold booleans, integers, floats of up to "
                "64 bits and strings: convert it with astype"
            )
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1}

    def _strings(self, value: Array, where: str) -> Any:
        words = list(value.flat)
        strange = next((word for word in words if type(word) is not str), "")
        if type(strange) is not str:
            for word in words:
                plain = word is None or type(word) in (bool, int, float, str) or isinstance(word, np.generic)
                if not (plain or _is_estimator(word)):
                    raise ModelFileError(
                        f"{where} is an array of objects with {word!r} in it; such arrays in model files hold str,"
                        " numbers, None and models"
                    )
            return {"objects": [list(value.shape), self._list(words, where, 1)]}
        coded = [_whole(word, where).encode() for word in words]
        ends = np.cumsum([len(word) for word in coded], dtype=np.int64)
        parts = [self._array(part, where) for part in (ends, np.frombuffer(b"".join(coded), np.uint8))]
        return {"strings": [list(value.shape), *parts]}

    def _record(self, value: Any, where: str, depth: int) -> Any:
        check_record(value, where)
        unstated = {
            name: since for name, since in added_fields(value.record_name).items() if getattr(value, name) is UNSTATED
        }
        self.format = min(self.format, *(since - 1 for since in unstated.values())) if unstated else self.format
        nodes = {
            name: self.node(getattr(value, name), f"{where}.{name}", depth + 1)
            for name in field_hints(type(value))
            if name not in unstated
        }
        return {"record": [value.record_name, nodes]}

    def _estimator(self, model: Any, where: str, depth: int) -> Any:
        params = model.get_params(deep=False)
        _check_parameters(model)  # what cannot be loaded is not saved
        own = {name: item for name, item in vars(model).items() if name not in params and name != CALLBACKS}
        fitted = {name: item for name, item in own.items() if not is_cache(type(model), name)}
        _check_names(type(model), fitted)
        check_state(model, deep=False)
        parts = [
            {name: self.node(item, f"{where}.{name}", depth + 1) for name, item in sorted(part.items())}
            for part in (params, fitted)
        ]
        return {"estimator": [public_name(type(model)), *parts]}


class Decoder:
    """Turns a tree back into values, believing nothing.

    Parameters
    ----------
    arrays : list of ndarray
        What the tree may point to.
    version : str
        The qed that wrote the file, for messages.
    form : int
        The format version of the file.
    """

    def __init__(self, arrays: list[Array], version: str, form: int = FORMAT) -> None:
        self.arrays: list[Array | None] = list(arrays)
        self.version, self.format = version, form
        self.trees: dict[str, Callable[[Any, int], Any]] = {
            "tuple": self._tuple,
            "dict": self._dict,
            "strings": self._strings,
            "objects": self._objects,
            "masked": self._masked,
            "slice": self._slice,
            "random": self._random,
            "record": self._record,
            "estimator": self._estimator,
            **{kind: functools.partial(self._sparse, kind) for kind in _SPARSE},
        }

    def value(self, node: Any, depth: int = 0) -> Any:
        """Return the value of `node`."""
        if depth > DEEPEST:
            raise ModelFileError(f"its values are nested more than {DEEPEST} levels deep")
        if isinstance(node, list):
            return [self.value(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            if type(node) is int and abs(node) >= 1 << 63:
                raise ModelFileError("a large integer is not written in hexadecimal")
            return node
        if len(node) != 1:
            raise ModelFileError(f"it holds a value with {len(node)} tags instead of one")
        ((tag, content),) = node.items()
        if tag == "array":
            return self._array(content)
        if tag in _ATOMS:
            return _ATOMS[tag](content)
        if tag in self.trees:
            return self.trees[tag](content, depth)
        raise ModelFileError(f"it holds a value of the unknown kind {tag[:40]!r}")

    def finish(self) -> None:
        """Check that every array of the file had its place in the tree."""
        if any(array is not None for array in self.arrays):
            raise ModelFileError("it holds arrays that belong to nothing")

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple([self.value(item, depth + 1) for item in _expect(content, list, "a tuple")])

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for pair in _expect(content, list, "a dict"):
            key, item = _expect_length(pair, 2, "an entry of a dict")
            if not isinstance(key, str) or key in result:
                raise ModelFileError(f"a dict has a key that is repeated or not a string: {str(key)[:40]!r}")
            result[key] = self.value(item, depth + 1)
        return result

    def _array(self, content: Any) -> Array:
        if type(content) is not int or not 0 <= content < len(self.arrays):
            raise ModelFileError(f"it points to array {str(content)[:40]}, and there are {len(self.arrays)}")
        array, self.arrays[content] = self.arrays[content], None
        if array is None:
            raise ModelFileError(f"it uses array {content} twice")
        return array

    def _parts(self, nodes: list[Any], depth: int) -> list[Array]:
        parts = [self.value(node, depth + 1) for node in nodes]
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
            raise ModelFileError("a value made of arrays has parts that are not arrays of one axis")
        return parts

    def _strings(self, content: Any, depth: int) -> Array:
        shape_node, *nodes = _expect_length(content, 3, "an array of strings")
        shape, (ends, coded) = checked_shape(shape_node), self._parts(nodes, depth)
        is_sound = ends.dtype == np.int64 and coded.dtype == np.uint8 and len(ends) == math.prod(shape)
        bounds = np.concatenate([[0], ends]) if is_sound else None
        if bounds is None or _falls(bounds) or bounds[-1] != len(coded):
            raise ModelFileError("an array of strings does not fit its shape or its bytes")
        raw, edges = coded.tobytes(), bounds.tolist()
        result = np.empty(len(ends), object)
        result[:] = [raw[a:b].decode() for a, b in itertools.pairwise(edges)]
        return result.reshape(shape)

    def _objects(self, content: Any, depth: int) -> Array:
        shape_node, nodes = _expect_length(content, 2, "an array of objects")
        shape, items = checked_shape(shape_node), _expect(nodes, list, "the entries of an array")
        values = [self.value(item, depth + 1) for item in items]
        plain = all(
            one is None or isinstance(one, bool | int | float | str | np.generic) or _is_estimator(one)
            for one in values
        )
        if not plain or len(values) != math.prod(shape):
            raise ModelFileError("an array of objects does not fit its shape, or holds more than numbers and words")
        result = np.empty(len(values), object)
        result[:] = values
        return result.reshape(shape)

    def _masked(self, content: Any, depth: int) -> Any:
        data, mask = (self.value(node, depth + 1) for node in _expect_length(content, 2, "a masked array"))
        if (
            not all(isinstance(part, np.ndarray) for part in (data, mask))
            or mask.dtype != bool
            or mask.shape != data.shape
        ):
            raise ModelFileError("a masked array does not say yes or no for each of its entries")
        return np.ma.array(data, mask=mask)

    def _slice(self, content: Any, depth: int) -> slice:
        ends = [self.value(item, depth + 1) for item in _expect_length(content, 3, "a slice")]
        if not all(end is None or type(end) in (int, str) for end in ends):
            raise ModelFileError("a slice has an end that is neither a number nor a name")
        return slice(*ends)

    def _sparse(self, kind: str, content: Any, depth: int) -> Any:
        shape_node, *nodes = _expect_length(content, 4, "a sparse matrix")
        shape, parts = checked_shape(shape_node), self._parts(nodes, depth)
        _check_sparse(shape, *parts, is_row_major=kind.startswith("csr"))
        data, indices, indptr = parts
        made = getattr(importlib.import_module("scipy.sparse"), kind)((data, indices, indptr), shape=shape)
        # SciPy narrows 64-bit indices where it can; as they were is as they come back.
        made.indices, made.indptr = indices, indptr
        return made

    def _random(self, content: Any, depth: int) -> Any:
        return unpack(self.value(content, depth + 1))

    def _record(self, content: Any, depth: int) -> Any:
        name, fields = _expect_length(content, 2, "a record")
        cls = _find_record(_expect(name, str, "the name of a record"))
        values: dict[str, Any] = {}
        for key, node in _expect(fields, dict, f"record {name!r}").items():
            field = present_field(name, key)
            if field in values:
                raise ModelFileError(f"record {name!r} has the field {field!r} twice")
            values[field] = self.value(node, depth + 1)
        unknown = values.keys() - field_hints(cls).keys()
        if unknown:
            raise ModelFileError(f"record {name!r} has the unknown field {min(unknown)!r} {self._writer()}")
        for field, since in added_fields(name).items():
            if field not in values and self.format >= since:
                raise ModelFileError(f"record {name!r} lacks the field {field!r} {self._writer()}")
            values.setdefault(field, UNSTATED)
        made = cls(**values)
        check_record(made, f"record {name!r}")
        return made

    def _estimator(self, content: Any, depth: int) -> Any:
        name, *parts = _expect_length(content, 3, "an estimator")
        cls = _find_class(_expect(name, str, "the class of an estimator"), self._writer())
        params, fitted = (
            {key: self.value(node, depth + 1) for key, node in _expect(part, dict, f"the state of {name}").items()}
            for part in parts
        )
        known = _parameters(cls)
        unknown = params.keys() - known
        if unknown:
            raise ModelFileError(f"{name} has the unknown parameter {min(unknown)!r} {self._writer()}")
        _check_names(cls, fitted)
        model = cls(**params)
        _check_parameters(model)
        vars(model).update(fitted)
        check_state(model, deep=False)
        return model

    def _writer(self) -> str:
        return f"(the file was written by qed {self.version}; if that is newer than this one, update)"


def _is_estimator(value: Any) -> bool:
    return find_estimator(public_name(type(value))) is type(value)


def _int(content: Any) -> int:
    if len(_expect(content, str, "an integer")) > MOST_BITS // 4 + 3:  # sign, prefix and digits
        raise ModelFileError(f"it holds an integer of more than {MOST_BITS} bits")
    value = int(content, 16)
    if value.bit_length() > MOST_BITS:
        raise ModelFileError(f"it holds an integer of more than {MOST_BITS} bits")
    if abs(value) < 1 << 63 or hex(value) != content:
        raise ModelFileError(f"{content[:40]!r} is not how a large integer is written")
    return value


def _float(content: Any) -> float:
    text = _expect(content, str, "a float")
    is_nan = text.startswith("nan:")
    value = struct.unpack(">d", bytes.fromhex(text[4:]))[0] if is_nan else float.fromhex(text)
    if _float_text(value) != text:
        raise ModelFileError(f"{text[:40]!r} is not how a float is written")
    return float(value)


def _float_text(value: float) -> str:
    return value.hex() if value == value else "nan:" + struct.pack(">d", value).hex()  # noqa: PLR0124


def _scalar(content: Any) -> np.generic:
    name, text = _expect_length(content, 2, "a NumPy scalar")
    if name == "str":
        return np.str_(_expect(text, str, "a NumPy string"))
    dtype = np.dtype(name) if isinstance(name, str) and re.fullmatch(r"\|[biu]1|<[iuf][248]", name) else None
    raw = bytes.fromhex(_expect(text, str, "a NumPy scalar"))
    if dtype is None or dtype.itemsize != len(raw) or raw.hex() != text or (dtype.kind == "b" and raw[0] > 1):
        raise ModelFileError(f"{str(content)[:80]} is not a NumPy scalar that model files hold")
    scalar: np.generic = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))[0]
    return scalar


def _scalar_node(value: np.generic, where: str) -> Any:
    if isinstance(value, np.str_):
        return {"scalar": ["str", _whole(str.__str__(value), where)]}  # NumPy's own __str__ drops zeros at the end
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        raise ModelFileError(f"{where} is a NumPy scalar of type {value.dtype}, which model files cannot hold")
    dtype = value.dtype.newbyteorder("<")
    return {"scalar": [dtype.str, np.asarray(value, dtype).tobytes().hex()]}


def _numpy_type(content: Any) -> type[Any]:
    if not isinstance(content, str) or content not in _TYPES:
        raise ModelFileError(f"{str(content)[:40]!r} is not a type of numbers that model files hold")
    found: type[Any] = getattr(np, content)
    return found


def _function(content: Any) -> Any:
    """Look a function of qed up among those that files may name; its package was loaded with the model that holds it."""
    found = find_function(content) if isinstance(content, str) else None
    if found is None:
        raise ModelFileError(f"{str(content)[:80]!r} is not a function of qed that model files hold")
    return found


def _ufunc(content: Any) -> np.ufunc:
    found = getattr(np, content, None) if isinstance(content, str) and content.isidentifier() else None
    if type(found) is not np.ufunc or found.__name__ != content or (found.nin, found.nout) != (1, 1):
        raise ModelFileError(f"{str(content)[:40]!r} is not a function of NumPy that model files hold")
    return found


# What NumPy calls its own types of numbers, and its functions of single numbers: names of data, not code.
_TYPES = frozenset(
    [
        "bool_",
        "bool",
        "object_",
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        "float32",
        "float64",
    ]
)
_ATOMS: dict[str, Callable[[Any], Any]] = {
    "int": _int,
    "float": _float,
    "scalar": _scalar,
    "type": _numpy_type,
    "ufunc": _ufunc,
    "function": _function,
}


def _whole(text: str, where: str) -> str:
    """Return a string that UTF-8 can express; Python's may hold lone halves of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ModelFileError(f"{where} is a string with half a character in it ({text[:40]!r})") from None
    return text


def _expect(content: Any, kind: type[Any], what: str) -> Any:
    if not isinstance(content, kind):
        raise ModelFileError(f"{what} is written as {str(content)[:40]!r}")
    return content


def _expect_length(content: Any, length: int, what: str) -> list[Any]:
    if not isinstance(content, list) or len(content) != length:
        raise ModelFileError(f"{what} is not written as a list of {length} parts")
    return content


def _article(kind: type[Any]) -> str:
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"a value of type {name}"


def _is_loaded(kind: type[Any], module: str, names: tuple[str, ...]) -> bool:
    loaded = sys.modules.get(module)
    return any(kind is getattr(loaded, name, None) for name in names)


def _falls(numbers: Array) -> bool:
    # Compared, not subtracted: the difference of two large integers can wrap round to a harmless one.
    return bool((numbers[1:] < numbers[:-1]).any())


def _check_sparse(shape: tuple[int, ...], data: Array, indices: Array, indptr: Array, *, is_row_major: bool) -> None:
    is_held = data.dtype.kind in "biuf" and data.dtype not in (np.float16, np.longdouble)  # as SciPy and files hold
    if len(shape) != 2 or not is_held or len(data) != len(indices):
        raise ModelFileError("a sparse matrix has parts that do not fit together")
    major, minor = shape if is_row_major else shape[::-1]
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64) or len(indptr) != major + 1:
        raise ModelFileError("a sparse matrix has indices of a wrong type or number")
    if indptr[0] != 0 or indptr[-1] != len(indices) or _falls(indptr):
        raise ModelFileError("a sparse matrix has row ends that do not rise from zero to the number of elements")
    if len(indices) and (indices.min() < 0 or indices.max() >= minor):
        raise ModelFileError("a sparse matrix has indices outside its shape")


def _check_parameters(model: Any) -> None:
    """Hold parameters against their declared ranges, and against what files may choose for a program."""
    model._validate_params()  # noqa: SLF001
    for name, field in type(model)._fields.items():
        problem = "" if field.in_files is None else field.in_files(getattr(model, name))
        if problem:
            raise ModelFileError(f"{type(model).__name__}.{name} {problem}")


def _check_names(cls: type[Any], fitted: dict[str, Any]) -> None:
    for name in fitted:
        is_taken = name in _parameters(cls) or hasattr(cls, name) or name == CALLBACKS
        if not name.isidentifier() or name.startswith("__") or is_taken:
            raise ModelFileError(f"{name[:40]!r} cannot be a fitted attribute of {cls.__name__}")


def _parameters(cls: type[Any]) -> frozenset[str]:
    if cls not in _signatures:
        _signatures[cls] = frozenset(inspect.signature(cls).parameters)
    return _signatures[cls]


def _find_record(name: str) -> type[Any]:
    if name not in registered_records() and name in record_homes():
        importlib.import_module(record_homes()[name])
    return find_record(name)


@functools.cache
def record_homes() -> dict[str, str]:
    """Return the module of each record of qed, by name; ``tools/api_check.py --write`` writes the list from the sources."""
    text = (Path(__file__).parent / "record_names.txt").read_text(encoding="utf-8")
    return dict(line.split() for line in text.splitlines())


@functools.cache
def packages() -> frozenset[str]:
    """Name the packages of qed that a file may cause to be imported: those with a list of public names."""
    return frozenset(stub.parent.name for stub in Path(__file__).parents[1].glob("[a-z]*/__init__.pyi"))


def _find_class(name: str, writer: str) -> type[Any]:
    """Look an estimator up among those registered; at most one of qed's own packages is imported for it."""
    if not _NAME.fullmatch(name) or len(name) > 200:
        raise ModelFileError(f"{name[:40]!r} is not the name of a class")
    package, _, leaf = name.removeprefix("qed.").partition(".")
    if name.startswith("qed."):
        if package not in packages():
            raise ModelFileError(f"this qed has no estimator called {name} {writer}")
        module = importlib.import_module(f"qed.{package}")
        if leaf in module.__all__:
            getattr(module, leaf)  # packages load their files on first use
    cls = find_estimator(name)
    if cls is None:
        advice = (
            writer
            if name.startswith("qed.")
            else "(it is not one of qed's own: import the module that defines it first)"
        )
        raise ModelFileError(f"no estimator called {name} is known {advice}")
    return cls
