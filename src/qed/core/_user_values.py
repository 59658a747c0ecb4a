"""Small things that scikit-learn's users import from ``utils``: a dictionary with attributes, and weights of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core._class_weights import class_weights
from qed.core._errors import InvalidParameter

Array = np.ndarray[Any, Any]


class Bunch(dict[str, Any]):
    """A dictionary whose entries are attributes too.

    Examples
    --------
    >>> from qed.utils import Bunch
    >>> both = Bunch(a=1)
    >>> both.b = 2
    >>> both["b"], both.a
    (2, 1)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"This Bunch has no {name!r}; it has {', '.join(map(str, self)) or 'nothing'}."
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [name for name in self if isinstance(name, str)]


def compute_class_weight(class_weight: Any, *, classes: Any, y: Any, sample_weight: Any = None) -> Array:
    """Return the weight of each class.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        As the parameter of models; "balanced" makes the weights of all classes add up to the same.
    classes : array-like of shape (k,)
        The labels.
    y : array-like of shape (n,)
        The label of each row.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    ndarray of shape (k,)
        Weights in the order of ``classes``.

    Examples
    --------
    >>> from qed.utils.class_weight import compute_class_weight
    >>> compute_class_weight("balanced", classes=[0, 1], y=[0, 0, 0, 1]).round(2).tolist()
    [0.67, 2.0]
    """
    labels, given = np.asarray(classes), np.asarray(y)
    known, codes = np.unique(given, return_inverse=True)
    strangers = sorted(set(known.tolist()) - set(labels.tolist()), key=str)
    if strangers:
        raise InvalidParameter(
            f"classes should include all valid labels that can be in y; it lacks {strangers!r:.200}."
        )
    if class_weight is None:
        return np.ones(len(labels))
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise InvalidParameter(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    if isinstance(class_weight, str) and len(known) < len(labels):
        raise InvalidParameter(
            "classes should have valid labels that are in y: without rows a class has no balanced weight."
        )
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if isinstance(class_weight, str):
        found = class_weights("compute_class_weight", class_weight, known, codes, weight)
        place = np.searchsorted(known, labels)
        return np.asarray(found)[place]
    return np.asarray([float(class_weight.get(label, 1.0)) for label in labels.tolist()])


def compute_sample_weight(class_weight: Any, y: Any) -> Array:
    """Return the weight of the class of each row.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        As the parameter of models.
    y : array-like of shape (n,)
        The label of each row.

    Returns
    -------
    ndarray of shape (n,)
        Weights.
    """
    given = np.asarray(y)
    if given.ndim != 1:
        raise InvalidParameter(f"compute_sample_weight takes one column of labels, got shape {given.shape}.")
    known, codes = np.unique(given, return_inverse=True)
    return np.asarray(compute_class_weight(class_weight, classes=known, y=given)[codes])
