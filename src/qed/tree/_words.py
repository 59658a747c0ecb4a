"""How columns, labels and nodes are named where a tree is written or drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed.core import InvalidParameter, NotSupported, _canvas
from qed.tree._multiway import MultiwayTree
from qed.tree._structure import DecisionTree


def tree_of(model: Any, owner: str) -> Any:
    """Return the tree of a fitted model."""
    check = getattr(model, "_check_is_fitted", None)
    if check is not None:
        check()
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, (DecisionTree, MultiwayTree)):
        instead = " Choose one of its trees: model.estimators_[0]." if hasattr(model, "estimators_") else ""
        raise InvalidParameter(
            f"{owner} takes a fitted tree of qed, such as DecisionTreeClassifier, or one tree of a forest, got"
            f" {type(model).__name__}.{instead}"
        )
    labels = model.__dict__.get("classes_")
    if isinstance(labels, list):
        raise NotSupported(
            f"{owner} takes a tree for one column of labels, and this one has {len(labels)}. Its splits are in tree_, as arrays; or"
            " fit a tree for each column."
        )
    return tree


def column_names(model: Any, given: Any, default: str) -> list[str]:
    """Return the names of the columns: those given, those of the fit, or numbers after a word."""
    names = model.__dict__.get("feature_names_in_") if given is None else given
    n_columns = model.tree_.n_features
    if names is None:
        return [default.format(j) for j in range(n_columns)]
    if len(names) != n_columns:
        msg = f"feature_names must contain {n_columns} elements, got {len(names)}."
        raise InvalidParameter(msg)
    return [str(name) for name in names]


def label_names(model: Any, given: Any) -> list[str] | None:
    """Return the names of the labels, None for numbers; True stands for y[0], y[1] and so on."""
    labels = model.__dict__.get("classes_")
    if labels is None:
        return None
    if given is True:
        return [f"y[{k}]" for k in range(len(labels))]
    if given is None or given is False:
        return [str(label) for label in labels.tolist()]
    if len(given) != len(labels):
        msg = f"class_names must name each of the {len(labels)} classes, got {len(given)} names."
        raise InvalidParameter(msg)
    return [str(name) for name in given]


def category_words(values: Any, tree: DecisionTree, node: int) -> tuple[str, str] | None:
    """Return the categories that go left and right as text; None where a node asks about a threshold."""
    sides = tree.categories_left(node)
    if sides is None:
        return None
    known = [] if values is None else values[int(tree.feature[node])].tolist()
    left, right = ("{" + ", ".join(str(known[k]) if known else str(k) for k in side) + "}" for side in sides)
    return left, right


class NodeText(NamedTuple):
    """What is written in the nodes of a figure, and on its lines."""

    names: list[str]
    labels: list[str] | None
    impurity: bool
    number: bool
    proportion: bool
    precision: int
    is_class: bool
    values: Any = None  # of columns of categories

    def question(self, tree: Any, node: int) -> str:
        """Return what a node asks: a column alone where it has a branch for each value."""
        name = self.names[int(tree.feature[node])]
        if isinstance(tree, MultiwayTree):
            return name
        words = category_words(self.values, tree, node)
        return f"{name} in {words[0]}" if words else f"{name} <= {tree.threshold[node]:.{self.precision}g}"

    def answer(self, tree: Any, node: int, sides: tuple[str, str]) -> str:
        """Return what is written on the line to a node: the value of its branch; sides are named below the root alone."""
        parent = int(tree.parents[node])
        number = next(number for number, child in tree.branches(parent) if child == node)
        if isinstance(tree, MultiwayTree):
            return str(self.values[int(tree.feature[parent])].tolist()[number])
        return sides[number] if parent == 0 else ""

    def lines(self, tree: Any, node: int, *, named: bool) -> list[str]:
        """Return the lines of a node: its question, and numbers with or without their names; unknown ones are left out."""

        def line(word: str, value: str) -> str:
            return f"{word} = {value}" if named else value

        lines = [f"node #{node}" if named else str(node)] if self.number else []
        if tree.feature[node] >= 0:
            lines.append(self.question(tree, node))
        if self.impurity and not np.isnan(tree.impurity[node]):
            lines.append(line("impurity", f"{tree.impurity[node]:.{self.precision}g}"))
        count = tree.n_node_samples if tree.n_node_samples[0] > 0 else tree.weighted_n_node_samples
        word = "samples" if tree.n_node_samples[0] > 0 else "weight"
        share = 100 * count[node] / count[0]
        lines.append(line(word, f"{share:.1f}%" if self.proportion else f"{count[node]:.12g}"))
        value = tree.value[node].reshape(-1)
        if self.is_class and not self.proportion:
            value = value * tree.weighted_n_node_samples[node]
        numbers = ", ".join(f"{number:.{self.precision}g}" for number in value)
        lines.append(line("value", f"[{numbers}]" if len(value) > 1 else numbers))
        if self.labels is not None:
            lines.append(line("class", self.labels[int(tree.labels[node])]))
        return lines


def children_of(tree: Any, node: int) -> list[int]:
    """Return the numbers of the children of a node."""
    return [child for _, child in tree.branches(node)]


def node_colours(model: Any, tree: Any) -> list[tuple[float, float, float]]:
    """Return a colour for each node, red, green and blue from 0 to 1; paler where the node is less sure."""
    if "classes_" in model.__dict__:
        shares = np.sort(tree.value.reshape(tree.node_count, -1), axis=1)
        base = 1 / max(shares.shape[1], 2)
        strength = (shares[:, -1] - base) / (1 - base)
        hues = [_canvas.CURVES[int(label) % len(_canvas.CURVES)] for label in tree.labels]
    else:
        first = tree.value[:, 0, 0]
        span = float(np.ptp(first))
        strength = (first - first.min()) / span if span > 0 else np.zeros(len(first))
        hues = [_canvas.BLUE] * len(first)
    return [_paler(hue, max(float(s), 0.0)) for s, hue in zip(strength, hues, strict=True)]


def _paler(hue: str, strength: float) -> tuple[float, float, float]:
    red, green, blue = (1 - 0.75 * strength * (1 - int(hue[k : k + 2], 16) / 255) for k in (1, 3, 5))
    return red, green, blue
