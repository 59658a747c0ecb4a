"""What a fitted model may hold: every attribute against its declaration.

``fitted`` declares an attribute where it is documented, and `check_state` holds a model against all declarations of its class::

    coef_: Array = fitted("Coefficients.", shape="(p,) or (m, p)")
    labels_: Array = fitted("Cluster of each row.", dtype="int32", shape="(n,)", low=0, below="cluster_centers_")
    vocabulary_: dict[str, int] = fitted("Words and their columns.", permutation=True)

The annotation says the type: ``Array``, numbers, ``str``, ``bool``, lists, tuples and dicts of such, records, models, unions;
``Any`` leaves the type to ``check``. Rules apply to the numbers inside lists and dicts too.

================  =====================================================================================================
keyword           meaning
================  =====================================================================================================
``shape``         accepted shapes of an array; of a list of arrays, of each
``length``        entries of a list, tuple, dict or array; also ``at least 2``
``dtype``         types of an array, "or" between them: one of NumPy's names, or ``float`` (32 and 64 bits), ``int`` (signed),
                  ``number`` (both), ``label`` (numbers, booleans, strings); ``float64`` if nothing is said
``low``, ``high``  ends that belong to the range
``above``,        ends that do not
``below``
``finite``        False lets infinities in; NaN needs ``nan=True``
``order``         "rising" (equal neighbours allowed) or "strictly rising" along the first axis
``permutation``   the numbers are 0, 1, ... in some order, each once
``one_of``        the only values
``optional``      a fit may leave the attribute out, or files from before it existed lack it
``check``         function of model and value that returns what is wrong, or an empty string: for relations beyond these words
================  =====================================================================================================

Sizes and ends are numbers or words: ``p`` (``n_features_in_``), ``k`` (labels in ``classes_``), ``k or 1`` (one score for two
classes), an attribute or parameter (its value if a number, else its length), ``name[j]`` for entry j of a list, each of these plus
or minus a number, or ``*`` for any. Another single letter stands for the same size wherever one model uses it.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import sys
import typing
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import ModelFileError
from qed.core._once import cached_property
from qed.core._records import (
    check_record,
    conforms,
    find_estimator,
    is_record,
    public_name,
    registered_estimators,
    registered_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.core._params import Fitted


MOST_DIGITS = 2**63
# What any model may hold besides what its class declares: the columns it saw, a bound from held-out rows, the table a study was
# fitted on, and choices of its user.
COMMON = frozenset({"n_features_in_", "feature_names_in_", "held_out_", "sheet_", "_output", "_metadata_requests"})
CALLBACKS = "_skl_callbacks"  # of a running program, not of the model

_KINDS = {"float": "f", "int": "i", "number": "iuf", "label": "biufUO"}
_LETTERS = {"p": "n_features_in_", "k": "classes_"}
_TERM = re.compile(r"(k or 1|\*|\d+|[A-Za-z]\w*)(\[j\])?\s*(?:([+-])\s*(\d+))?")
_SHAPE = re.compile(r"\(([^()]*)\)")

Array = np.ndarray[Any, Any]


class _Wrong(Exception):  # noqa: N818  (an answer on its way up, not an error of its own)
    """What an attribute should be and what it is."""


def check_state(model: Any, *, deep: bool = True) -> None:
    """Hold every fitted attribute of a model against its declaration.

    Parameters
    ----------
    model : Estimator
        A model, fitted or not, from a file or from memory.
    deep : bool
        Whether to check the models inside as well.

    Raises
    ------
    ModelFileError
        When an attribute is missing, is not declared, or is not what is declared. Nothing else is raised, whatever the model holds.
    """
    name = type(model).__name__
    try:
        _check(model)
        if deep:
            for part in _models_inside(vars(model), 0):
                check_state(part)
    except _Wrong as problem:
        raise ModelFileError(f"{name}.{problem}") from None
    except ModelFileError:
        raise
    except Exception as error:
        # a value that does not even behave like one: an array that cannot be compared, a list that holds itself
        raise ModelFileError(
            f"{name} holds a value that makes no sense ({type(error).__name__}: {error!s:.200})"
        ) from error


def _check(model: Any) -> None:
    cls, state = type(model), vars(model)
    results: dict[str, Fitted] = cls._results
    known = results.keys() | COMMON
    others = {
        name
        for name in state
        if name not in known and name not in cls._fields and name != CALLBACKS and not is_cache(cls, name)
    }
    for name in sorted(others, key=str):
        raise _Wrong(f"{str(name)[:60]} is held, and {cls.__name__} declares no such attribute")
    _check_common(state)
    if not state.keys() & results.keys():
        return  # not fitted
    if "n_features_in_" not in state and model._traits().table and not hasattr(cls, "n_features_in_"):  # noqa: SLF001
        raise _Wrong("n_features_in_ is missing (int)")
    scope = _Scope(model)
    for name, rule in results.items():
        if name in state:
            _check_value(rule, state[name], scope)
        elif not (rule.optional or hasattr(cls, name)):
            raise _Wrong(f"{name} is missing ({rule.written})")


def _check_common(state: dict[str, Any]) -> None:
    columns = state.get("n_features_in_", 1)
    if type(columns) is not int or not 0 < columns < MOST_DIGITS:
        raise _Wrong(f"n_features_in_ should be a positive integer, and is {_shown(columns)}")
    if "feature_names_in_" in state:
        names: Any = state["feature_names_in_"]
        good = isinstance(names, np.ndarray) and names.dtype == object and names.ndim == 1
        if not good or len(names) != state.get("n_features_in_", len(names)):
            raise _Wrong(f"feature_names_in_ should be {columns} strings, and is {_shown(names)}")
        if not all(type(one) is str for one in names.tolist()):
            raise _Wrong("feature_names_in_ should be strings, and holds something else")
    # a name given to set_output would be imported, so it must be one of those that set_output accepts
    if state.get("_output") not in (None, "default", "pandas", "polars"):
        raise _Wrong(f"_output is {_shown(state['_output'])}, and no container of output is called so")
    requests = state.get("_metadata_requests", {})
    if not conforms(requests, dict[str, dict[str, bool | str | None]]):
        raise _Wrong(f"_metadata_requests should say what each method asks for, and is {_shown(requests)}")
    for name, kinds in (("held_out_", ("held-out",)), ("sheet_", ("study-sheet", "study-unsupervised"))):
        if name in state and not (is_record(state[name]) and state[name].record_name in kinds):
            raise _Wrong(f"{name} should be a record, and is {_shown(state[name])}")


def _models_inside(value: Any, depth: int) -> Iterator[Any]:
    if depth > 64:
        raise _Wrong("values are nested more than 64 levels deep")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _models_inside(one, depth + 1)
    elif find_estimator(public_name(type(value))) is type(value):
        yield value


# ---- one attribute ---------------------------------------------------------------------------------------------------


def _check_value(rule: Fitted, value: Any, scope: _Scope) -> None:
    hint = _resolved(rule.written, rule.module)
    if not conforms(value, hint):
        raise _Wrong(f"{rule.name} should be {rule.written}, and is {_shown(value)}")
    if rule.length and hasattr(value, "__len__") and not scope.fits(len(value), rule.length):
        raise _Wrong(f"{rule.name} should have {rule.length} entries, and has {len(value)}")
    _check_inside(rule, value, scope, None)
    if rule.permutation:
        numbers = value if isinstance(value, np.ndarray) else list(value.values() if isinstance(value, dict) else value)
        if not np.array_equal(np.sort(np.asarray(numbers)), np.arange(len(numbers))):
            raise _Wrong(f"{rule.name} should hold each of 0 to {len(numbers) - 1} once")
    if rule.check is not None:
        problem = rule.check(scope.model, value)
        if problem:
            raise _Wrong(f"{rule.name} {problem}")


def _check_inside(rule: Fitted, value: Any, scope: _Scope, j: int | None) -> None:
    """Check what an attribute holds, down to its arrays, numbers and words."""
    if is_record(value):
        check_record(value, rule.name)
    elif isinstance(value, np.ndarray):
        _check_array(rule, value, scope, j)
    elif isinstance(value, list | tuple):
        for i, one in enumerate(value):
            _check_inside(rule, one, scope, i if j is None else j)
    elif isinstance(value, dict):
        for one in value.values():
            _check_inside(rule, one, scope, j)
    elif isinstance(value, str):
        if rule.one_of and value not in rule.one_of:
            raise _Wrong(f"{rule.name} should be one of {', '.join(map(repr, rule.one_of))}, and is {_shown(value)}")
    elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
        number: Any = value
        _check_numbers(rule, np.asarray(number if abs(number) < MOST_DIGITS else float(number)), scope, j)
    elif hasattr(value, "indptr") and rule.shape and not scope.fits_shape(value.shape, rule.shape, j):
        raise _Wrong(f"{rule.name} should have shape {rule.shape}, and has {value.shape}")


def _check_array(rule: Fitted, value: Array, scope: _Scope, j: int | None) -> None:
    wanted = rule.dtype or "float64"
    if not any(_is_dtype(value, one) for one in wanted.split(" or ")):
        raise _Wrong(f"{rule.name} should hold values of type {wanted}, and holds {value.dtype}")
    if rule.shape and not scope.fits_shape(value.shape, rule.shape, j):
        raise _Wrong(f"{rule.name} should have shape {scope.said(rule.shape, j)}, and has {value.shape}")
    _check_numbers(rule, value, scope, j)


def _is_dtype(value: Array, wanted: str) -> bool:
    dtype = value.dtype
    if wanted == "label" and dtype.kind == "O":
        return all(one is None or isinstance(one, str | bool | int | float | np.generic) for one in value.flat)
    if wanted in _KINDS:
        return dtype.kind in _KINDS[wanted] and not (dtype.kind == "f" and dtype.itemsize not in (4, 8))
    return bool(dtype == np.dtype(wanted))


def _check_numbers(rule: Fitted, value: Array, scope: _Scope, j: int | None) -> None:
    if rule.order and value.ndim and value.dtype.kind in "bUO":
        _check_order(rule, value)
    if not value.size or value.dtype.kind not in "iuf":
        return
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        odd = (
            "NaN"
            if np.isnan(value).any() and not rule.nan
            else "infinity"
            if rule.finite and np.isinf(value).any()
            else ""
        )
        if odd:
            raise _Wrong(f"{rule.name} holds {odd}")
    known = value[~np.isnan(value)] if rule.nan and value.dtype.kind == "f" else value
    for end, test, words in (
        (rule.low, np.greater_equal, "at least"),
        (rule.high, np.less_equal, "at most"),
        (rule.above, np.greater, "above"),
        (rule.below, np.less, "below"),
    ):
        if end is not None:
            limit: Any = scope.size(end, j) if isinstance(end, str) else end
            if not test(known, limit).all():
                raise _Wrong(f"{rule.name} should be {words} {end}, and holds {_extreme(known, words)}")
    if rule.order and value.ndim:
        _check_order(rule, value)
    if rule.one_of and not np.isin(value, rule.one_of).all():
        raise _Wrong(f"{rule.name} should hold only {', '.join(map(str, rule.one_of))}, and holds another value")


def _check_order(rule: Fitted, value: Array) -> None:
    before, after = value[:-1], value[1:]
    rises = before < after if rule.order == "strictly rising" else before <= after
    if rule.nan and value.dtype.kind == "f":
        rises |= np.isnan(before) | np.isnan(after)
    if not np.all(rises):
        raise _Wrong(f"{rule.name} should be {rule.order}, and is not")


def _extreme(value: Array, words: str) -> Any:
    return value.min() if words in ("at least", "above") else value.max()


# ---- sizes -----------------------------------------------------------------------------------------------------------


class _Scope:
    """The sizes that one model's declarations speak of; a free letter takes the size it first meets."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.letters: dict[str, int] = {}

    def size(self, written: str, j: int | None = None) -> int | None:
        """Return the size that a word means; None if any will do."""
        match = _TERM.fullmatch(written.strip())
        if match is None:
            raise TypeError(f"{written!r} is not a size")
        word, indexed, sign, number = match.groups()
        base = self._base(word, indexed, j)
        return None if base is None else base + (int(f"{sign}{number}") if sign else 0)

    def _base(self, word: str, indexed: str | None, j: int | None) -> int | None:
        if word == "*" or word.isdigit():
            return None if word == "*" else int(word)
        if word == "k or 1":
            labels = self._of("classes_")
            return 1 if labels == 2 else labels
        if len(word) == 1 and word not in _LETTERS:
            return self.letters.get(word)
        return self._of(_LETTERS.get(word, word), j if indexed else None)

    def _of(self, name: str, j: int | None = None) -> int:
        value = getattr(self.model, name, None)
        if j is not None and isinstance(value, np.ndarray | list | tuple) and j < len(value):
            value = value[j]
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return int(value)
        if value is None or not hasattr(value, "__len__") or isinstance(value, str):
            raise _Wrong(f"{name} should be there, and is {_shown(value)}")
        return len(value)

    def fits(self, length: int, written: str, j: int | None = None) -> bool:
        """Tell whether a length is the one written; a free letter is bound to it."""
        if written.startswith("at least "):
            return length >= int(written.removeprefix("at least "))
        wanted = self.size(written, j)
        letter = written.strip()
        if wanted is None and len(letter) == 1 and letter.isalpha():
            self.letters[letter] = length
            return True
        if wanted is None and letter[0].isalpha() and letter != "*":  # a free letter plus a number
            shift = self._shift(letter)
            self.letters[letter[0]] = length - shift
            return length >= shift
        return wanted in (None, length)

    @staticmethod
    def _shift(letter: str) -> int:
        match = _TERM.fullmatch(letter)
        return int(f"{match[3]}{match[4]}") if match and match[3] else 0

    def fits_shape(self, shape: tuple[int, ...], written: str, j: int | None) -> bool:
        """Tell whether a shape is one of those written."""
        for sizes in _shapes(written):
            before = dict(self.letters)
            if len(shape) == len(sizes) and all(
                self.fits(got, want, j) for got, want in zip(shape, sizes, strict=True)
            ):
                return True
            self.letters = before
        return False

    def said(self, written: str, j: int | None) -> str:
        """Return shapes with their numbers, for a message."""
        found = []
        for sizes in _shapes(written):
            numbers = [self.size(one, j) for one in sizes]
            found.append(
                "(" + ", ".join(one if n is None else str(n) for one, n in zip(sizes, numbers, strict=True)) + ")"
            )
        said = " or ".join(found)
        return said if said == written else f"{written} = {said}"


