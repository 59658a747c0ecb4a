"""How columns, labels and nodes are named where a tree is written or drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qed.core import InvalidParameter, NotSupported, _canvas

if TYPE_CHECKING:
    from qed.tree._structure import DecisionTree


def tree_of(model: Any, owner: str) -> Any:
    """Return the tree of a fitted model."""
    check = getattr(model, "_check_is_fitted", None)
    if check is None:
        msg = f"{owner} takes a fitted tree of qed, got {type(model).__name__}."
        raise InvalidParameter(msg)
    check()
    tree = model.__dict__.get("tree_")
    if tree is None or (owner != "export_text" and not hasattr(tree, "threshold")):
        instead = "" if tree is None else " Write trees with a branch for each value by export_text."
        msg = f"{owner} takes a DecisionTreeClassifier or DecisionTreeRegressor, got {type(model).__name__}.{instead}"
        raise InvalidParameter(msg)
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
    """What is written in the nodes of a figure."""

    names: list[str]
    labels: list[str] | None
    impurity: bool
    number: bool
    proportion: bool
    precision: int
    is_class: bool
    values: Any = None  # of columns of categories

    def categories(self, tree: DecisionTree, node: int) -> str:
        """Return the categories that go left; empty where a node asks about a threshold."""
        found = category_words(self.values, tree, node)
        return "" if found is None else found[0]

    def lines(self, tree: DecisionTree, node: int, *, named: bool) -> list[str]:
        """Return the lines of a node: its question, and numbers with or without their names."""

        def line(word: str, value: str) -> str:
            return f"{word} = {value}" if named else value

        lines = [f"node #{node}" if named else str(node)] if self.number else []
        if tree.children_left[node] >= 0:
            name = self.names[int(tree.feature[node])]
            left = self.categories(tree, node)
            lines.append(f"{name} in {left}" if left else f"{name} <= {tree.threshold[node]:.{self.precision}g}")
        if self.impurity:
            lines.append(line("impurity", f"{tree.impurity[node]:.{self.precision}g}"))
        share = 100 * tree.n_node_samples[node] / tree.n_node_samples[0]
        lines.append(line("samples", f"{share:.1f}%" if self.proportion else str(tree.n_node_samples[node])))
        value = tree.value[node].reshape(-1)
        if self.is_class and not self.proportion:
            value = value * tree.weighted_n_node_samples[node]
        numbers = ", ".join(f"{number:.{self.precision}g}" for number in value)
        lines.append(line("value", f"[{numbers}]" if len(value) > 1 else numbers))
        if self.labels is not None:
            lines.append(line("class", self.labels[int(tree.labels[node])]))
        return lines


def node_colours(model: Any, tree: DecisionTree) -> list[tuple[float, float, float]]:
    """Return a colour for each node, red, green and blue from 0 to 1; paler where the node is less sure."""
    if "classes_" in model.__dict__:
        shares = np.sort(tree.value[:, 0, :], axis=1)
        base = 1 / max(tree.max_n_classes, 2)
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
