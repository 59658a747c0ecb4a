"""A tree as text."""

from __future__ import annotations

from typing import Any

from qed.core import InvalidParameter
from qed.tree._words import column_names, label_names, tree_of


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
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree.
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
        value = tree.value[node]
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
        if tree.children_left[node] < 0:
            lines.append(head + leaf(node))
        elif depth > max_depth:
            below = _depth_below(tree.children_left, tree.children_right, node)
            lines.append(head + f"truncated branch of depth {below}")
        else:
            name, threshold = names[int(tree.feature[node])], f"{tree.threshold[node]:.{decimals}f}"
            stack.append((int(tree.children_right[node]), f"{name} >  {threshold}"))
            stack.append((int(tree.children_left[node]), f"{name} <= {threshold}"))
    return "\n".join(lines) + "\n"


def _depth_below(left: Any, right: Any, node: int) -> int:
    """Return the number of levels from a node to the deepest leaf below it, both included."""
    level, depth = [node], 0
    while level:
        level = [int(child) for one in level if left[one] >= 0 for child in (left[one], right[one])]
        depth += 1
    return depth