@functools.lru_cache(maxsize=1024)
def _shapes(written: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(part.strip() for part in inside.split(",") if part.strip()) for inside in _SHAPE.findall(written)
    )


# ---- types -----------------------------------------------------------------------------------------------------------


def _resolved(written: str, module: str) -> Any:
    """Return the annotation of an attribute as a type; classes imported for type checkers alone are found by name."""
    known = _types.get((written, module))
    if known is not None:
        return known
    names = {**vars(typing), "np": np, **vars(sys.modules.get(module, sys)), "Array": Array}
    is_complete = True
    while True:
        try:
            found = eval(written, names)  # noqa: S307  (the source of the class itself)
            break
        except NameError as error:
            name = str(error.name)
            listed = [one for one in _registered() if one.__name__ == name]
            is_complete = is_complete and bool(listed)
            # a class that nobody has loaded has no instances
            names[name] = functools.reduce(operator.or_, listed) if listed else _Nothing
    if is_complete:
        _types[written, module] = found
    return found


def _registered() -> tuple[type[Any], ...]:
    return (*registered_records().values(), *registered_estimators().values())


class _Nothing:
    """The type of no value."""


_types: dict[tuple[str, str], Any] = {}


def is_cache(cls: type[Any], name: str) -> bool:
    """Tell whether an attribute is worked out from the others when it is asked for, or belongs to the running program."""
    if name in getattr(cls, "_not_saved", ()):
        return True
    return isinstance(inspect.getattr_static(cls, name, None), cached_property | functools.cached_property)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if value is None or isinstance(value, bool | float | str):
        return f"{value!r:.60}"
    if isinstance(value, int) and abs(value) < MOST_DIGITS:
        return str(value)
    return f"a value of type {type(value).__name__}"
