"""Parameters are declared once, as annotated class fields, and everything else follows from the declaration.

::

    class Ridge(Regressor, sparse=True):
        alpha: NonNegative = param(1.0, "Strength of the penalty.")
        _: KW_ONLY
        solver: Literal["auto", "svd"] = param("auto", "Solver asked for.", kind="hint")

        coef_: Array = fitted("Coefficients, one per column of X.")

From these come the constructor (which only stores, so that scikit-learn can clone), ``get_params``, the
validation at ``fit``, and the Parameters and Attributes sections of the docstring. Annotations stay strings
until the first ``fit``: declaring a model costs microseconds. ``OneOf`` is ``typing.Literal`` under the name of
its meaning; linters that must tell words from names understand ``Literal``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import KW_ONLY
from inspect import Parameter, Signature, get_annotations
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from qed.core import _rules
from qed.core._errors import InvalidParameter, NotSupported
from qed.core._once import cached_property
from qed.core._rules import Number, Numbers, NumberType, SeedRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    #: An array of numbers of any shape; ``fitted`` says which, and of what type.
    Array = NDArray[Any]
    SeedLike = int | np.random.Generator | np.random.RandomState | None
    DType: TypeAlias = Any
    AnyFunction: TypeAlias = Any
else:  # naming these for real would load numpy.typing and numpy.random at import
    ArrayLike = SeedLike = object
    Array = Annotated[object, Numbers(None)]
    DType, AnyFunction = Annotated[object, NumberType()], Annotated[object, _rules.Function()]


#: A real number >= 0.
NonNegative = Annotated[float, Number(low=0)]
#: A real number > 0.
Positive = Annotated[float, Number(low=0, open_low=True)]
#: A real number > 0, or infinity.
PositiveOrInfinite = Annotated[float, Number(low=0, open_low=True, infinite=True)]
#: A real number of [0, 1].
Probability = Annotated[float, Number(low=0, high=1)]
#: A real number strictly between 0 and 1.
Fraction = Annotated[float, Number(low=0, high=1, open_low=True, open_high=True)]
#: A whole number >= 1.
PositiveInt = Annotated[int, Number(low=1, whole=True)]
#: A whole number >= 0.
NonNegativeInt = Annotated[int, Number(low=0, whole=True)]
#: A whole number, a random generator of NumPy, or None for a new seed.
Seed = Annotated[SeedLike, SeedRule()]
#: A one-dimensional array of numbers.
Vector = Annotated[ArrayLike, Numbers(1)]
#: A one-dimensional array of numbers >= 0.
NonNegativeVector = Annotated[ArrayLike, Numbers(1, Number(low=0))]
#: A two-dimensional array of numbers.
Matrix = Annotated[ArrayLike, Numbers(2)]

Kind = Literal["honoured", "hint", "refused"]


class _Param(NamedTuple):
    """What ``param`` was told."""

    default: Any
    text: str
    kind: Kind
    instead: str
    in_files: Callable[[Any], str] | None


class Fitted(NamedTuple):
    """A fitted attribute: its name, what it holds, its type as written, and the rules that ``qed.core._state`` explains."""

    text: str
    name: str = ""
    written: str = ""
    answers: bool = True
    module: str = ""
    shape: str = ""
    length: str = ""
    dtype: str = ""
    low: float | str | None = None
    high: float | str | None = None
    above: float | str | None = None
    below: float | str | None = None
    finite: bool = True
    nan: bool = False
    order: Literal["", "rising", "strictly rising"] = ""
    permutation: bool = False
    one_of: tuple[Any, ...] = ()
    optional: bool = False
    check: Callable[[Any, Any], str] | None = None


def param(
    default: Any,
    text: str,
    *,
    kind: Kind = "honoured",
    instead: str = "",
    in_files: Callable[[Any], str] | None = None,
) -> Any:
    """Declare a constructor parameter.

    Parameters
    ----------
    default : object
        The value when none is given. It must not be mutable: it is shared by all instances.
    text : str
        What the parameter is, beginning with a noun ("Strength of the penalty.") or with "Whether" or "How".
    kind : {"honoured", "hint", "refused"}
        ``"honoured"``: the value is obeyed. ``"hint"``: it may speed things up, and cannot change the
        optimum. ``"refused"``: it is here because scikit-learn has it; any value but the default raises
        ``NotSupported`` at ``fit``.
    instead : str
        For a refused parameter, the sentence that says what to use.
    in_files : callable, optional
        Function of a value that returns why a model file must not hold it, or an empty string: for what a program may choose for
        itself and a file from a stranger may not choose for it.

    Returns
    -------
    object
        A declaration, which the class machinery replaces by the default.
    """
    if kind == "refused" and not instead:
        raise TypeError("an unsupported parameter names what to use instead: param(..., kind='refused', instead='...')")
    return _Param(default, text, kind, instead, in_files)


def fitted(
    text: str,
    *,
    answers: bool = True,
    init: Literal[False] = False,  # noqa: ARG001  (read by type checkers)
    **rules: Any,
) -> Any:
    """Declare an attribute that ``fit`` sets; it does not exist on the class or before ``fit``.

    Parameters
    ----------
    text : str
        What the attribute holds.
    answers : bool
        Whether an answer of the model depends on it, or its certificate speaks of it: then ``qed.verify`` refuses a changed one.
        Say False of what only tells about the fit, such as a number of iterations.
    init : False
        Read by type checkers.
    **rules : dict
        Shape, type, range and relations, in the words that ``qed.core._state`` lists: ``shape="(k, p)"``, ``low=0`` and so on. A
        model is held against them when it is saved, loaded and verified.
    """
    return Fitted(text, answers=answers, **rules)


def needed_with(*parameters: str) -> Callable[[Any, Any], str]:
    """Return a ``check`` of an attribute that may be None unless one of these parameters is set."""

    def check(model: Any, value: Any) -> str:
        asked = next((name for name in parameters if getattr(model, name)), None)
        return (
            ""
            if value is not None or asked is None
            else f"should not be None with {asked}={getattr(model, asked)!r:.40}"
        )

    return check


class Field:
    """One declared parameter of a class."""

    def __init__(self, name: str, given: _Param, written: Any, module: str, *, positional: bool) -> None:
        self.name = name
        self.default = given.default
        self.text = given.text
        self.kind = given.kind
        self.instead = given.instead
        self.in_files = given.in_files
        self.written = written  # the annotation as it stands in the class, usually a string
        self.module = module
        self.positional = positional

    @cached_property
    def rule(self) -> _rules.Rule:
        """What the parameter may hold, read from its annotation the first time it matters."""
        if not isinstance(self.written, str):
            return _rules.rule_for(self.written)
        # Types of this module resolve even where a class imports them for type checkers only.
        names = {**globals(), **vars(sys.modules.get(self.module, sys))}
        try:
            return _rules.rule_for(eval(self.written, names))  # noqa: S307  (the source of the class itself)
        except NameError as error:
            raise TypeError(
                f"The annotation of parameter {self.name!r}, {self.written!r}, cannot be read: {error}. Its names must"
                f" stand at the top of module {self.module}."
            ) from error

    @cached_property
    def takes_default(self) -> bool:
        """Whether the default needs no further look: it never changes, and most parameters are left at it."""
        return self.kind == "refused" or self.rule.accepts(self.default)

    def __getstate__(self) -> dict[str, Any]:
        # A class of a notebook is pickled by value, and read where the names in its annotations are unknown.
        return {**self.__dict__, "rule": self.rule}

    @property
    def sentence(self) -> str:
        """The first sentence of the text, as the end of an error message."""
        first = self.text.split(". ")[0].rstrip(".")
        first = first[0].lower() + first[1:]
        if first.startswith(("whether ", "how ", "what ", "which ", "where ")):
            return f"It says {first}."
        return f"It is {first}." if first.startswith(("the ", "a ", "an ")) else f"It is the {first}."


def declared(cls: type) -> tuple[dict[str, Field], dict[str, Fitted]]:
    """Take the declarations of a class out of its body, after those of its bases."""
    fields: dict[str, Field] = {}
    results: dict[str, Fitted] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get("_fields", {}))
        results.update(vars(base).get("_results", {}))
    positional = all(field.positional for field in fields.values())
    for name, written in get_annotations(cls).items():
        given = cls.__dict__.get(name)
        if written is KW_ONLY or (isinstance(written, str) and written.rpartition(".")[2] == "KW_ONLY"):
            positional = False
        elif isinstance(given, _Param):
            place = fields[name].positional if name in fields else positional
            fields[name] = Field(name, given, written, cls.__module__, positional=place)
            setattr(cls, name, given.default)  # so that a state from before this parameter existed still works
        elif isinstance(given, Fitted):
            text = written if isinstance(written, str) else repr(written)
            results[name] = given._replace(name=name, written=text, module=cls.__module__)
            delattr(cls, name)
    return fields, results


def constructor(fields: Mapping[str, Field]) -> Callable[..., None]:
    """Make an ``__init__`` that stores its arguments and does nothing else."""
    defaults = {name: field.default for name, field in fields.items()}
    positional = [name for name, field in fields.items() if field.positional]

    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807
        values = self.__dict__
        values.update(defaults)
        if args:
            _store_positional(type(self), values, positional, args, given)
        if given:
            if not given.keys() <= defaults.keys():
                bad = next(name for name in given if name not in defaults)
                raise TypeError(f"{type(self).__name__}() has no parameter {bad!r}.{_nearest(bad, defaults)}")
            values.update(given)

    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD if field.positional else Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=field.written,
        )
        for name, field in fields.items()
    ]
    __init__.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return __init__


def _store_positional(
    cls: type, values: dict[str, Any], names: list[str], args: tuple[Any, ...], given: Mapping[str, Any]
) -> None:
    if len(args) > len(names):
        listed = f" ({', '.join(names)})" if names else ""
        raise TypeError(
            f"{cls.__name__}() takes at most {len(names)} positional arguments{listed}, got {len(args)}."
            " Name the others."
        )
    for name, value in zip(names, args, strict=False):
        if name in given:
            raise TypeError(f"{cls.__name__}() got {name!r} twice: by position and by name.")
        values[name] = value


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  (only for a message)

    close = get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else f" Its parameters: {', '.join(known)}."


def unknown_parameter(model: object, name: str, known: Iterable[str]) -> InvalidParameter:
    """Make the error for a name that ``set_params`` does not know."""
    names = list(known)
    near = _nearest(name, names) if names else ""
    return InvalidParameter(
        f"Invalid parameter {name!r} for estimator {model!r}. Valid parameters are: {names!r}.{near}"
    )


def validate(owner: str, fields: Mapping[str, Field], values: Mapping[str, Any]) -> None:
    """Hold every parameter against its declaration.

    Raises
    ------
    InvalidParameter
        When a value is not accepted.
    NotSupported
        When a refused parameter is not at its default.
    """
    for name, field in fields.items():
        value = values.get(name, field.default)
        if value is field.default and field.takes_default:
            continue
        if field.kind == "refused":
            if changed(value, field.default):
                raise NotSupported(f"{owner}.{name}={_shown(value)} is not in qed. {field.instead}")
        elif not field.rule.accepts(value):
            raise InvalidParameter(f"{owner}.{name} must be {field.rule.words}, got {_shown(value)}. {field.sentence}")


def changed(value: object, default: object) -> bool:
    """Tell whether a value differs from a default, whatever either of them is."""
    if value is default:
        return False
    if type(value) is not type(default) or isinstance(value, np.ndarray):
        return True
    try:
        return not (value == default or (_is_nan(value) and _is_nan(default)))
    except (TypeError, ValueError):
        return True


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _shown(value: object, width: int = 80) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= width else text[: width - 3] + "..."
