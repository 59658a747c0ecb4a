"""Images as rows of numbers, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData
from qed.core._arrays import as_array

Array = np.ndarray[Any, Any]


def images_to_rows(images: Any) -> Array:
    """Write images as rows: n images of 28 × 28 pixels become a table of 784 columns, line after line of each image.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height, width, channels)
        Images.

    Returns
    -------
    ndarray of shape (n, height * width * channels)
        The same numbers, without a copy where memory allows it.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.preprocessing import images_to_rows
    >>> images_to_rows(np.zeros((5, 28, 28))).shape
    (5, 784)
    """
    array = as_array(images, "images")
    if array.ndim not in (3, 4):
        raise InvalidData(
            f"images_to_rows needs (n, height, width) or (n, height, width, channels), got shape {array.shape}."
        )
    return array.reshape(len(array), -1)


def rows_to_images(rows: Any, shape: tuple[int, ...]) -> Array:
    """Undo `images_to_rows`.

    Parameters
    ----------
    rows : array-like of shape (n, pixels)
        Rows.
    shape : (height, width) or (height, width, channels)
        Shape of one image.

    Returns
    -------
    ndarray of shape (n, *shape)
        Images.
    """
    array = as_array(rows, "rows")
    if array.ndim != 2 or array.shape[1] != int(np.prod(shape)):
        raise InvalidData(
            f"rows_to_images needs rows of {int(np.prod(shape))} numbers for images of shape {tuple(shape)}, got an array of"
            f" shape {array.shape}."
        )
    return array.reshape(len(array), *shape)
