"""What a parameter may hold. A rule accepts or refuses a value, and says in words what it accepts.

A rule is found in the annotation of a parameter: ``Annotated[float, Number(low=0)]`` carries one, and plain
Python types mean the obvious one (``bool``, ``int``, ``None``, ``Literal["a", "b"]``, a class, a union).
"""

from __future__ import annotations

import math
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

MAX_INT64 = 2**63 - 1

Make = Callable[..., Any]  # makes one of scikit-learn's constraint objects by name


class Rule(ABC):
    """One way for a value to be right."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is accepted, to follow "must be"."""

    @abstractmethod
    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""

    @abstractmethod
    def constraints(self, make: Make) -> Any:
        """Say the same in scikit-learn's constraints."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Number(Rule):
    """A number in an interval, finite unless said otherwise.

    Parameters
    ----------
    low, high : float
        The ends of the interval.
    open_low, open_high : bool
        Whether an end is left out.
    whole : bool
        Whether the number must be an integer.
    infinite : bool
        Whether an infinite number will do.
    """

    def __init__(
        self,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        open_low: bool = False,
        open_high: bool = False,
        whole: bool = False,
        infinite: bool = False,
    ) -> None:
        self.low, self.high = low, high
        self.open_low, self.open_high = open_low, open_high
        self.whole, self.infinite = whole, infinite

    @property
    def words(self) -> str:
        """What is accepted, to follow "must be"."""
        noun = "an integer" if self.whole else "a real number"
        low = "" if self.low == -math.inf else f"{'>' if self.open_low else '>='} {self.low:g}"
        high = "" if self.high == math.inf else f"{'<' if self.open_high else '<='} {self.high:g}"
        return " ".join(filter(None, [noun, " and ".join(filter(None, [low, high]))]))

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        # True is an Integral to Python, but nobody means one by it.
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value
        if isinstance(value, Integral) and not -MAX_INT64 <= number <= MAX_INT64:
            return False  # more than a machine's integers hold; as a real number it would be written 1e30
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return bool(above and below and (self.whole or math.isfinite(number) or self.infinite))

    def constraints(self, make: Make) -> Any:
        """Say the same in scikit-learn's constraints."""
        left = None if self.low == -math.inf else self.low
        right = None if self.high == math.inf else self.high
        if self.whole:
            left, right = (None if end is None else int(end) for end in (left, right))
        closed = {
            (False, False): "both",
            (True, False): "right",
            (False, True): "left",
            (True, True): "neither",
        }[self.open_low or left is None, self.open_high or right is None]
        return [make("Interval", Integral if self.whole else Real, left, right, closed=closed)]


class Choice(Rule):
    """One of a few values, usually words."""

    def __init__(self, options: tuple[Any, ...]) -> None:
        self.options = options

    @property
    def words(self) -> str:
        """What is accepted, to follow "must be"."""
        names = [repr(option) for option in self.options]
        return names[0] if len(names) == 1 else "one of " + ", ".join(names)

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        # 1 == True and 1 == 1.0: an option is met in kind as well as in value.
        return any(
            isinstance(value, type(option)) and isinstance(value, bool) == isinstance(option, bool) and value == option
            for option in self.options
        )

    def constraints(self, make: Make) -> Any:
        """Say the same in scikit-learn's constraints."""
        kinds = {type(option) for option in self.options}
        return [make("Options", kind, {o for o in self.options if type(o) is kind}) for kind in kinds]


class Flag(Rule):
    """True or False."""

    words = "True or False"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        return isinstance(value, bool | np.bool_)

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return ["boolean"]


class Absent(Rule):
    """None."""

    words = "None"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        return value is None

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return [None]


