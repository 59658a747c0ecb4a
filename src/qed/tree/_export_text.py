"""A tree as text."""

from __future__ import annotations

from typing import Any

from qed.core import InvalidParameter
from qed.tree._multiway import MultiwayTree
from qed.tree._words import category_words, column_names, label_names, tree_of


def export_text(
    decision_tree: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Write the questions of a tree, indented by depth.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor, MultiwayTreeClassifier or another tree
        A fitted tree, or one of an ensemble: ``forest.estimators_[0]``.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the fit, or ``feature_0``, ``feature_1`` and so on.
    class_names : sequence of str, optional
        Names of the labels; by default the labels themselves.
    max_depth : int
        Depth below which branches are left out.
    spacing : int
        Blanks of an indent.
    decimals : int
        Digits after the point. With fewer than the thresholds have, the rules as written may differ from those of the tree.
    show_weights : bool
        Whether to write the weight of each label in the leaves.

    Returns
    -------
    str
        One line for each branch and leaf.

    Examples
    --------
    >>> from qed.tree import DecisionTreeClassifier, export_text
    >>> print(export_text(DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["cold", "cold", "warm"])))
    |--- feature_0 <= 3.00
    |   |--- class: cold
    |--- feature_0 >  3.00
    |   |--- class: warm
    <BLANKLINE>
    """
    tree = tree_of(decision_tree, "export_text")
    for name, value, least in (("max_depth", max_depth, 0), ("spacing", spacing, 1), ("decimals", decimals, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InvalidParameter(f"export_text: {name} must be an integer >= {least}, got {value!r}.")
    names = column_names(decision_tree, feature_names, "feature_{}")
    labels = label_names(decision_tree, class_names)
    lines: list[str] = []

    def leaf(node: int) -> str:
        value = tree.value[node].reshape(-1, 1) if labels is None else tree.value[node].reshape(1, -1)
        if labels is None:
            return f"value: [{', '.join(f'{number:.{decimals}f}' for number in value[:, 0])}]"
        weights = ""
        if show_weights:
            shown = (f"{share * tree.weighted_n_node_samples[node]:.{decimals}f}" for share in value[0])
            weights = f"weights: [{', '.join(shown)}] "
        return f"{weights}class: {labels[int(tree.labels[node])]}"

    stack: list[tuple[int, str]] = [(0, "")]
    while stack:
        node, question = stack.pop()
        depth = int(tree.depths[node])
        bar = "|" + " " * spacing
        if question:
            lines.append(bar * (depth - 1) + "|" + "-" * spacing + " " + question)
        head = bar * depth + "|" + "-" * spacing + " "
        if tree.feature[node] < 0:
            lines.append(head + leaf(node))
        elif depth > max_depth:
            lines.append(head + f"truncated branch of depth {_depth_below(tree, node)}")
        else:
            stack += reversed(_branches(decision_tree, node, names[int(tree.feature[node])], decimals))
    return "\n".join(lines) + "\n"


def _branches(model: Any, node: int, name: str, decimals: int) -> list[tuple[int, str]]:
    """Return the children of a node, each with the answer that leads there."""
    tree = model.tree_
    if isinstance(tree, MultiwayTree):
        values = model.categories_[int(tree.feature[node])].tolist()
        return [(child, f"{name} = {values[value]}") for value, child in tree.branches(node)]
    words = category_words(model.__dict__.get("categories_"), tree, node)
    if words is not None:
        sides_of = zip((tree.children_left, tree.children_right), words, strict=True)
        return [(int(children[node]), f"{name} in {some}") for children, some in sides_of]
    threshold = f"{tree.threshold[node]:.{decimals}f}"
    sides = ((tree.children_left, "<="), (tree.children_right, "> "))
    return [(int(children[node]), f"{name} {sign} {threshold}") for children, sign in sides]


def _depth_below(tree: Any, node: int) -> int:
    """Return the number of levels from a node to the deepest leaf below it, both included."""
    below = {node: 1}
    for child in range(node + 1, tree.node_count):  # parents have smaller numbers
        above = below.get(int(tree.parents[child]))
        if above is not None:
            below[child] = above + 1
    return max(below.values())
