"""NumPy twin of the ranking kernel."""

import numpy as np


def ranked(scores, positive, s):
    """Distinct scores from high to low, and the weight of positive and of other rows at each."""
    s = np.ones(len(scores)) if s is None else s
    distinct, place = np.unique(scores + 0.0, return_inverse=True)
    sums = [np.bincount(place, s * (positive == flag), len(distinct)) for flag in (1, 0)]
    return distinct[::-1], sums[0][::-1], sums[1][::-1]
