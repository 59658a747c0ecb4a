r"""Which regular expressions a model file may hold: those that no text makes slow.

Python's matcher tries every way in which repetitions can share a text. ``(?:\w+\s?)+!`` has 2ⁿ of them for n letters, and a file
from a stranger must not choose it for a program. A pattern is simple when, from a given place on, there is one way at most:

* only single characters and sets of them are repeated, never groups (a group may be optional);
* two repetitions are kept apart: they have no character in common, or a character stands between them that the first one
  cannot repeat;
* nothing refers back to what a group found, and what is looked ahead at or behind has a fixed length.

The words that text is usually split by are simple: ``\b\w\w+\b``, ``[a-z]+(?:'[a-z]+)?``, ``[^ ,;]+``. A program may use any
pattern; only files may not.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any, NamedTuple

import numpy as np

LONGEST = 1000
MOST_WAYS = 64  # combinations of alternatives and optional groups
MOST_COPIES = 256  # of one character, in a row

# the tree that Python itself compiles; the modules have these names in every Python that qed runs on
_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")

Array = np.ndarray[Any, Any]


class _NotSimple(Exception):  # noqa: N818  (an answer on its way up, not an error of its own)
    """Why a pattern is not simple."""


def why_not_simple(pattern: Any) -> str:
    """Return why a file must not hold this pattern, or an empty string."""
    if pattern is None:
        return ""
    if not isinstance(pattern, str) or len(pattern) > LONGEST:
        return f"should be a regular expression of at most {LONGEST} characters"
    try:
        tree = _parser.parse(pattern)
        for way in _ways(tree, tree.state):
            _require_apart(way)
    except (re.error, RecursionError, OverflowError) as error:
        return f"cannot be read: {error}"
    except _NotSimple as reason:
        return f"is {pattern[:80]!r}: {reason}; a text could make it take for ever, so files do not hold it"
    return ""


def why_not_simple_ones(factors: Any) -> str:
    """Return why a file must not hold this dict of patterns, or an empty string."""
    if factors is None:
        return ""
    if not isinstance(factors, dict) or not all(isinstance(name, str) for name in factors):
        return "should be a dict of names and patterns"
    found = (why_not_simple("" if pattern is None else pattern) for pattern in factors.values())
    return next((reason for reason in found if reason), "")


class Item(NamedTuple):
    """What stands at one place of a text: a node for the characters, the flags, and whether their number may vary."""

    node: Any
    flags: int
    is_repeated: bool

    def characters(self) -> Array:
        """Return which of all characters may stand here, as the matcher itself sees it."""
        return _found(repr(self.node), self.flags, _Key(self.node))


def _require_apart(way: list[Item]) -> None:
    """Refuse two repetitions that could share a text between them."""
    if sum(item.is_repeated for item in way) < 2:
        return
    growing: list[Array] = []
    for item in way:
        own = item.characters()
        meeting = [before for before in growing if (before & own).any()]
        if item.is_repeated and meeting:
            raise _NotSimple(
                "two of its repetitions have characters in common and nothing between them keeps them apart"
            )
        growing = [*growing, own] if item.is_repeated else meeting


def _ways(tree: Any, state: Any) -> list[list[Item]]:
    """Return the sequences of characters that a pattern stands for, one for each choice of alternatives."""
    ways: list[list[Item]] = [[]]
    for node in tree:
        ways = [way + more for way in ways for more in _of_node(node, state)]
        if len(ways) > MOST_WAYS or max(map(len, ways), default=0) > LONGEST:
            raise _NotSimple("it has too many alternatives")
    return ways


def _of_node(node: Any, state: Any) -> list[list[Item]]:
    kind, content = str(node[0]), node[1]
    if kind in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
        return [[Item(node, state.flags & (re.IGNORECASE | re.ASCII | re.DOTALL), is_repeated=False)]]
    if kind == "AT":
        return [[]]
    if kind == "SUBPATTERN":
        if content[1] or content[2]:
            raise _NotSimple("it changes its flags inside")
        return _ways(content[3], state)
    if kind == "BRANCH":
        return [way for branch in content[1] for way in _ways(branch, state)]
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeated(content[0], content[1], content[2], state)
    if kind in ("ASSERT", "ASSERT_NOT"):
        if any(item.is_repeated for way in _ways(content[1], state) for item in way):
            raise _NotSimple("what it looks ahead at or behind has no fixed length")
        return [[]]
    raise _NotSimple("it refers back to a group, or holds something unusual")


def _repeated(least: int, most: Any, inside: Any, state: Any) -> list[list[Item]]:
    ways = _ways(inside, state)
    if least == 0 and most == 1 and len(inside) and not _is_single(ways):
        return [[], *ways]  # an optional group
    if not _is_single(ways):
        raise _NotSimple("it repeats a group")
    if least > MOST_COPIES:
        raise _NotSimple(f"it repeats a character more than {MOST_COPIES} times")
    one = ways[0][0]
    return [[one] * least + ([] if least == most else [one._replace(is_repeated=True)])]


def _is_single(ways: list[list[Item]]) -> bool:
    return len(ways) == 1 and len(ways[0]) == 1 and not ways[0][0].is_repeated


class _Key:
    """A node as an argument that a cache does not look at: its text is one too."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key)


@functools.lru_cache(maxsize=32)
def _found(_: str, flags: int, key: _Key) -> Array:
    tree = _parser.parse("")
    tree.state.flags |= flags
    tree.append(key.node)
    found = "".join(_compiler.compile(tree, flags).findall(_every_character()))
    mask = np.zeros(0x110000, dtype=bool)
    mask[np.frombuffer(found.encode("utf-32-le", "surrogatepass"), dtype="<u4")] = True
    return mask


@functools.lru_cache(maxsize=1)
def _every_character() -> str:
    return "".join(map(chr, range(0x110000)))
