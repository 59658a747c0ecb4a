"""How columns, labels and limits are named where a tree is written or drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.core import InvalidParameter

if TYPE_CHECKING:
    from qed.tree._structure import DecisionTree


def tree_of(model: Any, owner: str) -> DecisionTree:
    """Return the tree of a fitted model."""
    check = getattr(model, "_check_is_fitted", None)
    if check is None:
        msg = f"{owner} takes a fitted tree of qed, got {type(model).__name__}."
        raise InvalidParameter(msg)
    check()
    tree: DecisionTree | None = model.__dict__.get("tree_")
    if tree is None:
        msg = f"{owner} takes a DecisionTreeClassifier or DecisionTreeRegressor, got {type(model).__name__}."
        raise InvalidParameter(msg)
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
