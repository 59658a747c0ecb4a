"""Dimension reduction: principal component analysis.

One rule: **directions are found from the smaller of two square matrices**, the products of the columns or those of the rows, and
what is proved about them is proved from it.

::

    _pca        principal components      _solve     which matrix, and its leading pairs
    _choose     how many of them          _krylov    leading pairs by a few products
    _rows       centred, weighted rows    _proof     how much better any other directions can be
    _learn      from rows to a model
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
