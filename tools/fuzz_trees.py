"""Changes to the values of a model file that know what they change: parameters, attributes, arrays, records, models inside.

A mutant is a tree of values and its arrays, as the reader sees them after the bytes. Every change keeps the rest in order (each
array has its place, once), so that it is met by the check of the value itself.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]
    Path = tuple[Any, ...]

GONE = object()

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    63,
    100,
    1000,
    2**16,
    2**31 - 1,
    2**31,
    2**32,
    2**40,
    2**53,
    2**62,
    2**63 - 1,
    -(2**63),
    -5,
)
FLOATS = (
    "0x0.0p+0", "-0x0.0p+0", "0x1.0000000000000p+0", "-0x1.0000000000000p+0", "0x1.8000000000000p+1", "inf", "-inf",
    "nan:7ff8000000000000", "0x1.fffffffffffffp+1023", "0x0.0000000000001p-1022", "0x1.0000000000000p-1", "0x1.0000000000000p+40",
)  # fmt: skip
WORDS = (
    "", "a", "x0", "x1", "drop", "passthrough", "auto", "linear", "euclidean", "minkowski", "l1", "l2", "predict", "first", "yes",
    "uniform", "ignore", "periodic", "mean", "binary", "multiclass", "word", "char", "filename", "pandas", "\u0131\u200b",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, [], [None], [0, 1], [[0]], {"tuple": []}, {"tuple": [0, 1]}, {"tuple": [1, 2]}, {"dict": []},
    {"dict": [["a", 1]]}, {"int": "0x" + "f" * 40}, {"scalar": ["<f8", "000000000000f03f"]}, {"scalar": ["<i8", "ff" * 8]},
    {"scalar": ["|b1", "01"]}, {"scalar": ["str", "word"]}, {"slice": [None, 2, None]}, {"slice": [0, 9223372036854775807, 1]},
    {"type": "float32"}, {"type": "object_"}, {"ufunc": "log"}, {"estimator": ["qed.linear_model.Ridge", {}, {}]},
    {"estimator": ["qed.preprocessing.StandardScaler", {}, {}]}, {"objects": [[2], [None, "a"]]},
)  # fmt: skip


class Tree(NamedTuple):
    """The node of a model, and the arrays that it points to."""

    model: Any
    arrays: tuple[Array, ...]


class Spots:
    """Places in a tree, by what stands there."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.models: list[Path] = []
        self.values: list[Path] = []  # parameters and attributes
        self.attributes: list[Path] = []
        self.arrays: list[Path] = []
        self.records: list[Path] = []
        self.fields: list[Path] = []
        self.lists: list[Path] = []
        self.atoms: list[Path] = []
        self._look(tree.model, ())

    def _look(self, node: Any, at: Path) -> None:
        if isinstance(node, list):
            self.lists.append(at)
            for i, one in enumerate(node):
                self._look(one, (*at, i))
            return
        if not isinstance(node, dict):
            self.atoms.append(at)
            return
        ((tag, content),) = node.items()
        if tag == "estimator":
            self.models.append(at)
            for part in (1, 2):
                for name, value in content[part].items():
                    here = (*at, tag, part, name)
                    self.values.append(here)
                    if part == 2:
                        self.attributes.append(here)
                    self._look(value, here)
        elif tag == "record":
            self.records.append(at)
            for name, value in content[1].items():
                self.fields.append((*at, tag, 1, name))
                self._look(value, (*at, tag, 1, name))
        elif tag == "array":
            self.arrays.append(at)
        elif tag in ("int", "float", "scalar", "type", "ufunc"):
            self.atoms.append(at)
        else:
            self._look(content, (*at, tag))


def node_at(node: Any, path: Path) -> Any:
    """Return what stands at a path."""
    for step in path:
        node = node[step]
    return node


