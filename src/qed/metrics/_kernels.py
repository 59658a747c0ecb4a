"""The one interface of `qed.metrics` to native code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qed import _native

if TYPE_CHECKING:
    from qed.core._params import Array


def ranked(scores: Array, positive: Array, s: Array | None) -> tuple[Array, Array, Array] | None:
    """Return the distinct scores from high to low, and the weight of positive and of other rows at each.

    None says that a score is NaN or infinite. Scores are float32 or float64; `positive` is boolean.
    """
    flags = np.ascontiguousarray(positive).view(np.uint8)
    found = _native.ranked(scores, flags, None if s is None else np.ascontiguousarray(s, dtype=np.float64))
    if found is None:
        return None
    count, distinct, positives, negatives = found
    return distinct[:count], positives[:count], negatives[:count]
