"""NumPy twin of the isotonic kernel: the largest of the smallest means, by definition."""

import numpy as np


def pooled(x, y, s):
    """Best rising values of sorted rows: max over starts of min over ends of weighted means around each place."""
    s = np.ones(len(x)) if s is None else s
    _, place = np.unique(x, return_inverse=True)
    k = place.max() + 1
    values = np.empty(k)
    for j in range(k):
        levels = [
            min(np.average(y[rows], weights=s[rows]) for b in range(j, k) for rows in [(place >= a) & (place <= b)])
            for a in range(j + 1)
        ]
        values[j] = max(levels)
    return values[place]
