"""Weights of rows by their labels, as class_weight of trees and forests asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def class_factors(model: Any, classes: list[Array], codes: Array, s: Array) -> Array:
    """Return the product of the weights of the labels of each row; ones where every tree weighs its own sample."""
    given, product = getattr(model, "class_weight", None), np.ones(len(codes))
    if given is None or (isinstance(given, str) and given == "balanced_subsample"):
        return product
    for c, labels in enumerate(classes):
        if isinstance(given, str):
            sums = np.array([s[codes[:, c] == k].sum() for k in range(len(labels))])
            factor = s.sum() / (len(labels) * np.where(sums > 0, sums, 1.0))
        else:
            own = given[c] if len(classes) > 1 else given
            factor = np.array([float(own.get(label, 1.0)) for label in labels.tolist()])
        product = product * factor[codes[:, c]]
    return np.asarray(product)