def put(node: Any, path: Path, new: Any) -> Any:
    """Return a tree with something else at a path; what is not on the way there is shared."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    copy = node.copy()
    if rest:
        copy[step] = put(node[step], rest, new)
    elif new is GONE:
        del copy[step]
    else:
        copy[step] = new
    return copy


def settled(model: Any, arrays: Sequence[Array]) -> Tree:
    """Give arrays the numbers of the order in which they are met, a copy for each further use."""
    found: list[Array] = []

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(one) for one in node]
        if not isinstance(node, dict):
            return node
        if len(node) == 1 and type(node.get("array")) is int and 0 <= node["array"] < len(arrays):
            found.append(arrays[node["array"]])
            return {"array": len(found) - 1}
        return {key: walk(one) for key, one in node.items()}

    return Tree(walk(model), tuple(found))


def shifted(node: Any, by: int) -> Any:
    """Return a node whose arrays stand further behind."""
    if isinstance(node, list):
        return [shifted(one, by) for one in node]
    if not isinstance(node, dict):
        return node
    if type(node.get("array")) is int:
        return {"array": node["array"] + by}
    return {key: shifted(one, by) for key, one in node.items()}


class Draft:
    """A tree on its way to become a mutant."""

    def __init__(self, rng: random.Random, source: Spots, other: Spots) -> None:
        self.rng, self.source, self.other = rng, source, other
        self.model = source.tree.model
        self.arrays = list(source.tree.arrays)

    def pick(self, places: list[Path]) -> Path | None:
        """Return one of some places, if it is still there."""
        if not places:
            return None
        path = self.rng.choice(places)
        try:
            node_at(self.model, path)
        except (KeyError, IndexError, TypeError):
            return None
        return path

    def set(self, path: Path, new: Any) -> None:
        """Put something else at a place, unless an earlier change has taken the place away."""
        with contextlib.suppress(AttributeError, IndexError, KeyError, TypeError):
            self.model = put(self.model, path, new)

    def from_other(self, path: Path) -> Any:
        """Return a node of the other file, its arrays brought along."""
        node = shifted(node_at(self.other.tree.model, path), len(self.arrays))
        self.arrays += self.other.tree.arrays
        return node

    def new_array(self, array: Array) -> Any:
        """Return a node for an array of its own."""
        self.arrays.append(array)
        return {"array": len(self.arrays) - 1}

    def odd(self) -> Any:
        """Return a value out of the blue."""
        way = self.rng.random()
        if way < 0.3:
            return self.rng.choice(NUMBERS)
        if way < 0.5:
            return {"float": self.rng.choice(FLOATS)}
        if way < 0.65:
            return self.rng.choice(WORDS)
        if way < 0.75:
            shape = self.rng.choice(((), (0,), (1,), (3,), (1, 3), (3, 3), (0, 3), (2, 3)))
            return self.new_array(
                np.full(shape, self.rng.choice((0, 1, -1, 2)), self.rng.choice(("f8", "i8", "i4", "f4", "?")))
            )
        return self.rng.choice(OTHERS)


def replace_value(draft: Draft) -> None:
    """Put something out of the blue in the place of a parameter or an attribute."""
    path = draft.pick(draft.source.values)
    if path:
        draft.set(path, draft.odd())


def drop_attribute(draft: Draft) -> None:
    """Leave an attribute or a parameter out."""
    path = draft.pick(draft.source.values)
    if path:
        draft.set(path, GONE)


def exchange_values(draft: Draft) -> None:
    """Exchange two attributes or parameters of one file."""
    first, second = draft.pick(draft.source.values), draft.pick(draft.source.values)
    if first and second and first[: len(second)] != second and second[: len(first)] != first:
        a, b = node_at(draft.model, first), node_at(draft.model, second)
        draft.set(first, b)
        draft.set(second, a)


def borrow_value(draft: Draft) -> None:
    """Take an attribute from another file: under its own name, or in the place of one that is there."""
    if not draft.other.values:
        return
    theirs = draft.rng.choice(draft.other.values)
    same = [path for path in draft.source.values if path[-1] == theirs[-1]]
    path = draft.pick(same if same and draft.rng.random() < 0.6 else draft.source.values)
    if path:
        if draft.rng.random() < 0.2:
            path = (*path[:-1], theirs[-1])
        draft.set(path, draft.from_other(theirs))


def borrow_model(draft: Draft) -> None:
    """Put a model of another file in the place of one inside, or of another attribute."""
    inner = [path for path in draft.source.models if path]
    path = draft.pick(inner if inner and draft.rng.random() < 0.8 else draft.source.attributes)
    if path:
        draft.set(path, draft.from_other(draft.rng.choice(draft.other.models)))


def rename_class(draft: Draft) -> None:
    """Call a model by the name of another class."""
    path = draft.pick(draft.source.models)
    if path is not None:
        name = node_at(draft.other.tree.model, (*draft.rng.choice(draft.other.models), "estimator", 0))
        draft.set((*path, "estimator", 0), name)


def borrow_record(draft: Draft) -> None:
    """Put another record in the place of one, or one field in the place of another."""
    rng = draft.rng
    if rng.random() < 0.5:
        first, second = draft.pick(draft.source.fields), draft.pick(draft.source.fields)
        if first and second:
            draft.set(first, node_at(draft.model, second))
        return
    path = draft.pick(draft.source.records)
    if path and draft.other.records:
        draft.set(path, draft.from_other(rng.choice(draft.other.records)))


def replace_field(draft: Draft) -> None:
    """Change or leave out a field of a record."""
    path = draft.pick(draft.source.fields)
    if path:
        draft.set(path, GONE if draft.rng.random() < 0.2 else draft.odd())


def change_atom(draft: Draft) -> None:
    """Change a number, a word or a truth value."""
    path = draft.pick(draft.source.atoms)
    if not path:
        return
    rng, here = draft.rng, node_at(draft.model, path)
    new: Any
    if type(here) is int:
        new = rng.choice((here + 1, here - 1, -here, here * 2, rng.choice(NUMBERS)))
        new = max(-(2**63), min(new, 2**63 - 1))
    elif isinstance(here, bool):
        new = not here if rng.random() < 0.7 else draft.odd()
    elif isinstance(here, str):
        new = rng.choice((*WORDS, here[:-1], here + "0", here.upper(), here[::-1]))
    elif isinstance(here, dict) and "float" in here:
        new = {"float": rng.choice(FLOATS)}
    else:
        new = draft.odd()
    draft.set(path, new)


def change_list(draft: Draft) -> None:
    """Drop, repeat, reverse or exchange entries of a list."""
    path = draft.pick([path for path in draft.source.lists if path])
    if not path:
        return
    rng, here = draft.rng, node_at(draft.model, path)
    if not isinstance(here, list):
        return
    here = list(here)
    way = rng.randrange(5)
    if way == 0 and here:
        del here[rng.randrange(len(here))]
    elif way == 1 and here:
        here.append(rng.choice(here))
    elif way == 2:
        here.reverse()
    elif way == 3 and len(here) > 1:
        i, j = rng.randrange(len(here)), rng.randrange(len(here))
        here[i], here[j] = here[j], here[i]
    else:
        here.insert(rng.randrange(len(here) + 1), draft.odd())
    draft.set(path, here)


def change_array(draft: Draft) -> None:
    """Put another array in the place of one: other elements, another shape, another type, another order."""
    path = draft.pick(draft.source.arrays)
    if path:
        node = node_at(draft.model, path)
        at = node.get("array") if isinstance(node, dict) else None  # an earlier change may have been here
        if type(at) is int and at < len(draft.arrays):
            draft.set(path, draft.new_array(other_array(draft.rng, draft.arrays[at])))


def exchange_arrays(draft: Draft) -> None:
    """Exchange two arrays, of one file or of two."""
    rng = draft.rng
    first = draft.pick(draft.source.arrays)
    if first and draft.other.arrays and rng.random() < 0.4:
        draft.set(first, draft.from_other(rng.choice(draft.other.arrays)))
    elif first:
        second = draft.pick(draft.source.arrays)
        if second:
            a, b = node_at(draft.model, first), node_at(draft.model, second)
            draft.set(first, b)
            draft.set(second, a)


def odd_elements(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return values of a type that are seldom honest."""
    if dtype.kind in "iu":
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return (0, 1, 2, 127, most, most - 1, most // 2, least, least // 2, min(least + 9, most))
    if dtype.kind == "f":
        return (np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320, 2.0**53, 0.5, -1e-300)
    return (0, 1) if dtype.kind == "b" else ("", "zz", "\u0131")


def other_array(rng: random.Random, array: Array) -> Array:  # noqa: PLR0911  (one line a way)
    """Return an array that resembles another one."""
    way = rng.randrange(12)
    with np.errstate(all="ignore"):
        if way < 4 and array.size:
            changed = array.copy()
            for _ in range(rng.choice((1, 1, 2, 3))):
                changed.flat[rng.randrange(array.size)] = rng.choice(odd_elements(array.dtype))
            return changed
        if way == 4 and array.dtype.kind != "U":
            return array.astype(rng.choice(("<f4", "<f2", "<i8", "<i4", "<u4", "|b1", "<U5", "<f8")))
        if way == 5:
            return array.ravel()[: rng.randrange(array.size + 1)].copy()
        if way == 6:
            return np.concatenate([array, array]) if array.ndim else array[None].copy()
        if way == 7:
            return np.ascontiguousarray(array.T) if array.ndim > 1 else array[None].copy()
        if way == 8 and array.ndim:
            return array[::-1].copy()
        if way == 9 and array.ndim and len(array) > 1:
            return np.delete(array, rng.randrange(len(array)), axis=0)
        if way == 10 and array.dtype.kind in "iuf":
            return (array.astype(np.float64) * rng.choice((-1, 0, 2, 1000))).astype(array.dtype)
        return np.full(array.shape, rng.choice(odd_elements(array.dtype)), array.dtype)


CHANGES: tuple[Callable[[Draft], None], ...] = (
    *(change_array,) * 6,
    *(replace_value, borrow_value, change_atom) * 3,
    *(exchange_values, exchange_arrays, borrow_record, replace_field, change_list, borrow_model) * 2,
    *(drop_attribute, rename_class),
)


def mutant(rng: random.Random, source: Spots, other: Spots) -> Tree:
    """Return a changed tree."""
    draft = Draft(rng, source, other)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        rng.choice(CHANGES)(draft)
    if rng.random() < 0.01:  # arrays used twice, or by nobody
        return Tree(draft.model, tuple(draft.arrays))
    return settled(draft.model, draft.arrays)
