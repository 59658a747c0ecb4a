"""One table of numbers in several memory layouts."""

import numpy as np


def laid_out(array, layout):
    """The same numbers in another memory layout."""
    if layout == "C":
        return np.ascontiguousarray(array)
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "sliced":
        roomy = np.zeros((2 * array.shape[0], 3 * array.shape[1]), dtype=array.dtype)
        roomy[::2, ::3] = array
        return roomy[::2, ::3]
    flipped = np.ascontiguousarray(array[::-1, ::-1])
    return flipped[::-1, ::-1]
