"""Tables described by fewer columns than they have.

One rule: **directions are found from the smaller of two square matrices**, the products of the columns or those of the rows, and
what is proved about them is proved from it.

::

    _pca        principal components      _solve     which matrix, and its leading pairs
    _choose     how many of them          _krylov    leading pairs by a few products
    _rows       centred, weighted rows    _proof     how much better any other directions can be
    _learn      from rows to a model
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.core._missing import later

if TYPE_CHECKING:
    from qed.decomposition._pca import PCA

__all__ = ["PCA"]

_HOMES = {"_pca": ("PCA",)}
__getattr__ = later(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
