"""A tree in the language of Graphviz."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, Literal

from qed.core import InvalidParameter
from qed.tree._multiway import MultiwayTree
from qed.tree._words import NodeText, children_of, column_names, label_names, node_colours, tree_of


def export_graphviz(
    decision_tree: Any,
    out_file: Any = None,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: Literal["all", "root", "none"] = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
) -> str:
    r"""Write a tree in the DOT language, which the programs of Graphviz draw.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier, DecisionTreeRegressor, MultiwayTreeClassifier or another tree
        A fitted tree, or one of an ensemble: ``forest.estimators_[0]``.
    out_file : path or file object, optional
        Where to write the text too.
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
    leaves_parallel : bool
        Whether all leaves are drawn at the bottom.
    impurity : bool
        Whether to write the impurity.
    node_ids : bool
        Whether to write the numbers of the nodes.
    proportion : bool
        Whether to write shares of the rows instead of their number.
    rotate : bool
        Whether the tree grows from left to right.
    rounded : bool
        Whether boxes have round corners.
    special_characters : bool
        Whether to write labels as HTML, with the sign for "at most".
    precision : int
        Digits of numbers.
    fontname : str
        Name of the font.

    Returns
    -------
    str
        The text, also when it was written to a file.

    Examples
    --------
    >>> from qed.tree import DecisionTreeClassifier, export_graphviz
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["cold", "cold", "warm"])
    >>> print(export_graphviz(model, impurity=False))
    digraph Tree {
    node [shape=box, color="black", fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="x[0] <= 3\nsamples = 3\nvalue = [2, 1]"] ;
    1 [label="samples = 2\nvalue = [2, 0]"] ;
    0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;
    2 [label="samples = 1\nvalue = [0, 1]"] ;
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    }
    """
    tree = tree_of(decision_tree, "export_graphviz")
    if label not in ("all", "root", "none"):
        raise InvalidParameter(f"export_graphviz: label must be 'all', 'root' or 'none', got {label!r}.")
    for name, value in (("max_depth", max_depth), ("precision", precision)):
        if not (value is None and name == "max_depth") and (not isinstance(value, int) or value < 0):
            raise InvalidParameter(f"export_graphviz: {name} must be an integer >= 0, got {value!r:.80}.")
    names = column_names(decision_tree, feature_names, "x[{}]")
    labels = None if class_names is None or class_names is False else label_names(decision_tree, class_names)
    is_class = "classes_" in decision_tree.__dict__
    words = NodeText(
        names, labels, impurity, node_ids, proportion, precision, is_class, decision_tree.__dict__.get("categories_")
    )
    colours = node_colours(decision_tree, tree) if filled else None
    deepest = tree.max_depth if max_depth is None else max_depth

    lines = _head(rounded=rounded, filled=filled, rotate=rotate, leaves_parallel=leaves_parallel, fontname=fontname)
    leaves: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        is_cut = bool(tree.depths[node] > deepest)
        named = label == "all" or (label, node) == ("root", 0)
        text = _quoted(["(...)"] if is_cut else words.lines(tree, node, named=named), as_html=special_characters)
        colour = "" if colours is None else f', fillcolor="{"#C0C0C0" if is_cut else _hexadecimal(colours[node])}"'
        lines.append(f"{node} [label={text}{colour}] ;")
        parent = int(tree.parents[node])
        if parent >= 0:
            answer = words.answer(tree, node, ("True", "False"))
            lines.append(f"{parent} -> {node}{_edge(tree, answer, rotate=rotate)} ;")
        below = [] if is_cut else children_of(tree, node)
        stack += reversed(below)
        if not below:
            leaves.append(node)
    if leaves_parallel:
        lines.append("{rank=same ; " + "; ".join(str(leaf) for leaf in leaves) + "} ;")
    text = "\n".join([*lines, "}"])
    if out_file is not None:
        if hasattr(out_file, "write"):
            out_file.write(text)
        else:
            Path(out_file).write_text(text, encoding="utf-8")
    return text


def _head(*, rounded: bool, filled: bool, rotate: bool, leaves_parallel: bool, fontname: str) -> list[str]:
    shapes = [word for word, is_asked in (("filled", filled), ("rounded", rounded)) if is_asked]
    style = f', style="{", ".join(shapes)}"' if shapes else ""
    font = _quoted([fontname], as_html=False)
    lines = ["digraph Tree {", f'node [shape=box{style}, color="black", fontname={font}] ;']
    if leaves_parallel:
        lines.append("graph [ranksep=equally, splines=polyline] ;")
    lines.append(f"edge [fontname={font}] ;")
    return [*lines, "rankdir=LR ;"] if rotate else lines


def _edge(tree: Any, answer: str, *, rotate: bool) -> str:
    if not answer:
        return ""
    if isinstance(tree, MultiwayTree):
        return f" [label={_quoted([answer], as_html=False)}]"
    angle = (45 if answer == "True" else -45) * (-1 if rotate else 1)
    return f' [labeldistance=2.5, labelangle={angle}, headlabel="{answer}"]'


def _quoted(lines: list[str], *, as_html: bool) -> str:
    """Return lines as one label; what names hold cannot end it."""
    if as_html:
        return "<" + "<br/>".join(escape(line).replace("&lt;=", "&le;") for line in lines) + ">"
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


def _hexadecimal(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)
