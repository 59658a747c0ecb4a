"""What the weights of rows are multiplied by, class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core._errors import InvalidParameter

if TYPE_CHECKING:
    from qed.core._params import Array


def class_weights(
    owner: str, given: Any, classes: Any, codes: Array, weight: Array | None, *, may_vanish: bool = False
) -> Array | None:
    """Return what the weights of the rows of each class are multiplied by, or None.

    Parameters
    ----------
    owner : str
        Name of the model.
    given : dict, "balanced" or None
        As the parameter ``class_weight``.
    classes, codes, weight : ndarray
        Labels, the number of the label of each row, and the weights of the rows, None for ones.
    may_vanish : bool
        Whether a class may count for nothing.
    """
    if given is None:
        return None
    labels = classes.tolist()
    if isinstance(given, str):
        total = np.bincount(codes.astype(np.intp), weight, minlength=len(labels))
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(total > 0, total.sum() / (len(labels) * total), 1.0))
    unknown = [label for label in given if label not in labels]
    if unknown and len(unknown) == len(given):
        raise InvalidParameter(
            f"The classes, {unknown}, are not in class_weight's labels: {owner}.class_weight names none of {labels}."
        )
    factor = np.array([float(given.get(label, 1.0)) for label in labels])
    if not (np.isfinite(factor).all() and (factor >= 0).all() and (may_vanish or factor.all())):
        kind = "nonnegative" if may_vanish else "positive"
        raise InvalidParameter(f"{owner}.class_weight must hold {kind} numbers, got {given!r:.200}.")
    return factor


def class_factors(owner: str, given: Any, classes: Any, codes: Array, weight: Array) -> Array | None:
    """Return what the weight of each row is multiplied by, or None; parameters as those of ``class_weights``."""
    factor = class_weights(owner, given, classes, codes, weight)
    return None if factor is None else np.asarray(factor[codes.astype(np.intp)])
