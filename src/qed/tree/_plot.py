"""A tree as a figure."""

from __future__ import annotations

from typing import Any, Literal

from qed.core import InvalidParameter, _canvas
from qed.tree._words import NodeText, children_of, column_names, label_names, node_colours, tree_of


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: Literal["all", "root", "none"] = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """Draw a tree, the root above, rows that answer yes to the left.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor, MultiwayTreeClassifier or another tree
        A fitted tree, or one of an ensemble: ``forest.estimators_[0]``.
    max_depth : int, optional
        Depth below which branches are left out, and shown as dots.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the fit, or ``x[0]``, ``x[1]`` and so on.
    class_names : sequence of str or bool, optional
        Names of the labels, written where they are the most frequent; True for ``y[0]``, ``y[1]``; by default not written.
    label : {"all", "root", "none"}
        Where numbers are named.
    filled : bool
        Whether nodes are coloured: by their most frequent label, or by their value.
    impurity : bool
        Whether to write the impurity.
    node_ids : bool
        Whether to write the numbers of the nodes.
    proportion : bool
        Whether to write shares of the rows instead of their number.
    rounded : bool
        Whether boxes have round corners.
    precision : int
        Digits after the point.
    ax : matplotlib axes, optional
        Where to draw; a new figure when left out.
    fontsize : float, optional
        Size of the text; by default what fits.

    Returns
    -------
    list of matplotlib annotations
        One for each node that is drawn.

    Examples
    --------
    >>> from qed.tree import DecisionTreeClassifier, plot_tree
    >>> len(plot_tree(DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["cold", "cold", "warm"])))
    3
    """
    tree = tree_of(decision_tree, "plot_tree")
    if label not in ("all", "root", "none"):
        raise InvalidParameter(f"plot_tree: label must be 'all', 'root' or 'none', got {label!r}.")
    names = column_names(decision_tree, feature_names, "x[{}]")
    labels = None if class_names is None or class_names is False else label_names(decision_tree, class_names)
    deepest = tree.max_depth if max_depth is None else max_depth
    shown, across = _layout(tree, deepest)
    levels = max(int(tree.depths[node]) for node in shown) + 1
    width = max(4.0, 1.9 * sum(not _is_open(tree, node, deepest) for node in shown))
    ax, figure = _canvas.axes(ax, size=(min(width, 40.0), max(2.0, 1.5 * levels)))
    ax.set_axis_off()
    colours = node_colours(decision_tree, tree) if filled else None
    is_class = "classes_" in decision_tree.__dict__
    words = NodeText(
        names, labels, impurity, node_ids, proportion, precision, is_class, decision_tree.__dict__.get("categories_")
    )
    drawn = []
    for node in shown:
        is_cut = tree.depths[node] > deepest
        named = label == "all" or (label, node) == ("root", 0)
        text = "(...)" if is_cut else "\n".join(words.lines(tree, node, named=named))
        box = {
            "boxstyle": "round" if rounded else "square",
            "fc": "white" if colours is None or is_cut else colours[node],
        }
        place = (across[node], 1 - (tree.depths[node] + 0.5) / levels)
        options: dict[str, Any] = {"bbox": {**box, "ec": _canvas.GREY}, "ha": "center", "va": "center", "zorder": 3}
        options |= {"fontsize": fontsize, "xycoords": "axes fraction"}
        drawn.append(ax.annotate(text, place, **options))
        parent = int(tree.parents[node])
        if parent >= 0:  # lines lie below all boxes
            above = (across[parent], 1 - (tree.depths[parent] + 0.5) / levels)
            line = {"arrowstyle": "-", "ec": _canvas.GREY, "shrinkA": 0, "shrinkB": 0}
            ax.annotate(
                "", place, above, xycoords="axes fraction", textcoords="axes fraction", arrowprops=line, zorder=1
            )
            answer = words.answer(tree, node, ("yes", "no"))
            middle = ((place[0] + above[0]) / 2, (place[1] + above[1]) / 2)
            options = {"ha": "right" if place[0] < above[0] else "left", "va": "center", "fontsize": fontsize}
            ax.annotate(f" {answer} ", middle, xycoords="axes fraction", color=_canvas.GREY, **options)
    if fontsize is None:
        _fit_text(figure, ax, drawn, sum(not _is_open(tree, node, deepest) for node in shown))
    return drawn


def _is_open(tree: Any, node: int, deepest: int) -> bool:
    """Tell whether what is below a node is drawn."""
    return bool(tree.feature[node] >= 0 and tree.depths[node] <= deepest)


def _layout(tree: Any, deepest: int) -> tuple[list[int], dict[int, float]]:
    """Return the nodes that are drawn, parents first, and where across: leaves evenly, parents midway between their children."""
    shown, stack, leaves = [], [0], []
    while stack:
        node = stack.pop()
        shown.append(node)
        if _is_open(tree, node, deepest):
            stack += reversed(children_of(tree, node))
        else:
            leaves.append(node)
    across = {node: (k + 0.5) / len(leaves) for k, node in enumerate(leaves)}
    for node in reversed(shown):
        if node not in across:
            below = children_of(tree, node)
            across[node] = (across[below[0]] + across[below[-1]]) / 2
    return shown, across


def _fit_text(figure: Any, ax: Any, drawn: list[Any], leaves: int) -> None:
    """Make the text as large as its share of the axes allows."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    room = ax.get_window_extent(renderer)
    widest = max(note.get_window_extent(renderer).width for note in drawn)
    factor = min(1.0, 0.92 * room.width / leaves / max(widest, 1.0))
    for note in drawn:
        note.set_fontsize(max(1.0, note.get_fontsize() * factor))