class Numbers(Rule):
    """An array-like of finite numbers, each obeying a rule.

    Parameters
    ----------
    ndim : int or None
        The number of dimensions; None when the model itself looks at the shape.
    each : Number, optional
        What every entry must be; any real number by default.
    """

    def __init__(self, ndim: int | None = 1, each: Number | None = None) -> None:
        self.ndim = ndim
        self.each = Number() if each is None else each

    @property
    def words(self) -> str:
        """What is accepted, to follow "must be"."""
        entry = self.each.words.partition(" ")[2].replace("integer", "integers").replace("number", "numbers")
        return f"an array of {entry}" if self.ndim is None else f"a {self.ndim}-dimensional array of {entry}"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        if isinstance(value, str | bytes | dict | set) or value is None:
            return False
        try:
            array = np.asarray(value)
        except (ValueError, TypeError):
            return False
        if (
            self.ndim not in (None, array.ndim)
            or array.ndim == 0
            or array.dtype.kind not in ("iu" if self.each.whole else "iuf")
        ):
            return False
        low, high = self.each.low, self.each.high
        above = array > low if self.each.open_low else array >= low
        below = array < high if self.each.open_high else array <= high
        return bool(np.all(above & below & np.isfinite(array)))

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return ["array-like"]


class SeedRule(Rule):
    """What ``random_state`` may be."""

    words = "None, an integer in [0, 2**32 - 1], a numpy Generator or a numpy RandomState"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        if value is None or Number(0, 2**32 - 1, whole=True).accepts(value):
            return True
        return isinstance(value, np.random.Generator | np.random.RandomState)

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return ["random_state", np.random.Generator]


class Instance(Rule):
    """An object of a class."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    @property
    def words(self) -> str:
        """What is accepted, to follow "must be"."""
        name = self.kind.__name__
        return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        return isinstance(value, self.kind)

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return [self.kind]


class Function(Rule):
    """Something to call."""

    words = "a function"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        return callable(value)

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return [callable]


class NumberType(Rule):
    """A type of numbers, as NumPy understands it."""

    words = "a NumPy type of numbers, such as np.float64"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        if not isinstance(value, type | str | np.dtype):
            return False
        try:
            return np.dtype(value).kind in "biufO"
        except TypeError:
            return False

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return "no_validation"


class Anything(Rule):
    """Any object at all: the model that declares it checks it in its own way."""

    words = "any object"

    def accepts(self, value: object) -> bool:  # noqa: ARG002
        """Tell whether the value is right."""
        return True

    def constraints(self, make: Make) -> Any:  # noqa: ARG002
        """Say the same in scikit-learn's constraints."""
        return "no_validation"


class Either(Rule):
    """Any of several rules."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    @property
    def words(self) -> str:
        """What is accepted, to follow "must be"."""
        parts = [rule.words for rule in self.rules]
        return " or ".join([", ".join(parts[:-1]), parts[-1]])

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        return any(rule.accepts(value) for rule in self.rules)

    def constraints(self, make: Make) -> Any:
        """Say the same in scikit-learn's constraints."""
        parts = [rule.constraints(make) for rule in self.rules]
        return "no_validation" if "no_validation" in parts else [one for part in parts for one in part]


_PLAIN: dict[Any, Rule] = {
    bool: Flag(),
    int: Number(whole=True),
    float: Number(),
    None: Absent(),
    type(None): Absent(),
    Any: Anything(),
    object: Anything(),
    Callable: Function(),
}


def rule_for(annotation: Any) -> Rule:
    """Find the rule in an annotation."""
    origin = get_origin(annotation)
    if origin is Annotated:
        rules = [extra for extra in annotation.__metadata__ if isinstance(extra, Rule)]
        return rules[0] if rules else rule_for(annotation.__origin__)
    if origin is Literal:
        return Choice(get_args(annotation))
    if origin is Union or origin is types.UnionType:
        return Either(tuple(rule_for(part) for part in get_args(annotation)))
    plain = annotation if origin is None else origin
    if plain in _PLAIN:
        return _PLAIN[plain]
    if isinstance(plain, type):
        return Instance(plain)
    raise TypeError(f"{annotation!r} says nothing about which values are accepted; use a type of qed.core, or Any.")
